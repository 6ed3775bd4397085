"""Markdown without surprises: what comes from outside is text there too."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from maci.render.markup import clean

_MARKUP = re.compile(r"[\\`*|~]|(?<!\w)_|_(?!\w)|\](?=\()|^[#>+-]")
_HTML = re.compile(r"<(?=[A-Za-z/!?])|&(?=#?\w+;)")


def escape(value: str) -> str:
    r"""No markup from names, and one line.

    >>> print(escape("a|b_c <i> [x](y) *z*"))
    a\|b_c &lt;i> [x\](y) \*z\*
    """
    flat = _MARKUP.sub(lambda found: "\\" + found[0], " ".join(clean(value).split()))
    return _HTML.sub(lambda found: "&lt;" if found[0] == "<" else "&amp;", flat)


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, words: int = 1) -> str:
    r"""A table in GitHub's dialect; the first ``words`` columns are text, the others figures.

    >>> print(table(["a", "b"], [["x|y", "1"]]))
    | a | b |
    |---|---:|
    | x\|y | 1 |
    """
    lines = ["| " + " | ".join(map(escape, head)) + " |", "|" + "---|" * words + "---:|" * (len(head) - words)]
    return "\n".join([*lines, *("| " + " | ".join(map(escape, row)) + " |" for row in rows)])
