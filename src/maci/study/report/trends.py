"""What the behaviour dial does: disagreement, information gained and shared evidence by the contentiousness that was held."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from maci.study.report import paper
from maci.study.report.arena import Arena, Case, Entrant
from maci.study.report.estimates import Estimates
from maci.study.report.model import Cell, Column, Line, Table, estimate, number, text
from maci.study.rows import Round
from maci.study.scores import pearson_sums
from maci.study.statistics import Interval, bootstrap_sums
from maci.study.statistics.clusters import numbered
from maci.study.statistics.significance import mean_ranks

__all__ = ["trend_table"]

PEAK = 3
"""Rounds among which the largest information gain is looked for."""


def trend_table(arena: Arena, estimates: Estimates) -> Table | None:
    """The paper's trends: D in round 1, the peak of Î in rounds 1–3, O in the last round; ``None`` below two levels."""
    held = {e.name: cl for e in arena.entrants if (cl := _level(e)) is not None}
    if len(set(held.values())) < 2:
        return None
    lines: list[Line] = []
    seen: list[tuple[float, list[Case], list[list[float]]]] = []
    for entrant in sorted((e for e in arena.entrants if e.name in held), key=lambda e: -held[e.name]):
        places = [p for p in sorted(entrant.answers) if len(entrant.answers[p].row.course) > 1]
        values = [[] for _ in range(3)]  # type: list[list[float]]
        for p in places:
            for column, value in zip(values, _trend(entrant.answers[p].row.course[1:]), strict=True):
                column.append(value)
        cases = [p.case for p in places]
        cl = held[entrant.name]
        seen.append((cl, cases, values))
        cells = [number(cl, "mean"), *(estimate(x) for x in estimates.means(values, cases))]
        home = entrant.name == arena.reference
        lines.append(Line(name=entrant.name, cells=tuple(cells), source="reference" if home else "ours"))
        if round(cl, 2) in paper.TRENDS:
            figures = (number(cl, "mean"), *(text(x) for x in paper.TRENDS[round(cl, 2)]))
            lines.append(Line(name="paper", cells=figures, source="paper"))
    lines.append(_correlations(seen, estimates))
    printed = any(line.source == "paper" for line in lines)
    if printed:
        lines.append(
            Line(name="paper: Spearman with CL", cells=tuple(map(text, ("", "0.82", "", "−0.71"))), source="paper")
        )
    columns = (
        Column(key="cl", title="CL", about="held in every round"),
        Column(key="d:round 1", title="D, round 1", about="disagreement after the first round"),
        Column(key="i:peak", title=f"Î peak, rounds 1–{PEAK}", about="largest information gain of a round"),
        Column(key="o:last", title="O, last round", about="share of cited evidence that agents cited in common"),
    )
    notes = (
        "Means over cases; a case without the signal (nothing cited, say) is left out of that column. Spearman's correlation of CL "
        "with each signal over all cases and levels, cases resampled whole.",
        "Methods whose stop rule ended debates early differ in length too: hold stop.min_rounds = stop.max_rounds to compare levels.",
        *((paper.NOTE,) if printed else ()),
    )
    return Table(key="trends", title="Contentiousness and signals", columns=columns, lines=tuple(lines), notes=notes)


def _level(entrant: Entrant) -> float | None:
    """The CL that was in force in every round of every debate; ``None`` where it moved or is not known."""
    known = {step.cl for a in entrant.answers.values() for step in a.row.course[1:]}
    return next(iter(known)) if len(known) == 1 else None


def _trend(rounds: Sequence[Round]) -> tuple[float, float, float]:
    gains = [step.i for step in rounds[:PEAK] if step.i is not None]
    d, o = rounds[0].d, rounds[-1].o
    return math.nan if d is None else d, max(gains, default=math.nan), math.nan if o is None else o


def _correlations(seen: Sequence[tuple[float, list[Case], list[list[float]]]], estimates: Estimates) -> Line:
    cells: list[Cell] = [text("")]
    for column in range(3):
        rows = [(cl, x, case) for cl, cases, values in seen for x, case in zip(values[column], cases, strict=True)]
        known = [row for row in rows if not math.isnan(row[1])]
        if len(known) < 3:
            cells.append(Cell(kind="signed", n=len(known)))
            continue
        x, y = (mean_ranks(np.array([row[i] for row in known], dtype=float))[0] for i in (0, 1))
        place, size = numbered([case for _, _, case in known])
        found: Interval = bootstrap_sums(pearson_sums(x, y, place, size), estimates.draws, rows=len(known))
        cells.append(estimate(found, "signed"))
    return Line(name="Spearman with CL", cells=tuple(cells))
