"""The judge panel: who scores what, in which order, and what their scores say together."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from maci.errors import ConfigError
from maci.judge.crit import CritScore

__all__ = ["Slot", "Verdict", "check_families", "shuffled", "slots", "verdict"]


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


def verdict(scores: Sequence[CritScore | None]) -> Verdict:
    """Mean and variance over judges; ``None`` is an abstention.

    >>> verdict([None, None]).mean is None
    True
    """
    given = [score.composite for score in scores if score is not None]
    n = len(given)
    if not n:
        return Verdict(None, None, 0, len(scores))
    mean = sum(given) / n
    if n == 1:
        return Verdict(mean, None, 1, len(scores) - 1)
    squares = 0.0
    for x in given:
        squares += (x - mean) ** 2
    return Verdict(mean, squares / (n - 1), n, len(scores) - n)
