"""What a file that somebody hands in may be at most, checked before a recursive parser sees it.

============  ===============================================================================================
size          ``BYTES`` of a document, or of one line of JSONL
nesting       ``DEPTH`` levels: :func:`check_text` by brackets and dotted keys, YAML by its events
              (:func:`maci.files.parse.check_yaml`), :func:`check_data` whatever was parsed
values        ``NODES``, those that a YAML alias repeats counted each time
numbers       ``DIGITS`` of a whole number: none that ``float`` and ``str`` cannot take
text          what UTF-8 can write
============  ===============================================================================================
"""

from __future__ import annotations

import re
from typing import Any, Literal

BYTES = 8 << 20
DEPTH = 64
NODES = 200_000
DIGITS = 300
_LONGEST = 10**DIGITS
_SMALL = 1 << 16
"""Characters of a document that may be parsed in this process, where its text shows that nothing in it can grow."""

Kind = Literal["YAML", "TOML", "JSON"]


class Beyond(ValueError):
    """Which bound, what was found, and what to do; what the file is called stands before it."""


_BRACKETS = {
    "JSON": re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[\]{}]', re.DOTALL),
    "TOML": re.compile(
        r'"""(?:[^"\\]++|\\.|"(?!""))*+(?:""")?|\'\'\'(?:[^\']++|\'(?!\'\'))*+(?:\'\'\')?'
        r'|"(?:[^"\\\n]++|\\.)*+"?|\'[^\'\n]*+\'?|#[^\n]*+|[\[\]{}]',
        re.DOTALL,
    ),
}
"""Strings and comments, which are passed over, and brackets. An unfinished string runs on: what is after it is not parsed."""
_DOTTED = re.compile(rf"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){{{DEPTH}}}""")
_REFERENCE = re.compile(r"(?<!\w)[&*!]\S|^%|\t|^ {65}", re.MULTILINE)
"""In YAML: an anchor, an alias, a tag, a directive; deep indentation."""


def check_size(size: int, most: int = BYTES) -> None:
    """Refuse what is too large to be read at once."""
    if size > most:
        raise Beyond(
            f"has more than {most:,} bytes, the most that is read: split it, or give long texts as evidence (`maci index`, --corpus)"
        )


def check_text(text: str, kind: Literal["TOML", "JSON"]) -> None:
    """Refuse TOML or JSON that is nested too deep, by its brackets and dotted keys.

    >>> check_text('{"a": "[[[["}', "JSON")
    >>> check_text("[" * 65, "JSON")
    Traceback (most recent call last):
    maci.files.bounds.Beyond: is nested more than 64 deep (line 1): write it flatter
    """
    if kind == "TOML" and (found := _DOTTED.search(text)):
        raise too_deep(_line(text, found.start()))
    if text.count("[") + text.count("{") <= DEPTH:
        return
    depth = 0
    for found in _BRACKETS[kind].finditer(text):
        if found[0] in "[{":
            depth += 1
            if depth > DEPTH:
                raise too_deep(_line(text, found.start()))
        elif found[0] in "]}":
            depth -= 1


def too_deep(line: int) -> Beyond:
    """A document that is nested beyond the bound, in this line."""
    return Beyond(f"is nested more than {DEPTH} deep (line {line:,}): write it flatter")


def too_long() -> Beyond:
    """A document with a number beyond the bound."""
    return Beyond(f"has a whole number of more than {DIGITS} digits: write it between quotes")


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def harmless(text: str, kind: Kind) -> bool:
    """Whether the text shows that parsing it takes little: it is short, shallow and says nothing twice.

    >>> harmless("question: Dengue & fever?", "YAML"), harmless("a: &b [*b]", "YAML"), harmless("- " * 100, "YAML")
    (True, False, False)
    """
    if kind != "YAML" or len(text) > _SMALL:
        return len(text) <= _SMALL
    if text.count("[") + text.count("{") > DEPTH or _REFERENCE.search(text):
        return False
    return all(line.count("- ") + line.count("? ") + line.count(": ") <= DEPTH for line in text.splitlines())


def check_data(data: Any) -> None:
    """Refuse parsed data that are too many, too deep, or hold what cannot be written again."""
    left, count = [(data, 1)], 0
    while left:
        value, depth = left.pop()
        count += 1
        if depth > DEPTH:
            raise Beyond(f"is nested more than {DEPTH} deep, or refers to itself: write it flatter")
        if count > NODES:
            raise Beyond(f"has more than {NODES:,} values: split it")
        if isinstance(value, str):
            check_string(value)
        elif isinstance(value, int):
            if not -_LONGEST < value < _LONGEST:
                raise too_long()
        elif isinstance(value, dict):
            left += ((part, depth + 1) for pair in value.items() for part in pair)
        elif isinstance(value, list | tuple | set):
            left += ((part, depth + 1) for part in value)


def check_string(value: str) -> None:
    """Refuse half of a surrogate pair, which no file can hold."""
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise Beyond(
            f"has {value[error.start : error.end]!r}, which is not text that UTF-8 can write: remove it"
        ) from error
