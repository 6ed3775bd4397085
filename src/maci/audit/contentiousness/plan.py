"""Which debates an audit of the dial holds: every topic, seed and level, under the same rules and the same ceiling.

The level is held (`schedule = fixed`), every debate has the same number of rounds (nothing stops it early), and the dispersion gate is
off: the audit asks what agents do, not what the controller lets pass. Language models hold a second set, the placebo: the
same debates, with as many words that say nothing about manner where the stance would stand.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from maci.agents.contentiousness import Words
from maci.case.case import Case, builtin_cases, load_case
from maci.errors import InputError

__all__ = ["LEVELS", "TOPICS", "Plan", "Sitting", "topics_of"]

LEVELS = (0.9, 0.7, 0.5, 0.3, 0.1)
"""The paper's five (SPEC 8)."""
TOPICS = ("dengue", "hepatitis", "vague-fatigue", "vague-cough", "lupus")
"""Built-in cases of five kinds of illness; the paper has five topics too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sitting:
    """One debate of the audit."""

    topic: str
    seed: int
    level: float
    words: Words = "stance"

    @property
    def place(self) -> str:
        """Its folder.

        >>> Sitting(topic="dengue", seed=0, level=0.9).place
        'dengue/seed-0/stance-0.9'
        """
        return f"{self.topic}/seed-{self.seed}/{self.words}-{self.level:g}"

    @property
    def block(self) -> tuple[str, int]:
        """What is the same for all levels: topic and seed."""
        return self.topic, self.seed


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The whole audit."""

    topics: dict[str, Case]
    levels: tuple[float, ...] = LEVELS
    seeds: int = 3
    rounds: int = 3
    placebo: bool = True
    """Whether there is anyone at the table whom words could move."""
    tokens: int | None = None
    """Most tokens of all debates together: each may use the same share."""
    first_seed: int = 0

    def __post_init__(self) -> None:
        if len(self.levels) < 2 or len(set(self.levels)) < len(self.levels):
            raise InputError(f"--levels {_listed(self.levels)}: name at least two different ones, such as 0.9,0.5,0.1")
        if wrong := [level for level in self.levels if not 0 <= level <= 1]:
            raise InputError(f"--levels: {wrong[0]:g} is not between 0 and 1")

    @property
    def sittings(self) -> tuple[Sitting, ...]:
        """Every debate, those of one topic and seed in a row: their openings are the same calls."""
        return tuple(self._all())

    def _all(self) -> Iterator[Sitting]:
        arms: tuple[Words, ...] = ("stance", "placebo") if self.placebo else ("stance",)
        for seed in range(self.first_seed, self.first_seed + self.seeds):
            for topic in self.topics:
                for words in arms:
                    for level in self.levels:
                        yield Sitting(topic=topic, seed=seed, level=level, words=words)

    @property
    def share(self) -> int | None:
        """Most tokens of one debate."""
        return None if self.tokens is None else self.tokens // len(self.sittings)

    def settings(self, sitting: Sitting) -> tuple[str, ...]:
        """What is set for one debate, as ``--set`` takes it."""
        ceiling = () if self.share is None else (f"budget.tokens={self.share}",)
        return (
            "dials.schedule=fixed",
            f"dials.cl_fixed={sitting.level:g}",
            f"stop.min_rounds={self.rounds}",
            f"stop.max_rounds={self.rounds}",
            "dispersion.gate=off",
            f"agents.tone={sitting.words}",
            *ceiling,
        )


def topics_of(names: Sequence[str]) -> dict[str, Case]:
    """Cases by a name that can be a folder's; the built-in topics where none is named.

    >>> list(topics_of(["dengue"]))
    ['dengue']
    """
    found: dict[str, Case] = {}
    built_in = builtin_cases()
    for name in names or TOPICS:
        case = built_in[name] if name in built_in else load_case(name)
        slug = re.sub(r"[^a-z0-9]+", "-", (case.id or case.title or case.question).casefold())[:40].strip("-") or "case"
        if slug in found:
            raise InputError(f"--topics: {name} is called {slug} like one before it: give each case an `id` of its own")
        found[slug] = case
    return found


def _listed(levels: Sequence[float]) -> str:
    return ",".join(f"{level:g}" for level in levels)
