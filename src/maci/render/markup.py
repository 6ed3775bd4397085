"""HTML that is safe to show, and numbers written for people.

**Elements** (:func:`el`). Everything is escaped unless it was made here, so text of models and documents cannot become markup. It
cannot hide either: control and direction characters are shown as �.

>>> el("p", "a < b ", el("b", "& c"), class_="note")
'<p class="note">a &lt; b <b>&amp; c</b></p>'
>>> el("input", type="text", required=True, value=None)
'<input type="text" required>'

**Pages** (:func:`document`): head, style, policy and script around a body. A page needs no network, and no script to be readable.

**Numbers** (:func:`fixed`, :func:`signed`, :func:`percent`): a minus sign, a no-break space before %, and a sign where a change is
meant. JSON and ``--plain`` keep the ASCII that programs read.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Sequence
from html import escape
from typing import Any

from maci.errors import InputError
from maci.render.style import hash_of, script, sheet

_BELOW_ZERO = re.compile(r"(?<![\w.−-])-(?=\d+\.\d)")
_PERCENT = re.compile(r"(?<=\d) ?%")


def fixed(value: float, digits: int, form: str = "") -> str:
    """A number with so many digits; nothing is "minus zero". ``form``: "+" for a sign in any case, "," to set off thousands.

    >>> fixed(-0.0814, 3), fixed(-0.0001, 2), fixed(1.5, 1), fixed(-12345.6, 1, ",")
    ('−0.081', '0.00', '1.5', '−12,345.6')
    """
    written = f"{value:{form}.{digits}f}"
    return written.lstrip("+-") if float(written.replace(",", "")) == 0 else written.replace("-", "−")


def signed(value: float, digits: int) -> str:
    """How far something moved.

    >>> signed(0.031, 2), signed(-0.2, 2), signed(-0.001, 2)
    ('+0.03', '−0.20', '0.00')
    """
    return fixed(value, digits, "+")


def percent(p: float | None) -> str:
    """A probability; 100 % and 0 % are kept for what is certain, and the space does not break.

    >>> [" ".join(percent(p).split()) for p in (None, 0.8349, 0.9996, 1.0, 0.0004)]
    ['–', '83 %', '> 99 %', '100 %', '< 1 %']
    """
    if p is None:
        return "–"
    if 0.995 <= p < 1:
        return ">\N{NO-BREAK SPACE}99\N{NO-BREAK SPACE}%"
    if 0 < p < 0.005:
        return "<\N{NO-BREAK SPACE}1\N{NO-BREAK SPACE}%"
    return f"{100 * p:.0f}\N{NO-BREAK SPACE}%"


def listed(names: Iterable[str], most: int = 0) -> str:
    """Names as a sentence lists them; of more than ``most`` the first, and how many others there are.

    >>> listed(["a"]), listed(["a", "b", "c"]), listed(["a", "b", "c"], 2), listed(["a", "b", "c", "d"], 2)
    ('a', 'a, b and c', 'a, b and c', 'a, b and 2 more')
    """
    *first, last = names
    if most and len(first) > most:
        first, last = first[:most], f"{len(first) + 1 - most} more"
    return f"{', '.join(first)} and {last}" if first else last


def plain(text: str) -> str:
    """A text for programs, which search it: spaces that do not break are spaces.

    >>> plain(f"Gout ({percent(0.19)} overall)") == "Gout (19 % overall)"
    True
    """
    return text.replace("\N{NO-BREAK SPACE}", " ")


def typeset(sentence: str) -> str:
    """A sentence of the record with its numbers as people write them; labels such as -2 stay as they are.

    >>> typeset("q -0.081 < τ_Q 0.100; -2 leads"), typeset("x-1.5")
    ('q −0.081 < τ_Q 0.100; -2 leads', 'x-1.5')
    """
    return _PERCENT.sub("\N{NO-BREAK SPACE}%", _BELOW_ZERO.sub("−", sentence))


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


def visible_json(json: str) -> str:
    r"""JSON with the same data, in which such characters are written as escapes.

    >>> visible_json('"a\x9bb"')
    '"a\\u009bb"'
    """
    return _HIDDEN.sub(lambda found: f"\\u{ord(found[0]):04x}", json)


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


def grid(
    label: str, head: Iterable[Child], rows: Child, *, words: Container[Child] = (), kind: str = "", caption: str = ""
) -> Markup:
    """A table that scrolls in a region of its own: the heads of its columns, those in ``words`` over text, and its rows.

    >>> grid("Ages", ["who", "age"], el("tr", el("th", "Ada", scope="row"), el("td", 36)), words=["who"])[:82]
    '<div class="scroll" tabindex="0" role="region" aria-label="Ages"><table><thead><tr'
    """
    top = el("tr", (el("th", name, scope="col", class_="words" if name in words else None) for name in head))
    said = el("caption", caption, class_="unseen") if caption else None
    table = el("table", said, el("thead", top), el("tbody", rows), class_=kind or None)
    return el("div", table, class_="scroll", tabindex=0, role="region", aria_label=label)


def policy() -> str:
    """What a page in one file may do: its own style and script, and nothing else."""
    return (
        f"default-src 'none'; style-src {hash_of(sheet())}; script-src {hash_of(script())}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def document(title: str, *body: Child, lang: str = "en", back: Sequence[tuple[str, str]] = ()) -> str:
    """One self-contained HTML file. ``back``: links and their names, where it is a page among others."""
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", http_equiv="Content-Security-Policy", content=policy()),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="referrer", content="no-referrer"),
        el("title", title),
        el("style", Markup(sheet())),
    )
    theme = el("button", "Dark", type="button", class_="theme", hidden=True)
    links = el("ul", (el("li", el("a", name, href=link)) for link, name in back))
    page = el(
        "body",
        el("a", "To the content", href="#main", class_="skip"),
        theme,
        el("nav", links, aria_label="Main", class_="back") if back else None,
        *body,
        el("script", Markup(script())),
    )
    return join(Markup("<!doctype html>\n"), el("html", head, Markup("\n"), page, lang=lang), Markup("\n"))
