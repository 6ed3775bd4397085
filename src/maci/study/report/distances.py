"""Article by article: how far two raters and an answer lie apart in steps of the scale, DR, DS and SR, beside one-shot answers.

D and R are the raters, S the answer (its top outcome); each is put on the nearest step, halfway on the one nearer to the centre.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from maci.study.report import paper
from maci.study.report.arena import Arena, Entrant, Place
from maci.study.report.estimates import Estimates
from maci.study.report.model import Cell, Column, Kind, Line, Table, count, estimate, number, text
from maci.study.rows import Row

__all__ = ["article_table", "distance_table", "nearest"]

MOST = 31
"""Articles that are shown one by one: as many as in the paper."""


def nearest(position: float, positions: Mapping[str, float]) -> str:
    """The outcome nearest to a position; halfway the one nearer to the centre.

    >>> nearest(0.5, {"-1": -1, "0": 0, "+1": 1}), nearest(-0.6, {"-1": -1, "0": 0, "+1": 1})
    ('0', '-1')
    """
    centre = (min(positions.values()) + max(positions.values())) / 2
    return min(positions, key=lambda y: (round(abs(positions[y] - position), 9), abs(positions[y] - centre)))


def _steps(one: str, other: str, row: Row) -> int:
    order = sorted(row.positions, key=row.positions.__getitem__)
    return abs(order.index(one) - order.index(other))


def _apart(row: Row, answer: str) -> tuple[int, int, int]:
    """DR, DS, SR."""
    d, r = (nearest(x, row.positions) for x in row.raters.values())
    return _steps(d, r, row), _steps(d, answer, row), _steps(answer, r, row)


def _usable(arena: Arena) -> dict[Place, Row]:
    """A row of every article that two raters placed on a scale."""
    return {
        p: a.row for e in arena.entrants for p, a in e.answers.items() if a.row.positions and len(a.row.raters) == 2
    }


def distance_table(arena: Arena, estimates: Estimates) -> Table | None:
    """Mean DR, DS, SR of every method, and how far the reference moved from each one-shot answer."""
    if not _usable(arena):
        return None
    columns = (
        Column(key="distance:n", title="n"),
        Column(key="distance:DR", title="DR", about="steps between the two raters; the same for every method"),
        Column(key="distance:DS", title="DS", better="less", about="steps between the first rater and the answer"),
        Column(key="distance:SR", title="SR", better="less", about="steps between the answer and the second rater"),
        Column(key="distance:between", title="between %", about="answers not outside of the two raters: DS + SR = DR"),
        Column(
            key="distance:reference",
            title=f"to {arena.reference}",
            about="steps between this answer and the reference's",
        ),
    )
    ours = arena.home.answers
    lines = []
    for entrant in arena.entrants:
        places = [p for p in sorted(entrant.answers) if len(entrant.answers[p].row.raters) == 2]
        if not places:
            continue
        cases = [p.case for p in places]
        apart = [_apart(entrant.answers[p].row, entrant.answers[p].scored.answer) for p in places]
        means = estimates.means([[x[i] for x in apart] for i in range(3)], cases)
        between = estimates.share([float(dr == ds + sr) for dr, ds, sr in apart], cases)
        home = entrant.name == arena.reference
        both = [p for p in places if p in ours]
        moved = [_steps(entrant.answers[p].scored.answer, ours[p].scored.answer, entrant.answers[p].row) for p in both]
        gap = text("") if home else estimate(estimates.mean([float(x) for x in moved], [p.case for p in both]))
        cells = (count(len(places)), *map(estimate, means), estimate(between, "share"), gap)
        lines.append(Line(name=entrant.name, cells=cells, source="reference" if home else "ours"))
    lines.append(_neutral(arena, estimates))
    if arena.paper == "G2":
        kinds: dict[str, Kind] = {"distance:n": "count"}
        for one in paper.DISTANCES:
            cells = tuple(number(_figure(one.figures.get(c.key)), kinds.get(c.key, "number")) for c in columns)
            lines.append(Line(name=f"paper: {one.name}", cells=cells, source="paper"))
    d, r = next(iter(_usable(arena).values())).raters
    notes = (
        f"D is {d}, R is {r}, S the answer's top outcome; steps of the scale. One-shot answers are those of `single`.",
        "An answer that is always neutral lies between any two raters on different sides; read the distances beside its line.",
        *((paper.DISTANCE_NOTE, paper.NOTE) if arena.paper == "G2" else ()),
    )
    title = "Distances to the raters: DR, DS, SR"
    return Table(key="distances", title=title, columns=columns, lines=tuple(lines), notes=notes)


def _figure(value: float | str | None) -> float | None:
    return value if isinstance(value, float) else None


def _neutral(arena: Arena, estimates: Estimates) -> Line:
    rows = _usable(arena)
    places = sorted(rows)
    centre = [nearest((min(x) + max(x)) / 2, rows[p].positions) for p in places if (x := rows[p].positions.values())]
    apart = [_apart(rows[p], y) for p, y in zip(places, centre, strict=True)]
    cases = [p.case for p in places]
    means = estimates.means([[x[i] for x in apart] for i in range(3)], cases)
    between = estimates.share([float(dr == ds + sr) for dr, ds, sr in apart], cases)
    cells = (count(len(places)), *map(estimate, means), estimate(between, "share"), text(""))
    return Line(name="always neutral", cells=cells, source="baseline")


def article_table(arena: Arena) -> Table | None:
    """The paper's shape: where D, R, S and the one-shot answers put each article. The first articles by id, under the first seed."""
    rows = {p: row for p, row in _usable(arena).items() if p in arena.home.answers}
    if not rows:
        return None
    first = min(p.seed for p in rows)
    places = sorted(p for p in rows if p.seed == first)
    shots = [e for e in arena.entrants if e.use == "single" and not e.best]
    columns = (
        *(Column(key=k, title=k) for k in ("D", "R", "S")),
        *(Column(key=f"one-shot {e.name}", title=e.name.removeprefix("single/")) for e in shots),
        *(Column(key=k, title=k) for k in ("DR", "DS", "SR")),
        Column(key="data", title="source"),
    )
    lines, total = [], [0, 0, 0]
    for place in places[:MOST]:
        row, answer = rows[place], arena.home.answers[place].scored.answer
        apart = _apart(row, answer)
        total = [x + y for x, y in zip(total, apart, strict=True)]
        raters = [text(nearest(x, row.positions)) for x in row.raters.values()]
        cells = [*raters, text(answer), *_shots(shots, place), *map(count, apart), text(row.group)]
        lines.append(Line(name=place.item, cells=tuple(cells)))
    blank = [text("") for _ in range(3 + len(shots))]
    lines.append(Line(name="Total", cells=(*blank, *map(count, total), text("")), source="baseline"))
    title = f"Article by article, {len(places[:MOST])} of {len(places)}, seed {first}"
    notes = (
        f"S is {arena.reference}. Articles in the order of their ids, which are hashes of their texts: none was chosen.",
    )
    return Table(key="articles", title=title, first="Article", columns=columns, lines=tuple(lines), notes=notes)


def _shots(shots: Sequence[Entrant], place: Place) -> list[Cell]:
    return [text(e.answers[place].scored.answer) if place in e.answers else Cell() for e in shots]
