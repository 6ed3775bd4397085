"""The study spec: what is compared, on what, under which settings. A TOML file; its JSON Schema is in docs/schemas.

:mod:`maci.lab.study.parsing` reads and checks it.

::

    name = "first"
    seeds = [0, 1, 2]

    [[data]]
    set = "symptom2disease"         # `maci data` lists the sets; further keys are the set's options
    per_label = 9

    [panel]
    name = "readers"                # or agents and judges as in a panels file, or recorded = true

    [set]
    "stop.max_rounds" = 5           # settings of the debate, as `maci config` names them

    [[methods]]
    use = "single"                  # `maci study methods` lists them; further keys are the method's options
    each = true                     # once with every agent: single/lexical, single/semantic, …

    [[methods]]
    use = "maci"

    [learn]
    agents = true                   # each agent's temperature, doubt and weight, from its openings on dev
    triage = true                   # for `ask`: what a vote and a debate change, from whole debates on dev

    [budget]
    tokens = 5_000_000              # of the whole run; `[set] "budget.tokens"` is of one answer

    [quick]                         # what `--quick` changes
    limit = 20
    seeds = [0]
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from maci.config import Config, build, full_key, parameters
from maci.errors import ConfigError
from maci.lab.datasets import find
from maci.llm.models import ModelOptions
from maci.seating.spec import AgentSpec, JudgeSpec

Part = Literal["dev", "test"]


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Data(BaseModel):
    """One data set with its options, or a file of the user's own."""

    model_config = ConfigDict(frozen=True, extra="allow", allow_inf_nan=False, populate_by_name=True)

    set: str | None = Field(default=None, description="a data set, as `maci data` lists them")
    file: Path | None = Field(default=None, description="a file of your own instead; below the spec's folder")
    map: dict[str, Any] = Field(
        default={},
        description="with `file`: which of its columns is what; `question`, `outcomes` and `per_label` may stand beside it",
    )
    label: str = Field(default="", description="what tables call it; the set with its options if left out")

    @property
    def options(self) -> dict[str, Any]:
        """The options of the set."""
        return dict(self.model_extra or {})

    @property
    def name(self) -> str:
        """What tables call it."""
        if self.label:
            return self.label
        if self.set is not None:
            entry = find(self.set)
            return entry.label(entry.choose(self.options))
        assert self.file is not None
        return self.file.stem


def _seat(value: Any) -> Any:
    return {"model": value} if isinstance(value, str) else value


_Agent = Annotated[AgentSpec, BeforeValidator(_seat, json_schema_input_type=str | AgentSpec)]
_Judge = Annotated[JudgeSpec, BeforeValidator(_seat, json_schema_input_type=str | JudgeSpec)]


class Panel(_Table):
    """Who answers: a named panel, agents and judges, or the answers that came with the data."""

    name: str | None = Field(default=None, description="`readers`, or a panel of a panels file")
    agents: tuple[_Agent, ...] = Field(default=(), description="as in a panels file")
    judges: tuple[_Judge, ...] | None = Field(default=None, description="as in a panels file; empty: no judges")
    models: dict[str, ModelOptions] = Field(default={}, description="as in a panels file")
    recorded: bool | tuple[str, ...] = Field(
        default=False, description="the recorded answers of the data set: true, or which of its models"
    )

    @model_validator(mode="after")
    def _one(self) -> Self:
        given = [k for k, v in (("name", self.name), ("agents", self.agents), ("recorded", self.recorded)) if v]
        if len(given) > 1:
            raise ValueError(f"has {' and '.join(given)}: give one of name, agents and recorded")
        if len(self.agents) == 1:
            raise ValueError("has one agent: a panel needs at least two; the same model may be named twice")
        return self


class MethodSpec(BaseModel):
    """One method with its options."""

    model_config = ConfigDict(frozen=True, extra="allow", allow_inf_nan=False)

    use: str = Field(description="a method, as `maci study methods` lists them")
    name: str = Field(default="", description="what tables call it; `use` if left out")
    each: bool = Field(default=False, description="once with every agent, reported also as best on dev")

    @property
    def options(self) -> dict[str, Any]:
        """The options of the method."""
        return dict(self.model_extra or {})

    @property
    def label(self) -> str:
        """What tables call it."""
        return self.name or self.use

    def expand(self, agents: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Name → options for ``registry.build``: one, or one for each agent.

        >>> list(MethodSpec(use="single", each=True).expand(["lexical", "semantic"]))
        ['single/lexical', 'single/semantic']
        """
        if not self.each:
            return {self.label: {**self.options, "name": self.label}}
        names = {agent: f"{self.label}/{agent}" for agent in agents}
        return {name: {**self.options, "agent": agent, "name": name} for agent, name in names.items()}


class Learn(_Table):
    """What is learnt on dev before anything is compared."""

    agents: bool = Field(
        default=False,
        description="each agent's temperature, doubt and weight, from its openings to the dev items; counts towards the budget",
    )
    triage: bool = Field(
        default=False,
        description="when one agent, a vote or a debate suffices, for the method `ask`, from whole debates of the dev items; needs "
        "agents = true and counts towards the budget",
    )

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.triage and not self.agents:
            raise ValueError("has triage = true without agents = true: who is asked first is who weighs most")
        return self


class Budget(_Table):
    """Ceilings of the whole run, however often it is interrupted."""

    tokens: int | None = Field(default=None, ge=0, le=10**15, description="most tokens, all calls together")
    usd: float | None = Field(default=None, ge=0, le=10**9, description="most dollars, all calls together")


class Quick(_Table):
    """What ``--quick`` changes."""

    limit: int | None = Field(default=None, ge=1, description="most items of each part")
    seeds: tuple[int, ...] | None = Field(default=None, min_length=1)
    set: dict[str, Any] = Field(default={}, description="settings of the debate")
    methods: tuple[str, ...] | None = Field(default=None, min_length=1, description="only these, by name")
    data: tuple[str, ...] | None = Field(default=None, min_length=1, description="only these, by label")


class StudySpec(_Table):
    """A study."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", description="names the results folder")
    about: str = ""
    profile: str = Field(default="default", description="of the debate's settings: default or paper")
    seeds: tuple[Annotated[int, Field(ge=0, le=2**31)], ...] = Field(default=(0,), min_length=1)
    parts: tuple[Part, ...] = Field(default=("dev", "test"), min_length=1)
    limit: int | None = Field(default=None, ge=1, description="most items of each part, the same whatever the method")
    data: tuple[Data, ...] = Field(min_length=1)
    panel: Panel = Panel(name="readers")
    set: dict[str, Any] = Field(default={}, description="settings of the debate, as `maci config` names them")
    methods: tuple[MethodSpec, ...] = Field(min_length=1)
    learn: Learn = Learn()
    budget: Budget = Budget()
    quick: Quick = Quick()
    report: dict[str, Any] = Field(default={}, description="what `maci study report` makes of it")

    @property
    def settings(self) -> dict[str, Any]:
        """``[set]`` with dotted keys, whether written ``"stop.max_rounds" = 5`` or ``[set.stop]``; numbers by agent stay together."""
        return flat(self.set)

    @property
    def identity(self) -> dict[str, Any]:
        """All that decides what is in a row. How much of it is run, and what is made of it, is left out.

        Where something is learnt on dev, how much of dev there is decides too.
        """
        left_out = {"about", "report", "budget", "quick", *(() if self.learn.agents else ("learn", "limit"))}
        found = {**self.model_dump(mode="json", exclude=left_out), "set": self.settings}
        if "learn" in found and not self.learn.triage:  # as before there was such a key
            del found["learn"]["triage"]
        for entry in found["data"]:  # wherever the folder is
            entry["file"] = None if entry["file"] is None else Path(entry["file"]).name
        return found

    def config(self, below: Mapping[str, Any] | None = None) -> Config:
        """The settings of the debate over ``below``, a panel's own. The environment has no say in a study."""
        values = {**(below or {}), **self.settings}
        if self.panel.judges == ():
            values.setdefault("crit.enabled", False)
        return build(self.profile, values)


_BY_AGENT = frozenset(row.key for row in parameters(Config()) if isinstance(row.default, Mapping))
"""Settings whose value is a table itself: a number for some of the agents."""


def flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Settings by their dotted keys, whatever tables they were written in."""
    found: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, Mapping) and not _by_agent(f"{prefix}{key}"):
            found |= flat(value, f"{prefix}{key}.")
        else:
            found[f"{prefix}{key}"] = value
    return found


def _by_agent(key: str) -> bool:
    try:
        return full_key(key) in _BY_AGENT
    except ConfigError:  # a section, or a key that is refused where it is used
        return False


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
