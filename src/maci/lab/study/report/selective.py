r"""How far a method's confidence can be relied on: reliability, selective answers and prediction sets.

Reliability: how often a method was right at a given confidence. The other two show what a user's risk level buys: accuracy when only
the surest answers are given, and sets that hold the truth as often as promised.

*Prediction sets* are learnt on dev and tried on test. The dev answers of a data set, seed and method are halved by their ids. One half
teaches T, ε and which nonconformity score makes the smaller sets; the other gives the thresholds (:mod:`maci.moderator.conformal`). So
nothing that a threshold rests on has been learnt from the same cases, and the promise holds for test cases that are like dev cases.

*Selective answers* are ranked by confidence. At coverage c the ⌈c·n⌉ surest are given, and their share of errors is the selective risk;
the area under the risk–coverage curve is

.. math::
   \mathrm{AURC} = \frac1n \sum_{k=1}^{n} \frac{\text{errors among the } k \text{ surest}}{k}

(Geifman & El-Yaniv 2017, *NeurIPS*; Geifman et al. 2019, *ICLR*). An uninformative confidence gives the plain share of errors,
a perfect one nearly none of it. Equally sure answers have no order: they count by their mean, the expectation over their orders.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from maci.calibration.profile import nonconformity_at
from maci.calibration.stats import Estimate, Statistic, estimate
from maci.calibration.temperature import Softening, fit_softening
from maci.errors import InputError
from maci.lab.study.metrics import by_level, one_each, reliability
from maci.lab.study.report.arena import Arena, Entrant, Learner, Picked
from maci.lab.study.report.estimates import Estimates, covering, point
from maci.lab.study.report.gather import Gathered
from maci.lab.study.report.tables import line_of, table
from maci.lab.study.study import Row
from maci.moderator.belief import Vector
from maci.moderator.conformal import Score, prediction_set, quantile, smallest
from maci.render.report import Cell, Chart, Column, Line, Point, ReportTable, Series, count, number, text


def reliability_table(arena: Arena) -> tuple[ReportTable, Chart]:
    """How often the reference was right when it was so sure; all methods in the chart."""
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
    return table(
        "reliability",
        f"Reliability of {arena.reference}",
        (
            Column(key="n", title="n"),
            Column(key="confidence", title="mean confidence %"),
            Column(
                key="accuracy",
                title="right %",
                about="Wilson interval; answers to one case under several seeds are not independent",
            ),
        ),
        lines,
        first="Confidence",
    ), Chart(
        key="reliability",
        kind="reliability",
        title="Reliability, after calibration on dev",
        about="Share of right answers over mean confidence in each bin; a calibrated method lies on the diagonal.",
        x="confidence",
        y="right",
        series=tuple(sorted(series, key=lambda s: not s.reference)),
    )


COVERAGES = (1.0, 0.9, 0.75, 0.5, 0.25)
"""Of the table; the figure has more."""
PROMISED = (0.8, 0.9, 0.95)
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


def selective_table(arena: Arena, estimates: Estimates) -> tuple[ReportTable, Chart]:
    """Accuracy of the surest answers, by how many are given."""
    lines, series = [], []
    for entrant in _shown(arena):
        some = _known(entrant)
        if len(some.places) < 4:
            continue
        sure = np.array([s.confidence for s in some.scored])
        right = np.array([s.correct is True for s in some.scored], dtype=float)
        given = [_accuracy(chosen(sure, coverage), right, some.cases, estimates) for coverage in COVERAGES]
        area = estimates.ranked(aurc_of(sure, right), some.cases)
        cells = [count(len(right)), *(estimate(x, "share") for x in given), estimate(covering(area))]
        lines.append(line_of(arena, entrant, cells))
        points = zip(_FINE, curve(sure, right, _FINE), strict=True)
        home = entrant.name == arena.reference
        series.append(Series(name=entrant.name, points=tuple(Point(x=100 * x, y=y) for x, y in points), reference=home))
    return table(
        "selective",
        "Answering only where one is sure",
        (
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
        ),
        lines,
        "Acc@1 % of the answers with the highest calibrated confidence. Where confidence says nothing, every column is the same "
        "and AURC is the share of errors. `maci debate --risk` makes this choice for one case.",
        *_missing(arena),
    ), Chart(
        key="selective",
        kind="lines",
        title="Answering only where one is sure",
        about="Share of right answers among the surest, by how many of them are given.",
        x="answers given %",
        y="Acc@1 %",
        series=tuple(series),
    )


def _accuracy(w: Vector, right: Vector, cases: Sequence[Hashable], estimates: Estimates) -> Estimate:
    """Of the chosen answers; Wilson where all are alike."""
    keep = np.flatnonzero(w > 0)
    hit, by = right[keep], [cases[i] for i in keep.tolist()]
    if hit.all() or not hit.any():
        return estimates.share(hit, by)
    return covering(estimates.ratio((w * right)[keep], w[keep], by))


def conformal_table(study: Gathered, arena: Arena, estimates: Estimates) -> ReportTable:
    """Whether prediction sets hold the truth as often as promised, and how large they are."""
    lines = []
    dev = _dev(study, arena)
    for entrant in _shown(arena):
        some = _known(entrant)
        answers = zip(some.places, some.answers, strict=True)
        wanted = sorted({Learner(place.data, place.seed, answer.row.method) for place, answer in answers})
        learnt = {key: learn_sets(dev.get(key, ())) for key in wanted}
        if not some.places or not learnt or not any(len(sets.scores) for sets in learnt.values()):
            continue
        whose = [Learner(p.data, p.seed, a.row.method) for p, a in zip(some.places, some.answers, strict=True)]
        soft = _calibrated(some, whose, learnt)
        lines += [
            line_of(arena, entrant, _cells(some, whose, soft, learnt, promised, estimates)) for promised in PROMISED
        ]
    return table(
        "conformal",
        "Prediction sets",
        (
            Column(key="promised", title="promised %"),
            Column(
                key="coverage", title="held the truth %", about="share of test cases whose set holds the true outcome"
            ),
            Column(
                key="range",
                title="if the promise holds %",
                about="95 % of observed coverages, from the numbers of cases",
            ),
            Column(key="kept", title="", about="whether the observed coverage reaches that range"),
            Column(key="size", title="outcomes in the set", better="less", about="mean number"),
            Column(key="singletons", title="one outcome %", better="more", about="share of sets with a single outcome"),
            Column(key="cases", title="calibrated on", about="dev cases the thresholds rest on, of each seed"),
            Column(key="score", title="score", about="nonconformity, chosen on the other half of dev"),
        ),
        lines,
        "Half of dev teaches T, ε and the score, the other half the thresholds, test is only counted. With too few cases for a "
        "coverage the set holds every outcome. The promise is about cases like those of dev.",
        *_missing(arena),
    )


def _calibrated(some: Picked, whose: Sequence[Learner], learnt: Mapping[Learner, Sets]) -> list[Mapping[str, float]]:
    """The calibrated belief of each answer."""
    found: list[Mapping[str, float]] = [{} for _ in whose]
    for key, sets in learnt.items():
        mine = [i for i, who in enumerate(whose) if who == key]
        for i, p in zip(
            mine, sets.calibration.apply_all([some.answers[i].row.belief or {} for i in mine]), strict=True
        ):
            found[i] = p
    return found


def _dev(study: Gathered, arena: Arena) -> dict[Learner, list[Row]]:
    """The dev rows of every method."""
    found: dict[Learner, list[Row]] = {}
    for row in study.rows.values():
        if row.part == "dev" and row.data in arena.data:
            found.setdefault(Learner(row.data, row.seed, row.method), []).append(row)
    return found


def _cells(
    some: Picked,
    whose: Sequence[Learner],
    soft: Sequence[Mapping[str, float]],
    learnt: Mapping[Learner, Sets],
    promised: float,
    estimates: Estimates,
) -> list[Cell]:
    """One line; ``whose`` and ``soft`` are the learner and the calibrated belief of each answer."""
    limits = {key: sets.limit(promised) for key, sets in learnt.items()}
    held = [learnt[key].within(p, limits[key]) for key, p in zip(whose, soft, strict=True)]
    hits = [float(a.row.gold in labels) for a, labels in zip(some.answers, held, strict=True)]
    calibrated = [len(sets.scores) for sets in learnt.values()]
    low, high = usual_range(calibrated, [whose.count(key) for key in learnt], promised, estimates.rng())
    found = estimates.share(hits, some.cases)
    enough = not any(map(math.isinf, limits.values()))
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Sets:
    """What makes the sets of one method on one data set under one seed."""

    calibration: Softening
    score: Score
    scores: Vector
    """Nonconformity of the true outcomes; infinite where it was not named."""

    def limit(self, coverage: float) -> float:
        """The threshold; infinite where there are too few cases for such a coverage."""
        return quantile(self.scores, coverage)

    def of(self, belief: Mapping[str, float], coverage: float) -> tuple[str, ...]:
        """The set for an answer, most probable first."""
        return self.within(self.calibration.apply(belief), self.limit(coverage))

    def within(self, p: Mapping[str, float], limit: float) -> tuple[str, ...]:
        """The set for a calibrated belief at a threshold."""
        labels = list(p)
        return tuple(labels[i] for i in prediction_set(np.array(list(p.values())), limit, self.score))


def learn_sets(rows: Iterable[Row]) -> Sets:
    """From the dev answers of one method, data set and seed; rows of the test part are not looked at."""
    halves: tuple[list[Row], list[Row]] = ([], [])
    for row in rows:
        if row.part == "dev" and row.status == "done" and row.belief is not None and row.gold is not None:
            halves[hashlib.sha256(f"conformal/{row.item}".encode()).digest()[0] & 1].append(row)
    first, second = halves
    calibration = fit_softening([row.belief or {} for row in first], [row.gold or "" for row in first])
    named = [row for row in first if row.gold in (row.belief or {})]
    p = [np.array(list(b.values()), dtype=float) for b in calibration.apply_all([row.belief or {} for row in named])]
    gold = [list(row.belief or {}).index(row.gold or "") for row in named]
    score = smallest(p, gold)
    soft = calibration.apply_all([row.belief or {} for row in second])
    scores = [nonconformity_at(b, row.gold or "", score) for b, row in zip(soft, second, strict=True)]
    return Sets(calibration=calibration, score=score, scores=np.array(scores, dtype=float))


def usual_range(
    calibrated: Sequence[int], tested: Sequence[int], coverage: float, rng: np.random.Generator
) -> tuple[float, float]:
    """Where 95 % of observed coverages lie if the promise holds exactly: (low, high); seeds (one entry each) as if independent.

    Given n calibration cases, the coverage is Beta(k, n + 1 − k) with k = ⌈(n+1)·coverage⌉ for scores without ties (Vovk 2012), and
    the hits among m test cases are binomial. Ties, and a lead that is always in the set, can only raise it.
    """
    draws, hits, total = 4000, np.zeros(4000), 0
    for n, m in zip(calibrated, tested, strict=True):
        k = math.ceil((n + 1) * coverage - 1e-9)
        true = rng.beta(k, n + 1 - k, draws) if k <= n else np.ones(draws)
        hits += rng.binomial(m, true)
        total += m
    low, high = np.quantile(hits / total, [0.025, 0.975]).tolist() if total else (math.nan, math.nan)
    return low, high


def chosen(confidence: ArrayLike, coverage: float) -> Vector:
    """How much of each answer is among the ⌈coverage·n⌉ surest: 1, 0, or a part where equally sure answers share the last places.

    >>> chosen([0.9, 0.5, 0.5, 0.2], 0.5).tolist()
    [1.0, 0.5, 0.5, 0.0]
    """
    if not 0 < coverage <= 1:
        raise InputError(f"coverage is {coverage}: give a share above 0 and at most 1")
    c = np.asarray(confidence, dtype=float)
    k = math.ceil(coverage * len(c) - 1e-9)
    if k >= len(c):
        return np.ones(len(c))
    last = np.sort(c)[::-1][k - 1]
    surer, equal = c > last, c == last
    part: Vector = surer + equal * ((k - surer.sum()) / equal.sum())
    return part


def curve(confidence: ArrayLike, correct: ArrayLike, coverages: Sequence[float]) -> list[float]:
    """Accuracy of the surest answers at each coverage.

    >>> curve([0.9, 0.8, 0.6, 0.5], [1, 1, 0, 1], [0.5, 1.0])
    [1.0, 0.75]
    """
    right = np.asarray(correct, dtype=float)
    weights = [chosen(confidence, coverage) for coverage in coverages]
    return [float((w * right).sum() / w.sum()) for w in weights]


def aurc_of(confidence: ArrayLike, correct: ArrayLike) -> Statistic:
    """The area as a statistic that can be bootstrapped.

    Among c equally sure answers with e errors, after N surer ones with E errors, the j-th is expected to see E + j·e/c errors among
    N + j; the sum over j is e + (E − N·e/c)(H(N+c) − H(N)), H the harmonic numbers.

    >>> aurc_of([0.9, 0.8, 0.7, 0.6], [1, 1, 0, 0])(np.arange(4)[None]).round(4).tolist()
    [0.2083]
    """
    sure, right = one_each(confidence, correct)
    tallies = by_level(-sure, 1 - right)

    def area(i: NDArray[np.int64]) -> Vector:
        n = i.shape[1]
        c, e = tallies(i)
        upto = np.cumsum(c, axis=1)
        before, errors = upto - c, np.cumsum(e, axis=1) - e
        harmonic = np.concatenate([[0.0], np.cumsum(1 / np.arange(1, n + 1))])
        share = e / np.maximum(c, 1)
        found: Vector = (e + (errors - before * share) * (harmonic[upto] - harmonic[before])).sum(axis=1) / n
        return found

    return area
