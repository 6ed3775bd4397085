"""Tables of what happens during debates: round by round, by level of contentiousness, and what dev taught beforehand.

rounds            accuracy, answers that flip, signals
contentiousness   disagreement, information gained and shared evidence, by the level that was fixed
lessons           what dev taught about the agents before anything was compared: a line for each agent, data set and seed
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from maci.calibration.stats import Estimate, bootstrap_sums
from maci.calibration.stats.estimate import estimate, numbered
from maci.calibration.stats.significance import mean_ranks
from maci.lab.methods.method import Step
from maci.lab.study.learning import TAUGHT, Lesson
from maci.lab.study.metrics import leads
from maci.lab.study.report import paper
from maci.lab.study.report.arena import Arena, Case, Entrant
from maci.lab.study.report.crit import pearson_sums
from maci.lab.study.report.estimates import Estimates, point
from maci.lab.study.report.gather import Gathered
from maci.lab.study.report.parts import by_method, line_of, table
from maci.render.report import Cell, Chart, Column, Line, Point, Series, Table, count, number, text

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


def round_table(arena: Arena, estimates: Estimates) -> tuple[Table, Chart] | None:
    """Accuracy after each round; a debate that has ended keeps its last answer, so n is the same in every round."""
    found: dict[str, list[Estimate]] = {}
    for entrant in debaters(arena):
        some = entrant.picked(lambda a: bool(a.row.course) and a.row.gold is not None)
        right = [[float(leads(step.belief, a.row.gold)) for step in a.row.course] for a in some.answers]
        after = [[x[min(t, len(x) - 1)] for x in right] for t in range(max(map(len, right), default=0))]
        if after:
            found[entrant.name] = estimates.shares(after, some.cases)
    if not found:
        return None
    longest = max(map(len, found.values()))

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


def flip_table(arena: Arena, estimates: Estimates) -> Table | None:
    """From the openings' mixture to the end: what debate mends, and what it spoils."""

    def cells(entrant: Entrant) -> list[Cell] | None:
        some = entrant.picked(lambda a: bool(a.row.course) and a.row.gold is not None)
        pairs = [
            (leads(a.row.course[0].belief, a.row.gold), a.scored.correct is True, case)
            for a, case in zip(some.answers, some.cases, strict=True)
        ]
        sides = [[(was != now, case) for was, now, case in pairs if was is right] for right in (True, False)]
        moved = [count(sum(flipped for flipped, _ in side)) for side in sides]
        shares = [estimate(estimates.share_of(side), "share") for side in sides]
        return [count(len(pairs)), *moved, *shares] if pairs else None

    columns = (
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
    )
    return table("flips", "From opening to end", columns, by_method(arena, cells, debaters(arena)))


def signal_tables(arena: Arena, estimates: Estimates) -> Iterator[Table | Chart]:
    """Mean signals by round, of the reference and of other debates that measure them; ablations aside."""
    shown = [e for e in debaters(arena) if not e.ablation or e.name == arena.reference]
    for entrant in shown:
        signals = _signals(entrant, estimates)
        if signals is not None:
            yield from signals if entrant.name == arena.reference else signals[:1]


def _signals(entrant: Entrant, estimates: Estimates) -> tuple[Table, Chart] | None:
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


def trend_table(arena: Arena, estimates: Estimates) -> Table | None:
    """The paper's trends: D in round 1, the peak of Î in rounds 1–3, O in the last round; ``None`` below two levels."""
    held = {e.name: cl for e in arena.entrants if (cl := _level(e)) is not None}
    if len(set(held.values())) < 2:
        return None
    lines: list[Line] = []
    seen: list[tuple[float, list[Case], list[list[float]]]] = []
    for entrant in sorted((e for e in arena.entrants if e.name in held), key=lambda e: -held[e.name]):
        some, cl = entrant.picked(lambda a: len(a.row.course) > 1), held[entrant.name]
        trends = [_trend(a.row.course[1:]) for a in some.answers]
        values = [[trend[i] for trend in trends] for i in range(3)]
        seen.append((cl, some.cases, values))
        lines.append(line_of(arena, entrant, [number(cl, "mean"), *map(estimate, estimates.means(values, some.cases))]))
        if round(cl, 2) in paper.TRENDS:
            figures = (number(cl, "mean"), *(text(x) for x in paper.TRENDS[round(cl, 2)]))
            lines.append(Line(name="paper", cells=figures, source="paper"))
    lines.append(_correlations(seen, estimates))
    printed = any(line.source == "paper" for line in lines)
    if printed:
        cells = tuple(map(text, ("", "0.82", "", "−0.71")))
        lines.append(Line(name="paper: Spearman with CL", cells=cells, source="paper"))
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
    return table("trends", "Contentiousness and signals", columns, lines, *notes)


def _level(entrant: Entrant) -> float | None:
    """The CL that was in force in every round of every debate; ``None`` where it moved or is not known."""
    known = {step.cl for a in entrant.answers.values() for step in a.row.course[1:]}
    return next(iter(known)) if len(known) == 1 else None


def _trend(rounds: Sequence[Step]) -> tuple[float, float, float]:
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
        found: Estimate = bootstrap_sums(pearson_sums(x, y, place, size), estimates.draws, rows=len(known))
        cells.append(estimate(found, "signed"))
    return Line(name="Spearman with CL", cells=tuple(cells))


KEY = "lessons"
_COLUMNS = (
    Column(key="data", title="data"),
    Column(key="seed", title="seed"),
    Column(key="agent_temperature", title="T", about="of stated probabilities; 1: as they are"),
    Column(
        key="agent_doubt",
        title="ε",
        about="doubt: share given to all outcomes alike, most where an agent only names one",
    ),
    Column(key="agent_weight", title="weight", about="in the mixture; the mean of all agents is 1"),
    Column(key="dev", title="dev cases", about="that taught something"),
    Column(key="weights", title="fitted by", about="equal: not fitted"),
    Column(key="note", title="note"),
)


def lessons_table(studies: Sequence[Gathered]) -> Table | None:
    """All lessons of the studies; ``None`` where none learns."""
    found = [
        (f"{study.label}: {data}", seed, lesson)
        for study in studies
        for data, by_seed in study.meta.learnt.items()
        for seed, lesson in sorted(by_seed.items())
    ]
    if not found:
        return None
    lines = [line for data, seed, lesson in found for line in _lines(data, seed, lesson)]
    calls, tokens = (sum(x) for x in zip(*((a.calls, a.usage.tokens) for _, _, a in found), strict=True))
    notes = (
        "Temperature T, doubt ε and weight of each agent, learnt from its openings to the dev cases, the same for every method. This "
        "is before, and apart from, the calibration of each method's answers.",
        f"Learning took {calls:,} calls and {tokens:,} tokens, which are no method's and in no other table.",
    )
    return table(KEY, "Agents, as dev taught", _COLUMNS, lines, *notes, first="Agent", folded=True)


def _lines(data: str, seed: int, lesson: Lesson) -> list[Line]:
    """Whom no setting names is as it was: T = 1, ε = 0, the mean weight."""
    t, doubt, weight = (lesson.settings.get(key, {}) for key in TAUGHT)
    said = dict(note.split(": ", 1) for note in lesson.notes if ": " in note)
    return [
        Line(
            name=agent,
            cells=(
                text(data),
                text(str(seed)),
                number(t.get(agent, 1.0), n=lesson.n),
                number(doubt.get(agent, 0.0), n=lesson.n),
                number(weight.get(agent, 1.0), n=lesson.n),
                count(lesson.n),
                text(lesson.weights),
                text(said.get(agent, "")),
            ),
        )
        for agent in dict.fromkeys((*weight, *t, *doubt))
    ]
