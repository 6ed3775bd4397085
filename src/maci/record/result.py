"""The result as `--json` prints it; its JSON Schema is published in docs/schemas."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from maci.controller.decisions import Finished
from maci.controller.stopping import StopReason

__all__ = ["MinorityView", "Result"]


class MinorityView(BaseModel):
    """An agent that does not share the answer."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    agent: str
    outcome: str
    probability: float = Field(ge=0, le=1)
    arguments: list[str] = Field(description="ids of its admitted arguments for that outcome")


class Result(BaseModel):
    """What a debate came to."""

    model_config = ConfigDict(extra="forbid", frozen=True)

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

    @classmethod
    def of(cls, finished: Finished, transcript: Path, *, priced: bool = True) -> Result:
        """The result of a finished debate; ``priced`` where every model's price is known."""
        spent = finished.spent
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
        return cls(
            answer=finished.answer,
            distribution=dict(finished.distribution),
            stop_reason=finished.stop_reason,
            rounds=finished.rounds,
            tokens=finished.tokens,
            transcript=str(transcript),
            warnings=list(finished.warnings),
            detail=finished.detail,
            rationale=list(finished.rationale),
            minority=[
                MinorityView(agent=m.agent, outcome=m.outcome, probability=m.probability, arguments=list(m.arguments))
                for m in finished.minority
            ],
            usd=finished.usd if priced else None,
            **split,
        )
