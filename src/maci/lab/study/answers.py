"""From a method's answer to the row that is kept of it."""

from __future__ import annotations

import math

from maci.lab.datasets import Item
from maci.lab.methods.method import Answer, Step
from maci.lab.study.rows import Key, Round, Row
from maci.lab.study.store import Status


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
        q0=_known(answer.q0),
        d0=_known(answer.d0),
        calls=answer.calls,
        judge_calls=answer.judge_calls,
        rounds=answer.rounds,
        usage=answer.usage,
        judge_usage=answer.judge_usage,
        seconds=round(seconds, 6),
        course=tuple(map(_round, answer.course)),
        harm=answer.harm,
    )


def _round(step: Step) -> Round:
    signals = {name: _known(getattr(step, name)) for name in ("q", "d", "i", "o", "crit", "cl")}
    scores = {
        agent: tuple({j: round(x, 6) for j, x in one.items()} for one in some) for agent, some in step.scores.items()
    }
    return Round(belief=step.belief, beliefs=step.beliefs, scores=scores, **signals)


def _known(value: float | None) -> float | None:
    return None if value is None or math.isnan(value) else float(value)
