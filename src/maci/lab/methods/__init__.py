"""The systems of the paper's tables, behind one interface (SPEC 12).

Every method asks the same agents through the same :class:`~maci.lab.methods.method.Hearing`, which keeps the budget and the count.
A study spec gives methods by name: ``build("majority_vote", {"n": 20})``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

from maci.config import plugins
from maci.errors import ConfigError, near
from maci.lab.methods.baselines import (
    Average,
    Dmad,
    DuDebate,
    Mad,
    MajorityVote,
    MixtureOfAgents,
    MultiLlmDebate,
    SelfConsistency,
    Single,
    WeightedAverage,
)
from maci.lab.methods.maci import ABLATIONS, UNSCHEDULED, Ask, Maci, changed
from maci.lab.methods.method import Method


@dataclass(frozen=True, slots=True)
class MethodEntry:
    """One method of the list."""

    name: str
    about: str
    make: Callable[..., Method]
    options: tuple[str, ...]
    """What may be set."""
    each: bool = False
    """It rests on one agent (option ``agent``): a study may run it with every one."""
    ablation: bool = False


def _plain(name: str, about: str, kind: Any, *, each: bool = False) -> MethodEntry:
    options = tuple(f.name for f in fields(kind) if f.name != "name")
    return MethodEntry(name, about, partial(kind, name=name), options, each)


def _debate(
    name: str, about: str, own: Mapping[str, Any], *, kind: Callable[..., Method] = Maci, ablation: bool = False
) -> MethodEntry:
    def make(settings: Mapping[str, Any] | None = None, name: str = name) -> Method:
        from maci.config import Config

        if settings is not None and not isinstance(settings, Mapping):
            raise ConfigError(f"method {name!r}: set is {settings!r:.60}: it must be a table of settings and values")
        merged = {**own, **(settings or {})}
        changed(Config(), merged)  # refuses what no debate could use
        return kind(merged, name)

    return MethodEntry(name, about, make, ("settings",), ablation=ablation)


_ALL = (
    _plain("single", "one agent's opening", Single, each=True),
    _plain("average", "linear pool of the openings", Average),
    _plain("weighted_average", "linear pool of the openings, weighted by each agent's record on dev", WeightedAverage),
    _plain("majority_vote", "N independent answers of all agents, counted", MajorityVote),
    _plain("self_consistency", "N samples of one agent, counted (Wang et al. 2023)", SelfConsistency, each=True),
    _plain("mixture_of_agents", "layers of proposers, one aggregator (Wang et al. 2024)", MixtureOfAgents, each=True),
    _plain("mad", "fixed adversaries and a moderator (Liang et al. 2024)", Mad),
    _plain("du_debate", "copies of one agent hear each other (Du et al. 2024)", DuDebate, each=True),
    _plain("dmad", "different ways to reason hear each other (Liu et al. 2025)", Dmad),
    _plain("multi_llm_debate", "pruned and refuted answers (Estornell & Liu 2024)", MultiLlmDebate),
    _debate("unscheduled", "debate without dials, gates, judges or a stop rule", UNSCHEDULED),
    _debate("maci", "the controller", {}),
    _debate("ask", "one agent, a vote or a debate, whichever is worth its tokens", {}, kind=Ask),
    *(_debate(name, f"maci, but {about}", own, ablation=True) for name, (about, own) in ABLATIONS.items()),
)
_BY_NAME = {entry.name: entry for entry in _ALL}


def entries() -> tuple[MethodEntry, ...]:
    """All methods there are."""
    return (*_ALL, *_added())


def _added() -> Iterator[MethodEntry]:
    """Those of plugins that load; `maci plugins` says why one does not."""
    for name in plugins.names("methods"):
        with suppress(ConfigError):
            if name not in _BY_NAME:
                yield plugins.load("methods", name)


def names() -> dict[str, str]:
    """Name → what it does."""
    return {entry.name: entry.about for entry in entries()}


def build(use: str, options: Mapping[str, Any] | None = None) -> Method:
    """A method by name with its options; ``name`` among them is what tables call it.

    >>> build("majority_vote", {"n": 5, "name": "vote of 5"}).name
    'vote of 5'
    """
    found = _BY_NAME.get(use) or plugins.load("methods", use)
    if found is None:
        known = (*_BY_NAME, *plugins.names("methods"))
        hint = near(use, known, f"choose one of {', '.join(known)}")
        raise ConfigError(f"unknown method {use!r}: {hint}")
    entry, given = found, dict(options or {})
    if "set" in given and "settings" in entry.options:  # as the table of a spec is called
        if "settings" in given:
            raise ConfigError(f"method {use!r} has set and settings, which are the same: leave one out")
        given["settings"] = given.pop("set")
    if unknown := sorted(set(given) - {*entry.options, "name"}):
        raise ConfigError(f"method {use!r} has no option {unknown[0]!r}: {_hint(entry, unknown[0])}")
    _check(use, given)
    return entry.make(**given)


def _hint(entry: MethodEntry, unknown: str) -> str:
    general = ("name", "each") if entry.each else ("name",)
    there = f"{', '.join(entry.options)}," if entry.options else "no options"
    return near(unknown, (*entry.options, *general), f"it has {there} beside {' and '.join(general)}")


def _check(use: str, given: Mapping[str, Any]) -> None:
    for key, value in given.items():
        if key in {"n", "rounds", "layers", "quality", "diversity"} and (
            not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= 1000
        ):
            raise ConfigError(f"method {use!r}: {key} = {value!r} must be a whole number between 1 and 1000")
        if key == "sure" and not (isinstance(value, int | float) and 0 < value <= 1):
            raise ConfigError(f"method {use!r}: sure = {value!r} must be above 0 and at most 1")
