"""Counts of how turns are worded: features of one turn, and the paper's observable patterns of a debate, round by round.

The shallow features of a turn, for the manipulation check (SPEC 8). They do not depend on the topic:

============  =============================================================================
length        words
hedging       words and phrases that weaken a claim, in 100 words
imperatives   share of sentences that begin by telling somebody to do something
citations     pieces of evidence cited, in 100 words
n-grams       how often each run of 2 to 4 characters occurs, hashed into a few thousand places
============  =============================================================================

The patterns of a round:

| pattern of the paper | here |
|---|---|
| specificity of outcomes | 1 − H(p_u)/log₂ of the number of outcomes, mean over agents; and how far agents differ in it |
| cross-agent reference | share of arguments that name another agent, or speak of or against another's leading outcome |
| justification depth | words of reasons and opposing reasons an argument; and how far agents differ in it |
| uncertainty handling | hedging words in 100 words |
| recommendations | share of arguments with a sentence that says what should be done, tested or found out next |

Both are counted with fixed lists of words, the same for everyone compared, which cannot recognise irony, quotation or paraphrase.
Compare rounds of one debate, or debates of one kind; a single figure says little. The paper itself reads its two cases by eye and
gives no measure.
"""

from __future__ import annotations

import math
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from maci.agents.argument import Argument, Turn
from maci.story import Round, Story

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


NAMES: dict[str, str] = {
    "specificity": "specificity of outcomes (0 spread, 1 certain)",
    "specificity_gap": "… widest gap between agents",
    "reference": "arguments that answer another agent",
    "depth": "words of reasons an argument",
    "depth_gap": "… widest gap between agents",
    "hedging": "hedges in 100 words",
    "recommendations": "arguments that recommend a step",
}
_OTHERS = re.compile(
    r"\b(?:analyst\s+[A-Z]\d*|the other (?:analyst|agent|side|view)s?|others?|opponents?|colleagues?|"
    r"(?:as|what|which) (?:was|were|has been) (?:argued|said|claimed)|"
    r"I (?:agree|disagree|concede|accept|reject)|we (?:agree|share|both))\b",
    re.IGNORECASE,
)
_STEPS = re.compile(
    r"\b(?:should be|should|needs? to be|must be|ought to be) (?:\w+ )?(?:checked|tested|measured|confirmed|ruled out|excluded|"
    r"verified|repeated|examined|ordered|obtained|monitored|investigated|answered|treated|started|asked|noted)|"
    r"\b(?:recommend(?:s|ed|ation)?|next steps?|follow[- ]up|further (?:tests?|testing|investigation|evidence|information|evaluation)|"
    r"(?:blood|laboratory|lab|imaging|serolog\w+|antigen|diagnostic) tests? (?:should|would|could|may|might|will|to)|is best checked|"
    r"would (?:confirm|settle|decide|exclude|rule out))\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """One round; ``None`` where nobody argued or believed anything."""

    round: int
    specificity: float | None
    specificity_gap: float | None
    reference: float | None
    depth: float | None
    depth_gap: float | None
    hedging: float | None
    recommendations: float | None


def patterns(story: Story) -> tuple[Pattern, ...]:
    """The patterns of every round that was closed, the opening as round 0."""
    return tuple(_pattern(now, before) for before, now in pairwise((Round(number=0), *story.closed)))


def _pattern(now: Round, before: Round) -> Pattern:
    beliefs, turns = now.beliefs, now.turns
    leads = {agent: max(p, key=lambda y: p[y]) for agent, p in before.beliefs.items() if p}
    certain = [value for p in beliefs.values() if (value := _certainty(p)) is not None]
    said = [(agent, argument) for agent, turn in turns.items() for argument in turn.arguments]
    depths = {agent: d for agent, turn in turns.items() if (d := _mean(_words(a) for a in turn.arguments)) is not None}
    styles = [found for turn in turns.values() if (found := style(spoken(turn), 0)) is not None]
    words = sum(found.words for found in styles)
    return Pattern(
        round=now.number,
        specificity=_mean(certain),
        specificity_gap=_gap(certain),
        reference=_mean(_answers(a, [y for other, y in leads.items() if other != agent]) for agent, a in said),
        depth=_mean(depths.values()),
        depth_gap=_gap(list(depths.values())),
        hedging=sum(found.hedges * found.words for found in styles) / words if words else None,
        recommendations=_mean(_recommends(argument) for _, argument in said),
    )


def _certainty(p: Mapping[str, float]) -> float | None:
    """1 − H(p)/log₂|𝒴|; undefined for fewer than two outcomes.

    >>> _certainty({"a": 0.5, "b": 0.5}), _certainty({"a": 1.0, "b": 0.0}), _certainty({"a": 1.0})
    (0.0, 1.0, None)
    """
    if len(p) < 2:
        return None
    return 1 + sum(x * math.log2(x) for x in p.values() if x > 0) / math.log2(len(p))


def _words(argument: Argument) -> int:
    return sum(len(line.split()) for line in (*argument.reasons, *argument.opposing))


def _answers(argument: Argument, others: Sequence[str]) -> bool:
    """Whether an argument is about somebody else's view: it says so, names what another leads with, or is against that.

    An opposing reason alone is none: models are asked for one in every turn, also in the opening.
    """
    text = " ".join((argument.claim, *argument.reasons, *argument.opposing))
    mine = argument.outcome
    named = any(y != mine and re.search(rf"\b{re.escape(y)}\b", text, re.IGNORECASE) for y in others)
    return named or (argument.against and mine in others) or _OTHERS.search(text) is not None


def _recommends(argument: Argument) -> bool:
    text = "\n".join((argument.claim, *argument.reasons, *argument.opposing))
    orders = any((found := style(line, 0)) is not None and found.imperatives == 1 for line in sentences(text))
    return orders or _STEPS.search(text) is not None


def _mean(values: Iterable[float]) -> float | None:
    numbers = [float(value) for value in values]
    return sum(numbers) / len(numbers) if numbers else None


def _gap(values: Sequence[float]) -> float | None:
    return max(values) - min(values) if len(values) > 1 else None


def table(found: Sequence[Pattern]) -> list[tuple[str, ...]]:
    """Head and rows: a pattern a row, a round a column."""
    digits = {"depth": 1, "depth_gap": 1, "hedging": 1}
    columns = [asdict(pattern) for pattern in found]
    head = ("", *(f"round {column['round']}" for column in columns))

    def cell(name: str, value: float | None) -> str:
        return "–" if value is None else f"{value:.{digits.get(name, 2)}f}"

    return [head, *((said, *(cell(name, column[name]) for column in columns)) for name, said in NAMES.items())]
