"""Who debates, from what a person chose: the panel found, the settings loaded, the models at hand, the table set.

Commands and the web page sit people down the same way; what they do where weights are lacking is their own (``fetch``).
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from maci.acquisition.utilities import Stakes, check_stakes
from maci.calls import Table
from maci.case.case import Case
from maci.config import Config, full_key, load
from maci.controller.fold import start
from maci.controller.inputs import Opened
from maci.errors import ConfigError, ModelError, WrongKey
from maci.evidence.encode import load_encoder
from maci.llm.keys import SERVICES, Key, find_key, key_help
from maci.llm.weights import WEIGHTS, status
from maci.panel import build_table, choose, seat
from maci.panel.spec import PanelSpec
from maci.run import opening

if TYPE_CHECKING:
    from maci.llm.house import House, ModelOptions
    from maci.panel.models import Models

__all__ = [
    "Choice",
    "Fetch",
    "Seated",
    "check_models",
    "checked_house",
    "key_for",
    "not_here",
    "open_house",
    "reseat",
    "seat_case",
    "unpriced",
]


Fetch = Callable[[str], object]
"""Gets the weights of a local model that are not here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The options that say who debates, and under which settings."""

    panel: str | None = None
    agents: str | None = None
    judges: str | None = None
    corpus: Path | None = None
    profile: str | None = None
    config: Path | None = None
    sets: Sequence[str] = ()
    seed: int = 0
    cache: Path | None = None
    """The response cache; ``None`` is the usual place."""
    no_cache: bool = False
    offline: bool = False
    """Fetch no weights."""
    source: str | None = None
    """Who answers what the plan asks (:mod:`maci.acquisition.sources.named`)."""
    stakes: Stakes | None = None
    """Utilities: what is worth asking is then a matter of value."""
    stakes_from: str = ""
    """The file they came from, for whoever has to mend it."""
    quiet: bool = False

    def settled(self) -> tuple[PanelSpec | str, Config]:
        """The panel, and the settings with its own defaults below them."""
        panel = choose(self.panel, self.agents, self.judges)
        sets, base = list(self.sets), {}
        if isinstance(panel, PanelSpec):
            base = dict(panel.settings)
            if panel.judges == ():
                sets.append("crit.enabled=false")
        return panel, load(self.profile, file=self.config, sets=sets, base=base)


@dataclass(frozen=True, slots=True)
class Seated:
    """A table with its first event."""

    opened: Opened
    table: Table
    house: House | None = None
    notes: tuple[str, ...] = ()
    """What a person should know of how it came about."""


def key_for(name: str, given: ModelOptions) -> Key | None:
    """The key a model will be asked with; raises :class:`~maci.errors.WrongKey` where there is none and one is needed."""
    provider = name.partition("/")[0]
    if provider in {"local", "litellm"}:
        return None
    base_url = given.base_url or (os.environ.get("OPENAI_BASE_URL") if provider == "openai" else None)
    key, service = find_key(provider, base_url, key_env=given.key_env, who=name), SERVICES.get(provider)
    if key is None and base_url is None and service is not None and service.variables:
        raise WrongKey(f"{name}: there is no key for {service.name}: {key_help(provider)}, then run `maci doctor`")
    return key


def open_house(spec: PanelSpec, choice: Choice) -> House:
    """The models of a panel; closed by whoever opened it."""
    from maci.llm.cache import ResponseCache, default_path
    from maci.llm.house import House

    if choice.offline:
        os.environ["MACI_OFFLINE"] = "1"  # what local models look at
    cache = None if choice.no_cache else ResponseCache(choice.cache or default_path())
    return House(cache=cache, options=spec.models)


def not_here(name: str) -> None:
    """Where nothing may be fetched: say what would."""
    raise ModelError(f"the weights of local/{name} are not on this machine: run `maci models pull {name}`")


def checked_house(spec: PanelSpec, choice: Choice, *, fetch: Fetch = not_here) -> House:
    """The models of a panel for many debates: names, keys and weights are seen to. Closed by whoever asked for it."""
    house = open_house(spec, choice)
    with _closing(house):
        check_models(spec, house, fetch)
    return house


def seat_case(case: Case, choice: Choice, models: Models | None = None, *, fetch: Fetch = not_here) -> Seated:
    """Set the table for a case; ``models`` instead of the house's own."""
    panel, config = choice.settled()
    if choice.stakes is not None:
        check_stakes(choice.stakes, case.outcomes, choice.stakes_from or "utilities")
    encoder = load_encoder(config.evidence.encoder, offline=choice.offline)
    where = "" if choice.corpus is None else str(choice.corpus.resolve())
    if isinstance(panel, str):
        table = build_table(panel, case, encoder, seed=choice.seed, corpus=choice.corpus)
        table = _with_source(table, choice.source, case, config)
        opened = opening(case, table, config, seed=choice.seed, panel=panel, corpus=where, stakes=choice.stakes)
        return Seated(opened, table, notes=_idle(choice, config))
    house = open_house(panel, choice) if models is None else None
    with _closing(house):
        check_models(panel, house, fetch)
        at_hand = models or house
        assert at_hand is not None
        spec, table = seat(panel, case, encoder, at_hand, config, seed=choice.seed, corpus=choice.corpus)
        table = _with_source(table, choice.source, case, config)
        name = panel.name or "--agents"
        opened = opening(
            case, table, config, seed=choice.seed, panel=name, corpus=where, spec=spec.record(), stakes=choice.stakes
        )
        start(opened)  # a table that cannot debate is refused before anything is written
    notes = _idle(choice, config)
    if panel.judges is None and spec.judges:
        notes += (
            "No judges were named (--judges): the three reader judges score. They compare texts and are no models.",
        )
    return Seated(opened, table, house, notes)


def _idle(choice: Choice, config: Config) -> tuple[str, ...]:
    """A coverage that was asked for and cannot be promised."""
    if config.calibration.conformal or "answer.coverage" not in {full_key(each.split("=")[0]) for each in choice.sets}:
        return ()
    return ("answer.coverage does nothing here: prediction sets need a calibration (`maci calibrate`, then --config).",)


def _with_source(table: Table, name: str | None, case: Case, config: Config) -> Table:
    """The table with somebody who answers; asked for and not named is refused before anything is written."""
    if name is None:
        if config.plan.acquire:
            raise ConfigError(
                f"--acquire {config.plan.acquire} needs somebody to ask: --source hidden, corpus:PATH, ask, http://… or "
                "python:module:function"
            )
        return table
    if not config.plan.acquire:
        raise ConfigError(f"--source {name} is asked nothing: say how often it may be asked, as in --acquire 3")
    if not config.plan.enabled:
        raise ConfigError(f"--source {name} answers what the plan asks, and plan.enabled is false")
    from maci.acquisition.sources.named import load_source

    return replace(table, source=load_source(name, case, table.encoder))


def check_models(spec: PanelSpec, house: House | None, fetch: Fetch) -> None:
    """Names, keys and weights, before anything is written or sent; a rehearsal needs none."""
    if house is None:
        return
    for name in spec.seated:
        check = getattr(house.model(name).provider, "check", None)
        if check is not None:
            check()
    for name in spec.seated:
        key_for(name, spec.options(name))
        provider, _, model = name.partition("/")
        if provider == "local" and model in WEIGHTS and not status(model).present:
            fetch(model)


def unpriced(opened: Opened) -> tuple[str, ...]:
    """Models at a recorded table whose price nobody knows: what the debate cost in dollars cannot be said then."""
    from maci.llm.house import price_for

    if opened.table is None:
        return ()
    spec = PanelSpec.model_validate(opened.table)
    return tuple(name for name in spec.seated if price_for(name, spec.options(name)) is None)


@contextmanager
def _closing(house: House | None) -> Iterator[None]:
    """Let go of the models if nothing comes of it."""
    try:
        yield
    except BaseException:
        if house is not None:
            asyncio.run(house.aclose())
        raise


def reseat(opened: Opened, choice: Choice, *, fetch: Fetch = not_here) -> Seated:
    """Set the table of a recorded debate again."""
    encoder = load_encoder(opened.config.evidence.encoder, offline=choice.offline)
    corpus = Path(opened.corpus) if opened.corpus else None
    if opened.table is None:
        table = build_table(opened.panel, opened.case, encoder, seed=opened.seed, corpus=corpus)
        return Seated(opened, _with_source(table, opened.source or None, opened.case, opened.config))
    spec = PanelSpec.model_validate(opened.table)
    house = open_house(spec, choice)
    with _closing(house):
        check_models(spec, house, fetch)
        _, table = seat(spec, opened.case, encoder, house, opened.config, seed=opened.seed, corpus=corpus)
        table = _with_source(table, opened.source or None, opened.case, opened.config)
    return Seated(opened, table, house)
