"""What every page has: head, navigation, main, a place for what is said to screen readers; and how values are written on it.

The smaller pages are here as well: studies, sign-in, and errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from textwrap import shorten
from urllib.parse import quote

from maci import __version__
from maci.llm.usage import dollars
from maci.render import style
from maci.render.markup import Child, Markup, el, grid, join
from maci.story import Story
from maci.story.outline import known_wrong
from maci.story.words import STOPS
from maci.web.guard import Visit

STATES = {
    "running": ("under way", "live"),
    "asking": ("waits for your answer", "warn"),
    "paused": ("paused", "warn"),
    "finished": ("finished", "good"),
    "broken": ("broke off", "bad"),
    "unreadable": ("cannot be read", "bad"),
}


def count(value: int | None) -> str:
    """A whole number with thousands set apart."""
    return "–" if value is None else f"{value:,}"


def money(usd: float) -> str:
    """Dollars, or nothing where none were spent."""
    return dollars(usd) if usd else "$0"


def when(text: str) -> Markup:
    """A moment of the record, in UTC."""
    written = moment(text)
    return el("span", "–") if written == "–" else el("time", written, datetime=text, title="UTC")


def moment(text: str, *, seconds: bool = False) -> str:
    """The same in letters.

    >>> moment("2026-11-16T09:27:31+01:00"), moment("2026-11-16T09:27:31+01:00", seconds=True), moment("")
    ('2026-11-16 08:27', '2026-11-16 08:27:31', '–')
    """
    try:
        return f"{datetime.fromisoformat(text).astimezone(UTC):%Y-%m-%d %H:%M{':%S' if seconds else ''}}"
    except ValueError:
        return "–"


def state_tag(state: str) -> Markup:
    """Where a debate stands."""
    words, kind = STATES.get(state, (state, ""))
    return el("span", words, class_=f"tag {kind}")


_ENDS = {
    "budget": "out of budget",
    "error": "an error",
    "stopped_by_user": "stopped by a person",
    "impasse": "no agreement",
    "stalemate": "no good arguments",
    "max_rounds": "last round played",
}
"""Ends that are no agreement, in a tag's few words."""


def ended_tag(
    reason: str,
    *,
    answered: bool = True,
    withheld: bool = False,
    agreed: bool | None = None,
    wrong: bool = False,
    over: str = "finished: ",
) -> Markup:
    """How a debate that is over ended: blue where the agents agree (that proves nothing), red on an answer that is known to be wrong.

    ``over``: what is said before the cause.

    >>> ended_tag("budget", answered=False)
    '<span class="tag bad">no answer: out of budget</span>'
    >>> ended_tag("consensus", agreed=True), ended_tag("plateau", agreed=False)
    ('<span class="tag agreed">finished: agreed</span>', '<span class="tag warn">finished: no agreement</span>')
    >>> ended_tag("impasse", agreed=True)  # they agree, but on too little shared evidence
    '<span class="tag warn">finished: agreed, not settled</span>'
    >>> ended_tag("plateau", answered=False, withheld=True)
    '<span class="tag warn">finished: answer withheld</span>'
    >>> ended_tag("consensus", agreed=True, wrong=True), ended_tag("max_rounds", wrong=True)
    ('<span class="tag bad">finished: agreed, but wrong</span>', '<span class="tag bad">finished: last round played, wrong</span>')
    """
    cause = "answer withheld" if withheld else _ENDS.get("impasse" if agreed is False else reason, "")
    cause = "agreed, not settled" if agreed and cause == _ENDS["impasse"] else cause
    if not answered and not withheld:
        return el("span", f"no answer: {_ENDS.get(reason, reason)}", class_="tag bad")
    kind = "bad" if reason == "error" else "warn" if cause else "agreed" if agreed else "soft"
    cause = cause or ("agreed" if agreed else "")
    if wrong:
        kind, cause = "bad", f"{cause}, {'but wrong' if agreed else 'wrong'}" if cause else "wrong"
    return el("span", f"{over}{cause}" if cause else "finished", class_=f"tag {kind}")


def standing(state: str, story: Story) -> Markup:
    """Where a debate stands, or how it ended."""
    if (result := story.result) is None:
        return state_tag(state)
    return ended_tag(
        result.stop_reason,
        answered=result.given is not None,
        withheld=result.abstained is not None,
        agreed=result.agreed,
        wrong=known_wrong(story),
    )


def stop_words(reason: str) -> str:
    """Why it stopped, in words; a reason that this version does not know, as it stands."""
    return next((words for known, words in STOPS.items() if known == reason), reason)


def panel_of(panel: str) -> str:
    """What a panel is called; of a file, its name.

    >>> panel_of("readers"), panel_of("cases/bridge.yaml"), panel_of("")
    ('readers', 'bridge.yaml', '–')
    """
    return panel.replace("\\", "/").rstrip("/").rpartition("/")[2] or "–"


def title_of(title: str, question: str, most: int = 110) -> str:
    """What a debate is called."""
    return shorten(title or question, most, placeholder=" …")


_NAV = (
    ("/", "Debates"),
    ("/new", "New debate"),
    ("/compare", "Compare"),
    ("/panels", "Panels"),
    ("/studies", "Studies"),
)
STATIC = {"style.css": "text/css", **dict.fromkeys(("page.js", "live.js", "files.js"), "text/javascript")}


@cache
def static(name: str) -> bytes:
    """The content of a static file."""
    if name == "style.css":
        return (style.sheet() + _part("web.css")).encode()
    return style.script().encode() if name == "page.js" else _part(name).encode()


@cache
def _link(name: str) -> str:
    """Where a static file is; the link changes when the file does, so that browsers may keep it."""
    return f"/static/{name}?v={sha256(static(name)).hexdigest()[:12]}"


def _part(name: str) -> str:
    return style.tight(files("maci.web").joinpath("static", name).read_text(encoding="utf-8"))


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


_TABS = (("", "Debate"), ("calls", "Calls"), ("replay", "What if?"))


def tabs(id: str, here: str = "") -> Markup:
    """From one page of a debate to the others."""
    links = (
        el(
            "li",
            el(
                "a",
                name,
                href=f"/debates/{quote(id)}{f'/{part}' if part else ''}",
                aria_current="page" if part == here else None,
            ),
        )
        for part, name in _TABS
    )
    return el("nav", el("ul", links), aria_label="This debate", class_="tabs")


def headed(debate: str, title: str) -> Markup:
    """The head of a page about a debate."""
    return el("div", el("p", debate, class_="eyebrow", dir="auto"), el("h1", title), class_="asked-of")


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
        head = ("Study", "How far")
        body = grid("Studies", head, rows, words=head[1:], kind="sortable", caption="Studies")
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
