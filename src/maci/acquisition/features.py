r"""Finds what is worth asking about a case: what it already says, which findings separate the outcomes, and which sentences do.

**What the case already says** (:class:`Mentioned`). A question that the case answers, with yes or with no, is not asked. A case
mentions a symptom if one sentence has all its terms; if one clause has them in other forms (stiff neck, neck stiffness); or if
one clause has another wording of it (`evidence/builtin/wordings.yaml`). The light encoder does not help here: "retro-orbital
pain" is as close to "by pain" (0.51) as to anything a case says about eyes, and "upper abdominal pain", worth asking, counts as
said by "abdominal pain" (0.93).

**Findings that separate outcomes** (:class:`Features`): entries of labelled lists (``itching, skin rash, …``) that stand in the lists
of some outcomes and not in those of others. An entry counts if it names a finding (:mod:`maci.acquisition.finding`).

.. math:: P(\text{present} \mid y) = \frac{k_y + m\,b}{n_y + m}

=====  ============================================================================
k_y    lists about y that contain the finding, of n_y
b      the share of all lists that contain it
m      how many lists the shared rate is worth (chosen on development cases)
=====  ============================================================================

**Sentences that separate outcomes** (:func:`contrast`). Prose is not cut into findings: a run of words from a sentence is seldom
something one can ask for. Instead, one sentence about each of two outcomes is quoted, and the question is which of them is closer to
the case. A sentence has at least five words and ends in a full stop, and the case does not say it. Of these, the one is quoted whose
words occur most in the texts about its own outcome and least in those about the other.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from maci.acquisition.finding import is_finding
from maci.acquisition.plan import CONTRAST, NAMED, NONE_OF_THESE, Proposal, Residual, proposal_id
from maci.agents.library import Library, rate
from maci.cases.outcomes import normal
from maci.evidence.knowledge import wordings
from maci.evidence.lexical import normal_text, term_set, terms
from maci.evidence.span import Span

_SENTENCE = re.compile(r"[.!?;]+(?:\s|$)|\n+")
_CLAUSE = re.compile(r"[,:()]|\b(?:and|or|but)\b", re.IGNORECASE)
_ENDING = re.compile(r"(?:ness|ing|ish|ed|y)$")
_SHORTEST = 3
"""Letters a stem keeps."""
_APART = frozenset({"fainting", "fainted"})
"""Words whose stem says something else: a faint rash."""


class Mentioned:
    """A case text, cut into sentences and clauses.

    >>> case = Mentioned("She has pain behind the eyes and a stiff neck, but no fever. There are small red spots.")
    >>> [case.says(symptom) for symptom in ("retro-orbital pain", "neck stiffness", "high fever", "red spots", "red eyes")]
    [True, True, True, True, False]
    """

    def __init__(self, text: str, other_words: Mapping[str, tuple[str, ...]] | None = None) -> None:
        parts = sentences(text)
        self._sentences = [frozenset(terms(sentence)) for sentence in parts]
        self._clauses = [stems(clause) for sentence in parts for clause in _CLAUSE.split(sentence)]
        self._terms = frozenset[str]().union(*self._sentences)
        self._stems = frozenset[str]().union(*self._clauses)
        self._text = f" {normal_text(text)} "
        self._other_words = wordings() if other_words is None else other_words

    def says(self, subject: str) -> bool:
        """Whether it speaks of it, to confirm or to deny."""
        named = term_set(subject)
        if not named:
            return False
        if named <= self._terms and any(named <= sentence for sentence in self._sentences):
            return True
        if self._in_a_clause(stems(subject)):
            return True
        return any(map(self._worded, self._other_words.get(subject, ())))

    def _worded(self, words: str) -> bool:
        """One telling word says little without the small ones around it (no fever, the runs): then as it is written."""
        if len(terms(words)) < len(words.split()) and len(terms(words)) < 2:
            return f" {normal_text(words)} " in self._text
        return self._in_a_clause(stems(words))

    def _in_a_clause(self, wanted: frozenset[str]) -> bool:
        return wanted <= self._stems and any(wanted <= clause for clause in self._clauses)


def sentences(text: str) -> list[str]:
    """The sentences of a text, one of which must speak of something for the text to do so.

    >>> sentences("It is 38.5 degrees. No rash!")
    ['It is 38.5 degrees', 'No rash']
    """
    return [part for part in _SENTENCE.split(text) if part]


@lru_cache(maxsize=4096)
def stems(text: str) -> frozenset[str]:
    """Terms without the endings that make another form of a word.

    >>> sorted(stems("She wheezed, with itchy redness"))
    ['itch', 'red', 'wheez']
    """
    return frozenset(map(_stem, terms(text)))


def _stem(term: str) -> str:
    short = _ENDING.sub("", term)
    return term if term in _APART or len(short) < _SHORTEST else short


SMOOTHING = 0.3
"""m; chosen on development cases (`benchmarks/bench_acquisition.py --tune`)."""
_ENTRY = re.compile(r"[,;:.!?()\[\]\n“”\"]+|\s(?:and|or|with|but)\s", re.IGNORECASE)
_WORDS = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_COMMA = re.compile(r"[,;:.!?\n]+")
_LONGEST_ENTRY = 4
"""Words of an entry."""
_LISTS = 0.6
"""Share of entries that name a finding from which a text is a list."""


@dataclass(frozen=True, slots=True)
class Feature:
    """A finding and the lists it stands in."""

    key: tuple[str, ...]
    """Its terms."""
    words: str
    """As it is most often written."""
    rows: NDArray[np.intp]


class Features:
    """The findings of labelled lists, with their rates; texts that are no lists are passed over."""

    def __init__(
        self,
        spans: Sequence[Span],
        subject: NDArray[np.intp],
        outcomes: Sequence[str],
        *,
        names: Iterable[str] = (),
        smoothing: float | None = None,
    ) -> None:
        self.outcomes = tuple(outcomes)
        written: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
        rows: dict[tuple[str, ...], list[int]] = defaultdict(list)
        lists = [i for i, span in enumerate(spans) if is_list(span.text)]
        self.spans, subject = [spans[i] for i in lists], subject[lists]
        for row, span in enumerate(self.spans):
            for key, words in _findings(span.text).items():
                written[key][words] += 1
                rows[key].append(row)
        found: dict[bytes, Feature] = {}
        for key in _not_names({normal(name) for name in (*outcomes, *names)}, rows, subject, len(outcomes)):
            where = np.array(rows[key], np.intp)
            feature = Feature(key, min(written[key], key=lambda w: (-written[key][w], w)), where)
            known = found.get(where.tobytes())
            if known is None or len(feature.words) > len(known.words):  # of those that always go together, the fullest
                found[where.tobytes()] = feature
        self.all = tuple(sorted(found.values(), key=lambda f: f.key))
        """Every finding."""
        self._size = np.bincount(subject, minlength=len(outcomes)).astype(np.float64)
        self.listed = frozenset(label for label, size in zip(self.outcomes, self._size.tolist(), strict=True) if size)
        """Outcomes that have a list; of the others nothing was counted."""
        counts = np.zeros((len(self.all), len(outcomes)))
        for i, feature in enumerate(self.all):
            np.add.at(counts[i], subject[feature.rows], 1.0)
        base = (counts.sum(axis=1) + 0.5) / (self._size.sum() + 1.0)
        self.base = base
        """The share of all lists in which each stands."""
        self.present = rate(counts, self._size, base[:, None], SMOOTHING if smoothing is None else smoothing)
        """P(present | y): a row for each finding."""

    def open(self, text: str, asked: Sequence[str] = ()) -> NDArray[np.bool_]:
        """Which findings a case text does not mention, and nobody has asked about.

        A list mentions a finding if one of its entries has all the terms, prose if one of its sentences has: a fever that is high is a
        high fever, a neck in one sentence and something stiff in the next is no stiff neck.
        """
        parts = [" ".join(words) for words in _entries(text)] if is_list(text) else sentences(text)
        said = [frozenset(terms(part)) for part in parts]
        known = frozenset().union(*said)
        done = {frozenset(terms(subject)) for subject in asked}

        def mentioned(key: tuple[str, ...]) -> bool:
            return known.issuperset(key) and any(part.issuperset(key) for part in said)

        return np.array([not mentioned(f.key) and frozenset(f.key) not in done for f in self.all], dtype=bool)


def _entries(text: str) -> list[list[str]]:
    return [words for part in _ENTRY.split(text) if (words := _WORDS.findall(part))]


def is_list(text: str) -> bool:
    """Whether a text lists findings, rather than saying something in sentences.

    >>> is_list("itching, skin rash, high fever"), is_list("The tenant moved out in May, and the keys are lost, he says.")
    (True, False)
    """
    parts = [words for part in _COMMA.split(text) if (words := _WORDS.findall(part))]
    named = sum(is_finding(" ".join(words)) for words in parts)
    return len(parts) >= 2 and named >= _LISTS * len(parts)


def _findings(text: str) -> Mapping[tuple[str, ...], str]:
    found: dict[tuple[str, ...], str] = {}
    for words in _entries(text):
        entry = " ".join(words)
        if len(words) <= _LONGEST_ENTRY and (key := tuple(terms(entry))) and is_finding(entry):
            found.setdefault(key, entry.casefold())
    return found


def _not_names(
    names: set[str], rows: Mapping[tuple[str, ...], list[int]], subject: NDArray[np.intp], outcomes: int
) -> list[tuple[str, ...]]:
    """Findings that are not the name of an outcome, nor hold a word that only names are made of."""
    named = [set(terms(name)) for name in names]
    words = set().union(*named) if named else set()
    common = {
        word
        for word in words
        if len({int(subject[row]) for row in rows.get((word,), ())}) >= max(2, outcomes / 4)
        and not any(of == {word} for of in named)
    }
    own = words - common
    return [key for key in rows if not own.intersection(key)]


_FEWEST, _FEWEST_WORDS, _MOST_LETTERS = 3, 5, 160
"""Terms, words and letters of a sentence that is quoted."""
_CLOSER, _FURTHER = 0.5, 0.15
"""How often a case is assumed to be closer to a sentence about its own outcome, and to one about the other."""
_SAID_SHARE = 0.75
"""Share of a sentence's terms in one sentence of the case from which the case says it already."""


def contrast(a: str, b: str, library: Library, residual: Residual, rows: Sequence[int]) -> Proposal | None:
    """Which of two sentences is closer to the case, one about each outcome; none where a side has no sentence to quote.

    ``rows``: the spans of the library that may be quoted.
    """
    ours, theirs = (_quotable(x, y, library, residual, rows) for x, y in ((a, b), (b, a)))
    if ours is None or theirs is None:
        return None
    (first, one), (second, other) = ours, theirs
    neither = 1 - _CLOSER - _FURTHER
    labelled = any(span.label is not None for span in library.spans if span.id in (one, other))
    return Proposal(
        id=proposal_id(f"{first}/{second}", "contrast"),
        kind="question",
        text=f"Which is closer to this case: “{first}” or “{second}”?",
        subject=f"{first} / {second}",
        answers=(first, second, NONE_OF_THESE),
        table={a: (_CLOSER, _FURTHER, neither), b: (_FURTHER, _CLOSER, neither)},
        otherwise=(_FURTHER, _FURTHER, 1 - 2 * _FURTHER),
        expected={a: first, b: second},
        origin=(CONTRAST,) if labelled else (CONTRAST, NAMED),
        assumed=True,
        evidence=(one, other),
    )


def _quotable(
    of: str, against: str, library: Library, residual: Residual, rows: Sequence[int]
) -> tuple[str, str] | None:
    """The sentence about one outcome that tells most against the other, and the span it stands in."""
    if of not in library.place or against not in library.place:
        return None
    texts = {
        y: [set(library.terms[row]) for row in rows if library.subject[row] == library.place[y]] for y in (of, against)
    }
    known = [set(terms(sentence)) for sentence in sentences(residual.text)]
    case = f" {normal_text(f'{residual.question} {residual.text}')} "
    names = [set(terms(name)) for name in (of, against)]

    def tells(words: set[str]) -> float:
        own, other = (
            sum(word in text for text in texts[y] for word in words) / max(1, len(texts[y])) for y in (of, against)
        )
        return (own - other) / len(words)

    best: tuple[bool, float, int, str, str] | None = None
    for row in rows:
        if library.subject[row] != library.place[of] or is_list(library.spans[row].text):
            continue
        for sentence in _full(library.spans[row].text):
            said, words = " ".join(sentence.split()), set(terms(sentence))
            heard = f" {normal_text(said)} " in case or any(len(words & p) >= _SAID_SHARE * len(words) for p in known)
            long = len(words) >= _FEWEST and len(said.split()) >= _FEWEST_WORDS
            fits = long and len(said) <= _MOST_LETTERS and not said[0].islower()
            if not fits or heard or any(said in asked for asked in residual.asked) or tells(words) <= 0:
                continue
            named = any(name <= words for name in names)  # better one that does not give the outcome away
            found = (named, -tells(words), len(said), said, library.spans[row].id)
            best = found if best is None else min(best, found)
    return None if best is None else (best[3], best[4])


def _full(text: str) -> Iterator[str]:
    """The sentences of a text that end in a full stop, as titles and cells of tables do not."""
    start = 0
    for end in _SENTENCE.finditer(text):
        if end[0].startswith("."):
            yield text[start : end.start()]
        start = end.end()
