r"""The effect of the dial on beliefs and evidence: D of round 1, O of the last round and Î, level by level (SPEC 8).

The statistics of order are functions of resampled rows, so that they can be bootstrapped (:mod:`maci.calibration.stats`):

.. math::
   \rho = \mathrm{corr}(\mathrm{rank}\,x, \mathrm{rank}\,y),\qquad \overline{AUC} = \tfrac1K \sum_k AUC_k,\qquad
   AUC_k = \frac{\sum_{(i,j) \in P_k} [s_{ik} > s_{jk}] + \tfrac12 [s_{ik} = s_{jk}]}{|P_k|}

where P_k are the pairs of a row i of class k and a row j of another class in the same fold. Scores of different folds come from
different classifiers, so only rows of one fold are compared. Where folds are of one size this is the mean of the folds'
one-against-the-rest AUCs.

Spearman's ρ over all debates is the paper's figure. Topics differ in D and O by more than the dial moves them, which draws it towards
0; a resample with fewer topics has a larger ρ, so that it has no valid bootstrap interval. The effect of the dial is therefore measured
within topics × seeds: the mean of their ρ, with the interval of a mean over them. The step is the mean difference between the
highest and the lowest level of the same topic and seed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from maci.calibration.stats import RESAMPLES, Estimate, Statistic, bootstrap_mean
from maci.calibration.stats.estimate import Indices, numbered, units_of
from maci.calibration.stats.paired import spearman
from maci.errors import InputError
from maci.lab.audit.contentiousness.debates import HeldDebate
from maci.moderator.belief import Vector


def spearman_of(x: ArrayLike, y: ArrayLike) -> Statistic:
    """ρ of two columns; where one of them does not vary there is no order to share, and ρ is undefined.

    >>> spearman_of([1.0, 2.0, 3.0], [5.0, 7.0, 9.0])(np.array([[0, 1, 2], [0, 0, 0]])).round(6).tolist()
    [1.0, nan]
    """
    a, b = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    if a.shape != b.shape or a.ndim != 1:
        raise InputError(f"x has shape {a.shape} and y {b.shape}: give one value of each per row")

    return lambda i: spearman(a[i], b[i])


def spearman_within(y: ArrayLike, blocks: Sequence[Hashable]) -> Callable[[Vector], Vector]:
    """ρ of x, still to be given, with y in each block of two rows or more: 0 where y never varies in it, nan if it varies in none.

    >>> spearman_within([1.0, 2.0, 9.0, 8.0, 7.0, 7.0], "aabbcc")(np.array([0.1, 0.9, 0.1, 0.9, 0.1, 0.9])).round(6).tolist()
    [1.0, -1.0, 0.0]
    """
    b = np.append(np.asarray(y, dtype=float), np.nan)
    units = [rows for rows in units_of(blocks, len(b) - 1) or [] if len(rows) > 1]
    place = np.full((len(units), max(map(len, units), default=0)), len(b) - 1)
    for k, rows in enumerate(units):
        place[k, : len(rows)] = rows

    def each(x: Vector) -> Vector:
        found = spearman(np.append(x, np.nan)[place], b[place])
        return np.nan_to_num(found) if np.isfinite(found).any() else found

    return each


Weighted: TypeAlias = Callable[[Vector], Vector]
"""(b, n) how often each row counts, one resample a row → (b,) values."""


def macro_auc(scores: Vector, classes: ArrayLike, folds: ArrayLike) -> Weighted:
    """Macro AUC, one against the rest, of held-out scores (rows, classes), for any weights of the rows.

    >>> scores = np.array([[0.9, 0.1], [0.6, 0.4], [0.7, 0.3], [0.2, 0.8]])
    >>> macro_auc(scores, [0, 0, 1, 1], [0, 0, 0, 0])(np.ones((1, 4))).tolist()
    [0.75]
    """
    y, fold = np.asarray(classes), np.asarray(folds)
    pairs = []
    for k in range(scores.shape[1]):
        inside, outside = np.flatnonzero(y == k), np.flatnonzero(y != k)
        s, t = scores[inside, k][:, None], scores[outside, k][None]
        together = fold[inside][:, None] == fold[outside][None]
        pairs.append((inside, outside, ((s > t) + 0.5 * (s == t)) * together, together.astype(float)))

    def auc(weights: Vector) -> Vector:
        each = np.full((len(weights), len(pairs)), np.nan)
        for k, (inside, outside, won, compared) in enumerate(pairs):
            mine, theirs = weights[:, inside], weights[:, outside]
            above, below = ((mine @ won) * theirs).sum(axis=1), ((mine @ compared) * theirs).sum(axis=1)
            np.divide(above, below, out=each[:, k], where=below > 0)
        found: Vector = each.mean(axis=1)
        return found

    return auc


def resampled(statistic: Weighted, n: int) -> Statistic:
    """A statistic of weights as one of drawn rows.

    >>> resampled(lambda w: w @ np.array([1.0, 10.0]), 2)(np.array([[0, 0], [0, 1]])).tolist()
    [2.0, 11.0]
    """
    return lambda i: statistic(_counts(i, n))


def difference(first: Weighted, second: Weighted, n: int) -> Weighted:
    """The first of rows 0 … n − 1 less the second of the rows after them, drawn together."""
    return lambda weights: first(weights[:, :n]) - second(weights[:, n:])


def permuted(
    statistic: Callable[[Vector], float],
    labels: Vector,
    units: ArrayLike,
    blocks: Sequence[Hashable],
    rng: np.random.Generator,
    times: int,
) -> float | None:
    """Two-sided p of a statistic whose value under no effect is 0: labels of whole units are exchanged within blocks.

    A unit is a debate, whose rows share a label; a block is a topic and seed, whose debates differ in nothing else. Valid for any
    number of blocks: p = (1 + permutations at least as far from 0) / (1 + permutations). Fisher (1935), *The Design of Experiments*.

    >>> labels, debates = np.array([1.0, 2.0]), [0, 1]
    >>> permuted(lambda x: float(x[1] - x[0]), labels, debates, ["a", "a"], np.random.default_rng(0), 99)
    1.0
    """
    first = statistic(labels)
    if first != first:
        return None
    place = np.unique(np.asarray(units), return_inverse=True)[1]
    of_unit = np.zeros(place.max() + 1)
    of_unit[place] = labels
    number = np.zeros(len(of_unit), dtype=int)
    number[place], n = numbered(blocks)
    groups = [np.flatnonzero(number == k) for k in range(n)]
    reached = 0
    for _ in range(times):
        shuffled = of_unit.copy()
        for group in groups:
            shuffled[group] = rng.permutation(of_unit[group])
        reached += abs(statistic(shuffled[place])) >= abs(first) - 1e-12
    return (1 + reached) / (1 + times)


def _counts(i: Indices, n: int) -> Vector:
    """How often each row was drawn, one resample a row."""
    flat = (np.arange(len(i))[:, None] * n + i).ravel()
    return np.bincount(flat, minlength=len(i) * n).reshape(len(i), n).astype(float)


PERMUTATIONS = 999
SIGNALS: dict[str, tuple[str, Callable[[HeldDebate], float | None]]] = {
    "d": ("disagreement D in round 1", lambda held: held.d),
    "o": ("shared evidence O in the last round", lambda held: held.o),
    "gain": ("largest information gain Î of {early}", lambda held: held.gain),
    "written": ("tokens agents wrote", lambda held: float(held.written)),
}
"""Name → what it is (``{early}`` stands for :func:`~maci.lab.audit.contentiousness.debates.early`), and where it stands in a debate."""


@dataclass(frozen=True, slots=True)
class Trend:
    """One signal against the dial."""

    name: str
    rho: float
    """Spearman's, over all debates; nan where the signal never varies."""
    within: Estimate
    """The mean of ρ over topics × seeds, 0 in those where the signal never varies."""
    p: float | None
    """Chance of a ``within`` at least as far from 0 if levels were exchanged within topics × seeds."""
    step: Estimate
    """Mean difference, highest level − lowest, of the same topic and seed."""
    means: tuple[Estimate, ...]
    """At each level, from high to low."""
    peak: float | None
    """The level with the highest mean; ``None`` where all are equal."""
    peak_share: float | None
    """How often that level has it when topics × seeds are drawn anew; ``None`` of one."""


def trends(
    debates: Sequence[HeldDebate], levels: Sequence[float], rng: np.random.Generator, *, resamples: int = RESAMPLES
) -> dict[str, Trend]:
    """Every signal of the debates that went through all rounds."""
    whole = [held for held in debates if held.whole]
    return {name: trend(name, whole, levels, rng, resamples=resamples) for name in SIGNALS}


def trend(
    name: str,
    debates: Sequence[HeldDebate],
    levels: Sequence[float],
    rng: np.random.Generator,
    *,
    resamples: int = RESAMPLES,
) -> Trend:
    """One signal."""
    read = SIGNALS[name][1]
    known = [(held.sitting, round(found, 12)) for held in debates if (found := read(held)) is not None]
    blocks = [sitting.block for sitting, _ in known]
    level = np.array([sitting.level for sitting, _ in known])
    value = np.array([found for _, found in known], dtype=float)  # what rounding leaves between equals is no order
    each = spearman_within(value, blocks)
    p = permuted(lambda x: _mean(each(x)), level, np.arange(len(known)), blocks, rng, PERMUTATIONS)
    by_block: dict[tuple[str, int], dict[float, float]] = {}
    for sitting, found in known:
        by_block.setdefault(sitting.block, {})[sitting.level] = found
    high, low = max(levels), min(levels)
    steps = [some[high] - some[low] for some in by_block.values() if high in some and low in some]
    peak, share = _peak(by_block, levels, rng, min(resamples, 2000))
    return Trend(
        name=name,
        rho=float(spearman_of(level, value)(np.arange(len(known))[None])[0]),
        within=_interval(each(level), rng, resamples),
        p=p,
        step=_interval(steps, rng, resamples),
        means=tuple(_interval(value[level == at], rng, resamples) for at in levels),
        peak=peak,
        peak_share=share,
    )


def _mean(values: Vector) -> float:
    return float(values.mean()) if len(values) else math.nan


def _interval(values: ArrayLike, rng: np.random.Generator, resamples: int) -> Estimate:
    """A mean over topics × seeds; of one there is no interval."""
    found = bootstrap_mean(values, rng, resamples=resamples)
    return replace(found, low=math.nan, high=math.nan, how="one debate per level") if found.n == 1 else found


def _peak(
    by_block: dict[tuple[str, int], dict[float, float]],
    levels: Sequence[float],
    rng: np.random.Generator,
    resamples: int,
) -> tuple[float | None, float | None]:
    """Where the mean is highest, and how often it is there among resamples of blocks that have every level, if there are several."""
    table = np.array([[some[at] for at in levels] for some in by_block.values() if all(at in some for at in levels)])
    if not len(table) or np.ptp(table.mean(axis=0)) < 1e-9:
        return None, None
    top = int(table.mean(axis=0).argmax())
    if len(table) == 1:
        return levels[top], None
    drawn = table[rng.integers(0, len(table), (resamples, len(table)))].mean(axis=1)
    return levels[top], float((drawn.argmax(axis=1) == top).mean())
