"""What is kept of one method's answer to one case: everything a report is made of, and nothing it could not be recomputed from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from maci.controller.caution import HarmReport
from maci.lab.methods.method import Step
from maci.llm.usage import Usage

Status = Literal["done", "failed", "budget"]
"""``failed``: there is no answer; ``budget``: the ceiling came before a first answer. Neither is scored."""


class RowKey(NamedTuple):
    """Which answer: one and only one row has it."""

    data: str
    """The data set with its options, as the study names it."""
    seed: int
    part: Literal["dev", "test"]
    item: str
    method: str


class Row(BaseModel):
    """One method on one case."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    data: str
    seed: int
    part: Literal["dev", "test"]
    item: str
    method: str
    gold: str | None
    exact: bool | None = None
    """Open outcomes: whether the answer is the true outcome itself, neither wider nor narrower."""
    group: str = ""
    """A stratum of the data set: category, outlet, source."""
    raters: Mapping[str, float] = {}
    """On ordered tasks: what each rater said, as a position on the scale."""
    positions: Mapping[str, float] = {}
    """On ordered tasks: where each outcome is."""
    status: Status = "done"
    reason: str = ""
    """How it ended: a stop reason, or what went wrong."""
    belief: Mapping[str, float] | None = None
    """The answer, not calibrated."""
    agreement: float | None = None
    """Share of the votes that the leading outcome has, where votes were cast."""
    q0: float | None = None
    d0: float | None = None
    calls: int = 0
    """Turns asked of agents."""
    judge_calls: int = 0
    rounds: int = 0
    usage: Usage = Usage()
    """All calls of agents."""
    judge_usage: Usage = Usage()
    seconds: float = 0.0
    """Wall time; the only figure that differs between two runs."""
    course: tuple[Step, ...] = ()
    harm: HarmReport | None = None
    """What was watched, where the method watches; flips are not in it, since no debate of a study knows the truth."""
    extra: Mapping[str, Any] = Field(
        default={}, description="what a method wants reported beside, such as a transcript's path"
    )

    @property
    def key(self) -> RowKey:
        """What the store files it under."""
        return RowKey(self.data, self.seed, self.part, self.item, self.method)
