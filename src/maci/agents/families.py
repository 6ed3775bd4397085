r"""Three ways to weigh the same evidence, with different blind spots.

=========  ===========================================================================================
lexical    BM25 of the case against each visible span; an outcome is as strong as its two best spans
semantic   cosine of meanings; an outcome is as strong as its best span
bayesian   multinomial naive Bayes, Dirichlet prior centred on the visible spans' word frequencies
=========  ===========================================================================================

Each returns a belief over the outcomes and how much each visible span supports its own outcome. The constants were
chosen on development splits (``benchmarks/bench_readers.py --tune`` repeats it).
"""

from __future__ import annotations

from dataclasses import dataclass
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
