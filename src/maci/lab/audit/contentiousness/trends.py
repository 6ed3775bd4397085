"""What the dial does to beliefs and evidence: D of round 1, O of the last round and Î, level by level (SPEC 8).

Spearman's ρ over all debates is the paper's figure. Topics differ in D and O by more than the dial moves them, which draws it towards
0; a resample with fewer of them has a larger ρ, so that no bootstrap interval belongs to it. What the dial does is therefore read
within topics × seeds: the mean of their own ρ, with the interval of a mean over them. The step is the mean difference between the
highest and the lowest level of the same topic and seed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from maci.calibration.stats import RESAMPLES, Estimate, bootstrap_mean
from maci.lab.audit.contentiousness.ranking import permuted, spearman_of, spearman_within
from maci.lab.audit.contentiousness.sample import Held
from maci.moderator.belief import Vector

PERMUTATIONS = 999
SIGNALS: dict[str, tuple[str, Callable[[Held], float | None]]] = {
    "d": ("disagreement D in round 1", lambda held: held.d_first),
    "o": ("shared evidence O in the last round", lambda held: held.o_last),
    "gain": ("largest information gain Î of {early}", lambda held: held.gain_peak),
    "written": ("tokens agents wrote", lambda held: float(held.written)),
}
"""Name → what it is (``{early}`` stands for :func:`~maci.lab.audit.contentiousness.sample.early`), and where it stands in a debate."""


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
    debates: Sequence[Held], levels: Sequence[float], rng: np.random.Generator, *, resamples: int = RESAMPLES
) -> dict[str, Trend]:
    """Every signal of the debates that went through all rounds."""
    whole = [held for held in debates if held.whole]
    return {name: trend(name, whole, levels, rng, resamples=resamples) for name in SIGNALS}


def trend(
    name: str, debates: Sequence[Held], levels: Sequence[float], rng: np.random.Generator, *, resamples: int = RESAMPLES
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
