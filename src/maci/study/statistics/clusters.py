"""Rows that belong together: answers to one case under several seeds."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from maci.belief import Vector
from maci.errors import InputError

__all__ = ["Groups", "Indices", "difference_of", "numbered", "per_group", "units_of"]

Indices: TypeAlias = NDArray[np.int64]
Groups: TypeAlias = Sequence[Hashable]


def numbered(groups: Groups) -> tuple[Indices, int]:
    """The number of each row's group, groups in the order they appear, and how many there are.

    >>> number, n = numbered("abac")
    >>> number.tolist(), n
    ([0, 1, 0, 2], 3)
    """
    code: dict[Hashable, int] = {}
    return np.array([code.setdefault(name, len(code)) for name in groups], dtype=np.int64), len(code)


def difference_of(a: ArrayLike, b: ArrayLike) -> Vector:
    """The differences a − b of the same cases."""
    x, y = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    if x.shape != y.shape or x.ndim != 1:
        raise InputError(f"a has shape {x.shape} and b {y.shape}: give one value of each per case, in the same order")
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise InputError("a or b holds an undefined value: compare only the cases that both methods answered")
    difference: Vector = x - y
    return difference


def units_of(groups: Groups | None, n: int) -> list[Indices] | None:
    """Rows of each group, groups in the order they appear."""
    if groups is None:
        return None
    if len(groups) != n:
        raise InputError(f"groups has {len(groups)} entries for {n} rows: name the case of every row")
    rows: dict[Hashable, list[int]] = {}
    for i, name in enumerate(groups):
        rows.setdefault(name, []).append(i)
    return [np.array(r, dtype=np.int64) for r in rows.values()]


def per_group(values: Vector, groups: Groups | None, fold: Callable[[Vector], float]) -> Vector:
    """One value for each group."""
    units = units_of(groups, len(values))
    return values if units is None else np.array([fold(values[rows]) for rows in units], dtype=float)
