r"""What each action is worth under each outcome: which one to take now, and what an answer must be worth to be asked for.

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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from maci.cases.case import label_text
from maci.cases.outcomes import OutcomeSpace, normal
from maci.errors import InputError
from maci.files.parse import read
from maci.moderator.belief import Vector

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
