"""Spans, the pieces of evidence that arguments cite: citations with the check of their quotes, and sources that spans come from.

A span's id depends on its text alone, so the same sentence has the same id in every corpus, run and
transcript, and duplicates collapse.

A quote may paraphrase a little: its score is the share of its words that appear in the span in the same order, and it is
verified from ``quote_match`` on. A citation without a quote is verified by the span's existence.

Sources (:class:`EvidenceSource`): the case itself, the documents given with it (:class:`CaseEvidence`), and a corpus.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Annotated, Protocol

from pydantic import Field

from maci.cases.case import Case

_SPACE = re.compile(r"\s+")
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"')\]]*\s+(?=[\"'(\[]?[A-Z0-9])|\n{2,}")
_DATE = r"(?:\d{4}[-/.]\d\d[-/.]\d\d|\d{1,2}[-/. ](?:\d\d|[A-Z][a-z]{2})[-/. ]\d{2,4}|[A-Z][a-z]{2} +\d{1,2})"
_STAMP = re.compile(rf"^[^\S\n]*[\[(<]?(?:{_DATE}(?:[T ,:]|, ))?\d\d:\d\d(?::\d\d|\b)", re.MULTILINE)
"""A line that begins with a time, with or without a date: an entry of a log."""
_LINE = re.compile(r"^.*\S", re.MULTILINE)
_GAP = re.compile(r"\n(?:[^\S\n]*\n)+")


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of evidence with a stable id."""

    id: str
    """``s-`` and the first ten hex digits of the SHA-256 of the normalised text."""
    text: str
    source: str = ""
    """Where it came from: a file, a URL, ``case``."""
    start: int = 0
    """Position of the first character in the source text."""
    label: str | None = None
    """The outcome this span is about, where the corpus says so (a labelled example, an entry's title)."""
    order: Annotated[str, Field(exclude_if=lambda why: not why)] = ""
    """Why it reads like an instruction (:mod:`maci.evidence.orders`), once it has entered a debate; nothing where it does not."""

    @classmethod
    def of(cls, text: str, source: str = "", start: int = 0, label: str | None = None) -> Span:
        """A span whose id is derived from its text."""
        return cls(span_id(text), text, source, start, label)


def span_id(text: str) -> str:
    """The content id of a text.

    >>> span_id("High  fever.") == span_id("high fever.")
    True
    """
    normal = _SPACE.sub(" ", unicodedata.normalize("NFKC", text)).strip().casefold()
    return "s-" + hashlib.sha256(normal.encode()).hexdigest()[:10]


def sentences(text: str) -> Iterator[tuple[int, str]]:
    r"""Sentences of a text with their positions. Of a log, or a part of the text that is one: its entries.

    >>> list(sentences("High fever. Rash for 3.5 days."))
    [(0, 'High fever.'), (12, 'Rash for 3.5 days.')]
    >>> list(sentences("21:25:15 slow... FROM coupons\n21:25:16 Timeout. Retry"))
    [(0, '21:25:15 slow... FROM coupons'), (30, '21:25:16 Timeout. Retry')]
    """
    whole = is_log(text)
    if not whole and not any(is_log(block) for _, block in _blocks(text)):
        yield from _between((m.span() for m in _SENTENCE_END.finditer(text)), text)
        return
    for start, block in _blocks(text):
        stamps = [(m.start(), m.start()) for m in _STAMP.finditer(block)] if whole or is_log(block) else []
        ends = stamps or [m.span() for m in _SENTENCE_END.finditer(block)]
        yield from ((start + at, piece) for at, piece in _between(ends, block))


def _between(cuts: Iterable[tuple[int, int]], text: str) -> Iterator[tuple[int, str]]:
    start = 0
    for cut in [*cuts, (len(text), len(text))]:
        piece = text[start : cut[0]]
        if stripped := piece.strip():
            yield start + piece.index(stripped[0]), stripped
        start = cut[1]


def _blocks(text: str) -> Iterator[tuple[int, str]]:
    """What stands between blank lines; nothing of a text without a time stamp, which is not a log."""
    return _between((m.span() for m in _GAP.finditer(text)), text) if _STAMP.search(text) else iter(())


def is_log(text: str) -> bool:
    r"""Whether most lines of a text begin with a time stamp; one line alone is no log.

    >>> is_log("2026-11-18 21:25:15 GET /orders\n21:25:16 timeout. Retry"), is_log("Rent is due.\n10:30 is too late.")
    (True, False)
    """
    stamps = sum(1 for _ in _STAMP.finditer(text))
    return stamps > 1 and 2 * stamps > sum(1 for _ in _LINE.finditer(text))


def lines_of(text: str) -> Iterator[tuple[int, str]]:
    r"""The lines of a text that are not blank, with their positions.

    >>> list(lines_of("One.\n\n  Two. Three."))
    [(0, 'One.'), (8, 'Two. Three.')]
    """
    return _between((m.span() for m in re.finditer("\n", text)), text)


def estimate_tokens(text: str) -> int:
    """About how many tokens a language model reads in a text; errs upwards.

    >>> estimate_tokens("High fever for three days")
    7
    """
    return -(-max(4 * len(text.split()), len(text.encode("utf-8", "replace")) * 3 // 4) // 3)


_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Citation:
    """A span an argument rests on."""

    span: str
    quote: str | None = None


@lru_cache(maxsize=4096)
def quote_score(quote: str, text: str) -> float:
    """How much of a quote stands in a text, in [0, 1].

    >>> quote_score("high fever and rash", "She had a high fever and a rash.")
    1.0
    >>> quote_score("no fever at all", "She had a high fever and a rash.")
    0.25
    """
    said, there = _WORD.findall(quote.casefold()), _WORD.findall(text.casefold())
    if not said:
        return 0.0
    blocks = SequenceMatcher(None, said, there, autojunk=False).get_matching_blocks()
    return sum(block.size for block in blocks) / len(said)


def quote_places(quote: str, text: str) -> tuple[tuple[int, int], ...]:
    """Where the words of a quote stand in a text: from the first character of a run of words to behind its last.

    >>> text = "She had a high fever and a rash."
    >>> [text[start:end] for start, end in quote_places("High fever and rash", text)]
    ['high fever and', 'rash']
    """
    said = [word.casefold() for word in _WORD.findall(quote)]
    there = list(_WORD.finditer(text))
    blocks = SequenceMatcher(None, said, [word[0].casefold() for word in there], autojunk=False).get_matching_blocks()
    return tuple((there[b.b].start(), there[b.b + b.size - 1].end()) for b in blocks if b.size)


CASE = "case"
"""The source of spans cut from the case's own text."""
ACQUIRED = "acquired"
"""The source of spans that answer a question of the plan."""
ABOUT_CASE = frozenset({CASE, ACQUIRED})
"""Sources that speak of this case alone."""
_ALL = 1_000_000_000
"""Tokens: no limit."""


@dataclass(frozen=True, slots=True)
class Retrieval:
    """What was found for a case."""

    spans: tuple[Span, ...]
    """For agents to read, best first."""
    core: tuple[str, ...] = ()
    """Ids of those that fit about as well as the best: Q₀ is measured on these."""


class EvidenceSource(Protocol):
    """Anything spans can be had from."""

    def retrieve(self, query: str, k: int, max_tokens: int) -> Retrieval:
        """What to start with: ℰ⁽⁰⁾."""

    def get(self, span_id: str) -> Span | None:
        """The span with this id, or ``None`` if there is none: what agents cite is looked up here."""


def given_source(name: str) -> str:
    """The name of a source as somebody gave it; one that is reserved for the case, for answers or for the package is marked as given.

    >>> given_source("lease"), given_source("case"), given_source("built-in: manual")
    ('lease', 'given as case', 'given as built-in: manual')
    """
    reserved = name.casefold() in ABOUT_CASE or name.casefold().startswith("built-in")
    return f"given as {name}" if reserved else name


def document_spans(case: Case) -> tuple[Span, ...]:
    """The documents given with the case: whole where they carry an id of their own, else sentence by sentence."""
    spans: dict[str, Span] = {}
    for number, document in enumerate(case.evidence, 1):
        source = given_source(document.source) or f"evidence {number}"
        if document.id is not None:
            spans[document.id] = Span(document.id, document.text, source, 0, document.label)
        else:
            for start, text in sentences(document.text):
                span = Span.of(text, source, start, document.label)
                spans.setdefault(span.id, span)
    return tuple(spans.values())


class CaseEvidence:
    """The case's text and documents, and whatever ``search`` finds for the rest of the k places.

    Also answers for spans that only some agents hold (``held``), so that what they cite can be verified.
    """

    def __init__(
        self,
        case: Case,
        search: Callable[[str, int, int], Retrieval] | None = None,
        held: Sequence[Span] = (),
    ) -> None:
        self._case = tuple(Span.of(text, CASE, start) for start, text in sentences(case.context or case.question))
        self._documents, self._search = document_spans(case), search
        self._known = {span.id: span for span in (*held, *self._case, *self._documents)}

    def retrieve(self, query: str, k: int, max_tokens: int) -> Retrieval:
        """The case's own spans, then documents, then search results: k in all, of which at least half are not the case's.

        The case's own text is given whole, however long. A sentence of it that a document holds too is the document's; one that the
        search finds is still the case's. Documents and search results keep within ``max_tokens`` together; where not all documents
        fit, those that the search ranks highest are taken.
        """
        found, left = {span.id: span for span in self._case}, max_tokens
        places = max(k - len(found), (k + 1) // 2)
        for span in self._chosen(query, k, places, left):
            found[span.id] = span
            left -= estimate_tokens(span.text)
            places -= 1
        core = tuple(span.id for span in self._documents if span.id in found)
        if self._search is not None and places > 0 and left > 0:
            searched = self._search(query, places, left)
            found |= {span.id: span for span in searched.spans if span.id not in found}
            core = tuple(i for i in searched.core if i in found and found[i].source != CASE) or core
        self._known |= found
        return Retrieval(tuple(found.values()), core)

    def _chosen(self, query: str, k: int, places: int, tokens: int) -> list[Span]:
        """The documents' spans that fit, in their own order; the best of them where not all do."""
        spans = ranked = list(self._documents)
        if self._search is not None and (len(spans) > places or sum(estimate_tokens(s.text) for s in spans) > tokens):
            rank = {span.id: n for n, span in enumerate(self._search(query, max(4 * k, len(spans)), _ALL).spans)}
            ranked = sorted(spans, key=lambda span: rank.get(span.id, len(rank)))
        taken: set[str] = set()
        for span in ranked:
            cost = estimate_tokens(span.text)
            if len(taken) < places and cost <= tokens:
                taken.add(span.id)
                tokens -= cost
        return [span for span in spans if span.id in taken]

    def get(self, span_id: str) -> Span | None:
        """A span of the case, its documents, the search results or an agent's own."""
        return self._known.get(span_id)
