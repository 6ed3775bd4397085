"""Does the behaviour dial move these agents? (SPEC 8, the manipulation check)

A walk through the files: ``plan`` (which debates) → ``play`` (they are held, and kept) → ``sample`` (what is read from their records) →
``wording`` and ``trends`` (what is measured) → ``verdict`` (in words) → ``report`` (on paper). ``patterns`` reads any one transcript,
``people`` asks people the classifier's question, ``summaries`` lets agents describe their own manner.
"""
