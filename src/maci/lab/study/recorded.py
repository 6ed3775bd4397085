"""A panel of recorded answers, and the row that a study keeps of any answer.

In a recorded panel every agent gives the recorded answer of its model. A recorded letter is a belief of 1; an abstention is a turn that
failed. Where a debate was recorded, its turns follow the opening; otherwise a model repeats its answer, since it is not known what it
would have answered to others. There are no judges.
"""

from __future__ import annotations

from collections.abc import Sequence

from maci.agents.agent import Agent
from maci.agents.anchor import TurnRequest
from maci.agents.argument import Argument, Turn
from maci.cases.case import Case
from maci.errors import BadReply, ConfigError
from maci.evidence.encode import Encoder
from maci.evidence.source import CaseEvidence
from maci.lab.datasets import Item, RecordedTurn
from maci.lab.methods.method import Answer
from maci.lab.study.rows import Key, Row, Status
from maci.llm.catalogue import family
from maci.llm.usage import Usage
from maci.seating.table import Table


def row_of(key: Key, item: Item, answer: Answer, seconds: float) -> Row:
    """The row of an answer that took so many seconds."""
    space = item.case.outcomes
    status: Status = "done" if answer.belief is not None else "budget" if answer.out_of_budget else "failed"
    return Row(
        **key._asdict(),
        gold=item.case.gold_among(answer.belief or space.start),
        group=item.group,
        raters=dict(item.raters),
        positions=dict(zip(space.labels, space.positions, strict=True)) if space.kind == "ordered" else {},
        status=status,
        reason=answer.reason,
        belief=answer.belief,
        agreement=answer.agreement,
        q0=answer.course[0].q if answer.course else None,
        d0=answer.course[0].d if answer.course else None,
        calls=answer.calls,
        judge_calls=answer.judge_calls,
        rounds=answer.rounds,
        usage=answer.usage,
        judge_usage=answer.judge_usage,
        seconds=round(seconds, 6),
        course=answer.course,
        harm=answer.harm,
    )


class RecordedAgent(Agent):
    """One model's recorded answers to one case."""

    free = True

    def __init__(self, name: str, said: Sequence[RecordedTurn]) -> None:
        self.name, self.family = name, family(name)
        self._said = said

    def ceiling(self, request: TurnRequest) -> int:
        """What the recorded turn took."""
        return self._usage(self._at(request.round)).tokens

    def _at(self, round: int) -> RecordedTurn:
        return self._said[min(round, len(self._said) - 1)]

    def _usage(self, said: RecordedTurn) -> Usage:
        return Usage(prompt=said.prompt_tokens or 0, generated=said.completion_tokens or 0, free=True)

    async def turn(self, request: TurnRequest) -> Turn:
        """What is on record for this round; the last of it once there is no more."""
        said = self._at(request.round)
        if said.answer is None:
            raise BadReply(f"{self.name} is on record without an answer that could be read")
        reasons = (said.text,) if said.text else ()
        argument = Argument(claim=f"The answer is {said.answer}.", reasons=reasons, outcome=said.answer)
        return Turn(belief={said.answer: 1.0}, arguments=(argument,), usage=self._usage(said))


class RecordedPanel:
    """Sets the table for items of one task; all have the same models."""

    def __init__(self, items: Sequence[Item], encoder: Encoder, *, models: Sequence[str] | None = None) -> None:
        self._items = {item.case.id: item for item in items}
        self._encoder = encoder
        on_record = next((tuple(i.recorded.openings) for i in items if i.recorded is not None), ())
        if not on_record:
            raise ConfigError("panel.recorded: this data set has no recorded answers: name a panel or agents instead")
        if missing := [model for model in models or () if model not in on_record]:
            raise ConfigError(f"panel.recorded names {missing[0]!r}: there are answers of {', '.join(on_record)}")
        self._models = tuple(models or on_record)

    def table(self, case: Case, *, seed: int = 0) -> Table:
        """The recorded models; the seed changes nothing."""
        recorded = self._items[case.id].recorded
        if recorded is None:
            raise ConfigError(f"the case {case.id!r} has no recorded answers")
        absent = RecordedTurn(answer=None)
        agents = [
            RecordedAgent(
                model, (recorded.openings.get(model, absent), *(t for name, t in recorded.turns if name == model))
            )
            for model in self._models
        ]
        return Table(agents=agents, judges=(), evidence=CaseEvidence(case), encoder=self._encoder)
