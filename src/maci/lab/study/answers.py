"""From a method's answer to the row that is kept of it."""

from __future__ import annotations

from maci.lab.datasets import Item
from maci.lab.methods.method import Answer
from maci.lab.study.rows import Key, Row
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
