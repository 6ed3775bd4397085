"""The web app of ``maci serve``: server-rendered pages over the same events as the terminal and the report.

::

    guard      who may come in                     desk       what is under way, what is on record
    forms      what people fill in                 live       a debate in a thread of its own
    pages/     values in, markup out               allowance  what may be spent in a day
    routes     addresses                           v1         the same as an OpenAI-compatible endpoint
"""
