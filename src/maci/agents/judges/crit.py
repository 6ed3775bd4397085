r"""CRIT: what a judge says of one argument, and what the judges of a panel say together.

.. math:: \Gamma = \sum_c w_c\,\mathrm{score}_c,\qquad w_c = \tfrac13

over evidence support, logical coherence and query relevance.

>>> round(CritScore(evidence=0.90, logic=0.85, relevance=1.00).composite, 2)
0.92

The panel: who scores what (:func:`slots`), in which order (:func:`shuffled`), and the :class:`Verdict` of all scores.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from maci.agents.anchor import Question
from maci.agents.argument import Argument
from maci.errors import ConfigError, InputError
from maci.evidence.span import Span


class JudgeAbstained(Exception):
    """A judge that cannot score this argument says so; it never becomes a number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CritScore:
    """One judge's score of one argument."""

    evidence: float
    logic: float
    relevance: float
    links: tuple[float, ...] = ()
    """γ_r: quality of each reason → claim link."""
    justification: str = ""
    raw: str | None = None
    """A model's reply, word for word."""
    prompt: str | None = None
    """Hash of the prompt that led to it."""

    def __post_init__(self) -> None:
        for name in ("evidence", "logic", "relevance"):
            if not 0 <= getattr(self, name) <= 1:  # also refuses nan
                raise InputError(f"CRIT {name} is {getattr(self, name)}, must be between 0 and 1")
        for link in self.links:
            if not 0 <= link <= 1:
                raise InputError(f"CRIT link quality is {link}, must be between 0 and 1")

    @property
    def composite(self) -> float:
        """The mean of the three criteria."""
        return (self.evidence + self.logic + self.relevance) / 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreRequest:
    """All a judge sees: the argument, its cited spans, a minimal task. No agent, no opponent, no belief."""

    question: Question
    argument: Argument
    spans: tuple[Span, ...]
    """The verified ones."""
    unverified: int = 0
    """How many citations named no span or misquoted it."""
    sample: int = 0
    """Which of several scores asked of the same judge this is."""
    seed: int = 0


_ENOUGH, _FLOOR = 3, 0.01
"""Scores a judge must have given before it is weighed; what keeps a judge that always agrees from deciding alone."""


@dataclass(frozen=True, slots=True)
class Slot:
    """One of the K scores every argument gets: a judge, and which of its samples."""

    id: str
    """``judge#sample``."""
    judge: str
    sample: int


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the panel says of one argument."""

    mean: float | None
    """CRIT_i; undefined where every judge abstained."""
    variance: float | None
    """Unbiased variance across scores; undefined for fewer than two."""
    scores: int
    abstained: int


def slots(judges: Sequence[str], k: int) -> tuple[Slot, ...]:
    """K slots filled round-robin: K judges, or fewer sampled more than once.

    >>> [slot.id for slot in slots(["x", "y"], 3)]
    ['x#0', 'y#0', 'x#1']
    """
    filled = [(judges[i % len(judges)], i // len(judges)) for i in range(max(k, len(judges)))]
    return tuple(Slot(f"{judge}#{sample}", judge, sample) for judge, sample in filled)


def check_families(debaters: Sequence[tuple[str, str]], judges: Sequence[tuple[str, str]], allowed: bool) -> list[str]:
    """Refuse judges of a debater's family; where that is allowed, return the warnings to record.

    Each item is (name, family).
    """
    families = {family: name for name, family in debaters}
    clashes = [(judge, family) for judge, family in judges if family in families]
    if clashes and not allowed:
        judge, family = clashes[0]
        raise ConfigError(
            f"judge {judge!r} is of the family {family!r}, and so is debater {families[family]!r}: choose a judge of "
            "another family, or allow it with --set crit.same_family=true (it will be recorded)"
        )
    return [f"judge {judge} shares the family {family!r} with debater {families[family]}" for judge, family in clashes]


def shuffled(items: Sequence[str], *, seed: int, round: int, slot: str) -> list[str]:
    """The order in which a judge meets the arguments of a round: its own, the same in every replay, and independent of
    which of them have arrived yet.
    """
    return sorted(items, key=lambda item: _lot(f"{seed}/{round}/{slot}/{item}"))


@lru_cache(maxsize=4096)
def _lot(ticket: str) -> bytes:
    return hashlib.sha256(ticket.encode()).digest()


def disagreements(scores: Mapping[str, CritScore | None]) -> dict[str, float]:
    """Judge slot → squared distance of its score from the mean of the others', where there are others.

    >>> flat = lambda x: CritScore(evidence=x, logic=x, relevance=x)
    >>> found = disagreements({"a#0": flat(0.5), "b#0": flat(0.5), "c#0": flat(0.8)})
    >>> {slot: round(d, 4) for slot, d in found.items()}
    {'a#0': 0.0225, 'b#0': 0.0225, 'c#0': 0.09}
    """
    given = {slot: score.composite for slot, score in scores.items() if score is not None}
    if len(given) < 2:
        return {}
    total = sum(given.values())
    return {slot: (x - (total - x) / (len(given) - 1)) ** 2 for slot, x in given.items()}


def reliability_weights(slots: Sequence[Slot], past: Mapping[str, tuple[int, float]]) -> list[float] | None:
    """A weight for each slot from how well its judge has agreed with the others so far: 1 / (mean squared distance + 0.01).

    ``past`` is judge → (scores, sum of squared distances). ``None`` (equal weights) until every judge has three scores.

    >>> two = slots(["a", "b"], 2)
    >>> reliability_weights(two, {"a": (4, 0.04), "b": (4, 0.36)})
    [50.0, 10.0]
    """
    if any(past.get(slot.judge, (0, 0.0))[0] < _ENOUGH for slot in slots):
        return None
    return [1 / (past[slot.judge][1] / past[slot.judge][0] + _FLOOR) for slot in slots]


def verdict(scores: Sequence[CritScore | None], weights: Sequence[float] | None = None) -> Verdict:
    """Mean (weighted where weights are given) and variance over scores; ``None`` is an abstention.

    >>> verdict([None, None]).mean is None
    True
    """
    given = [score.composite for score in scores if score is not None]
    n = len(given)
    if not n:
        return Verdict(None, None, 0, len(scores))
    mean, squares = sum(given) / n, 0.0
    for x in given:
        squares += (x - mean) ** 2
    if weights is not None:
        counted = [w for score, w in zip(scores, weights, strict=True) if score is not None]
        mean = sum(w * x for w, x in zip(counted, given, strict=True)) / sum(counted)
    return Verdict(mean, squares / (n - 1) if n > 1 else None, n, len(scores) - n)
