"""Who debates, from what a person chose: the panel found, the settings loaded, the models at hand, the table set.

Commands and the web page sit people down the same way; what they do where weights are lacking is their own (``PanelChoice.fetch``).
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maci.acquisition.gain import Stakes, check_stakes
from maci.cases.case import REDACTED, Case, redact
from maci.config import Config, full_key, load
from maci.controller.fold import start
from maci.controller.inputs import Opened
from maci.controller.reading import check_made_for
from maci.errors import ConfigError, MaciError, ModelError, Undecidable, concerning
from maci.evidence.encode import load_encoder
from maci.llm.catalogue import family
from maci.llm.keys import headers_from, is_loopback, without_credentials
from maci.llm.local.registry import WEIGHTS
from maci.llm.local.weights import status
from maci.llm.offline import check_here
from maci.render.markup import listed
from maci.seating import choose
from maci.seating.file import PanelFiles, find, is_own
from maci.seating.shelf import Sources, remembering
from maci.seating.spec import JudgeSpec, PanelSpec, is_model, judges_of, names, recorded_panel
from maci.seating.table import Table, opening
from maci.seating.tables import Tables
from maci.seating.trust import resumed

if TYPE_CHECKING:
    from maci.llm.models import House, ModelOptions
    from maci.seating.models import Models


ASKING = {"triage.enabled": True, "triage.until_sure": True}
"""What makes a debate go only as far as it pays: `maci ask`."""
Fetch = Callable[[str], object]
"""Gets the weights of a local model that are not here."""


def not_here(name: str) -> None:
    """Where nothing may be fetched: say what would."""
    raise ModelError(f"the weights of local/{name} are not on this machine: run `maci models pull {name}`")


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelChoice:
    """The options that say who debates, and under which settings."""

    panel: str | None = None
    agents: str | None = None
    judges: str | None = None
    corpus: Path | None = None
    profile: str | None = None
    config: Path | None = None
    sets: Sequence[str] = ()
    """``key=value``, as a person writes them."""
    given: Mapping[str, Any] = field(default_factory=dict)
    """Settings that have an option of their own, by their full keys; they prevail over ``sets``."""
    seed: int = 0
    cache: Path | None = None
    """The response cache; ``None`` is the usual place."""
    no_cache: bool = False
    offline: bool = False
    """Reach nothing but this machine, and fetch no weights."""
    fetches: bool = True
    """Weights of the hub that are missing are fetched when a model is first asked."""
    trust_record: bool = False
    """Resume with hosts, keys and code that only the record names (:mod:`maci.seating.trust`)."""
    source: str | None = None
    """Who answers what the plan asks (:mod:`maci.acquisition.sources`)."""
    source_headers: Sequence[str] = ()
    """``NAME=VARIABLE``: headers for an endpoint, with the environment variables that hold their values."""
    stakes: Stakes | None = None
    """Utilities: what is worth asking is then a matter of value."""
    stakes_from: str = ""
    """The file they came from, for whoever has to mend it."""
    spec: PanelSpec | None = None
    """A panel that stands in no file, instead of a name."""
    base: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the project file, below every other but a panel's own."""
    why: str = ""
    """Why these debate, where nobody named them."""
    fetch: Fetch = not_here

    @property
    def may_fetch(self) -> bool:
        """Whether weights that are missing are fetched."""
        return self.fetches and not self.offline

    def settled(self) -> tuple[PanelSpec | str, Config]:
        """The panel, and the settings with its own defaults below them."""
        with concerning("agents" if self.agents else "judges" if self.judges else "panel"):
            panel = with_judges(self.spec or choose(self.panel, self.agents, self.judges))
        if isinstance(panel, str) and panel != "readers" and self.corpus is not None:
            raise ConfigError(f"the panel {panel!r} is scripted and cannot use --corpus: use --panel readers")
        given, base = dict(self.given), dict(self.base)
        if isinstance(panel, PanelSpec):
            base = {**panel.settings, **base}
            if panel.judges == ():
                given["crit.enabled"] = False
        with concerning("settings"):
            return panel, load(self.profile, file=self.config, sets=self.sets, given=given, base=base)


@dataclass(frozen=True, slots=True)
class Seated:
    """A table with its first event."""

    opened: Opened
    table: Table
    house: House | None = None
    notes: tuple[str, ...] = ()
    """What a person should know of how it came about."""


def open_house(spec: PanelSpec, choice: PanelChoice) -> House:
    """The models of a panel; closed by whoever opened it."""
    from maci.llm.cache import ResponseCache
    from maci.llm.models import House
    from maci.paths import replies_file

    cache = None if choice.no_cache else ResponseCache(choice.cache or replies_file())
    return House(cache=cache, options=spec.models, offline=choice.offline, fetches=choice.fetches)


def checked_house(spec: PanelSpec, choice: PanelChoice) -> House:
    """The models of a panel for many debates: names, keys and weights are seen to. Closed by whoever asked for it."""
    house = open_house(spec, choice)
    with closing_on_failure(house):
        check_models(spec, house, choice.fetch)
    return house


def with_judges(panel: PanelSpec | str) -> PanelSpec | str:
    """The panel with a judge where none was named: a configured model of another family than all debaters'.

    Configured is what a panels file names: first as a judge, then anywhere. A key in the environment alone sends nothing anywhere,
    and a file that came with the working directory may not name a host of its own.
    """
    if isinstance(panel, str) or panel.judges is not None or not panel.seated:
        return panel
    debate, found = {_family(panel, seat.model) for seat in panel.agents}, find()
    judges = [seat.model for entry, _ in found.panels.values() for seat in entry.judges or ()]
    for name in dict.fromkeys([*judges, *sorted(found.mentioned)]):
        if is_model(name) and _family(panel, name) not in debate and _at_hand(name, panel.options(name), found):
            return panel.model_copy(update={"judges": judges_of([JudgeSpec(model=name)]), "found_judges": True})
    return panel


def _family(panel: PanelSpec, model: str) -> str:
    return panel.options(model).family or family(model)


def _at_hand(name: str, given: ModelOptions, found: PanelFiles) -> bool:
    """Whether a model can be asked: there is a key where one is needed, and weights are here."""
    where = next((file for model, (_, file) in found.models.items() if model in {name, name.partition("/")[0]}), None)
    if given.base_url and not is_loopback(given.base_url) and where is not None and not is_own(where):
        return False
    from maci.llm.models import House

    try:
        House(cache=None, options={name: given}, offline=True).model(name).provider.check()
    except MaciError:
        return False
    provider, _, model = name.partition("/")
    return provider != "local" or model not in WEIGHTS or status(model).present


class Seating:
    """Sets the table of one choice for case after case: settings, encoder and evidence are loaded once."""

    def __init__(self, choice: PanelChoice, models: Models | None = None) -> None:
        """``models`` instead of a house of its own, which is checked here and closed by whoever asked for the seating."""
        self._choice = choice
        self._panel, self.config = choice.settled()
        encoder = remembering(load_encoder(self.config.evidence.encoder, offline=not choice.may_fetch), choice.corpus)
        shared, headers = Sources.of_corpus(choice.corpus), _headers(choice, choice.source)
        self.house: House | None = None
        if models is None and isinstance(self._panel, PanelSpec):
            models = self.house = checked_house(self._panel, choice)
        self._tables = Tables(
            self._panel, encoder, self.config, models, shared=shared, source=choice.source, headers=headers
        )

    @property
    def who(self) -> str:
        """Who debates, or can where one answer may do, and why, in one line."""
        work = "can debate" if self.config.triage.enabled else "debate"
        if isinstance(self._panel, str):
            who = "Three embedded readers" if self._panel == "readers" else f"The agents of the panel {self._panel}"
            return f"{who} {work}, {self._choice.why}"
        agents, judges = names(self._panel.agents, self._panel.judges or ())
        if self._panel.judges is None:
            scores = "the reader judges score"
        elif judges:
            scores = f"{listed(seat.name for seat in judges)} judge{'' if len(judges) > 1 else 's'}"
        else:
            scores = "nobody scores the arguments (CRIT-free)"
        models, n = {seat.model for seat in agents}, len(agents)
        same = f" (the same model {'twice' if n == 2 else f'{n} times'})" if len(models) == 1 < n else ""
        same = same if all(map(is_model, models)) else ""
        return f"{listed(seat.name for seat in agents)}{same} {work} and {scores}, {self._choice.why}"

    def shown(self, case: Case) -> Case:
        """The case without what the settings keep from everybody."""
        with concerning("settings"):
            return redact(case, self.config.evidence.redact)

    def seat(self, case: Case) -> Seated:
        """The table for a case; one that cannot debate is refused before anything is written."""
        choice, case = self._choice, self.shown(case)
        if choice.stakes is not None:
            check_stakes(choice.stakes, case.outcomes, choice.stakes_from or "utilities")
        table = self._tables.table(case, seed=choice.seed)
        where = "" if choice.corpus is None else str(choice.corpus.resolve())
        opened = _without_paths(opening(case, table, self.config, seed=choice.seed, corpus=where, stakes=choice.stakes))
        start(opened)
        check_made_for(opened)
        if opened.unfit and not case.outcomes.labels and not self.config.answer.force:
            why = f"word statistics cannot decide this case ({opened.unfit})"
            raise Undecidable(f"{why}. Name the outcomes, or use a language model", guess=True)
        notes = ((self.who,) if choice.why else ()) + _idle(choice, self.config)
        if isinstance(self._panel, PanelSpec) and self._panel.found_judges:
            judges = ", ".join(judge.name for judge in table.judges)
            notes += (
                f"No judges were named (--judges): {judges} judges, a model you have configured and of another family.",
            )
        return Seated(opened, table, self.house, notes)


def seat_case(case: Case, choice: PanelChoice, models: Models | None = None) -> Seated:
    """Set the table for one case; ``models`` instead of the house's own."""
    seating = Seating(choice, models)
    with closing_on_failure(seating.house):
        return seating.seat(case)


def _idle(choice: PanelChoice, config: Config) -> tuple[str, ...]:
    """A coverage that was asked for and cannot be promised."""
    if config.calibration.conformal or "answer.coverage" not in {full_key(each.split("=")[0]) for each in choice.sets}:
        return ()
    return ("answer.coverage does nothing here: prediction sets need a calibration (`maci calibrate`, then --config).",)


def check_models(spec: PanelSpec, house: House | None, fetch: Fetch) -> None:
    """Names, keys and weights, before anything is written or sent; a rehearsal needs none."""
    if house is None:
        return
    for name in spec.seated:
        with concerning(spec.field(name)):
            house.model(name).provider.check()
    for name in spec.seated:
        with concerning(spec.field(name)):
            provider, _, model = name.partition("/")
            if provider == "local" and model in WEIGHTS and not status(model).present:
                fetch(model)


def unpriced(opened: Opened) -> tuple[str, ...]:
    """Models at a recorded table whose price nobody knows: what the debate cost in dollars cannot be said then."""
    from maci.llm.models import price_for

    spec = recorded_panel(opened)
    if isinstance(spec, str):
        return ()
    return tuple(name for name in spec.seated if price_for(name, spec.options(name)) is None)


@contextmanager
def closing_on_failure(house: House | None) -> Iterator[None]:
    """Let go of the models of a table from which nothing comes."""
    try:
        yield
    except BaseException:
        if house is not None:
            with ThreadPoolExecutor(1) as aside:  # this thread may run an event loop already, as behind the web page
                aside.submit(asyncio.run, house.aclose()).result()
        raise


def reseat(opened: Opened, choice: PanelChoice) -> Seated:
    """Set the table of a recorded debate again; what only the record vouches for is refused (:mod:`maci.seating.trust`)."""
    panel = resumed(opened, choice, find())
    corpus = choice.corpus if opened.corpus == REDACTED else Path(opened.corpus) if opened.corpus else None
    if corpus is None and opened.corpus:
        raise ConfigError("The record does not hold the path of the corpus (--redact sources). Give --corpus again.")
    encoder = remembering(load_encoder(opened.config.evidence.encoder, offline=not choice.may_fetch), corpus)
    shared, source = Sources.of_corpus(corpus), _source_again(opened, choice)
    headers = _headers(choice, source)
    house = None if isinstance(panel, str) else checked_house(panel, choice)
    with closing_on_failure(house):
        tables = Tables(panel, encoder, opened.config, house, shared=shared, source=source, headers=headers)
        return Seated(opened, tables.table(opened.case, seed=opened.seed), house)


def _headers(choice: PanelChoice, source: str | None) -> Mapping[str, str]:
    """What goes with every question to an endpoint, which must be one that may be asked."""
    if source is not None and source.startswith(("http://", "https://")):
        check_here(source, choice.offline)
    return headers_from(choice.source_headers, os.environ)


_NO_PATH = f"corpus:{REDACTED}"


def _without_paths(opened: Opened) -> Opened:
    """The first event without what it says of folders, where sources are redacted."""
    if "sources" not in opened.case.redacted:
        return opened
    return replace(opened, corpus=opened.corpus and REDACTED, source=recorded_source(opened.source, opened))


def recorded_corpus(folder: Path, opened: Opened) -> str:
    """How a debate's record names a corpus."""
    return REDACTED if "sources" in opened.case.redacted else str(folder.resolve())


def recorded_source(name: str, opened: Opened) -> str:
    """How a debate's record names a source."""
    hidden = "sources" in opened.case.redacted and name.startswith("corpus:")
    return _NO_PATH if hidden else without_credentials(name)


def _source_again(opened: Opened, choice: PanelChoice) -> str | None:
    """The source of a recorded debate; the record has no credentials, so a URL that needs some has to be given again."""
    if choice.source is not None and recorded_source(choice.source, opened) == opened.source:
        return choice.source
    if opened.source == _NO_PATH:
        raise ConfigError("The record does not hold the path of the source (--redact sources). Give --source again.")
    if "***" in opened.source:
        raise ConfigError(
            f"The record does not hold the credentials of --source {opened.source}. Give --source again, in full."
        )
    return opened.source or None
