"""The map as a report: who is ahead where, at what cost, and what each control earns; and its charts as drawings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

import numpy as np

from maci.calibration.stats.estimate import NORMAL, Estimate, estimate
from maci.lab.map import AVERAGE, AXES, METHODS, VOTE, Axis, CellResult
from maci.lab.map.habits import HABITS, SAID, Habits, Prediction
from maci.render.report import (
    Cell,
    Chart,
    Column,
    Line,
    Point,
    Report,
    ReportTable,
    Section,
    Series,
    columns,
    count,
    show,
    text,
)
from maci.render.svg import standalone
from maci.story.words import plural

RIVALS = (
    VOTE,
    *(use for use, _ in METHODS if use in ("single", AVERAGE, "self_consistency", "mad", "du_debate", "unscheduled")),
)
"""What MACI is compared with."""
CONTROLS: Mapping[str, tuple[str, str]] = {
    "evidence gate": ("no_q_gate", "maci less the same without the gate on evidence quality"),
    "argument gate": ("no_crit_gate", "maci less the same without the gate on CRIT"),
    "schedule": ("no_schedule_high", "maci less the same at contentiousness 0.9 throughout"),
    "weights": ("uniform_weights", "maci less the same with equal weights"),
    "stopping": ("no_stopping", "maci less the same that always takes four rounds"),
    "dispersion gate": ("no_dispersion_gate", "maci less the same that takes every move of a belief"),
    "judges": ("crit_free", "maci less the same without judges"),
}
"""Part of the controller → the method without it."""


def difference(results: Sequence[CellResult], a: str, b: str) -> Estimate:
    """Accuracy of ``a`` less that of ``b`` on the same cases, in the mean over cells; cases that either left open do not count."""
    parts = [pairs for result in results if len(pairs := _paired(result, a, b))]
    n = sum(map(len, parts))
    if n < 2:
        return Estimate(float("nan"), float("nan"), float("nan"), n, "no cases that both answered")
    value = float(np.mean([part.mean() for part in parts]))
    error = float(np.sqrt(sum(part.var() / max(1, len(part) - 1) for part in parts))) / len(parts)
    reach = NORMAL.inv_cdf(0.975) * error
    return Estimate(value, value - reach, value + reach, n, "normal, paired by case within cells")


def _paired(result: CellResult, a: str, b: str) -> np.ndarray:
    both = [(x, y) for x, y in zip(result.right[a], result.right[b], strict=True) if "-" not in (x, y)]
    return np.array([int(x) - int(y) for x, y in both], float)


def accuracy(results: Sequence[CellResult], use: str) -> float:
    """The share of right answers, cases without one counted as not right; the mean over cells."""
    return float(np.mean([result.right[use].count("1") / result.cases for result in results]))


def winner(results: Sequence[CellResult], among: Sequence[str] = ("maci", *RIVALS)) -> tuple[str, Estimate | None]:
    """The most accurate method, and what it is ahead of the second; ``None`` where only one is compared."""
    ranked = sorted(among, key=lambda use: -accuracy(results, use))
    return ranked[0], difference(results, ranked[0], ranked[1]) if len(ranked) > 1 else None


def build_map(
    results: Sequence[CellResult], habits: Habits, predictions: Mapping[str, Sequence[Prediction]], *, about: str
) -> Report:
    """The whole report."""
    return Report(
        title="When does a controlled debate pay?",
        verdict=_verdict(results),
        notes=(
            "Simulated agents: their habits were estimated from recorded debates where records tell them, and are assumed where not. "
            "A map of agents is no measurement of yours: a study is.",
        ),
        facts=(
            ("cells", f"{len(results):,}, of {plural(results[0].cases, 'case')} each" if results else "none"),
            ("made by", about),
        ),
        sections=(
            _winners(results),
            *([_methods(results)] if results else []),
            *(_along(axis, results) for axis in AXES),
            _controls(results),
            _habits(habits),
            *([_predictions(predictions)] if predictions else []),
        ),
        glossary=tuple((name, what) for name, (_, what) in CONTROLS.items()),
    )


def _verdict(results: Sequence[CellResult]) -> tuple[str, ...]:
    clear = {"ahead": 0, "behind": 0, "undecided": 0}
    for group in grouped(results, "susceptibility", "evidence").values():
        rival, _ = winner(group, RIVALS)
        gap = difference(group, "maci", rival)
        clear["undecided" if not gap.clear else "ahead" if gap.value > 0 else "behind"] += 1
    total = sum(clear.values())
    return (
        f"In {clear['ahead']} of {total} regions MACI is ahead of every other method, in {clear['behind']} another is ahead, "
        f"{clear['undecided']} are undecided.",
        f"Over the whole map, MACI less a vote of the same tokens: {_points(results, VOTE)} points; less the plain average of "
        f"the openings, which costs {tokens(results, AVERAGE) / tokens(results, 'maci'):.0%} of the tokens: "
        f"{_points(results, AVERAGE)} points.",
    )


def _points(results: Sequence[CellResult], use: str) -> str:
    return show(estimate(difference(results, "maci", use), "points"))


def tokens(results: Sequence[CellResult], use: str) -> float:
    """What a method spends on a case, judges included; the mean over cells."""
    return float(np.mean([result.tokens.get(use, float("nan")) for result in results]))


def _methods(results: Sequence[CellResult]) -> Section:
    """Every method over the whole map."""
    lines = tuple(
        Line(
            name=use,
            cells=(
                Cell(value=accuracy(results, use), kind="share"),
                count(round(tokens(results, use))) if results[0].tokens else text(""),
                text("") if use == "maci" else estimate(difference(results, "maci", use), "points"),
            ),
        )
        for use in sorted((VOTE, *(use for use, _ in METHODS)), key=lambda use: -accuracy(results, use))
    )
    table = ReportTable(
        key="methods",
        title="Every method",
        first="Method",
        columns=columns("accuracy", "tokens a case", "maci less it, points"),
        lines=lines,
    )
    return Section(
        key="methods",
        title="Every method, and what it costs",
        notes=(f"{VOTE} has as many samples as MACI's tokens buy; the other methods spend what they spend.",),
        tables=(table,),
    )


def grouped(results: Sequence[CellResult], *names: str) -> dict[tuple[float, ...], list[CellResult]]:
    """Levels of these axes → the cells that have them."""
    found: dict[tuple[float, ...], list[CellResult]] = {}
    for result in results:
        found.setdefault(tuple(result.levels[name] for name in names), []).append(result)
    return dict(sorted(found.items()))


def _winners(results: Sequence[CellResult]) -> Section:
    """A line for each level of susceptibility and evidence: who is ahead of whom."""
    lines = []
    for (susceptibility, evidence), group in grouped(results, "susceptibility", "evidence").items():
        rival, _ = winner(group, RIVALS)
        gap = difference(group, "maci", rival)
        word, kind = ("undecided", "soft") if not gap.clear else ("maci", "good") if gap.value > 0 else (rival, "bad")
        lines.append(
            Line(
                name=f"yields {susceptibility:.0%}, {evidence:.0%} sound",
                cells=(
                    Cell(value=word, kind=kind),  # type: ignore[arg-type]
                    text(rival),
                    estimate(gap, "points"),
                    *(Cell(value=accuracy(group, use), kind="share") for use in ("maci", VOTE, AVERAGE, "unscheduled")),
                ),
            )
        )
    heads = columns("ahead", "best other", "maci less it", "maci", "vote, equal tokens", "average", "unscheduled")
    return Section(
        key="winners",
        title="Who is ahead where",
        notes=(
            "How often agents yield to others without new evidence, and the share of evidence that is about the truth; "
            "the mean over all other axes. The best other method is chosen with these very cases, which favours it.",
        ),
        tables=(ReportTable(key="winners", title="Regions", first="Region", columns=heads, lines=tuple(lines)),),
    )


def _along(axis: Axis, results: Sequence[CellResult]) -> Section:
    """One axis: MACI less each rival, and what each control earns, level by level."""
    return Section(
        key=axis.name,
        title=axis.name.capitalize(),
        notes=(f"{axis.about[0].upper()}{axis.about[1:]}.",),
        charts=(_rivals_along(axis, results), _controls_along(axis, results)),
    )


def _rivals_along(axis: Axis, results: Sequence[CellResult]) -> Chart:
    rivals = {"vote, equal tokens": VOTE, "average": AVERAGE, "unscheduled": "unscheduled"}
    return _chart(axis, results, f"MACI less other methods: {axis.name}", f"map-{axis.name}", rivals)


def _controls_along(axis: Axis, results: Sequence[CellResult], parts: Iterable[str] = CONTROLS) -> Chart:
    without = {name: CONTROLS[name][0] for name in parts}
    return _chart(axis, results, f"What each part earns: {axis.name}", f"earned-{axis.name}", without)


def _chart(axis: Axis, results: Sequence[CellResult], title: str, key: str, against: Mapping[str, str]) -> Chart:
    groups = {level: group for (level,), group in grouped(results, axis.name).items()}
    series = tuple(_series(name, groups, partial(_against, use)) for name, use in against.items())
    return Chart(title=title, x=axis.about, y="points of accuracy", key=key, series=series)


def drawings(results: Sequence[CellResult]) -> dict[str, str]:
    """File name → drawing: MACI against other methods along every axis, and what its main parts earn along the first."""
    parts = ("dispersion gate", "evidence gate", "judges", "schedule")  # of more than six lines no intervals are drawn
    charts = [*(_rivals_along(axis, results) for axis in AXES), _controls_along(AXES[0], results, parts)]
    return {f"{chart.key}.svg": standalone(chart) for chart in charts}


def _series(
    name: str, groups: Mapping[float, Sequence[CellResult]], of: Callable[[Sequence[CellResult]], Estimate]
) -> Series:
    found = [(level, of(group)) for level, group in groups.items()]
    points = tuple(
        Point(x=level, y=100 * each.value, low=100 * each.low, high=100 * each.high, n=each.n)
        for level, each in found
        if each.defined
    )
    return Series(name=name, points=points)


def _against(use: str, results: Sequence[CellResult]) -> Estimate:
    return difference(results, "maci", use)


def _controls(results: Sequence[CellResult]) -> Section:
    """What each part of the controller earns at each level of each axis."""
    lines = []
    for axis in AXES:
        for (level,), group in grouped(results, axis.name).items():
            cells = tuple(estimate(difference(group, "maci", use), "points") for use, _ in CONTROLS.values())
            lines.append(Line(name=f"{axis.name} {level:g}", cells=(count(sum(r.cases for r in group)), *cells)))
    heads = (Column(key="cases", title="cases"), *columns(*CONTROLS))
    return Section(
        key="controls",
        title="What each part of the controller earns",
        tables=(
            ReportTable(key="controls", title="Points of accuracy", first="Where", columns=heads, lines=tuple(lines)),
        ),
    )


def _habits(habits: Habits) -> Section:
    lines = tuple(
        Line(
            name=HABITS[name].about,
            cells=(estimate(found), count(found.n), text(found.how)),
            source="ours" if found.n else "reference",
        )
        for name, found in habits.items()
    )
    heads = columns("value", "n", "how")
    table = ReportTable(
        key="habits", title="Habits", first="An agent (or judge) …", columns=heads, lines=lines, folded=True
    )
    return Section(key="habits", title="What the simulated agents do", tables=(table,))


def _predictions(predictions: Mapping[str, Sequence[Prediction]]) -> Section:
    lines = tuple(
        Line(
            name=f"{name}: {SAID[each.what]}",
            cells=(
                Cell(value=each.predicted, low=each.low, high=each.high, kind="share"),
                estimate(each.recorded, "share"),
                Cell(value="as predicted" if each.holds else "not as predicted", kind="good" if each.holds else "bad"),
            ),
        )
        for name, found in predictions.items()
        for each in found
    )
    table = ReportTable(
        key="predictions",
        title="Held out",
        first="Debates",
        columns=columns("predicted", "recorded", "verdict"),
        lines=lines,
    )
    failed = sum(not each.holds for found in predictions.values() for each in found)
    said = (
        f"{failed} of {len(lines)} recorded figures lie outside of what was predicted."
        if failed
        else "All recorded figures lie within what was predicted."
    )
    return Section(key="predictions", title="Does it predict recorded debates?", verdicts=(said,), tables=(table,))
