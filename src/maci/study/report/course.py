"""What happens round by round: accuracy, answers that flip, signals."""

from __future__ import annotations

import math

from maci.page.chart import Chart, Point, Series
from maci.study.metrics import leads
from maci.study.report.arena import Arena, Entrant
from maci.study.report.estimates import Estimates
from maci.study.report.model import Cell, Column, Line, Table, count, estimate

__all__ = ["debaters", "flip_table", "round_table", "signal_tables"]

SIGNALS = (
    ("q", "Q", "evidence quality"),
    ("d", "D", "disagreement"),
    ("i", "I", "information gained"),
    ("o", "O", "shared evidence"),
    ("crit", "CRIT", "argument quality"),
    ("cl", "CL", "contentiousness in force"),
)


def debaters(arena: Arena) -> list[Entrant]:
    """Methods whose answers have rounds."""
    return [e for e in arena.entrants if any(len(a.row.course) > 1 for a in e.answers.values())]


def round_table(arena: Arena, estimates: Estimates) -> tuple[Table, Chart] | None:
    """Accuracy after each round; a debate that has ended keeps its last answer, so n is the same in every round."""
    lines, series, longest = [], [], 0
    for entrant in debaters(arena):
        places = [p for p in sorted(entrant.answers) if entrant.answers[p].row.course]
        rows = [entrant.answers[p].row for p in places]
        known = [
            ([leads(step.belief, row.gold) for step in row.course], p.case)
            for row, p in zip(rows, places, strict=True)
            if row.gold is not None
        ]
        rounds = max((len(right) for right, _ in known), default=0)
        if not rounds:
            continue
        longest = max(longest, rounds)
        cases = [case for _, case in known]
        after = [[float(right[min(t, len(right) - 1)]) for right, _ in known] for t in range(rounds)]
        found = estimates.shares(after, cases)
        home = entrant.name == arena.reference
        lines.append((entrant.name, [estimate(x, "share") for x in found], home))
        points = tuple(Point(x=float(t), y=x.value, low=x.low, high=x.high, n=x.n) for t, x in enumerate(found))
        series.append(Series(name=entrant.name, points=points, reference=home))
    if not lines:
        return None
    columns = tuple(
        Column(key=f"acc1:round {t}", title="opening" if t == 0 else f"round {t}", better="more")
        for t in range(longest)
    )
    table = Table(
        key="rounds",
        title="Accuracy after each round",
        columns=columns,
        lines=tuple(
            Line(
                name=name,
                cells=(*cells, *(Cell(value="ended") for _ in range(longest - len(cells)))),
                source="reference" if home else "ours",
            )
            for name, cells, home in lines
        ),
        notes=(
            "Acc@1 % of the mixture after each round, not calibrated; a debate that has ended keeps its last answer, so every round "
            "rests on the same cases.",
        ),
    )
    chart = Chart(
        key="rounds",
        kind="lines",
        title="Accuracy after each round",
        about="Share of right answers of each debate's mixture, from the openings (round 0) to its last round.",
        x="round",
        y="Acc@1 %",
        series=tuple(series),
    )
    return table, chart


def flip_table(arena: Arena, estimates: Estimates) -> Table | None:
    """From the openings' mixture to the end: what debate mends, and what it spoils."""
    lines = []
    for entrant in debaters(arena):
        places = [
            p
            for p in sorted(entrant.answers)
            if entrant.answers[p].row.course and entrant.answers[p].row.gold is not None
        ]
        if not places:
            continue
        rows = [entrant.answers[p].row for p in places]
        after = [entrant.answers[p].scored.correct is True for p in places]
        before = [leads(row.course[0].belief, row.gold) for row in rows]
        pairs = [(b, a, p.case) for b, a, p in zip(before, after, places, strict=True)]
        spoiled = [(float(not now), case) for was, now, case in pairs if was]
        mended = [(float(now), case) for was, now, case in pairs if not was]
        lines.append(
            Line(
                name=entrant.name,
                source="reference" if entrant.name == arena.reference else "ours",
                cells=(
                    count(len(pairs)),
                    count(sum(was and not now for was, now, _ in pairs)),
                    count(sum(now and not was for was, now, _ in pairs)),
                    estimate(estimates.share([x for x, _ in spoiled], [case for _, case in spoiled]), "share"),
                    estimate(estimates.share([x for x, _ in mended], [case for _, case in mended]), "share"),
                ),
            )
        )
    if not lines:
        return None
    columns = (
        Column(key="n", title="n"),
        Column(key="correct_to_wrong", title="correct → wrong"),
        Column(key="wrong_to_correct", title="wrong → correct"),
        Column(
            key="harmed",
            title="harmed %",
            better="less",
            about="of the answers right at the opening, those wrong at the end",
        ),
        Column(
            key="mended",
            title="mended %",
            better="more",
            about="of the answers wrong at the opening, those right at the end",
        ),
    )
    return Table(key="flips", title="From opening to end", columns=columns, lines=tuple(lines))


def signal_tables(arena: Arena, estimates: Estimates) -> tuple[list[Table], list[Chart]]:
    """Mean signals by round, of the reference and of other debates that measure them; ablations aside."""
    tables, charts = [], []
    for entrant in debaters(arena):
        if entrant.ablation and entrant.name != arena.reference:
            continue
        found = _signals(entrant, estimates)
        if found is not None:
            tables.append(found[0])
            if entrant.name == arena.reference:
                charts.append(found[1])
    return tables, charts


def _signals(entrant: Entrant, estimates: Estimates) -> tuple[Table, Chart] | None:
    places = sorted(entrant.answers)
    longest = max(len(entrant.answers[p].row.course) for p in places)
    lines, marks = [], {key: list[Point]() for key, _, _ in SIGNALS}
    for t in range(longest):
        there = [p for p in places if len(entrant.answers[p].row.course) > t]
        steps = [entrant.answers[p].row.course[t] for p in there]
        cells = [count(len(there))]
        values = [[math.nan if (x := getattr(step, key)) is None else x for step in steps] for key, _, _ in SIGNALS]
        means = estimates.means(values, [p.case for p in there])
        for (key, _, _), mean in zip(SIGNALS, means, strict=True):
            cells.append(estimate(mean))
            if mean.n:
                marks[key].append(Point(x=float(t), y=mean.value, low=mean.low, high=mean.high, n=mean.n))
        lines.append(Line(name="opening" if t == 0 else str(t), cells=tuple(cells)))
    if not any(some for key, some in marks.items() if key != "cl"):  # a fixed dial is no signal
        return None
    columns = (
        Column(key="n", title="debates", about="that reached this round"),
        *(Column(key=key, title=title, about=about) for key, title, about in SIGNALS),
    )
    table = Table(
        key=f"signals:{entrant.name}",
        title=f"Signals of {entrant.name}",
        first="Round",
        columns=columns,
        lines=tuple(lines),
        notes=("Means over the debates that reached the round: the hard cases are those that go on.",),
    )
    chart = Chart(
        key=f"signals:{entrant.name}",
        kind="lines",
        title=f"Signals of {entrant.name}",
        about="Mean of each signal by round, over the debates that reached it.",
        x="round",
        y="mean",
        series=tuple(Series(name=title, points=tuple(marks[key])) for key, title, _ in SIGNALS if marks[key]),
    )
    return table, chart
