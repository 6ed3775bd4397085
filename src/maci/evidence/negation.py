"""What a text says is there, what it says is not, and what it leaves open: negation by scope, after NegEx (Chapman et al., 2001).

A *cue* speaks for the words beside it, up to the end of its clause: cues such as *no*, *denies*, *without* and *0* for those that
follow, cues such as *absent*, *was not seen* and *ruled out* for those before. Two cues that reach the same word undo each other
(*not without pain*). Phrases that only look like a negation (*no change*, *not only*) speak for nothing.

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

from maci.evidence.lexical import terms

Polarity = Literal["present", "absent", "unknown"]

_TOKEN = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+(?:['\u2019][^\W\d_]+)?|[^\w\s]")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[^a-z])|\n+")


def _pattern(*phrases: str) -> re.Pattern[str]:
    """Phrases of whole words, the longest first; a blank stands for one blank."""
    joined = "|".join(sorted(phrases, key=len, reverse=True))
    return re.compile(rf"(?<![\w']){'(?:' + joined + ')'}(?![\w'])")


_SEEN = (
    "seen|found|present|noted|detected|observed|identified|reported|evident|visible|demonstrated|recorded|"
    "confirmed|appreciated|elicited|there"
)
_PSEUDO = _pattern(
    "no (?:significant |further |interval |real )?(?:change|increase|decrease|improvement|worsening|difference|"
    "progression)(?: (?:in|of|from|to))?",
    "not only", "not just", "not merely", "no doubt", "no wonder", "not to mention", "no less than", "no fewer than",
    "not negative", "no relief (?:from|of)", "no end (?:to|of)", "no cure for", "no sooner", "no matter",
    "not (?:get|getting|got) better", "no better", "no worse", "gram negative", "never (?:failed|fails|fail) to",
    "without (?:a )?doubt", "without fail", "not until", "no later than", "no more than", "if not", "whether or not",
    "not (?:improved|improving|resolved|resolving|settled|gone|going away|subsided|cleared|controlled)",
)  # fmt: skip
"""They look like a negation and are none."""
_OPEN = _pattern(
    "can(?:not|'t| not) (?:yet )?(?:be )?(?:rule|ruled|exclude|excluded)(?: out)?",
    "could not (?:yet )?(?:be )?(?:ruled out|excluded|confirmed)", "not (?:yet )?(?:been )?(?:ruled out|excluded)",
    "to (?:rule out|exclude)", "rule out", "r/o",
    "not (?:certain|sure|clear|known|necessarily|tested|checked|assessed|asked|examined|measured|recorded|documented|performed|done)",
    "unclear", "uncertain", "unknown", "possible", "possibly", "probable", "probably", "perhaps", "maybe", "may", "might", "could",
    "suspected", "suspicion of", "suspicious for", "questionable", "whether", "if", "awaiting", "risk of", "at risk for",
    "monitor for", "watch for", "watch out for", "in case of", "in the event of", "unless", "should", "would", "return if",
    "screen for", "screening for", "test for", "check for", "look for", "evaluate for", "prevent", "prophylaxis",
    "vaccinated against",
    "(?:mother|father|brother|sister|son|daughter|wife|husband|uncle|aunt|cousin|grandmother|grandfather|"
    "grandparent|parent|sibling|family|relative|colleague|neighbour|neighbor|"
    "roommate)s?(?:'s)?(?: history)?(?: of)?(?: (?:has|had|have|died of|died from|suffers from))?",
)  # fmt: skip
"""They leave open what follows, and some of them what stands before."""
_OPEN_BEFORE = _pattern(
    "can(?:not|'t| not) (?:yet )?be (?:ruled out|excluded|confirmed)", "could not be (?:ruled out|excluded|confirmed|assessed)",
    "(?:has|have|had|was|were|is|are) not (?:yet )?(?:been )?(?:ruled out|excluded|assessed|tested|checked|"
    "examined|asked|measured|documented|recorded)",
    "(?:is|are|was|were) (?:possible|unclear|uncertain|unknown|suspected|questionable|pending|not known|not certain|not clear)",
    "unclear", "pending", "awaited", "suspected", r"\?",
)  # fmt: skip
_BEFORE = _pattern(
    "no", "non", "not", "without", "denies", "denied", "deny", "denying", "never", "neither", "nor", "none of", "none", "lacks",
    "lack of", "lacking", "lacked", "absence of", "free of", "free from", "negative for", "clear(?:ed)? of", "devoid of",
    "(?:ruled|rules) out", "excludes", "excluded", "excluding", "fail to", "fails to", "failed to", "failure to", "unable to",
    "cannot", "can't", "isn't", "aren't", "wasn't", "weren't", "don't", "doesn't", "didn't", "hasn't", "haven't", "hadn't",
    "won't", "wouldn't", "0", "zero", "nil", "no longer", "stopped", "ceased", "instead of", "rather than", "declines", "declined",
    "refuses",
    "no (?:evidence|sign|signs|history|record|records|trace|indication|complaint|complaints|report|reports|suggestion|symptoms) of",
    "resolution of", "disappearance of", "exclusion of",
)  # fmt: skip
_AFTER = _pattern(
    rf"(?:is|are|was|were|has been|have been|had been) (?:not|never) (?:been )?(?:{_SEEN})",
    rf"(?:isn't|aren't|wasn't|weren't|hasn't been|haven't been) (?:{_SEEN})", rf"not (?:been )?(?:{_SEEN})",
    "(?:is |are |was |were |has been |have been )?(?:absent|negative|ruled out|excluded|denied|lacking|missing|"
    "unremarkable)(?! (?:for|of)\\b)",
    "(?:is|are|was|were) (?:nil|none|zero)",
    "(?:has |have |had )?(?:resolved|disappeared|subsided|gone|ceased|cleared up|vanished)",
    "(?:is|are|was|were) (?:no longer (?:present|seen|there)|gone)", "did not (?:occur|happen|develop|appear|recur)",
    "never (?:occurred|happened|developed|appeared|came)", "(?:did|does|do)n't (?:occur|happen|appear)",
    "(?:is |are |was |were )?(?:disabled|turned off|switched off|left blank|blank|never a problem|unaffected|unlikely|normal)",
)  # fmt: skip
_MARKED = re.compile(
    r" ?(?:[:=] ?(?:none|0|nil|absent|negative|not seen|not present|false|zero|null|off|no(?= ?(?:$|[.,;)]| sign|"
    r" evidence| record)))\b(?!\.\d|[/:])"
    r"|\((?:-|neg|negative|absent)\)|[- ]free\b(?! (?:of|from)))"
)
"""Cues joined to the word before them: *fever: absent*, *gluten-free*."""
_END = _pattern(
    "nor", "but", "however", "although", "though", "yet", "whereas", "while", "still", "nevertheless", "which", "who", "because",
    "since", "due to", "secondary to", "then", "so",
    "and (?:has|had|have|is|was|are|were|does|did|reports|reported|presents|presented|complains|complained|shows|"
    "showed|developed|develops|now|also|the|there|she|he|it|they|we|only|then|his|her|a|an)",
    "only", "instead", "as well as having", "presents with", "presented with", "complains of", "complained of", "reports",
    "reported", "with", "until", "after", "when", "where", "that (?:was|is|has)", "other",
)  # fmt: skip
_MODAL = _pattern(
    "may", "might", "could", "would", "should", "possible", "possibly", "probable", "probably", "perhaps", "maybe"
)
"""They leave their whole clause open."""
_EXCEPT = _pattern("except(?: for)?", "apart from", "aside from", "other than", "besides")
_PREPOSITION = re.compile(r"\b(?:in|of|at|on|since|from|to|for|after|before|with|by|now|against)\b")
_LIGHT = re.compile(r"^(?:mention|presence|signs?|evidence|history|use|occurrence) of ")
_PENDING = _pattern("results? (?:is |are )?(?:pending|awaited|outstanding|not back)", "pending")
"""It leaves the whole sentence open."""
_ANSWER = re.compile(r"(?:(no|none|negative|denied)|(?:yes|positive))\W*", re.IGNORECASE)
_CUES: tuple[tuple[re.Pattern[str], Literal["not", "open"], bool], ...] = (
    (_OPEN_BEFORE, "open", False),
    (_MODAL, "open", True),
    (_MARKED, "not", False),
    (_AFTER, "not", False),
    (_OPEN, "open", True),
    (_BEFORE, "not", True),
)
_ORDER: tuple[Polarity, ...] = ("present", "absent", "unknown")
_TAILS = frozenset(
    re.split(" ", " s e y ed er ers ing ion ions less ness al ation ment able ly t d n ure ature ive cy nt ncy")
)
"""Endings that make other forms of a word."""
_STOPS = re.compile(r"[.;:!?()\[\]]|,? [-\u2013\u2014] ")
_LIST = re.compile(r",\s*(?:(?:or|nor|and)\s+)?")
_VERB = re.compile(
    r"\b(?:has|had|have|is|was|are|were|reports|developed|complains|presents|shows|remains|continues|appears|began|started)\b"
)


class _Reach(NamedTuple):
    start: int
    end: int
    kind: Literal["not", "open"]


class _Clauses(NamedTuple):
    """A sentence in lower case, cut where scopes end, with what each cue reaches."""

    text: str
    cuts: tuple[int, ...]
    reaches: tuple[_Reach, ...]

    def around(self, where: int) -> tuple[int, int]:
        """The clause that a place lies in."""
        return max(c for c in self.cuts if c <= where), min(c for c in self.cuts if c > where)

    def at(self, where: int) -> Polarity:
        """What is said of the word at a place."""
        over = [reach.kind for reach in self.reaches if reach.start <= where < reach.end]
        if "open" in over:
            return "unknown"
        return "absent" if over.count("not") % 2 else "present"


def sentences(text: str) -> list[str]:
    """The sentences of a text, lines of a log and of a list apart; a question stays with its one-word answer."""
    parts = [part.strip() for part in _SENTENCE.split(text) if part.strip()]
    joined: list[str] = []
    for part in parts:
        if joined and joined[-1].endswith("?") and (answer := _ANSWER.fullmatch(part)):
            joined[-1] = f"{joined[-1][:-1]}: {'no' if answer[1] else 'yes'}"
        else:
            joined.append(part)
    return joined


@lru_cache(maxsize=8192)
def _clauses(sentence: str) -> _Clauses:
    text = sentence.lower().replace("\u2019", "'")
    cuts = tuple(sorted({0, len(text) + 1, *_cuts(text)}))
    taken = [match.span() for match in _PSEUDO.finditer(text)]
    found = list(_exceptions(text, taken))
    for pattern, kind, forward in _CUES:
        for match in pattern.finditer(text):
            if any(match.start() < end and start < match.end() for start, end in taken):
                continue
            taken.append(match.span())
            start = match.end() if forward else max(c for c in cuts if c <= match.start())
            end = min(c for c in cuts if c >= match.end()) if forward else match.start()
            if pattern is _MODAL:
                start, end = max(c for c in cuts if c <= match.start()), min(c for c in cuts if c >= match.end())
            found.append(_Reach(start, end, kind))
    if text.rstrip().endswith("?") or _PENDING.search(text):
        found.append(_Reach(0, len(text), "open"))
    return _Clauses(text, cuts, tuple(found))


def _cuts(text: str) -> Iterator[int]:
    yield from (match.start() for match in _END.finditer(text))
    yield from (match.end() if match[0] == ":" else match.start() for match in _STOPS.finditer(text))
    for match in _LIST.finditer(text):  # a comma ends a scope where a clause of its own follows, not within a list
        after = text[match.end() :]
        clause = re.split(r"[,;.]", after, maxsplit=1)[0]
        coordinated = re.search(r"\b(?:or|nor|and)\b", match[0]) is not None
        leading = (
            re.match(r"(?:without|apart from|except for|aside from|besides)\b", text)
            and "," not in text[: match.start()]
        )
        if (_VERB.search(clause) and not coordinated) or re.match(r"\d", after) or leading:
            yield match.start()


def _exceptions(text: str, taken: list[tuple[int, int]]) -> Iterator[_Reach]:
    """*Except for X*: there where the rest of the sentence is denied, not there where the rest is affirmed."""
    for match in _EXCEPT.finditer(text):
        taken.append(match.span())
        end = (
            next((m.start() for m in re.finditer(r"[,;.]", text[match.end() :])), len(text) - match.end()) + match.end()
        )
        rest = text[: match.start()] + " " * (end - match.start()) + text[end:]
        before = _BEFORE.search(rest)
        reached = before is not None and before.start() < match.start()
        if reached or not (before or _AFTER.search(rest)):  # undo the denial that reaches it, or deny it
            yield _Reach(match.end(), end, "not")


def polarity(text: str, feature: str) -> Polarity | None:
    """What a text says of a feature; ``None`` where it does not mention it. Of several mentions a definite one counts."""
    feature = _LIGHT.sub("", feature.lower())
    wanted = list(dict.fromkeys(terms(feature)))
    head = terms(_PREPOSITION.split(feature, maxsplit=1)[0])[-1:]
    said: list[tuple[float, Polarity]] = []
    for sentence in sentences(text):
        said += _mentions(_clauses(sentence), wanted, head)
    most = max((shared for shared, _ in said), default=0)
    best = [kind for shared, kind in said if shared == most]
    return next((kind for kind in _ORDER if kind in best), None)


def _mentions(clauses: _Clauses, wanted: list[str], head: list[str]) -> Iterator[tuple[float, Polarity]]:
    """Every clause that has words of a feature: how many (its head counts for more), and what is said of them together."""
    by_clause: dict[tuple[int, int], dict[str, Polarity]] = {}
    for match in _TOKEN.finditer(clauses.text):
        for word in wanted:
            if _akin(word, match[0]):
                kind = clauses.at(match.start())
                if match[0].endswith("less") and not word.endswith("less"):
                    kind = "present" if kind == "absent" else "absent"
                by_clause.setdefault(clauses.around(match.start()), {})[word] = kind
    for found in by_clause.values():
        yield (
            len(found) + 2 * any(word in found for word in head),
            next(kind for kind in ("unknown", "absent", "present") if kind in found.values()),
        )


@lru_cache(maxsize=16384)
def _akin(term: str, word: str) -> bool:
    """Whether a word of a text is a term of a feature, in whatever form: *smoker* and *smoking*, *hairless* and *hairs*."""
    found = terms(word)
    if not found:
        return False
    if found[0] == term:
        return True
    shared = next(
        (n for n, (x, y) in enumerate(zip(term, found[0], strict=False)) if x != y), min(len(term), len(found[0]))
    )
    return (
        shared >= 4
        and shared >= max(len(term), len(found[0])) - 5
        and term[shared:] in _TAILS
        and found[0][shared:] in _TAILS
    )
