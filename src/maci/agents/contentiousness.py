"""The behaviour dial in words (SPEC 8): how to speak at a given contentiousness.

Five anchors; a level between two takes the wording of the nearer one. Each has a placebo beside it: as many words that say nothing
about manner, for `maci audit contentiousness`, which must find that these do not move a model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Words: TypeAlias = Literal["stance", "placebo"]
"""In which words a model is told its level."""


@dataclass(frozen=True, slots=True)
class Stance:
    """A tone, as an instruction for models and as sentence frames for readers."""

    cl: float
    tone: str
    support: str
    counter: str
    concede: str
    placebo: str
    """As many words as ``tone`` has, about the form of the answer alone."""


STANCES: tuple[Stance, ...] = (
    Stance(
        0.9,
        "Be highly confrontational: challenge the others directly, name risks and ways to fail, speak in plain declaratives.",
        "{mine} is what this evidence shows.",
        "{other} does not stand up: {mine} fits and {other} does not.",
        "There is evidence for {other}, and it must be answered.",
        "Fill in the form below: first the claim, then its reasons, then the pieces they rest on.",
    ),
    Stance(
        0.7,
        "Be confrontational but open to counter-evidence: accept a point only under conditions, and say which.",
        "{mine} is the stronger reading unless better evidence is shown.",
        "{other} is the weaker reading; it would need evidence that {mine} does not explain.",
        "{other} would be acceptable if its evidence were stronger.",
        "Fill in the form: first the claim, then its reasons, then the pieces they cite.",
    ),
    Stance(
        0.5,
        "Be balanced: weigh both sides and look for what would tell them apart.",
        "On balance the evidence favours {mine}.",
        "Between {mine} and {other} the evidence leans to {mine}.",
        "On the other hand, some evidence favours {other}.",
        "Fill in the form: the claim, then its reasons, then the pieces cited.",
    ),
    Stance(
        0.3,
        "Be mostly agreeable: support with caveats, and verify.",
        "{mine} seems right, with the caveats below.",
        "{other} remains possible, though {mine} is better supported.",
        "In fairness to {other}, part of the case fits it.",
        "Fill in the form: claim, reasons, pieces cited.",
    ),
    Stance(
        0.1,
        "Be cooperative: bring the views together, sum up the decisive evidence and the next steps.",
        "The evidence brings us together on {mine}.",
        "What remains of {other} is best checked after {mine}.",
        "We should note what speaks for {other} before closing.",
        "Fill in the form: claim first, reasons next, and last the pieces that they cite.",
    ),
)


def stance(cl: float) -> Stance:
    """The stance nearest to a contentiousness level.

    >>> stance(0.65).cl, stance(0.0).cl
    (0.7, 0.1)
    """
    return min(STANCES, key=lambda s: (abs(s.cl - cl), s.cl))


def tone(cl: float, words: Words = "stance") -> str:
    """What a model is told about its manner: the words of its stance, or the placebo's.

    >>> tone(0.3)
    'Be mostly agreeable: support with caveats, and verify.'
    >>> tone(0.3, "placebo")
    'Fill in the form: claim, reasons, pieces cited.'
    """
    return stance(cl).tone if words == "stance" else stance(cl).placebo
