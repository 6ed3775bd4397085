"""The list of debates, with a search."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote, urlencode

from maci.render.markup import Markup, el, grid, percent
from maci.story.words import plural
from maci.web.guard import Visit
from maci.web.history import Summary
from maci.web.index import Found
from maci.web.pages.layout import count, ended_tag, hidden, page, panel_of, state_tag, stop_words, title_of, when

PER_PAGE = 50
RESUMED = 10
"""Debates that broke off with a button each; the others have it on their pages."""


_FILTERS = (
    "agreed",
    "split",
    "withheld",
    "right",
    "wrong",
    "asked",
    "by hand",
    "running",
    "asking",
    "paused",
    "broken",
)


def home_page(
    found: Found, visit: Visit, query: str = "", only: str = "", number: int = 1, broken: Found | None = None
) -> str:
    """The first page people see; ``only``: the badge or #tag that debates were filtered by, ``broken``: those that can be resumed."""
    head = el(
        "div", el("h1", "Debates"), el("a", "New debate", href="/new", class_="button home"), class_="head between"
    )
    if not found.total and found.unread == 0:
        return page("Debates", head, _welcome(), here="/")
    live = any(item.state in _LIVE for item in found.rows)
    body = _picks(found.rows) if found.rows else el("p", _NONE)
    return page(
        "Debates",
        head,
        _search(query, only),
        el("p", _how_many(found, query, only), class_="soft", role="status"),
        _broken(broken, visit) if broken is not None else None,
        el("div", body, id="debates", data_live="yes" if live else None),
        _pages(found.fits, number, query, only),
        here="/",
        script="live.js" if live else "",
    )


_LIVE = ("running", "asking", "paused")
_NONE = "Nothing fits. Every word must occur in the name, tags, question, context, outcomes or agents."


def _how_many(found: Found, query: str, only: str) -> str:
    some = f"{found.fits:,} of {plural(found.total, 'debate')}" if query or only else plural(found.total, "debate")
    if found.unread is None:
        return f"{some} so far; the folder is still being read, load the page again"
    return some + (f"; {plural(found.unread, 'record')} still to be read, load the page again" if found.unread else "")


def _search(query: str, only: str) -> Markup:
    filters = [*_FILTERS, *([only] if only and only not in _FILTERS else [])]
    return el(
        "form",
        el("label", "Search", for_="q"),
        el("input", type="search", name="q", id="q", value=query, placeholder="name, tag, question, outcome, agent …"),
        el(
            "select",
            el("option", "every debate", value=""),
            (el("option", name, value=name, selected=name == only) for name in filters),
            name="only",
            aria_label="Only debates that are",
        ),
        el("button", "Search", type="submit"),
        role="search",
        method="get",
        action="/",
        class_="row",
    )


def _picks(items: Sequence[Summary]) -> Markup:
    """The table; two of its rows can be ticked and compared."""
    compare = el("button", "Compare the two ticked", type="submit")
    hint = el("span", "Tick two.", class_="soft")
    return el("form", _table(items), el("p", compare, " ", hint), method="get", action="/compare", id="pick")


def _welcome() -> Markup:
    return el(
        "div",
        el("p", "No debate yet."),
        el(
            "p", "Start one from the form: the embedded readers need no key and no network, and a debate takes seconds."
        ),
        class_="verdict",
    )


def _broken(found: Found, visit: Visit) -> Markup | None:
    items = [item for item in found.rows if item.state == "broken"]  # not those under way in another process
    if not items:
        return None
    rows, count = [], found.fits - len(found.rows) + len(items)
    for item in items:
        link = f"/debates/{quote(item.id)}"
        button = el(
            "button",
            "Resume",
            el("span", f": {title_of(item.title, item.question, 60)}", class_="unseen"),
            type="submit",
        )
        form = el("form", hidden(visit), button, method="post", action=f"{link}/resume")
        rows.append(el("li", form, el("a", title_of(item.title, item.question), href=link)))
    if count > len(items):
        rows.append(el("li", el("a", "All that broke off", href="/?only=broken")))
    more = f"{count:,} debates broke off" if count > 1 else "1 debate broke off"
    return el(
        "section", el("h2", f"{more}; nothing that was recorded is lost", id="h-broken"), el("ul", rows, class_="plain"),
        class_="card", aria_labelledby="h-broken",
    )  # fmt: skip


def _table(items: Sequence[Summary]) -> Markup:
    head = ("Debate", "Result", "Answer", "Probability", "Rounds", "Tokens", "Panel", "Started (UTC)")
    words = ("Result", "Answer", "Panel")
    return grid("Debates", head, map(_row, items), words=words, kind="sortable runs", caption="Debates, newest first")


def _row(item: Summary) -> Markup:
    p = None if item.withheld else item.p
    name = item.name or title_of(item.title, item.question)
    tick = el("input", type="checkbox", name="pick", value=item.id, aria_label=f"Compare {name[:60]}")
    more = [(" ", el("span", badge, class_=f"tag {_KINDS[badge]}")) for badge in item.badges if badge in _KINDS]
    tags = [
        el("a", f"#{tag}", href=f"/?{urlencode({'only': f'#{tag}'})}", class_="chip", dir="auto") for tag in item.tags
    ]
    link = el("a", name, href=f"/debates/{quote(item.id)}", dir="auto")
    below = el("span", title_of(item.title, item.question, 80), class_="i soft", dir="auto") if item.name else None
    so_far = "leads so far: " if item.so_far and item.answer else ""
    said = (
        "withheld"
        if item.withheld
        else f"no clear answer: {item.unclear}"
        if item.unclear
        else f"{so_far}{item.answer or '–'}"
    )
    return el(
        "tr",
        el("th", tick, el("span", link, " ", tags, below, class_="called"), scope="row"),
        el("td", _state(item), more, class_="left state", title=stop_words(item.stop_reason) or None),
        el("td", said, class_="words soft" if item.withheld or item.unclear or so_far else "words", dir="auto"),
        el("td", percent(p), data_v="" if p is None else f"{p:.6f}"),
        el("td", count(item.rounds), data_l="rounds", data_v="" if item.rounds is None else item.rounds),
        el("td", count(item.tokens), data_l="tokens", data_v="" if item.tokens is None else item.tokens),
        el("td", panel_of(item.panel), class_="left", data_l="panel", title=item.panel or None),
        el("td", when(item.created)),
        data_id=item.id,
    )


_KINDS = {"right": "good", "asked": "soft", "by hand": "soft"}
"""Badges beside the state."""


def _state(item: Summary) -> Markup:
    if item.state != "finished":
        return state_tag(item.state)
    answered = item.answer is not None
    wrong = item.right is False
    return ended_tag(
        item.stop_reason, answered=answered, withheld=item.withheld, agreed=item.agreed, wrong=wrong, over=""
    )


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
