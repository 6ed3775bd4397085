r"""What readers read: texts about each outcome, and the findings of a case.

A :class:`Library` holds labelled spans in a layout that makes it fast to compare all of them with a case (:class:`View`).

Readers match words, so a "not" is taken out before they match (:func:`taken_in`): what a span denies is no word of that span, and
what the case or an answer denies is a finding known to be absent. Without this the answer "no joint pain" would speak for every disease
of painful joints. The scope of a denial is found by :mod:`maci.evidence.negation`; it is kept short here, for a word wrongly taken out
is a finding lost.

Findings change a reading in two ways. Those that are present join the case text. Those that are present and those that are absent
both weigh the outcomes (:func:`weigh`): one known to be absent counts against the outcomes whose texts mention it.

.. math:: \log w_y = \sum_{f\,\text{present}} a\,\log P(f \mid y) + \sum_{f\,\text{absent}} b\,\log (1 - P(f \mid y)),\qquad
   P(f \mid y) = \frac{k_y + m\,\bar k}{n_y + m}

Of the n_y texts about y that this reader can see, k_y mention f; k̄ is the share of all of them that do.
"""

from __future__ import annotations

import re
from collections import Counter, OrderedDict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from maci.agents.anchor import Finding
from maci.cases.outcomes import normal
from maci.evidence.encode import Encoder, as_query
from maci.evidence.lexical import terms
from maci.evidence.negation import TOKEN, Reach, Scopes, scopes, sentences
from maci.evidence.orders import is_ours, without_orders
from maci.evidence.span import Span, estimate_tokens
from maci.moderator.belief import Vector

_VERBAL = re.compile(
    r"not|never|[a-z]+n't|cannot|could not|lack\w*(?: of)?|fail\w*(?: to)?|unable to|stopped|ceased|no longer|instead of|"
    r"rather than|declin\w+|"
    r"refuse\w*|unlikely.*|lost|(?:almost|nearly|narrowly|far from|anything but|.* to|.* from)|(?:miss|avoid|escap|forg)\w+|quit|"
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
_LONG = 5
"""Words of a phrase at most: what is further from the cue than that is no longer denied."""
_BETWEEN = re.compile(r"[,;:.()]|or|nor|and")
_PLACE = re.compile(r"in|at|on|for|to|with|since|from|after|before|during|by|over|when|while|than")
"""Where a phrase's details begin."""


class Intake(NamedTuple):
    """What a reader takes in of a text."""

    text: str
    """What it says is there, or leaves open."""
    denied: tuple[str, ...]
    """What it says is not there, phrase by phrase."""


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
    return {" ".join(words): None} if words else {}


def _plain(text: str, reach: Reach) -> bool:
    """Whether a cue says that something is not there, not that something is not done: *no rash*, but not *cannot sleep*."""
    cue, behind = text[slice(*reach.cue)], reach.cue[1]
    if _VERBAL.fullmatch(cue) and not _HAVING.match(text, behind):
        return False
    return reach.start < behind or not _FACULTY.match(text, behind)


def rate(counts: Vector, sizes: Vector, base: Vector | float, smoothing: float = 1.0) -> Vector:
    """P(present | y), smoothed towards the shared rate.

    >>> rate(np.array([3.0, 0.0]), np.array([3.0, 3.0]), 0.5).tolist()
    [0.875, 0.125]
    """
    return np.asarray((counts + smoothing * np.asarray(base)) / (sizes + smoothing), dtype=np.float64)


def weigh(
    p: Vector,
    findings: Sequence[Finding],
    library: Library,
    visible: NDArray[np.intp],
    *,
    present: float,
    absent: float,
    smoothing: float,
) -> Vector:
    """A reading weighed by findings; one that no visible text mentions says nothing."""
    told = [f for f in findings if f.present is not None]
    if not told or not len(visible):
        return p
    subject = library.subject[visible]
    n = len(library.outcomes)
    sizes = np.bincount(subject, minlength=n).astype(np.float64)
    logs = np.zeros(n)
    for finding in told:
        here = library.mentions(finding.subject)[visible]
        if not here.any():
            continue
        counts = np.bincount(subject[here], minlength=n).astype(np.float64)
        share = rate(counts, sizes, (float(here.sum()) + 0.5) / (len(visible) + 1), smoothing)
        logs += present * np.log(share) if finding.present else absent * np.log1p(-share)
    weight = p * np.exp(logs - logs.max())
    return np.asarray(weight / weight.sum(), dtype=np.float64)


_VIEWS = 64
_Key = TypeVar("_Key", bound=Hashable)
_Value = TypeVar("_Value")


class Latest(OrderedDict[_Key, _Value]):
    """What was made last; older things are made again when they are needed."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def __setitem__(self, key: _Key, value: _Value) -> None:
        super().__setitem__(key, value)
        if len(self) > self._most:
            self.popitem(last=False)


def about(span: Span, names: Mapping[str, str]) -> str | None:
    """The outcome a span speaks of, by its normal name: its label if it has one, else the first outcome its text names.

    >>> about(Span.of("In measles the cough is harsh."), {"rubella": "Rubella", "measles": "Measles"})
    'Measles'
    """
    if span.label is not None:
        return names.get(normal(span.label))
    text = f" {normal(span.text)} "
    found = [(text.index(f" {name} "), label) for name, label in names.items() if name and f" {name} " in text]
    return min(found)[1] if found else None


def subjects_of(spans: Sequence[Span], outcomes: Sequence[str], aliases: Mapping[str, str]) -> Mapping[str, str]:
    """Span id → outcome, for the spans that speak of one."""
    names = {normal(name): name for name in outcomes} | {normal(alias): to for alias, to in aliases.items()}
    return {span.id: outcome for span in spans if (outcome := about(span, names)) is not None}


@dataclass(frozen=True, slots=True)
class View:
    """A case against every span of a library."""

    words: tuple[str, ...]
    """Distinct terms of the case."""
    counts: Vector
    """How often each term stands in each span."""
    likeness: Vector
    """Cosine of each span with the case."""
    tokens: int
    text: str
    """The case without what it denies."""
    denied: tuple[str, ...]
    """What it says is not there."""


class Library:
    """Spans about outcomes, in a fixed order. Sentences that read like instructions are not read; a span of such alone is left out."""

    def __init__(
        self, spans: Sequence[Span], outcomes: Sequence[str], encoder: Encoder, aliases: Mapping[str, str] | None = None
    ) -> None:
        read = {
            span.id: span if is_ours(span) else replace(span, text=without_orders(span.text, outcomes))
            for span in spans
        }
        subjects = subjects_of([span for span in read.values() if span.text], outcomes, aliases or {})
        names = sorted(map(re.escape, {*outcomes, *(aliases or {})} - {""}), key=len, reverse=True)
        self._names = re.compile(rf"\b(?:{'|'.join(names)})\b", re.IGNORECASE)
        self.spans = tuple(span for span in spans if span.id in subjects)
        texts = [read[span.id].text for span in self.spans]
        self.outcomes = tuple(outcomes)
        self.row = {span.id: row for row, span in enumerate(self.spans)}
        self.place = {outcome: i for i, outcome in enumerate(self.outcomes)}
        self.subject = np.array([self.place[subjects[span.id]] for span in self.spans], dtype=np.intp)
        said = [taken_in(text).text for text in texts]
        self.terms = [terms(text) for text in said]
        self.length = np.array([len(words) for words in self.terms], dtype=np.float64)
        self.tokens = np.array([estimate_tokens(text) for text in texts], dtype=np.int64)
        self._postings = self._invert()
        self.vocabulary = len(self._postings)
        self._encoder = encoder
        self._vectors = encoder.encode(said)
        self._views: Latest[str, View] = Latest(_VIEWS)

    def _invert(self) -> dict[str, tuple[NDArray[np.intp], Vector]]:
        postings: dict[str, tuple[list[int], list[int]]] = {}
        for row, words in enumerate(self.terms):
            for word, count in Counter(words).items():
                rows, counts = postings.setdefault(word, ([], []))
                rows.append(row)
                counts.append(count)
        return {word: (np.array(rows, np.intp), np.array(counts, float)) for word, (rows, counts) in postings.items()}

    def view(self, text: str) -> View:
        """A case text against this library; the last few are kept, for all readers and rounds share them."""
        if text in self._views:
            return self._views[text]
        said = taken_in(text)
        words = tuple(sorted(set(terms(said.text))))
        counts = np.zeros((len(self.spans), len(words)))
        for column, word in enumerate(words):
            if word in self._postings:
                rows, values = self._postings[word]
                counts[rows, column] = values
        likeness = (self._vectors @ self._encoder.encode([as_query(self._encoder, said.text)])[0]).astype(np.float64)
        view = self._views[text] = View(words, counts, likeness, estimate_tokens(text), said.text, said.denied)
        return view

    def nameless(self, row: int) -> str:
        """A span's text without the names of outcomes, which a case would not have."""
        return self._names.sub(" ", self.spans[row].text)

    def frequency(self, word: str) -> int:
        """How many spans a term stands in."""
        return len(self._postings[word][0]) if word in self._postings else 0

    def mentions(self, text: str) -> NDArray[np.bool_]:
        """Which spans hold every term of a text: for each row, whether that finding is spoken of."""
        found = np.ones(len(self.spans), dtype=bool)
        wanted = set(terms(text))
        for word in wanted:
            here = np.zeros(len(self.spans), dtype=bool)
            if word in self._postings:
                here[self._postings[word][0]] = True
            found &= here
        return found if wanted else ~found

    def deal(self, hands: int, seed: int) -> list[NDArray[np.intp]]:
        """Every outcome's spans dealt out like cards, so that each hand holds other spans.

        An outcome with fewer spans than hands is known to all.
        """
        rng = np.random.default_rng(seed)
        dealt: list[list[int]] = [[] for _ in range(hands)]
        for outcome in range(len(self.outcomes)):
            rows = np.flatnonzero(self.subject == outcome)
            if len(rows) < hands:
                for hand in dealt:
                    hand.extend(rows.tolist())
                continue
            for turn, row in enumerate(rng.permutation(rows).tolist()):
                dealt[(turn + outcome) % hands].append(row)
        return [np.array(sorted(hand), dtype=np.intp) for hand in dealt]


_CHUNK = re.compile(
    r"[,.;:!?()\n]|\b(?:and|or|but|with|who|which|that|after|for|since|when|while|has|have|had|is|are|was|were|been|now|then|brings?|feels?)\b",
    re.IGNORECASE,
)
"""Where one finding ends and another begins."""
_FINDING, _SHORT = 5, 3
"""Words of a finding at most, and telling words of a passage that is one finding."""


_NO_FINDING = frozenset(
    terms(
        "day days week weeks month year years old man woman boy girl last few ago little lot ill patient time one two three four five"
    )
)


def phrases(text: str, shared: set[str], named: set[str]) -> list[str]:
    """The findings of a text that are shared and hold a term to be named, in its own words.

    Single words out of long passages are added only where there are no two findings without them.

    >>> shared = {"high", "fever", "pain", "behind", "eye", "walk"}
    >>> phrases("A high fever, pain behind the eyes and a long way to walk home.", shared, {"fever", "eye", "walk"})
    ['high fever', 'pain behind the eyes']
    """
    found, single, told = list[str](), list[str](), set[str]()
    for chunk in _CHUNK.split(text):
        words = re.findall(r"[^\W_]+(?:[-'’][^\W_]+)*", chunk)
        stems = [set(terms(word)) for word in words]
        long = sum(map(bool, stems)) > _SHORT
        known = [not stem or bool(stem & shared) for stem in stems]
        for fits, run in groupby(range(len(words)), known.__getitem__):
            telling = [i for i in run if stems[i]] if fits else []
            own = set[str]().union(*(stems[i] for i in telling)) - told - _NO_FINDING
            if not own & named:
                continue
            told |= own
            part = words[telling[0] : telling[-1] + 1]
            said = " ".join(word if word.isupper() else word.lower() for word in part)
            (single if len(part) > _FINDING or (long and len(telling) == 1) else found).append(said)
    return found if len(found) > 1 else found + [each for each in single if len(each.split()) <= _FINDING]
