"""What the tables of a study read: the task's evidence, and a case's own documents where it has some."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from maci.cases.case import Document
from maci.evidence.span import Span
from maci.lab.datasets import Item
from maci.seating.shelf import Sources, lacking
from maci.seating.tables import Tables

NO_EVIDENCE = "no evidence about:"
"""How the note about outcomes begins that the readers have nothing to read about."""
_NAMED = 10
"""Outcomes without evidence that are named."""
_REMEDY = (
    "with a file of your own write `per_label = 5` in its [[data]], so that five development texts of each label become evidence, "
    "or give it an `evidence` column whose texts name the outcomes (in JSONL they may carry a `label`)"
)


def evidence_of(documents: Sequence[Document]) -> Sources:
    """The task's evidence, which all its cases share: one span for each document."""
    found: dict[str, Span] = {}
    for document in documents:
        span = Span.of(document.text, document.source, label=document.label)
        if document.id is not None:
            span = replace(span, id=document.id)
        found.setdefault(span.id, span)
    return Sources(corpus=tuple(found.values()), remedy=_REMEDY)


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
