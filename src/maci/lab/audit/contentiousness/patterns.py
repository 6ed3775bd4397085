"""What can be seen in any debate, round by round: the paper's observable patterns, as numbers.

| pattern of the paper | here |
|---|---|
| specificity of outcomes | 1 − H(p_u)/log₂ of the number of outcomes, mean over agents; and how far agents differ in it |
| cross-agent reference | share of arguments that name another agent, or speak of or against another's leading outcome |
| justification depth | words of reasons and opposing reasons an argument; and how far agents differ in it |
| uncertainty handling | hedging words in 100 words |
| recommendations | share of arguments with a sentence that says what should be done, tested or found out next |

They are counted by lists of words, which cannot tell irony, quotation or paraphrase. Compare rounds of one debate, or debates of one
kind; a single figure says little. The paper itself reads its two cases by eye and gives no measure.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from maci.agents.argument import Argument
from maci.lab.audit.contentiousness.style import sentences, spoken, style
from maci.story import Round, Story

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
    against = argument.against and mine in others
    return named or against or _OTHERS.search(text) is not None


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
    rows = [("", *(f"round {pattern.round}" for pattern in found))]
    for name, said in NAMES.items():
        values = [getattr(pattern, name) for pattern in found]
        rows.append((said, *("–" if value is None else f"{value:.{digits.get(name, 2)}f}" for value in values)))
    return rows
