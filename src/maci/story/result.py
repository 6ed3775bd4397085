"""What `--json` prints: the result of a debate and its plan, closed and with bounds; their JSON Schemas are published in docs/schemas.

:func:`result_of` is the result of a finished debate. :class:`PlanPage` is its plan, and what `maci plan --json` prints;
:class:`QueryPage` is a query as `maci plan --export` writes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, AliasChoices, BaseModel, ConfigDict, Field

from maci.acquisition.gain import Favoured
from maci.acquisition.plan import AcquisitionPlan, Item
from maci.agents.argument import Kind, Part, Subkind
from maci.controller.decisions import Planned
from maci.controller.stop import StopReason
from maci.controller.triage import Check, Prospect, RegimeAdvice, Stage
from maci.render.markup import plain
from maci.story.recommendation import recommendation
from maci.story.story import Story

Plain = Annotated[str, AfterValidator(plain)]
"""Words of ours, for programs."""


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
    origin: list[str] = Field(
        description="where it comes from: corpus, knowledge, agents, disagreement, mixture, contrast (it quotes a sentence for each of "
        "two outcomes; with named: from texts without labels) or menu (the source says it has it)"
    )
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
    askable: bool = Field(True, description="false where the source has a menu and this is not on it")


class FavouredPage(Page):
    """What the utilities say to do."""

    action: str = Field(description="does best on average under the distribution as it stands")
    expected_utility: float = Field(validation_alias=AliasChoices("expected_utility", "expected"))
    actions: dict[str, float] = Field(description="expected utility of every action")


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
        parts = {name: getattr(plan, name) for name in ("items", "entropy", "joint_gain", "considered", "note")}
        return cls.model_validate({**parts, "favoured": best, "stop_reason": stop_reason, "transcript": transcript})


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


class MinorityView(Page):
    """An agent that does not share the answer."""

    agent: str
    outcome: str
    probability: float = Field(ge=0, le=1)
    arguments: list[str] = Field(description="ids of its admitted arguments for that outcome")


class DissentView(Page):
    """The minority report."""

    outcome: str = Field(description="the best-supported outcome other than the answer")
    probability: float = Field(ge=0, le=1)
    holders: list[str] = Field(description="agents that lead with it at the end")
    arguments: list[str] = Field(description="ids of admitted arguments for it, best first")
    spans: list[str] = Field(description="ids of the evidence they cite")
    crit: float | None = Field(description="mean score of those arguments; null where none was scored")
    support: float = Field(ge=0, description="admitted evidence for it: distinct spans, each at its best score")
    answer_support: float = Field(ge=0, description="the same for the answer")
    unanswered: list[str] = Field(description="of the spans: cited by no admitted argument for the answer")
    contested: list[str] = Field(description="of the spans: cited for the answer too")
    decides: list[str] = Field(description="what evidence would decide, in words")


class RolledBackView(Page):
    """The debate's own answer, where that of round 0 is given instead."""

    answer: str
    distribution: dict[str, float]
    support: float = Field(ge=0, description="admitted evidence for it")
    opening_support: float = Field(ge=0, description="admitted evidence for the answer of round 0")


class PredictionSetView(Page):
    """Outcomes that hold the truth with a stated coverage."""

    outcomes: list[str] = Field(description="most probable first")
    coverage: float = Field(ge=0, le=1, description="promised on cases like those calibrated on")
    score: Literal["lac", "aps"]
    n: int = Field(ge=0, description="calibration cases it rests on")


class SentenceView(Page):
    """A sentence of the recommendation."""

    part: Part
    text: Plain
    cites: list[str] = Field(description="ids of the admitted arguments and plan items it rests on")


class RecommendationView(Page):
    """The joint recommendation."""

    verdict: Plain = Field(description="the answer and how sure, or why none is given")
    sentences: list[SentenceView] = Field(description="the decisive evidence, what speaks against it, what to do next")
    by: str = Field(description="the model that wrote the sentences, or `template`")
    dropped: int = Field(0, ge=0, description="sentences of the model's that the record does not support")
    note: str = Field("", description="why the template stands in for the model, and what was dropped")
    text: Plain = Field(description="all of it, with the ids in brackets")


class Result(Page):
    """What a debate came to."""

    answer: str | None = Field(
        description="the most probable outcome; null where it is withheld (`abstained` says why) and where the work ended before "
        "a first answer"
    )
    guess: str | None = Field(
        description="the most probable outcome, also where the answer is withheld at a risk level; null where word statistics "
        "cannot decide the case"
    )
    distribution: dict[str, float] = Field(description="calibrated probability of each outcome")
    stop_reason: StopReason
    rounds: int = Field(ge=0)
    tokens: int = Field(ge=0)
    transcript: str = Field(description="path of the transcript")
    warnings: list[str]
    detail: str = Field(description="the figures behind the stop, in words")
    rationale: list[str] = Field(description="ids of admitted arguments for the answer, best first")
    minority: list[MinorityView]
    usd: float | None = Field(
        ge=0, description="dollars spent; null where the price of a model at the table is unknown"
    )
    prompt_tokens: int = Field(0, ge=0, description="of the tokens: read by agents and judges")
    cached_tokens: int = Field(0, ge=0, description="of the prompt tokens: from a cache of the provider's")
    generated_tokens: int = Field(0, ge=0, description="of the tokens: written by agents and judges")
    judge_tokens: int = Field(0, ge=0, description="of the tokens: the judges'")
    lost_tokens: int = Field(0, ge=0, description="of the tokens: counted in full for calls whose answer never came")
    tied: list[str] = Field([], description="outcomes that share the lead with the answer, itself included; else empty")
    agreed: bool | None = Field(
        None,
        description="whether all agents lead with one outcome at the end, and no other shares its lead; null without rounds",
    )
    abstained: str | None = Field(
        None,
        description="why the answer is withheld: at the risk level asked for (`guess` is then the best guess), or because word "
        "statistics cannot decide the case (`guess` is then null too)",
    )
    unfit: bool = Field(False, description="no answer is given because word statistics cannot decide the case")
    dissent: DissentView | None = Field(None, description="the minority report; null where nothing speaks for another")
    prediction_set: PredictionSetView | None = Field(None, description="null without a calibration that has one")
    rolled_back: RolledBackView | None = Field(None, description="null where the answer is the debate's own")
    narrower: dict[str, float] = Field(
        default_factory=dict,
        description="names narrower than the answer that were given for it, each with its share of the answer's probability",
    )
    favoured: FavouredPage | None = Field(None, description="what the utilities say to do; null without utilities")
    plan: PlanPage | None = Field(
        None, description="what to find out next, as `maci plan --json`; null where none was made"
    )
    recommendation: RecommendationView | None = Field(
        None, description="the joint recommendation; null where `answer.recommendation` is off"
    )


class TriageView(Page):
    """Whether to stop at a stage or go on: what was looked at, and what going on was expected to gain and cost."""

    stage: Stage = Field(description="whose answer stood: one agent's or the vote's")
    answer: str | None
    confidence: float | None = Field(description="the chance that it is right")
    margin: float | None = Field(description="between the two leading outcomes")
    regime: RegimeAdvice
    checks: tuple[Check, ...]
    steps: tuple[Prospect, ...] = Field(description="every way further, with expected gain (a probability) and tokens")
    tokens: int = Field(description="spent so far")
    escalate: bool
    why: tuple[str, ...]


class AskResult(Result):
    """What `maci ask` came to."""

    stage: Stage | None = Field(description="where the answer comes from; null where there is none")
    explain: list[TriageView]


def plan_of(planned: Planned) -> AcquisitionPlan:
    """The plan of a decision."""
    return AcquisitionPlan(
        items=planned.items,
        entropy=planned.entropy,
        joint_gain=planned.joint_gain,
        considered=planned.considered,
        note=" ".join(planned.notes),
    )


def result_of(story: Story, transcript: Path, *, priced: bool = True) -> Result:
    """The result with its last plan, and with what triage decided where it was asked to; ``priced`` where all prices are known."""
    finished, plan, path = story.result, None, str(transcript)
    assert finished is not None
    if story.plan is not None:
        plan = PlanPage.of(plan_of(story.plan), story.plan.favoured, stop_reason=finished.stop_reason, transcript=path)
    page = {name: getattr(finished, name) for name in Result.model_fields if hasattr(finished, name)}
    page |= {"transcript": path, "plan": plan, "usd": finished.usd if priced else None}
    page |= {"answer": finished.answered, "guess": finished.given}
    page["recommendation"] = recommendation(story)
    if (spent := finished.spent) is not None:
        page |= {"prompt_tokens": spent.prompt, "cached_tokens": spent.cached, "generated_tokens": spent.generated}
        page |= {"judge_tokens": spent.judges, "lost_tokens": spent.lost}
    if not story.opened.config.triage.enabled:
        return Result.model_validate(page)
    verdicts = [verdict for r in story.rounds for verdict in r.triaged]
    return AskResult.model_validate({**page, "stage": story.stage, "explain": verdicts})
