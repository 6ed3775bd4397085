"""What every page has: head, navigation, main, a place for what is said to screen readers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from importlib.resources import files

from maci._version import __version__
from maci.page.markup import Child, Markup, el, join
from maci.page.style import script as page_script
from maci.page.style import sheet
from maci.web.guard import Visit

__all__ = ["STATIC", "hidden", "page", "problem", "static"]

_NAV = (("/", "Debates"), ("/new", "New debate"), ("/compare", "Compare"), ("/studies", "Studies"))
STATIC = {"style.css": "text/css", **dict.fromkeys(("page.js", "live.js", "files.js"), "text/javascript")}


@cache
def static(name: str) -> bytes:
    """The content of a static file."""
    if name == "style.css":
        return (sheet() + _part("web.css")).encode()
    return page_script().encode() if name == "page.js" else _part(name).encode()


@cache
def _link(name: str) -> str:
    """Where a static file is; the link changes when the file does, so that browsers may keep it."""
    return f"/static/{name}?v={sha256(static(name)).hexdigest()[:12]}"


def _part(name: str) -> str:
    return files("maci.web").joinpath("static", name).read_text(encoding="utf-8")


def page(title: str, *body: Child, here: str = "", refresh: int | None = None, script: str = "") -> str:
    """A whole page, with a ``script`` of its own; ``refresh``: seconds after which browsers without scripts fetch it again."""
    scripts = ["page.js", *([script] if script else [])]
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("title", f"{title} · MACI"),
        el("link", rel="stylesheet", href=_link("style.css")),
        (el("script", src=_link(name), type="module" if name == script else None, defer=True) for name in scripts),
        el("noscript", el("meta", http_equiv="refresh", content=str(refresh))) if refresh else None,
    )
    links = [el("li", el("a", name, href=link, aria_current="page" if link == here else None)) for link, name in _NAV]
    top = el(
        "header", el("a", "MACI", href="/", class_="brand"), el("nav", el("ul", links), aria_label="Main"), class_="top"
    )
    theme = el("button", "Dark", type="button", class_="theme", hidden=True)
    foot = el(
        "footer",
        el("p", f"MACI {__version__}. Every figure comes from the records of debates and studies on this machine."),
    )
    content = el(
        "body",
        el("a", "To the content", href="#main", class_="skip"),
        top,
        theme,
        el("main", body, id="main"),
        foot,
        class_="app",
    )
    return join(Markup("<!doctype html>\n"), el("html", head, Markup("\n"), content, lang="en"), Markup("\n"))


def hidden(visit: Visit, **fields: str) -> Markup:
    """The fields of a form that nobody fills in; among them the word that only our pages know."""
    every = {"word": visit.word, **fields}
    return join(*(el("input", type="hidden", name=name, value=value) for name, value in every.items()))


def problem(title: str, message: str, next_steps: Sequence[tuple[str, str]] = (("/", "All debates"),)) -> str:
    """A page that says what went wrong and where to go from here."""
    links = (el("li", el("a", name, href=link)) for link, name in next_steps)
    return page(
        title, el("h1", title), el("div", el("p", message), class_="verdict wrong", role="alert"), el("ul", links)
    )
