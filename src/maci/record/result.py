"""The result as `--json` prints it; its JSON Schema is published in docs/schemas."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field

from maci.controller.decisions import Finished, Planned
from maci.controller.stop import StopReason
from maci.controller.triage import Check, Prospect, RegimeAdvice, Stage
from maci.record.plan import FavouredPage, Page, PlanPage, plan_of


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


class Result(Page):
    """What a debate came to."""

    answer: str | None = Field(description="the most probable outcome; null where the work ended before a first answer")
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
    abstained: str | None = Field(
        None, description="why no answer is given at the risk level asked for; `answer` is then the best guess"
    )
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

    @classmethod
    def of(cls, finished: Finished, transcript: Path, *, planned: Planned | None = None, priced: bool = True) -> Result:
        """The result of a finished debate with its last plan; ``priced`` where every model's price is known."""
        spent, path = finished.spent, str(transcript)
        split = (
            {}
            if spent is None
            else {
                "prompt_tokens": spent.prompt,
                "cached_tokens": spent.cached,
                "generated_tokens": spent.generated,
                "judge_tokens": spent.judges,
                "lost_tokens": spent.lost,
            }
        )
        plan = None
        if planned is not None:
            plan = PlanPage.of(plan_of(planned), planned.favoured, stop_reason=finished.stop_reason, transcript=path)
        return cls.model_validate(
            {
                "answer": finished.answer,
                "distribution": finished.distribution,
                "stop_reason": finished.stop_reason,
                "rounds": finished.rounds,
                "tokens": finished.tokens,
                "transcript": path,
                "warnings": finished.warnings,
                "detail": finished.detail,
                "rationale": finished.rationale,
                "minority": finished.minority,
                "usd": finished.usd if priced else None,
                "abstained": finished.abstained,
                "dissent": finished.dissent,
                "prediction_set": finished.prediction_set,
                "rolled_back": finished.rolled_back,
                "narrower": finished.narrower,
                "favoured": FavouredPage.of(finished.favoured),
                "plan": plan,
                **split,
            }
        )


class Verdict(Page):
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
    explain: list[Verdict]
