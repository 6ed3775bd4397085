"""What a text says is there, what it says is not, and what it leaves open: negation by scope, after NegEx (Chapman et al., 2001).

The words are in :mod:`maci.evidence.cues`; here are the rules.

1. A sentence is cut into clauses: at words such as *but*, and where a comma or an *and* begins a new statement.
2. A *cue* speaks for words of its clause: those behind it (*no*, *denies*, *without*), those before it (*absent*, *was not seen*), or
   the whole clause (*may*, *was not tested*). Two denials of the same word undo each other (*not without pain*).
3. *Not* is read together with the class of the word behind it: not + *seen* denies, not + *resolved* affirms, not + *tested* or
   *ruled out* leaves open. Phrases that only look like a denial (*no change*, *not only*) say nothing. Without a word behind it (*the
   hot water does not*), it denies what the clause before affirms.
4. A feature that names the word of a cue is about that word: *not tested* leaves *malaria* open and denies *test for malaria*, *no
   change in weight* leaves *weight* alone and denies *change in weight*.

>>> polarity("No rash or fever, but has a cough.", "fever"), polarity("No rash or fever, but has a cough.", "cough")
('absent', 'present')
>>> polarity("Pneumonia cannot be excluded.", "pneumonia"), polarity("He denies joint pain.", "headache")
('unknown', None)
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal, NamedTuple

from maci.evidence import cues
from maci.evidence.lexical import akin, speaks_of, terms

Polarity = Literal["present", "absent", "unknown"]

TOKEN = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+(?:['\u2019][^\W\d_]+)?|[^\w\s]")
_SENTENCE = re.compile(r"(?<=[.!?])(?!(?<=\b[nN]o\.)\s+\d)\s+(?=[^a-z])|\n+")
DENIES = re.compile(
    r"\b(?:no|not|never|nothing|nowhere|nobody|without|lacks?|neither|cannot|(?:failed|unable|refused) to|[a-z]+n't|unpaid|unsigned)\b",
    re.IGNORECASE,
)
_NOW = re.compile(r"\b(?:now|currently|today|at present|at the moment|any ?more|still)\b")
_PAST = re.compile(
    r"\b(?:used to|formerly|previously|in the past|in childhood|as a child|years ago|"
    r"(?:none|not|never) (?:since|again)|before but not)\b"
)
_IT = re.compile(r"\W*(?:(?:and|but|nor|or) )?(?:(?:has|is|was|did|does|have|are|were) )?(?:it|they)\b")
_OWN = re.compile(r"\b(?:in|of|by) the patient\b")
_NOT_OWN = re.compile(
    r"\bnot (?:in )?(?:the|this|our) patient\b|\bpatient(?: (?:him|her)self)?[^.;,]* (?:never|no|denies|denied|not(?! (?:yet )?been))\b"
)
_RELATIVE = re.compile(rf"\b(?:{cues.KIN})\b")
_PREPOSITION = re.compile(r"\b(?:in|of|at|on|since|from|to|for|after|before|with|by|now|against|during|within|under)\b")
_LIGHT = re.compile(r"^(?:mention|presence|signs?|evidence|history|use|occurrence|existence) of ")
_DENYING = re.compile(r"^(?:no|without|absence of|lack of|not) (?=\w)")
_ANSWER = re.compile(r"(?:(no|none|negative|denied)|(?:yes|positive))(?=\W*$|,)", re.IGNORECASE)
_ORDER: tuple[Polarity, ...] = ("present", "absent", "unknown")
_GRAVEST: tuple[Polarity, ...] = ("unknown", "absent", "present")


class Reach(NamedTuple):
    """Where a cue stands, and what it speaks for."""

    start: int
    end: int
    kind: cues.Kind
    cue: tuple[int, int]


class Scopes(NamedTuple):
    """A sentence in lower case, cut where scopes end, with what each cue reaches."""

    text: str
    cuts: tuple[int, ...]
    reaches: tuple[Reach, ...]

    def around(self, where: int) -> tuple[int, int]:
        """The clause that a place lies in."""
        return max(c for c in self.cuts if c <= where), min(c for c in self.cuts if c > where)

    def at(self, where: int) -> Polarity:
        """What is said of the word at a place."""
        over = [reach.kind for reach in self.reaches if reach.start <= where < reach.end]
        if "open" in over:
            return "unknown"
        return "absent" if over.count("not") % 2 else "present"

    def named_by(self, wanted: list[str]) -> Scopes:
        """The scopes for a feature that names the word of a cue: that cue denies if it has a *not*, and says nothing otherwise."""
        reaches = list[Reach]()
        for reach in self.reaches:
            cue = self.text[slice(*reach.cue)]
            if not any(akin(word, found) for found in terms(cue) for word in wanted):
                reaches.append(reach)
            elif (
                negated := re.match(rf"(?:{cues.BE} )?(?:{cues.NOT}|no|nor|neither|without|zero)\b", cue)
            ) is not None:
                start, end = self.around(reach.cue[0])
                reaches.append(
                    Reach(start if reach.start < reach.cue[0] else reach.cue[0] + negated.end(), end, "not", reach.cue)
                )
        return self._replace(reaches=tuple(reaches))


def sentences(text: str) -> list[str]:
    """The sentences of a text, lines of a log and of a list apart; a question stays with its answer, yes or no."""
    parts = [part.strip() for whole in _SENTENCE.split(text) for part in _pieces(whole) if part.strip()]
    joined: list[str] = []
    for part in parts:
        if joined and joined[-1].endswith("?") and (answer := _ANSWER.match(part)):
            more = part[answer.end() :].rstrip() if part[answer.end() : answer.end() + 1] == "," else ""
            joined[-1] = f"{joined[-1][:-1]}: {'no' if answer[1] else 'yes'}{more}"
        else:
            joined.append(part)
    return joined


_LONGEST = 1000
"""Characters of a sentence: what a cue reaches lies nearer, and the time it takes grows with the square of the length."""


def _pieces(sentence: str) -> Iterator[str]:
    """A sentence, or a text without full stops in pieces, cut between words."""
    while len(sentence) > _LONGEST:
        cut = sentence.rfind(" ", 1, _LONGEST) + 1 or _LONGEST
        yield sentence[:cut]
        sentence = sentence[cut:]
    yield sentence


@lru_cache(maxsize=8192)
def scopes(sentence: str) -> Scopes:
    """The scopes of a sentence's cues."""
    text = sentence.lower().replace("\u2019", "'")
    cuts = tuple(sorted({0, len(text) + 1, *_cuts(text)}))
    taken: list[tuple[int, int]] = []
    found = [*_exceptions(text, taken), *_contrary(text, taken)]
    for match in cues.VALUE.finditer(text):
        taken.append(match.span())
        start = max(c for c in cuts if c <= match.start())
        start = max(start, _last_item(text, start, match.start())) if match["count"] or match["mark"] else start
        found.append(Reach(start, match.start(), "open" if match["open"] else "not", match.span()))
    for kind, side, pattern in cues.CUES:
        for match in pattern.finditer(text):
            if any(match.start() < end and start < match.end() for start, end in taken):
                continue
            taken.append(match.span())
            if kind == "nothing":  # it reaches no word but its own
                found.append(Reach(match.end(), match.end(), kind, match.span()))
                continue
            start, end = max(c for c in cuts if c <= match.start()), min(c for c in cuts if c >= match.end())
            if kind == "open" and text[end - 1 : end] == ":":  # a heading
                end = min((c for c in cuts if c > end), default=end)
            if side == "behind":
                start = match.end()
            elif start and cues.ELLIPSIS.fullmatch(text, start, match.start()):
                start = max(c for c in cuts if c < start)
            elif side == "before" and not re.match(cues.BE, match[0]):
                start = max(start, _last_item(text, start, match.start()))
            if match[0].endswith("none"):  # "none found" speaks for both sides, "none in the kitchen" for the kitchen
                found.append(Reach(match.end(), end, kind, match.span()))
                if cues.PLACE.match(text, match.end()):
                    continue
            found.append(Reach(start, match.start() if side == "before" else end, kind, match.span()))
    found += _left_out(text, cuts, found)
    found = [
        reach._replace(end=min([reach.end, *_next_item(text, reach, found)]))
        for reach in found
        if not cues.HEDGE.match(text, *reach.cue)
        or not any(r.kind == "not" and r.start <= reach.cue[0] < r.end <= r.cue[0] for r in found)
    ]
    if cues.WHOLE.match(text):
        found.append(Reach(0, len(text), "open", (0, 0)))
    return Scopes(text, cuts, tuple(found))


def _left_out(text: str, cuts: tuple[int, ...], found: list[Reach]) -> Iterator[Reach]:
    """*The heating works, the hot water does not*: a verb left out is that of the clause before, unless a denial stands there."""
    for match in cues.LEFT_OUT.finditer(text):
        start = max(c for c in cuts if c <= match.start())
        denied = any(reach.kind == "not" and reach.cue[0] < start for reach in found)
        hedged = any(reach.kind == "open" and reach.start <= match.start() < reach.end for reach in found)
        if start and not denied and not hedged:
            yield Reach(start, match.start(), "not", match.span())


def _next_item(text: str, reach: Reach, found: list[Reach]) -> Iterator[int]:
    """Where the next denial of a list begins: *no weapon and heard no shots* are two denials, not one undone by the other."""
    for other in found:
        begin = min(other.cue[0], other.start)
        listed = reach.cue[1] <= reach.start < begin < reach.end and reach.kind == other.kind
        if listed and re.search(r",|\b(?:and|or)\b", text[reach.start : begin]):
            yield begin


def _last_item(text: str, start: int, end: int) -> int:
    """Where a bare *absent* stops looking back: at the last comma, unless that begins the last item of a list."""
    comma = text.rfind(",", start, end)
    return start if re.search(r"\b(?:and|or|nor)\b", text[comma + 1 : end]) else comma + 1


def _cuts(text: str) -> Iterator[int]:
    if (condition := cues.CONDITION.match(text)) is not None:
        yield condition.end()
    yield from (match.start() for match in cues.ENDS.finditer(text))
    yield from (match.start() if match[0][0] in ".;!?([" else match.end() for match in cues.STOPS.finditer(text))
    for match in cues.LIST.finditer(
        text
    ):  # a comma ends a scope where a statement of its own follows, not within a list
        after = text[match.end() :]
        clause = re.split(r"[,;.]", after, maxsplit=1)[0]
        coordinated = re.search(r"\b(?:or|nor|and)\b", match[0]) is not None
        leading = "," not in text[: match.start()] and cues.LEADING.match(text)
        stated = cues.STATED.search(clause) or cues.STATED.search(text[: match.start()])
        if ((cues.VERB.search(clause) or stated) and not coordinated) or cues.ANEW.match(after) or leading:
            yield match.start()
    for match in re.finditer(" and ", text):  # an "and" where both sides have a verb
        before, after = re.split(r"[,;.]", text[: match.start()])[-1], re.split(r"[,;.]| and ", text[match.end() :])[0]
        if cues.VERB.search(before) and cues.VERB.search(after):
            yield match.start() + 1


def _exceptions(text: str, taken: list[tuple[int, int]]) -> Iterator[Reach]:
    """*Except for X*: there where the rest of the sentence is denied, not there where the rest is affirmed."""
    for match in cues.EXCEPT.finditer(text):
        taken.append(match.span())
        end = (
            next((m.start() for m in re.finditer(r"[,;.]", text[match.end() :])), len(text) - match.end()) + match.end()
        )
        rest = text[: match.start()] + " " * (end - match.start()) + text[end:]
        before = cues.CUES[-1][2].search(rest)
        reached = before is not None and before.start() < match.start()
        if reached or not (before or cues.CUES[-2][2].search(rest)):  # undo the denial that reaches it, or deny it
            yield Reach(match.end(), end, "not", match.span())


def _contrary(text: str, taken: list[tuple[int, int]]) -> Iterator[Reach]:
    """*Had X been so, Y would have …*: X was not so."""
    for pattern in cues.CONTRARY:
        match = pattern.search(text)
        if match is not None and (match["if"] == "had" or re.search(r"\bhad\b", match["what"])):
            taken.append(match.span("if"))
            yield Reach(match.start("what"), match.end("what"), "not", match.span("if"))
            return


def polarity(text: str, feature: str) -> Polarity | None:
    """What a text says of a feature; ``None`` where it does not mention it. Of several mentions a definite one counts."""
    feature, denying = _DENYING.subn("", feature.lower().strip())
    feature, now = _NOW.subn(" ", _LIGHT.sub("", feature))
    own = _OWN.search(feature)
    wanted = list(dict.fromkeys(terms(feature)))
    head = terms(_PREPOSITION.split(feature, maxsplit=1)[0])[-1:]
    said: list[tuple[float, Polarity]] = []
    for sentence in sentences(text):
        clauses = scopes(sentence).named_by(wanted)
        past = now and _PAST.search(clauses.text)
        others = own and _RELATIVE.search(clauses.text) and _NOT_OWN.search(clauses.text)
        for shared, kind in _mentions(clauses, wanted, head):
            said.append((shared, "absent" if others or (past and kind == "present") else kind))
    most = max((shared for shared, _ in said), default=0)
    best = [kind for shared, kind in said if shared == most]
    found = next((kind for kind in _ORDER if kind in best), None)
    return _OTHER.get(found, found) if denying and found else found


_OTHER: dict[Polarity, Polarity] = {"present": "absent", "absent": "present"}


@lru_cache(maxsize=1024)  # a sentence is asked about many features
def _tokens(text: str) -> tuple[tuple[int, str], ...]:
    """The words of a sentence, with their places."""
    return tuple((match.start(), match[0]) for match in TOKEN.finditer(text))


def _mentions(clauses: Scopes, wanted: list[str], head: list[str]) -> Iterator[tuple[float, Polarity]]:
    """Every clause that has words of a feature: how many (its head counts for more), and what is said of them together."""
    by_clause: dict[tuple[int, int], dict[str, Polarity]] = {}
    excepted = [
        r
        for r in clauses.reaches
        if cues.EXCEPT.fullmatch(clauses.text, *r.cue) and cues.DETAIL.match(clauses.text, r.start)
    ]
    decided = dict[tuple[int, int], Polarity]()
    for place, token in _tokens(clauses.text):
        for word in wanted:
            if how := speaks_of(word, token):
                kind = clauses.at(place)
                if any(r.start <= place < r.end for r in excepted):
                    decided[clauses.around(place)] = kind  # *no bleeding except from the gums*
                by_clause.setdefault(clauses.around(place), {})[word] = (
                    _OTHER.get(kind, kind) if how == "undone" else kind
                )
    before: dict[str, Polarity] = {}
    for (start, end), found in by_clause.items():
        if _IT.match(clauses.text, start):  # what *it* stands for
            found |= {word: "present" for word in head if word in before and word not in found}
        before = found
        if len(found) < len(wanted) and any(
            found.get(word) == "present" for word in head
        ):  # the rest is said in other clauses
            found = {word: kind for other in by_clause.values() for word, kind in other.items()} | found
        together = next(kind for kind in _GRAVEST if kind in found.values())
        yield len(found) + 2.5 * any(word in found for word in head), decided.get((start, end), together)


@lru_cache(maxsize=8192)
def denies(text: str, claim: str, subject: str = "") -> bool:
    """Whether a description of a subject denies everything of a claim that it mentions; it has much to say that the claim leaves out.

    >>> denies("A cold brings a runny nose, without a rash.", "The rash points to a cold.", "cold")
    True
    """
    if DENIES.search(claim):
        return False
    known = set(terms(subject))
    words = (word for word in dict.fromkeys(terms(claim)) if len(word) > 2 and word not in known)
    said = (kind for word in words if (kind := polarity(text, word)) is not None)
    return next(said, None) == "absent" and all(kind == "absent" for kind in said)
