"""Turns ``--source NAME`` into a source, and holds the two sources that have their answers already.

===============================  ==================================================================================
``hidden``                       the case's own ``hidden:`` findings; what is not among them is unknown
``hidden:closed``                the same where that list is complete; what is not among them is absent
``corpus:PATH``                  an index made by `maci index`, searched with the plan's queries, behind the evidence gate
``ask``                          the person at the terminal
``http://…``, ``https://…``      an endpoint
``python:module:function``       your own
===============================  ==================================================================================

:class:`Hidden` has what a question or a test would have revealed, and matches the question to a finding by meaning.
:class:`CorpusSource` returns the best passages for a query; the debate's evidence gate decides whether to admit them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from maci.acquisition.answers import read_answer
from maci.acquisition.dedupe import ALIKE, same_subject
from maci.acquisition.plan import Item
from maci.acquisition.sources.source import Reply, Source
from maci.cases.case import Case
from maci.errors import InputError
from maci.evidence.encode import Encoder
from maci.evidence.lexical import terms
from maci.evidence.retrieve import Retriever
from maci.evidence.span import Span

_SHARED = 0.75
"""Share of the asked subject's terms that a finding's name or text must hold where the encoder does not decide."""


class Hidden(Source):
    """Answers from ``Case.hidden``: name of a finding → what it shows.

    What matches no finding is unknown; with ``closed``, where the list is known to be complete, it is absent.
    """

    kinds = ("question", "test", "history", "monitoring")

    def __init__(self, hidden: Mapping[str, str], encoder: Encoder, *, closed: bool = False) -> None:
        if not hidden and not closed:
            raise InputError("--source hidden: the case has no hidden findings (key `hidden:`, name → what it shows)")
        self.name = "hidden:closed" if closed else "hidden"
        self.sure = closed
        self._hidden, self._encoder, self._closed = dict(hidden), encoder, closed
        self._names = list(hidden)
        self._vectors = encoder.encode(self._names) if self._names else np.zeros((0, 1), np.float32)

    def menu(self) -> tuple[str, ...]:
        """Names of the findings that are told in words; of a yes or no the name alone would give the finding away."""
        told = (name for name, text in self._hidden.items() if read_answer(text).verdict == "told")
        return () if self._closed else tuple(told)

    async def answer(self, item: Item) -> Reply:
        """The finding that was asked for."""
        found = self._find(item.subject)
        if found is None:
            return Reply(verdict="absent" if self._closed else "unknown")
        said = self._hidden[found]
        reply = read_answer(said)
        if reply.verdict == "stopped":  # a finding, not a person
            return Reply(verdict="told", text=f"{found}: {said}")
        return reply if reply.verdict != "told" else Reply(verdict="told", text=f"{found}: {said}")

    def _find(self, subject: str) -> str | None:
        if not self._names:
            return None
        if subject in self._hidden:
            return subject
        wanted = set(terms(subject))
        exact = [name for name in self._names if set(terms(name)) == wanted]
        if exact:
            return exact[0]
        likeness = self._vectors @ self._encoder.encode([subject])[0]
        best = int(np.argmax(likeness))
        if likeness[best] >= ALIKE and same_subject(subject, self._names[best], float(likeness[best])):
            return self._names[best]
        shares = {
            name: len(wanted & set(terms(f"{name} {text}"))) / len(wanted) if wanted else 0.0
            for name, text in self._hidden.items()
            if read_answer(text).verdict == "told"  # only prose can speak of more than its name
        }
        nearest = max(shares, key=lambda name: shares[name], default=None)
        return nearest if nearest is not None and shares[nearest] >= _SHARED else None


class CorpusSource(Source):
    """Search over spans; what was handed out once is not handed out again. ``k``: passages an answer has."""

    kinds = ("retrieval",)

    def __init__(self, spans: Iterable[Span], encoder: Encoder, *, k: int = 4, name: str = "corpus") -> None:
        self.name, self._k = name, k
        self._retriever = Retriever(spans, encoder)
        self._given: set[str] = set()

    async def answer(self, item: Item) -> Reply:
        """The best passages for the item's query that were not given before."""
        found = self._retriever.retrieve(item.query or item.text, self._k + len(self._given), 100_000)
        fresh = tuple(span for span, _ in found if span.id not in self._given)[: self._k]
        if not fresh:
            return Reply(verdict="unknown", text="there is nothing more in the corpus")
        self._given |= {span.id for span in fresh}
        return Reply(verdict="told", text="\n".join(span.text for span in fresh), spans=fresh)


def load_source(name: str, case: Case, encoder: Encoder) -> Source:
    """The source of this name."""
    scheme, _, rest = name.partition(":")
    if name == "hidden" or name == "hidden:closed":
        return Hidden(case.hidden, encoder, closed=rest == "closed")
    if name == "ask":
        from maci.acquisition.sources.external import Person, ask_at_terminal

        return Person(ask_at_terminal)
    if scheme in ("http", "https") and rest.startswith("//"):
        from maci.acquisition.sources.external import HttpSource

        return HttpSource(name)
    if scheme == "corpus" and rest:
        from maci.evidence.corpus import Corpus

        return CorpusSource(Corpus.open(Path(rest)), encoder, name=name)
    if scheme == "python" and rest.count(":") == 1:
        from maci.acquisition.sources.external import Called, load_function

        return Called(load_function(*rest.split(":")), name)
    raise InputError(
        f"--source {name!r} is not known: use hidden, hidden:closed, corpus:PATH, ask, http://…, or python:module:function"
    )
