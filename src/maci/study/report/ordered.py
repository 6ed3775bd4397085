"""Ordered tasks: how far answers lie from the centre and from each rater, always beside an answer that says `neutral` to everything."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from maci.belief import Vector
from maci.study.metrics import Scored, score
from maci.study.report import paper
from maci.study.report.arena import Arena, Place
from maci.study.report.estimates import Estimates
from maci.study.report.model import Cell, Column, Line, Table, estimate, number, show, show_value, text
from maci.study.rows import Row

__all__ = ["ordered_table", "ordered_words"]

NEUTRAL = "always neutral"


def _neutral(row: Row) -> Scored:
    """The answer at the centre of the scale; between two labels where none is there."""
    low, high = min(row.positions.values()), max(row.positions.values())
    centre = (low + high) / 2
    nearest = min(row.positions, key=lambda y: abs(row.positions[y] - centre))
    if row.positions[nearest] == centre:
        return score({nearest: 1.0}, row.gold, row.positions, row.raters)
    ends = {y: 0.5 for y, x in row.positions.items() if x in (low, high)}
    return score(ends, None, row.positions, row.raters)


def ordered_table(arena: Arena, estimates: Estimates) -> Table | None:
    """Distances in steps of the scale; ``None`` where nothing is ordered."""
    rows = {p: a.row for e in arena.entrants for p, a in e.answers.items() if a.row.positions}
    if not rows:
        return None
    raters = list(dict.fromkeys(name for place in sorted(rows) for name in rows[place].raters))
    keys = ["mad", *(f"mad:{name}" for name in raters), *(["partisan_gap"] if len(raters) > 1 else [])]
    columns = [
        Column(
            key="mad",
            title="from centre",
            about="mean |E − centre|; `neutral` always scores 0, so it is no merit by itself",
        ),
        *(
            Column(key=f"mad:{name}", title=f"from {name}", better="less", about="mean |E − what the rater said|")
            for name in raters
        ),
    ]
    if len(raters) > 1:
        columns.append(
            Column(
                key="partisan_gap",
                title="partisan gap",
                better="less",
                about="largest less smallest distance to a rater",
            )
        )
    if raters:
        columns.append(
            Column(
                key="raters_difference",
                title=f"raters: {arena.reference} less it",
                about="difference of the mean distance to all raters; below 0 the reference is nearer to them",
            )
        )
    columns.append(Column(key="acc1", title="Acc@1 %", better="more"))
    neutral = {place: _neutral(row) for place, row in rows.items()}
    ours = {p: a.scored for p, a in arena.home.answers.items() if p in rows}

    def line(name: str, own: dict[Place, Scored], source: str) -> Line:
        places = sorted(own)
        scored, cases = [own[p] for p in places], [p.case for p in places]
        cells = [estimate(estimates.metric(key, scored, cases)) for key in keys]
        if raters:
            shared = sorted(own.keys() & ours.keys())
            if source == "reference" or not shared:
                cells.append(text("") if source == "reference" else Cell(kind="signed"))
            else:
                d = _from_raters([ours[p] for p in shared]) - _from_raters([own[p] for p in shared])
                found = estimates.mean_difference(d, [p.case for p in shared])
                cells.append(estimate(found, "signed"))
        cells.append(estimate(estimates.metric("acc1", scored, cases), "share"))
        return Line(
            name=name,
            cells=tuple(cells),
            source="reference" if source == "reference" else "baseline" if source == "baseline" else "ours",
        )

    lines = []
    for entrant in arena.entrants:
        own = {p: a.scored for p, a in entrant.answers.items() if p in rows}
        if own:
            lines.append(line(entrant.name, own, "reference" if entrant.name == arena.reference else "ours"))
            if arena.paper == "G2" and (printed := _printed(entrant.use)) is not None:
                lines.append(_paper(printed, columns))
    lines.append(line(NEUTRAL, neutral, "baseline"))
    lines += [x for x in _raters(rows, raters, columns, estimates) if arena.paper == "G2" or x.source != "paper"]
    notes = (
        "Of the answers as given, not calibrated: softening pulls every answer to the middle. Distances are in steps of the scale.",
        "Distance from the centre is no accuracy: read it only beside `always neutral`, which has distance 0 without reading anything.",
        *((paper.NOTE,) if arena.paper == "G2" else ()),
    )
    return Table(key="ordered", title="Distances on the scale", columns=tuple(columns), lines=tuple(lines), notes=notes)


def ordered_words(table: Table, reference: str) -> str:
    """What an answer that reads nothing would have scored."""
    cells = dict(
        zip((c.key for c in table.columns), next(x for x in table.lines if x.name == NEUTRAL).cells, strict=True)
    )
    words = f"Answering neutral always has distance 0 from the centre and is right in {show_value(cells['acc1'])} % of these cases"
    gap = cells.get("raters_difference")
    if gap is None or not isinstance(gap.value, float) or gap.low is None or gap.high is None:
        return f"{words}."
    if gap.low <= 0 <= gap.high:
        return f"{words}; chance may explain how its distance to the raters differs from that of {reference} ({show(gap)} steps)."
    side = "nearer to" if gap.low > 0 else "farther from"
    return f"{words}; it lies {side} the raters than {reference} ({show(gap)} steps)."


def _from_raters(scored: Sequence[Scored]) -> Vector:
    found = [float(np.mean(list(s.from_raters.values()))) if s.from_raters else float("nan") for s in scored]
    return np.array(found, dtype=float)


def _printed(use: str) -> paper.Printed | None:
    return paper.NEWS.get(use) or paper.NEWS_ABLATIONS.get(use)


def _paper(printed: paper.Printed, columns: Sequence[Column]) -> Line:
    cells = []
    for column in columns:
        figure = printed.figures.get(column.key)
        cells.append(number(figure if isinstance(figure, float) else None))
    return Line(name=f"paper: {printed.name}", cells=tuple(cells), source="paper")


def _raters(
    rows: dict[Place, Row], raters: Sequence[str], columns: Sequence[Column], estimates: Estimates
) -> list[Line]:
    """How far the raters themselves are from the centre, one by one and their mean."""
    lines = []
    everyone = [p for p in sorted(rows) if rows[p].raters]
    chosen = {f"rater {name}": [p for p in everyone if name in rows[p].raters] for name in raters}
    if len(raters) > 1:
        chosen["mean of the raters"] = everyone
    for name, places in chosen.items():
        who = name.removeprefix("rater ")
        said = [
            rows[p].raters[who] if name.startswith("rater ") else float(np.mean(list(rows[p].raters.values())))
            for p in places
        ]
        centre = [(min(rows[p].positions.values()) + max(rows[p].positions.values())) / 2 for p in places]
        far = [abs(x - c) for x, c in zip(said, centre, strict=True)]
        cells: list[Cell] = [text("") for _ in columns]
        cells[0] = estimate(estimates.mean(far, [p.case for p in places]))
        lines.append(Line(name=name, cells=tuple(cells), source="baseline"))
        side = "rater D" if "democrat" in who else "rater R" if "republican" in who else "raters" if who == name else ""
        if side in paper.NEWS:
            lines.append(_paper(paper.NEWS[side], columns))
    return lines
