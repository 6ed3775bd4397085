"""How often a method was right when it was so sure.

Answering only where one is sure, and prediction sets: what a user's risk level buys.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

import numpy as np

from maci.calibration.stats import Estimate, bootstrap
from maci.lab.study.metrics import reliability
from maci.lab.study.report.arena import Arena, Entrant, Place
from maci.lab.study.report.estimates import Estimates, covering
from maci.lab.study.report.gather import Gathered
from maci.lab.study.report.parts import answers_of
from maci.lab.study.rows import Row
from maci.lab.study.trust import Sets, aurc_of, chosen, curve, learn, usual_range
from maci.moderator.belief import Vector
from maci.render.charts import Chart, Point, Series
from maci.render.report import Cell, Column, Line, Table, count, estimate, number, text


def reliability_table(arena: Arena) -> tuple[Table | None, Chart]:
    """How often the reference was right when it was so sure; all methods in the chart."""
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
        answers, _ = answers_of(entrant)
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


COVERAGES = (1.0, 0.9, 0.75, 0.5, 0.25)
"""Of the table; the figure has more."""
PROMISED = (0.8, 0.9, 0.95)
_Learner = tuple[str, int, str]
"""Data, seed, method."""
_DRAWS = 1000
"""Resamples of an area: each has to be ranked anew."""
_FINE = tuple(x / 20 for x in range(1, 21))


def _known(entrant: Entrant) -> list[Place]:
    return [p for p in sorted(entrant.answers) if entrant.answers[p].scored.correct is not None]


def _shown(arena: Arena) -> list[Entrant]:
    """All but the members of a family (their best on dev is there) and ablations."""
    return [e for e in arena.entrants if e.name == arena.reference or not (e.member or e.ablation)]


def _missing(arena: Arena) -> tuple[str, ...]:
    """Who is not shown, as a note."""
    shown = {e.name for e in _shown(arena)}
    if not (names := [e.name for e in arena.entrants if e.name not in shown]):
        return ()
    return (
        f"Left out: ablations, and members of a family, of which the best on dev stands for all ({', '.join(names)}).",
    )


def selective_table(arena: Arena, estimates: Estimates) -> tuple[Table, Chart] | None:
    """Accuracy of the surest answers, by how many are given."""
    lines, series = [], []
    for entrant in _shown(arena):
        places = _known(entrant)
        if len(places) < 4:
            continue
        sure = np.array([entrant.answers[p].scored.confidence for p in places])
        right = np.array([entrant.answers[p].scored.correct is True for p in places], dtype=float)
        cases = [p.case for p in places]
        cells = [count(len(places))]
        for coverage in COVERAGES:
            w = chosen(sure, coverage)
            cells.append(estimate(_accuracy(w, right, cases, estimates), "share"))
        area = bootstrap(
            aurc_of(sure, right), len(places), estimates.rng(), groups=cases, resamples=min(_DRAWS, estimates.resamples)
        )
        cells.append(estimate(covering(area)))
        home = entrant.name == arena.reference
        lines.append(Line(name=entrant.name, cells=tuple(cells), source="reference" if home else "ours"))
        points = zip(_FINE, curve(sure, right, _FINE), strict=True)
        series.append(Series(name=entrant.name, points=tuple(Point(x=100 * x, y=y) for x, y in points), reference=home))
    if not lines:
        return None
    columns = (
        Column(key="n", title="n"),
        *(
            Column(
                key=f"acc1:coverage {c:g}",
                title=f"{100 * c:g} % given",
                better="more",
                about="Acc@1 % of the surest answers when so many are given",
            )
            for c in COVERAGES
        ),
        Column(key="aurc", title="AURC", better="less", about="mean share of errors over all coverages; 0 is best"),
    )
    table = Table(
        key="selective",
        title="Answering only where one is sure",
        columns=columns,
        lines=tuple(lines),
        notes=(
            "Acc@1 % of the answers with the highest calibrated confidence. Where confidence says nothing, every column is the same "
            "and AURC is the share of errors. `maci debate --risk` makes this choice for one case.",
            *_missing(arena),
        ),
    )
    chart = Chart(
        key="selective",
        kind="lines",
        title="Answering only where one is sure",
        about="Share of right answers among the surest, by how many of them are given.",
        x="answers given %",
        y="Acc@1 %",
        series=tuple(series),
    )
    return table, chart


def _accuracy(w: Vector, right: Vector, cases: Sequence[Hashable], estimates: Estimates) -> Estimate:
    """Of the chosen answers; Wilson where all are alike."""
    keep = np.flatnonzero(w > 0)
    hit, by = right[keep], [cases[i] for i in keep.tolist()]
    if hit.all() or not hit.any():
        return estimates.share(hit, by)
    return covering(estimates.ratio((w * right)[keep], w[keep], by))


def conformal_table(study: Gathered, arena: Arena, estimates: Estimates) -> Table | None:
    """Whether prediction sets hold the truth as often as promised, and how large they are."""
    lines = []
    for entrant in _shown(arena):
        places = _known(entrant)
        learnt = {key: learn(rows) for key, rows in _dev(study, entrant, places).items()}
        if not places or not learnt or not any(len(sets.scores) for sets in learnt.values()):
            continue
        lines += [_line(entrant, places, learnt, promised, arena, estimates) for promised in PROMISED]
    if not lines:
        return None
    columns = (
        Column(key="promised", title="promised %"),
        Column(key="coverage", title="held the truth %", about="share of test cases whose set holds the true outcome"),
        Column(
            key="range", title="if the promise holds %", about="95 % of observed coverages, from the numbers of cases"
        ),
        Column(key="kept", title="", about="whether the observed coverage reaches that range"),
        Column(key="size", title="outcomes in the set", better="less", about="mean number"),
        Column(key="singletons", title="one outcome %", better="more", about="share of sets with a single outcome"),
        Column(key="cases", title="calibrated on", about="dev cases the thresholds rest on, of each seed"),
        Column(key="score", title="score", about="nonconformity, chosen on the other half of dev"),
    )
    return Table(
        key="conformal",
        title="Prediction sets",
        columns=columns,
        lines=tuple(lines),
        notes=(
            "Half of dev teaches T, ε and the score, the other half the thresholds, test is only counted. With too few cases for a "
            "coverage the set holds every outcome. The promise is about cases like those of dev.",
            *_missing(arena),
        ),
    )


def _dev(study: Gathered, entrant: Entrant, places: Sequence[Place]) -> dict[_Learner, list[Row]]:
    """Dev rows of everybody whose test answers the entrant has."""
    wanted = {(p.data, p.seed, entrant.answers[p].row.method) for p in places}
    found: dict[_Learner, list[Row]] = {key: [] for key in sorted(wanted)}
    for row in study.rows.values():
        if row.part == "dev" and (key := (row.data, row.seed, row.method)) in found:
            found[key].append(row)
    return found


def _line(
    entrant: Entrant,
    places: Sequence[Place],
    learnt: dict[_Learner, Sets],
    promised: float,
    arena: Arena,
    estimates: Estimates,
) -> Line:
    hits, sizes, tested = [], [], dict.fromkeys(learnt, 0)
    for place in places:
        row = entrant.answers[place].row
        key = (place.data, place.seed, row.method)
        held = learnt[key].of(row.belief or {}, promised)
        hits.append(float(row.gold in held))
        sizes.append(float(len(held)))
        tested[key] += 1
    cases = [p.case for p in places]
    calibrated = [len(sets.scores) for sets in learnt.values()]
    low, high = usual_range(calibrated, list(tested.values()), promised, estimates.rng())
    found = estimates.share(hits, cases)
    enough = all(not math.isinf(sets.limit(promised)) for sets in learnt.values())
    kept = "too few cases" if not enough else "kept" if found.value >= low else "NOT kept"
    return Line(
        name=entrant.name,
        source="reference" if entrant.name == arena.reference else "ours",
        cells=(
            number(promised, "share"),
            estimate(found, "share"),
            Cell(value=f"{100 * low:.1f} to {100 * high:.1f}"),
            text(kept),
            estimate(estimates.mean(sizes, cases), "mean"),
            estimate(estimates.share([float(s == 1) for s in sizes], cases), "share"),
            text(", ".join(map(str, calibrated))),
            text(", ".join(sorted({sets.score for sets in learnt.values()}))),
        ),
    )
