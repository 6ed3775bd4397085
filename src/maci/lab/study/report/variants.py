"""Tables of changed conditions: other settings, open outcomes, opposing framings.

robustness        the reference under other settings, such as retrieval depth, encoder and pooling
free text         the same cases once with listed outcomes, once with open ones
bias mitigation   whether agents that began apart on a scale were brought together, and not only to the middle
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from maci.calibration.stats.estimate import estimate
from maci.lab.methods.method import Step
from maci.lab.study.report import paper
from maci.lab.study.report.arena import Arena, Entrant
from maci.lab.study.report.compare import Comparison
from maci.lab.study.report.estimates import Estimates, bounded
from maci.lab.study.report.gather import Gathered
from maci.lab.study.report.parts import by_method, table
from maci.moderator.belief import Vector
from maci.moderator.divergence import cross_entropy, shared_information, wasserstein
from maci.render.report import Cell, Column, Line, Table, count, number, text


def variant_table(study: Gathered, arena: Arena, found: Sequence[Comparison], estimates: Estimates) -> Table | None:
    """The methods that are the reference but for their settings; ``None`` where there are none."""
    known = {m.name: (m.use, _settings(m.options)) for some in study.meta.methods.values() for m in some}
    home = known.get(arena.reference)
    if home is None:
        return None
    others = [e for e in arena.entrants if e.name in known and known[e.name][0] == home[0]]
    if len(others) < 2 or not any(known[e.name][1] != home[1] for e in others):
        return None
    by = {c.other: c for c in found}

    def cells(entrant: Entrant) -> list[Cell]:
        some, c = entrant.picked(), by.get(entrant.name)
        accuracy, ece = estimates.metrics(["acc1", "ece"], some.scored, some.cases)
        q0s = [math.nan if a.row.q0 is None else a.row.q0 for a in some.answers]
        q0, rounds = estimates.means([q0s, [a.row.rounds for a in some.answers]], some.cases)
        beside = [text("")] * 3
        if c is not None:
            beside = [estimate(c.accuracy, "points"), number(c.p, "p"), number(_same(arena.home, entrant), "share")]
        changed = text(_changed(known[entrant.name][1], home[1]) or "as the reference")
        return [changed, estimate(accuracy, "share"), *beside, estimate(ece), estimate(q0), estimate(rounds, "mean")]

    columns = (
        Column(key="note", title="setting", about="what differs from the reference"),
        Column(key="acc1", title="Acc@1 %", better="more"),
        Column(key="acc1_difference", title=f"Δ of {arena.reference}, points", about="reference less variant"),
        Column(key="p_mcnemar_adjusted", title="p adjusted"),
        Column(key="same_answer", title="same answer %", about="cases in which both lead with the same outcome"),
        Column(key="ece", title="ECE", better="less"),
        Column(key="q0", title="Q₀", about="on another encoder's scale where the encoder differs"),
        Column(key="rounds", title="Rounds"),
    )
    note = (
        "Robust is what shows no difference here and gives the same answers. An interval that reaches far says that these cases are "
        "too few to tell, not that nothing hangs on the setting."
    )
    title = f"{arena.reference} under other settings"
    return table("variants", title, columns, by_method(arena, cells, others), note, first="Variant")


def _settings(options: Mapping[str, Any]) -> dict[str, Any]:
    found: Mapping[str, Any] = options.get("settings") or options.get("set") or {}
    return dict(found)


def _changed(own: Mapping[str, Any], home: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{k} = {own[k]}" if k in own else f"{k} not set" for k in sorted({*own, *home}) if own.get(k) != home.get(k)
    )


def _same(home: Entrant, other: Entrant) -> float | None:
    shared = home.answers.keys() & other.answers.keys()
    alike = [home.answers[p].scored.answer == other.answers[p].scored.answer for p in shared]
    return sum(alike) / len(alike) if alike else None


def free_table(fought: Sequence[tuple[Gathered, Arena]], estimates: Estimates) -> Table | None:
    """Acc@1 with listed and with open outcomes, and what openness costs on the cases that have both; ``None`` without a pair."""
    pairs = [
        (listed, open_)
        for study, listed in fought
        for other, open_ in fought
        if study is other and _twins(study, listed, open_)
    ]
    if not pairs:
        return None
    columns: list[Column] = []
    for listed, open_ in pairs:
        columns += [
            Column(key=f"acc1:{listed.key}", title=listed.data[0], better="more"),
            Column(key=f"acc1:{open_.key}", title=open_.data[0], better="more"),
            Column(
                key=f"open_difference:{listed.key}",
                title="open less listed, points",
                about="on the cases answered both ways, paired",
            ),
        ]
    names = list(dict.fromkeys(e.name for pair in pairs for arena in pair for e in arena.entrants))
    homes = {arena.reference for pair in pairs for arena in pair}
    lines = [
        Line(
            name=name,
            cells=tuple(cell for pair in pairs for cell in _cells(name, *pair, estimates)),
            source="reference" if name in homes else "ours",
        )
        for name in names
    ]
    notes = ["Acc@1 %. An open answer is right where its name, or another name of it, is that of the true outcome."]
    if any(listed.paper == "G1" for listed, _ in pairs):
        cells = tuple(text(x) for listed, _ in pairs for x in ((*paper.FREE, "") if listed.paper else ("", "", "")))
        lines.append(Line(name="paper: MACI", cells=cells, source="paper"))
        notes.append(paper.NOTE)
    return table("free", "Constrained and free-text outcomes", columns, lines, *notes)


def _twins(study: Gathered, listed: Arena, open_: Arena) -> bool:
    """Whether two arenas are one set that differs in `open` alone."""
    if len(listed.data) != 1 or len(open_.data) != 1:
        return False
    by = {entry.name: entry for entry in study.meta.spec.data}
    a, b = by.get(listed.data[0]), by.get(open_.data[0])
    if a is None or b is None or a.set is None or a.set != b.set:
        return False
    plain, free = {"open": False, **a.options}, {"open": False, **b.options}
    return not plain.pop("open") and bool(free.pop("open")) and plain == free


def _cells(name: str, listed: Arena, open_: Arena, estimates: Estimates) -> list[Cell]:
    right: list[dict[tuple[int, str], float]] = []
    for arena in (listed, open_):
        own = next((e.answers for e in arena.entrants if e.name == name), {})
        right.append(
            {(p.seed, p.item): float(a.scored.correct) for p, a in own.items() if a.scored.correct is not None}
        )
    shares = [estimates.share_of([(known[k], k[1]) for k in sorted(known)]) for known in right]
    shared = sorted(right[0].keys() & right[1].keys())
    d, cases = np.array([right[1][k] - right[0][k] for k in shared]), [item for _, item in shared]
    change = bounded(estimates.mean_difference(d, cases), len(set(cases)), 1.0)
    return [*(estimate(share, "share") for share in shares), estimate(change, "points")]


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


def mitigation_table(study: Gathered, arena: Arena, estimates: Estimates) -> Table | None:
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

    columns = (
        Column(key="gap:n", title="n"),
        Column(key="gap:opening", title="W̃₁ opening", about="distance of the agents' beliefs, mean over pairs"),
        Column(key="gap:end", title="W̃₁ end", better="less"),
        Column(key="gap:change", title="change", about="end less opening; below 0 they came together"),
        Column(key="gap:narrowed", title="narrowed %", about="cases in which agents ended nearer than they began"),
        Column(key="shared:opening", title="shared inf. opening", about="1: equal beliefs (D6)"),
        Column(key="shared:end", title="shared inf. end", better="more"),
        Column(key="cross:opening", title="cross-entropy opening", about="normalised, both ways"),
        Column(key="cross:end", title="cross-entropy end", better="less"),
    )
    notes = (
        *framings(study),
        "Agents that come together need not be right: read it beside accuracy and the distances to the raters.",
        "The paper draws these three signals and prints no figures of them.",
    )
    return table("mitigation", "Bias mitigation: agents brought together", columns, by_method(arena, cells), *notes)


def framings(study: Gathered) -> tuple[str, ...]:
    """Who was told to see it which way; where nobody was, that it is no test of opposing framings."""
    told = {seat.name or seat.model: seat.persona for seat in study.meta.spec.panel.agents if seat.persona}
    if told:
        return tuple(f"{who} was told: {' '.join(persona.split())}" for who, persona in told.items())
    return (
        "Nobody was given a framing: agents differ by what they read and how they weigh it. Opposing framings are personas of language "
        "models ([[panel.agents]] persona); studies/g2-framings.toml has such a panel.",
    )
