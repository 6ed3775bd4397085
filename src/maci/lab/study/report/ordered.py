"""Tables for ordered tasks: how far answers lie from the centre and from each rater, in steps of the scale.

Answers always stand beside one that says `neutral` to everything, and article by article beside one-shot answers. There D and R are the
raters and S the answer (its top outcome), each put on the nearest step, halfway on the one nearer to the centre; DR, DS and SR are the
distances between them. Bias mitigation is whether agents that began apart on a scale were brought together, and not only to the middle.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from itertools import combinations

import numpy as np

from maci.calibration.stats import estimate
from maci.lab.methods.method import Step
from maci.lab.study.metrics import ScoredAnswer, score
from maci.lab.study.report.arena import Arena, Entrant, Place
from maci.lab.study.report.estimates import Estimates
from maci.lab.study.report.gather import Gathered
from maci.lab.study.report.tables import (
    PAPER_DISTANCE_NOTE,
    PAPER_DISTANCES,
    PAPER_NEWS,
    PAPER_NEWS_ABLATIONS,
    PAPER_NOTE,
    by_method,
    line_of,
    printed_line,
    table,
)
from maci.lab.study.study import Row
from maci.moderator.belief import Vector
from maci.moderator.divergence import cross_entropy, shared_information, wasserstein
from maci.render.report import Cell, Column, Line, ReportTable, count, show, show_value, text

NEUTRAL = "always neutral"


def _centre(positions: Mapping[str, float]) -> float:
    return (min(positions.values()) + max(positions.values())) / 2


def _neutral(row: Row) -> ScoredAnswer:
    """The answer at the centre of the scale; between two labels where none is there."""
    centre = _centre(row.positions)
    middle = min(row.positions, key=lambda y: abs(row.positions[y] - centre))
    if row.positions[middle] == centre:
        return score({middle: 1.0}, row.gold, row.positions, row.raters)
    places = row.positions.values()
    ends = {y: 0.5 for y, x in row.positions.items() if x in (min(places), max(places))}
    return score(ends, None, row.positions, row.raters)


def ordered_table(arena: Arena, estimates: Estimates) -> ReportTable | None:
    """Distances in steps of the scale; ``None`` where nothing is ordered."""
    rows = {p: a.row for e in arena.entrants for p, a in e.answers.items() if a.row.positions}
    if not rows:
        return None
    raters = list(dict.fromkeys(name for place in sorted(rows) for name in rows[place].raters))
    columns = _columns(arena.reference, raters)
    keys = [column.key for column in columns if column.key not in ("raters_difference", "acc1")]
    ours = {p: a.scored for p, a in arena.home.answers.items() if p in rows}

    def cells(own: Mapping[Place, ScoredAnswer], *, home: bool = False) -> tuple[Cell, ...]:
        places = sorted(own)
        scored, cases = [own[p] for p in places], [p.case for p in places]
        found = [estimate(estimates.metric(key, scored, cases)) for key in keys]
        shared = [p for p in places if p in ours]
        if raters and (home or not shared):
            found.append(text("") if home else Cell(kind="signed"))
        elif raters:
            d = _from_raters([ours[p] for p in shared]) - _from_raters([own[p] for p in shared])
            found.append(estimate(estimates.mean_difference(d, [p.case for p in shared]), "signed"))
        return (*found, estimate(estimates.metric("acc1", scored, cases), "share"))

    lines = []
    for entrant in arena.entrants:
        own = {p: a.scored for p, a in entrant.answers.items() if p in rows}
        if own:
            lines.append(line_of(arena, entrant, cells(own, home=entrant.name == arena.reference)))
            printed = PAPER_NEWS.get(entrant.use) or PAPER_NEWS_ABLATIONS.get(entrant.use)
            if arena.paper == "G2" and printed is not None:
                lines.append(printed_line(printed, columns, {}))
    neutral = {place: _neutral(row) for place, row in rows.items()}
    lines.append(Line(name=NEUTRAL, cells=cells(neutral), source="baseline"))
    lines += [x for x in _raters(rows, raters, columns, estimates) if arena.paper == "G2" or x.source != "paper"]
    return table(
        "ordered",
        "Distances on the scale",
        columns,
        lines,
        "Of the answers as given, not calibrated: softening pulls every answer to the middle. Distances are in steps of the scale.",
        "Distance from the centre is no accuracy: read it only beside `always neutral`, which has distance 0 without reading anything.",
        *(PAPER_NOTE,) if arena.paper == "G2" else (),
    )


def _columns(reference: str, raters: Sequence[str]) -> list[Column]:
    nearer = "difference of the mean distance to all raters; below 0 the reference is nearer to them"
    apart = Column(
        key="partisan_gap", title="partisan gap", better="less", about="largest less smallest distance to a rater"
    )
    return [
        Column(
            key="mad",
            title="from centre",
            about="mean |E − centre|; `neutral` always scores 0, so it is no merit by itself",
        ),
        *(
            Column(key=f"mad:{name}", title=f"from {name}", better="less", about="mean |E − what the rater said|")
            for name in raters
        ),
        *([apart] if len(raters) > 1 else []),
        *([Column(key="raters_difference", title=f"raters: {reference} less it", about=nearer)] if raters else []),
        Column(key="acc1", title="Acc@1 %", better="more"),
    ]


def ordered_words(found: ReportTable, reference: str) -> str:
    """What an answer that reads nothing would have scored."""
    right = show_value(found.cell(NEUTRAL, "acc1"))
    words = f"Answering neutral always has distance 0 from the centre and is right in {right} % of these cases"
    there = any(column.key == "raters_difference" for column in found.columns)
    gap = found.cell(NEUTRAL, "raters_difference") if there else None
    if gap is None or not isinstance(gap.value, float) or gap.low is None or gap.high is None:
        return f"{words}."
    if gap.low <= 0 <= gap.high:
        return f"{words}; chance may explain how its distance to the raters differs from that of {reference} ({show(gap)} steps)."
    side = "nearer to" if gap.low > 0 else "farther from"
    return f"{words}; it lies {side} the raters than {reference} ({show(gap)} steps)."


def _from_raters(scored: Sequence[ScoredAnswer]) -> Vector:
    found = [float(np.mean(list(s.from_raters.values()))) if s.from_raters else float("nan") for s in scored]
    return np.array(found, dtype=float)


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
        far = [abs(x - _centre(rows[p].positions)) for x, p in zip(said, places, strict=True)]
        cells: list[Cell] = [text("") for _ in columns]
        cells[0] = estimate(estimates.mean(far, [p.case for p in places]))
        lines.append(Line(name=name, cells=tuple(cells), source="baseline"))
        side = "rater D" if "democrat" in who else "rater R" if "republican" in who else "raters" if who == name else ""
        if side in PAPER_NEWS:
            lines.append(printed_line(PAPER_NEWS[side], columns, {}))
    return lines


MOST = 31
"""Articles that are shown one by one: as many as in the paper."""


def nearest(position: float, positions: Mapping[str, float]) -> str:
    """The outcome nearest to a position; halfway the one nearer to the centre.

    >>> nearest(0.5, {"-1": -1, "0": 0, "+1": 1}), nearest(-0.6, {"-1": -1, "0": 0, "+1": 1})
    ('0', '-1')
    """
    centre = _centre(positions)
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


def distance_table(arena: Arena, estimates: Estimates) -> ReportTable | None:
    """Mean DR, DS, SR of every method, and how far the reference moved from each one-shot answer."""
    rows = _usable(arena)
    if not rows:
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

    def cells(entrant: Entrant) -> list[Cell] | None:
        some = entrant.picked(lambda a: len(a.row.raters) == 2)
        if not some.places:
            return None
        both = [(p, a) for p, a in zip(some.places, some.answers, strict=True) if p in ours]
        moved = [float(_steps(a.scored.answer, ours[p].scored.answer, a.row)) for p, a in both]
        gap = estimate(estimates.mean(moved, [p.case for p, _ in both]))
        apart = [_apart(a.row, a.scored.answer) for a in some.answers]
        return [*_distances(apart, some.cases, estimates), text("") if entrant.name == arena.reference else gap]

    places = sorted(rows)
    neutral = [_apart(rows[p], nearest(_centre(rows[p].positions), rows[p].positions)) for p in places]
    always = (*_distances(neutral, [p.case for p in places], estimates), text(""))
    lines = [*by_method(arena, cells), Line(name=NEUTRAL, cells=always, source="baseline")]
    if arena.paper == "G2":
        lines += [printed_line(one, columns, {"distance:n": "count"}) for one in PAPER_DISTANCES]
    d, r = next(iter(rows.values())).raters
    return table(
        "distances",
        "Distances to the raters: DR, DS, SR",
        columns,
        lines,
        f"D is {d}, R is {r}, S the answer's top outcome; steps of the scale. One-shot answers are those of `single`.",
        "An answer that is always neutral lies between any two raters on different sides; read the distances beside its line.",
        *(PAPER_DISTANCE_NOTE, PAPER_NOTE) if arena.paper == "G2" else (),
    )


def _distances(apart: Sequence[tuple[int, int, int]], cases: Sequence[Hashable], estimates: Estimates) -> list[Cell]:
    """How many, mean DR, DS and SR, and how often the answer lies between the raters."""
    means = estimates.means([[x[i] for x in apart] for i in range(3)], cases)
    between = estimates.share([float(dr == ds + sr) for dr, ds, sr in apart], cases)
    return [count(len(apart)), *map(estimate, means), estimate(between, "share")]


def article_table(arena: Arena) -> ReportTable | None:
    """The paper's shape: where D, R, S and the one-shot answers put each article. The first articles by id, under the first seed."""
    rows = {p: row for p, row in _usable(arena).items() if p in arena.home.answers}
    if not rows:
        return None
    first = min(p.seed for p in rows)
    places = sorted(p for p in rows if p.seed == first)
    shots = [e for e in arena.entrants if e.use == "single" and not e.best]
    lines = []
    total = [0, 0, 0]
    for place in places[:MOST]:
        row, answer = rows[place], arena.home.answers[place].scored.answer
        apart = _apart(row, answer)
        total = [x + y for x, y in zip(total, apart, strict=True)]
        raters = [text(nearest(x, row.positions)) for x in row.raters.values()]
        said = [text(e.answers[place].scored.answer) if place in e.answers else Cell() for e in shots]
        cells = (*raters, text(answer), *said, *map(count, apart), text(row.group))
        lines.append(Line(name=place.item, cells=cells))
    blank = [text("") for _ in range(3 + len(shots))]
    lines.append(Line(name="Total", cells=(*blank, *map(count, total), text("")), source="baseline"))
    return table(
        "articles",
        f"Article by article, {len(places[:MOST])} of {len(places)}, seed {first}",
        (
            *(Column(key=k, title=k) for k in ("D", "R", "S")),
            *(Column(key=f"one-shot {e.name}", title=e.name.removeprefix("single/")) for e in shots),
            *(Column(key=k, title=k) for k in ("DR", "DS", "SR")),
            Column(key="data", title="source"),
        ),
        lines,
        f"S is {arena.reference}. Articles in the order of their ids, which are hashes of their texts: none was chosen.",
        first="Article",
    )


SMOOTHING = 1e-6


def gaps(step: Step, positions: Mapping[str, float]) -> tuple[float, float, float] | None:
    """W̃₁, shared information and normalised cross-entropy, means over all pairs of agents; ``None`` below two agents."""
    order = sorted(positions, key=positions.__getitem__)
    scale = np.array([positions[y] for y in order])
    beliefs = [_on(order, p) for p in step.beliefs.values()]
    found = [
        (
            wasserstein(p, q, scale),
            shared_information(p, q),
            (cross_entropy(p, q, len(order), SMOOTHING) + cross_entropy(q, p, len(order), SMOOTHING)) / 2,
        )
        for p, q in combinations(beliefs, 2)
    ]
    return None if not found else tuple(float(x) for x in np.mean(found, axis=0))  # type: ignore[return-value]


def _on(order: Sequence[str], belief: Mapping[str, float]) -> Vector:
    p = np.array([belief.get(y, 0.0) for y in order])
    return p / p.sum() if p.sum() > 0 else np.full(len(order), 1 / len(order))


def mitigation_table(study: Gathered, arena: Arena, estimates: Estimates) -> ReportTable | None:
    """How far apart agents were at the opening and at the end, of every debate on a scale."""

    def cells(entrant: Entrant) -> list[Cell] | None:
        some = entrant.picked(lambda a: bool(a.row.positions) and len(a.row.course) > 1)
        ends = [[gaps(a.row.course[t], a.row.positions) for t in (0, -1)] for a in some.answers]
        known = [i for i, (first, last) in enumerate(ends) if first is not None and last is not None]
        if not known:
            return None
        cases, values = [some.cases[i] for i in known], np.array([ends[i] for i in known], dtype=float)
        means = estimates.means([values[:, end, i] for i in range(3) for end in (0, 1)], cases)
        first, last = values[:, 0, 0], values[:, 1, 0]
        change = estimate(estimates.mean_difference(last - first, cases), "signed")
        narrowed = estimate(estimates.share((last < first - 1e-9).astype(float), cases), "share")
        return [count(len(known)), *map(estimate, means[:2]), change, narrowed, *map(estimate, means[2:])]

    return table(
        "mitigation",
        "Bias mitigation: agents brought together",
        (
            Column(key="gap:n", title="n"),
            Column(key="gap:opening", title="W̃₁ opening", about="distance of the agents' beliefs, mean over pairs"),
            Column(key="gap:end", title="W̃₁ end", better="less"),
            Column(key="gap:change", title="change", about="end less opening; below 0 they came together"),
            Column(key="gap:narrowed", title="narrowed %", about="cases in which agents ended nearer than they began"),
            Column(key="shared:opening", title="shared inf. opening", about="1: equal beliefs (D6)"),
            Column(key="shared:end", title="shared inf. end", better="more"),
            Column(key="cross:opening", title="cross-entropy opening", about="normalised, both ways"),
            Column(key="cross:end", title="cross-entropy end", better="less"),
        ),
        by_method(arena, cells),
        *framings(study),
        "Agents that come together need not be right: read it beside accuracy and the distances to the raters.",
        "The paper draws these three signals and prints no figures of them.",
    )


def framings(study: Gathered) -> tuple[str, ...]:
    """Who was told to see it which way; where nobody was, that it is no test of opposing framings."""
    told = {seat.name or seat.model: seat.persona for seat in study.meta.spec.panel.agents if seat.persona}
    if told:
        return tuple(f"{who} was told: {' '.join(persona.split())}" for who, persona in told.items())
    return (
        "Nobody was given a framing: agents differ by what they read and how they weigh it. Opposing framings are personas of language "
        "models ([[panel.agents]] persona); studies/g2-framings.toml has such a panel.",
    )
