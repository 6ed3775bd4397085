r"""Finds what is worth asking about a case: what it already says, which phrases separate the outcomes, what a source offers.

**What the case already says** (:class:`Mentioned`). A question that the case answers, with yes or with no, is not asked. A case
mentions a symptom if one sentence has all its terms; if one clause has them in other forms (stiff neck, neck stiffness); or if
one clause has another wording of it (`evidence/builtin/wordings.yaml`). The light encoder does not help here: "retro-orbital
pain" is as close to "by pain" (0.51) as to anything a case says about eyes, and "upper abdominal pain", worth asking, counts as
said by "abdominal pain" (0.93).

**Phrases that separate outcomes** (:class:`Features`): those that occur in a labelled corpus in the texts about some outcomes and
not in the texts about others.

.. math:: P(\text{present} \mid y) = \frac{k_y + m\,b}{n_y + m}

=====  ============================================================================
k_y    texts about y that contain the phrase, of n_y
b      the share of all texts that contain it
m      how many texts the shared rate is worth (chosen on development cases)
=====  ============================================================================

Where texts are lists (``itching, skin rash, …``) a phrase is an entry; in prose it is a run of one to three telling words.

**Sections that a source offers** (:func:`offered`): known by name alone ("Vital Signs", "Chest X-ray"). The content of a section
is not known before it is asked for, but texts about an outcome that mention the section suggest that it matters for that outcome.
So the two answers are that the section speaks for the outcomes whose texts mention it, or that it does not:

.. math:: P(\text{speaks} \mid y) = \tfrac12 + \lambda\,(r_y - \bar r)

=====  ============================================================================================
r_y    how far the texts about y mention the section: the mean share of them that hold each term of its name
r̄      the same over all texts
λ      at most ½, so that the row stays a probability; what a name tells is a guess, and marked as one
=====  ============================================================================================

Every section is assumed to say at least a little about the leading outcome, even one that no text separates. The result of a test is
assumed to say more about it than what was said or seen.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from maci.acquisition.gain import gain
from maci.acquisition.plan import Proposal, Residual, proposal_id, table_of
from maci.agents.argument import Kind
from maci.agents.reader.library import Library, rate
from maci.cases.outcomes import normal
from maci.evidence.knowledge import wordings
from maci.evidence.lexical import normal_text, terms
from maci.evidence.span import Span
from maci.moderator.belief import Vector

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
        self._text = f" {normal_text(text)} "
        self._other_words = wordings() if other_words is None else other_words

    def says(self, subject: str) -> bool:
        """Whether it speaks of it, to confirm or to deny."""
        named = frozenset(terms(subject))
        if not named:
            return False
        if any(named <= sentence for sentence in self._sentences) or self._in_a_clause(stems(subject)):
            return True
        return any(map(self._worded, self._other_words.get(subject, ())))

    def _worded(self, words: str) -> bool:
        """One telling word says little without the small ones around it (no fever, the runs): then as it is written."""
        if len(terms(words)) < len(words.split()) and len(terms(words)) < 2:
            return f" {normal_text(words)} " in self._text
        return self._in_a_clause(stems(words))

    def _in_a_clause(self, wanted: frozenset[str]) -> bool:
        return any(wanted <= clause for clause in self._clauses)


def sentences(text: str) -> list[str]:
    """The sentences of a text, one of which must speak of something for the text to do so.

    >>> sentences("It is 38.5 degrees. No rash!")
    ['It is 38.5 degrees', 'No rash']
    """
    return [part for part in _SENTENCE.split(text) if part]


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
_LONGEST_ENTRY = 4
_LISTS = 0.6
"""Share of short entries from which a corpus counts as one of lists."""
_FILLERS = """
usually often commonly sometimes may many much people patient patients person feel feels feeling felt like get gets
got make makes made say says said also however one two three new first last day days week weeks month months year
years time times cause causes caused bring brings tell tells notice since around even still well long lot really quite
rather
"""
_GENERAL = frozenset(_FILLERS.split())
"""Words that say little of anything; a phrase of prose does not begin or end with one, nor consist of one."""


@dataclass(frozen=True, slots=True)
class Feature:
    """A phrase and the texts it stands in."""

    key: tuple[str, ...]
    """Its terms."""
    words: str
    """As it is most often written."""
    rows: NDArray[np.intp]


class Features:
    """The phrases of a corpus of texts about outcomes, with their rates."""

    def __init__(
        self,
        spans: Sequence[Span],
        subject: NDArray[np.intp],
        outcomes: Sequence[str],
        *,
        names: Iterable[str] = (),
        smoothing: float | None = None,
    ) -> None:
        self.spans, self.outcomes = spans, tuple(outcomes)
        written: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
        rows: dict[tuple[str, ...], list[int]] = defaultdict(list)
        split = [_entries(span.text) for span in spans]
        self._lists = lists = _are_lists(split)
        for row, entries in enumerate(split):
            for key, words in _phrases(entries, lists).items():
                written[key][words] += 1
                rows[key].append(row)
        telling = _not_names({normal(name) for name in (*outcomes, *names)}, rows, subject, len(outcomes))
        found: dict[bytes, Feature] = {}
        for key in telling:
            if len(rows[key]) < 2 and not lists:
                continue
            where = np.array(rows[key], np.intp)
            feature = Feature(key, min(written[key], key=lambda w: (-written[key][w], w)), where)
            known = found.get(where.tobytes())
            if known is None or len(feature.words) > len(
                known.words
            ):  # of phrases that always go together, the fullest
                found[where.tobytes()] = feature
        self.all = tuple(sorted(found.values(), key=lambda f: f.key))
        """Every phrase."""
        self._size = np.bincount(subject, minlength=len(outcomes)).astype(np.float64)
        counts = np.zeros((len(self.all), len(outcomes)))
        for i, feature in enumerate(self.all):
            np.add.at(counts[i], subject[feature.rows], 1.0)
        base = (counts.sum(axis=1) + 0.5) / (self._size.sum() + 1.0)
        self.base = base
        """The share of all texts in which each stands."""
        self.present = rate(counts, self._size, base[:, None], SMOOTHING if smoothing is None else smoothing)
        """P(present | y): a row for each phrase."""

    def open(self, text: str, asked: Sequence[str] = ()) -> NDArray[np.bool_]:
        """Which phrases a case text does not mention, and nobody has asked about.

        A text mentions a phrase if one of its entries holds all the terms, where texts are lists; in prose, one of its sentences:
        a fever that is high is a high fever, a neck in one sentence and something stiff in the next is no stiff neck.
        """
        parts = [" ".join(words) for words in _entries(text)] if self._lists else sentences(text)
        said = [frozenset(terms(part)) for part in parts]
        known = frozenset().union(*said)
        done = {frozenset(terms(subject)) for subject in asked}

        def mentioned(key: tuple[str, ...]) -> bool:
            return known.issuperset(key) and any(part.issuperset(key) for part in said)

        return np.array([not mentioned(f.key) and frozenset(f.key) not in done for f in self.all], dtype=bool)


def _entries(text: str) -> list[list[str]]:
    return [words for part in _ENTRY.split(text) if (words := _WORDS.findall(part))]


def _are_lists(split: Sequence[Sequence[Sequence[str]]]) -> bool:
    entries = [len(words) for text in split for words in text]
    short = sum(length <= _LONGEST_ENTRY for length in entries)
    return len(entries) >= 2 * len(split) > 0 and short >= _LISTS * len(entries)


def _phrases(entries: Sequence[Sequence[str]], lists: bool) -> Mapping[tuple[str, ...], str]:
    found: dict[tuple[str, ...], str] = {}
    for words in entries:
        if lists:
            if len(words) <= _LONGEST_ENTRY and (key := tuple(terms(" ".join(words)))):
                found.setdefault(key, " ".join(words).casefold())
            continue
        for length in (1, 2, 3):
            for start in range(len(words) - length + 1):
                run = [word.casefold() for word in words[start : start + length]]
                if run[0] in _GENERAL or run[-1] in _GENERAL or any(len(word) < 4 for word in (run[0], run[-1])):
                    continue
                key = tuple(terms(" ".join(run)))
                if key and terms(run[0]) and terms(run[-1]):
                    found.setdefault(key, " ".join(run))
    return found


def _not_names(
    names: set[str], rows: Mapping[tuple[str, ...], list[int]], subject: NDArray[np.intp], outcomes: int
) -> list[tuple[str, ...]]:
    """Phrases that are not the name of an outcome, nor hold a word that only names are made of."""
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


_MOST = 24
"""Sections that go on record at once."""
LISTED = 1e-3
"""Outcomes below this probability share the row ``otherwise``."""
_STRETCH = 0.45
"""λ."""
_LITTLE, _DECIDES = 0.05, 0.25
"""What a section is assumed to tell of the leading outcome: anything, and the result of a test, which is done to decide."""
_SAID = re.compile(r"\b(history|symptoms?|demographics|complaint)\b", re.IGNORECASE)
_SEEN = re.compile(r"\b(physical|examination|vital signs|inspection|palpation|auscultation)\b", re.IGNORECASE)


def spoken_of(name: str, library: Library) -> Vector:
    """r_y, a number for each outcome of the library; r̄ where it has no text about one.

    >>> from maci.evidence.encode import load_encoder
    >>> from maci.evidence.span import Span
    >>> texts = [Span.of("A shadow on the chest X-ray.", label="Pneumonia"), Span.of("A swollen toe.", label="Gout")]
    >>> spoken_of("Imaging, Chest X-ray", Library(texts, ("Gout", "Measles", "Pneumonia"), load_encoder())).round(2).tolist()
    [0.0, 0.38, 0.75]
    """
    n = len(library.outcomes)
    sizes = np.bincount(library.subject, minlength=n).astype(np.float64)
    words = sorted(set(terms(name)))
    if not words or not len(library.spans):
        return np.zeros(n)
    here = np.array([library.mentions(word) for word in words], dtype=np.float64).mean(axis=0)
    sums = np.bincount(library.subject, weights=here, minlength=n)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(sizes > 0, sums / np.maximum(sizes, 1.0), here.mean()), dtype=np.float64)


def offered(menu: Iterable[str], residual: Residual, library: Library | None) -> tuple[Proposal, ...]:
    """A candidate for each section that was not asked for yet, the most telling first."""
    p = np.array(residual.p)
    found = [_section(name, residual, library) for name in dict.fromkeys(menu) if name not in residual.asked]
    return tuple(sorted(found, key=lambda c: (-gain(p, table_of(c, residual.labels)), c.id)))[:_MOST]


def _section(name: str, residual: Residual, library: Library | None) -> Proposal:
    speaks = np.full(len(residual.labels), 0.5)
    if library is not None:
        inside = [i for i, label in enumerate(residual.labels) if label in library.place]
        own = spoken_of(name, library)[[library.place[residual.labels[i]] for i in inside]]
        weights = np.array(residual.p)[inside]
        middle = float(own @ weights / weights.sum()) if weights.sum() > 0 else 0.0
        speaks[inside] += _STRETCH * (own - middle)
    kind = _kind(name)
    speaks[int(np.argmax(residual.p))] += _DECIDES if kind == "test" else _LITTLE
    speaks = np.clip(speaks, 0.02, 0.98)
    listed = {label: i for i, label in enumerate(residual.labels) if residual.p[i] >= LISTED}
    return Proposal(
        id=proposal_id(name, "menu"),
        kind=kind,
        text=f"{name}: what does it show?",
        subject=name,
        answers=("speaks for it", "does not"),
        table={label: (float(speaks[i]), 1 - float(speaks[i])) for label, i in listed.items()},
        otherwise=(0.5, 0.5),
        origin=("menu",),
        assumed=True,
    )


def _kind(name: str) -> Kind:
    """Sections of a record: what the patient said, what was seen at the bedside, or the result of a test."""
    if _SAID.search(name):
        return "history"
    return "question" if _SEEN.search(name) else "test"
