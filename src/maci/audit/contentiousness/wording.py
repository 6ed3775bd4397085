"""Can the level be told from the words alone? A linear classifier on shallow features, asked about topics it has not seen.

Topics are dealt to at most five folds; a classifier learns from the turns of the other folds and guesses the level of each turn
of its own. So no topic is in training and test at once: what it knows of a level it knows from other topics. The interval is a
bootstrap over whole topics × seeds of the held-out scores; the classifiers are not fitted anew in it, and it says nothing about what
others trained on other topics would do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from maci.agents.style import ngrams
from maci.audit.contentiousness.classifier import fit
from maci.audit.contentiousness.ranking import Weighted, difference, macro_auc, permuted, resampled
from maci.audit.contentiousness.sample import Spoken
from maci.audit.contentiousness.trends import PERMUTATIONS
from maci.belief import Vector
from maci.study.statistics import RESAMPLES, Interval, bootstrap, ratio_of

__all__ = ["FEATURES", "FOLDS", "Confusion", "Guessed", "Wording", "beyond", "guess", "measure"]

FOLDS = 5
FEATURES = ("length", "hedging", "imperatives", "citations")
"""The features that have names, in the order of their column."""
_C = 10.0
"""Inverse of the penalty: a fixed choice, not tuned on anything."""


@dataclass(frozen=True, slots=True)
class Guessed:
    """Held-out scores of every turn."""

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
    adjacent: Interval
    """Of the wrong guesses, the share that is one level off."""
    chance: float
    """What that share would be if wrong guesses were drawn evenly."""


@dataclass(frozen=True, slots=True)
class Wording:
    """How well levels are told apart."""

    auc: Interval
    p: float | None
    """Chance of an AUC at least as far from ½ if levels were exchanged between debates of one topic and seed."""
    levels: tuple[float, ...]
    turns: int
    topics: int
    folds: int
    alone: dict[str, Interval]
    """AUC of each named feature without the others, and of the n-grams without the named ones."""
    means: dict[str, tuple[float, ...]]
    """Feature → its mean at each level."""
    confusion: Confusion
    guessed: Guessed


def guess(
    turns: Sequence[Spoken], levels: Sequence[float], use: Sequence[str] = ("n-grams", *FEATURES)
) -> Guessed | None:
    """Held-out scores; ``None`` where there are not two topics with turns, or a level has none."""
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

    def auc(found: Guessed) -> Interval:
        return _interval(found.auc, found.blocks, rng, resamples)

    alone = {}
    for feature in ("n-grams", *FEATURES):
        only = guess(turns, levels, (feature,))
        assert only is not None
        alone[feature] = auc(only)
    vectors = np.array([[turn.style.words, *turn.style.vector()[1:]] for turn in turns])
    means = {
        feature: tuple(float(vectors[guessed.classes == k, i].mean()) for k in range(len(levels)))
        for i, feature in enumerate(FEATURES)
    }
    return Wording(
        auc(guessed),
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


def beyond(wording: Wording, placebo: Wording, rng: np.random.Generator, *, resamples: int = RESAMPLES) -> Interval:
    """How much better levels are told apart than under the placebo; topics × seeds of both are drawn together."""
    first, second = wording.guessed, placebo.guessed
    both = difference(first.auc, second.auc, len(first.turns))
    return _interval(both, [*first.blocks, *second.blocks], rng, resamples)


def _interval(statistic: Weighted, blocks: list[tuple[str, int]], rng: np.random.Generator, resamples: int) -> Interval:
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
