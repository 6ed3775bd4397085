r"""Whether word statistics can decide a case at all (D21): what readers know of the outcomes, and whether the case is about that.

Leave one out. Every labelled text is held out in turn, the outcomes' names in it struck out, and read as a case by the three families
over all the others. The score of a text is the share of other outcomes that are held less likely than its own (an AUC): ½ by chance,
whatever the number of outcomes.

.. math:: s_i = \frac1{K-1} \sum_{y \ne y_i} \bigl[p_i(y_i) > p_i(y)\bigr] + \tfrac12 \bigl[p_i(y_i) = p_i(y)\bigr]

Readers can tell the outcomes apart where the lower end of the interval of the mean is above ½: one-sided 95 %, with one text more
that is told right and one that is told wrong (Agresti & Caffo 2000), so that a handful of hits does not pass for certainty.

The case resembles the texts where it shares enough words with the texts of one outcome, and its nearest text is not much further
from it than texts are from one another. Constants: [decision 005](../../../../docs/decisions/005-readers.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from maci.agents.reader.families import FAMILIES, Family
from maci.agents.reader.library import Library, View

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
