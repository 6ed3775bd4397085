"""A study as its workers receive it: the spec, its panel, where data and replies are, what dev taught.

:func:`evidence_of` and :func:`unread` are about what its agents read: the task's evidence, and outcomes that it does not cover.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from maci.cases.case import Document
from maci.config import Config
from maci.errors import ConfigError
from maci.evidence.span import Span
from maci.lab.datasets import TaskItem
from maci.lab.study.learning import Lesson
from maci.lab.study.spec import StudySpec
from maci.seating import choose
from maci.seating.shelf import Sources, lacking
from maci.seating.spec import AgentSpec, PanelSpec, agents_of, judges_of
from maci.seating.tables import Tables


def resolve(spec: StudySpec) -> PanelSpec | None:
    """The panel of models a spec asks for; ``None`` for the readers and for recorded answers."""
    own = spec.panel
    judges = None if own.judges is None else judges_of(own.judges, "panel.judges")
    if own.recorded:
        return None
    if own.agents:
        from maci.seating.file import find

        return PanelSpec(
            agents=agents_of(own.agents, "panel.agents"), judges=judges, models={**find().options, **own.models}
        )
    name = own.name or "readers"
    if name == "readers":
        if judges is None:
            return None
        return PanelSpec(name=name, agents=agents_of([AgentSpec(model="reader")]), judges=judges, models=own.models)
    found = choose(name)
    if isinstance(found, str):
        raise ConfigError(
            f"panel.name = {name!r} is a script for single cases: a study needs readers or a panel of models"
        )
    changed: dict[str, Any] = {"models": {**found.models, **own.models}}
    return found.model_copy(update=changed if judges is None else {**changed, "judges": judges})


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """All a worker needs to know, on whatever machine."""

    spec: StudySpec
    panel: PanelSpec | None = None
    """As :func:`resolve` found it."""
    folder: Path | None = None
    """Of the data sets."""
    cache: Path | None = None
    """Of models' replies; ``None`` keeps none."""
    offline: bool = False
    learnt: Mapping[str, Mapping[int, Lesson]] = field(default_factory=dict)
    """Data → seed → what dev taught about the agents."""

    @property
    def config(self) -> Config:
        """The settings of every answer."""
        below = {} if self.panel is None else dict(self.panel.settings)
        if self.spec.panel.recorded or (self.panel is not None and self.panel.judges == ()):
            below.setdefault("crit.enabled", False)
        return self.spec.config(below)

    @property
    def identity(self) -> dict[str, Any]:
        """The spec's, with the panel as it was resolved."""
        panel = self.spec.identity["panel"]
        if self.panel is not None:
            panel = {**self.panel.record(), "settings": dict(self.panel.settings)}
        return {**self.spec.identity, "panel": panel}


def fingerprint(identity: Mapping[str, Any]) -> str:
    """SHA-256 of what decides the rows."""
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()


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


def unread(panel: Tables, items: Iterable[TaskItem]) -> tuple[str, ...]:
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
