"""How answers change over a debate: flips from one belief to another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from maci.calibration.stats import Interval, wilson
from maci.errors import InputError
from maci.lab.study.metrics import Scored


@dataclass(frozen=True, slots=True, kw_only=True)
class Flips:
    """How answers to the same cases changed from one belief to another."""

    correct_to_wrong: int
    wrong_to_correct: int
    stayed_correct: int
    stayed_wrong: int

    @property
    def n(self) -> int:
        """Cases."""
        return self.correct_to_wrong + self.wrong_to_correct + self.stayed_correct + self.stayed_wrong

    @property
    def harmed(self) -> Interval:
        """Share of the cases right before that are wrong after; Wilson."""
        return wilson(self.correct_to_wrong, self.correct_to_wrong + self.stayed_correct)

    @property
    def mended(self) -> Interval:
        """Share of the cases wrong before that are right after; Wilson."""
        return wilson(self.wrong_to_correct, self.wrong_to_correct + self.stayed_wrong)


def flips(before: Sequence[Scored], after: Sequence[Scored]) -> Flips:
    """The 2 × 2 table of correct before and after, over cases with a gold outcome: what McNemar's test (1947) looks at.

    >>> from maci.lab.study.metrics import score
    >>> right, wrong = score({"a": 1.0}, "a"), score({"b": 1.0}, "a")
    >>> found = flips([right, right, wrong], [right, wrong, wrong])
    >>> found.correct_to_wrong, found.wrong_to_correct, found.harmed.value, found.mended.value
    (1, 0, 0.5, 0.0)
    """
    if len(before) != len(after):
        raise InputError(f"before has {len(before)} cases and after {len(after)}: give the same cases, in order")
    pairs = [
        (x.correct, y.correct)
        for x, y in zip(before, after, strict=True)
        if x.correct is not None and y.correct is not None
    ]
    return Flips(
        correct_to_wrong=pairs.count((True, False)),
        wrong_to_correct=pairs.count((False, True)),
        stayed_correct=pairs.count((True, True)),
        stayed_wrong=pairs.count((False, False)),
    )
