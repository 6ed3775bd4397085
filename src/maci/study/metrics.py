r"""What a study measures of answers with a known truth (SPEC 12).

One case gives a :class:`Scored`; a set of them gives, under the names of :data:`METRICS`,

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

A metric is undefined (nan, n = 0) where no case has it. Intervals come from :mod:`maci.study.statistics`.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from operator import attrgetter
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from maci.belief import Vector, read
from maci.calibrate import binned_gaps, equal_width
from maci.errors import BeliefError, InputError
from maci.study.statistics import RESAMPLES, Interval, Statistic, bootstrap, bootstrap_mean, mean_of, wilson

__all__ = [
    "BINS",
    "FLOOR",
    "METRICS",
    "Bin",
    "Flips",
    "Scored",
    "Stratum",
    "agreement",
    "compare",
    "ece_of",
    "flips",
    "measure",
    "per_case",
    "per_round",
    "reliability",
    "score",
    "strata",
    "value",
]

BINS = 15
"""Of both calibration errors."""
FLOOR = 1e-12
"""The least probability NLL sees, as in fitting a temperature: a gold outcome given 0 costs 27.6 nats, not infinity."""

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
METRICS = ("acc1", "acc3", "mrr", "ece", "ece_adaptive", "brier", "brier_top", "nll", "mad", "partisan_gap")
"""Those every study has; ``mad:RATER`` for each rater of an ordered task besides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
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
) -> Scored:
    """One answer beside the truth; see :class:`Scored` for the formulas and how ties are broken.

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
        found |= _against(p, answer, gold)
    if positions:
        found |= _on_scale(p, positions, raters or {})
    elif raters:
        raise InputError(f"raters are given ({', '.join(raters)}) but no positions: only ordered tasks have raters")
    return Scored(**found)


def _against(p: Mapping[str, float], answer: str, gold: str) -> dict[str, Any]:
    p_gold = p.get(gold, 0.0)
    correct = answer == gold
    rank = None
    if p_gold > 0:
        rank = sum(x > p_gold for x in p.values()) + (1 + sum(x == p_gold for x in p.values())) / 2
    first = sorted(p, key=lambda y: -p[y])[:3]
    return {
        "correct": correct,
        "top3": p_gold > 0 and gold in first,
        "rank": rank,
        "reciprocal_rank": 0.0 if rank is None else 1 / rank,
        "p_gold": p_gold,
        "brier": sum((x - (y == gold)) ** 2 for y, x in p.items()) + (gold not in p),
        "brier_top": (p[answer] - correct) ** 2,
        "nll": -math.log(max(p_gold, FLOOR)),
    }


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


def per_case(metric: str, scored: Sequence[Scored]) -> Vector:
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

    Bins are those of :func:`maci.calibrate.ece`, equally wide (Guo et al. 2017, *ICML*); ``adaptive``: of equal mass, found anew in
    each resample, where equal confidences stay together (Nixon et al. 2019, *CVPR Workshops*): bin ⌊bins · (F − f/2)⌋, f the share
    of cases with that confidence and F the share up to it.

    Read it with care: noise within bins counts as error, so the estimate is too high, the more so the fewer the cases and the better
    the calibration (a perfectly calibrated method shows about 0.03 on 1,200 cases spread over 0.3–1, and 0.06 on 300), and no
    bootstrap interval reaches 0. Compare methods on the same cases rather than with 0.

    >>> statistic = ece_of([0.9, 0.9, 0.6, 0.6], [1, 1, 1, 0])
    >>> statistic(np.array([[0, 1, 2, 3]])).round(6).tolist()
    [0.1]
    """
    c, right = np.asarray(confidence, dtype=float), np.asarray(correct, dtype=float)
    if c.shape != right.shape:
        raise InputError(f"confidence has {c.size} values and correct {right.size}: give one of each per case")
    gap = c - right
    if adaptive:
        return _equal_mass(c, gap, bins)
    place = equal_width(c, bins)

    def error(i: NDArray[np.int64]) -> Vector:
        found: Vector = binned_gaps(gap[i], place[i], bins) / i.shape[1]
        return found

    return error


def _equal_mass(confidence: Vector, gap: Vector, bins: int) -> Statistic:
    distinct, code = np.unique(confidence, return_inverse=True)
    m = len(distinct)

    def error(i: NDArray[np.int64]) -> Vector:
        rows, n = i.shape
        flat = (code[i] + m * np.arange(rows)[:, None]).ravel()
        counts = np.bincount(flat, minlength=rows * m).reshape(rows, m)
        sums = np.bincount(flat, weights=gap[i].ravel(), minlength=rows * m).reshape(rows, m)
        twice_before = 2 * np.cumsum(counts, axis=1) - counts  # 2n(F − f/2), in whole numbers: no rounding at the edges
        place = np.minimum(twice_before * bins // (2 * n), bins - 1)
        found: Vector = binned_gaps(cast(Vector, sums), place, bins) / n
        return found

    return error


def value(metric: str, scored: Sequence[Scored]) -> float:
    """The metric of a set, by the formulas at the head of this file; nan where no case has it.

    Citations stand there too.

    >>> set_ = [score({"a": 0.6, "b": 0.4}, gold) for gold in "aab"]
    >>> round(value("acc1", set_), 3), round(value("ece", set_), 3), value("acc1", [])
    (0.667, 0.067, nan)
    """
    kept = [s for s, there in zip(scored, _defined(metric, scored), strict=True) if there]
    return float(_statistic(metric, kept)(np.arange(len(kept))[None])[0]) if kept else math.nan


def measure(
    metric: str,
    scored: Sequence[Scored],
    rng: np.random.Generator,
    *,
    groups: Sequence[Hashable] | None = None,
    resamples: int = RESAMPLES,
    level: float = 0.95,
) -> Interval:
    """The metric of a set with its BCa interval (Efron 1987); Wilson where all cases are right, or all wrong.

    ``n`` counts the cases that have the metric. A case answered under several seeds is one of ``groups``.

    >>> print(measure("acc1", [score({"a": 0.6, "b": 0.4}, "a")] * 10, np.random.default_rng(0)))
    1 [0.7225, 1], n = 10, Wilson: all equal
    """
    keep = np.flatnonzero(_defined(metric, scored)).tolist()
    kept = [scored[i] for i in keep]
    by = _of(groups, keep, len(scored))
    if metric in ("acc1", "acc3"):
        right = per_case(metric, kept).astype(bool)
        return bootstrap_mean(right, rng, groups=by, resamples=resamples, level=level)
    return bootstrap(_statistic(metric, kept), len(kept), rng, groups=by, resamples=resamples, level=level)


def compare(
    metric: str,
    a: Sequence[Scored],
    b: Sequence[Scored],
    rng: np.random.Generator,
    *,
    groups: Sequence[Hashable] | None = None,
    method: Literal["bca", "percentile"] = "percentile",
    resamples: int = RESAMPLES,
    level: float = 0.95,
) -> Interval:
    """metric(a) − metric(b) on the cases that have both, with the interval of the paired difference: cases are drawn for both at once.

    Efron & Tibshirani (1993), *An Introduction to the Bootstrap*, 13.3.

    >>> right, wrong = score({"a": 0.6, "b": 0.4}, "a"), score({"a": 0.4, "b": 0.6}, "a")
    >>> print(compare("acc1", [right] * 3 + [wrong], [wrong, right, wrong, wrong], np.random.default_rng(0)))
    0.5 [0, 1], n = 4, percentile
    """
    if len(a) != len(b):
        raise InputError(f"a has {len(a)} cases and b {len(b)}: give both methods' answers to the same cases, in order")
    keep = np.flatnonzero(_defined(metric, a) & _defined(metric, b)).tolist()
    first, second = _statistic(metric, [a[i] for i in keep]), _statistic(metric, [b[i] for i in keep])
    return bootstrap(
        lambda i: first(i) - second(i),
        len(keep),
        rng,
        groups=_of(groups, keep, len(a)),
        method=method,
        resamples=resamples,
        level=level,
    )


def _defined(metric: str, scored: Sequence[Scored]) -> NDArray[np.bool_]:
    values: Vector = per_case("acc1" if metric in ("ece", "ece_adaptive") else metric, scored)
    return ~np.isnan(values)


def _statistic(metric: str, kept: Sequence[Scored]) -> Statistic:
    if metric in ("ece", "ece_adaptive"):
        return ece_of([s.confidence for s in kept], per_case("acc1", kept), adaptive=metric == "ece_adaptive")
    return mean_of(per_case(metric, kept))


def _of(groups: Sequence[Hashable] | None, keep: Sequence[int], n: int) -> list[Hashable] | None:
    if groups is None:
        return None
    if len(groups) != n:
        raise InputError(f"groups has {len(groups)} entries for {n} rows: name the case of every row")
    return [groups[i] for i in keep]


@dataclass(frozen=True, slots=True)
class Bin:
    """One bar of a reliability diagram; nan where it is empty."""

    lower: float
    upper: float
    n: int
    confidence: float
    """Mean of the top outcome's probability."""
    accuracy: Interval
    """Wilson."""


def reliability(scored: Sequence[Scored], bins: int = BINS, level: float = 0.95) -> tuple[Bin, ...]:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Flips:
    """How answers to the same cases changed from one belief to another."""

    correct_to_wrong: int
    wrong_to_correct: int
    stayed_correct: int
    stayed_wrong: int

    @property
    def n(self) -> int:
        """Cases."""
        return self.correct_to_wrong + self.wrong_to_correct + self.stayed_correct + self.stayed_wrong

    @property
    def harmed(self) -> Interval:
        """Share of the cases right before that are wrong after; Wilson."""
        return wilson(self.correct_to_wrong, self.correct_to_wrong + self.stayed_correct)

    @property
    def mended(self) -> Interval:
        """Share of the cases wrong before that are right after; Wilson."""
        return wilson(self.wrong_to_correct, self.wrong_to_correct + self.stayed_wrong)


def flips(before: Sequence[Scored], after: Sequence[Scored]) -> Flips:
    """The 2 × 2 table of correct before and after, over cases with a gold outcome: what McNemar's test (1947) looks at.

    >>> right, wrong = score({"a": 1.0}, "a"), score({"b": 1.0}, "a")
    >>> found = flips([right, right, wrong], [right, wrong, wrong])
    >>> found.correct_to_wrong, found.wrong_to_correct, found.harmed.value, found.mended.value
    (1, 0, 0.5, 0.0)
    """
    if len(before) != len(after):
        raise InputError(f"before has {len(before)} cases and after {len(after)}: give the same cases, in order")
    pairs = [
        (x.correct, y.correct)
        for x, y in zip(before, after, strict=True)
        if x.correct is not None and y.correct is not None
    ]
    return Flips(
        correct_to_wrong=pairs.count((True, False)),
        wrong_to_correct=pairs.count((False, True)),
        stayed_correct=pairs.count((True, True)),
        stayed_wrong=pairs.count((False, False)),
    )


def per_round(courses: Sequence[Sequence[Mapping[str, float]]], gold: Sequence[str | None]) -> tuple[Interval, ...]:
    """Accuracy after round 0, 1, … of the longest course: (1/n) Σ 1[top of p⁽ᵐⁱⁿ⁽ᵗ'ᵀ⁾⁾ = gold], Wilson (1927).

    A debate that has ended keeps its last answer, so every round has the same n: cases with a gold outcome and at least one belief.

    >>> a, b = {"a": 0.9, "b": 0.1}, {"a": 0.1, "b": 0.9}
    >>> [round(x.value, 2) for x in per_round([[a], [b, a, a], [b, b]], ["a", "a", "b"])]
    [0.67, 1.0, 1.0]
    """
    known = [
        [score(p, y).correct is True for p in course]
        for course, y in zip(courses, gold, strict=True)
        if course and y is not None
    ]
    rounds = max(map(len, known), default=0)
    return tuple(wilson(sum(right[min(t, len(right) - 1)] for right in known), len(known)) for t in range(rounds))


def strata(values: Sequence[float | None], edges: Sequence[float] | None = None) -> tuple[str | None, ...]:
    """The stratum of each case by a number such as Q₀; ``None`` where that is undefined.

    Without ``edges`` low, middle and high are thirds, cut at the quantiles ⅓ and ⅔ of the defined values (Hyndman & Fan 1996, type
    7); a value equal to a cut is above it, so equals are never split. With edges a < b < … the strata are < a, a–b, …, ≥ last.

    >>> strata([0.1, 0.5, None, 0.9, 0.2, 0.6, 0.8])
    ('low', 'middle', None, 'high', 'low', 'middle', 'high')
    >>> strata([0.5, 0.6, 0.7], (0.6, 0.7))
    ('< 0.6', '0.6–0.7', '≥ 0.7')
    """
    known = [v for v in values if v is not None and not math.isnan(v)]
    if edges is None:
        names = ["low", "middle", "high"]
        cuts = np.quantile(known, [1 / 3, 2 / 3]).tolist() if known else [0.0, 1.0]
    else:
        cuts = list(edges)
        if not cuts or any(x >= y for x, y in pairwise(cuts)):
            raise InputError(f"edges are {cuts}: give at least one, increasing")
        between = [f"{x:g}–{y:g}" for x, y in pairwise(cuts)]
        names = [f"< {cuts[0]:g}", *between, f"≥ {cuts[-1]:g}"]
    return tuple(
        None if v is None or math.isnan(v) else names[int(np.searchsorted(cuts, v, side="right"))] for v in values
    )


@dataclass(frozen=True, slots=True)
class Stratum:
    """Vote agreement in one stratum, in per cent."""

    n: int
    mean: float
    lower: float
    """First quartile."""
    upper: float
    """Third quartile: the paper prints agreement as such a range."""


def agreement(shares: Sequence[float | None], stratum: Sequence[str | None]) -> dict[str, Stratum]:
    """Vote agreement by stratum: 100 × the mean share of the votes that the leading outcome has, with its quartiles.

    Cases without votes or without a stratum are not counted. SPEC 12 (the paper's table of votes by evidence quality).

    >>> agreement([0.6, 0.8, None, 0.25], ["high", "high", "high", "low"])["high"]
    Stratum(n=2, mean=70.0, lower=65.0, upper=75.0)
    """
    found: dict[str, list[float]] = {}
    for share, name in zip(shares, stratum, strict=True):
        if name is not None:
            found.setdefault(name, [])
            if share is not None and not math.isnan(share):
                found[name].append(100 * share)
    return {
        name: Stratum(len(x), float(np.mean(x)), *map(float, np.quantile(x, [0.25, 0.75])))
        if x
        else Stratum(0, math.nan, math.nan, math.nan)
        for name, x in found.items()
    }
