"""The audit of the dial as a report, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import isfinite, isnan
from typing import Any

from maci.calibration.stats import Estimate, as_json, estimate
from maci.lab.audit.contentiousness.debates import early
from maci.lab.audit.contentiousness.trends import SIGNALS, Trend
from maci.lab.audit.contentiousness.verdict import DialVerdict, Findings, figure
from maci.lab.audit.contentiousness.wording import Wording
from maci.render.report import Chart, Line, Point, Report, ReportTable, Section, Series, columns, count, number, text
from maci.story.words import plural

PAPER = {"auc": 0.83, "placebo": 0.52, "d": 0.82, "o": -0.71}
"""What the paper reports (SPEC 8), for comparison; its Î peaks near CL 0.5."""


def build_report(found: Findings, verdict: DialVerdict, panel: str, *, full: bool = True) -> Report:
    """The verdict with its reasons and, if ``full``, all figures."""
    answers = Section(
        key="answers", title="What was found", notes=(*verdict.warnings, *verdict.advice),
        verdicts=tuple(f"{a.name}: {a.answer}. {a.why[0].upper()}{a.why[1:]}." for a in verdict.aspects),
    )  # fmt: skip
    figures = Section(key="figures", title="Figures", tables=tuple(_tables(found)), charts=tuple(_charts(found)))
    return Report(
        title="Does the behaviour dial move these agents?", verdict=(verdict.says, f"{_about(found, panel)}."),
        tone="good" if verdict.good else "bad", sections=(answers, figures) if full else (answers,),
    )  # fmt: skip


def _about(found: Findings, panel: str) -> str:
    levels = ", ".join(f"{level:g}" for level in found.levels)
    return (
        f"{panel}: {plural(found.held, 'debate')} of {plural(found.rounds, 'round')} at CL {levels}, on "
        f"{plural(len(found.topics), 'topic')} ({', '.join(found.topics)}), {plural(found.blocks, 'pair')} of topic and seed"
        + ("; as many again under the placebo are among them" if found.placebo_trends else "")
    )


def _tables(found: Findings) -> Iterator[ReportTable]:
    """Most important first."""
    if found.trends:
        yield _levels("By level of contentiousness", found, found.trends)
        yield _order(found)
    if found.wording is not None:
        yield _told(found.wording, found.placebo)
        yield from _manner(found.wording)
    if found.placebo_trends:
        yield _levels("The same under the placebo", found, found.placebo_trends)


def _levels(title: str, found: Findings, trends: Mapping[str, Trend]) -> ReportTable:
    return ReportTable(
        key="levels", title=title, first="CL",
        columns=columns("D, round 1", "O, last round", f"largest Î, {early(found.rounds)}", "tokens written"),
        lines=tuple(
            Line(
                name=f"{level:g}",
                cells=tuple(estimate(t.means[i], "mean" if n == "written" else "number") for n, t in trends.items()),
            )
            for i, level in enumerate(found.levels)
        ),
        notes=("Means over topics and seeds" + (" with 95 % intervals." if found.blocks > 1 else "."),),
    )  # fmt: skip


def _order(found: Findings) -> ReportTable:
    lines = []
    for name, trend in found.trends.items():
        placebo = found.placebo_trends.get(name)
        share = "" if trend.peak_share is None else f" ({100 * trend.peak_share:.0f} %)"
        cells = (
            estimate(trend.within), number(trend.p, "p"), estimate(placebo.within if placebo else None),
            estimate(trend.step, "mean" if name == "written" else "signed"),
            text("–" if trend.peak is None else f"{trend.peak:g}{share}"), number(trend.rho), number(PAPER.get(name)),
        )  # fmt: skip
        lines.append(Line(name=SIGNALS[name][0].format(early=early(found.rounds)), cells=cells))
    note = (
        "ρ with CL: the mean of Spearman's within a topic and seed, 0 where the signal never varies there; intervals draw topics × "
        "seeds anew; p exchanges levels within them. ρ over all debates is the paper's: differences between topics are in it, so it "
        "has no interval of its own. The share says how often that level is highest "
        "when they are drawn anew; the paper's Î is highest at 0.5."
    )
    heads = columns(
        "ρ with CL",
        "p",
        "under the placebo",
        "highest − lowest level",
        "highest at CL (share)",
        "ρ over all debates",
        "paper",
    )
    return ReportTable(
        key="order", title="Does it follow the dial?", first="signal", columns=heads, lines=tuple(lines), notes=(note,)
    )


def _told(wording: Wording, placebo: Wording | None) -> ReportTable:
    alone = {} if placebo is None else placebo.alone
    return ReportTable(
        key="wording", title="Can the level be told from the words?", first="features",
        columns=columns("AUC", "placebo", "paper"),
        lines=(
            Line(name="all features", cells=(
                estimate(wording.auc), estimate(placebo.auc if placebo else None), text("0.83, placebo 0.52"),
            )),
            *(
                Line(name=f"{name} alone", cells=(estimate(auc), estimate(alone.get(name)), number(None)))
                for name, auc in wording.alone.items()
            ),
        ),
        notes=(
            f"Macro AUC, one level against the rest, of {wording.turns} turns on {wording.topics} topics in {wording.folds} folds; no "
            "topic is in training and test at once. 0.5 is guessing. Intervals draw topics × seeds anew and do not fit anew.",
        ),
    )  # fmt: skip


def _manner(wording: Wording) -> Iterator[ReportTable]:
    levels, confusion = [f"{level:g}" for level in wording.levels], wording.confusion
    yield ReportTable(
        key="manner", title="Manner by level", first="CL",
        columns=columns("words a turn", "hedges in 100 words", "share of imperative sentences", "citations in 100 words"),
        lines=tuple(
            Line(name=level, cells=tuple(number(means[i], "mean" if name != "imperatives" else "number")
                                         for name, means in wording.means.items()))
            for i, level in enumerate(levels)
        ),
    )  # fmt: skip
    yield ReportTable(
        key="confusion", title="Which level is taken for which", first="CL",
        columns=columns(*(f"guessed {level}" for level in levels)),
        lines=tuple(
            Line(name=level, cells=tuple(map(count, row))) for level, row in zip(levels, confusion.counts, strict=True)
        ),
        notes=(
            f"Of the wrong guesses {figure(confusion.adjacent)} are one level off; drawn evenly it would be {confusion.chance:.2f}.",
        ),
    )  # fmt: skip


def _charts(found: Findings) -> Iterator[Chart]:
    titles = {"d": "Disagreement D in round 1", "o": "Shared evidence O, last round", "gain": "Largest Î"}
    for name, title in titles.items():
        series = tuple(
            Series(name=arm, points=tuple(_points(found.levels, trends[name].means)), reference=arm == "stance")
            for arm, trends in (("stance", found.trends), ("placebo", found.placebo_trends))
            if name in trends
        )
        if any(some.points for some in series):
            yield Chart(title=f"{title}, by contentiousness", x="contentiousness CL", y=title, series=series, key=name)


def _points(levels: Sequence[float], means: Sequence[Estimate]) -> Iterator[Point]:
    for level, mean in sorted(zip(levels, means, strict=True), key=lambda pair: pair[0]):
        if mean.defined:
            ends = (None, None) if isnan(mean.low) else (mean.low, mean.high)
            yield Point(x=level, y=mean.value, low=ends[0], high=ends[1], n=mean.n)


def record(found: Findings, verdict: DialVerdict) -> dict[str, Any]:
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


def _number(interval: Estimate | None) -> Any:
    return as_json(interval) if interval is not None and interval.defined else None


def _trend(trend: Trend) -> dict[str, Any]:
    return {
        "rho": None if isnan(trend.rho) else trend.rho,
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
