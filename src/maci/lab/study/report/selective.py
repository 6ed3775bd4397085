"""Tables of how far a method's confidence can be relied on: reliability, selective answers and prediction sets.

Reliability: how often a method was right at a given confidence. The other two show what a user's risk level buys: accuracy when only
the surest answers are given, and sets that hold the truth as often as promised.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence

import numpy as np

from maci.calibration.stats import Estimate, bootstrap
from maci.calibration.stats.estimate import estimate
from maci.lab.study.metrics import reliability
from maci.lab.study.report.arena import Arena, Entrant, Learner, Picked
from maci.lab.study.report.estimates import Estimates, covering, point
from maci.lab.study.report.gather import Gathered
from maci.lab.study.report.parts import line_of, table
from maci.lab.study.rows import Row
from maci.lab.study.trust import Sets, aurc_of, chosen, curve, learn, usual_range
from maci.moderator.belief import Vector
from maci.render.report import Cell, Chart, Column, Line, Point, Series, Table, count, number, text


def reliability_table(arena: Arena) -> tuple[Table, Chart]:
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
    series, lines = [], list[Line]()
    for entrant in arena.entrants:
        bars = [b for b in reliability(entrant.picked().scored) if b.n]
        if not bars:
            continue
        home = entrant.name == arena.reference
        points = tuple(point(b.confidence, b.accuracy) for b in bars)
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
    return table("reliability", f"Reliability of {arena.reference}", columns, lines, first="Confidence"), chart


COVERAGES = (1.0, 0.9, 0.75, 0.5, 0.25)
"""Of the table; the figure has more."""
PROMISED = (0.8, 0.9, 0.95)
_DRAWS = 1000
"""Resamples of an area: each has to be ranked anew."""
_FINE = tuple(x / 20 for x in range(1, 21))


def _known(entrant: Entrant) -> Picked:
    return entrant.picked(lambda answer: answer.scored.correct is not None)


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
        some = _known(entrant)
        if len(some.places) < 4:
            continue
        sure = np.array([s.confidence for s in some.scored])
        right = np.array([s.correct is True for s in some.scored], dtype=float)
        given = [_accuracy(chosen(sure, coverage), right, some.cases, estimates) for coverage in COVERAGES]
        draws = min(_DRAWS, estimates.resamples)
        area = bootstrap(aurc_of(sure, right), len(right), estimates.rng(), groups=some.cases, resamples=draws)
        cells = [count(len(right)), *(estimate(x, "share") for x in given), estimate(covering(area))]
        lines.append(line_of(arena, entrant, cells))
        points = zip(_FINE, curve(sure, right, _FINE), strict=True)
        home = entrant.name == arena.reference
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
    notes = (
        "Acc@1 % of the answers with the highest calibrated confidence. Where confidence says nothing, every column is the same "
        "and AURC is the share of errors. `maci debate --risk` makes this choice for one case.",
        *_missing(arena),
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
    return table("selective", "Answering only where one is sure", columns, lines, *notes), chart


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
        some = _known(entrant)
        learnt = {key: learn(rows) for key, rows in _dev(study, some).items()}
        if not some.places or not learnt or not any(len(sets.scores) for sets in learnt.values()):
            continue
        lines += [line_of(arena, entrant, _cells(some, learnt, promised, estimates)) for promised in PROMISED]
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
    notes = (
        "Half of dev teaches T, ε and the score, the other half the thresholds, test is only counted. With too few cases for a "
        "coverage the set holds every outcome. The promise is about cases like those of dev.",
        *_missing(arena),
    )
    return table("conformal", "Prediction sets", columns, lines, *notes)


def _dev(study: Gathered, some: Picked) -> dict[Learner, list[Row]]:
    """Dev rows of everybody whose test answers these are."""
    wanted = {Learner(p.data, p.seed, a.row.method) for p, a in zip(some.places, some.answers, strict=True)}
    found: dict[Learner, list[Row]] = {key: [] for key in sorted(wanted)}
    for row in study.rows.values():
        if row.part == "dev" and (key := Learner(row.data, row.seed, row.method)) in found:
            found[key].append(row)
    return found


def _cells(some: Picked, learnt: Mapping[Learner, Sets], promised: float, estimates: Estimates) -> list[Cell]:
    whose = [Learner(p.data, p.seed, a.row.method) for p, a in zip(some.places, some.answers, strict=True)]
    held = [learnt[key].of(a.row.belief or {}, promised) for key, a in zip(whose, some.answers, strict=True)]
    hits = [float(a.row.gold in labels) for a, labels in zip(some.answers, held, strict=True)]
    calibrated = [len(sets.scores) for sets in learnt.values()]
    low, high = usual_range(calibrated, [whose.count(key) for key in learnt], promised, estimates.rng())
    found = estimates.share(hits, some.cases)
    enough = all(not math.isinf(sets.limit(promised)) for sets in learnt.values())
    kept = "too few cases" if not enough else "kept" if found.value >= low else "NOT kept"
    return [
        number(promised, "share"),
        estimate(found, "share"),
        text(f"{100 * low:.1f} to {100 * high:.1f}"),
        text(kept),
        estimate(estimates.mean([float(len(labels)) for labels in held], some.cases), "mean"),
        estimate(estimates.share([float(len(labels) == 1) for labels in held], some.cases), "share"),
        text(", ".join(map(str, calibrated))),
        text(", ".join(sorted({sets.score for sets in learnt.values()}))),
    ]
