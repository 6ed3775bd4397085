"""The text a reader of an HTML page would see."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html.parser import HTMLParser

__all__ = ["visible_text"]

_HIDDEN = {"script", "style", "noscript", "template", "svg", "math", "iframe", "object", "select", "textarea"}
_BLOCK_TAGS = """
address article aside blockquote body br caption dd details div dl dt figcaption figure footer form h1 h2 h3 h4 h5 h6
header hr html li main nav ol p pre section summary table td th title tr ul
"""
_BLOCKS = frozenset(_BLOCK_TAGS.split())
_INLINE_SPACE = re.compile(r"\s+")
_SPACE = re.compile(r" ?\n[ \n]*")


def visible_text(blocks: Iterable[str]) -> str:
    r"""Text without markup, scripts and styles; block elements become paragraphs.

    >>> visible_text(["<h1>Dengue</h1><p>High&nbsp;fe", "ver <b>and</b> rash.<script>x()</script>"])
    'Dengue\n\nHigh fever and rash.'
    """
    parser = _Parser()
    for block in blocks:
        parser.feed(block)
    parser.close()
    return _SPACE.sub("\n\n", "".join(parser.pieces)).strip()


class _Parser(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _HIDDEN:
            self._hidden += 1
        elif tag in _BLOCKS:
            self.pieces.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag in _HIDDEN:
            self._hidden = max(0, self._hidden - 1)
        elif tag in _BLOCKS:
            self.pieces.append("\n")

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.pieces.append(_INLINE_SPACE.sub(" ", data))
