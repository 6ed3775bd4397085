"""Bias mitigation: whether agents that began apart on a scale were brought together, and not only to the middle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from maci.belief import Vector
from maci.moderator.divergence import cross_entropy, shared_information, wasserstein
from maci.study.report.arena import Arena
from maci.study.report.estimates import Estimates
from maci.study.report.gather import Gathered
from maci.study.report.model import Column, Line, Table, count, estimate
from maci.study.rows import Round

__all__ = ["framings", "gaps", "mitigation_table"]

SMOOTHING = 1e-6


def gaps(step: Round, positions: Mapping[str, float]) -> tuple[float, float, float] | None:
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
    lines = []
    for entrant in arena.entrants:
        places, found = [], []
        for place in sorted(entrant.answers):
            row = entrant.answers[place].row
            if row.positions and len(row.course) > 1:
                ends = gaps(row.course[0], row.positions), gaps(row.course[-1], row.positions)
                if ends[0] is not None and ends[1] is not None:
                    places.append(place)
                    found.append((*ends[0], *ends[1]))
        if not found:
            continue
        cases, values = [p.case for p in places], np.array(found)
        means = estimates.means([values[:, i] for i in (0, 3, 1, 4, 2, 5)], cases)
        change = estimates.mean_difference(values[:, 3] - values[:, 0], cases)
        narrowed = estimates.share((values[:, 3] < values[:, 0] - 1e-9).astype(float), cases)
        cells = (count(len(places)), *map(estimate, means[:2]), estimate(change, "signed"), estimate(narrowed, "share"))
        home = entrant.name == arena.reference
        more = tuple(map(estimate, means[2:]))
        lines.append(Line(name=entrant.name, cells=(*cells, *more), source="reference" if home else "ours"))
    if not lines:
        return None
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
    title = "Bias mitigation: agents brought together"
    return Table(key="mitigation", title=title, columns=columns, lines=tuple(lines), notes=notes)


def framings(study: Gathered) -> tuple[str, ...]:
    """Who was told to see it which way; where nobody was, that it is no test of opposing framings."""
    told = {seat.name or seat.model: seat.persona for seat in study.meta.spec.panel.agents if seat.persona}
    if told:
        return tuple(f"{who} was told: {' '.join(persona.split())}" for who, persona in told.items())
    return (
        "Nobody was given a framing: agents differ by what they read and how they weigh it. Opposing framings are personas of language "
        "models ([[panel.agents]] persona); studies/g2-framings.toml has such a panel.",
    )
