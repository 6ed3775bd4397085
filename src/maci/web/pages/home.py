"""The list of debates, with a search."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote, urlencode

from maci.render.markup import Markup, el, grid, percent
from maci.web.guard import Visit
from maci.web.history import Summary
from maci.web.pages.layout import count, ended_tag, hidden, page, state_tag, stop_words, title_of, when

PER_PAGE = 50


def home_page(found: Sequence[Summary], total: int, query: str, number: int, visit: Visit) -> str:
    """The first page people see."""
    head = el(
        "div", el("h1", "Debates"), el("a", "New debate", href="/new", class_="button home"), class_="head between"
    )
    if not total:
        return page("Debates", head, _welcome(), here="/")
    search = el(
        "form",
        el("label", "Search", for_="q"),
        el("input", type="search", name="q", id="q", value=query, placeholder="question, outcome, agent …"),
        el("button", "Search", type="submit"),
        role="search",
        method="get",
        action="/",
        class_="row",
    )
    broken = [item for item in found if item.state == "broken"]
    some = f"{len(found)} of {total} debates" if query else f"{total} debate{'' if total == 1 else 's'}"
    shown = found[(number - 1) * PER_PAGE : number * PER_PAGE]
    body = (
        _table(shown)
        if shown
        else el("p", "Nothing fits. Every word must occur in the question, context, outcomes or agents.")
    )
    return page(
        "Debates", head, search, el("p", some, class_="soft", role="status"), _broken(broken, visit) if not query else None, body,
        _pages(len(found), number, query), here="/",
    )  # fmt: skip


def _welcome() -> Markup:
    return el(
        "div",
        el("p", "No debate yet."),
        el(
            "p", "Start one from the form: the embedded readers need no key and no network, and a debate takes seconds."
        ),
        class_="verdict",
    )


def _broken(items: Sequence[Summary], visit: Visit) -> Markup | None:
    if not items:
        return None
    rows = []
    for item in items[:10]:
        link = f"/debates/{quote(item.id)}"
        button = el(
            "button",
            "Resume",
            el("span", f": {title_of(item.title, item.question, 60)}", class_="unseen"),
            type="submit",
        )
        form = el("form", hidden(visit), button, method="post", action=f"{link}/resume")
        rows.append(el("li", form, el("a", title_of(item.title, item.question), href=link)))
    more = f"{len(items)} debates broke off" if len(items) > 1 else "1 debate broke off"
    return el(
        "section", el("h2", f"{more}; nothing that was recorded is lost", id="h-broken"), el("ul", rows, class_="plain"),
        class_="card", aria_labelledby="h-broken",
    )  # fmt: skip


def _table(items: Sequence[Summary]) -> Markup:
    head = ("Debate", "State", "Answer", "p", "Rounds", "Tokens", "Panel", "Started (UTC)")
    words = ("State", "Answer", "Panel")
    return grid("Debates", head, map(_row, items), words=words, kind="sortable runs", caption="Debates, newest first")


def _row(item: Summary) -> Markup:
    link = el("a", title_of(item.title, item.question), href=f"/debates/{quote(item.id)}")
    return el(
        "tr",
        el("th", link, scope="row"),
        el("td", _state(item), class_="left state", title=stop_words(item.stop_reason) or None),
        el("td", item.answer or "–", class_="words"),
        el("td", percent(item.p), data_v="" if item.p is None else f"{item.p:.6f}"),
        el("td", count(item.rounds), data_l="rounds", data_v="" if item.rounds is None else item.rounds),
        el("td", count(item.tokens), data_l="tokens", data_v="" if item.tokens is None else item.tokens),
        el("td", item.panel or "–", class_="left", data_l="panel"),
        el("td", when(item.created)),
    )


def _state(item: Summary) -> Markup:
    if item.state != "finished":
        return state_tag(item.state)
    return ended_tag(item.stop_reason, answered=item.answer is not None, withheld=item.withheld)


def _pages(total: int, number: int, query: str) -> Markup | None:
    last = max(1, -(-total // PER_PAGE))
    if last == 1:
        return None

    def link(to: int, name: str) -> Markup | None:
        if not 1 <= to <= last:
            return None
        return el("li", el("a", name, href=f"/?{urlencode({'q': query, 'page': to})}"))

    here = el("li", f"page {number} of {last}", aria_current="page")
    return el("nav", el("ul", link(number - 1, "newer"), here, link(number + 1, "older")), aria_label="Pages")
