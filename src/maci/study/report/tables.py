"""The tables that every study has: main, differences, equal compute, ablations, the panel against its members."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from maci.page.chart import Chart, Point, Series
from maci.study.report import paper
from maci.study.report.arena import Answered, Arena, Case, Entrant
from maci.study.report.compare import Comparison
from maci.study.report.estimates import ALIKE, WIDENED, Estimates
from maci.study.report.model import (
    Cell,
    Column,
    Kind,
    Line,
    Section,
    Table,
    count,
    estimate,
    number,
    text,
)
from maci.study.statistics import FDR

__all__ = [
    "ablation_table",
    "compute_table",
    "difference_table",
    "main_table",
    "members_table",
    "overview",
    "reliability_table",
]

_QUALITY: tuple[tuple[str, str, str, Kind], ...] = (
    ("acc1", "Acc@1 %", "more", "share"),
    ("acc3", "Acc@3 %", "more", "share"),
    ("mrr", "MRR", "more", "number"),
    ("ece", "ECE", "less", "number"),
    ("ece_calibrated", "ECE if calibrated", "", "number"),
    ("brier", "Brier", "less", "number"),
    ("brier_top", "Brier top-1", "less", "number"),
    ("nll", "NLL", "less", "number"),
)
_COST: tuple[tuple[str, str, Kind], ...] = (
    ("tokens", "Tokens", "tokens"),
    ("prompt", "prompt", "tokens"),
    ("cached", "cached", "tokens"),
    ("generated", "generated", "tokens"),
    ("judge_tokens", "judge", "tokens"),
    ("calls", "Agent calls", "mean"),
    ("judge_calls", "Judge calls", "mean"),
    ("rounds", "Rounds", "mean"),
    ("usd", "Cost $", "usd"),
    ("seconds", "Wall s", "seconds"),
)
_ABOUT = {
    "acc1": "share of cases whose true outcome leads",
    "acc3": "share whose true outcome is among the first three",
    "mrr": "mean of 1 / rank of the true outcome",
    "ece": "calibration error, 15 equal-width bins; too high by nature, see the column beside it",
    "ece_calibrated": "what a perfectly calibrated method with the same confidences would show, with its 95 % range",
    "brier": "sum of squares over all outcomes, 0 to 2",
    "brier_top": "square of confidence less correctness, 0 to 1",
    "nll": "in nats",
    "tokens": "per case: prompt and generated, agents and judges",
    "usd": "per case: what its replies cost when they were bought, also where another answer had bought them before",
    "seconds": "wall time per case; decides nothing",
}


def _spent(a: Answered) -> dict[str, float]:
    own, judge = a.row.usage, a.row.judge_usage
    return {
        "tokens": a.tokens,
        "prompt": own.prompt,
        "cached": own.cached + judge.cached,
        "generated": own.generated,
        "judge_tokens": judge.tokens,
        "calls": a.row.calls,
        "judge_calls": a.row.judge_calls,
        "rounds": a.row.rounds,
        "usd": own.usd + own.saved + judge.usd + judge.saved,
        "seconds": a.row.seconds,
    }


def _of(entrant: Entrant) -> tuple[list[Answered], list[Case]]:
    places = sorted(entrant.answers)
    return [entrant.answers[p] for p in places], [p.case for p in places]


def _line(arena: Arena, entrant: Entrant, cells: Sequence[Cell]) -> Line:
    home = entrant.name == arena.reference
    return Line(name=entrant.name, cells=tuple(cells), source="reference" if home else "ours")


def printed_line(printed: paper.Printed, columns: Sequence[Column], kinds: Mapping[str, Kind]) -> Line:
    """A line of the paper's, under the columns it has figures for."""
    cells = []
    for column in columns:
        figure = printed.figures.get(column.key)
        cells.append(text(figure) if isinstance(figure, str) else number(figure, kinds.get(column.key, "number")))
    return Line(name=f"paper: {printed.name}", cells=tuple(cells), source="paper")


def _printed(arena: Arena) -> dict[str, paper.Printed]:
    """Entrant → its line in the paper's table for such data; the single model of the paper is its best. None for other data."""
    table = {"G1": paper.MAIN, "G2": paper.NEWS_MAIN}.get(arena.paper, {})
    found: dict[str, paper.Printed] = {}
    for use, line in table.items():
        there = [e for e in arena.entrants if e.use == use]
        best = [e for e in there if e.best] or there
        if best:
            found[best[0].name] = line
    return found


def main_table(arena: Arena, estimates: Estimates) -> tuple[Table, Chart]:
    """G1's shape: what was right, how well the probabilities fit, and what it cost; the paper's figures below ours."""
    columns = [Column(key="n", title="n", about="answers scored")]
    columns += [
        Column(key=key, title=title, better="more" if better == "more" else "less" if better else "", about=_ABOUT[key])
        for key, title, better, _ in _QUALITY
    ]
    columns += [
        Column(
            key=key, title=title, better="less" if key in ("tokens", "usd") else "", about=_ABOUT.get(key, "per case")
        )
        for key, title, _ in _COST
    ]
    columns.append(Column(key="unscored", title="Failed", about="no answer, or none within the budget; not scored"))
    kinds: dict[str, Kind] = {**{key: kind for key, _, _, kind in _QUALITY}, **{key: kind for key, _, kind in _COST}}
    lines, points = [], []
    printed = _printed(arena)
    for entrant in arena.entrants:
        answers, cases = _of(entrant)
        scored = [a.scored for a in answers]
        cells = [count(len(answers))]
        for key, _, _, kind in _QUALITY:
            if key == "ece_calibrated":
                cells.append(estimate(estimates.calibrated_ece(scored, cases), kind))
            else:
                cells.append(estimate(estimates.metric(key, scored, cases), kind))
        spent = [_spent(a) for a in answers]
        for key, _, kind in _COST:
            values = [s[key] for s in spent]
            if key in ("tokens", "calls", "rounds"):
                cells.append(estimate(estimates.mean(values, cases), kind))
            else:
                cells.append(number(sum(values) / len(values) if values else None, kind, len(values)))
        cells.append(count(entrant.unscored))
        lines.append(_line(arena, entrant, cells))
        accuracy, tokens = cells[1], cells[1 + len(_QUALITY)]
        if isinstance(accuracy.value, float) and isinstance(tokens.value, float) and tokens.value > 0:
            point = Point(
                x=tokens.value, y=accuracy.value, low=accuracy.low, high=accuracy.high, n=accuracy.n, label=entrant.name
            )
            points.append(Series(name=entrant.name, points=(point,), reference=entrant.name == arena.reference))
        if entrant.name in printed:
            lines.append(printed_line(printed[entrant.name], columns, kinds))
    notes = [
        "Intervals: 95 %, cases resampled whole over all seeds (BCa; Wilson where all answers are alike). Probabilities after the "
        "calibration learnt on dev; accuracy and ranks are those of the answers as given.",
        "ECE of a finite sample is above 0 even for a perfect method, and its interval does not cover: read it against `ECE if "
        "calibrated`.",
    ]
    ece = 1 + next(i for i, (key, *_) in enumerate(_QUALITY) if key == "ece")
    notes += _widened("ECE", [(line.name, line.cells[ece].how) for line in lines])
    if printed:
        notes += [
            paper.NOTE,
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
        about="Each method's share of right answers, with its 95 % interval, over its mean tokens per case.",
        x="tokens per case",
        y="Acc@1 %",
        series=tuple(points),
    )
    return Table(
        key="main", title="Main results", columns=tuple(columns), lines=tuple(lines), notes=tuple(notes)
    ), chart


def _widened(what: str, cells: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """The footnote to intervals that do not come from resampling alone."""
    names = [name for name, how in cells if how.endswith(WIDENED)]
    if not names:
        return ()
    return (
        f"{what} of {', '.join(names)}: resampling adds to this error, so its interval left out the value itself and is widened to it.",
    )


def _alike(found: Sequence[Comparison]) -> tuple[str, ...]:
    """The footnote to differences that resampling cannot tell the uncertainty of."""
    names = [c.other for c in found if c.accuracy.how == ALIKE]
    if not names:
        return ()
    return (
        f"Δ Acc@1 against {', '.join(names)} was the same in every case: its interval is what other cases might differ by (Wilson's "
        "bound on the share of such cases).",
    )


def difference_table(arena: Arena, found: Sequence[Comparison], tests: int) -> tuple[Table, Chart]:
    """The reference less each other method."""
    columns = (
        Column(
            key="verdict", title=f"{arena.reference} …", about="beat or lost: interval without 0 and adjusted p < 0.05"
        ),
        Column(key="cases", title="cases", about="that both answered"),
        Column(key="acc1_difference", title="Δ Acc@1, points", about="reference less other"),
        Column(key="p_mcnemar", title="p", about="McNemar on right and wrong, by case; not adjusted"),
        Column(key="p_mcnemar_adjusted", title="p adjusted", about="Benjamini–Hochberg over all tests of this study"),
        Column(key="brier_difference", title="Δ Brier", about="reference less other; below 0 the reference is better"),
        Column(
            key="p_wilcoxon",
            title="p (Brier)",
            about="Wilcoxon signed ranks on the Brier scores, by case; not adjusted",
        ),
        Column(key="p_wilcoxon_adjusted", title="p (Brier) adjusted", about="of the same family"),
        Column(key="ece_difference", title="Δ ECE", about="reference less other"),
        Column(key="token_ratio", title="tokens", about="reference's tokens over the other's"),
    )
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
    notes = (
        "The rule: a method beat or lost to another where the 95 % interval of the difference leaves out 0 and the adjusted p is "
        f"below {FDR:g}. Where either is missing the two cannot be told apart, which does not mean that they are equal.",
        f"The family of tests is the study's: McNemar and Wilcoxon for each other method on each data set, and on all together where "
        f"there are several; {tests} tests, adjusted together (Benjamini–Hochberg). Studies beside it have families of their own.",
        *(f"{c.other} is {c.same_as} under every seed: one test, not two." for c in found if c.same_as),
        "Paired differences with 95 % percentile intervals, cases resampled whole.",
        *_alike(found),
        *_widened("Δ ECE", [(c.other, c.ece.how) for c in found]),
    )
    marks: dict[bool, list[Point]] = {True: [], False: []}
    for i, c in enumerate(found):
        if c.cases:
            d = c.accuracy
            mark = Point(x=d.value, y=float(i), low=d.low, high=d.high, n=d.n, label=c.other)
            marks[c.verdict != "cannot be told from"].append(mark)
    chart = Chart(
        key="forest",
        kind="forest",
        title=f"{arena.reference} less each other method",
        about="Differences of accuracy in points with 95 % intervals; to the right of 0 the reference is better. Coloured: beat or "
        "lost after adjusting for all tests of the study; grey: no difference shown.",
        x="Δ Acc@1, points",
        y="",
        series=tuple(
            Series(name=name, points=tuple(marks[clear]), reference=clear)
            for name, clear in (("beat or lost", True), ("no difference shown", False))
        ),
    )
    return Table(
        key="differences", title="Differences", first="against", columns=columns, lines=lines, notes=notes
    ), chart


def compute_table(arena: Arena, found: Sequence[Comparison], estimates: Estimates) -> Table:
    """Accuracy for what it cost, and of methods run at several sizes the one that costs about as much as the reference."""
    columns = (
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
    )
    means = {e.name: _mean_tokens(e) for e in arena.entrants}
    home = means[arena.reference]
    nearest = _nearest(arena, means)
    by = {c.other: c for c in found}
    lines = []
    for entrant in arena.entrants:
        answers, cases = _of(entrant)
        mean = means[entrant.name]
        right = [float(a.scored.correct is True) for a in answers if a.scored.correct is not None]
        tokens = [a.tokens / 1000 for a in answers if a.scored.correct is not None]
        by_case = [c for a, c in zip(answers, cases, strict=True) if a.scored.correct is not None]
        close = nearest.get(entrant.name, "")
        at = by[entrant.name].accuracy if close == "nearest" and entrant.name in by else None
        lines.append(
            _line(
                arena,
                entrant,
                (
                    number(mean, "tokens", len(answers)),
                    number(mean / home if mean is not None and home else None, "ratio"),
                    estimate(estimates.share(right, by_case), "share"),
                    estimate(estimates.ratio(right, tokens, by_case)),
                    text(close),
                    text("") if at is None else estimate(at, "points"),
                ),
            )
        )
    notes = [
        "A vote of fewer voters cannot be worked out from kept answers: run the method at several sizes (n, rounds) to compare it at "
        "equal compute.",
    ]
    chosen = [name for name, close in nearest.items() if close == "nearest"]
    if chosen:
        notes.append(f"Nearest to {arena.reference} in tokens among sizes of the same method: {', '.join(chosen)}.")
    else:
        notes.append("No method was run at several sizes, so equal compute is by right answers per 1k tokens only.")
    return Table(key="compute", title="At equal compute", columns=columns, lines=tuple(lines), notes=tuple(notes))


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


def ablation_table(arena: Arena, found: Sequence[Comparison], main: Table) -> Table | None:
    """What each part of the controller is worth: the drop without it."""
    some = [c for c in found if c.ablation]
    if not some:
        return None
    columns = (
        Column(key="acc1", title="Acc@1 %", better="more"),
        Column(
            key="drop",
            title="drop, points",
            about="Acc@1 of the reference less that of the variant; above 0 the part helps",
        ),
        Column(key="p_mcnemar_adjusted", title="p adjusted"),
        Column(key="ece", title="ECE", better="less"),
        Column(key="ece_rise", title="ECE rise", about="of the variant over the reference; above 0 the part helps"),
        Column(key="verdict", title="verdict"),
    )
    kinds: dict[str, Kind] = {"acc1": "share", "drop": "points", "ece": "number", "ece_rise": "signed"}
    at = {column.key: i for i, column in enumerate(main.columns)}
    own = {line.name: line for line in main.lines}
    uses = {e.name: e.use for e in arena.entrants}
    printed = {"G1": paper.ABLATIONS, "G2": paper.NEWS_ABLATIONS}.get(arena.paper, {})
    home = own[arena.reference]
    blank = text("")
    lines = [
        Line(
            name=arena.reference,
            cells=(home.cells[at["acc1"]], blank, blank, home.cells[at["ece"]], blank, blank),
            source="reference",
        )
    ]
    for c in some:
        rise = Cell(kind="signed", n=c.ece.n)
        if c.cases:
            rise = Cell(value=-c.ece.value, low=-c.ece.high, high=-c.ece.low, n=c.ece.n, kind="signed", how=c.ece.how)
        line = own[c.other]
        verdict = {
            "beat": "the part helps",
            "lost to": "better without it",
            "cannot be told from": "no difference shown",
        }
        lines.append(
            Line(
                name=c.other,
                cells=(
                    line.cells[at["acc1"]],
                    estimate(c.accuracy, "points"),
                    number(c.p, "p"),
                    line.cells[at["ece"]],
                    rise,
                    text(verdict.get(c.verdict, c.verdict)),
                ),
            )
        )
        if uses[c.other] in printed:
            lines.append(printed_line(printed[uses[c.other]], columns, kinds))
    notes = (paper.NOTE,) if any(line.source == "paper" for line in lines) else ()
    return Table(key="ablations", title="Ablations", first="Variant", columns=columns, lines=tuple(lines), notes=notes)


def members_table(arena: Arena, found: Sequence[Comparison], main: Table) -> Table | None:
    """The panel against each of its members alone; the paper's pairs below."""
    singles = [e for e in arena.entrants if e.use == "single"]
    if not singles or arena.home.use in ("single", "self_consistency"):  # of one agent, no panel
        return None
    printed = paper.PAIRS if arena.paper == "G1" and arena.home.debates else ()
    columns = (
        Column(key="acc1", title="Acc@1 %", better="more"),
        Column(key="acc3", title="Acc@3 %", better="more"),
        Column(key="mrr", title="MRR", better="more"),
        Column(key="acc1_difference", title=f"{arena.reference} less it, points"),
        Column(key="p_mcnemar_adjusted", title="p adjusted"),
    )
    at = {column.key: i for i, column in enumerate(main.columns)}
    own = {line.name: line for line in main.lines}
    by = {c.other: c for c in found}
    lines = []
    for e in [*singles, arena.home]:
        c = by.get(e.name)
        cells = [own[e.name].cells[at[key]] for key in ("acc1", "acc3", "mrr")]
        cells += [text(""), text("")] if c is None else [estimate(c.accuracy, "points"), number(c.p, "p")]
        lines.append(_line(arena, e, cells))
    kinds: dict[str, Kind] = {"acc1": "share", "acc3": "share"}
    lines += [printed_line(pair, columns, kinds) for pair in printed]
    notes = (
        *((paper.NOTE,) if printed else ()),
        "A pair is a panel of two: run one study for each pair and give all folders to see them side by side.",
    )
    return Table(key="pairs", title="The panel and its members", columns=columns, lines=tuple(lines), notes=notes)


def reliability_table(arena: Arena) -> tuple[Table | None, Chart]:
    """How often the reference was right when it was so sure; all methods in the chart."""
    from maci.study.metrics import reliability

    columns = (
        Column(key="n", title="n"),
        Column(key="confidence", title="mean confidence %"),
        Column(
            key="accuracy",
            title="right %",
            about="Wilson interval; answers to one case under several seeds are not independent",
        ),
    )
    series, lines = [], []
    for entrant in arena.entrants:
        answers, _ = _of(entrant)
        bars = [b for b in reliability([a.scored for a in answers]) if b.n]
        if not bars:
            continue
        home = entrant.name == arena.reference
        points = tuple(
            Point(x=b.confidence, y=b.accuracy.value, low=b.accuracy.low, high=b.accuracy.high, n=b.n) for b in bars
        )
        series.append(Series(name=entrant.name, points=points, reference=home))
        if home:
            lines = [
                Line(
                    name=f"{100 * b.lower:.0f}–{100 * b.upper:.0f} %",
                    cells=(count(b.n), number(b.confidence, "share", b.n), estimate(b.accuracy, "share")),
                )
                for b in bars
            ]
    chart = Chart(
        key="reliability",
        kind="reliability",
        title="Reliability, after calibration on dev",
        about="Share of right answers over mean confidence in each bin; a calibrated method lies on the diagonal.",
        x="confidence",
        y="right",
        series=tuple(sorted(series, key=lambda s: not s.reference)),
    )
    if not lines:
        return None, chart
    title = f"Reliability of {arena.reference}"
    return Table(key="reliability", title=title, first="Confidence", columns=columns, lines=tuple(lines)), chart


def overview(sections: Sequence[Section]) -> Table | None:
    """Accuracy of every method on every data set, where there are several."""
    mains = [(s, t) for s in sections for t in s.tables if t.key == "main"]
    if len(mains) < 2:
        return None
    names = list(dict.fromkeys(line.name for _, t in mains for line in t.lines if line.source != "paper"))
    at = {t.title: i for i, t in enumerate(mains[0][1].columns)}["Acc@1 %"]
    own = [{line.name: line for line in t.lines} for _, t in mains]
    lines = []
    for name in names:
        cells = tuple(of[name].cells[at] if name in of else Cell(kind="share") for of in own)
        home = any(name in of and of[name].source == "reference" for of in own)
        lines.append(Line(name=name, cells=cells, source="reference" if home else "ours"))
    columns = tuple(Column(key=f"acc1:{s.key}", title=s.title, better="more") for s, _ in mains)
    notes = [
        "Acc@1 %. Different studies have different agents: their columns stand side by side and are not tested against each other."
    ]
    if any(line.source == "paper" for _, t in mains for line in t.lines):
        notes.append(
            "Constrained against free-text outcomes in the paper: 95–97 % against 73–78 % (other data, LLM agents)."
        )
    return Table(key="overview", title="Accuracy by data set", columns=columns, lines=tuple(lines), notes=tuple(notes))
