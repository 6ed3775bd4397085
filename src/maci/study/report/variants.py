"""Robustness: the reference under other settings of its own, such as retrieval depth, encoder and pooling."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from maci.study.report.arena import Arena, Entrant
from maci.study.report.compare import Comparison
from maci.study.report.estimates import Estimates
from maci.study.report.gather import Gathered
from maci.study.report.lines import answers_of, line_of
from maci.study.report.model import Column, Table, estimate, number, text

__all__ = ["variant_table"]


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
    lines = []
    for entrant in others:
        answers, cases = answers_of(entrant)
        scored = [a.scored for a in answers]
        accuracy, ece = estimates.metrics(["acc1", "ece"], scored, cases)
        q0, rounds = estimates.means(
            [[math.nan if a.row.q0 is None else a.row.q0 for a in answers], [a.row.rounds for a in answers]], cases
        )
        c = by.get(entrant.name)
        same = _same(arena.home, entrant)
        cells = [
            text(_changed(known[entrant.name][1], home[1]) or "as the reference"),
            estimate(accuracy, "share"),
            text("") if c is None else estimate(c.accuracy, "points"),
            number(None if c is None else c.p, "p") if c is not None else text(""),
            text("") if c is None else number(same, "share"),
            estimate(ece),
            estimate(q0),
            estimate(rounds, "mean"),
        ]
        lines.append(line_of(arena, entrant, cells))
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
    notes = (
        "Robust is what shows no difference here and gives the same answers. An interval that reaches far says that these cases are "
        "too few to tell, not that nothing hangs on the setting.",
    )
    title = f"{arena.reference} under other settings"
    return Table(key="variants", title=title, first="Variant", columns=columns, lines=tuple(lines), notes=notes)


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
