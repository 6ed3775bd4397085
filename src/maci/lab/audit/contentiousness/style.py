"""How a turn is worded, whatever it is about: the shallow features of the manipulation check (SPEC 8).

============  =============================================================================
length        words
hedging       words and phrases that weaken a claim, in 100 words
imperatives   share of sentences that begin by telling somebody to do something
citations     pieces of evidence cited, in 100 words
n-grams       how often each run of 2 to 4 characters occurs, hashed into a few thousand places
============  =============================================================================

They are counted, not understood: a list of words is no parser, and is the same for everybody who is compared by it.
"""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import astuple, dataclass

import numpy as np
from numpy.typing import NDArray

from maci.agents.argument import Turn

PLACES = 4096
"""Into so many places n-grams are hashed."""
_SIZES = (2, 3, 4)
_HEDGES = re.compile(
    r"\b(?:may|might|could|perhaps|maybe|possibl[ey]|probabl[ey]|likely|unlikely|presumably|seem(?:s|ed|ingly)?|appear(?:s|ed)?|"
    r"suggest(?:s|ed|ive)?|indicat(?:es?|ive)|tend(?:s|ed)? to|somewhat|fairly|rather|relatively|partly|partially|mostly|generally|"
    r"usually|often|sometimes|typically|potential(?:ly)?|tentative(?:ly)?|uncertain|unclear|doubtful|questionable|"
    r"although|though|however|unless|if|whether|assuming|provided that|depending on|subject to|caveats?|limited|"
    r"not (?:certain|sure|clear|enough)|cannot be (?:ruled out|excluded)|on balance|to some extent|in part|open to)\b",
    re.IGNORECASE,
)
_ORDERS = frozenset(
    re.findall(
        r"\w+",
        """
        accept acknowledge add address admit agree ask assess avoid be beware bring call check choose cite clarify
        compare conclude confirm consider continue count defend demand determine discard dismiss do drop
        ensure establish evaluate examine exclude explain explore find focus follow get give go hold identify ignore
        include insist integrate investigate join keep leave let look make measure monitor name note notice
        observe obtain offer order perform prove provide read recall recheck reconsider refer refine
        reject remember repeat require respond revise rule say search see seek separate show
        specify start state stop suggest summarise summarize take tell test think treat try
        undertake use verify wait weigh withdraw write
        """,
    )
)
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_END = re.compile(r"(?<=[.!?])\s+|\n+")


@dataclass(frozen=True, slots=True)
class Style:
    """The features that have names."""

    words: int
    hedges: float
    imperatives: float
    citations: float

    def vector(self) -> NDArray[np.float64]:
        """As a classifier takes them: the length as its logarithm."""
        words, *rest = astuple(self)
        return np.array([np.log1p(words), *rest], dtype=float)


def spoken(turn: Turn) -> str:
    """What a turn says, without its quotes: claims, reasons and opposing reasons, each a line."""
    lines = (line for a in turn.arguments for line in (a.claim, *a.reasons, *a.opposing))
    return "\n".join(" ".join(line.split()) for line in lines if line.strip())


def sentences(text: str) -> list[str]:
    r"""A text cut at ends of sentences and of lines.

    >>> sentences("It fits. Check the blood!\nNo")
    ['It fits.', 'Check the blood!', 'No']
    """
    return [part for part in _END.split(text) if _WORD.search(part)]


def style(text: str, citations: int) -> Style | None:
    """The named features of a text that cites so many pieces; ``None`` of an empty one.

    >>> style("It may be dengue. Check the blood.", 1)
    Style(words=7, hedges=14.285714285714286, imperatives=0.5, citations=14.285714285714286)
    """
    words = len(_WORD.findall(text))
    if not words:
        return None
    said = sentences(text)
    return Style(
        words,
        100 * len(_HEDGES.findall(text)) / words,
        sum(map(_orders, said)) / len(said),
        100 * citations / words,
    )


def _orders(sentence: str) -> bool:
    """Whether a sentence begins with a verb in its plain form, or with `do not`, `please`, `let us` before one."""
    words = [word.casefold() for word in _WORD.findall(sentence)[:3]]
    if words and words[0] in {"please", "then", "first", "next", "also", "now"}:
        words = words[1:]
    if words and words[0] in {"don't", "don’t", "never"}:
        return True
    return bool(words) and words[0] in _ORDERS


def ngrams(texts: Sequence[str], places: int = PLACES) -> NDArray[np.float64]:
    """One row for each text: log(1 + count) of its n-grams by hash, scaled to length 1.

    >>> rows = ngrams(["abab", "abab", "xyz"])
    >>> bool((rows[0] == rows[1]).all()), round(float(rows[2] @ rows[2]), 6)
    (True, 1.0)
    """
    rows = np.zeros((len(texts), places))
    for row, text in zip(rows, texts, strict=True):
        for place, count in _hashed(text, places).items():
            row[place] = np.log1p(count)
        length = float(np.linalg.norm(row))
        if length:
            row /= length
    return rows


def _hashed(text: str, places: int) -> Counter[int]:
    plain = f" {' '.join(text.casefold().split())} ".encode()
    return Counter(zlib.crc32(plain[i : i + n]) % places for n in _SIZES for i in range(len(plain) - n + 1))
