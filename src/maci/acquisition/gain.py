r"""What an answer is expected to be worth.

.. math::
   G(A) = H(p) - \sum_a P(a)\,H(p \mid a) = \sum_{y,a} p(y)\,P(a \mid y)\,\log_2\frac{P(a \mid y)}{P(a)},\qquad
   V(A) = \sum_a P(a)\,\max_d \sum_y p(y \mid a)\,u(d, y) - \max_d \sum_y p(y)\,u(d, y)

============  =======================================================================================
p             the (calibrated) mixture over the outcomes y
P(a | y)      a table: one row for each outcome, one column for each answer
G             expected information gain in bits; the mutual information of outcome and answer, so never negative
V             value of information under utilities u(d, y) of actions d (Howard 1966, *Information Value Theory*)
============  =======================================================================================

Several questions at once: answers are taken to be independent *given the outcome*. Their joint gain is then submodular (Krause &
Guestrin 2005, *Near-optimal Nonmyopic Value of Information*), and taking the best addition each time is within 1 − 1/e of the best.

>>> p = np.array([0.5, 0.5])
>>> gain(p, np.array([[1.0, 0.0], [0.0, 1.0]]))  # an answer that settles it
1.0
>>> gain(p, np.array([[0.7, 0.3], [0.7, 0.3]]))  # one that says nothing
0.0
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heappush

import numpy as np

from maci.errors import InputError
from maci.moderator.belief import Vector

_NOISE = 1e-12
"""Below this a gain is what rounding left of 0."""


def gain(p: Vector, table: Vector) -> float:
    """G: bits that the answer is expected to bring."""
    return _information(p[:, None] * _checked(p, table))


def gains(p: Vector, present: Vector) -> Vector:
    """G of many yes/no questions at once, from the rows P(yes | y) of each.

    >>> gains(np.array([0.5, 0.5]), np.array([[1.0, 0.0], [0.5, 0.5]])).tolist()
    [1.0, 0.0]
    """
    found = np.zeros(len(present))
    for table in (present, 1 - present):
        marginal = table @ p
        with np.errstate(divide="ignore", invalid="ignore"):
            bits = np.where(table > 0, table * np.log2(table / marginal[:, None]), 0.0)
        found += bits @ p
    return np.where(found > _NOISE, found, 0.0)


def posterior(p: Vector, table: Vector, answer: int) -> tuple[float, Vector]:
    """(P(a), p given that answer); an answer that cannot come leaves p as it is.

    >>> posterior(np.array([0.5, 0.5]), np.array([[0.9, 0.1], [0.3, 0.7]]), 0)[1].round(3).tolist()
    [0.75, 0.25]
    """
    joint = p * _checked(p, table)[:, answer]
    total = float(joint.sum())
    return (total, joint / total) if total > 0 else (0.0, p)


def with_silence(table: Vector, chance: float) -> Vector:
    """The table of a question that is answered with this chance, whatever the outcome; its last column is that it is not.

    >>> with_silence(np.array([[0.75, 0.25]]), 0.5).tolist()
    [[0.375, 0.125, 0.5]]
    """
    if chance >= 1:
        return table
    return np.column_stack([chance * table, np.full(len(table), 1 - chance)])


def value(p: Vector, table: Vector, utility: Vector) -> float:
    """V: how much better the best action does on average once the answer is known; in the units of ``utility`` (actions × outcomes).

    >>> treat_or_not = np.array([[1.0, -2.0], [0.0, 0.0]])
    >>> value(np.array([0.5, 0.5]), np.eye(2), treat_or_not)
    0.5
    """
    if utility.ndim != 2 or utility.shape[1] != len(p):
        raise InputError(
            f"utilities are {utility.shape}: they need a row for each action and a column for each of {len(p)} outcomes"
        )
    joint = p[:, None] * _checked(p, table)
    worth = float((utility @ joint).max(axis=0).sum() - (utility @ p).max())
    return worth if worth > _NOISE else 0.0


def added_gains(p: Vector, tables: Sequence[Vector]) -> list[float]:
    """Bits that each answer brings beyond those before it, independent given the outcome; of as many as can be looked at jointly."""
    joint, total, added = p[:, None], 0.0, list[float]()
    for table in tables:
        if joint.shape[1] * table.shape[1] > _MOST:
            break
        joint = _with(joint, _checked(p, table))
        now = _information(joint)
        added.append(max(0.0, now - total))
        total = max(total, now)
    return added


_MOST = 4096
"""Combinations of answers beyond which a batch is not looked at jointly any more."""


def choose(
    p: Vector, tables: Sequence[Vector], costs: Sequence[float], size: int, *, least: float = 0.0
) -> list[tuple[int, float]]:
    """A batch chosen jointly: each time what adds most bits per cost to those chosen, as long as it adds more than ``least``.

    Of each its place among the tables, and the bits it adds to those chosen before it.
    Lazy (Minoux 1978): an addition never becomes worth more, so only candidates that might still be the best are looked at again.
    """
    joint, total = p[:, None], 0.0
    heap = [(-gain(p, table) / cost, i) for i, (table, cost) in enumerate(zip(tables, costs, strict=True))]
    heapify(heap)
    chosen: list[tuple[int, float]] = []
    while heap and len(chosen) < size:
        _, i = heappop(heap)
        if joint.shape[1] * tables[i].shape[1] > _MOST:
            continue
        added = max(0.0, _information(_with(joint, tables[i])) - total)
        if heap and -added / costs[i] > heap[0][0] + _NOISE:
            heappush(heap, (-added / costs[i], i))
            continue
        if added <= max(least, _NOISE):
            continue
        joint, total = _with(joint, tables[i]), total + added
        chosen.append((i, added))
    return chosen


def _with(joint: Vector, table: Vector) -> Vector:
    """(y, answers) → (y, answers × further answers)."""
    return np.asarray((joint[:, :, None] * table[:, None, :]).reshape(len(joint), -1), dtype=np.float64)


def _information(joint: Vector) -> float:
    """I(Y; A) in bits of a joint table."""
    independent = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
    seen = joint > 0
    found = float((joint[seen] * np.log2(joint[seen] / independent[seen])).sum())
    return found if found > _NOISE else 0.0


def _checked(p: Vector, table: Vector) -> Vector:
    if (
        table.ndim != 2
        or len(table) != len(p)
        or (table < 0).any()
        or np.abs(table.sum(axis=1) - 1).max(initial=0) > 1e-6
    ):
        raise InputError(
            f"a table of answers needs a distribution for each of the {len(p)} outcomes, got shape {table.shape}"
        )
    return table
