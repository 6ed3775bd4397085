"""What a cited text does to a claim as far as numbers, negation and opposites show: it agrees, it contradicts, or nothing can be told.

1. *Numbers* decide where there are any to compare (:mod:`maci.evidence.quantities`).
2. A claim that something *is* is contradicted by a text that says the same thing is not, or says its opposite.
3. A claim that something *is not* is contradicted by a text that speaks of it and denies nothing.

>>> bearing("Pus came from the wound.", "Day 2: wound dry, no pus or discharge.")
-1
>>> bearing("No payment arrived.", "Account search: no credit entry for this payment.")
1
>>> bearing("The wound is infected.", "Dressings arrive on Wednesdays.")
0
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from maci.evidence.lexical import terms
from maci.evidence.negation import polarity, sentences
from maci.evidence.quantities import Sign, agreement, quantities

_NOTHING = re.compile(
    r"\b(?:no|not|none|never|nothing|nowhere|nobody|neither|nor|without|nil|zero|absent|absence|missing|empty|blank|lacks?|lacking|"
    r"skipped|failed|fails|refused|rejected|denied|unable|false|disabled|off|unsigned|unpaid|only|loss|plain|closed|expired|"
    r"cancelled|negative|[a-z]+n't|cannot|(?:un|in|im)(?:paid|signed|listed|registered|tested|locked|complete|valid|available))\b"
    r"|(?<![\d.,:/-])0(?![\d.,:/-]*\d)",
    re.IGNORECASE,
)
"""Words that deny, or say that there is nothing."""
_DENIES = re.compile(
    r"\b(?:no|not|never|nothing|nowhere|nobody|without|lacks?|neither|cannot|(?:failed|unable|refused) to|[a-z]+n't|unpaid|unsigned)\b",
    re.IGNORECASE,
)
_CONCLUDES = re.compile(
    r"[,;]? (?:so|hence|therefore|thus|which|and that|and so|and this|although|but|because|;)\b|[;:](?!\d)"
)
"""Where a conclusion begins: what is said behind it is not what the cited text should say."""
_OPPOSITES = (
    "dropped removed deleted gone vanished/remain remained kept intact unchanged", "open opened/closed shut locked",
    "enabled active activated running ran/disabled inactive stopped", "alive living/dead died", "passed/failed", "empty/full",
    "positive confirmed/negative unconfirmed refuted", "accepted approved agreed granted/rejected refused denied declined",
    "rose increased grew/fell decreased dropped", "still stationary parked standing/moving reversing driving",
    "profit surplus/loss deficit", "guilty/innocent acquitted", "encrypted/plaintext unencrypted",
    "identical equal/different differing unlike", "public/private secret", "safe harmless/dangerous unsafe harmful toxic",
)  # fmt: skip
_OPPOSITE = {
    word: frozenset(other.split())
    for pair in _OPPOSITES
    for one, other in (pair.split("/"), pair.split("/")[::-1])
    for word in one.split()
}


_NO_MORE = re.compile(r"\bno (?:later|further|other|more|additional)\b", re.IGNORECASE)
"""Denies something beyond what was said, not what was said."""


def assertion(claim: str) -> str:
    """The part of a claim that a text can bear out: what stands before its conclusion.

    >>> assertion("The rash came first, so the antibiotic cannot be its cause.")
    'The rash came first'
    """
    first = _CONCLUDES.split(claim, maxsplit=1)[0]
    return first if len(terms(first)) > 1 else claim


@lru_cache(maxsize=8192)
def bearing(claim: str, text: str) -> Sign:
    """1: the text agrees with the claim, −1: it contradicts it, 0: neither can be told."""
    claim, text = assertion(claim), _NO_MORE.sub("", text)
    counted = agreement(claim, text)
    if counted:
        return counted
    words = [word for word in dict.fromkeys(terms(claim)) if len(word) > 2 and not word.isdigit()]
    said = {word: kind for word in words if (kind := polarity(text, word)) is not None}
    if not said:
        return 0
    if _DENIES.search(claim):
        return _of_denial(claim, text, said)
    gone = any(kind == "absent" and polarity(claim, word) != "absent" for word, kind in said.items())
    if gone or _opposed(words, text):
        return -1
    return 0 if any(_hollow(sentence, words) for sentence in sentences(text)) else 1


@lru_cache(maxsize=8192)
def denies(text: str, claim: str, subject: str = "") -> bool:
    """Whether a description of a subject denies everything of a claim that it mentions; it has much to say that the claim leaves out.

    >>> denies("A cold brings a runny nose, without a rash.", "The rash points to a cold.", "cold")
    True
    """
    if _DENIES.search(claim):
        return False
    known = set(terms(subject))
    words = (word for word in dict.fromkeys(terms(claim)) if len(word) > 2 and word not in known)
    said = (kind for word in words if (kind := polarity(text, word)) is not None)
    return next(said, None) == "absent" and all(kind == "absent" for kind in said)


def _of_denial(claim: str, text: str, said: Mapping[str, str]) -> Sign:
    denied = [word for word in said if polarity(claim, word) == "absent"]
    if any(said[word] == "absent" for word in denied):
        return 1
    if _NOTHING.search(text):
        return 1 if _denies_once(text) else -1
    return -1 if denied else 0


def _denies_once(text: str) -> bool:
    """Whether some clause of a text denies something; two denials in one undo each other (*never without*)."""
    zero = any(q.value == 0 and not q.dimension for q in quantities(text))
    return zero or any(len(_NOTHING.findall(part)) % 2 for part in re.split(r"[;,.]", text))


def _hollow(sentence: str, words: list[str]) -> bool:
    """Whether a sentence about the claim denies something else: what that does to the claim cannot be told."""
    here = set(terms(sentence))
    return _DENIES.search(sentence) is not None and any(word in here for word in words)


def _opposed(words: list[str], text: str) -> bool:
    there = set(re.findall(r"[a-z]+", text.casefold()))
    return any(_OPPOSITE.get(word, frozenset()) & there and word not in there for word in words)
