"""A plan for a debate on record: as it was made, or made anew with another size, utilities, or for a debate that has none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from maci.acquisition.plan import Plan
from maci.acquisition.proposals import Surveyor
from maci.acquisition.utilities import Stakes, Utilities, utilities_of
from maci.agents.reader.library import Library
from maci.controller.acquiring import plan_for, residual
from maci.controller.calibrated import calibrated
from maci.controller.inputs import Surveyed
from maci.controller.state import State
from maci.errors import InputError
from maci.evidence.encode import load_encoder
from maci.record.events import Event
from maci.record.plan import plan_of
from maci.record.replay import replay

__all__ = ["replan", "utilities_for"]


def replan(
    events: Sequence[Event],
    *,
    size: int | None = None,
    stakes: Stakes | None = None,
    where: str = "utilities",
    bits: bool = False,
) -> tuple[Plan, State]:
    """The plan of a debate; what could be found out is what its last survey found, or what the spans on record show.

    Ranked by value under ``stakes`` (of the file ``where``), or under the recorded ones; by bits where there are none, or where
    ``bits`` asks for it.
    """
    state = replay(events).state
    if state.mixture is None:
        raise InputError("there is no belief on record yet: a plan needs at least the openings of a debate")
    if size is None and stakes is None and not bits and state.planned is not None and state.finished is not None:
        return plan_of(state.planned), state
    surveys = [event for event in events if isinstance(event, Surveyed)]
    if surveys:
        candidates, considered, remark = surveys[-1].candidates, surveys[-1].considered, surveys[-1].note
    else:
        found = _surveyor(state).survey(residual(state))
        candidates, considered, remark = found.candidates, found.considered, ""
    plan = plan_for(state, candidates, size=size, utilities=None if bits else utilities_for(state, stakes, where))
    note = "; ".join(text for text in (plan.note, remark) if text)
    return replace(plan, considered=considered, note=note), state


def utilities_for(state: State, stakes: Stakes | None, where: str = "utilities") -> Utilities | None:
    """What actions are worth under the outcomes of a debate: as given here, else as recorded."""
    p = calibrated(state)
    if stakes is None:
        return state.utilities(len(p))
    return utilities_of(stakes, state.labels[: len(p)], state.opened.case.outcomes, where=where)


def _surveyor(state: State) -> Surveyor:
    """For a debate of an older format: what its own spans show."""
    encoder = load_encoder()
    spans = [span for span in state.spans.values() if span.label or span.source]
    aliases = state.opened.case.outcomes.aliases
    library = Library(spans, state.labels, encoder, aliases) if spans else None
    return Surveyor(library if library is not None and library.spans else None, encoder, aliases)
