"""The audit on paper: one set of tables and charts, as text, Markdown, an HTML page and JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import isfinite, isnan
from typing import Any

from maci.calibration.stats import Interval
from maci.lab.audit.contentiousness.sample import early
from maci.lab.audit.contentiousness.trends import SIGNALS, Trend
from maci.lab.audit.contentiousness.verdict import Findings, Verdict, figure
from maci.lab.audit.contentiousness.wording import Wording
from maci.render.charts import Chart, Point, Series
from maci.render.markup import Markup, document, el
from maci.render.svg import figure as drawn
from maci.story.words import plural

PAPER = {"auc": 0.83, "placebo": 0.52, "d": 0.82, "o": -0.71}
"""What the paper reports (SPEC 8), for comparison; its Î peaks near CL 0.5."""


@dataclass(frozen=True, slots=True)
class Grid:
    """A table."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


def grids(found: Findings) -> Iterator[Grid]:
    """The tables, most important first."""
    if found.trends:
        yield _levels("By level of contentiousness", found, found.trends)
        yield _order(found)
    if found.wording is not None:
        yield _told(found)
        yield _style(found.wording)
        yield _confused(found.wording)
    if found.placebo_trends:
        yield _levels("The same under the placebo", found, found.placebo_trends)


def _levels(title: str, found: Findings, trends: Mapping[str, Trend]) -> Grid:
    rows = tuple(
        (f"{level:g}", *(figure(trend.means[i], 0 if name == "written" else 2) for name, trend in trends.items()))
        for i, level in enumerate(found.levels)
    )
    head = ("CL", "D, round 1", "O, last round", f"largest Î, {early(found.rounds)}", "tokens written")
    return Grid(
        title, head, rows, "Means over topics and seeds" + (" with 95 % intervals." if found.blocks > 1 else ".")
    )


def _order(found: Findings) -> Grid:
    rows = []
    for name, trend in found.trends.items():
        placebo = found.placebo_trends.get(name)
        share = "" if trend.peak_share is None else f" ({100 * trend.peak_share:.0f} %)"
        said = "–" if trend.peak is None else f"{trend.peak:g}{share}"
        rho = "–" if isnan(trend.rho) else f"{trend.rho:.2f}"
        paper = f"{PAPER[name]:.2f}" if name in PAPER else "–"
        step = figure(trend.step, 0 if name == "written" else 2)
        p = "–" if trend.p is None else f"{trend.p:.3f}"
        signal = SIGNALS[name][0].format(early=early(found.rounds))
        rows.append(
            (signal, figure(trend.within), p, figure(placebo.within) if placebo else "–", step, said, rho, paper)
        )
    head = ("signal", "ρ with CL", "p", "under the placebo", "highest − lowest level", "highest at CL (share)",
            "ρ over all debates", "paper")  # fmt: skip
    note = (
        "ρ with CL: the mean of Spearman's within a topic and seed, 0 where the signal never varies there; intervals draw topics × "
        "seeds anew; p exchanges levels within them. ρ over all debates is the paper's: differences between topics are in it, so it "
        "has no interval of its own. The share says how often that level is highest "
        "when they are drawn anew; the paper's Î is highest at 0.5."
    )
    return Grid("Does it follow the dial?", head, tuple(rows), note)


def _told(found: Findings) -> Grid:
    wording, placebo = found.wording, found.placebo
    assert wording is not None
    rows = [("all features", figure(wording.auc), figure(placebo.auc) if placebo else "–", "0.83, placebo 0.52")]
    for name, auc in wording.alone.items():
        rows.append((f"{name} alone", figure(auc), figure(placebo.alone[name]) if placebo else "–", "–"))
    note = (
        f"Macro AUC, one level against the rest, of {wording.turns} turns on {wording.topics} topics in {wording.folds} folds; no "
        "topic is in training and test at once. 0.5 is guessing. Intervals draw topics × seeds anew and do not fit anew."
    )
    return Grid("Can the level be told from the words?", ("features", "AUC", "placebo", "paper"), tuple(rows), note)


def _style(wording: Wording) -> Grid:
    digits = {"length": 0, "hedging": 1, "imperatives": 2, "citations": 1}
    rows = tuple(
        (f"{level:g}", *(f"{means[i]:.{digits[name]}f}" for name, means in wording.means.items()))
        for i, level in enumerate(wording.levels)
    )
    head = ("CL", "words a turn", "hedges in 100 words", "share of imperative sentences", "citations in 100 words")
    return Grid("Manner by level", head, rows)


def _confused(wording: Wording) -> Grid:
    confusion = wording.confusion
    rows = tuple(
        (f"{level:g}", *map(str, counts)) for level, counts in zip(wording.levels, confusion.counts, strict=True)
    )
    note = f"Of the wrong guesses {figure(confusion.adjacent)} are one level off; drawn evenly it would be {confusion.chance:.2f}."
    return Grid(
        "Which level is taken for which", ("CL", *(f"guessed {level:g}" for level in wording.levels)), rows, note
    )


def _charts(found: Findings) -> Iterator[Chart]:
    for name, title in (
        ("d", "Disagreement D in round 1"),
        ("o", "Shared evidence O, last round"),
        ("gain", "Largest Î"),
    ):
        arms = [("stance", found.trends)] + ([("placebo", found.placebo_trends)] if found.placebo_trends else [])
        series = tuple(
            Series(name=arm, points=tuple(_points(found.levels, trends[name].means)), reference=arm == "stance")
            for arm, trends in arms
            if name in trends
        )
        if any(some.points for some in series):
            yield Chart(title=f"{title}, by contentiousness", x="contentiousness CL", y=title, series=series, key=name)


def _points(levels: Sequence[float], means: Sequence[Interval]) -> Iterator[Point]:
    for level, mean in sorted(zip(levels, means, strict=True), key=lambda pair: pair[0]):
        if isfinite(mean.value):
            ends = (None, None) if isnan(mean.low) else (mean.low, mean.high)
            yield Point(x=level, y=mean.value, low=ends[0], high=ends[1], n=mean.n)


def about(found: Findings, panel: str) -> str:
    """What was done, in a line."""
    levels = ", ".join(f"{level:g}" for level in found.levels)
    return (
        f"{panel}: {plural(found.held, 'debate')} of {plural(found.rounds, 'round')} at CL {levels}, on "
        f"{plural(len(found.topics), 'topic')} ({', '.join(found.topics)}), {plural(found.blocks, 'pair')} of topic and seed"
        + ("; as many again under the placebo are among them" if found.placebo_trends else "")
    )


def text(found: Findings, verdict: Verdict, panel: str, *, full: bool = True) -> str:
    """For a terminal."""
    width = max(len(aspect.name) for aspect in verdict.aspects)
    wide = max(len(aspect.answer) for aspect in verdict.aspects)
    lines = [verdict.says, ""]
    lines += [f"  {a.name:<{width}}  {a.answer:<{wide}}  {a.why}" for a in verdict.aspects]
    lines += [f"  ! {warning}" for warning in verdict.warnings] + [f"  → {advice}" for advice in verdict.advice]
    if full:
        lines += ["", about(found, panel)]
        for grid in grids(found):
            lines += ["", grid.title, *_aligned(grid), *([f"  {grid.note}"] if grid.note else [])]
    return "\n".join(lines)


def _aligned(grid: Grid) -> list[str]:
    rows = (grid.head, *grid.rows)
    widths = [max(len(row[i]) for row in rows) for i in range(len(grid.head))]
    return ["  " + "  ".join(f"{cell:<{w}}" for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]


def markdown(found: Findings, verdict: Verdict, panel: str) -> str:
    """For a file that is read as it is."""
    parts = ["# Does the behaviour dial move these agents?", f"**{verdict.says}**", about(found, panel) + "."]
    parts.append("\n".join(f"- **{a.name}**: {a.answer}. {a.why[0].upper()}{a.why[1:]}." for a in verdict.aspects))
    if verdict.warnings or verdict.advice:
        parts.append("\n".join(f"- {line}" for line in (*verdict.warnings, *verdict.advice)))
    for grid in grids(found):
        rule = "|".join(["---"] * len(grid.head))
        rows = ["| " + " | ".join(row) + " |" for row in grid.rows]
        parts += [f"## {grid.title}", "\n".join(["| " + " | ".join(grid.head) + " |", f"|{rule}|", *rows])]
        if grid.note:
            parts.append(grid.note)
    return "\n\n".join(parts) + "\n"


def html(found: Findings, verdict: Verdict, panel: str) -> str:
    """One page that needs nothing else."""
    kind = "good" if verdict.good else "bad"
    aspects = el("ul", (el("li", el("b", a.name), f": {a.answer}. {a.why}.") for a in verdict.aspects))
    said = el("ul", (el("li", line) for line in (*verdict.warnings, *verdict.advice)))
    header = el(
        "header",
        el("h1", "Does the behaviour dial move these agents?"),
        el(
            "div",
            el("p", el("span", verdict.says, class_=kind)),
            el("p", about(found, panel), class_="soft"),
            class_="verdict",
        ),
        aspects,
        said if verdict.warnings or verdict.advice else None,
    )
    pictures = (drawn(chart, f"chart-{chart.key}") for chart in _charts(found))
    main = el("main", el("div", pictures, class_="charts"), map(_section, grids(found)), id="main")
    return document("MACI: contentiousness, audited", header, main)


def _section(grid: Grid) -> Markup:
    head = el("thead", el("tr", (el("th", cell, scope="col") for cell in grid.head)))
    body = el(
        "tbody",
        (
            el("tr", el("th", row[0], scope="row", class_="words"), (el("td", cell) for cell in row[1:]))
            for row in grid.rows
        ),
    )
    table = el("div", el("table", head, body, aria_label=grid.title), class_="scroll", role="region", tabindex=0,
               aria_label=grid.title)  # fmt: skip
    return el("section", el("h2", grid.title), table, el("p", grid.note, class_="soft") if grid.note else None)


def as_json(found: Findings, verdict: Verdict) -> dict[str, Any]:
    """For programs; what is undefined is null."""
    return {
        "verdict": verdict.overall,
        "says": verdict.says,
        "aspects": [{"name": a.name, "answer": a.answer, "why": a.why} for a in verdict.aspects],
        "warnings": list(verdict.warnings),
        "advice": list(verdict.advice),
        "levels": list(found.levels),
        "topics": list(found.topics),
        "blocks": found.blocks,
        "debates": found.held,
        "left_out": found.left_out,
        "failed_turns": found.silent,
        "auc": _wording(found.wording),
        "placebo": _wording(found.placebo),
        "auc_beyond_placebo": _number(found.beyond),
        "trends": {name: _trend(trend) for name, trend in found.trends.items()},
        "placebo_trends": {name: _trend(trend) for name, trend in found.placebo_trends.items()},
    }


def _number(interval: Interval | None) -> dict[str, Any] | None:
    if interval is None or not isfinite(interval.value):
        return None
    found: dict[str, Any] = plain(asdict(interval))
    return found


def _trend(trend: Trend) -> dict[str, Any]:
    return {
        "rho": plain(trend.rho),
        "rho_within": _number(trend.within),
        "p": trend.p,
        "step": _number(trend.step),
        "means": [_number(mean) for mean in trend.means],
        "peak": trend.peak,
        "peak_share": trend.peak_share,
    }


def _wording(wording: Wording | None) -> dict[str, Any] | None:
    if wording is None:
        return None
    return {
        "auc": _number(wording.auc),
        "p": wording.p,
        "alone": {name: _number(auc) for name, auc in wording.alone.items()},
        "turns": wording.turns,
        "topics": wording.topics,
        "folds": wording.folds,
        "means": {name: list(means) for name, means in wording.means.items()},
        "confusion": [list(row) for row in wording.confusion.counts],
        "adjacent": _number(wording.confusion.adjacent),
        "adjacent_by_chance": wording.confusion.chance if isfinite(wording.confusion.chance) else None,
    }


def plain(value: Any) -> Any:
    """Numbers as JSON has them: null for what is undefined.

    >>> plain({"rho": float("nan"), "n": (1, 2)})
    {'rho': None, 'n': [1, 2]}
    """
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list | tuple) else value


def said(interval: Mapping[str, Any]) -> str:
    """An interval of :func:`plain` as a person reads it."""
    if interval["value"] is None:
        return "undefined"
    return f"{interval['value']:.2f} [{interval['low']:.2f}, {interval['high']:.2f}]"
