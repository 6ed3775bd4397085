"""Spans, the pieces of evidence that arguments cite, and citations with the check of their quotes.

A span's id depends on its text alone, so the same sentence has the same id in every corpus, run and
transcript, and duplicates collapse.

A quote may paraphrase a little: its score is the share of its words that appear in the span in the same order, and it is
verified from ``quote_match`` on. A citation without a quote is verified by the span's existence.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Annotated

from pydantic import Field

_SPACE = re.compile(r"\s+")
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"')\]]*\s+(?=[\"'(\[]?[A-Z0-9])|\n{2,}")


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
    """Sentences of a text with their positions.

    >>> list(sentences("High fever. Rash for 3.5 days."))
    [(0, 'High fever.'), (12, 'Rash for 3.5 days.')]
    """
    start = 0
    for cut in [*(m.span() for m in _SENTENCE_END.finditer(text)), (len(text), len(text))]:
        piece = text[start : cut[0]]
        if stripped := piece.strip():
            yield start + piece.index(stripped[0]), stripped
        start = cut[1]


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
