r"""Can the level be told from the words alone? A linear classifier on shallow features, tested on topics it has not seen.

Topics are dealt to at most five folds; a classifier learns from the turns of the other folds and guesses the level of each turn
of its own fold. So no topic is in training and test at once: what it learns about a level comes from other topics. The interval is a
bootstrap over whole topics × seeds of the held-out scores; the classifiers are not fitted again in it, and it says nothing about what
others trained on other topics would do.

The classifier is multinomial logistic regression with an L2 penalty, in NumPy:

.. math::
   \min_{W,b}\ \tfrac{1}{2C}\lVert W\rVert^2 - \sum_i \log \mathrm{softmax}(W x_i + b)_{y_i}

The same objective as scikit-learn's ``LogisticRegression(C=C)``, minimised by L-BFGS (Liu & Nocedal 1989, *Math. Program.* 45); the
intercepts b are not penalised. It is convex, so that the start does not matter and nothing is random. Where there are more features
than rows, the minimum lies in the space the rows span (the representer theorem), and the search stays in it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from maci.calibration.stats import RESAMPLES, Estimate, bootstrap, ratio_of
from maci.lab.audit.contentiousness.debates import Spoken
from maci.lab.audit.contentiousness.patterns import ngrams
from maci.lab.audit.contentiousness.trends import PERMUTATIONS, Weighted, difference, macro_auc, permuted, resampled
from maci.moderator.belief import Vector

_MEMORY, _STEPS, _SMALL = 10, 500, 1e-5


@dataclass(frozen=True, slots=True)
class Linear:
    """A fitted classifier."""

    weights: Vector
    """(classes, features)"""
    intercepts: Vector

    def probabilities(self, x: Vector) -> Vector:
        """(rows, classes), each row summing to 1."""
        return _softmax(x @ self.weights.T + self.intercepts)


def fit(x: Vector, y: Vector, classes: int, *, c: float = 1.0) -> Linear:
    """Learn to tell ``classes`` numbered from 0 by their rows.

    >>> x = np.array([[0.0], [1.0], [4.0], [5.0]])
    >>> fit(x, np.array([0, 0, 1, 1]), 2, c=100.0).probabilities(np.array([[0.5], [4.5]])).argmax(axis=1).tolist()
    [0, 1]
    """
    if x.shape[1] > len(x):
        squares, turned = np.linalg.eigh(x @ x.T)
        kept = squares > 1e-10 * squares[-1]
        sizes, turned = np.sqrt(squares[kept]), turned[:, kept]
        small = fit(turned * sizes, y, classes, c=c)
        return Linear((small.weights / sizes) @ turned.T @ x, small.intercepts)
    truth = np.eye(classes)[y]
    width = x.shape[1]

    def objective(flat: Vector) -> tuple[float, Vector]:
        both = flat.reshape(classes, width + 1)
        weights, intercepts = both[:, :width], both[:, width]
        scores = x @ weights.T + intercepts
        top = scores.max(axis=1, keepdims=True)
        log_sum = top[:, 0] + np.log(np.exp(scores - top).sum(axis=1))
        loss = float((log_sum - (scores * truth).sum(axis=1)).sum() + (weights**2).sum() / (2 * c))
        error = _softmax(scores) - truth
        gradient = np.hstack([error.T @ x + weights / c, error.sum(axis=0)[:, None]])
        return loss, gradient.ravel()

    found = _minimised(objective, np.zeros(classes * (width + 1))).reshape(classes, width + 1)
    return Linear(found[:, :width], found[:, width] - found[:, width].mean())


def _softmax(scores: Vector) -> Vector:
    grown = np.exp(scores - scores.max(axis=1, keepdims=True))
    share: Vector = grown / grown.sum(axis=1, keepdims=True)
    return share


def _minimised(objective: Callable[[Vector], tuple[float, Vector]], start: Vector) -> Vector:
    """L-BFGS with backtracking: of a smooth convex function it finds the minimum."""
    at = start
    value, slope = objective(at)
    past: deque[tuple[Vector, Vector, float]] = deque(maxlen=_MEMORY)
    for _ in range(_STEPS):
        if float(np.abs(slope).max()) < _SMALL:
            break
        direction = -_scaled(slope, past)
        fall, step = float(slope @ direction), 1.0 if past else 1.0 / max(1.0, float(np.abs(slope).sum()))
        while True:
            new = at + step * direction
            new_value, new_slope = objective(new)
            if new_value <= value + 1e-4 * step * fall or step < 1e-12:
                break
            step /= 2
        moved, turned = new - at, new_slope - slope
        curvature = float(moved @ turned)
        if curvature > 1e-12:
            past.append((moved, turned, curvature))
        if value - new_value <= 1e-12 * max(1.0, abs(value)):
            return new
        at, value, slope = new, new_value, new_slope
    return at


def _scaled(slope: Vector, past: deque[tuple[Vector, Vector, float]]) -> Vector:
    """The two loops of L-BFGS: the slope times an estimate of the inverse curvature."""
    result, used = slope.copy(), []
    for moved, turned, curvature in reversed(past):
        a = float(moved @ result) / curvature
        result -= a * turned
        used.append(a)
    if past:
        _, turned, curvature = past[-1]
        result *= curvature / float(turned @ turned)
    for (moved, turned, curvature), a in zip(past, reversed(used), strict=True):
        result += moved * (a - float(turned @ result) / curvature)
    return result


FOLDS = 5
FEATURES = ("length", "hedging", "imperatives", "citations")
"""The features that have names, in the order of their column."""
_C = 10.0
"""Inverse of the penalty: a fixed choice, not tuned on anything."""


@dataclass(frozen=True, slots=True)
class Guessed:
    """HeldDebate-out scores of every turn."""

    turns: tuple[Spoken, ...]
    levels: tuple[float, ...]
    """From high to low; the classes."""
    classes: NDArray[np.int64]
    folds: NDArray[np.int64]
    scores: Vector
    """(turns, levels): what a classifier that never saw the turn's topic gives each level."""

    @property
    def blocks(self) -> list[tuple[str, int]]:
        """Topic and seed of every turn."""
        return [turn.sitting.block for turn in self.turns]

    @property
    def auc(self) -> Weighted:
        """The macro AUC of these scores."""
        return macro_auc(self.scores, self.classes, self.folds)


@dataclass(frozen=True, slots=True)
class Confusion:
    """Which level is taken for which."""

    counts: tuple[tuple[int, ...], ...]
    """Row: the level; column: the guess."""
    adjacent: Estimate
    """Of the wrong guesses, the share that is one level off."""
    chance: float
    """What that share would be if wrong guesses were drawn evenly."""


@dataclass(frozen=True, slots=True)
class Wording:
    """How well levels are told apart."""

    auc: Estimate
    p: float | None
    """Chance of an AUC at least as far from ½ if levels were exchanged between debates of one topic and seed."""
    levels: tuple[float, ...]
    turns: int
    topics: int
    folds: int
    alone: dict[str, Estimate]
    """AUC of each named feature without the others, and of the n-grams without the named ones."""
    means: dict[str, tuple[float, ...]]
    """Feature → its mean at each level."""
    confusion: Confusion
    guessed: Guessed


def guess(
    turns: Sequence[Spoken], levels: Sequence[float], use: Sequence[str] = ("n-grams", *FEATURES)
) -> Guessed | None:
    """HeldDebate-out scores; ``None`` where there are not two topics with turns, or a level has none."""
    topics = sorted({turn.sitting.topic for turn in turns})
    classes = np.array([levels.index(turn.sitting.level) for turn in turns], dtype=np.int64)
    if len(topics) < 2 or len(set(classes.tolist())) < len(levels):
        return None
    number = {topic: i % min(FOLDS, len(topics)) for i, topic in enumerate(topics)}
    folds = np.array([number[turn.sitting.topic] for turn in turns], dtype=np.int64)
    letters = ngrams([turn.text for turn in turns]) if "n-grams" in use else np.zeros((len(turns), 0))
    named = np.array([turn.style.vector() for turn in turns])[:, [i for i, f in enumerate(FEATURES) if f in use]]
    scores = np.empty((len(turns), len(levels)))
    for fold in np.unique(folds):
        test, train = folds == fold, folds != fold
        middle, spread = named[train].mean(axis=0), named[train].std(axis=0)
        scaled = (named - middle) / np.where(spread > 0, spread, 1.0)
        x = np.hstack([letters, scaled / max(1.0, np.sqrt(scaled.shape[1]))])
        scores[test] = fit(x[train], classes[train], len(levels), c=_C).probabilities(x[test])
    return Guessed(tuple(turns), tuple(levels), classes, folds, scores)


def measure(
    turns: Sequence[Spoken], levels: Sequence[float], rng: np.random.Generator, *, resamples: int = RESAMPLES
) -> Wording | None:
    """Everything about the wording of these turns, or ``None`` where it cannot be measured."""
    guessed = guess(turns, levels)
    if guessed is None:
        return None
    features = ("n-grams", *FEATURES)
    alone = {
        feature: _interval(only.auc, only.blocks, rng, resamples)
        for feature in features
        if (only := guess(turns, levels, (feature,))) is not None
    }
    vectors = np.array([[turn.style.words, *turn.style.vector()[1:]] for turn in turns])
    means = {
        feature: tuple(float(vectors[guessed.classes == k, i].mean()) for k in range(len(levels)))
        for i, feature in enumerate(FEATURES)
    }
    return Wording(
        _interval(guessed.auc, guessed.blocks, rng, resamples),
        _chance(guessed, rng),
        tuple(levels),
        len(turns),
        len({turn.sitting.topic for turn in turns}),
        len(set(guessed.folds.tolist())),
        alone,
        means,
        _confusion(guessed, rng, resamples),
        guessed,
    )


def _chance(guessed: Guessed, rng: np.random.Generator) -> float | None:
    ones = np.ones((1, len(guessed.turns)))
    places = [turn.sitting.place for turn in guessed.turns]

    def away(classes: Vector) -> float:
        return float(macro_auc(guessed.scores, classes, guessed.folds)(ones)[0]) - 0.5

    return permuted(away, guessed.classes.astype(float), places, guessed.blocks, rng, PERMUTATIONS)


def beyond(wording: Wording, placebo: Wording, rng: np.random.Generator, *, resamples: int = RESAMPLES) -> Estimate:
    """How much better levels are told apart than under the placebo; topics × seeds of both are drawn together."""
    first, second = wording.guessed, placebo.guessed
    both = difference(first.auc, second.auc, len(first.turns))
    return _interval(both, [*first.blocks, *second.blocks], rng, resamples)


def _interval(statistic: Weighted, blocks: list[tuple[str, int]], rng: np.random.Generator, resamples: int) -> Estimate:
    n = len(blocks)
    return bootstrap(resampled(statistic, n), n, rng, groups=blocks, method="percentile", resamples=resamples)


def _confusion(guessed: Guessed, rng: np.random.Generator, resamples: int) -> Confusion:
    said, truth, k = guessed.scores.argmax(axis=1), guessed.classes, len(guessed.levels)
    counts = np.zeros((k, k), dtype=int)
    np.add.at(counts, (truth, said), 1)
    wrong, near = said != truth, np.abs(said - truth) == 1
    adjacent = bootstrap(
        ratio_of(near, wrong), len(truth), rng, groups=guessed.blocks, method="percentile", resamples=resamples
    )
    beside = np.where((truth == 0) | (truth == k - 1), 1, 2) / (k - 1)
    chance = float(beside[wrong].mean()) if wrong.any() else float("nan")
    return Confusion(tuple(tuple(map(int, row)) for row in counts), adjacent, chance)
