r"""Whether word statistics can decide a case at all (D21): what readers know of the outcomes, and whether the case is about that.

Leave one out. Every labelled text is held out in turn, the outcomes' names in it struck out, and read as a case by the three families
over all the others. The score of a text is the share of other outcomes that are held less likely than its own (an AUC): ½ by chance,
whatever the number of outcomes.

.. math:: s_i = \frac1{K-1} \sum_{y \ne y_i} \bigl[p_i(y_i) > p_i(y)\bigr] + \tfrac12 \bigl[p_i(y_i) = p_i(y)\bigr]

Readers can tell the outcomes apart where the lower end of the interval of the mean is above ½: one-sided 95 %, with one text more
that is told right and one that is told wrong (Agresti & Caffo 2000), so that a handful of hits does not pass for certainty.

Copies of a text are held out with it and count once, so that a few texts written out again and again prove nothing.

The case resembles the texts where it shares enough words with the texts of one outcome, and its nearest text is not much further
from it than texts are from one another. One of the shared words must tell something: it is about the case (not *disease* or *day*, and
in a question alone not the outcomes' names), and not all outcomes have texts that say it.

Readers do not read the question, so it must ask which outcome the case is like: they cannot exclude, compare or count.

What the case says outright must carry the answer, for readers find denials by rule and miss some. Where much of a case denies, the
answer must be the same without every clause that denies. And it must not turn into another without the sentences by which the case
says that something is in order (*the certificate is valid*), nor without what it supposes, takes back or says of other people. Where
there is little text, no clause may speak for another outcome.
Constants: [decision 005](../../../docs/decisions/005-readers.md).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from maci.agents.anchor import Finding
from maci.agents.library import NO_FINDING, Library, View, weigh
from maci.agents.reader import FAMILIES, Conduct, Family, Rows
from maci.evidence.intake import Affirmed, affirmed, firm
from maci.evidence.lexical import terms
from maci.evidence.negation import sentences
from maci.moderator.belief import Vector

ENOUGH = 3
"""Texts that every outcome needs."""
_NAMED = 3
"""Outcomes with too few texts that are named; the rest is counted."""
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
_SAME, _FILLED = 0.9, 0.25
"""So are texts that share this share of the words which other texts have too, where those are this share of each text."""
_DENIES = 0.35
"""A case that denies with more than this share of its words."""
_TURNS, _AGAIN = 0.5, 1.5
"""How likely another answer must be, from a part of the case, to speak against the first, and how many times as likely as that."""
_THIN = 100
"""With fewer words about each outcome than this on average, no part of the case may speak for another outcome."""
_TINY = 1e-6
_BEYOND = re.compile(
    r"\b(?:not|cannot|never|no longer|[a-z]+n['’]t|except|exclud\w+|rul(?:e|es|ed|ing) out|least|unlikely|"
    r"than|more|less|fewer|most(?! (?:likely|probabl[ey]|plausibl[ey]))|(?:high|low|larg|bigg|small|cheap|fast|quick|slow|long|"
    r"short|old|young|new|lat|earli|strong|weak|heavi|light|clos|near|costli)est|"
    r"how (?:many|much|long|often|far|old|large|big|high)|sum|average|total|(?:first|last|next|second|third)(?=\W*$))\b",
    re.IGNORECASE,
)
"""What a question asks beyond likeness: an exception, a comparison, an order, an amount."""
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
    few: tuple[tuple[str, int], ...] = ()
    """Outcomes that have too few texts, with how many they have; copies count once."""
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
            return (
                f"{texts} for {self.outcomes} outcomes{self._lacking}; each outcome needs at least {need}, "
                "and `label` says what a text is about"
            )
        assert self.told is not None and self.low is not None
        if self.low <= 0.5:
            return (
                f"tested on their own {self.texts} texts, each left out once, the readers favour the right outcome in "
                f"{100 * self.told:.0f} % of comparisons, where guessing reaches 50 %"
            )
        return ""

    @property
    def _lacking(self) -> str:
        """How many texts are about the outcomes that have too few: the first by name, the rest counted."""
        named = [f"{size or 'none'} about {outcome}" for outcome, size in self.few[:_NAMED]]
        more = len(self.few) - len(named)
        named += [f"too few about {more} more"] if more else []
        return f", with {', '.join(named)}" if named else ""


def examine(library: Library, vectors: NDArray[np.float32], families: Sequence[Family] = FAMILIES) -> Competence:
    """The leave-one-out test; ``vectors`` are the library's texts, from an encoder that was not fitted to them."""
    sizes = np.bincount(library.subject, minlength=len(library.outcomes))
    common = _common(library)
    distinct = [_distinct(library, outcome, common) for outcome in range(len(library.outcomes))]
    fewest = min(distinct)
    known = Competence(
        outcomes=len(library.outcomes),
        texts=len(library.spans),
        fewest=fewest,
        copied=fewest < ENOUGH <= int(sizes.min()),
        few=tuple((name, n) for name, n in zip(library.outcomes, distinct, strict=True) if n < ENOUGH),
    )
    if known.fewest < ENOUGH or known.outcomes < 2:
        return known
    scores, done = list[float](), np.zeros(len(library.spans), dtype=bool)
    likeness = vectors @ vectors.T
    for row in _spread(library):
        copies = _copies(library, row, np.flatnonzero(library.subject == library.subject[row]), common)
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


def asks(question: str) -> str:
    """The words by which a question asks for more than what the case is like; nothing where it does not.

    >>> asks("Which of them is the least likely cause?"), asks("What is the most likely cause?")
    ('least', '')
    """
    found = _BEYOND.search(sentences(question)[-1]) if question.strip() else None
    return found[0] if found else ""


def resembles(view: View, library: Library, near: float) -> bool:
    """Whether a case is about what the texts are about; ``near``: how near its nearest text is, measured by the texts themselves."""
    here = view.counts > 0
    shared = max(int(here[library.subject == outcome].any(axis=0).sum()) for outcome in np.unique(library.subject))
    return shared >= min(_WORDS, math.ceil(_SHARE * max(1, len(view.words)))) and near >= _NEAR


def tells(text: str, library: Library, *, named: bool = True) -> bool:
    """Whether a case says anything that tells its outcomes apart; ``named``: the outcomes' own names count."""
    view = library.view(text if named else library.unnamed(text))
    return any(
        seen.any() and word not in NO_FINDING and word not in library.common
        for word, seen in zip(view.words, view.counts.T, strict=True)
    )


def relies(text: str, library: Library, like: Callable[[str], bool]) -> str:
    """What the answer to a case relies on that readers may misread; nothing where it stands on what is said outright.

    ``like``: whether a part of the case still resembles the texts.
    """
    said, lead = affirmed(text), _lead(text, library)
    stated = " ".join(said.sentences)
    if said.denied > _DENIES and not (like(stated) and _lead(stated, library) == lead):
        return "it mostly says what is not so, and the rest does not carry the answer"
    if (own := firm(text)) != " ".join(sentences(text)) and (_turns(own, lead, library) or not terms(own)):
        return "the answer would rest on what the case supposes, takes back or says of others"
    rest = said.doubtless()
    if rest != stated and (_turns(rest, lead, library) or (said.denied and not terms(rest))):
        return "the answer would rest on what the case says is in order"
    if library.length.sum() < _THIN * len(library.outcomes):
        without = (Affirmed((*said.sentences[:i], *said.sentences[i + 1 :]), 0.0) for i in range(len(said.sentences)))
        for part in (*(others.doubtless() for others in without), *said.clauses):
            if _turns(part, lead, library):
                return "one part of it speaks for another outcome than the rest, and there is little text about each"
    return ""


def _turns(rest: str, lead: int, library: Library) -> bool:
    """Whether what is left of a case speaks for another outcome."""
    if not terms(rest):
        return False
    p = _held(rest, library)
    return float(p.max()) >= max(_TURNS, _AGAIN * float(p[lead]))


def _held(text: str, library: Library) -> Vector:
    """What a text comes to, read over all there is."""
    view, everything = library.view(text), np.arange(len(library.spans))
    absent = [Finding(denied, "", False, 0) for denied in view.denied]
    p = _read(library, view, everything, FAMILIES)
    return weigh(p, absent, library, everything, present=_OWN.present, absent=_OWN.absent, smoothing=_OWN.smoothing)


def _lead(text: str, library: Library) -> int:
    return int(_held(text, library).argmax())


def _read(library: Library, view: View, visible: Rows, families: Sequence[Family]) -> Vector:
    return np.asarray(
        np.mean([family.read(library, view, visible)[0] for family in families], axis=0), dtype=np.float64
    )


def _copies(library: Library, row: int, among: Rows, common: set[str]) -> Rows:
    """Those of some rows that are copies of one; a text is a copy of itself. ``common``: words of several texts."""
    own = set(library.terms[row])
    found = []
    for other in among.tolist():
        theirs = set(library.terms[other])
        if (
            other == row
            or len(own & theirs) >= _COPY * max(1, min(len(own), len(theirs)))
            or _filled(own, theirs, common)
        ):
            found.append(other)
    return np.array(found, dtype=np.intp)


def _filled(one: set[str], other: set[str], common: set[str]) -> bool:
    """Whether two texts are the same but for words that no other text has: such words teach nothing, and filler is made of them."""
    left, right = one & common, other & common
    enough = len(left) >= max(_WORDS, _FILLED * len(one)) and len(right) >= max(_WORDS, _FILLED * len(other))
    return enough and len(left & right) >= _SAME * max(len(left), len(right))


def _common(library: Library) -> set[str]:
    """Words that more than one text has."""
    seen = Counter(word for words in library.terms for word in set(words))
    return {word for word, texts in seen.items() if texts > 1}


def _distinct(library: Library, outcome: int, common: set[str]) -> int:
    """How many texts about an outcome are not copies of one another; no more than are enough are counted."""
    found = np.zeros(0, dtype=np.intp)
    for row in np.flatnonzero(library.subject == outcome).tolist():
        if len(found) < ENOUGH and not len(_copies(library, row, found, common)):
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
