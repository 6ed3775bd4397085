"""Reads a study spec and checks it, before anything is loaded: every name, option and setting in it is one that exists."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from maci.config import build, full_key
from maci.errors import ConfigError, MaciError
from maci.files.parse import read
from maci.lab.datasets.own import OPTIONS
from maci.lab.methods import registry
from maci.lab.study.spec import Budget, Data, Learn, MethodSpec, Panel, Quick, StudySpec, flat
from maci.llm.models import ModelOptions
from maci.seating.spec import AgentSpec, JudgeSpec

_TABLES: Mapping[str, type[BaseModel]] = {
    "data": Data,
    "panel": Panel,
    "methods": MethodSpec,
    "learn": Learn,
    "budget": Budget,
    "quick": Quick,
}
_TAUGHT = ("calibration.agents", "calibration.doubt", "reliability.prior")
"""Settings that ``[learn] agents = true`` learns."""


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
        raise ConfigError(f"{where}: {_explain(error)}") from error
    if quick:
        spec = _quick(spec, where)
    if limit is not None:
        spec = spec.model_copy(update={"limit": limit})
    files = tuple(
        d if d.file is None else d.model_copy(update={"file": (folder / d.file).resolve()}) for d in spec.data
    )
    spec = spec.model_copy(update={"data": files})
    _check(spec, where)
    return spec


def _quick(spec: StudySpec, where: str) -> StudySpec:
    own = spec.quick
    methods = _picked("methods", own.methods, {m.label: m for m in spec.methods}, where)
    labels: dict[str, Data] = {}
    for entry in spec.data:
        labels[_data_name(entry, where)] = entry
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


def _near(name: str, there: Any) -> str:
    near = difflib.get_close_matches(name, list(there), n=1)
    return f"did you mean {near[0]!r}?" if near else f"there are {', '.join(map(str, there))}"


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
    """A further key of a file of one's own."""
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
    if (least := min(spec.seeds)) < 0:
        raise ConfigError(f"{where}: seeds has {least}: give whole numbers, 0 or more")
    for method in spec.methods:
        _check_method(method, where)
    try:
        build(spec.profile, spec.settings)
    except ConfigError as error:
        raise ConfigError(f"{where}: [set] {error}") from error
    if spec.learn.agents and (given := next((k for k in spec.settings if full_key(k) in _TAUGHT), None)):
        raise ConfigError(f"{where}: [learn] agents = true learns what [set] {given!r} gives: leave one out")
    if spec.learn.triage and (given := next((k for k in spec.settings if _learnt_by_triage(full_key(k))), None)):
        raise ConfigError(f"{where}: [learn] triage = true learns what [set] {given!r} gives: leave one out")


def _learnt_by_triage(key: str) -> bool:
    return key.startswith("triage.") and key not in {"triage.enabled", "triage.worth", "triage.until_sure"}


def _check_method(method: MethodSpec, where: str) -> None:
    entries = {entry.name: entry for entry in registry.entries()}
    if method.each and method.use in entries and not entries[method.use].each:
        able = ", ".join(name for name, entry in entries.items() if entry.each)
        raise ConfigError(
            f"{where}: methods.{method.label}: each = true is for methods that rest on one agent ({able}): leave it out"
        )
    if method.each and "agent" in method.options:
        raise ConfigError(f"{where}: methods.{method.label} has agent and each = true: leave one out")
    try:
        for options in method.expand(["an agent"]).values():
            registry.build(method.use, options)
    except ConfigError as error:
        raise ConfigError(f"{where}: methods.{method.label}: {error}") from error


def _unique(names: Sequence[str], what: str, give: str, where: str) -> None:
    if repeated := next((name for name, n in Counter(names).items() if n > 1), None):
        raise ConfigError(f"{where}: two {what} {repeated!r}: give each {give} of its own")


def _explain(error: ValidationError) -> str:
    """What is wrong, by place, value and remedy."""
    first = max(error.errors(), key=lambda e: (len(e["loc"]), e["type"] == "extra_forbidden"))
    loc = [str(part) for part in first["loc"] if not str(part).startswith("function-")]
    key, given = ".".join(loc), f"{first['input']!r:.60}"
    inner = next((_TABLES[part] for part in loc[:1] if part in _TABLES and len(loc) > 1), StudySpec)
    if len(loc) > 2 and loc[0] == "panel":
        inner = AgentSpec if loc[1] == "agents" else JudgeSpec if loc[1] == "judges" else ModelOptions
    if first["type"] == "extra_forbidden":
        return f"unknown key {key!r}: {_near(loc[-1], inner.model_fields)}"
    if first["type"] == "missing":
        plural = "[[" + key + "]]" if key in {"data", "methods"} else f"`{loc[-1]} = …`"
        return f"{key} is missing: add {plural}"
    if first["type"] == "too_short":
        return f"{key} is {given}: it needs at least one entry"
    if key == "name":
        return f"name is {given}: it names a folder, so use letters, digits, dots, - and _"
    message = first["msg"].removeprefix("Value error, ")
    said = f"{message[0].lower()}{message[1:]}"
    return f"{key} {said}" if first["type"] == "value_error" else f"{key} is {given}: {said}"
