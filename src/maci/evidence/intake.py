"""What readers take in of a text: what it says is there, and apart from it what it says is not there (*no rash*, *0 entries*).

Readers match words. Without this the answer "no joint pain" would speak for every disease of painful joints. The scope of a denial is
found by :mod:`maci.evidence.negation`; it is kept short here, for a word wrongly taken out is a finding lost.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from maci.evidence import cues
from maci.evidence.lexical import terms
from maci.evidence.negation import TOKEN, Reach, Scopes, scopes, sentences

_VERBAL = re.compile(
    r"not|never|[a-z]+n't|cannot|could not|lack\w*(?: of)?|fail\w*(?: to)?|unable to|stopped|ceased|no longer|instead of|"
    r"rather than|declin\w+|"
    r"refuse\w*|unlikely.*|(?:.* )?lost|(?:almost|nearly|narrowly|far from|anything but|.* to|.* from)|quit|"
    r"(?:miss|avoid|escap|forg)\w+|"
    r"g[ai]ven? up|discontinued|withdrew|cancel\w+|revoked|rescinded|scrapped|abandoned|"
    r".*\b(?:delet|remov|stop|end|cur|eradicat|eliminat)\w*|"
    r"prohibits|forbids|bans|exclud\w+|(?:nobody|no one|nothing|no-one).*|"
    r".*(?:normal|unremarkable|unaffected)|"
    r"(?:do|does|did|has|have)\b.* (?:go off|ring|start|work|arrive|sound|come|trigger|respond)"
)
_LISTS = re.compile(r"\b(?:or|nor|denie[sd]|denying|negative for|evidence of|signs? of)\b")
"""With these a denial goes through a whole list; else it ends at the first comma, except at the beginning of a sentence."""
_EMPTY = re.compile(r"(?:[,;:]\s*)+(?=[.;]|$)|^\W+$|(?<=,)(?:\s*,)+")
_HAVING = re.compile(r" (?:have|had|having|any|report|complain of|experience|show|suffer from)\b")
_FACULTY = re.compile(
    r" (?:\w+ ){0,2}(?:appetite|energy|smell|taste|sleep|strength|interest|pleasure|feeling|sensation|pulse|breath|urine|"
    r"wish|desire|memory|"
    r"control|relief|hunger)\b| \w+ing\b"
)
"""What everybody has: to be without it is a finding; and what is done, not there."""
_FINITE = re.compile(
    r"has|had|have|is|was|are|were|gets?|got|came|comes|becomes?|became|feels?|felt|developed|develops|noticed|notices?|appeared|appears|"
    r"began|begins|started|starts|reports|reported|complains|shows|showed|remains|brings|causes|followed|follows"
)
_SEEING = re.compile(r"seen|found|noted|noticed|detected|observed|reported|recorded|present|visible|evident")
"""Behind what is denied, how it would have been known: *no parasites seen*."""
_LONG = 5
"""Words of a phrase at most: what is further from the cue than that is no longer denied."""
_PARTS = re.compile(r"[,;:]| (?:and|but) ")
"""Where a clause of a sentence begins, roughly."""
_BETWEEN = re.compile(r"[,;:.()]|or|nor|and")
_PLACE = re.compile(r"in|at|on|for|to|with|since|from|after|before|during|by|over|when|while|than")
"""Where a phrase's details begin."""


class Intake(NamedTuple):
    """What a reader takes in of a text."""

    text: str
    """What it says is there, or leaves open."""
    denied: tuple[str, ...]
    """What it says is not there, phrase by phrase."""


class Affirmed(NamedTuple):
    """What is left of a text without its denials, whichever way they are read."""

    sentences: tuple[str, ...]
    denied: float
    """The share of its words that went."""
    clauses: tuple[str, ...] = ()
    """Its clauses that neither deny nor stand in a sentence that says that something is in order."""

    def doubtless(self) -> str:
        """What is left without the sentences that say that something is in order, too."""
        return " ".join(each for each in self.sentences if not cues.IN_ORDER.search(each.lower()))


def affirmed(text: str) -> Affirmed:
    """A text without every clause that holds a denial; a sentence of which half denies goes as a whole.

    >>> affirmed("The lamp is not broken, the fuse is not blown and the switch clicks. High fever, chills, no rash.").sentences
    ('High fever, chills',)
    """
    kept, plain, words = list[str](), list[str](), 0
    for sentence in sentences(text):
        found, parts = scopes(sentence), [0, *(match.start() for match in _PARTS.finditer(sentence)), len(sentence)]
        denials = [
            reach.cue[0]
            for reach in found.reaches
            if reach.kind == "not" and not cues.ABILITY.match(found.text, *reach.cue)
        ]
        clauses = [(start, end) for start, end in pairwise(parts) if terms(sentence[start:end])]
        denying = [any(start <= where < end for where in denials) for start, end in clauses]
        words += len(terms(sentence))
        left = [sentence[slice(*clause)] for clause, no in zip(clauses, denying, strict=True) if not no]
        plain += left if not cues.IN_ORDER.search(sentence.lower()) else []
        if not any(denying):
            kept.append(sentence)
        elif sum(denying) < len(clauses) / 2:
            kept.append("".join(left))
    rest = sum(len(terms(sentence)) for sentence in kept)
    return Affirmed(tuple(kept), 1 - rest / words if words else 0.0, tuple(plain))


def firm(text: str) -> str:
    """A text without what it supposes, says of other people, or takes back.

    >>> firm("Her sister had fever and a rash. She has a hot toe. If there were a cough, it would be a cold.")
    'She has a hot toe.'
    """
    kept = list[str]()
    for sentence in sentences(text):
        lower = sentence.lower()
        if (back := cues.TAKEN_BACK.search(lower)) is not None:
            if not terms(sentence[: back.start()]):  # it speaks of the sentence before
                kept = kept[:-1]
            continue
        left = " ".join(cues.ELSEWHERE.sub(" ", lower).split())
        kept += [] if not terms(left) else [sentence if left == lower else left]
    return " ".join(kept)


@lru_cache(maxsize=8192)
def taken_in(text: str) -> Intake:
    """A text without what it denies, and what it denies. What is not *done* is no denial here (*cannot sleep* is a complaint).

    >>> taken_in("High fever, no rash or joint pain. Cannot sleep, no appetite.")
    Intake(text='High fever. Cannot sleep, no appetite.', denied=('rash', 'joint pain'))
    """
    kept, denied = [], dict[str, None]()
    for sentence in sentences(text):
        clauses = scopes(sentence)
        gone = [reach for reach in clauses.reaches if reach.kind == "not" and _plain(clauses.text, reach)]
        blank = set[int]()
        for reach in gone:
            phrases, spans = _denied(clauses, reach)
            denied |= phrases
            for start, end in (reach.cue, *spans) if phrases else ():
                blank.update(range(start, end))
        left = "".join(" " if i in blank else letter for i, letter in enumerate(sentence))
        if not blank:
            kept.append(sentence)
        elif terms(left):
            kept.append(_EMPTY.sub("", " ".join(left.split())))
    return Intake(" ".join(kept) if denied else text, tuple(denied))


def _denied(clauses: Scopes, reach: Reach) -> tuple[dict[str, None], list[tuple[int, int]]]:
    """The phrases that a cue denies, and where they stand."""
    listed = reach.cue[0] == 0 or _LISTS.search(clauses.text, reach.cue[0], reach.end) is not None
    ahead = reach.cue[0] < reach.start or reach.cue[1] <= reach.start
    found, spans, phrase, whole = dict[str, None](), list[tuple[int, int]](), list[str](), True
    for match in TOKEN.finditer(clauses.text, reach.start, reach.end):
        word = match[0]
        if _BETWEEN.fullmatch(word):
            spans += [match.span()] if word.isalpha() else []
            found, phrase, whole = found | _phrase(phrase), [], True
            if ahead and not listed and word == ",":
                break
            continue
        if clauses.at(match.start()) != "absent":
            continue
        if ahead and ((_FINITE.fullmatch(word) and phrase) or len(phrase) >= _LONG):
            break
        whole = whole and not _PLACE.fullmatch(word)
        if whole:
            phrase.append(word)
        spans.append(match.span())
    return found | _phrase(phrase), spans


def _phrase(words: list[str]) -> dict[str, None]:
    words = words[next((i for i, w in enumerate(words) if terms(w) and not _FINITE.fullmatch(w)), len(words)) :]
    while len(words) > 1 and _SEEING.fullmatch(words[-1]):
        words = words[:-1]
    return {" ".join(words): None} if words else {}


def _plain(text: str, reach: Reach) -> bool:
    """Whether a cue says that something is not there, not that something is not done: *no rash*, but not *cannot sleep*."""
    cue, behind = text[slice(*reach.cue)], reach.cue[1]
    if cues.LEFT_OUT.match(text, reach.cue[0]) or (_VERBAL.fullmatch(cue) and not _HAVING.match(text, behind)):
        return False
    return reach.start < behind or not _FACULTY.match(text, behind)
