"""The tables of a study's cases: over the task's evidence, and over a case's own documents where it has some."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from maci.calls import Table
from maci.case.case import Case, Document
from maci.case.datasets import Item
from maci.config import Config
from maci.evidence.encode import Encoder
from maci.evidence.knowledge import builtin_spans, builtin_tone
from maci.evidence.source import document_spans
from maci.evidence.span import Span
from maci.methods.method import Setting
from maci.panel.models import ModelPanel, Models
from maci.panel.readers import ReaderPanel
from maci.panel.shelf import Sources, lacking
from maci.study.study import Study

__all__ = ["NO_EVIDENCE", "Tables", "corpus", "unread"]

NO_EVIDENCE = "no evidence about:"
"""How the note about outcomes begins that the readers have nothing to read about."""
_NAMED = 10
"""Outcomes without evidence that are named."""
_REMEDY = (
    "with a file of your own write `per_label = 5` in its [[data]], so that five development texts of each label become evidence, "
    "or give it an `evidence` column whose texts name the outcomes (in JSONL they may carry a `label`)"
)


class Tables:
    """Sets tables over the task's evidence, and over a case's own documents where it has some."""

    def __init__(
        self, study: Study, spans: tuple[Span, ...], encoder: Encoder, house: Models | None, config: Config
    ) -> None:
        self._study, self._spans, self._encoder, self._house, self._config = study, spans, encoder, house, config
        self._made: OrderedDict[tuple[Any, ...], Setting] = OrderedDict()

    def table(self, case: Case, *, seed: int = 0) -> Table:
        """The table for a case."""
        key = (case.evidence, case.outcomes.kind == "ordered")
        if key not in self._made:
            self._made[key] = self._panel(case)
            if len(self._made) > 8:
                self._made.popitem(last=False)
        return self._made[key].table(case, seed=seed)

    def sources(self, case: Case) -> Sources:
        """What there is to read for a case."""
        background = () if self._spans else builtin_tone() if case.outcomes.kind == "ordered" else builtin_spans()
        return Sources(document_spans(case), self._spans, tuple(background), remedy=_REMEDY)

    def _panel(self, case: Case) -> Setting:
        sources = self.sources(case)
        if self._house is None:
            return ReaderPanel(sources, self._encoder)
        assert self._study.panel is not None
        return ModelPanel(self._study.panel, sources, self._encoder, self._house, self._config)


def corpus(documents: Sequence[Document]) -> tuple[Span, ...]:
    """The shared corpus: one span for each document."""
    found: dict[str, Span] = {}
    for document in documents:
        span = Span.of(document.text, document.source, label=document.label)
        if document.id is not None:
            span = replace(span, id=document.id)
        found.setdefault(span.id, span)
    return tuple(found.values())


def unread(panel: Tables, items: Iterable[Item]) -> tuple[str, ...]:
    """What readers have nothing to read about, as a note."""
    known: dict[Any, tuple[str, ...]] = {}
    of, without = Counter[str](), Counter[str]()
    for item in items:
        space, key = item.case.outcomes, (item.case.outcomes.labels, item.case.evidence)
        if key not in known:
            known[key] = lacking(item.case, panel.sources(item.case))
        of.update(space.labels)
        without.update(known[key])
    some = [y if n == of[y] else f"{y} (in {n} of {of[y]} cases)" for y, n in without.items()]
    more = f" and {len(some) - _NAMED} more" if len(some) > _NAMED else ""
    return (f"{NO_EVIDENCE} {', '.join(some[:_NAMED])}{more}.",) if some else ()
