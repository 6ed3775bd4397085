"""One item for one meaning: candidates that ask the same in other words are joined.

Equal terms in any order are the same; else the encoder decides, never across words that make a difference (left and right, hypo- and
hyper-, numbers). Of two, the one whose table was counted stays, and it keeps who asked for both.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from maci.acquisition.plan import Candidate
from maci.evidence.encode import Encoder
from maci.evidence.lexical import terms

__all__ = ["ALIKE", "distinct", "same_subject"]

ALIKE = 0.85
"""Cosine from which two subjects are one."""
_SIDES = (
    {"left", "right"}, {"high", "low"}, {"upper", "lower"}, {"acute", "chronic"}, {"hot", "cold"}, {"gain", "loss"},
    {"more", "less"}, {"increased", "decreased"}, {"raised", "lowered"}, {"wet", "dry"}, {"positive", "negative"},
)  # fmt: skip
_NUMBER = re.compile(r"\d+")


def distinct(candidates: Sequence[Candidate], encoder: Encoder | None) -> tuple[Candidate, ...]:
    """Candidates in their order, each meaning once; those with a counted table before guessed ones."""
    order = sorted(range(len(candidates)), key=lambda i: (candidates[i].assumed, i))
    vectors = encoder.encode([c.subject for c in candidates]) if encoder is not None and candidates else None
    kept: list[int] = []
    joined: dict[int, Candidate] = {}
    for i in order:
        other = next((k for k in kept if _same(candidates[i], candidates[k], _cosine(vectors, i, k))), None)
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
    if cosine is None or cosine < ALIKE:
        return False
    ours, theirs = set(a.casefold().split()), set(b.casefold().split())
    apart = any((ours & side) != (theirs & side) and (ours & side) and (theirs & side) for side in _SIDES)
    return not apart and _NUMBER.findall(a) == _NUMBER.findall(b)


def _same(a: Candidate, b: Candidate, cosine: float | None) -> bool:
    if (a.kind == "retrieval") != (b.kind == "retrieval"):
        return False
    return same_subject(a.subject, b.subject, cosine)


def _cosine(vectors: np.ndarray[tuple[int, ...], np.dtype[np.float32]] | None, i: int, k: int) -> float | None:
    return None if vectors is None else float(vectors[i] @ vectors[k])


def _both(kept: Candidate, other: Candidate) -> Candidate:
    return replace(
        kept,
        origin=tuple(dict.fromkeys((*kept.origin, *other.origin))),
        requests=tuple(dict.fromkeys((*kept.requests, *other.requests))),
        evidence=tuple(dict.fromkeys((*kept.evidence, *other.evidence)))[:6],
    )
