"""Who debates, from the options of a command; weights that are lacking are pulled, with a progress bar."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from maci.cases.case import Case
from maci.controller.inputs import Opened
from maci.seating import seating
from maci.seating.seating import Choice, Fetch, Seated, Seating

if TYPE_CHECKING:
    from maci.llm.models import House
    from maci.seating.models import Models
    from maci.seating.spec import PanelSpec


ASKING = ("triage.enabled=true", "triage.until_sure=true")
"""What makes a debate go only as far as it pays: `maci ask`."""


def _fetch(choice: Choice) -> Fetch:
    from maci.cli.models import fetch

    return partial(fetch, offline=choice.offline, quiet=choice.quiet)


def checked_house(spec: PanelSpec, choice: Choice) -> House:
    """The models of a panel for many debates. Closed by whoever asked for it."""
    return seating.checked_house(spec, choice, fetch=_fetch(choice))


def seating_of(choice: Choice) -> Seating:
    """Sets the tables of many cases; its house is closed by whoever asked for it."""
    return Seating(choice, fetch=_fetch(choice))


def seat_case(case: Case, choice: Choice, models: Models | None = None) -> Seated:
    """Set the table for a case; ``models`` instead of the house's own."""
    return seating.seat_case(case, choice, models, fetch=_fetch(choice))


def reseat(opened: Opened, choice: Choice) -> Seated:
    """Set the table of a recorded debate again."""
    return seating.reseat(opened, choice, fetch=_fetch(choice))
