"""The result of ``maci verify`` as one HTML page that needs nothing else: no fonts, no network, no script to be readable."""

from __future__ import annotations

from collections.abc import Sequence

from maci.lab.theory.verdict import Kind, Verdict
from maci.render.markup import Markup, document, el
from maci.render.svg import figure, standalone

KINDS: dict[Kind, str] = {"proved": "theorem, checked", "measured": "measured", "negative": "negative finding"}
"""What a kind is called."""


def page(verdicts: Sequence[Verdict], *, about: str) -> str:
    """The whole page; ``about`` says how it was made."""
    failed = [verdict for verdict in verdicts if not verdict.passed]
    outcome = (
        el("span", f"{len(failed)} of {len(verdicts)} claims fail", class_="bad")
        if failed
        else el("span", f"all {len(verdicts)} claims hold", class_="good")
    )
    head = el("tr", (el("th", name, scope="col", class_="words") for name in ("claim", "measured", "n", "verdict")))
    table = el("table", el("thead", head), el("tbody", map(_row, verdicts)), aria_label="Claims")
    return document(
        "MACI: claims, checked",
        el(
            "header",
            el("h1", "What MACI claims, checked by simulation"),
            el("div", el("p", outcome), el("p", about, class_="soft"), class_="verdict"),
            el(
                "p",
                "A negative finding passes when it is shown: it says what does ",
                el("em", "not"),
                " hold, and what the default rule does there. docs/theory.md has the proofs.",
                class_="soft",
            ),
        ),
        el(
            "main",
            el("div", table, class_="scroll", role="region", tabindex=0, aria_label="Claims"),
            el("h2", "One by one"),
            map(_section, verdicts),
            id="main",
        ),
    )


def plots(verdicts: Sequence[Verdict]) -> dict[str, str]:
    """Every chart as an SVG file of its own, by file name."""
    return {
        f"{verdict.id}{f'-{number}' if number else ''}.svg": standalone(chart)
        for verdict in verdicts
        for number, chart in enumerate(verdict.charts)
    }


def _mark(verdict: Verdict) -> Markup:
    shown = verdict.kind == "negative"
    word = ("shown" if shown else "pass") if verdict.passed else ("not shown" if shown else "fail")
    return el("span", word, class_="good" if verdict.passed else "bad")


def _row(verdict: Verdict) -> Markup:
    return el(
        "tr",
        el("th", el("a", verdict.claim, href=f"#{verdict.id}"), scope="row"),
        el("td", verdict.measured, class_="words"),
        el("td", f"{verdict.n:,} {verdict.unit}", class_="words"),
        el("td", _mark(verdict), class_="words"),
    )


def _section(verdict: Verdict) -> Markup:
    said = (
        ("verdict", [_mark(verdict), el("span", f" ({KINDS[verdict.kind]})", class_="soft")]),
        ("limit", verdict.limit),
        ("measured", verdict.measured),
        ("n", f"{verdict.n:,} {verdict.unit}"),
    )
    charts = [figure(chart, f"{verdict.id}-c{i}") for i, chart in enumerate(verdict.charts)]
    words = el("div", el("dl", ([el("dt", name), el("dd", what)] for name, what in said)), el("p", verdict.note))
    return el(
        "section",
        el("h3", verdict.claim),
        el("div", words, charts, class_="charts") if charts else words,
        id=verdict.id,
        class_="card",
    )
