"""The page of one debate: watched while it runs, read when it is over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import quote, urlencode

from maci.acquisition.answers import asks_which
from maci.acquisition.plan import Item
from maci.agents.contentiousness import STANCES, tone
from maci.controller.events import Event
from maci.render.markup import Child, Markup, el, join
from maci.story import Story
from maci.story.log import happened
from maci.story.report.gate import told_as
from maci.story.report.rounds import stepper
from maci.story.report.thread import tools
from maci.story.report.verdict import asked
from maci.web.guard import Visit
from maci.web.pages.layout import hidden, page, panel_of, tabs, title_of, when
from maci.web.pages.parts import panels


def debate_page(
    id: str,
    story: Story,
    events: list[Event],
    state: str,
    visit: Visit,
    *,
    error: str = "",
    notice: str = "",
    elsewhere: bool = False,
    asking: Item | None = None,
    remark: str = "",
    label: tuple[str, Sequence[str]] = ("", ()),
) -> str:
    """The whole page; ``elsewhere``: another process runs the debate, and only that one can steer it."""
    parts, case = panels(story, state, asking), story.opened.case
    place = {name: el("div", html, id=name) for name, html in parts.items()}
    live = state in {"running", "paused"} and not elsewhere
    answered = story.result is None or story.result.given is not None
    steering = controls(id, state, visit, elsewhere=elsewhere, asking=asking, answered=answered)
    head = el(
        "div",
        asked(story),
        el("div", tabs(id), el("span", parts["p-state"], id="p-state"), class_="tabbed"),
        place["p-question"],
        el("div", steering, id="controls", data_state=state),
        class_="head top-of-debate",
    )
    standing = el("div", el("p", _who(story), class_="soft"), _label(id, label, visit), class_="standing")
    said = el("p", notice, class_="notice", role="status", id="notice") if notice or live else None
    broke = el("p", f"It broke off: {error}", class_="bad-note") if error and state == "broken" else None
    side = el(
        "aside",
        _section("dials", "Dials", place["p-dials"], _dial_form(id, story, visit) if live else None, place["p-past"]),
        _section("signals", "Signals", place["p-signals"]),
        _section("spent", "Spent", place["p-spend"]),
        aria_label="Steering and signals",
    )
    columns = el("div", _column(story, events, place), side, class_="columns")
    body = el(
        "div", head, said, _remark(id, remark), place["p-now"], place["p-verdict"], broke, standing, columns,
        el("p", parts["p-said"], id="p-said", class_="unseen", aria_live="polite"),
        id="debate", data_live="yes" if live else None, data_events=f"/debates/{quote(id)}/events", data_last=len(events),
    )  # fmt: skip
    return page(title_of(case.title, case.question, 60), body, script="live.js", refresh=5 if live else None)


def _label(id: str, label: tuple[str, Sequence[str]], visit: Visit) -> Markup:
    """What people call the debate, and where they change that."""
    name, tags = label
    chips = (el("a", f"#{tag}", href=f"/?{urlencode({'only': f'#{tag}'})}", class_="chip", dir="auto") for tag in tags)
    fields = (("name", "Name", name, 120), ("tags", "Tags, between commas", ", ".join(tags), 400))
    form = el(
        "form",
        hidden(visit),
        (
            el(
                "div",
                el("label", words, for_=f"label-{field}"),
                el("input", type="text", name=field, id=f"label-{field}", value=value, maxlength=most, dir="auto"),
                class_="field",
            )
            for field, words, value, most in fields
        ),
        el("button", "Keep", type="submit", id="do-label"),
        method="post",
        action=f"/debates/{quote(id)}/label",
        class_="row",
    )
    said = "Name and tags" if name or tags else "Give it a name or tags"
    return el(
        "div",
        el("b", name, dir="auto") if name else None,
        chips,
        el("details", el("summary", said), form, class_="inline", id="label"),
        class_="called",
    )


def _column(story: Story, events: list[Event], place: Mapping[str, Markup]) -> Markup:
    rounds = [place[f"p-round-{item.number}"] for item in story.rounds]
    newest = el("p", el("a", "", href="#rounds"), id="newest", hidden=True)
    evidence = el("summary", "Evidence, with what was quoted marked"), place["p-evidence"]
    return el(
        "div",
        _section(
            "rounds",
            "The debate",
            tools(story),
            stepper(),
            newest,
            el("div", rounds, id="rounds", class_="thread"),
            class_="zeroth",
        ),
        _section("beliefs", "How beliefs moved", place["p-beliefs"], class_="first"),
        _section("plan", "What to find out next", place["p-plan"]),
        place["p-details"],
        el("details", evidence, class_="box", id="evidence"),
        _log(events),
        class_="column",
    )


def _section(name: str, title: str, *content: Child, class_: str | None = None) -> Markup:
    """A part of the page under a heading that names it."""
    return el("section", el("h2", title, id=f"h-{name}"), content, aria_labelledby=f"h-{name}", class_=class_)


def _remark(id: str, remark: str) -> Markup | None:
    """What a person should know about how the debate was started."""
    if not remark:
        return None
    again = el("a", "start again with outcomes of your own", href=f"/new?from={quote(id)}")
    return el("p", f"{remark} If that is not what you meant, ", again, ".", class_="warn")


def controls(
    id: str, state: str, visit: Visit, *, elsewhere: bool = False, asking: Item | None = None, answered: bool = True
) -> Markup:
    """What can be done with the debate now; one without an answer can be started again."""
    link = f"/debates/{quote(id)}"

    def act(action: str, label: str, kind: str | None = None) -> Markup:
        button = el("button", label, type="submit", class_=kind, id=f"do-{action}")
        return el("form", hidden(visit, action=action), button, method="post", action=f"{link}/hand")

    if elsewhere:
        words = "Another process runs this debate: it is steered there. Load the page again to see how far it is."
        return el("p", words, class_="soft")
    question = _answer_form(link, visit, asking) if asking and state in {"running", "paused"} else None
    if state == "running":
        return join(question, el("div", act("pause", "Pause"), act("stop", "Stop"), class_="buttons"))
    if state == "paused":
        return join(question, el("div", act("go", "Resume", "home"), act("stop", "Stop"), class_="buttons"))
    if state == "broken":
        again = el("button", "Resume", type="submit", class_="home", id="do-resume")
        form = el("form", hidden(visit), again, method="post", action=f"{link}/resume")
        return el("div", form, class_="buttons")
    exports = (
        ("report.html", "Report", "one HTML file for a browser or a printer"),
        ("report.md", "Markdown", "a note for a ticket or a paper"),
        ("result.json", "JSON", "what maci debate --json prints"),
        ("transcript.jsonl", "Transcript", "every event, to replay and verify"),
    )
    links = (el("li", el("a", name, el("span", about), href=f"{link}/{file}")) for file, name, about in exports)
    menu = el("details", el("summary", "Export", class_="button"), el("ul", links), class_="menu", id="exports")
    compare = el("a", "Compare …", href=f"/compare?a={quote(id)}", class_="button")
    kind = "button" if answered else "button home"
    again = el("a", "Start again", href=f"/new?from={quote(id)}", class_=kind, id="do-again")
    return el("div", again, compare, menu, class_="buttons")


def _answer_form(link: str, visit: Visit, asking: Item) -> Markup:
    """Where a question of the plan is answered."""
    quick = [
        el("button", label, type="submit", name="quick", value=value, formnovalidate=True)
        for value, label in buttons(asking)
    ]
    field = el("input", type="text", name="answer", id="answer", maxlength=2000, autocomplete="off", required=True)
    send = el("button", "Answer", type="submit", class_="home", id="do-answer")
    return el(
        "form",
        hidden(visit),
        el("div", el("label", "Your answer, in words", for_="answer"), field, class_="field"),
        el("div", send, quick, class_="buttons"),
        method="post",
        action=f"{link}/answer",
        class_="stack wide",
        id="answer-form",
    )


_FEW = 4
"""Findings that stand on buttons."""


def buttons(item: Item) -> list[tuple[str, str]]:
    """What is answered, and what stands on the button; where a yes would not say which, the findings that the question tells apart."""
    which = asks_which(item)[:_FEW]
    given = [*((way, way) for way in which), ("none", "None of these")] if which else [("yes", "Yes"), ("no", "No")]
    return [*given, ("unknown", "I do not know"), ("stop", "Ask no more")]


def _who(story: Story) -> Markup:
    panel = panel_of(story.opened.panel) if story.opened.panel else "made in Python"
    return join(f"panel {panel} · {', '.join(story.agents)} · ", when(story.opened.created))


_DIALS = (
    ("cl", "CL, how contentious agents are", 0.1, 0.9),
    ("tau_q", "τ_Q, what evidence must reach", 0.0, 0.95),
    ("tau_crit", "τ_CRIT, what arguments must reach", 0.0, 0.95),
)


_HELD = "Only ticked dials are set. They stay so until they are set again or given back; the record says that a person did it."


def _dial_form(id: str, story: Story, visit: Visit) -> Markup:
    dials = next((item.dials for item in reversed(story.rounds) if item.dials is not None), None)
    rows = []
    for name, label, low, high in _DIALS:
        now = 0.5 if dials is None else getattr(dials, name)
        tick = el("input", type="checkbox", name=f"{name}_on", value="yes", id=f"{name}-on")
        rows.append(
            el(
                "div",
                el("label", tick, f" {label}", for_=f"{name}-on"),
                el("div", el("input", type="range", name=name, min=f"{low:g}", max=f"{high:g}", step="0.01", value=f"{now:.2f}",
                             id=f"{name}-value", aria_label=f"{label}: value", data_dial=name),
                   el("output", f"{now:.2f}", for_=f"{name}-value"), class_="slide"),
                class_="dial",
            )
        )  # fmt: skip
    form = el(
        "form",
        hidden(visit),
        rows,
        el("label", "Your name, for the record", for_="by"),
        el("input", type="text", name="by", id="by", maxlength=60, autocomplete="name"),
        el(
            "button",
            "Set from the next round on",
            name="action",
            value="dials",
            type="submit",
            class_="home",
            id="do-dials",
        ),
        el("button", "Give them back to the schedule", name="action", value="release", type="submit", id="do-release")
        if story.held
        else None,
        el("p", "", class_="done small-print"),
        el("p", _HELD, class_="small-print"),
        el("ul", (el("li", tone(s.cl, told), data_cl=s.cl) for s in STANCES), id="stances", hidden=True)
        if (told := told_as(story))
        else None,
        method="post",
        action=f"/debates/{quote(id)}/hand",
        class_="stack",
        id="dial-form",
    )
    return el(
        "details",
        el("summary", "Turn them by hand: drag a line above, or a slider"),
        form,
        id="by-hand",
        open=True,
    )


def line(seq: int, event: Event) -> Markup:
    """An event as a row of the log; its number is the line of the transcript."""
    return el("li", el("b", event.type.replace("_", " ")), " ", happened(event), id=f"line-{seq}", value=seq)


def _log(events: list[Event]) -> Markup:
    rows = [line(seq, event) for seq, event in enumerate(events, 1)]
    return el(
        "details",
        el("summary", "Every event, in order ", el("span", f"({len(events)})", id="log-count", class_="soft")),
        el("ol", rows, id="log"),
        class_="box",
        id="log-box",
    )
