"""What the dial does to beliefs and evidence: D of round 1, O of the last round and Î, level by level (SPEC 8).

Spearman's ρ is over all debates, as in the paper; the interval draws whole topics × seeds, since the debates of one share their
openings and their evidence. The step is the mean difference between the highest and the lowest level of the same topic and seed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from maci.audit.contentiousness.ranking import permuted, spearman_of
from maci.audit.contentiousness.sample import Held
from maci.study.statistics import RESAMPLES, Interval, bootstrap, bootstrap_mean

__all__ = ["PERMUTATIONS", "SIGNALS", "Trend", "trend", "trends"]

PERMUTATIONS = 999
SIGNALS: dict[str, tuple[str, Callable[[Held], float | None]]] = {
    "d": ("disagreement D in round 1", lambda held: held.d_first),
    "o": ("shared evidence O in the last round", lambda held: held.o_last),
    "gain": ("largest information gain Î of {early}", lambda held: held.gain_peak),
    "written": ("tokens agents wrote", lambda held: float(held.written)),
}
"""Name → what it is (``{early}`` stands for :func:`~maci.audit.contentiousness.sample.early`), and where it stands in a debate."""


@dataclass(frozen=True, slots=True)
class Trend:
    """One signal against the dial."""

    name: str
    rho: Interval
    """Spearman's, over all debates."""
    p: float | None
    """Chance of a ρ at least as far from 0 if levels were exchanged within topics × seeds."""
    step: Interval
    """Mean difference, highest level − lowest, of the same topic and seed."""
    means: tuple[Interval, ...]
    """At each level, from high to low."""
    peak: float | None
    """The level with the highest mean; ``None`` where all are equal."""
    peak_share: float | None
    """How often that level has it when topics × seeds are drawn anew."""


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
    rho = bootstrap(spearman_of(level, value), len(known), rng, groups=blocks, method="percentile", resamples=resamples)
    everywhere = np.arange(len(known))
    p = permuted(
        lambda x: float(spearman_of(x, value)(everywhere[None])[0]), level, everywhere, blocks, rng, PERMUTATIONS
    )
    by_block: dict[tuple[str, int], dict[float, float]] = {}
    for sitting, found in known:
        by_block.setdefault(sitting.block, {})[sitting.level] = found
    high, low = max(levels), min(levels)
    steps = [some[high] - some[low] for some in by_block.values() if high in some and low in some]
    means = tuple(
        bootstrap_mean(
            value[level == at],
            rng,
            groups=[b for b, s in zip(blocks, level, strict=True) if s == at],
            resamples=resamples,
        )
        for at in levels
    )
    peak, share = _peak(by_block, levels, rng, min(resamples, 2000))
    return Trend(name, rho, p, bootstrap_mean(steps, rng, resamples=resamples), means, peak, share)


def _peak(
    by_block: dict[tuple[str, int], dict[float, float]],
    levels: Sequence[float],
    rng: np.random.Generator,
    resamples: int,
) -> tuple[float | None, float | None]:
    """Where the mean is highest, and how often it is there among resamples; of the blocks that have every level."""
    table = np.array([[some[at] for at in levels] for some in by_block.values() if all(at in some for at in levels)])
    if not len(table) or np.ptp(table.mean(axis=0)) < 1e-9:
        return None, None
    top = int(table.mean(axis=0).argmax())
    drawn = table[rng.integers(0, len(table), (resamples, len(table)))].mean(axis=1)
    return levels[top], float((drawn.argmax(axis=1) == top).mean())
