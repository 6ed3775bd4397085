"""Tables of what happens during debates: round by round, by level of contentiousness, and how far judges agreed.

rounds            accuracy, answers that flip, signals
contentiousness   disagreement, information gained and shared evidence, by the level that was fixed
CRIT reliability  agreement of the judges, from the scores that were kept; `maci audit judges` asks them again and covers more: order,
                  length, identity
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from itertools import combinations

import numpy as np

from maci.calibration.stats import (
    Estimate,
    alpha_sums,
    bootstrap_sums,
    correlation_sums,
    estimate,
    numbered,
    pearson_sums,
    ranks,
    undefined,
    wilson,
)
from maci.lab.methods.method import Step
from maci.lab.study.metrics import leads
from maci.lab.study.report.arena import Arena, CaseId, Entrant
from maci.lab.study.report.estimates import Estimates, point
from maci.lab.study.report.tables import PAPER_CRIT, PAPER_NOTE, PAPER_TRENDS, by_method, line_of, table
from maci.lab.study.study import Row
from maci.render.report import Cell, Chart, Column, Line, Point, ReportTable, Series, count, number, text

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


def round_table(arena: Arena, estimates: Estimates) -> tuple[ReportTable, Chart]:
    """Accuracy after each round; a debate that has ended keeps its last answer, so n is the same in every round."""
    found: dict[str, list[Estimate]] = {}
    for entrant in debaters(arena):
        some = entrant.picked(lambda a: bool(a.row.course) and a.row.gold is not None)
        right = [[float(leads(step.belief, a.row.gold)) for step in a.row.course] for a in some.answers]
        after = [[x[min(t, len(x) - 1)] for x in right] for t in range(max(map(len, right), default=0))]
        if after:
            found[entrant.name] = estimates.shares(after, some.cases)
    longest = max(map(len, found.values()), default=0)

    def cells(entrant: Entrant) -> list[Cell] | None:
        own = [estimate(x, "share") for x in found.get(entrant.name, ())]
        return [*own, *(text("ended") for _ in range(longest - len(own)))] if own else None

    rounds = table(
        "rounds",
        "Accuracy after each round",
        [
            Column(key=f"acc1:round {t}", title="opening" if t == 0 else f"round {t}", better="more")
            for t in range(longest)
        ],
        by_method(arena, cells),
        "Acc@1 % of the mixture after each round, not calibrated; a debate that has ended keeps its last answer, so every round "
        "rests on the same cases.",
    )
    chart = Chart(
        key="rounds",
        kind="lines",
        title="Accuracy after each round",
        about="Share of right answers of each debate's mixture, from the openings (round 0) to its last round.",
        x="round",
        y="Acc@1 %",
        series=tuple(
            Series(name=name, points=tuple(map(point, range(longest), some)), reference=name == arena.reference)
            for name, some in found.items()
        ),
    )
    return rounds, chart


def flips(pairs: Sequence[tuple[bool, bool, Hashable]], estimates: Estimates) -> list[Cell]:
    """Of (right before, right after, case): how many were spoiled and how many mended, and which shares that is."""
    sides = [[(was != now, case) for was, now, case in pairs if was is right] for right in (True, False)]
    shares = [estimate(estimates.share_of(side), "share") for side in sides]
    return [*(count(sum(flipped for flipped, _ in side)) for side in sides), *shares]


def flip_table(arena: Arena, estimates: Estimates) -> ReportTable | None:
    """From the openings' mixture to the end: what debate mends, and what it spoils."""

    def cells(entrant: Entrant) -> list[Cell] | None:
        some = entrant.picked(lambda a: bool(a.row.course) and a.row.gold is not None)
        pairs = [
            (leads(a.row.course[0].belief, a.row.gold), a.scored.correct is True, case)
            for a, case in zip(some.answers, some.cases, strict=True)
        ]
        return [count(len(pairs)), *flips(pairs, estimates)] if pairs else None

    return table(
        "flips",
        "From opening to end",
        (
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
        ),
        by_method(arena, cells, debaters(arena)),
    )


def signal_tables(arena: Arena, estimates: Estimates) -> Iterator[ReportTable | Chart]:
    """Mean signals by round, of the reference and of other debates that measure them; ablations aside."""
    shown = [e for e in debaters(arena) if not e.ablation or e.name == arena.reference]
    for entrant in shown:
        signals = _signals(entrant, estimates)
        if signals is not None:
            yield from signals if entrant.name == arena.reference else signals[:1]


def _signals(entrant: Entrant, estimates: Estimates) -> tuple[ReportTable, Chart] | None:
    lines, marks = [], {key: list[Point]() for key, _, _ in SIGNALS}
    for t in range(max(len(a.row.course) for a in entrant.answers.values())):
        some = entrant.picked(lambda a, t=t: len(a.row.course) > t)  # type: ignore[misc]
        steps = [a.row.course[t] for a in some.answers]
        values = [[math.nan if (x := getattr(step, key)) is None else x for step in steps] for key, _, _ in SIGNALS]
        means = estimates.means(values, some.cases)
        for (key, _, _), mean in zip(SIGNALS, means, strict=True):
            marks[key] += [point(t, mean)] if mean.n else []
        cells = (count(len(steps)), *map(estimate, means))
        lines.append(Line(name="opening" if t == 0 else str(t), cells=cells))
    if not any(some for key, some in marks.items() if key != "cl"):  # a fixed dial is no signal
        return None
    columns = (
        Column(key="n", title="debates", about="that reached this round"),
        *(Column(key=key, title=title, about=about) for key, title, about in SIGNALS),
    )
    key, title = f"signals:{entrant.name}", f"Signals of {entrant.name}"
    note = "Means over the debates that reached the round: the hard cases are those that go on."
    signals = table(key, title, columns, lines, note, first="Round")
    chart = Chart(
        key=key,
        kind="lines",
        title=title,
        about="Mean of each signal by round, over the debates that reached it.",
        x="round",
        y="mean",
        series=tuple(Series(name=title, points=tuple(marks[key])) for key, title, _ in SIGNALS if marks[key]),
    )
    return signals, chart


PEAK = 3
"""Rounds among which the largest information gain is looked for."""


def trend_table(arena: Arena, estimates: Estimates) -> ReportTable | None:
    """The paper's trends: D in round 1, the peak of Î in rounds 1–3, O in the last round; ``None`` below two levels."""
    held = {e.name: cl for e in arena.entrants if (cl := _level(e)) is not None}
    if len(set(held.values())) < 2:
        return None
    lines: list[Line] = []
    seen: list[tuple[float, list[CaseId], list[list[float]]]] = []
    for entrant in sorted((e for e in arena.entrants if e.name in held), key=lambda e: -held[e.name]):
        some, cl = entrant.picked(lambda a: len(a.row.course) > 1), held[entrant.name]
        trends = [_trend(a.row.course[1:]) for a in some.answers]
        values = [[trend[i] for trend in trends] for i in range(3)]
        seen.append((cl, some.cases, values))
        lines.append(line_of(arena, entrant, [number(cl, "mean"), *map(estimate, estimates.means(values, some.cases))]))
        if round(cl, 2) in PAPER_TRENDS:
            figures = (number(cl, "mean"), *(text(x) for x in PAPER_TRENDS[round(cl, 2)]))
            lines.append(Line(name="paper", cells=figures, source="paper"))
    lines.append(_correlations(seen, estimates))
    printed = any(line.source == "paper" for line in lines)
    if printed:
        cells = tuple(map(text, ("", "0.82", "", "−0.71")))
        lines.append(Line(name="paper: Spearman with CL", cells=cells, source="paper"))
    return table(
        "trends",
        "Contentiousness and signals",
        (
            Column(key="cl", title="CL", about="held in every round"),
            Column(key="d:round 1", title="D, round 1", about="disagreement after the first round"),
            Column(key="i:peak", title=f"Î peak, rounds 1–{PEAK}", about="largest information gain of a round"),
            Column(key="o:last", title="O, last round", about="share of cited evidence that agents cited in common"),
        ),
        lines,
        "Means over cases; a case without the signal (nothing cited, say) is left out of that column. Spearman's correlation of CL "
        "with each signal over all cases and levels, cases resampled whole.",
        "Methods whose stop rule ended debates early differ in length too: hold stop.min_rounds = stop.max_rounds to compare levels.",
        *(PAPER_NOTE,) if printed else (),
    )


def _level(entrant: Entrant) -> float | None:
    """The CL that was in force in every round of every debate; ``None`` where it moved or is not known."""
    known = {step.cl for a in entrant.answers.values() for step in a.row.course[1:]}
    return next(iter(known)) if len(known) == 1 else None


def _trend(rounds: Sequence[Step]) -> tuple[float, float, float]:
    gains = [step.i for step in rounds[:PEAK] if step.i is not None]
    d, o = rounds[0].d, rounds[-1].o
    return math.nan if d is None else d, max(gains, default=math.nan), math.nan if o is None else o


def _correlations(seen: Sequence[tuple[float, list[CaseId], list[list[float]]]], estimates: Estimates) -> Line:
    cells: list[Cell] = [text("")]
    for column in range(3):
        rows = [(cl, x, case) for cl, cases, values in seen for x, case in zip(values[column], cases, strict=True)]
        known = [row for row in rows if not math.isnan(row[1])]
        if len(known) < 3:
            cells.append(Cell(kind="signed", n=len(known)))
            continue
        x, y = ranks(np.array([row[:2] for row in known], dtype=float).T)
        place, size = numbered([case for _, _, case in known])
        found: Estimate = bootstrap_sums(pearson_sums(x, y, place, size), estimates.draws, rows=len(known))
        cells.append(estimate(found, "signed"))
    return Line(name="Spearman with CL", cells=tuple(cells))


BAND = 0.02
"""Mean scores no further apart than this are a tie."""


def crit_table(arena: Arena, estimates: Estimates) -> ReportTable | None:
    """α, mean correlations, and winners that another judge would change; ``None`` where no row has scores of two judges."""
    shown = [e for e in arena.entrants if not e.ablation or e.name == arena.reference]
    lines = by_method(arena, lambda e: _cells(e, estimates), shown)
    if not lines:
        return None
    printed = [
        Cell(value=value, low=low, high=high, kind="number" if i < 3 else "share")
        for i, (value, low, high) in enumerate(PAPER_CRIT)
    ]
    lines.append(Line(name="paper: 3 LLM judges", cells=(count(150), *printed), source="paper"))
    return table(
        "crit",
        "CRIT reliability",
        (
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
        ),
        lines,
        "From the scores of the debates, cases resampled whole; the winner is the agent with the higher mean score over the debate, "
        "judge by judge. Flips are Wilson intervals over debates and pairs of judges, which are not independent.",
        "Whether the order, the length or the author of an argument moves a score needs asking again: `maci audit judges`.",
        PAPER_NOTE,
    )


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
