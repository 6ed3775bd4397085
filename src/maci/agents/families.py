r"""Three ways to weigh the same evidence, with different blind spots; and whether they can decide a case at all.

=========  ===========================================================================================
lexical    BM25 of the case against each visible span; an outcome is as strong as its two best spans
semantic   cosine of meanings; an outcome is as strong as its best span
bayesian   multinomial naive Bayes, Dirichlet prior centred on the visible spans' word frequencies
=========  ===========================================================================================

Each returns a belief over the outcomes and how much each visible span supports its own outcome. The constants were
chosen on development splits (``benchmarks/bench_readers.py --tune`` repeats it).

**Competence** (D21, :func:`examine`): what readers know of the outcomes, and whether the case is about that. Leave one out: every
labelled text is held out in turn, the outcomes' names in it struck out, and read as a case by the three families over all the others.
The score of a text is the share of other outcomes that are held less likely than its own (an AUC): ½ by chance, whatever the number
of outcomes.

.. math:: s_i = \frac1{K-1} \sum_{y \ne y_i} \bigl[p_i(y_i) > p_i(y)\bigr] + \tfrac12 \bigl[p_i(y_i) = p_i(y)\bigr]

Readers can tell the outcomes apart where the lower end of the interval of the mean is above ½: one-sided 95 %, with one text more
that is told right and one that is told wrong (Agresti & Caffo 2000), so that a handful of hits does not pass for certainty.

The case resembles the texts (:func:`resembles`) where it shares enough words with the texts of one outcome, and its nearest text is
not much further from it than texts are from one another. Constants: [decision 005](../../../../docs/decisions/005-readers.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from maci.agents.library import Library, View
from maci.moderator.belief import Vector, softmax

Rows = NDArray[np.intp]


class Family(Protocol):
    """A way to weigh evidence."""

    @property
    def name(self) -> str:
        """One word."""

    def read(self, library: Library, view: View, visible: Rows) -> tuple[Vector, Vector]:
        """(belief over the library's outcomes, support of each visible span for its outcome)."""


def _best_mean(scores: Vector, subject: Rows, outcomes: int, best: int) -> Vector:
    """Mean of the ``best`` highest scores of each outcome; 0 where it has none.

    >>> _best_mean(np.array([3.0, 1.0, 2.0]), np.array([0, 0, 1]), 3, 2).tolist()
    [2.0, 2.0, 0.0]
    """
    order = np.lexsort((-scores, subject))
    owner = subject[order]
    starts = np.searchsorted(owner, np.arange(outcomes))
    rank = np.arange(len(order)) - starts[owner]
    taken = rank < best
    total = np.bincount(owner[taken], weights=scores[order][taken], minlength=outcomes)
    count = np.bincount(owner[taken], minlength=outcomes)
    return np.asarray(total / np.maximum(count, 1), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class LexicalFamily:
    """Shared words, the rarer the better (Robertson & Zaragoza 2009, *The Probabilistic Relevance Framework*)."""

    name: str = "lexical"
    k1: float = 1.5
    b: float = 0.75
    best: int = 2
    temperature: float = 1.2

    def read(self, library: Library, view: View, visible: Rows) -> tuple[Vector, Vector]:
        """BM25, with document frequencies from what is visible."""
        counts, length = view.counts[visible], library.length[visible]
        seen = (counts > 0).sum(axis=0)
        idf = np.log(1 + (len(visible) - seen + 0.5) / (seen + 0.5))
        damp = self.k1 * (1 - self.b + self.b * length / max(1.0, length.mean()))
        scores = (idf * counts * (self.k1 + 1) / (counts + damp[:, None])).sum(axis=1)
        strength = _best_mean(scores, library.subject[visible], len(library.outcomes), self.best)
        return softmax(strength / self.temperature), scores


@dataclass(frozen=True, slots=True)
class SemanticFamily:
    """Likeness of meaning, whatever the words."""

    name: str = "semantic"
    temperature: float = 0.065

    def read(self, library: Library, view: View, visible: Rows) -> tuple[Vector, Vector]:
        """Cosine to the case, what all spans share taken out."""
        scores = view.likeness[visible]
        strength = _best_mean(scores, library.subject[visible], len(library.outcomes), 1)
        return softmax(strength / self.temperature), scores


@dataclass(frozen=True, slots=True)
class BayesianFamily:
    """Every word of the case is a weight of evidence (naive Bayes), tempered since words are not independent.

    An outcome of which much is visible must not speak louder for it (Rennie et al. 2003, *Tackling the Poor Assumptions of Naive
    Bayes*), least of all in a debate, where more and more is shown of the outcomes that lead: against the prior, every outcome's
    words count as those of its average span times what is visible of an outcome on average. One of which nothing is visible is neutral.
    """

    name: str = "bayesian"
    prior: float = 100.0
    """Strength of the prior, in words."""
    temperature: float = 1.5

    def read(self, library: Library, view: View, visible: Rows) -> tuple[Vector, Vector]:
        """Log P(word | outcome) / P(word), summed over the words of the case."""
        counts, length, subject = view.counts[visible], library.length[visible], library.subject[visible]
        member = np.zeros((len(library.outcomes), len(visible)))
        member[subject, np.arange(len(visible))] = 1.0
        base = (counts.sum(axis=0) + 1) / (length.sum() + library.vocabulary)
        said, spans = member @ length, member.sum(axis=1)
        seen = said > 0
        share = np.where(seen[:, None], (member @ counts) / np.maximum(said, 1)[:, None], base)
        span = np.where(seen, said / np.maximum(spans, 1), said[seen].sum() / max(1.0, spans[seen].sum()))
        size = (span * spans[seen].mean() if seen.any() else span)[:, None]
        weight = np.log((size * share + self.prior * base) / (size + self.prior) / base)
        support = ((counts > 0) * weight[subject]).sum(axis=1)
        return softmax(weight.sum(axis=1) / self.temperature), support


FAMILIES: tuple[Family, ...] = (LexicalFamily(), SemanticFamily(), BayesianFamily())


ENOUGH = 3
"""Texts that every outcome needs."""
_MOST = 120
"""Texts that are held out at most."""
_Z = 1.6449
"""Of a one-sided 95 % interval."""
_WORDS = 3
"""Words shared with the texts of one outcome."""
_SHARE = 0.6
"""Of a short case, this share of its words is enough."""
_NEAR = 0.25
"""The case's nearest text: its cosine as a share of the median among the texts."""
_TINY = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Competence:
    """What readers know of a set of outcomes."""

    outcomes: int
    texts: int
    fewest: int
    """Texts about the outcome that fewest are about."""
    told: float | None = None
    """Mean score of the texts held out; ``None`` where there are too few."""
    low: float | None = None
    """Lower end of its interval."""
    near: float = 1.0
    """Median cosine of a text with the nearest other."""

    @property
    def doubt(self) -> str:
        """Why they cannot tell the outcomes apart; nothing where they can."""
        if self.outcomes < 2:
            return "all texts are about one outcome"
        if self.fewest < ENOUGH:
            texts = f"{self.texts} text{'' if self.texts == 1 else 's'}"
            return f"{texts} for {self.outcomes} outcomes; each outcome needs at least {ENOUGH}"
        assert self.told is not None and self.low is not None
        if self.low <= 0.5:
            return (
                f"held out in turn, their {self.texts} texts are told apart in {100 * self.told:.0f} % of comparisons, "
                "which may be chance"
            )
        return ""


def examine(library: Library, vectors: NDArray[np.float32], families: Sequence[Family] = FAMILIES) -> Competence:
    """The leave-one-out test; ``vectors`` are the library's texts, from an encoder that was not fitted to them."""
    sizes = np.bincount(library.subject, minlength=len(library.outcomes))
    known = Competence(outcomes=len(library.outcomes), texts=len(library.spans), fewest=int(sizes.min()))
    if known.fewest < ENOUGH or known.outcomes < 2:
        return known
    everything = np.arange(len(library.spans))
    scores = []
    for row in _spread(library)[:_MOST]:
        view, rest = library.view(library.nameless(row)), np.delete(everything, row)
        p = np.mean([family.read(library, view, rest)[0] for family in families], axis=0)
        own = int(library.subject[row])
        others = np.delete(p, own)
        scores.append(float(np.mean((p[own] > others) + 0.5 * (p[own] == others))))
    sample = np.array([*scores, 0.0, 1.0])
    low = float(sample.mean() - _Z * sample.std(ddof=1) / math.sqrt(len(sample)))
    likeness = vectors @ vectors.T
    np.fill_diagonal(likeness, -1.0)
    near = max(float(np.median(likeness.max(axis=1))), _TINY)
    return replace(known, told=float(np.mean(scores)), low=low, near=near)


def resembles(view: View, library: Library, near: float) -> bool:
    """Whether a case is about what the texts are about; ``near``: how near its nearest text is, measured by the texts themselves."""
    here = view.counts > 0
    shared = max(int(here[library.subject == outcome].any(axis=0).sum()) for outcome in np.unique(library.subject))
    return shared >= min(_WORDS, math.ceil(_SHARE * max(1, len(view.words)))) and near >= _NEAR


def _spread(library: Library) -> list[int]:
    """Rows, one of every outcome, then another of every outcome."""
    seen: dict[int, int] = {}
    rank = []
    for row, subject in enumerate(library.subject.tolist()):
        seen[subject] = seen.get(subject, -1) + 1
        rank.append((seen[subject], subject, row))
    return [row for *_, row in sorted(rank)]
