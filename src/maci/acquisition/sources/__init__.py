"""Who can answer: a case's hidden findings, a corpus, a Python function, an HTTP endpoint, a person."""
