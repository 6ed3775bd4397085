r"""What a study measures of answers with a known truth (SPEC 12).

One case gives a :class:`ScoredAnswer`; a set of them gives, by :class:`~maci.lab.study.report.estimates.Estimates`,

| name | of n cases | better |
|---|---|---|
| ``acc1``, ``acc3`` | share whose gold outcome leads, is among the first three | more |
| ``mrr`` | mean of 1 / rank of the gold outcome | more |
| ``ece`` | Σ_b (n_b/n) \|mean confidence − accuracy\| over 15 equal-width bins of the top-1 confidence (Guo et al. 2017) | less |
| ``ece_adaptive`` | the same over 15 bins of equal mass (Nixon et al. 2019) | less |
| ``brier`` | mean of Σ_y (p_y − 1[y = gold])², from 0 to 2 (Brier 1950) | less |
| ``brier_top`` | mean of (confidence − correct)², the top-1 form, from 0 to 1 | less |
| ``nll`` | mean of −ln max(p_gold, 10⁻¹²), in nats | less |
| ``mad`` | ordered: mean \|E − centre\|, E = Σ p_y x_y | less |
| ``mad:RATER`` | ordered: mean \|E − what this rater said\| | less |
| ``partisan_gap`` | ordered: mean of the largest less the smallest distance to a rater | less |

A metric is undefined (nan, n = 0) where no case has it. Intervals come from :mod:`maci.calibration.stats`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from maci.calibration.stats import Estimate, Statistic, Summed, wilson
from maci.calibration.temperature import FLOOR, binned_gaps, equal_width
from maci.errors import BeliefError, InputError
from maci.moderator.belief import Vector, read

BINS = 15
"""Of both calibration errors."""
_MEANS = {
    "acc1": "correct",
    "acc3": "top3",
    "mrr": "reciprocal_rank",
    "brier": "brier",
    "brier_top": "brier_top",
    "nll": "nll",
    "mad": "from_centre",
    "partisan_gap": "partisan_gap",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredAnswer:
    """One answer beside the truth. What needs a gold outcome, a scale or raters is ``None`` without them."""

    answer: str
    """The top outcome; of equals the first in the belief's order, which is that of the outcome space."""
    confidence: float
    """Its probability."""
    correct: bool | None = None
    top3: bool | None = None
    """Whether the gold outcome is among the first three; of equals the first in the belief's order go first."""
    rank: float | None = None
    """Of the gold outcome, from 1; equals share the mean of their places. ``None`` where it was given no probability: whether an
    outcome was never named or named with 0 makes no difference."""
    reciprocal_rank: float | None = None
    """1 / rank; 0 without a rank."""
    p_gold: float | None = None
    brier: float | None = None
    brier_top: float | None = None
    nll: float | None = None
    expected: float | None = None
    """E = Σ p_y x_y."""
    from_centre: float | None = None
    """|E − (x_min + x_max)/2|."""
    from_raters: Mapping[str, float] = field(default_factory=dict)
    """|E − x_r| of each rater."""
    partisan_gap: float | None = None
    """max_r |E − x_r| − min_r |E − x_r|: 0 midway between two raters, |x_R − x_D| on the side of one. Needs two raters."""


def score(
    belief: Mapping[str, float],
    gold: str | None,
    positions: Mapping[str, float] | None = None,
    raters: Mapping[str, float] | None = None,
    *,
    calibrated: Mapping[str, float] | None = None,
) -> ScoredAnswer:
    """One answer beside the truth; see :class:`ScoredAnswer` for the formulas and how ties are broken.

    Confidence and losses are of the ``calibrated`` belief where one is given, answer and ranks of the belief itself.

    A gold outcome the belief does not name (an open space) has p_gold = 0: wrong, reciprocal rank 0, Brier Σ p² + 1. Brier (1950),
    *Monthly Weather Review* 78; Voorhees (1999) for the reciprocal rank.

    >>> s = score({"flu": 0.5, "cold": 0.3, "dengue": 0.2}, "cold")
    >>> s.correct, s.rank, s.reciprocal_rank, round(s.brier, 2), round(s.nll, 3)
    (False, 2.0, 0.5, 0.78, 1.204)
    >>> s = score({"-1": 0.5, "0": 0.25, "1": 0.25}, None, {"-1": -1, "0": 0, "1": 1}, {"D": -1, "R": 0.5})
    >>> s.expected, s.from_centre, dict(s.from_raters), s.partisan_gap
    (-0.25, 0.25, {'D': 0.75, 'R': 0.75}, 0.0)
    """
    p, _ = read(belief, 1e-3)
    answer = max(p, key=p.__getitem__)
    found: dict[str, Any] = {"answer": answer, "confidence": p[answer]}
    if gold is not None:
        found |= _against(p, answer, gold, p if calibrated is None else calibrated)
        found["confidence"] = found["confidence"] if calibrated is None else calibrated[answer]
    if positions:
        found |= _on_scale(p, positions, raters or {})
    elif raters:
        raise InputError(f"raters are given ({', '.join(raters)}) but no positions: only ordered tasks have raters")
    return ScoredAnswer(**found)


def _against(p: Mapping[str, float], answer: str, gold: str, sure: Mapping[str, float]) -> dict[str, Any]:
    """Ranks by ``p``, confidence and losses by ``sure``."""
    p_gold = p.get(gold, 0.0)
    correct = answer == gold
    values = list(p.values())
    rank, top3 = None, False
    if p_gold > 0:
        above = sum([x > p_gold for x in values])
        rank = above + (1 + values.count(p_gold)) / 2
        top3 = above < 3 and gold in sorted(p, key=p.__getitem__, reverse=True)[:3]  # stable: of equals the first
    return {
        "correct": correct,
        "top3": top3,
        "rank": rank,
        "reciprocal_rank": 0.0 if rank is None else 1 / rank,
        "brier_top": (sure[answer] - correct) ** 2,
        **losses(sure, gold),
    }


def losses(p: Mapping[str, float], gold: str) -> dict[str, Any]:
    """What a distribution loses by the truth: p_gold, Brier score and NLL, as fields of :class:`ScoredAnswer`.

    >>> losses({"a": 0.5, "b": 0.5}, "a")["brier"]
    0.5
    """
    p_gold = p.get(gold, 0.0)
    brier = math.fsum([x * x for x in p.values()]) - p_gold**2 + (1 - p_gold) ** 2
    return {"p_gold": p_gold, "brier": brier, "nll": -math.log(max(p_gold, FLOOR))}


def leads(belief: Mapping[str, float], gold: str | None) -> bool:
    """Whether the gold outcome is the top one, as :func:`score` has it, and nothing more.

    >>> leads({"a": 0.5, "b": 0.5}, "a"), leads({"a": 0.5, "b": 0.5}, "b")
    (True, False)
    """
    return max(belief, key=belief.__getitem__) == gold


def _on_scale(p: Mapping[str, float], positions: Mapping[str, float], raters: Mapping[str, float]) -> dict[str, Any]:
    if astray := [y for y, x in p.items() if x > 0 and y not in positions]:
        raise BeliefError(f"the outcome {astray[0]!r} has no position on the scale ({', '.join(positions)})")
    expected = math.fsum(x * positions[y] for y, x in p.items() if x > 0)
    distances = {name: abs(expected - x) for name, x in raters.items()}
    return {
        "expected": expected,
        "from_centre": abs(expected - (min(positions.values()) + max(positions.values())) / 2),
        "from_raters": distances,
        "partisan_gap": max(distances.values()) - min(distances.values()) if len(distances) > 1 else None,
    }


def per_case(metric: str, scored: Sequence[ScoredAnswer]) -> Vector:
    """The values whose mean is the metric, nan where a case has none; for paired tests. The calibration errors have no such values.

    >>> per_case("mrr", [score({"a": 0.6, "b": 0.4}, g) for g in ("a", "b", None)]).tolist()
    [1.0, 0.5, nan]
    """
    if metric.startswith("mad:"):
        found = [s.from_raters.get(metric.removeprefix("mad:")) for s in scored]
    elif metric in _MEANS:
        found = list(map(attrgetter(_MEANS[metric]), scored))
    else:
        raise InputError(f"metric is {metric!r}, not a mean over cases: choose one of {', '.join(_MEANS)} or mad:RATER")
    return np.array([math.nan if x is None else x for x in found], dtype=float)


def ece_of(confidence: ArrayLike, correct: ArrayLike, *, adaptive: bool = False, bins: int = BINS) -> Statistic:
    """Calibration error as a statistic that can be bootstrapped: Σ_b |Σ_{i∈b} (confidence_i − correct_i)| / n.

    Bins as in :func:`maci.calibration.temperature.ece`, equally wide (Guo et al. 2017, *ICML*); ``adaptive``: of equal mass, found
    anew in each resample, where equal confidences stay together (Nixon et al. 2019, *CVPR Workshops*): bin ⌊bins · (F − f/2)⌋, f the
    share of cases with that confidence and F the share up to it.

    Read it with care: noise within bins counts as error, so the estimate is too high, the more so the fewer the cases and the better
    the calibration (a perfectly calibrated method shows about 0.03 on 1,200 cases spread over 0.3–1, and 0.06 on 300), and no
    bootstrap interval reaches 0. Compare methods on the same cases rather than with 0.

    >>> statistic = ece_of([0.9, 0.9, 0.6, 0.6], [1, 1, 1, 0])
    >>> statistic(np.array([[0, 1, 2, 3]])).round(6).tolist()
    [0.1]
    """
    c, right = one_each(confidence, correct)
    gap = c - right
    if adaptive:
        return _equal_mass(c, gap, bins)
    place = equal_width(c, bins)

    def error(i: NDArray[np.int64]) -> Vector:
        found: Vector = binned_gaps(gap[i], place[i], bins) / i.shape[1]
        return found

    return error


def one_each(confidence: ArrayLike, correct: ArrayLike) -> tuple[Vector, Vector]:
    """How sure each answer is, and whether it is right (1 or 0); refused where one of them has more values."""
    sure, right = np.asarray(confidence, dtype=float), np.asarray(correct, dtype=float)
    if sure.shape != right.shape:
        raise InputError(f"confidence has {sure.size} values and correct {right.size}: give one of each per case")
    return sure, right


def ece_sums(confidence: Vector, correct: Vector, case: NDArray[np.int64], cases: int, *, bins: int = BINS) -> Summed:
    """The same error, equally wide bins, as a function of sums: what each case adds to each bin's gap, and its answers.

    ``case`` is the number of each answer's case.

    >>> answers = np.array([0.9, 0.9, 0.6, 0.6]), np.array([1.0, 1, 1, 0])
    >>> round(ece_sums(*answers, np.array([0, 0, 1, 1]), 2).value, 6)
    0.1
    """
    used, column = np.unique(equal_width(confidence, bins), return_inverse=True)
    k = len(used)
    gaps = np.bincount(case * k + column, weights=confidence - correct, minlength=cases * k).reshape(cases, k)
    answers = np.bincount(case, minlength=cases).astype(float)

    def error(s: Vector) -> Vector:
        found: Vector = np.abs(s[:, :-1]).sum(axis=1) / s[:, -1]
        return found

    return Summed(np.column_stack([gaps, answers]), error)


def by_level(levels: Vector, values: Vector) -> Callable[[NDArray[np.int64]], tuple[NDArray[np.int64], Vector]]:
    """For rows of drawn cases: how many are at each distinct level, lowest first, and the sums of their values.

    >>> counts, sums = by_level(np.array([0.9, 0.6, 0.9]), np.array([1.0, 2.0, 3.0]))(np.array([[0, 1, 2], [1, 1, 0]]))
    >>> counts.tolist(), sums.tolist()
    ([[1, 2], [2, 1]], [[2.0, 4.0], [4.0, 1.0]])
    """
    distinct, code = np.unique(levels, return_inverse=True)
    m = len(distinct)

    def tallies(i: NDArray[np.int64]) -> tuple[NDArray[np.int64], Vector]:
        rows = len(i)
        flat = (code[i] + m * np.arange(rows)[:, None]).ravel()
        counts = np.bincount(flat, minlength=rows * m).reshape(rows, m)
        sums = np.bincount(flat, weights=values[i].ravel(), minlength=rows * m).reshape(rows, m)
        return counts, cast(Vector, sums)

    return tallies


def _equal_mass(confidence: Vector, gap: Vector, bins: int) -> Statistic:
    tallies = by_level(confidence, gap)

    def error(i: NDArray[np.int64]) -> Vector:
        n = i.shape[1]
        counts, sums = tallies(i)
        twice_before = 2 * np.cumsum(counts, axis=1) - counts  # 2n(F − f/2), in whole numbers: no rounding at the edges
        place = np.minimum(twice_before * bins // (2 * n), bins - 1)
        found: Vector = binned_gaps(sums, place, bins) / n
        return found

    return error


@dataclass(frozen=True, slots=True)
class Bin:
    """One bar of a reliability diagram; nan where it is empty."""

    lower: float
    upper: float
    n: int
    confidence: float
    """Mean of the top outcome's probability."""
    accuracy: Estimate
    """Wilson."""


def reliability(scored: Sequence[ScoredAnswer], bins: int = BINS, level: float = 0.95) -> tuple[Bin, ...]:
    """The bars of a reliability diagram, the bins of ``ece``: Σ (n_b/n) |confidence_b − accuracy_b| is that error.

    DeGroot & Fienberg (1983), *The Statistician* 32; Niculescu-Mizil & Caruana (2005), *ICML*.

    >>> bars = reliability([score({"a": 0.6, "b": 0.4}, gold) for gold in "aab"], bins=2)
    >>> [(b.lower, b.upper, b.n, round(b.accuracy.value, 3)) for b in bars]
    [(0.0, 0.5, 0, nan), (0.5, 1.0, 3, 0.667)]
    """
    known = [s for s in scored if s.correct is not None]
    confidence = np.array([s.confidence for s in known], dtype=float)
    right = np.array([s.correct for s in known], dtype=bool)
    place = equal_width(confidence, bins)
    bars = []
    for b in range(bins):
        inside = place == b
        n = int(inside.sum())
        mean = float(confidence[inside].mean()) if n else math.nan
        bars.append(Bin(b / bins, (b + 1) / bins, n, mean, wilson(int(right[inside].sum()), n, level)))
    return tuple(bars)
