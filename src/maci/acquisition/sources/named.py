"""The one place that turns ``--source`` into a source.

===============================  ==================================================================================
``hidden``                       the case's own ``hidden:`` findings; what is not among them is unknown
``hidden:closed``                the same where that list is complete; what is not among them is absent
``corpus:PATH``                  an index made by `maci index`, searched with the plan's queries, behind the evidence gate
``ask``                          the person at the terminal
``http://…``, ``https://…``      an endpoint
``python:module:function``       your own
===============================  ==================================================================================
"""

from __future__ import annotations

from pathlib import Path

from maci.acquisition.sources.source import Source
from maci.cases.case import Case
from maci.errors import InputError
from maci.evidence.encode import Encoder


def load_source(name: str, case: Case, encoder: Encoder) -> Source:
    """The source of this name."""
    scheme, _, rest = name.partition(":")
    if name == "hidden" or name == "hidden:closed":
        from maci.acquisition.sources.stored import Hidden

        return Hidden(case.hidden, encoder, closed=rest == "closed")
    if name == "ask":
        from maci.acquisition.sources.person import Person, ask_at_terminal

        return Person(ask_at_terminal)
    if scheme in ("http", "https") and rest.startswith("//"):
        from maci.acquisition.sources.external import HttpSource

        return HttpSource(name)
    if scheme == "corpus" and rest:
        from maci.acquisition.sources.stored import CorpusSource
        from maci.evidence.corpus import Corpus

        return CorpusSource(Corpus.open(Path(rest)), encoder, name=name)
    if scheme == "python" and rest.count(":") == 1:
        from maci.acquisition.sources.external import Called, load_function

        return Called(load_function(*rest.split(":")), name)
    raise InputError(
        f"--source {name!r} is not known: use hidden, hidden:closed, corpus:PATH, ask, http://…, or python:module:function"
    )
