"""Does the behaviour dial move these agents? (SPEC 8, the manipulation check)

A walk through the files: ``debates`` (which there are; they are held, kept and read) → ``wording`` and ``trends`` (what is measured) →
``verdict`` (in words) → ``report`` (on paper). ``patterns`` reads any one transcript; ``people`` asks people the classifier's question
and lets agents describe their own manner.
"""
