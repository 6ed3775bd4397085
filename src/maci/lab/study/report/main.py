"""The main table: what was right, how well the probabilities fit, what it cost; and accuracy by data set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from maci.calibration.stats.estimate import estimate
from maci.lab.study.report import paper
from maci.lab.study.report.arena import Answered, Arena
from maci.lab.study.report.estimates import Estimates, point
from maci.lab.study.report.parts import line_of, printed_line, table, widened
from maci.render.report import Cell, Chart, Column, Kind, Line, Section, Series, Table, count, number

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
    measured = [key for key, _, _, _ in _QUALITY if key != "ece_calibrated"]
    drawn = ("tokens", "calls", "rounds")
    for entrant in arena.entrants:
        some = entrant.picked()
        found = dict(zip(measured, estimates.metrics(measured, some.scored, some.cases), strict=True))
        found["ece_calibrated"] = estimates.calibrated_ece(some.scored, some.cases)
        spent = [_spent(a) for a in some.answers]
        costs = {key: [s[key] for s in spent] for key, _, _ in _COST}
        found |= dict(zip(drawn, estimates.means([costs[key] for key in drawn], some.cases), strict=True))
        plain = {key: number(sum(x) / len(x) if x else None, kinds[key], len(x)) for key, x in costs.items()}
        keys = [key for key, *_ in (*_QUALITY, *_COST)]
        cells = [estimate(found[key], kinds[key]) if key in found else plain[key] for key in keys]
        lines.append(line_of(arena, entrant, [count(len(spent)), *cells, count(entrant.unscored)]))
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
    ece = 1 + next(i for i, (key, *_) in enumerate(_QUALITY) if key == "ece")
    notes += widened("ECE", [(line.name, line.cells[ece].how) for line in lines])
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
    return table("main", "Main results", columns, lines, *notes), chart


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
    return table("overview", "Accuracy by data set", columns, lines, *notes)
