"""Citations and whether their quotes stand in the text they name.

A quote may paraphrase a little: its score is the share of its words that appear in the span in the same order, and it is
verified from ``quote_match`` on. A citation without a quote is verified by the span's existence.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache

__all__ = ["Citation", "quote_places", "quote_score"]

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
