"""The tables one reads first: the main table, accuracy by data set, accuracy for its cost, and paired differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from maci.calibration.stats import FDR, estimate
from maci.lab.study.report.arena import Answered, Arena, Entrant
from maci.lab.study.report.compare import ALIKE as ALIKE_IN_ACCURACY
from maci.lab.study.report.compare import Comparison
from maci.lab.study.report.estimates import ALIKE, Estimates, point
from maci.lab.study.report.tables import (
    PAPER_MAIN,
    PAPER_NEWS_MAIN,
    PAPER_NOTE,
    Printed,
    by_method,
    line_of,
    printed_line,
    table,
    widened,
)
from maci.render.report import Cell, Chart, Column, Kind, Line, Point, ReportTable, Section, Series, count, number, text

_MAIN: tuple[tuple[Column, Kind], ...] = (
    (Column(key="n", title="n", about="answers scored"), "count"),
    (Column(key="acc1", title="Acc@1 %", better="more", about="share of cases whose true outcome leads"), "share"),
    (
        Column(key="acc3", title="Acc@3 %", better="more", about="share whose true outcome is among the first three"),
        "share",
    ),
    (Column(key="mrr", title="MRR", better="more", about="mean of 1 / rank of the true outcome"), "number"),
    (
        Column(
            key="ece",
            title="ECE",
            better="less",
            about="calibration error, 15 equal-width bins; too high by nature, see `ECE if calibrated`",
        ),
        "number",
    ),
    (
        Column(
            key="ece_adaptive",
            title="ECE, equal mass",
            better="less",
            about="the same with 15 bins of as many answers each",
        ),
        "number",
    ),
    (
        Column(
            key="ece_calibrated",
            title="ECE if calibrated",
            about="what a perfectly calibrated method with the same confidences would show, with its 95 % range",
        ),
        "number",
    ),
    (Column(key="brier", title="Brier", better="less", about="sum of squares over all outcomes, 0 to 2"), "number"),
    (
        Column(
            key="brier_top", title="Brier top-1", better="less", about="square of confidence less correctness, 0 to 1"
        ),
        "number",
    ),
    (Column(key="nll", title="NLL", better="less", about="in nats"), "number"),
    (
        Column(key="tokens", title="Tokens", better="less", about="per case: prompt and generated, agents and judges"),
        "tokens",
    ),
    (Column(key="prompt", title="prompt", about="per case"), "tokens"),
    (Column(key="cached", title="cached", about="per case"), "tokens"),
    (Column(key="generated", title="generated", about="per case"), "tokens"),
    (Column(key="judge_tokens", title="judge", about="per case"), "tokens"),
    (Column(key="calls", title="Agent calls", about="per case"), "mean"),
    (Column(key="judge_calls", title="Judge calls", about="per case"), "mean"),
    (Column(key="rounds", title="Rounds", about="per case"), "mean"),
    (
        Column(
            key="usd",
            title="Cost $",
            better="less",
            about="per case: what its replies cost when they were bought, also where another answer had bought them before",
        ),
        "usd",
    ),
    (Column(key="seconds", title="Wall s", about="wall time per case; decides nothing"), "seconds"),
    (Column(key="unscored", title="Failed", about="no answer, or none within the budget; not scored"), "count"),
)
_METRICS = ("acc1", "acc3", "mrr", "ece", "ece_adaptive", "brier", "brier_top", "nll")
_DRAWN = ("tokens", "calls", "rounds")
"""Costs with an interval."""


def _spent(answers: Sequence[Answered]) -> dict[str, list[float]]:
    """What each answer cost."""
    own, judge = [a.row.usage for a in answers], [a.row.judge_usage for a in answers]
    both = list(zip(own, judge, strict=True))
    return {
        "tokens": [a.tokens for a in answers],
        "prompt": [x.prompt for x in own],
        "cached": [x.cached + y.cached for x, y in both],
        "generated": [x.generated for x in own],
        "judge_tokens": [x.tokens for x in judge],
        "calls": [a.row.calls for a in answers],
        "judge_calls": [a.row.judge_calls for a in answers],
        "rounds": [a.row.rounds for a in answers],
        "usd": [x.usd + x.saved + y.usd + y.saved for x, y in both],
        "seconds": [a.row.seconds for a in answers],
    }


def _printed(arena: Arena) -> dict[str, Printed]:
    """Entrant → its line in the paper's table for such data; the single model of the paper is its best. None for other data."""
    table = {"G1": PAPER_MAIN, "G2": PAPER_NEWS_MAIN}.get(arena.paper, {})
    found: dict[str, Printed] = {}
    for use, line in table.items():
        there = [e for e in arena.entrants if e.use == use]
        best = [e for e in there if e.best] or there
        if best:
            found[best[0].name] = line
    return found


def main_table(arena: Arena, estimates: Estimates) -> tuple[ReportTable, Chart]:
    """G1's shape: what was right, how well the probabilities fit, and what it cost; the paper's figures below ours."""
    columns, kinds = [column for column, _ in _MAIN], {c.key: kind for c, kind in _MAIN if kind != "count"}
    lines, points = [], []
    printed = _printed(arena)
    for entrant in arena.entrants:
        some = entrant.picked()
        found = dict(zip(_METRICS, estimates.metrics(_METRICS, some.scored, some.cases), strict=True))
        found["ece_calibrated"] = estimates.calibrated_ece(some.scored, some.cases)
        costs = _spent(some.answers)
        found |= dict(zip(_DRAWN, estimates.means([costs[key] for key in _DRAWN], some.cases), strict=True))
        own = {key: number(sum(x) / len(x) if x else None, kinds[key], len(x)) for key, x in costs.items()}
        own |= {key: estimate(figure, kinds[key]) for key, figure in found.items()}
        own |= {"n": count(len(some.answers)), "unscored": count(entrant.unscored)}
        lines.append(line_of(arena, entrant, [own[column.key] for column in columns]))
        accuracy, tokens = found["acc1"], found["tokens"]
        if accuracy.defined and tokens.value > 0:
            mark = replace(point(tokens.value, accuracy), label=entrant.name)
            points.append(Series(name=entrant.name, points=(mark,), reference=entrant.name == arena.reference))
        if entrant.name in printed:
            lines.append(printed_line(printed[entrant.name], columns, kinds))
    notes = [
        "Intervals: 95 %, cases resampled whole over all seeds (BCa; Wilson where all answers are alike). Probabilities after the "
        "calibration learnt on dev; accuracy and ranks are those of the answers as given.",
        "ECE of a finite sample is above 0 even for a perfect method, and its interval does not cover: read it against ECE if "
        "calibrated.",
    ]
    main = table("main", "Main results", columns, lines)
    notes += widened("ECE", [(line.name, main.cell(line.name, "ece").how) for line in lines])
    if printed:
        notes += [
            PAPER_NOTE,
            "The paper does not say which form its Brier score has; by its size it is the top-1 form.",
        ]
    if len({len(e.answers) for e in arena.entrants}) > 1:
        notes.append(
            "Methods answered different numbers of cases; the differences below use only cases that both answered."
        )
    notes += [f"{e.name}: {', '.join(e.chosen)}." for e in arena.entrants if e.best]
    chart = Chart(
        key="scatter",
        kind="scatter",
        title="Accuracy and tokens",
        about="Each method's share of right answers, with its 95 % interval, over its mean tokens per case. Named: methods that no "
        "other is better than at as many tokens or fewer.",
        x="tokens per case",
        y="Acc@1 %",
        series=_frontier(points),
    )
    return replace(main, notes=tuple(notes)), chart


def _frontier(points: Sequence[Series]) -> tuple[Series, ...]:
    """Methods that another is better than at no more tokens are drawn without their names; never the reference."""
    best: float | None = None
    ahead = set()
    for series in sorted(points, key=lambda s: (s.points[0].x, -s.points[0].y)):
        if best is None or series.points[0].y > best:
            best = series.points[0].y
            ahead.add(series.name)
    return tuple(replace(s, quiet=not s.reference and s.name not in ahead) for s in points)


def overview(sections: Sequence[Section]) -> ReportTable | None:
    """Accuracy of every method on every data set, where there are several."""
    mains = [(s, t) for s in sections for t in s.tables if t.key == "main"]
    if len(mains) < 2:
        return None
    names = list(dict.fromkeys(line.name for _, t in mains for line in t.lines if line.source != "paper"))
    own = [{line.name: line.source for line in t.lines} for _, t in mains]
    lines = []
    for name in names:
        cells = [
            t.cell(name, "acc1") if name in of else Cell(kind="share") for (_, t), of in zip(mains, own, strict=True)
        ]
        home = any(of.get(name) == "reference" for of in own)
        lines.append(Line(name=name, cells=tuple(cells), source="reference" if home else "ours"))
    notes = [
        "Acc@1 %. Different studies have different agents: their columns stand side by side and are not tested against each other."
    ]
    if any(line.source == "paper" for _, t in mains for line in t.lines):
        notes.append(
            "Constrained against free-text outcomes in the paper: 95–97 % against 73–78 % (other data, LLM agents)."
        )
    return table(
        "overview",
        "Accuracy by data set",
        tuple(Column(key=f"acc1:{s.key}", title=s.title, better="more") for s, _ in mains),
        lines,
        *notes,
    )


def compute_table(arena: Arena, found: Sequence[Comparison], estimates: Estimates) -> ReportTable:
    """Accuracy for what it cost, and of methods run at several sizes the one that costs about as much as the reference."""
    means = {e.name: _mean_tokens(e) for e in arena.entrants}
    home = means[arena.reference]
    nearest = _nearest(arena, means)
    by = {c.other: c for c in found}

    def cells(entrant: Entrant) -> list[Cell]:
        mean, some = means[entrant.name], entrant.picked(lambda a: a.scored.correct is not None)
        right = [float(s.correct is True) for s in some.scored]
        per_token = estimates.ratio(right, [a.tokens / 1000 for a in some.answers], some.cases)
        close = nearest.get(entrant.name, "")
        at = by[entrant.name].accuracy if close == "nearest" and entrant.name in by else None
        return [
            number(mean, "tokens", len(entrant.answers)),
            number(mean / home if mean is not None and home else None, "ratio"),
            estimate(estimates.share(right, some.cases), "share"),
            estimate(per_token),
            text(close),
            text("") if at is None else estimate(at, "points"),
        ]

    notes = [
        "A vote of fewer voters cannot be worked out from kept answers: run the method at several sizes (n, rounds) to compare it at "
        "equal compute.",
    ]
    chosen = ", ".join(name for name, close in nearest.items() if close == "nearest")
    notes.append(
        f"Nearest to {arena.reference} in tokens among sizes of the same method: {chosen}."
        if chosen
        else "No method was run at several sizes, so equal compute is by right answers per 1k tokens only."
    )
    return table(
        "compute",
        "At equal compute",
        (
            Column(key="tokens", title="Tokens", about="per case, all calls"),
            Column(
                key="token_ratio",
                title=f"of {arena.reference}'s",
                about="this method's tokens over the reference's, each on its own cases",
            ),
            Column(key="acc1", title="Acc@1 %", better="more"),
            Column(
                key="acc1_per_1k",
                title="right answers per 1k tokens",
                better="more",
                about="sum of right answers over sum of tokens",
            ),
            Column(
                key="nearest",
                title="equal compute",
                about="of several sizes of one method, the nearest in tokens to the reference",
            ),
            Column(key="acc1_difference", title=f"Δ of {arena.reference}, points", about="at equal compute only"),
        ),
        by_method(arena, cells),
        *notes,
    )


def _mean_tokens(entrant: Entrant) -> float | None:
    tokens = [a.tokens for a in entrant.answers.values()]
    return sum(tokens) / len(tokens) if any(tokens) else None


def _nearest(arena: Arena, means: Mapping[str, float | None]) -> dict[str, str]:
    """Of methods with several sizes: which is nearest in tokens to the reference, as a ratio; ``other size`` for the rest."""
    home = means[arena.reference]
    found: dict[str, str] = {}
    if not home:
        return found
    families: dict[str, dict[str, float]] = {}
    for e in arena.entrants:
        mean = means[e.name]
        if e.name != arena.reference and not e.member and mean:
            families.setdefault(e.use, {})[e.name] = mean
    for sizes in families.values():
        if len(sizes) > 1:
            first = min(sizes, key=lambda name: max(sizes[name] / home, home / sizes[name]))
            found |= {name: "nearest" if name == first else "other size" for name in sizes}
    return found


def difference_table(arena: Arena, found: Sequence[Comparison], tests: int) -> tuple[ReportTable, Chart]:
    """The reference less each other method."""
    lines = tuple(
        Line(
            name=c.other,
            cells=(
                text(c.verdict),
                count(c.cases),
                estimate(c.accuracy, "points"),
                number(c.mcnemar.p, "p"),
                number(c.p, "p"),
                estimate(c.brier, "signed"),
                number(c.wilcoxon.p, "p"),
                number(c.p_brier, "p"),
                estimate(c.ece, "signed"),
                number(c.tokens, "ratio"),
            ),
        )
        for c in found
    )
    marks: dict[bool, list[Point]] = {True: [], False: []}
    for i, c in enumerate(found):
        if c.cases:
            d = c.accuracy
            mark = Point(x=d.value, y=float(i), low=d.low, high=d.high, n=d.n, label=c.other)
            marks[c.verdict != ALIKE_IN_ACCURACY].append(mark)
    return table(
        "differences",
        "Differences",
        (
            Column(
                key="verdict",
                title=f"{arena.reference} …",
                about="beat or lost: interval without 0 and adjusted p < 0.05",
            ),
            Column(key="cases", title="cases", about="that both answered"),
            Column(key="acc1_difference", title="Δ Acc@1, points", about="reference less other"),
            Column(key="p_mcnemar", title="p", about="McNemar on right and wrong, by case; not adjusted"),
            Column(
                key="p_mcnemar_adjusted", title="p adjusted", about="Benjamini–Hochberg over all tests of this study"
            ),
            Column(
                key="brier_difference", title="Δ Brier", about="reference less other; below 0 the reference is better"
            ),
            Column(
                key="p_wilcoxon",
                title="p (Brier)",
                about="Wilcoxon signed ranks on the Brier scores, by case; not adjusted",
            ),
            Column(key="p_wilcoxon_adjusted", title="p (Brier) adjusted", about="of the same family"),
            Column(key="ece_difference", title="Δ ECE", about="reference less other"),
            Column(key="token_ratio", title="tokens", about="reference's tokens over the other's"),
        ),
        lines,
        "The rule: a method beat or lost to another where the 95 % interval of the difference leaves out 0 and the adjusted p is "
        f"below {FDR:g}. Where either is missing there is no significant difference, which does not mean that they are equal.",
        f"The family of tests is the study's: McNemar and Wilcoxon for each other method on each data set, and on all together where "
        f"there are several; {tests} tests, adjusted together (Benjamini–Hochberg). Studies beside it have families of their own.",
        *(f"{c.other} is {c.same_as} under every seed: one test, not two." for c in found if c.same_as),
        "Paired differences with 95 % percentile intervals, cases resampled whole.",
        *_alike(found),
        *widened("Δ ECE", [(c.other, c.ece.how) for c in found]),
        first="against",
    ), Chart(
        key="forest",
        kind="forest",
        title=f"{arena.reference} minus each other method",
        about="Differences of accuracy in points with 95 % intervals; to the right of 0 the reference is better. Coloured: beat or "
        "lost after adjusting for all tests of the study; grey: no difference shown.",
        x="Δ Acc@1, points",
        y="",
        series=tuple(
            Series(name=name, points=tuple(marks[clear]), reference=clear)
            for name, clear in (("beat or lost", True), ("no difference shown", False))
        ),
    )


def _alike(found: Sequence[Comparison]) -> tuple[str, ...]:
    """The footnote to differences that resampling cannot tell the uncertainty of."""
    names = ", ".join(c.other for c in found if c.accuracy.how == ALIKE)
    note = (
        f"Δ Acc@1 against {names} was the same in every case: its interval is what other cases might differ by (Wilson's "
        "bound on the share of such cases)."
    )
    return (note,) if names else ()
