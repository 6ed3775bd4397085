"""Accuracy and vote agreement by the quality of the evidence: thirds of Q₀."""

from __future__ import annotations

import math

import numpy as np

from maci.study.report import paper
from maci.study.report.arena import Arena, Place
from maci.study.report.estimates import Estimates
from maci.study.report.model import Cell, Column, Line, Table, estimate, number, text
from maci.study.strata import agreement, strata

__all__ = ["agreement_table", "quality_table", "thirds"]

_NAMES = ("low", "middle", "high")


def thirds(arena: Arena) -> tuple[dict[Place, str], str]:
    """The third of every place by Q₀, and where the thirds are cut; empty where no method measured it.

    Q₀ is the openings' and does not depend on the method. It is the reference's where that has it, else that of the first that does.
    """
    q0: dict[Place, float] = {}
    for entrant in (arena.home, *arena.entrants):
        for place, answered in entrant.answers.items():
            if answered.row.q0 is not None and not math.isnan(answered.row.q0):
                q0.setdefault(place, answered.row.q0)
    places = sorted(q0)
    if not places:
        return {}, ""
    values = [q0[place] for place in places]
    names = strata(values)
    cuts = np.quantile(values, [1 / 3, 2 / 3])
    return {
        p: name for p, name in zip(places, names, strict=True) if name is not None
    }, f"{cuts[0]:.3f} and {cuts[1]:.3f}"


def quality_table(arena: Arena, estimates: Estimates) -> Table | None:
    """Accuracy of each method by third of Q₀."""
    third, cuts = thirds(arena)
    if not third:
        return None
    lines = []
    for entrant in arena.entrants:
        cells: list[Cell] = []
        for name in _NAMES:
            places = [p for p in sorted(entrant.answers) if third.get(p) == name]
            right = [entrant.answers[p].scored.correct for p in places]
            values = [math.nan if r is None else float(r) for r in right]
            found = estimates.share(values, [p.case for p in places])
            cells.append(estimate(found, "share"))
        home = entrant.name == arena.reference
        lines.append(Line(name=entrant.name, cells=tuple(cells), source="reference" if home else "ours"))
        if arena.paper == "G1" and entrant.use == "majority_vote" and not any(line.source == "paper" for line in lines):
            figures = tuple(number(paper.VOTES[name][1], "share") for name in _NAMES)
            lines.append(Line(name="paper: Majority vote (20)", cells=figures, source="paper"))
    columns = tuple(Column(key=f"acc1:{name}", title=f"{name} Q₀", better="more") for name in _NAMES)
    notes = [f"Acc@1 %. Thirds of Q₀, cut at {cuts}."]
    if any(line.source == "paper" for line in lines):
        notes[0] = f"{notes[0][:-1]}; the paper cuts at 0.3 and 0.7."
        notes.append(f"{paper.NOTE} It quotes these vote figures elsewhere as its own method's.")
    return Table(
        key="quality", title="Accuracy by evidence quality", columns=columns, lines=tuple(lines), notes=tuple(notes)
    )


def agreement_table(arena: Arena) -> Table | None:
    """How many of the votes the leading outcome has, by third of Q₀."""
    third, cuts = thirds(arena)
    voters = [e for e in arena.entrants if any(a.row.agreement is not None for a in e.answers.values())]
    if not third or not voters:
        return None
    lines = []
    for entrant in voters:
        places = sorted(p for p in entrant.answers if p in third)
        found = agreement([entrant.answers[p].row.agreement for p in places], [third[p] for p in places])
        cells = []
        for name in _NAMES:
            one = found.get(name)
            if one is None or not one.n:
                cells.append(Cell(kind="share", n=0))
            else:
                mean, low, high = one.mean / 100, one.lower / 100, one.upper / 100
                cells.append(Cell(value=mean, low=low, high=high, n=one.n, kind="share", how="quartiles"))
        lines.append(Line(name=entrant.name, cells=tuple(cells)))
    if arena.paper == "G1":
        figures = tuple(text(paper.VOTES[name][0]) for name in _NAMES)
        lines.append(Line(name="paper: Majority vote (20)", cells=figures, source="paper"))
    columns = tuple(Column(key=f"agreement:{name}", title=f"{name} Q₀") for name in _NAMES)
    notes = (
        f"Mean share of votes for the leading outcome in %, in brackets its quartiles (no confidence interval); Q₀ cut at {cuts}.",
        *((paper.NOTE,) if arena.paper == "G1" else ()),
    )
    return Table(
        key="agreement", title="Vote agreement by evidence quality", columns=columns, lines=tuple(lines), notes=notes
    )
