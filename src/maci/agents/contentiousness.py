"""The behaviour dial in words (SPEC 8, D16): how to speak at a given contentiousness.

A wording for every step of 0.1 between 0.1 and 0.9; a level between two steps takes the nearer one's. Tone governs manner, never the
belief. Each has a placebo beside it: as many words that say nothing about manner, for `maci audit contentiousness`, which must find
that these do not move a model.
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
        "Be highly confrontational. Attack the other analysts' claims directly, reject what does not stand up, name its risks and "
        "failure modes, and speak in blunt, polarised declaratives.",
        "{mine} is what this evidence shows.",
        "{other} does not stand up: the texts about {mine} fit this case better.",
        "There is evidence for {other}, and it must be answered.",
        "Fill in the form below. Write the claim first, as one sentence, then its reasons, then the numbers of the pieces of evidence "
        "on which they rest.",
    ),
    Stance(
        0.8,
        "Be strongly confrontational. Challenge the weakest link of each opposing claim, press the risks it overlooks, and yield only "
        "to evidence you cannot answer.",
        "{mine} is what the evidence supports, and nothing shown so far answers it.",
        "The case for {other} is weak: {mine} fits better.",
        "There is evidence for {other} that {mine} has yet to answer.",
        "Fill in the form below. Write the claim first, then its reasons in order, then the numbers of the pieces of evidence "
        "cited there.",
    ),
    Stance(
        0.7,
        "Be confrontational but open to counter-evidence. Contest the other analysts' claims, and accept a point only conditionally: "
        "say under which condition.",
        "{mine} is the stronger reading unless better evidence is shown.",
        "{other} is the weaker reading; it would need evidence that {mine} does not explain.",
        "{other} would be acceptable if its evidence were stronger.",
        "Fill in the form below. Write the claim first, then the reasons, and last the numbers of the pieces of evidence.",
    ),
    Stance(
        0.6,
        "Be critical but fair. Question the opposing claims before you accept them, and say openly which of their points hold.",
        "{mine} is still the better supported reading.",
        "There are fair points for {other}, but {mine} is better supported.",
        "Some of the points for {other} do hold.",
        "Fill in the form below. Write the claim first, then its reasons, then the numbers of the cited evidence pieces.",
    ),
    Stance(
        0.5,
        "Be balanced and dialectical. Give opposing claims equal weight, and look for the test or finding that would tell them apart.",
        "On balance the evidence favours {mine}.",
        "Between {mine} and {other} the evidence leans to {mine}.",
        "On the other hand, some evidence favours {other}.",
        "Fill in the form below. The claim comes first, the reasons come second, and the numbers of the pieces come last.",
    ),
    Stance(
        0.4,
        "Be constructive. Start from what both sides share, examine the rest, and object where it changes the conclusion.",
        "What both sides share points to {mine}.",
        "{mine} and {other} share much; where they differ, {mine} fits better.",
        "Part of what speaks for {other} should be kept in view.",
        "Fill in the form below. Give the claim, then its reasons, then the numbers of the cited pieces.",
    ),
    Stance(
        0.3,
        "Be mostly agreeable. Agree with the others' well-grounded points and support them, add your caveats, and verify "
        "what is in doubt.",
        "{mine} seems right, with the caveats below.",
        "{other} remains possible, though {mine} is better supported.",
        "In fairness to {other}, part of the case fits it.",
        "Fill in the form below. The claim is one sentence, each reason is one sentence, and pieces are named by number.",
    ),
    Stance(
        0.2,
        "Be agreeable and supportive. Build on the other analysts' points together, add only the caveats that matter, and help settle "
        "the rest.",
        "Building on what has been said, {mine} fits best.",
        "{other} adds a caveat to {mine}, and little more.",
        "What speaks for {other} can be noted as a caveat.",
        "Fill in the form below. Each field has its own place: the claim at the top, the reasons beneath, the numbers last.",
    ),
    Stance(
        0.1,
        "Be cooperative. Bring all views together into one shared synthesis, sum up the decisive evidence you agree on, and set out "
        "the next steps.",
        "The evidence brings us together on {mine}.",
        "What remains of {other} is best checked after {mine}.",
        "We should note what speaks for {other} before closing.",
        "Fill in the form below. Use one line for the claim, one line for each reason, and one line for all the pieces' numbers.",
    ),
)


def stance(cl: float) -> Stance:
    """The stance nearest to a contentiousness level.

    >>> stance(0.66).cl, stance(0.0).cl
    (0.7, 0.1)
    """
    return min(STANCES, key=lambda s: (round(abs(s.cl - cl), 9), s.cl))


def tone(cl: float, words: Words = "stance") -> str:
    """What a model is told about its manner: the words of its stance, or the placebo's.

    >>> tone(0.5)
    'Be balanced and dialectical. Give opposing claims equal weight, and look for the test or finding that would tell them apart.'
    >>> tone(0.5, "placebo")
    'Fill in the form below. The claim comes first, the reasons come second, and the numbers of the pieces come last.'
    """
    return stance(cl).tone if words == "stance" else stance(cl).placebo
