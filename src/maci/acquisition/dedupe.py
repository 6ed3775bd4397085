"""One item for one meaning: candidates that ask the same in other words are joined.

Equal terms in any order are the same; else the encoder decides, never across words that make a difference (left and right, hypo- and
hyper-, numbers). Of two, the one whose table was counted stays, and it keeps who asked for both.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from maci.acquisition.plan import Proposal
from maci.evidence.encode import Encoder
from maci.evidence.lexical import terms

ALIKE = 0.85
"""Cosine from which two subjects are one."""
_SIDES = (
    {"left", "right"}, {"high", "low"}, {"upper", "lower"}, {"acute", "chronic"}, {"hot", "cold"}, {"gain", "loss"},
    {"more", "less"}, {"increased", "decreased"}, {"raised", "lowered"}, {"wet", "dry"}, {"positive", "negative"},
)  # fmt: skip
_NUMBER = re.compile(r"\d+")


def distinct(candidates: Sequence[Proposal], encoder: Encoder | None) -> tuple[Proposal, ...]:
    """Candidates in their order, each meaning once; those with a counted table before guessed ones."""
    order = sorted(range(len(candidates)), key=lambda i: (candidates[i].assumed, i))
    named = [frozenset(terms(c.subject)) for c in candidates]
    near = _near(candidates, encoder)
    kept: list[int] = []
    joined: dict[int, Proposal] = {}

    def same(i: int, k: int) -> bool:
        if (candidates[i].kind == "retrieval") != (candidates[k].kind == "retrieval"):
            return False
        return named[i] == named[k] or (bool(near[i, k]) and not _apart(candidates[i].subject, candidates[k].subject))

    for i in order:
        other = next((k for k in kept if same(i, k)), None)
        if other is None:
            kept.append(i)
            joined[i] = candidates[i]
        else:
            joined[other] = _both(joined[other], candidates[i])
    return tuple(joined[i] for i in sorted(kept))


def same_subject(a: str, b: str, cosine: float | None = None) -> bool:
    """Whether two findings are one.

    >>> same_subject("rash of the skin", "Skin rash"), same_subject("pain in the left arm", "pain in the right arm", 0.99)
    (True, False)
    """
    if set(terms(a)) == set(terms(b)):
        return True
    return cosine is not None and cosine >= ALIKE and not _apart(a, b)


def _apart(a: str, b: str) -> bool:
    """Whether a word or a number makes a difference, however near two subjects are."""
    ours, theirs = set(a.casefold().split()), set(b.casefold().split())
    sides = any((ours & side) != (theirs & side) and (ours & side) and (theirs & side) for side in _SIDES)
    return sides or _NUMBER.findall(a) != _NUMBER.findall(b)


def _near(candidates: Sequence[Proposal], encoder: Encoder | None) -> NDArray[np.bool_]:
    """Which pairs the encoder takes for one; none without an encoder."""
    if encoder is None or not candidates:
        return np.zeros((len(candidates), len(candidates)), dtype=bool)
    vectors = encoder.encode([c.subject for c in candidates])
    return np.asarray(vectors @ vectors.T >= ALIKE, dtype=bool)


def _both(kept: Proposal, other: Proposal) -> Proposal:
    return replace(
        kept,
        origin=tuple(dict.fromkeys((*kept.origin, *other.origin))),
        requests=tuple(dict.fromkeys((*kept.requests, *other.requests))),
        evidence=tuple(dict.fromkeys((*kept.evidence, *other.evidence)))[:6],
    )
