"""The signals of a round just weighed: Q, D, O, CRIT and Î, the ratios and the flags."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from maci.controller.decisions import Admission
from maci.controller.dials import ClosedRound, Measured
from maci.controller.reading import cited, gold_index, widen
from maci.controller.state import State
from maci.llm.usage import Bound
from maci.moderator.belief import Vector, entropy, lead, total_variation
from maci.moderator.divergence import analyse
from maci.moderator.gate import Candidate
from maci.moderator.signals import Progress, entropy_fall, evidence_quality, flags, normalised_entropy, overlap


def measure(
    after: State,
    before: State,
    admissions: tuple[Admission, ...],
    candidates: tuple[Candidate, ...],
    table: Vector,
    omega: Vector,
    tied: tuple[str, ...],
) -> tuple[State, Measured]:
    """Signals, ratios and flags of the round just weighed."""
    config, labels = after.config, after.labels
    size = after.opened.case.outcomes.size(len(labels))
    previous, mixed = widen(before.mixed, len(labels)), after.mixed
    d = after.d
    spans = dict.fromkeys(c.span for a in admissions if a.admitted for c in a.citations if c.counts)
    q = evidence_quality([after.vectors[i] for i in spans], theta(after))
    crits = [a.crit for a in admissions if a.crit is not None]
    variances = [a.crit_variance for a in admissions if a.crit_variance is not None]
    step = Progress(
        fall=entropy_fall(previous, mixed, size),
        capacity=normalised_entropy(previous, size),
        d_before=before.d,
        d=d,
        shift=total_variation(mixed, previous),
    )
    flag = flags([*(each.progress for each in after.history), step], config.plateau, config.stop.d_max)
    o = overlap(cited(before, [(a.agent, a.citations) for a in admissions]))
    measured = Measured(
        round=after.round,
        q=q,
        d=d,
        o=o,
        crit=mean(crits),
        crit_variance=mean(variances),
        entropy=entropy(mixed),
        gain=step.gain,
        shift=step.shift,
        r_i=flag.r_i,
        r_d=flag.r_d,
        pi_i=flag.pi_i,
        pi_d=flag.pi_d,
        analysis=analyse(
            table,
            omega,
            mixed,
            previous,
            size=size,
            delta=config.beliefs.delta,
            gold=gold_index(after, labels),
            positions=after.positions,
            metric=after.metric,
        ),
    )
    leads = {lead(p) for p in table}
    closed = ClosedRound(
        signals=measured,
        progress=step,
        dials=after.dials,
        admitted=sum(a.admitted for a in admissions),
        candidates=candidates,
        same_top=len(leads) == 1 and None not in leads,
        tied=tied,
        evidence=before.grounded,
        new_evidence=before.grounded and len(after.admitted_spans) > len(before.admitted_spans),
        cost=Bound(after.usage.tokens - after.spent.tokens, after.usage.usd - after.spent.usd),
        spent=Bound(after.usage.tokens, after.usage.usd),
        choice=after.choice,
    )
    return after.but(history=(*after.history, closed)), measured


def theta(state: State) -> NDArray[np.float32]:
    """θ, frozen at round 0: set before any round can close. As an ablation it moves towards what was admitted."""
    assert state.theta is not None
    if state.config.evidence.theta == "frozen":
        return state.theta
    spans = (c.span for e in state.record for c in e.argument.citations if c.span in state.vectors)
    shown = dict.fromkeys(span for span in spans if not state.is_fact(span))
    if not shown:
        return state.theta
    rows = np.stack([state.vectors[i] for i in shown])
    centre = (rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)).mean(axis=0)
    moved = state.theta / max(float(np.linalg.norm(state.theta)), 1e-12) + centre / max(
        float(np.linalg.norm(centre)), 1e-12
    )
    return np.asarray(moved / max(float(np.linalg.norm(moved)), 1e-12), dtype=np.float32)


def mean(values: Sequence[float]) -> float | None:
    """The mean, undefined of nothing."""
    return sum(values) / len(values) if values else None
