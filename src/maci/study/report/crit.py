"""CRIT reliability: how far the judges of the debates agreed, from the scores that were kept."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from maci.study.report import paper
from maci.study.report.arena import Arena, Case, Entrant
from maci.study.report.estimates import Estimates
from maci.study.report.model import Cell, Column, Line, Table, count, estimate
from maci.study.rows import Row
from maci.study.scores import alpha_sums, correlation_sums
from maci.study.statistics import Interval, bootstrap_sums, wilson
from maci.study.statistics.clusters import numbered

__all__ = ["BAND", "crit_table", "winner"]

BAND = 0.02
"""Mean scores no further apart than this are a tie."""


def crit_table(arena: Arena, estimates: Estimates) -> Table | None:
    """α, mean correlations, and winners that another judge would change; ``None`` where no row has scores of two judges."""
    lines = []
    for entrant in arena.entrants:
        if entrant.ablation and entrant.name != arena.reference:
            continue
        found = _line(entrant, estimates)
        if found is not None:
            home = entrant.name == arena.reference
            lines.append(Line(name=entrant.name, cells=found, source="reference" if home else "ours"))
    if not lines:
        return None
    columns = (
        Column(key="crit_arguments", title="arguments"),
        Column(key="crit_alpha", title="Krippendorff's α", better="more", about="interval data; 1: judges agree"),
        Column(key="crit_pearson", title="Pearson", better="more", about="mean over pairs of judges"),
        Column(key="crit_spearman", title="Spearman", better="more", about="mean over pairs of judges"),
        Column(
            key="crit_flips",
            title="winner flips %",
            better="less",
            about=f"debates and pairs of judges that name different winners; within {BAND:g} is a tie, which is no flip",
        ),
        Column(
            key="crit_flips_ties",
            title="flips, ties counted %",
            better="less",
            about="a win against a tie is a flip too",
        ),
    )
    printed = [Cell(value=150, kind="count")]
    for i, (value, low, high) in enumerate(paper.CRIT):
        printed.append(Cell(value=value, low=low, high=high, kind="number" if i < 3 else "share"))
    cells = tuple(printed)
    lines.append(Line(name="paper: 3 LLM judges", cells=cells, source="paper"))
    notes = (
        "From the scores of the debates, cases resampled whole; the winner is the agent with the higher mean score over the debate, "
        "judge by judge. Flips are Wilson intervals over debates and pairs of judges, which are not independent.",
        "Whether the order, the length or the author of an argument moves a score needs asking again: `maci audit judges`.",
        paper.NOTE,
    )
    title = "CRIT reliability"
    return Table(key="crit", title=title, columns=columns, lines=tuple(lines), notes=notes)


def _line(entrant: Entrant, estimates: Estimates) -> tuple[Cell, ...] | None:
    scores: list[dict[str, float]] = []
    cases: list[Case] = []
    for place in sorted(entrant.answers):
        some = [dict(x) for step in entrant.answers[place].row.course for one in step.scores.values() for x in one]
        scores += [x for x in some if len(x) > 1]
        cases += [place.case for x in some if len(x) > 1]
    if not scores:
        return None
    case, size = numbered(cases)
    found = [count(len(scores))]
    for statistic in (
        alpha_sums(scores, case, size),
        correlation_sums(scores, case, size, by_rank=False),
        correlation_sums(scores, case, size, by_rank=True),
    ):
        undefined = Interval(float("nan"), float("nan"), float("nan"), len(scores), "no two judges")
        got = undefined if statistic is None else bootstrap_sums(statistic, estimates.draws, rows=len(scores))
        found.append(estimate(got))
    rows = [entrant.answers[p].row for p in sorted(entrant.answers)]
    for ties in (False, True):
        flipped, n = _flips(rows, ties=ties)
        found.append(estimate(wilson(flipped, n), "share"))
    return tuple(found)


def winner(row: Row, judge: str) -> str | None:
    """The agent whose arguments this judge scored higher; empty for a tie, ``None`` where it scored fewer than two agents."""
    by: dict[str, list[float]] = {}
    for step in row.course:
        for agent, arguments in step.scores.items():
            by.setdefault(agent, []).extend(x[judge] for x in arguments if judge in x)
    means = sorted(((float(np.mean(x)), agent) for agent, x in by.items() if x), reverse=True)
    if len(means) < 2:
        return None
    return "" if means[0][0] - means[1][0] <= BAND else means[0][1]


def _flips(rows: Sequence[Row], *, ties: bool) -> tuple[int, int]:
    flipped = n = 0
    for row in rows:
        judges = sorted({j for step in row.course for some in step.scores.values() for x in some for j in x})
        named = [who for judge in judges if (who := winner(row, judge)) is not None]
        for one, other in combinations(named, 2):
            n += 1
            flipped += one != other and (ties or (one != "" and other != ""))
    return flipped, n
