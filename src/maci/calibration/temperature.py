r"""Fits stated probabilities to known answers: a temperature, and the logistic regression that other fits share.

**Softening** (:func:`fit_temperature`, :func:`fit_softening`): q ∝ ((1 − ε) p + ε/\|𝒴\|)^{1/T}. ε gives outcomes of probability 0
a share, T softens (> 1) or sharpens (< 1) the rest (Guo et al. 2017, *ICML*). Neither changes the order of outcomes, so accuracy
and ranks stay as they were. What is known of an agent (its doubt δ) is spread afterwards: q′ = (1 − δ) q + δ/\|𝒴\|.

| who | T | ε | δ |
|---|---|---|---|
| a profile's temperature | :func:`fit_temperature` | 0 | 0 |
| a method of a study, on its own dev answers | :func:`fit_softening` | fitted | 0 |
| an agent's openings (:mod:`maci.calibration.weights`) | fitted, held to 1 | 0 | fitted |
| the mixture that weights are chosen by (the same) | fitted | fitted | 0 |

**Logistic regression** (:func:`fit_logistic`): P(y = 1) = σ(x · θ), penalised by ½λ |θ − centre|².

**What a calibration is worth** (:func:`appraise`): the calibration error before and after with intervals, on cases left out of the
fit, and in words.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from maci.calibration.stats import Estimate, bootstrap, bootstrap_mean
from maci.errors import InputError
from maci.moderator.belief import Vector, temper


def fit_logistic(x: Vector, y: Vector, centre: Vector, penalty: float) -> Vector:
    """θ of the highest penalised likelihood of (n, k) rows; strictly convex, so damped Newton steps reach it.

    >>> x, y = np.array([[1.0], [1.0], [1.0], [1.0]]), np.array([1.0, 1.0, 1.0, 0.0])
    >>> fit_logistic(x, y, np.zeros(1), 1e-9).round(3).tolist()  # ln 3
    [1.099]
    """

    def loss(theta: Vector) -> float:
        z = x @ theta
        return float(np.sum(np.logaddexp(0, z) - y * z) + penalty / 2 * np.sum((theta - centre) ** 2))

    theta = centre.copy()
    for _ in range(100):
        chance = 1 / (1 + np.exp(-np.clip(x @ theta, -500, 500)))
        slope = x.T @ (chance - y) + penalty * (theta - centre)
        curve = (x * (chance * (1 - chance))[:, None]).T @ x + penalty * np.eye(len(theta))
        step, size = np.linalg.solve(curve, slope), 1.0
        while size > 1e-6 and loss(theta - size * step) > loss(theta):
            size /= 2
        theta = theta - size * step
        if float(np.abs(slope).max()) < 1e-9:
            break
    return theta


FLOOR = 1e-12
"""The least probability a likelihood sees: a true outcome given 0 costs 27.6 nats, not infinity."""
ENOUGH = 20
"""Answers with a known truth below which nothing is fitted."""
SPREAD = 0.2
"""σ of the prior on ln T (docs/decisions/023): before any case is known, T lies between 0.67 and 1.5 with 95 %."""
T_RANGE = (0.1, 10.0)
E_RANGE = (1e-6, 0.5)
"""ε is searched here and at 0."""
_ZOOMS = 4


@dataclass(frozen=True, slots=True)
class Answers:
    """Beliefs with known truths, as arrays: n answers of at most K outcomes."""

    p: Vector
    """(n, K)"""
    there: NDArray[np.bool_]
    """(n, K): which outcomes an answer has."""
    gold: NDArray[np.int64]

    @classmethod
    def of(cls, beliefs: Sequence[ArrayLike], gold: Sequence[int]) -> Answers:
        """From one vector each, of any lengths."""
        rows = [np.asarray(belief, dtype=float) for belief in beliefs]
        p = np.zeros((len(rows), max(map(len, rows), default=0)))
        there = np.zeros(p.shape, dtype=bool)
        for i, row in enumerate(rows):
            p[i, : len(row)], there[i, : len(row)] = row / row.sum(), True
        return cls(p, there, np.array(gold, dtype=np.int64))

    def log_likelihood(self, temperatures: ArrayLike, epsilon: float = 0.0, doubt: float = 0.0) -> Vector:
        """(temperatures, n): ln q′(gold) of every answer at each T.

        >>> Answers.of([[0.8, 0.2]], [1]).log_likelihood([1.0, 2.0]).round(3).tolist()
        [[-1.609], [-1.099]]
        """
        inverse = 1 / np.asarray(temperatures, dtype=float)[:, None]
        size = self.there.sum(axis=1)
        mixed = np.where(self.there, (1 - epsilon) * self.p + epsilon / size[:, None], 0.0)
        with np.errstate(divide="ignore"):
            logs = np.log(mixed)
            behind = logs - logs.max(axis=1, keepdims=True)
            total = np.log(np.exp(behind * inverse[:, :, None]).sum(axis=2))
            found: Vector = behind[np.arange(len(self.p)), self.gold] * inverse - total
            return found if not doubt else np.log((1 - doubt) * np.exp(found) + doubt / size)

    def best(
        self, temperatures: Vector, epsilons: Sequence[float] | Vector, least: float = math.log(FLOOR)
    ) -> tuple[float, float, float]:
        """(mean loss, T, ε) of the highest likelihood on a grid; of equals the first. No answer costs more than −``least``."""
        found = []
        for epsilon in epsilons:
            loss = -np.maximum(self.log_likelihood(temperatures, epsilon), least).mean(axis=1)
            i = int(loss.argmin())
            found.append((float(loss[i]), float(temperatures[i]), float(epsilon)))
        return min(found)


def fit_temperature(beliefs: Sequence[Vector], gold: Sequence[int], spread: float = SPREAD) -> float:
    """The T between 0.2 and 5 of the highest likelihood times the prior ln T ~ N(0, ``spread``²); ``math.inf``: no prior.

    Where all of few answers are right, p was too low, and nobody knows by how much. The prior keeps them from saying T = 0.2:

    >>> sure = [np.array([0.7, 0.3])] * 25
    >>> round(fit_temperature(sure, [0] * 25, math.inf), 2), round(fit_temperature(sure, [0] * 25), 2)
    (0.2, 0.75)
    """
    temperatures = np.geomspace(0.2, 5, 161)
    likelihood = np.maximum(Answers.of(beliefs, gold).log_likelihood(temperatures), math.log(FLOOR)).sum(axis=1)
    return float(temperatures[(np.log(temperatures) ** 2 / (2 * spread**2) - likelihood).argmin()])


@dataclass(frozen=True, slots=True, kw_only=True)
class Softening:
    """T and ε, and what they rest on."""

    temperature: float = 1.0
    epsilon: float = 0.0
    n: int = 0
    """Answers learnt from."""
    note: str = ""
    """Why it is not to be trusted, where it is not."""

    @property
    def plain(self) -> bool:
        """Whether it changes nothing."""
        return self.temperature == 1 and self.epsilon == 0

    def apply(self, belief: Mapping[str, float]) -> dict[str, float]:
        """The calibrated belief; outcomes keep their order.

        >>> Softening(temperature=0.5).apply({"a": 0.6, "b": 0.4})["a"].__round__(3)
        0.692
        """
        return self.apply_all([belief])[0]

    def apply_all(self, beliefs: Sequence[Mapping[str, float]]) -> list[dict[str, float]]:
        """Many calibrated beliefs: those over equally many outcomes are computed at once.

        >>> [round(p["a"], 3) for p in Softening(temperature=0.5).apply_all([{"a": 0.6, "b": 0.4}, {"a": 1.0}])]
        [0.692, 1.0]
        """
        if self.plain:
            return [dict(belief) for belief in beliefs]
        alike: dict[int, list[int]] = {}
        for i, belief in enumerate(beliefs):
            if belief:
                alike.setdefault(len(belief), []).append(i)
        found: list[dict[str, float]] = [{} for _ in beliefs]
        for size, some in alike.items():
            p = np.array([list(beliefs[i].values()) for i in some], dtype=float)
            mixed = (1 - self.epsilon) * p / p.sum(axis=1, keepdims=True) + self.epsilon / size
            with np.errstate(divide="ignore"):
                logs = np.log(mixed) / self.temperature
            weights = np.exp(logs - logs.max(axis=1, keepdims=True))
            soft = (weights / weights.sum(axis=1, keepdims=True)).tolist()
            for i, values in zip(some, soft, strict=True):
                found[i] = dict(zip(beliefs[i], values, strict=True))
        return found


def fit_softening(beliefs: Sequence[Mapping[str, float]], gold: Sequence[str]) -> Softening:
    """T and ε of the highest likelihood: a grid over both, then finer grids about its best point.

    A gold outcome that the belief does not name (an open space) has the same likelihood whatever they are, so such answers teach
    nothing and are not counted. Fewer than 20 others: the identity, with a note.

    >>> fit_softening([{"a": 0.9, "b": 0.1}] * 10, ["a"] * 10).note
    'not calibrated: 10 dev answers name the truth, 20 are needed'
    """
    if len(beliefs) != len(gold):
        raise InputError(f"beliefs has {len(beliefs)} entries and gold {len(gold)}: give one of each per answer")
    named = [(p, y) for p, y in zip(beliefs, gold, strict=True) if y in p]
    n = len(named)
    if n < ENOUGH:
        return Softening(n=n, note=f"not calibrated: {n} dev answers name the truth, {ENOUGH} are needed")
    answers = Answers.of([list(p.values()) for p, _ in named], [list(p).index(y) for p, y in named])
    (t0, t1), (e0, e1) = np.log(T_RANGE).tolist(), np.log(E_RANGE).tolist()
    ts, es = np.linspace(t0, t1, 25), np.linspace(e0, e1, 14)
    found = answers.best(np.exp(ts), [0.0, *np.exp(es)])
    step_t, step_e = ts[1] - ts[0], es[1] - es[0]
    for _ in range(_ZOOMS):
        _, t, e = found
        near_t = np.exp(np.clip(math.log(t) + step_t * np.linspace(-1, 1, 9), t0, t1))
        near_e = np.exp(np.clip(math.log(e) + step_e * np.linspace(-1, 1, 9), e0, e1)) if e else np.zeros(1)
        found = min(found, answers.best(near_t, near_e))
        step_t, step_e = step_t / 4, step_e / 4
    loss, t, e = found
    if answers.best(np.ones(1), (0.0,))[0] <= loss:
        return Softening(n=n)
    ends = {"T": min(math.log(t) - t0, t1 - math.log(t)) < 1e-6, "ε": e > 0 and e1 - math.log(e) < 1e-6}
    at_end = " and ".join(name for name, there in ends.items() if there)
    note = f"{at_end} at the end of the range searched" if at_end else ""
    return Softening(temperature=round(t, 6), epsilon=round(e, 9), n=n, note=note)


NOTABLE = 0.01
"""Nats per case: a smaller difference of the log score is no measurable change."""
FOLDS = 10
"""Parts that are left out in turn to measure a temperature on cases it was not fitted to."""


def ece(beliefs: Sequence[Vector], gold: Sequence[int], bins: int = 15) -> float:
    """Expected calibration error: 15 equal-width bins on the confidence of the top outcome; nan without cases.

    >>> round(ece([np.array([0.8, 0.2])] * 5, [0, 0, 0, 0, 1]), 6)
    0.0
    """
    if not len(beliefs):
        return math.nan
    confidence = np.array([p.max() for p in beliefs])
    right = np.array([int(p.argmax()) == y for p, y in zip(beliefs, gold, strict=True)], dtype=float)
    return float(binned_gaps((confidence - right)[None], equal_width(confidence, bins)[None], bins)[0] / len(beliefs))


def ece_estimate(beliefs: Sequence[Vector], gold: Sequence[int], bins: int = 15) -> Estimate:
    """The same with its interval, which is widened to the value where resampling leaves it out, as it does to small ones.

    >>> found = ece_estimate([np.array([0.8, 0.2])] * 20, [0] * 18 + [1] * 2)
    >>> [round(x, 3) for x in (found.value, found.low, found.high)]
    [0.1, 0.0, 0.2]
    """
    confidence = np.array([p.max() for p in beliefs])
    gap = confidence - np.array([int(p.argmax()) == y for p, y in zip(beliefs, gold, strict=True)], dtype=float)
    place = equal_width(confidence, bins)

    def error(i: NDArray[np.int64]) -> Vector:
        found: Vector = binned_gaps(gap[i], place[i], bins) / i.shape[1]
        return found

    found = bootstrap(error, len(gap), np.random.default_rng(0))
    return replace(found, low=min(found.low, found.value), high=max(found.high, found.value))


def equal_width(confidence: Vector, bins: int = 15) -> NDArray[np.int64]:
    """The bin [b/bins, (b+1)/bins) of each confidence; 1 is in the last.

    >>> equal_width(np.array([0.0, 0.2, 0.99, 1.0]), 5).tolist()
    [0, 1, 4, 4]
    """
    return np.minimum((confidence * bins).astype(np.int64), bins - 1)


def binned_gaps(gap: Vector, place: NDArray[np.int64], bins: int) -> Vector:
    """Σ_b |Σ_{i∈b} gap_i| of each row: with gap = confidence − correct and divided by n, the calibration error.

    >>> binned_gaps(np.array([[0.5, -0.5, 0.25]]), np.array([[0, 1, 1]]), 2).tolist()
    [0.75]
    """
    rows = len(gap)
    flat = (place + bins * np.arange(rows)[:, None]).ravel()
    sums = np.bincount(flat, weights=gap.ravel(), minlength=rows * bins).reshape(rows, bins)
    total: Vector = np.abs(sums).sum(axis=1)
    return total


@dataclass(frozen=True, slots=True)
class Worth:
    """A temperature, and what it changes on cases it was not fitted to."""

    temperature: float
    before: Estimate
    """Calibration error."""
    after: Estimate
    """Of the same cases, each left out of the fit in turn."""
    gain: Estimate
    """ln p of the true outcome, after less before, of the same cases; above 0 is better."""
    source: str = ""
    """What the cases are, where they are not simply cases, such as `26 distinct dev cases, 3 seeds`."""

    @property
    def n(self) -> int:
        """Cases it was learnt from."""
        return self.before.n

    @property
    def cases(self) -> str:
        """How many, and of what kind."""
        return self.source or f"{self.n} cases"

    @property
    def worse(self) -> bool:
        """Whether the true outcome gets measurably less: the interval leaves out 0, and the difference is not too small to matter."""
        return self.gain.high < 0 and self.gain.value <= -NOTABLE

    def lines(self) -> list[str]:
        r"""The same in plain sentences.

        >>> before, after = Estimate(0.12, 0.06, 0.2, 25, "BCa"), Estimate(0.1, 0.05, 0.18, 25, "BCa")
        >>> gain = Estimate(0.01, -0.02, 0.03, 25, "BCa")
        >>> print(*Worth(0.9, before, after, gain).lines(), sep="\n")  # doctest: +NORMALIZE_WHITESPACE
        Learnt from 25 cases: the debates were not sure enough, so probabilities are raised a little (T = 0.90).
        Calibration error on cases left out of the fit: 0.12 [0.06, 0.20] before, 0.10 [0.05, 0.18] after.
        No measurable change in the log score of the same cases (mean ln p of the true outcome):
        +0.010 [-0.020, +0.030] nats. More cases may show one.
        """
        t = self.temperature
        size = "" if abs(math.log(t)) > math.log(1.25) else " a little"
        found = (
            "the debates were about as sure as they should be, so probabilities stay as they are"
            if 0.98 <= t <= 1.02
            else f"the debates were not sure enough, so probabilities are raised{size}"
            if t < 1
            else f"the debates were too sure, so probabilities are lowered{size}"
        )
        gain = self.gain
        change = (
            "log score of the same cases (mean ln p of the true outcome): "
            f"{gain.value:+.3f} [{gain.low:+.3f}, {gain.high:+.3f}] nats."
        )
        if self.worse:
            verdict = f"Worse {change} Leave the temperature out (--set calibration.temperature=1)."
        elif gain.low > 0 and gain.value >= NOTABLE:
            verdict = f"Better {change}"
        else:
            more = "" if gain.clear else " More cases may show one."
            verdict = f"No measurable change in the {change}{more}"
        before, after = (f"{e.value:.2f} [{e.low:.2f}, {e.high:.2f}]" for e in (self.before, self.after))
        return [
            f"Learnt from {self.cases}: {found} (T = {t:.2f}).",
            f"Calibration error on cases left out of the fit: {before} before, {after} after.",
            verdict,
        ]


def appraise(beliefs: Sequence[Vector], gold: Sequence[int]) -> Worth:
    """The temperature of all, and its worth: every belief under a temperature fitted without it, ten parts in turn."""
    n = len(beliefs)
    part = np.random.default_rng(0).permutation(n) % FOLDS
    after, gain = list(beliefs), np.zeros(n)
    for k in range(FOLDS):
        own, others = np.flatnonzero(part != k).tolist(), np.flatnonzero(part == k).tolist()
        t = fit_temperature([beliefs[i] for i in own], [gold[i] for i in own])
        if others:
            some = Answers.of([beliefs[i] for i in others], [gold[i] for i in others])
            raw, fitted = some.log_likelihood([1.0, t])
            gain[others] = fitted - raw
        for i in others:
            after[i] = temper(beliefs[i], t)
    return Worth(
        temperature=fit_temperature(beliefs, gold),
        before=ece_estimate(beliefs, gold),
        after=ece_estimate(after, gold),
        gain=bootstrap_mean(gain, np.random.default_rng(0)),
    )
