"""Spans: the pieces of evidence that arguments cite.

A span's id depends on its text alone, so the same sentence has the same id in every corpus, run and
transcript, and a duplicate collapses by itself.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["Span", "estimate_tokens", "sentences", "span_id"]

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
