"""A whole page: head, style, policy and script around a body. It needs nothing else: no network, no script to be readable."""

from __future__ import annotations

from collections.abc import Sequence

from maci.page.markup import Child, Markup, el, join
from maci.page.style import hash_of, script, sheet

__all__ = ["document", "policy"]


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
