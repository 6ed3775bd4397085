"""The panels there are: who sits, of which families, what a debate costs, and whether one can be held."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote

from maci.cases.case import builtin_cases
from maci.debating.estimate import estimate, totals
from maci.errors import MaciError
from maci.llm.catalogue import family
from maci.paths import keys_file
from maci.render.markup import Child, Markup, el
from maci.seating.file import PanelFiles, find
from maci.seating.seating import PanelChoice, check_models, not_here, open_house, with_judges
from maci.seating.spec import READER, READER_AGENTS, READER_JUDGES, PanelSpec, is_reader, names
from maci.story.report.verdict import sentence
from maci.story.words import plural
from maci.web.pages.layout import page

TYPICAL = "dengue"
"""The built-in case for which prices are estimated."""
REHEARSING = asyncio.Semaphore(1)
"""An estimate plays a whole debate with stand-ins: one at a time."""
_FREE, _UNKNOWN = "free", "being estimated; load the page again"


@dataclass(frozen=True, slots=True)
class SeatRow:
    """A place at a table."""

    role: str
    name: str
    model: str
    family: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A panel as the page shows it."""

    name: str
    about: str
    seats: tuple[SeatRow, ...] = ()
    judges: str = ""
    """Who judges, where no judge is named."""
    trouble: str = ""
    """Why no debate can be held with it now, and what to do."""
    models: tuple[str, ...] = ()


def listed() -> list[Listed]:
    """Every panel: built-in ones, then those of the panels files."""
    found = find()
    readers = (
        *(SeatRow("agent", name, f"{READER}/{name}", "embedded reader") for name in READER_AGENTS),
        *(SeatRow("judge", name, f"{READER}/{name}", "embedded reader") for name in READER_JUDGES),
    )
    return [
        Listed(name="readers", about="embedded readers: offline, no key, no model", seats=readers),
        Listed(name="paper", about="the turns printed in the paper, for its two cases"),
        *(_of_file(name, found) for name in found.panels),
    ]


def _of_file(name: str, found: PanelFiles) -> Listed:
    about = found.panels[name][0].about
    try:
        panel = with_judges(found.spec(name))
    except MaciError as error:
        return Listed(name=name, about=about, trouble=str(error))
    assert isinstance(panel, PanelSpec)
    agents, judges = names(panel.agents, panel.judges or ())

    def seat(role: str, called: str, model: str) -> SeatRow:
        own = "embedded reader" if is_reader(model) else panel.options(model).family or family(model)
        return SeatRow(role, called, model, own)

    seats = (
        *(seat("agent", each.name, each.model) for each in agents),
        *(seat("judge", each.name, each.model) for each in judges),
    )
    unnamed = "the embedded readers" if panel.judges is None else "" if judges else "nobody (CRIT-free)"
    return Listed(name=name, about=about, seats=seats, judges=unnamed, trouble=_trouble(panel), models=panel.seated)


def _trouble(panel: PanelSpec) -> str:
    """What a debate would fail for before anything is sent."""
    if not panel.seated:
        return ""
    try:
        check_models(panel, open_house(panel, PanelChoice(no_cache=True, offline=True)), not_here)
    except MaciError as error:
        return str(error).replace(str(keys_file()), "the keys file")  # where that is, is not for visitors
    return ""


class Prices:
    """What a typical debate costs with each panel; estimated once, by rehearsing one. Used by one event loop only."""

    def __init__(self) -> None:
        self._known: dict[Listed, str] = {}
        self._tasks: dict[Listed, asyncio.Task[None]] = {}

    async def of(self, panels: Sequence[Listed], *, patience: float) -> dict[str, str]:
        """Those that are known after so many seconds, by the name of the panel; others are being estimated."""
        for panel in panels:
            if panel not in self._known and panel not in self._tasks:
                self._tasks[panel] = asyncio.ensure_future(self._estimate(panel))
        waiting = [task for panel, task in self._tasks.items() if panel in panels]
        if waiting and patience:
            await asyncio.wait(waiting, timeout=patience)
        return {panel.name: self._known[panel] for panel in panels if panel in self._known}

    async def _estimate(self, panel: Listed) -> None:
        try:
            if not panel.models:
                self._known[panel] = _FREE
                return
            async with REHEARSING:
                self._known[panel] = await asyncio.to_thread(lambda: asyncio.run(_price(panel.name)))
        except MaciError as error:
            self._known[panel] = f"cannot be estimated: {error}"
        finally:
            self._tasks.pop(panel, None)


async def _price(name: str) -> str:
    found = await estimate(builtin_cases()[TYPICAL], PanelChoice(panel=name))
    least, most = (row.so_far for row in totals(found))
    if found.unpriced:
        return f"{least.tokens:,} to {most.tokens:,} tokens; no price is known for {', '.join(found.unpriced)}"
    return f"{least}" if least == most else f"{least}, up to {most}"


def panels_page(panels: Sequence[Listed], prices: dict[str, str]) -> str:
    """The page."""
    ready = sum(not panel.trouble for panel in panels)
    return page(
        "Panels",
        el("h1", "Panels"),
        el(
            "p",
            f"{plural(len(panels), 'panel')}, {ready} can debate now. Prices are estimates for the built-in case {TYPICAL}: "
            "from the fewest rounds a debate may take to the most.",
            class_="soft",
        ),
        el("div", (_card(panel, prices.get(panel.name, _UNKNOWN)) for panel in panels), class_="cards"),
        el(
            "p",
            "Panels of your own are written into a panels file: ",
            el("code", "maci init"),
            " makes one from the models it finds, ",
            el("code", "maci doctor"),
            " checks them.",
            class_="small-print",
        ),
        here="/panels",
    )


def _card(panel: Listed, price: str) -> Markup:
    state = el("span", "needs attention", class_="tag bad") if panel.trouble else el("span", "ready", class_="tag good")
    facts: list[tuple[str, Child]] = [
        (words, [_seat(seat) for seat in panel.seats if seat.role == role])
        for role, words in (("agent", "Agents"), ("judge", "Judges"))
        if any(seat.role == role for seat in panel.seats)
    ]
    facts += [("Judges", panel.judges)] if panel.judges else []
    facts.append(("Price", price))
    return el(
        "section",
        el("h2", panel.name, " ", state, id=f"panel-{panel.name}"),
        el("p", sentence(panel.about)) if panel.about else None,
        el("p", sentence(panel.trouble), class_="bad-note") if panel.trouble else None,
        el("dl", ((el("dt", name), el("dd", what)) for name, what in facts), class_="dials"),
        None
        if panel.trouble
        else el("p", el("a", "Debate with it", href=f"/new?panel={quote(panel.name)}", class_="button")),
        class_="card panel",
        aria_labelledby=f"panel-{panel.name}",
    )


def _seat(seat: SeatRow) -> Markup:
    """A name with its model and family, none of them twice."""
    kind = seat.family if is_reader(seat.model) else f"family {seat.family}"
    more = [text for text in (seat.model, kind) if text not in (seat.name, f"{READER}/{seat.name}")]
    return el("div", el("b", seat.name), el("span", f" {' · '.join(more)}", class_="soft") if more else None)
