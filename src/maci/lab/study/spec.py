"""The study spec: what is compared, on what, under which settings. A TOML file; its JSON Schema is in docs/schemas.

:func:`load_spec` reads and checks it, before anything is loaded: every name, option and setting in it is one that exists.

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

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from maci.calibration.weights import TAUGHT
from maci.cases.case import EditorSchema
from maci.config import Config, build, full_key, parameters, plugins
from maci.errors import ConfigError, MaciError, explain, near
from maci.files.parse import read
from maci.lab import methods
from maci.lab.datasets import find
from maci.lab.datasets.own import OPTIONS
from maci.llm.models import ModelOptions
from maci.seating.file import AgentEntry, JudgeEntry
from maci.seating.spec import AgentSpec, JudgeSpec

Part = Literal["dev", "test"]


class _SpecTable(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class _WithOptions(BaseModel):
    """Further keys are options of what it names."""

    model_config = ConfigDict(frozen=True, extra="allow", allow_inf_nan=False, populate_by_name=True)

    @property
    def options(self) -> dict[str, Any]:
        """The options."""
        return dict(self.model_extra or {})


class Data(_WithOptions):
    """One data set with its options, or a file of the user's own."""

    set: str | None = Field(default=None, description="a data set, as `maci data` lists them")
    file: Path | None = Field(default=None, description="a file of your own instead; below the spec's folder")
    map: dict[str, Any] = Field(
        default={},
        description="with `file`: which of its columns is what; `question`, `outcomes` and `per_label` may stand beside it",
    )
    label: str = Field(default="", description="what tables call it; the set with its options if left out")

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


class Panel(_SpecTable):
    """Who answers: a named panel, agents and judges, or the answers that came with the data."""

    name: str | None = Field(default=None, description="`readers`, or a panel of a panels file")
    agents: tuple[AgentEntry, ...] = Field(default=(), description="as in a panels file")
    judges: tuple[JudgeEntry, ...] | None = Field(default=None, description="as in a panels file; empty: no judges")
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


class MethodSpec(_WithOptions):
    """One method with its options."""

    use: str = Field(description="a method, as `maci study methods` lists them")
    name: str = Field(default="", description="what tables call it; `use` if left out")
    each: bool = Field(default=False, description="once with every agent, reported also as best on dev")

    @property
    def label(self) -> str:
        """What tables call it."""
        return self.name or self.use

    def expand(self, agents: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Name → options for ``methods.build``: one, or one for each agent.

        >>> list(MethodSpec(use="single", each=True).expand(["lexical", "semantic"]))
        ['single/lexical', 'single/semantic']
        """
        if not self.each:
            return {self.label: {**self.options, "name": self.label}}
        names = {agent: f"{self.label}/{agent}" for agent in agents}
        return {name: {**self.options, "agent": agent, "name": name} for agent, name in names.items()}


class Learn(_SpecTable):
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


class RunBudget(_SpecTable):
    """Ceilings of the whole run, however often it is interrupted."""

    tokens: int | None = Field(default=None, ge=0, le=10**15, description="most tokens, all calls together")
    usd: float | None = Field(default=None, ge=0, le=10**9, description="most dollars, all calls together")


class Quick(_SpecTable):
    """What ``--quick`` changes."""

    limit: int | None = Field(default=None, ge=1, description="most items of each part")
    seeds: tuple[int, ...] | None = Field(default=None, min_length=1)
    set: dict[str, Any] = Field(default={}, description="settings of the debate")
    methods: tuple[str, ...] | None = Field(default=None, min_length=1, description="only these, by name")
    data: tuple[str, ...] | None = Field(default=None, min_length=1, description="only these, by label")


class StudySpec(_SpecTable):
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
    budget: RunBudget = RunBudget()
    quick: Quick = Quick()
    report: dict[str, Any] = Field(default={}, description="what `maci study report` makes of it")
    editor_schema: EditorSchema = ""

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
        if self.panel.judges == ():
            below = {"crit.enabled": False, **(below or {})}
        plugins.name_schedule(str(self.settings.get("dials.schedule", "")))
        return build(self.profile, below or {}, self.settings)


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


_TABLES: Mapping[str, type[BaseModel]] = {
    "data": Data,
    "panel": Panel,
    "methods": MethodSpec,
    "learn": Learn,
    "budget": RunBudget,
    "quick": Quick,
}


def load_spec(path: Path, *, quick: bool = False, limit: int | None = None) -> StudySpec:
    """A spec from its file, checked: every name in it is one that exists."""
    return parse_spec(read(path, "TOML"), str(path), folder=path.parent, quick=quick, limit=limit)


def parse_spec(
    data: Mapping[str, Any], where: str, *, folder: Path = Path(), quick: bool = False, limit: int | None = None
) -> StudySpec:
    """A spec from parsed data; ``where`` names its origin in errors, ``folder`` is what files in it are below."""
    try:
        spec = StudySpec.model_validate(data)
    except ValidationError as error:
        raise ConfigError(f"{where}: {explain(error.errors(), _known, _remedy)}") from error
    if quick:
        spec = _quick(spec, where)
    files = tuple(
        d if d.file is None else d.model_copy(update={"file": (folder / d.file).resolve()}) for d in spec.data
    )
    fewer = {} if limit is None else {"limit": limit}
    spec = spec.model_copy(update={"data": files, **fewer})
    _check(spec, where)
    return spec


def _quick(spec: StudySpec, where: str) -> StudySpec:
    own = spec.quick
    methods = _picked("methods", own.methods, {m.label: m for m in spec.methods}, where)
    labels = {_data_name(entry, where): entry for entry in spec.data}
    return spec.model_copy(
        update={
            "limit": own.limit if own.limit is not None else spec.limit,
            "seeds": own.seeds or spec.seeds,
            "set": {**spec.settings, **flat(own.set)},
            "methods": methods,
            "data": _picked("data", own.data, labels, where),
        }
    )


def _picked(what: str, chosen: Sequence[str] | None, there: Mapping[str, Any], where: str) -> tuple[Any, ...]:
    for name in chosen or ():
        if name not in there:
            raise ConfigError(f"{where}: quick.{what} names {name!r}: {_near(name, there)}")
    return tuple(entry for name, entry in there.items() if chosen is None or name in chosen)


def _near(name: str, there: Iterable[str]) -> str:
    return near(name, there, f"there are {', '.join(there)}")


def _data_name(entry: Data, where: str) -> str:
    if (entry.set is None) == (entry.file is None):
        raise ConfigError(f"{where}: a [[data]] needs `set` (`maci data` lists them) or `file`, one of them")
    if entry.file is not None:
        for key, value in entry.options.items():
            _check_own(key, value, f"{where}: [[data]] file = {str(entry.file)!r}")
    if entry.map and entry.file is None:
        raise ConfigError(f"{where}: [[data]] set = {entry.set!r} has `map`, which is for a `file` of your own")
    try:
        return entry.name
    except MaciError as error:
        raise ConfigError(f"{where}: [[data]] {error}") from error


def _check_own(key: str, value: Any, where: str) -> None:
    """A further key of your own file."""
    if key not in OPTIONS:
        known = [name for name in Data.model_fields if name != "set"]
        raise ConfigError(f"{where} has an unknown key {key!r}: {_near(key, (*known, *OPTIONS))}")
    if key == "per_label" and (not isinstance(value, int) or isinstance(value, bool) or value < 0):
        raise ConfigError(f"{where}: per_label = {value!r} must be a whole number of texts of each label, 0 or more")
    if key == "question" and not (isinstance(value, str) and value.strip()):
        raise ConfigError(f"{where}: question = {value!r} must be what is asked of every row, a text")
    if key == "outcomes" and not (isinstance(value, str | list) and value):
        raise ConfigError(f'{where}: outcomes = {value!r} must be a list of labels, "open", or labels between | marks')


def _check(spec: StudySpec, where: str) -> None:
    """Names, options and settings, before anything is loaded."""
    _unique([_data_name(entry, where) for entry in spec.data], "[[data]] are called", "a `label`", where)
    _unique([method.label for method in spec.methods], "[[methods]] are called", "a `name`", where)
    _unique([str(seed) for seed in spec.seeds], "seeds are", "a number", where)
    if (least := min(spec.seeds)) < 0:  # of [quick]
        raise ConfigError(f"{where}: seeds has {least}: give whole numbers, 0 or more")
    for method in spec.methods:
        _check_method(method, where)
    try:
        build(spec.profile, spec.settings)
    except ConfigError as error:
        raise ConfigError(f"{where}: [set] {error}") from error
    if spec.learn.agents and (given := next((k for k in spec.settings if full_key(k) in TAUGHT), None)):
        raise ConfigError(f"{where}: [learn] agents = true learns what [set] {given!r} gives: leave one out")
    if spec.learn.triage and (given := next((k for k in spec.settings if _learnt_by_triage(full_key(k))), None)):
        raise ConfigError(f"{where}: [learn] triage = true learns what [set] {given!r} gives: leave one out")


def _learnt_by_triage(key: str) -> bool:
    return key.startswith("triage.") and key not in {"triage.enabled", "triage.worth", "triage.until_sure"}


def _check_method(method: MethodSpec, where: str) -> None:
    entries = {entry.name: entry for entry in methods.entries()}
    if method.each and method.use in entries and not entries[method.use].each:
        able = ", ".join(name for name, entry in entries.items() if entry.each)
        raise ConfigError(
            f"{where}: methods.{method.label}: each = true is for methods that rest on one agent ({able}): leave it out"
        )
    if method.each and "agent" in method.options:
        raise ConfigError(f"{where}: methods.{method.label} has agent and each = true: leave one out")
    try:
        for options in method.expand(["an agent"]).values():
            methods.build(method.use, options)
    except ConfigError as error:
        raise ConfigError(f"{where}: methods.{method.label}: {error}") from error


def _unique(names: Sequence[str], what: str, give: str, where: str) -> None:
    if repeated := next((name for name, n in Counter(names).items() if n > 1), None):
        raise ConfigError(f"{where}: two {what} {repeated!r}: give each {give} of its own")


def _known(path: list[str]) -> Iterable[str]:
    if len(path) > 2 and path[0] == "panel":
        return (AgentSpec if path[1] == "agents" else JudgeSpec if path[1] == "judges" else ModelOptions).model_fields
    return (_TABLES.get(path[0], StudySpec) if len(path) > 1 else StudySpec).model_fields


def _remedy(path: list[str], complaint: Mapping[str, Any]) -> str:
    if complaint["type"] == "missing":
        return f"add [[{path[-1]}]]" if path in (["data"], ["methods"]) else f"add `{path[-1]} = …`"
    if complaint["type"] == "too_short":
        return "it needs at least one entry"
    return "it names a folder, so use letters, digits, dots, - and _" if path == ["name"] else ""
