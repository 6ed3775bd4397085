"""The plan of a recorded debate: as it was made, or made again, and as `maci plan` prints it.

:func:`replan` makes it again with another size or other utilities, or for a debate that has none. :class:`PlanPage` is what `--json`
prints and :class:`QueryPage` a query as `--export` writes it; the JSON Schema is in docs/schemas.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pydantic import BaseModel, ConfigDict, Field

from maci.acquisition.plan import AcquisitionPlan, Item
from maci.acquisition.proposals import Surveyor
from maci.acquisition.utilities import Favoured, Stakes, Utilities, utilities_of
from maci.agents.argument import Kind, Subkind
from maci.agents.reader.library import Library
from maci.controller.acquiring import plan_for, residual
from maci.controller.decisions import Planned
from maci.controller.events import Event
from maci.controller.inputs import Surveyed
from maci.controller.reading import calibrated
from maci.controller.state import State
from maci.errors import InputError
from maci.evidence.encode import load_encoder
from maci.record.replay import replay


class Page(BaseModel):
    """A part of what `--json` prints: closed and with bounds, which the records it is read from need not have."""

    model_config = ConfigDict(extra="forbid", frozen=True, from_attributes=True)


class ShiftPage(Page):
    """What one answer would do to the decision."""

    answer: str
    probability: float = Field(ge=0, le=1)
    leader: str = Field(description="the outcome that would then lead")
    before: float = Field(ge=0, le=1, description="its probability now")
    after: float = Field(ge=0, le=1)
    changes: bool = Field(description="another outcome would lead than does now")


class ItemPage(Page):
    """Something to find out."""

    id: str
    kind: Kind
    text: str
    separates: list[str]
    expected: dict[str, str] = Field(description="outcome → the answer to expect, and its probability")
    expected_information_gain: float = Field(ge=0, description="bits, on its own")
    added_gain: float = Field(ge=0, description="bits beyond those of the items above it")
    cost: float = Field(gt=0)
    gain_per_cost: float = Field(ge=0)
    shifts: list[ShiftPage]
    asked_for_by: list[str] = Field(
        description="admitted arguments whose turn asked for it, or that rest on its evidence"
    )
    evidence: list[str] = Field(description="ids of the spans behind it")
    origin: list[str] = Field(description="corpus, knowledge, agents, disagreement or mixture")
    assumed: bool = Field(description="how telling the answer is was guessed, not counted in texts")
    query: str = ""
    filters: dict[str, list[str]] = {}
    value: float | None = Field(None, description="value of the answer under the utilities given")
    answered: float | None = Field(
        None,
        ge=0,
        le=1,
        description="where a source is asked: the chance that it answers, which gains and value count; shifts are given an answer",
    )
    subkind: Subkind | None = Field(None, description="what sort of test it is, where that is known")


class FavouredPage(Page):
    """What the utilities say to do."""

    action: str = Field(description="does best on average under the distribution as it stands")
    expected_utility: float
    actions: dict[str, float] = Field(description="expected utility of every action")

    @classmethod
    def of(cls, best: Favoured | None) -> FavouredPage | None:
        """The page of a choice; none where no utilities were given."""
        return (
            None
            if best is None
            else cls(action=best.action, expected_utility=best.expected, actions=dict(best.actions))
        )


class PlanPage(Page):
    """What to find out next."""

    items: list[ItemPage]
    entropy: float = Field(ge=0, description="bits of doubt that are left under the calibrated mixture")
    joint_gain: float = Field(ge=0, description="bits expected of all items together")
    considered: int = Field(ge=0)
    note: str = Field("", description="why there is nothing to ask, where there is nothing")
    favoured: FavouredPage | None = Field(None, description="null without utilities")
    stop_reason: str = ""
    transcript: str = ""

    @classmethod
    def of(
        cls, plan: AcquisitionPlan, best: Favoured | None = None, *, stop_reason: str = "", transcript: str = ""
    ) -> PlanPage:
        """The page of a plan."""
        return cls(
            items=[ItemPage.model_validate(item) for item in plan.items],
            entropy=plan.entropy,
            joint_gain=plan.joint_gain,
            considered=plan.considered,
            note=plan.note,
            favoured=FavouredPage.of(best),
            stop_reason=stop_reason,
            transcript=transcript,
        )


class QueryPage(Page):
    """A query for a retrieval system."""

    id: str
    query: str
    filters: dict[str, list[str]]
    text: str
    separates: list[str]
    expected_information_gain: float
    decision: list[ShiftPage] = Field(description="what each answer would do to the decision")

    @classmethod
    def of(cls, items: Sequence[Item]) -> list[QueryPage]:
        """The queries of a plan: of retrieval items their own, of others the question, with its outcomes as a filter."""
        return [
            cls(
                id=item.id,
                query=item.query or f"{item.text} {' '.join(item.separates)}",
                filters={key: list(of) for key, of in item.filters.items()} or {"outcomes": list(item.separates)},
                text=item.text,
                separates=list(item.separates),
                expected_information_gain=item.expected_information_gain,
                decision=[ShiftPage.model_validate(shift) for shift in item.shifts],
            )
            for item in items
        ]


def plan_of(planned: Planned) -> AcquisitionPlan:
    """The plan of a decision."""
    return AcquisitionPlan(
        items=planned.items,
        entropy=planned.entropy,
        joint_gain=planned.joint_gain,
        considered=planned.considered,
        note="; ".join(planned.notes),
    )


def replan(
    events: Sequence[Event],
    *,
    size: int | None = None,
    stakes: Stakes | None = None,
    where: str = "utilities",
    bits: bool = False,
) -> tuple[AcquisitionPlan, State]:
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
    """For a debate that looked for nothing: what its own spans show."""
    encoder = load_encoder()
    spans = [span for span in state.spans.values() if span.label or span.source]
    aliases = state.opened.case.outcomes.aliases
    library = Library(spans, state.labels, encoder, aliases) if spans else None
    return Surveyor(library if library is not None and library.spans else None, encoder, aliases)
