"""The list of debates, with a search."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote, urlencode

from maci.render.markup import Markup, el, grid, percent
from maci.story.words import plural
from maci.web.guard import Visit
from maci.web.history import Summary
from maci.web.pages.layout import count, ended_tag, hidden, page, state_tag, stop_words, title_of, when

PER_PAGE = 50


_FILTERS = ("agreed", "split", "withheld", "right", "wrong", "asked", "running", "paused", "broken")


def home_page(found: Sequence[Summary], total: int, query: str, number: int, visit: Visit, only: str = "") -> str:
    """The first page people see; ``only``: the badge that debates were filtered by."""
    head = el(
        "div", el("h1", "Debates"), el("a", "New debate", href="/new", class_="button home"), class_="head between"
    )
    if not total:
        return page("Debates", head, _welcome(), here="/")
    search = el(
        "form",
        el("label", "Search", for_="q"),
        el("input", type="search", name="q", id="q", value=query, placeholder="question, outcome, agent …"),
        el(
            "select",
            el("option", "every debate", value=""),
            (el("option", name, value=name, selected=name == only) for name in _FILTERS),
            name="only",
            aria_label="Only debates that are",
        ),
        el("button", "Search", type="submit"),
        role="search",
        method="get",
        action="/",
        class_="row",
    )
    broken = [item for item in found if item.state == "broken"]
    some = f"{len(found):,} of {plural(total, 'debate')}" if query or only else plural(total, "debate")
    shown = found[(number - 1) * PER_PAGE : number * PER_PAGE]
    pick = el(
        "form",
        _table(shown),
        el(
            "p",
            el("button", "Compare the two ticked", type="submit"),
            " ",
            el("span", "Tick two.", class_="soft"),
        ),
        method="get",
        action="/compare",
        id="pick",
    )
    body = (
        pick if shown else el("p", "Nothing fits. Every word must occur in the question, context, outcomes or agents.")
    )
    resumable = None if query or only else _broken(broken, visit)
    far = el("p", some, class_="soft", role="status")
    return page("Debates", head, search, far, resumable, body, _pages(len(found), number, query, only), here="/")


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
    head = ("Debate", "Result", "Answer", "p", "Rounds", "Tokens", "Panel", "Started (UTC)")
    words = ("Result", "Answer", "Panel")
    return grid("Debates", head, map(_row, items), words=words, kind="sortable runs", caption="Debates, newest first")


def _row(item: Summary) -> Markup:
    p = None if item.withheld else item.p
    tick = el(
        "input",
        type="checkbox",
        name="pick",
        value=item.id,
        aria_label=f"Compare {title_of(item.title, item.question, 60)}",
    )
    more = [el("span", name, class_=f"tag {_KINDS[name]}") for name in item.badges if name in _KINDS]
    link = el("a", title_of(item.title, item.question), href=f"/debates/{quote(item.id)}")
    return el(
        "tr",
        el("th", tick, link, scope="row"),
        el("td", _state(item), " ", more, class_="left state", title=stop_words(item.stop_reason) or None),
        el(
            "td", "withheld" if item.withheld else item.answer or "–", class_="words soft" if item.withheld else "words"
        ),
        el("td", percent(p), data_v="" if p is None else f"{p:.6f}"),
        el("td", count(item.rounds), data_l="rounds", data_v="" if item.rounds is None else item.rounds),
        el("td", count(item.tokens), data_l="tokens", data_v="" if item.tokens is None else item.tokens),
        el("td", item.panel or "–", class_="left", data_l="panel"),
        el("td", when(item.created)),
    )


_KINDS = {"right": "good", "wrong": "bad", "asked": "soft"}
"""Badges beside the state."""


def _state(item: Summary) -> Markup:
    if item.state != "finished":
        return state_tag(item.state)
    return ended_tag(item.stop_reason, answered=item.answer is not None, withheld=item.withheld, agreed=item.agreed)


def _pages(total: int, number: int, query: str, only: str) -> Markup | None:
    last = max(1, -(-total // PER_PAGE))
    if last == 1:
        return None

    def link(to: int, name: str) -> Markup | None:
        if not 1 <= to <= last:
            return None
        return el("li", el("a", name, href=f"/?{urlencode({'q': query, 'only': only, 'page': to})}"))

    here = el("li", f"page {number} of {last}", aria_current="page")
    return el("nav", el("ul", link(number - 1, "newer"), here, link(number + 1, "older")), aria_label="Pages")
