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

**Utilities** (:class:`Utilities`): what each action is worth under each outcome, which one to take now (:func:`favoured`), and what an
answer must be worth to be asked for.

.. math:: d^* = \arg\max_d \sum_y p(y)\,u(d, y)

========  ==========================================================================================================
u(d, y)   the utility of action d where y is the truth, in any unit
c         the utility that a unit of cost takes (``cost``); without one, a hundredth of what is at stake:
          the most that the choice of action can matter, max over y of (best u − worst u)
========  ==========================================================================================================

A file has a line for each action; ``otherwise`` stands for the outcomes that are not listed::

    treat: {Malaria: 10, otherwise: -2}
    wait:  {Malaria: -20, otherwise: 0}
    cost:  0.1
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from pathlib import Path
from typing import Any

import numpy as np

from maci.cases.case import label_text
from maci.cases.outcomes import OutcomeSpace, normal
from maci.errors import InputError
from maci.files.parse import read
from maci.moderator.belief import Vector

_NOISE = 1e-12
"""Below this a gain is what rounding left of 0."""


def gain(p: Vector, table: Vector) -> float:
    """G: bits that the answer is expected to bring."""
    return _information(p[:, None] * _checked(p, table))


def gain_each(p: Vector, tables: Sequence[Vector]) -> list[float]:
    """G of each table; those with equally many answers are computed at once.

    >>> gain_each(np.array([0.5, 0.5]), [np.eye(2), np.full((2, 3), 1 / 3)])
    [1.0, 0.0]
    """
    found, alike = [0.0] * len(tables), defaultdict[int, list[int]](list)
    for i, table in enumerate(tables):
        alike[table.shape[1]].append(i)
    for places in alike.values():
        joint = p[:, None] * _checked(p, np.stack([tables[i] for i in places]))
        if (joint > 0).all():  # summed in the order of `_information`: the same to the last bit
            independent = joint.sum(axis=2, keepdims=True) * joint.sum(axis=1, keepdims=True)
            bits = (joint * np.log2(joint / independent)).reshape(len(places), -1).sum(axis=1).tolist()
        else:
            bits = [_information(each) for each in joint]
        for i, worth in zip(places, bits, strict=True):
            found[i] = worth if worth > _NOISE else 0.0
    return found


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
    alone = gain_each(p, tables)
    heap = [(-bits / cost, i) for i, (bits, cost) in enumerate(zip(alone, costs, strict=True))]
    heapify(heap)
    chosen: list[tuple[int, float]] = []
    while heap and len(chosen) < size:
        _, i = heappop(heap)
        if joint.shape[1] * tables[i].shape[1] > _MOST:
            continue
        more = _with(joint, tables[i])
        added = max(0.0, _information(more) - total)
        if heap and -added / costs[i] > heap[0][0] + _NOISE:
            heappush(heap, (-added / costs[i], i))
            continue
        if added <= max(least, _NOISE):
            continue
        joint, total = more, total + added
        chosen.append((i, added))
    return chosen


def _with(joint: Vector, table: Vector) -> Vector:
    """(y, answers) → (y, answers × further answers)."""
    return np.asarray((joint[:, :, None] * table[:, None, :]).reshape(len(joint), -1), dtype=np.float64)


def _information(joint: Vector) -> float:
    """I(Y; A) in bits of a joint table."""
    independent = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
    seen = joint > 0
    if not seen.all():
        joint, independent = joint[seen], independent[seen]
    found = float((joint * np.log2(joint / independent)).ravel().sum())
    return found if found > _NOISE else 0.0


def _checked(p: Vector, table: Vector) -> Vector:
    """One table, or several of a shape."""
    if (
        table.ndim not in (2, 3)
        or table.shape[-2] != len(p)
        or (table < 0).any()
        or np.abs(table.sum(axis=-1) - 1).max(initial=0) > 1e-6
    ):
        raise InputError(
            f"a table of answers needs a distribution for each of the {len(p)} outcomes, got shape {table.shape}"
        )
    return table


OTHERWISE = "otherwise"
_SHARE = 0.01
"""Of what is at stake, that a unit of cost must bring where the file does not say what it takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stakes:
    """Utilities as they were given: action → outcome → utility."""

    actions: Mapping[str, Mapping[str, float]]
    cost: float | None = None
    """Utility that a unit of cost takes; ``None`` where it was not said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Utilities:
    """What each action is worth under each outcome of a debate."""

    actions: tuple[str, ...]
    table: tuple[tuple[float, ...], ...]
    """A row for each action, a column for each label of the debate."""
    cost: float = 0.0
    """Utility that a unit of cost takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Favoured:
    """The action that does best on average under the distribution as it stands."""

    action: str
    expected: float
    """Its expected utility."""
    actions: Mapping[str, float]
    """Expected utility of every action."""


def favoured(p: Vector, utilities: Utilities) -> Favoured:
    """d*: the best action now; the first of equals.

    >>> drug = Utilities(actions=("treat", "wait"), table=((5.0, -2.0), (-10.0, 0.0)))
    >>> favoured(np.array([0.1, 0.9]), drug).action, favoured(np.array([0.2, 0.8]), drug).action
    ('wait', 'treat')
    """
    expected = np.array(utilities.table, dtype=np.float64) @ p
    best = int(expected.argmax())
    every = dict(zip(utilities.actions, expected.tolist(), strict=True))
    return Favoured(action=utilities.actions[best], expected=float(expected[best]), actions=every)


def load_stakes(path: Path) -> Stakes:
    """Utilities from a YAML, TOML or JSON file."""
    return read_stakes(read(path), str(path))


def read_stakes(data: Any, where: str) -> Stakes:
    """Utilities from data; errors name the file (``where``), the action and the outcome.

    >>> read_stakes({"treat": {"Malaria": 10, "otherwise": -2}, "wait": {"otherwise": 0}, "cost": 0.5}, "u.yaml").cost
    0.5
    """
    if not isinstance(data, Mapping):
        data = {}
    cost = data.get("cost")
    if isinstance(cost, Mapping):  # an action of that name
        cost, rows = None, dict(data)
    else:
        rows = {action: row for action, row in data.items() if action != "cost"}
    if len(rows) < 2 or not all(isinstance(row, Mapping) and row for row in rows.values()):
        raise InputError(
            f"{where}: name at least two actions, each with a utility for its outcomes, as in treat: {{Malaria: 10, otherwise: -2}}"
        )
    if cost is not None and (not _is_number(cost) or cost < 0):
        raise InputError(
            f"{where}: cost is {cost!r}: give the utility that a question takes, a number that is not negative"
        )
    actions: dict[str, dict[str, float]] = {}
    for action, row in rows.items():
        for outcome, worth in row.items():
            if not _is_number(worth):
                raise InputError(f"{where}: {label_text(action)}.{label_text(outcome)} is {worth!r}, not a number")
        actions[str(label_text(action))] = {str(label_text(outcome)): float(worth) for outcome, worth in row.items()}
    return Stakes(actions=actions, cost=None if cost is None else float(cost))


def written(stakes: Stakes) -> str:
    """Utilities as a file would have them, a line for each action.

    >>> written(Stakes(actions={"treat": {"Gout": 5.0, "otherwise": -2.5}, "wait": {"otherwise": 0.0}}, cost=0.1)).splitlines()
    ['treat: {Gout: 5, otherwise: -2.5}', 'wait: {otherwise: 0}', 'cost: 0.1']
    """
    import yaml

    rows = {action: {y: int(u) if u == int(u) else u for y, u in row.items()} for action, row in stakes.actions.items()}
    lines = rows if stakes.cost is None else {**rows, "cost": stakes.cost}
    return yaml.safe_dump(lines, default_flow_style=None, sort_keys=False, allow_unicode=True, width=10_000).rstrip()


def check_stakes(stakes: Stakes, space: OutcomeSpace, where: str) -> None:
    """Refuse utilities that do not fit the outcomes of a case; in an open space every action needs ``otherwise``."""
    if space.kind != "open":
        utilities_of(stakes, space.labels, space, where=where)
        return
    for action, row in stakes.actions.items():
        if OTHERWISE not in row:
            raise InputError(f"{where}: {action} needs `{OTHERWISE}: …`, since the outcomes of this case are open")


def utilities_of(
    stakes: Stakes, labels: Sequence[str], space: OutcomeSpace, *, where: str = "utilities", lenient: bool = False
) -> Utilities:
    """Utilities over the labels of a debate; ``lenient``: outcomes that nobody has named (yet) are passed over."""
    known = {normal(label): label for label in labels}
    known |= {normal(alias): label for alias, label in space.aliases.items() if label in labels}
    rows = []
    for action, row in stakes.actions.items():
        worth = {known.get(normal(name), name): u for name, u in row.items()}
        strange = [name for name in worth if name not in labels and name != OTHERWISE]
        if strange and not lenient:
            some = ", ".join(labels[:5]) + (" …" if len(labels) > 5 else "")
            raise InputError(f"{where}: {action}.{strange[0]} is not an outcome of this debate ({some})")
        lacking = [label for label in labels if label not in worth]
        if lacking and OTHERWISE not in worth:
            raise InputError(f"{where}: {action} has none for {lacking[0]}: add it, or `{OTHERWISE}: …`")
        rows.append(tuple(worth.get(label, worth.get(OTHERWISE, 0.0)) for label in labels))
    table = np.array(rows, dtype=np.float64)
    at_stake = float((table.max(axis=0) - table.min(axis=0)).max(initial=0.0))
    cost = _SHARE * at_stake if stakes.cost is None else stakes.cost
    return Utilities(actions=tuple(stakes.actions), table=tuple(rows), cost=cost)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and bool(np.isfinite(value))
