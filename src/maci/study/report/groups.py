"""Accuracy by the group a case belongs to: category, outlet, source."""

from __future__ import annotations

import math
from collections import Counter

from maci.study.report.arena import Arena, Place
from maci.study.report.estimates import Estimates
from maci.study.report.lines import line_of
from maci.study.report.model import Column, Table, estimate

__all__ = ["group_table"]

MOST = 8
"""Groups with a column of their own, the largest; the rest are one."""
REST = "all other groups"


def group_table(arena: Arena, estimates: Estimates) -> Table | None:
    """Acc@1 of every method in every group; ``None`` where there are not at least two."""
    group: dict[Place, str] = {
        place: answered.row.group for e in arena.entrants for place, answered in e.answers.items() if answered.row.group
    }
    cases = Counter(name for _, name in {(place.case, name) for place, name in group.items()})
    if len(cases) < 2:
        return None
    own = [name for name, _ in sorted(cases.items(), key=lambda x: (-x[1], x[0]))]
    names = own if len(own) <= MOST + 1 else [*own[:MOST], REST]
    named = {place: name if name in names else REST for place, name in group.items()}
    sizes = Counter(name for _, name in {(place.case, name) for place, name in named.items()})
    lines = []
    for entrant in arena.entrants:
        cells = []
        for name in names:
            places = [p for p in sorted(entrant.answers) if named.get(p) == name]
            right = [entrant.answers[p].scored.correct for p in places]
            values = [math.nan if r is None else float(r) for r in right]
            cells.append(estimate(estimates.share(values, [p.case for p in places]), "share"))
        lines.append(line_of(arena, entrant, cells))
    columns = tuple(
        Column(key=f"acc1:group {name}", title=f"{name} ({sizes[name]})", better="more", about=f"{sizes[name]} cases")
        for name in names
    )
    notes = [
        "Acc@1 %, in brackets after each group its cases. Groups are the data set's own; none was chosen for its result."
    ]
    if REST in names:
        notes.append(f"{len(own)} groups in all; those beyond the {MOST} largest are taken together.")
    return Table(key="groups", title="Accuracy by group", columns=columns, lines=tuple(lines), notes=tuple(notes))
