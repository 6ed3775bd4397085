"""A study: as its workers receive it (:class:`Study`), and as a store keeps it beside the rows (:class:`Meta`, its plan).

:func:`evidence_of` and :func:`unread` are about what its agents read: the task's evidence, and outcomes that it does not cover.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from maci import __version__
from maci.cases.case import Document
from maci.config import Config
from maci.controller.caution import HarmReport
from maci.errors import ConfigError, InputError
from maci.evidence.span import Span
from maci.lab.datasets import TaskItem
from maci.lab.methods.method import Step
from maci.lab.study.learning import DevLesson
from maci.lab.study.spec import StudySpec
from maci.llm.usage import Usage
from maci.seating import choose
from maci.seating.shelf import Sources, lacking
from maci.seating.spec import AgentSpec, PanelSpec, agents_of, judges_of
from maci.seating.table import commit
from maci.seating.tables import Tables

Status = Literal["done", "failed", "budget"]
"""``failed``: there is no answer; ``budget``: the ceiling came before a first answer. Neither is scored."""


class RowKey(NamedTuple):
    """Which answer: one and only one row has it."""

    data: str
    """The data set with its options, as the study names it."""
    seed: int
    part: Literal["dev", "test"]
    item: str
    method: str


class Row(BaseModel):
    """One method on one case."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    data: str
    seed: int
    part: Literal["dev", "test"]
    item: str
    method: str
    gold: str | None
    exact: bool | None = None
    """Open outcomes: whether the answer is the true outcome itself, neither wider nor narrower."""
    group: str = ""
    """A stratum of the data set: category, outlet, source."""
    raters: Mapping[str, float] = {}
    """On ordered tasks: what each rater said, as a position on the scale."""
    positions: Mapping[str, float] = {}
    """On ordered tasks: where each outcome is."""
    status: Status = "done"
    reason: str = ""
    """How it ended: a stop reason, or what went wrong."""
    belief: Mapping[str, float] | None = None
    """The answer, not calibrated."""
    agreement: float | None = None
    """Share of the votes that the leading outcome has, where votes were cast."""
    q0: float | None = None
    d0: float | None = None
    calls: int = 0
    """Turns asked of agents."""
    judge_calls: int = 0
    rounds: int = 0
    usage: Usage = Usage()
    """All calls of agents."""
    judge_usage: Usage = Usage()
    seconds: float = 0.0
    """Wall time; the only figure that differs between two runs."""
    course: tuple[Step, ...] = ()
    harm: HarmReport | None = None
    """What was watched, where the method watches; flips are not in it, since no debate of a study knows the truth."""
    extra: Mapping[str, Any] = Field(
        default={}, description="what a method wants reported beside, such as a transcript's path"
    )

    @property
    def key(self) -> RowKey:
        """What the store files it under."""
        return RowKey(self.data, self.seed, self.part, self.item, self.method)


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
    learnt: Mapping[str, Mapping[int, DevLesson]] = field(default_factory=dict)
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


FORMAT = 2
"""2: rows may have the judges' scores. Folders of format 1 are read and continued as they are."""


class PlannedMethod(BaseModel):
    """A method of the study as it was run."""

    model_config = ConfigDict(frozen=True)

    name: str
    use: str
    of: str
    """The entry of the spec; for ``each`` methods several have the same."""
    each: bool = False
    options: Mapping[str, Any] = {}


class Meta(BaseModel):
    """What is known of a study besides its rows."""

    model_config = ConfigDict(frozen=True)

    format: int = FORMAT
    spec: StudySpec
    identity: Mapping[str, Any]
    """What decided the rows: the spec's, with its panel resolved, and the SHA-256 of the data's files (not in old studies)."""
    fingerprint: str
    """SHA-256 of the identity."""
    version: str = __version__
    commit: str | None = Field(default_factory=commit)
    created: str = Field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    items: Mapping[str, Mapping[int, Mapping[str, tuple[str, ...]]]] = {}
    """Planned: data → seed → part → item ids."""
    methods: Mapping[str, tuple[PlannedMethod, ...]] = {}
    """Planned: data → methods."""
    notes: Mapping[str, tuple[str, ...]] = {}
    """What every report must say of a data set."""
    learnt: Mapping[str, Mapping[int, DevLesson]] = {}
    """Where the spec asks for it: data → seed → what dev taught about the agents. The first that was written stays."""

    def keys(self) -> Iterator[RowKey]:
        """Everything planned, in the order it is run: all methods on one item, then the next."""
        for data, seeds in self.items.items():
            for seed, parts in seeds.items():
                for part, items in parts.items():
                    for item in items:
                        for method in self.methods[data]:
                            yield RowKey(data, seed, part, item, method.name)  # type: ignore[arg-type]


def within(meta: Meta | None) -> Callable[[Row], bool]:
    """Whether a row is of the plan: a smaller limit leaves out what a larger one made. Without a plan all are."""
    if meta is None or not meta.items:
        return lambda row: True
    planned = frozenset(meta.keys())
    return lambda row: row.key in planned


def admit(old: Meta, new: Meta, where: str) -> Meta:
    """The study that continues: the plan of the new, the origin of the old; refused where they are not one study.

    Methods may have been added: an answer of one follows from its key, whatever others there are.
    """
    before, after = dict(old.identity), dict(new.identity)
    files, now = before.pop("files", {}), after.pop("files", {})
    if not (lost := _lost(before, after)):
        after["methods"] = before.get("methods")
    if old.fingerprint != new.fingerprint and _said(before) != _said(after):
        what = "; ".join(differences(before, after)) or "its panel"
        may = " Methods may be added to a study, but not changed or left out." if lost else ""
        raise InputError(
            f"{where} holds the results of another study ({what}): choose another --out, or delete it to begin again.{may}"
        )
    if changed := [
        name for data, known in files.items() for name, sha in known.items() if now.get(data, known).get(name) != sha
    ]:
        have = "has" if len(changed) == 1 else "have"
        raise InputError(
            f"{', '.join(changed)} {have} changed since this study began ({where}): choose another --out, or put the old one back"
        )
    learnt = {data: {**new.learnt.get(data, {}), **old.learnt.get(data, {})} for data in {**new.learnt, **old.learnt}}
    kept = {"version": old.version, "commit": old.commit, "created": old.created, "learnt": learnt}
    return new.model_copy(update=kept)


def _lost(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Whether a method of the old study is not in the new as it was."""
    there = [_said(method) for method in after.get("methods") or ()]
    return any(_said(method) not in there for method in before.get("methods") or ())


def _said(identity: Mapping[str, Any]) -> str:
    return json.dumps(identity, sort_keys=True)


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Where two :attr:`StudySpec.identity` differ, in words.

    >>> differences({"seeds": [0], "profile": "default"}, {"seeds": [0, 1], "profile": "default"})
    ['seeds was [0], is [0, 1]']
    """
    found = []
    for key in dict.fromkeys((*old, *new)):
        before, after = old.get(key), new.get(key)
        if before != after:
            found.append(f"{key} was {_short(before, after)}, is {_short(after, before)}")
    return found


def _short(value: Any, other: Any) -> str:
    """A value; of a list or table only what the other has not."""
    if isinstance(value, list) and isinstance(other, list) and value and isinstance(value[0], dict):
        value = [entry for entry in value if entry not in other]
    elif isinstance(value, dict) and isinstance(other, dict):
        value = {k: v for k, v in value.items() if other.get(k) != v}
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 160 else f"{text[:157]}…"


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
