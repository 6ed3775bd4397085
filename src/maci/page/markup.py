"""Elements of a page, with everything escaped unless it was made here.

>>> el("p", "a < b ", el("b", "& c"), class_="note")
'<p class="note">a &lt; b <b>&amp; c</b></p>'
>>> el("input", type="text", required=True, value=None)
'<input type="text" required>'

Text of models and documents cannot become markup, and cannot hide: control and direction characters are shown as �.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape
from typing import Any

from maci.errors import InputError

__all__ = ["Child", "Markup", "clean", "el", "escaped", "join"]

_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff\ufffe\uffff]"
)
_VOID = frozenset({"br", "hr", "img", "input", "link", "meta", "wbr"})
_SHAPES = frozenset({"circle", "line", "path", "polygon", "polyline", "rect", "stop", "use"})
_LINKS = frozenset({"href", "src", "action", "formaction"})
_SAFE_LINK = re.compile(
    r"(#|\?|/(?!/)|https?://|[\w.-]+(/|$)|[\w./-]+\.(html|md|svg|png|json|jsonl|csv)([#?]|$))", re.I
)


class Markup(str):
    """A string that is markup already: made here, never from outside."""

    __slots__ = ()


Child = str | float | None | Iterable[Any]
"""What an element may hold: text (escaped), markup (kept), numbers, nothing, or several of these."""


def clean(text: str) -> str:
    r"""A text without characters that hide or turn around what is written.

    >>> clean("a\u202eb\x07c")
    'a�b�c'
    """
    return _HIDDEN.sub("�", text)


def escaped(text: str) -> Markup:
    """Text as markup that shows it."""
    return Markup(escape(clean(text)))


def join(*children: Child) -> Markup:
    """Several children one after another."""
    return Markup("".join(map(_child, children)))


def el(tag: str, *children: Child, **attributes: Any) -> Markup:
    """An element. ``class_`` is class, ``aria_label`` is aria-label; True is an attribute without a value, None and False are none.

    Attributes that run scripts or carry styles are refused, and so are links that a browser would run.
    """
    head = tag + "".join(_attribute(name, value) for name, value in attributes.items())
    if tag in _VOID:
        return Markup(f"<{head}>")
    inside = "".join(map(_child, children))
    return Markup(f"<{head}/>" if tag in _SHAPES and not inside else f"<{head}>{inside}</{tag}>")


def _child(child: Child) -> str:
    if child is None or child is False or child is True:
        return ""
    if isinstance(child, Markup):
        return child
    if isinstance(child, str):
        return escaped(child)
    if isinstance(child, int | float):
        return _number(child)
    return "".join(map(_child, child))


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def _attribute(name: str, value: object) -> str:
    if value is None or value is False:
        return ""
    name = name.rstrip("_").replace("_", "-")
    if name.startswith("on") or name == "style":
        raise InputError(f"attribute {name} is not allowed on a page: put it into the style sheet or the script")
    if value is True:
        return f" {name}"
    written = _number(value) if isinstance(value, int | float) else str(value)
    if name in _LINKS and not _SAFE_LINK.match(written):
        raise InputError(f"{name}={written!r} is not a link a page may have: use #…, a path, http or https")
    return f' {name}="{escaped(written)}"'
