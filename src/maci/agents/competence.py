r"""Whether word statistics can decide a case at all (D21): what readers know of the outcomes, and whether the case is about that.

Leave one out. Every labelled text is held out in turn, the outcomes' names in it struck out, and read as a case by the three families
over all the others. The score of a text is the share of other outcomes that are held less likely than its own (an AUC): ½ by chance,
whatever the number of outcomes.

.. math:: s_i = \frac1{K-1} \sum_{y \ne y_i} \bigl[p_i(y_i) > p_i(y)\bigr] + \tfrac12 \bigl[p_i(y_i) = p_i(y)\bigr]

Readers can tell the outcomes apart where the lower end of the interval of the mean is above ½: one-sided 95 %, with one text more
that is told right and one that is told wrong (Agresti & Caffo 2000), so that a handful of hits does not pass for certainty.

Copies of a text are held out with it and count once, so that a few texts written out again and again prove nothing.

The case resembles the texts where it shares enough words with the texts of one outcome, and its nearest text is not much further
from it than texts are from one another.

What the case says outright must carry the answer, for readers find denials by rule and miss some. Where much of a case denies, the
answer must be the same without every clause that denies. And it must not turn into another without the sentences by which the case
says that something is in order (*the certificate is valid*). Constants: [decision 005](../../../docs/decisions/005-readers.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from maci.agents.anchor import Finding
from maci.agents.families import FAMILIES, Family, Rows
from maci.agents.library import Library, View, weigh
from maci.agents.reader import Conduct
from maci.evidence.intake import Affirmed, affirmed
from maci.evidence.lexical import terms
from maci.moderator.belief import Vector

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
_COPY = 0.75
"""Texts about one outcome that share this share of the shorter one's words are copies."""
_DENIES = 0.35
"""A case that denies with more than this share of its words."""
_TURNS = 0.6
"""How sure another answer must be, from what is left of the case, to speak against the first."""
_THIN = 100
"""With fewer words about each outcome than this on average, no part of the case may speak for another outcome."""
_TINY = 1e-6
_OWN = Conduct()


@dataclass(frozen=True, slots=True, kw_only=True)
class Competence:
    """What readers know of a set of outcomes."""

    outcomes: int
    texts: int
    fewest: int
    """Texts about the outcome that fewest are about; copies count once."""
    copied: bool = False
    """With its copies that outcome would have enough."""
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
            need = f"{ENOUGH} that are not copies of one another" if self.copied else f"{ENOUGH}"
            return f"{texts} for {self.outcomes} outcomes; each outcome needs at least {need}"
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
    fewest = min(_distinct(library, outcome) for outcome in range(len(library.outcomes)))
    known = Competence(
        outcomes=len(library.outcomes),
        texts=len(library.spans),
        fewest=fewest,
        copied=fewest < ENOUGH <= int(sizes.min()),
    )
    if known.fewest < ENOUGH or known.outcomes < 2:
        return known
    scores, done = list[float](), np.zeros(len(library.spans), dtype=bool)
    likeness = vectors @ vectors.T
    for row in _spread(library):
        copies = _copies(library, row, np.flatnonzero(library.subject == library.subject[row]))
        likeness[row, copies] = -1.0
        if done[row] or len(scores) == _MOST:
            continue
        done[copies] = True
        p = _read(
            library, library.view(library.nameless(row)), np.delete(np.arange(len(library.spans)), copies), families
        )
        own = int(library.subject[row])
        others = np.delete(p, own)
        scores.append(float(np.mean((p[own] > others) + 0.5 * (p[own] == others))))
    sample = np.array([*scores, 0.0, 1.0])
    low = float(sample.mean() - _Z * sample.std(ddof=1) / math.sqrt(len(sample)))
    near = max(float(np.median(likeness.max(axis=1))), _TINY)
    return replace(known, told=float(np.mean(scores)), low=low, near=near)


def resembles(view: View, library: Library, near: float) -> bool:
    """Whether a case is about what the texts are about; ``near``: how near its nearest text is, measured by the texts themselves."""
    here = view.counts > 0
    shared = max(int(here[library.subject == outcome].any(axis=0).sum()) for outcome in np.unique(library.subject))
    return shared >= min(_WORDS, math.ceil(_SHARE * max(1, len(view.words)))) and near >= _NEAR


def relies(text: str, library: Library, like: Callable[[str], bool]) -> str:
    """What the answer to a case relies on that readers may misread; nothing where it stands on what is said outright.

    ``like``: whether a part of the case still resembles the texts.
    """
    said, lead = affirmed(text), _lead(text, library)[0]
    stated = " ".join(said.sentences)
    if said.denied > _DENIES and not (like(stated) and _lead(stated, library)[0] == lead):
        return "it mostly says what is not so, and the rest does not carry the answer"
    rest = said.doubtless()
    if rest != stated and (_turns(rest, lead, library) or (said.denied and not terms(rest))):
        return "the answer would rest on what the case says is in order"
    if library.length.sum() < _THIN * len(library.outcomes):
        for i in range(len(said.sentences)):
            others = Affirmed((*said.sentences[:i], *said.sentences[i + 1 :]), said.denied)
            if _turns(others.doubtless(), lead, library):
                return "one part of it speaks for another outcome than the rest, and there is little text about each"
    return ""


def _turns(rest: str, lead: int, library: Library) -> bool:
    """Whether what is left of a case speaks for another outcome."""
    other, sure = _lead(rest, library) if terms(rest) else (lead, 0.0)
    return other != lead and sure >= _TURNS


def _lead(text: str, library: Library) -> tuple[int, float]:
    """The leading outcome of a text read over all there is, and its probability."""
    view, everything = library.view(text), np.arange(len(library.spans))
    absent = [Finding(denied, "", False, 0) for denied in view.denied]
    p = _read(library, view, everything, FAMILIES)
    p = weigh(p, absent, library, everything, present=_OWN.present, absent=_OWN.absent, smoothing=_OWN.smoothing)
    return int(p.argmax()), float(p.max())


def _read(library: Library, view: View, visible: Rows, families: Sequence[Family]) -> Vector:
    return np.asarray(
        np.mean([family.read(library, view, visible)[0] for family in families], axis=0), dtype=np.float64
    )


def _copies(library: Library, row: int, among: Rows) -> Rows:
    """Those of some rows that are copies of one; a text is a copy of itself."""
    own = set(library.terms[row])
    found = []
    for other in among.tolist():
        theirs = set(library.terms[other])
        if other == row or len(own & theirs) >= _COPY * max(1, min(len(own), len(theirs))):
            found.append(other)
    return np.array(found, dtype=np.intp)


def _distinct(library: Library, outcome: int) -> int:
    """How many texts about an outcome are not copies of one another; no more than are enough are counted."""
    found = np.zeros(0, dtype=np.intp)
    for row in np.flatnonzero(library.subject == outcome).tolist():
        if len(found) < ENOUGH and not len(_copies(library, row, found)):
            found = np.append(found, row)
    return len(found)


def _spread(library: Library) -> list[int]:
    """Rows, one of every outcome, then another of every outcome."""
    seen: dict[int, int] = {}
    rank = []
    for row, subject in enumerate(library.subject.tolist()):
        seen[subject] = seen.get(subject, -1) + 1
        rank.append((seen[subject], subject, row))
    return [row for *_, row in sorted(rank)]
