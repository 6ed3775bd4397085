"""Constrained against free-text outcomes: the same cases once with listed outcomes, once with open ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from maci.study.report import paper
from maci.study.report.arena import Arena
from maci.study.report.estimates import Estimates, bounded
from maci.study.report.gather import Gathered
from maci.study.report.model import Cell, Column, Line, Table, estimate, text

__all__ = ["free_table"]


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
    title = "Constrained and free-text outcomes"
    return Table(key="free", title=title, columns=tuple(columns), lines=tuple(lines), notes=tuple(notes))


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
    found = [next((e for e in arena.entrants if e.name == name), None) for arena in (listed, open_)]
    right: list[dict[tuple[int, str], float]] = []
    cells: list[Cell] = []
    for entrant in found:
        own = {} if entrant is None else entrant.answers
        known = {(p.seed, p.item): float(a.scored.correct) for p, a in own.items() if a.scored.correct is not None}
        right.append(known)
        cells.append(
            estimate(estimates.share([known[k] for k in sorted(known)], [k[1] for k in sorted(known)]), "share")
        )
    shared = sorted(right[0].keys() & right[1].keys())
    d = np.array([right[1][k] - right[0][k] for k in shared])
    cases = [item for _, item in shared]
    cells.append(estimate(bounded(estimates.mean_difference(d, cases), len(set(cases)), 1.0), "points"))
    return cells
