r"""What readers read: texts about each outcome, and the findings of a case.

A :class:`Library` holds labelled spans in a layout that makes it fast to compare all of them with a case (:class:`View`).

Readers match words, so a "not" is taken out before they match (:mod:`maci.evidence.intake`): what a span denies is no
word of that span, and what the case or an answer denies is a finding known to be absent.

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
from functools import cached_property
from itertools import groupby
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from maci.agents.anchor import Finding
from maci.cases.outcomes import normal
from maci.evidence.encode import Encoder, as_query
from maci.evidence.intake import taken_in
from maci.evidence.lexical import term_set, terms
from maci.evidence.orders import is_ours, without_orders
from maci.evidence.span import Span, estimate_tokens
from maci.moderator.belief import Vector


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


_VIEWS, _SPOKEN = 64, 4096
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
    """The outcome a span speaks of, by its normal name: its label, else the only outcome that its text names and does not deny.

    Where one name is part of another, the longest counts. A text that names two outcomes, to compare them or to list them, speaks
    of neither.

    >>> names = {"rubella": "Rubella", "measles": "Measles", "german measles": "Rubella"}
    >>> about(Span.of("No measles; the rash is that of rubella."), names)
    'Rubella'
    >>> about(Span.of("In German measles the rash is pink."), names), about(Span.of("Unlike measles, rubella is mild."), names)
    ('Rubella', None)
    """
    if span.label is not None:
        return names.get(normal(span.label))
    text, found = f" {normal(taken_in(span.text).text)} ", set[str]()
    for name in sorted((name for name in names if name and f" {name} " in text), key=len, reverse=True):
        if f" {name} " in text:  # not only as part of a longer name
            found.add(names[name])
            text = text.replace(f" {name} ", " | ")
    return found.pop() if len(found) == 1 else None


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
        self._speaking: Latest[str, tuple[str, ...]] = Latest(_SPOKEN)

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
        return self.unnamed(self.spans[row].text)

    def unnamed(self, text: str) -> str:
        """A text without the names of outcomes."""
        return self._names.sub(" ", text)

    @cached_property
    def common(self) -> frozenset[str]:
        """Terms that stand in texts about every outcome; none where fewer than two outcomes have texts."""
        about = {int(outcome): set[str]() for outcome in self.subject}
        for outcome, said in zip(self.subject, self.terms, strict=True):
            about[int(outcome)] |= set(said)
        return frozenset(set.intersection(*about.values())) if len(about) > 1 else frozenset()

    def frequency(self, word: str) -> int:
        """How many spans a term stands in."""
        return len(self._postings[word][0]) if word in self._postings else 0

    def mentions(self, text: str) -> NDArray[np.bool_]:
        """Which spans hold every term of a text: for each row, whether that finding is spoken of."""
        found = np.ones(len(self.spans), dtype=bool)
        wanted = term_set(text)
        for word in wanted:
            here = np.zeros(len(self.spans), dtype=bool)
            if word in self._postings:
                here[self._postings[word][0]] = True
            found &= here
        return found if wanted else ~found

    def speaking_of(self, text: str) -> tuple[str, ...]:
        """Ids of the first spans that hold every term of a text. The same is asked in every debate about these outcomes."""
        found = self._speaking.get(text)
        if found is None:
            rows = np.flatnonzero(self.mentions(text))[:3].tolist()
            found = self._speaking[text] = tuple(self.spans[row].id for row in rows)
        return found

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
NO_FINDING = frozenset(
    terms(
        "day days week weeks month year years hour hours minute minutes old man woman boy girl last few ago little lot ill "
        "patient time disease illness condition diagnosis symptom case one two three four five kg cm mm km euro euros dollar dollars "
        "percent"
    )
)
"""Words that are no finding by themselves."""


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
            own = {stem for i in telling for stem in stems[i] if not stem.isdigit()} - told - NO_FINDING
            if not own & named:
                continue
            told |= own
            part = words[telling[0] : telling[-1] + 1]
            said = " ".join(word if word.isupper() else word.lower() for word in part)
            (single if len(part) > _FINDING or (long and len(telling) == 1) else found).append(said)
    return found if len(found) > 1 else found + [each for each in single if len(each.split()) <= _FINDING]
