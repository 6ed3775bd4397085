"""Smaller pages: studies, and the door."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from maci.page.markup import el
from maci.web.pages.layout import page

__all__ = ["sign_in_page", "studies_page"]


def studies_page(found: Sequence[tuple[str, str]], folder: Path) -> str:
    """The studies there are: name and how far each is."""
    where = f"Results are looked for in {folder.name}."
    if not found:
        body = el(
            "div",
            el("p", "No study yet."),
            el("p", "A study compares methods on many cases: ", el("code", "maci study run SPEC.toml"), ". ", where),
            class_="verdict",
        )  # fmt: skip
    else:
        rows = (
            el(
                "tr",
                el("th", el("a", name, href=f"/studies/{quote(name)}"), scope="row"),
                el("td", far, class_="words"),
            )
            for name, far in found
        )
        head = el("tr", el("th", "Study", scope="col"), el("th", "How far", scope="col", class_="words"))
        table = el(
            "table", el("caption", "Studies", class_="unseen"), el("thead", head), el("tbody", rows), class_="sortable"
        )
        body = el("div", table, class_="scroll", role="region", tabindex=0, aria_label="Studies")
    return page("Studies", el("h1", "Studies"), body, here="/studies")


def sign_in_page(target: str, wrong: bool = False) -> str:
    """Where a token is asked for."""
    alert = el("p", "That is not the token.", class_="bad", role="alert") if wrong else None
    token = el("input", type="password", name="token", id="token", required=True, autocomplete="current-password")
    form = el(
        "form",
        el("input", type="hidden", name="next", value=target),
        el("div", el("label", "Token", for_="token"), token, class_="field"),
        el("button", "Come in", type="submit", class_="home"),
        method="post",
        action="/sign-in",
        class_="stack wide",
    )
    return page("Sign in", el("h1", "Sign in"), alert, el("p", "The server printed a token when it was started."), form)
