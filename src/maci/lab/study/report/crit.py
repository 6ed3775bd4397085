"""CRIT reliability: how far the judges of the debates agreed, from the scores that were kept.

The measures are functions of sums over cases, so that they are bootstrapped by whole cases like everything else in a report:
Krippendorff's α (:mod:`maci.calibration.stats.correlation`), and the mean correlation over all pairs of judges. By ranks, the ranks are
those in the whole sample (Spearman), which resamples keep. `maci audit judges` asks the judges again and covers more: order, length,
identity.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from maci.calibration.stats import bootstrap_sums, wilson
from maci.calibration.stats.correlation import alpha, parts
from maci.calibration.stats.estimate import estimate, numbered, undefined
from maci.calibration.stats.significance import mean_ranks
from maci.calibration.stats.sums import Summed
from maci.lab.study.report import paper
from maci.lab.study.report.arena import Arena, Entrant
from maci.lab.study.report.estimates import Estimates
from maci.lab.study.report.parts import by_method, table
from maci.lab.study.rows import Row
from maci.moderator.belief import Vector
from maci.render.report import Cell, Column, Line, Table, count

Scores = Sequence[Mapping[str, float]]
"""Of each argument what each judge gave it; who abstained is left out."""


def alpha_sums(scores: Scores, case: NDArray[np.int64], cases: int) -> Summed:
    """Krippendorff's α; ``case`` is the number of each argument's case.

    >>> alpha_sums([{"a": 0.0, "b": 0.0}, {"a": 1.0, "b": 1.0}], np.array([0, 1]), 2).value
    1.0
    """
    judges = list(dict.fromkeys(judge for one in scores for judge in one))
    table = np.array([[one.get(judge, np.nan) for one in scores] for judge in judges]).reshape(len(judges), len(scores))
    added = np.zeros((cases, 4))
    np.add.at(added, case, parts(table))
    return Summed(added, alpha)


def pearson_sums(x: Vector, y: Vector, case: NDArray[np.int64], cases: int) -> Summed:
    """The correlation of two columns over all rows; nan where one does not vary.

    >>> round(pearson_sums(np.array([1.0, 2, 3]), np.array([2.0, 4, 6]), np.arange(3), 3).value, 6)
    1.0
    """
    x, y = x - x.mean() if len(x) else x, y - y.mean() if len(y) else y  # for the sake of rounding
    columns = (np.ones(len(x)), x, y, x * x, y * y, x * y)
    added = np.column_stack([np.bincount(case, weights=column, minlength=cases) for column in columns])

    def correlation(s: Vector) -> Vector:
        n, a, b, aa, bb, ab = s.T
        below = (n * aa - a**2) * (n * bb - b**2)
        root = np.sqrt(np.maximum(below, 0))
        found: Vector = np.divide(n * ab - a * b, root, out=np.full(len(s), np.nan), where=below > 1e-18)
        return found

    return Summed(added.astype(float), correlation)


def correlation_sums(scores: Scores, case: NDArray[np.int64], cases: int, *, by_rank: bool) -> Summed | None:
    """The mean correlation over all pairs of judges; ``None`` where no two scored the same arguments."""
    judges = list(dict.fromkeys(judge for one in scores for judge in one))
    parts = []
    for first, second in combinations(judges, 2):
        both = [i for i, one in enumerate(scores) if first in one and second in one]
        x, y = (np.array([scores[i][judge] for i in both]) for judge in (first, second))
        if len(both) > 1:
            if by_rank:
                x, y = mean_ranks(x)[0], mean_ranks(y)[0]
            parts.append(pearson_sums(x, y, case[both], cases))
    if not parts:
        return None

    def mean(s: Vector) -> Vector:
        found: Vector = np.mean([part.of(s[:, 6 * i : 6 * i + 6]) for i, part in enumerate(parts)], axis=0)
        return found

    return Summed(np.hstack([part.cases for part in parts]), mean)


BAND = 0.02
"""Mean scores no further apart than this are a tie."""


def crit_table(arena: Arena, estimates: Estimates) -> Table | None:
    """α, mean correlations, and winners that another judge would change; ``None`` where no row has scores of two judges."""
    shown = [e for e in arena.entrants if not e.ablation or e.name == arena.reference]
    lines = by_method(arena, lambda e: _cells(e, estimates), shown)
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
    printed = [
        Cell(value=value, low=low, high=high, kind="number" if i < 3 else "share")
        for i, (value, low, high) in enumerate(paper.CRIT)
    ]
    lines.append(Line(name="paper: 3 LLM judges", cells=(count(150), *printed), source="paper"))
    notes = (
        "From the scores of the debates, cases resampled whole; the winner is the agent with the higher mean score over the debate, "
        "judge by judge. Flips are Wilson intervals over debates and pairs of judges, which are not independent.",
        "Whether the order, the length or the author of an argument moves a score needs asking again: `maci audit judges`.",
        paper.NOTE,
    )
    return table("crit", "CRIT reliability", columns, lines, *notes)


def _cells(entrant: Entrant, estimates: Estimates) -> list[Cell] | None:
    some = entrant.picked()
    found = [
        (dict(given), place.case)
        for place, answer in zip(some.places, some.answers, strict=True)
        for step in answer.row.course
        for arguments in step.scores.values()
        for given in arguments
        if len(given) > 1
    ]
    if not found:
        return None
    scores = [given for given, _ in found]
    case, size = numbered([where for _, where in found])
    statistics = (
        alpha_sums(scores, case, size),
        correlation_sums(scores, case, size, by_rank=False),
        correlation_sums(scores, case, size, by_rank=True),
    )
    agreed = [
        undefined("no two judges", len(scores))
        if one is None
        else bootstrap_sums(one, estimates.draws, rows=len(scores))
        for one in statistics
    ]
    flips = [wilson(*_flips([a.row for a in some.answers], ties=ties)) for ties in (False, True)]
    return [count(len(scores)), *map(estimate, agreed), *(estimate(share, "share") for share in flips)]


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
