"""Long text → pieces of about 60 to 120 words that still stand on their own.

Sentences are packed in order until a piece is full; past the lower bound it ends at the next paragraph. A
piece is always an exact slice of the text, so position and quotations can be checked.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator

from maci.evidence.span import sentences

LEAST, MOST = 60, 120
_LETTERS_PER_WORD = 8
_PARAGRAPH = re.compile(r"\n[^\S\n]*\n\s*")
_BLOCK = 1 << 20


def words(text: str) -> int:
    """Length in words; script without spaces counts eight letters as one.

    >>> words("High fever for three days"), words("高熱が三日間続いている患者です")
    (5, 1)
    """
    return max(len(text.split()), len(text) // _LETTERS_PER_WORD)


def chunks(text: str, *, least: int = LEAST, most: int = MOST) -> Iterator[tuple[int, str]]:
    r"""Pieces of a text with their positions.

    >>> list(chunks("One two. Three four.\n\nFive six.", least=2, most=4))
    [(0, 'One two. Three four.'), (22, 'Five six.')]
    """
    start = end = size = 0
    for first, last, new_paragraph in _sentences(text, most):
        length = words(text[first:last])
        if size and (size + length > most or (new_paragraph and size >= least)):
            yield start, text[start:end]
            size = 0
        if not size:
            start = first
        end, size = last, size + length
    if size:
        yield start, text[start:end]


def stream_chunks(blocks: Iterable[str]) -> Iterator[tuple[int, str]]:
    """:func:`chunks` over text that arrives in blocks and is never held as a whole."""
    held, offset = "", 0
    for block in blocks:
        held += block
        if len(held) >= _BLOCK:
            cut = _last_break(held)
            yield from ((offset + start, piece) for start, piece in chunks(held[:cut]))
            held, offset = held[cut:], offset + cut
    yield from ((offset + start, piece) for start, piece in chunks(held))


def _sentences(text: str, most: int) -> Iterator[tuple[int, int, bool]]:
    """(start, end, opens a paragraph) of each sentence; one that is too long is cut between words."""
    starts = [0, *(match.end() for match in _PARAGRAPH.finditer(text)), len(text)]
    for begin, stop in itertools.pairwise(starts):
        opens = True
        for at, sentence in sentences(text[begin:stop]):
            for first, last in _fitting(sentence, most):
                yield begin + at + first, begin + at + last, opens
                opens = False


def _fitting(sentence: str, most: int) -> Iterator[tuple[int, int]]:
    if words(sentence) <= most:
        yield 0, len(sentence)
        return
    start = end = count = 0
    for match in re.finditer(rf"\S{{1,{_LETTERS_PER_WORD * most}}}", sentence):
        grown = max(count + 1, (match.end() - start) // _LETTERS_PER_WORD)
        if count and grown > most:
            yield start, end
            start, count = match.start(), 0
        count, end = count + 1, match.end()
    if count:
        yield start, end


def _last_break(text: str) -> int:
    """Just after the last paragraph, line or word of a block; a block without any is cut where it ends."""
    for mark in ("\n\n", "\n", " "):
        if (at := text.rfind(mark, len(text) // 2)) >= 0:
            return at + len(mark)
    return len(text)
