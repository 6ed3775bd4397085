"""What other rules would have made of a record: drag the gate, see which admissions flip, and the stop and answer that follow."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote

from maci.config import PROFILES
from maci.render.markup import Markup, el, grid, join, percent
from maci.story import Story
from maci.story.report.gate import scatter
from maci.story.report.verdict import sentence
from maci.story.whatif import CAUTION, Otherwise
from maci.web.pages.layout import count, headed, page, stop_words, tabs, title_of

_RULES = ("Rules", "Stops", "Rounds", "Answer", "p")


def start_of(story: Story) -> tuple[float, float] | None:
    """The gate of round 1, from which a record was held."""
    dials = story.rounds[1].dials if len(story.rounds) > 1 else None
    return None if dials is None else (dials.tau_q, dials.tau_crit)


def whatif_page(
    id: str, story: Story, result: Markup, gate: tuple[float, float] | None, profile: str = "", settings: str = ""
) -> str:
    """The gate through all arguments, the form, and what came of it."""
    case = story.opened.case
    drawn = scatter([r for r in story.rounds if r.number], gate, form="#whatif", links=False)
    chart = (
        el(
            "figure",
            el("figcaption", "Every argument of every round, and the gate of round 1; drag a line"),
            drawn,
            class_="plot",
        )
        if drawn
        else None
    )
    return page(
        "What if?",
        headed(title_of(case.title, case.question), "What if?"),
        tabs(id, "replay"),
        el(
            "div",
            chart,
            el("div", el("div", result, id="whatif-result", aria_live="polite"), _form(id, gate, profile, settings)),
            class_="whatif",
        ),
    )


def _form(id: str, gate: tuple[float, float] | None, profile: str, settings: str) -> Markup:
    """Where other rules are asked about; filled in with what was asked before."""
    profiles = [
        el("option", name or "– as it was –", value=name, selected=bool(name) and name == profile)
        for name in ("", *PROFILES)
    ]
    sliders = (
        [
            el(
                "div",
                el("label", label, for_=name),
                el(
                    "div",
                    el("input", type="range", name=name, id=name, min=0, max=1, step="0.01", value=f"{value:.2f}"),
                    el("output", f"{value:.2f}", for_=name),
                    class_="slide",
                ),
                class_="dial",
            )
            for name, label, value in (
                ("tau_q", "τ_Q, what evidence must reach in round 1", gate[0]),
                ("tau_crit", "τ_CRIT, what arguments must reach", gate[1]),
            )
        ]
        if gate is not None
        else []
    )
    return el(
        "form",
        sliders,
        el(
            "details",
            el("summary", "Other rules"),
            el("label", "Profile", for_="replay-profile"),
            el("select", profiles, name="profile", id="replay-profile"),
            el("label", "Settings, one a line", for_="replay-set"),
            el("textarea", settings, name="settings", id="replay-set", rows=3, placeholder="max_rounds = 3"),
            open=bool(profile or settings),
            class_="stack",
        ),
        el("button", "Replay with these", type="submit", class_="home"),
        method="get",
        action=f"/debates/{quote(id)}/replay",
        class_="stack wide",
        id="whatif",
    )


def whatif_result(
    found: Otherwise | None, asked: str, sets: Sequence[str], *, wrong: str = "", same: bool = False
) -> Markup:
    """What other rules come to, or that they are the ``same``, or what is ``wrong``."""
    if same:
        return el("p", "Nothing was changed: these are the rules it was held under.", class_="soft")
    if found is None:
        return el("div", el("p", sentence(wrong)), class_="verdict wrong", role="alert")
    rows = (
        el(
            "tr",
            el("th", r.rules, scope="row"),
            el("td", stop_words(r.stop_reason) if r.stop_reason else r.lacking, class_="words"),
            el("td", count(r.rounds)),
            el("td", r.said, class_="words"),
            el("td", percent(r.p)),
        )
        for r in (found.recorded, found.other)
    )
    blind = f"Cannot be judged from a record, and was ignored: {', '.join(found.ignored)}." if found.ignored else None
    inside, outside = found.flips
    flips = "No admission flips."
    if inside or outside:
        parts = [f"admitted: {', '.join(inside)}"] if inside else []
        parts += [f"not admitted any more: {', '.join(outside)}"] if outside else []
        flips = f"Flips: {'; '.join(parts)}."
    command = "maci replay DIR " + " ".join(f"--set {each}" for each in sets)
    return join(
        el("p", f"The recorded turns under {asked}."),
        el("p", el("b", flips), id="flips", data_ids=" ".join((*inside, *outside))),
        grid("Recorded and other rules", _RULES, rows, words=("Stops", "Answer"), caption="Recorded and other rules"),
        el("ul", (el("li", note) for note in (found.remark, blind, CAUTION) if note), class_="notes"),
        el("p", "The same in a terminal: ", el("code", command), class_="small-print") if sets else None,
    )
