"""Why a debate stops: exactly one reason, by precedence (SPEC 7, D3).

``error`` and ``budget`` (and a person's ``stopped_by_user``) come from outside; the rest are decided here, in this order.
``triage`` is no debate's: `maci ask` ended with one answer or a vote, and no round was held (:mod:`maci.controller.triage`).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

from maci.config import Config
from maci.controller.dials import ClosedRound
from maci.moderator.gate import reaches

StopReason = Literal[
    "error",
    "budget",
    "stopped_by_user",
    "triage",
    "consensus",
    "plateau",
    "crit_stable",
    "impasse",
    "stalemate",
    "max_rounds",
]


def stop_reason(history: Sequence[ClosedRound], config: Config, segment: int = 0) -> StopReason | None:
    """The reason to stop after the last closed round, or ``None`` to go on.

    ``segment``: rounds before the debate last went on with something new; conditions that must hold for a while are met by what
    came since, and so many rounds are allowed anew.
    """
    stop, now, dials = config.stop, history[-1].signals, history[-1].dials
    history = history[segment:]
    if now.round >= stop.min_rounds:
        if stop.consensus and _consensus(history, config):
            return "consensus"
        agreed = _grounded(history[-1], config) and now.d is not None and now.d <= stop.d_max
        if agreed and _stalled(history, stop.tau_stop):
            return "plateau"
        settled = now.pi_i and now.pi_d and _crit_settled(history, config)
        if stop.crit_stable and settled and (agreed or not stop.crit_agreement):
            return "crit_stable"
        if stop.impasse and _stalled(history, stop.tau_stop) and dials.cl <= stop.impasse_cl:
            return "impasse"
        if _stalemate(history, config):
            return "stalemate"
    return "max_rounds" if now.round - segment >= stop.max_rounds else None


def _grounded(last: ClosedRound, config: Config) -> bool:
    """The Q and O clauses: something good enough was admitted, and it is shared. Undefined is no.

    Where there is no evidence beside the case, they are out of force.
    """
    if not last.evidence:
        return True
    now = last.signals
    q_ok = now.q is not None and reaches(now.q, last.dials.tau_q if config.gate.q_gate else None)
    return q_ok and now.o is not None and now.o >= config.stop.tau_o


def _consensus(history: Sequence[ClosedRound], config: Config) -> bool:
    stop, now = config.stop, history[-1].signals
    if now.round < 2 or now.d is None or not history[-1].agreed or not _grounded(history[-1], config):
        return False
    before = history[-2].signals.d if len(history) > 1 else None
    return now.d <= stop.d_once or (now.d <= stop.d_twice and before is not None and before <= stop.d_twice)


def _stalled(history: Sequence[ClosedRound], rounds: int) -> bool:
    return len(history) >= rounds and all(s.signals.pi_i and s.signals.pi_d for s in history[-rounds:])


def _crit_settled(history: Sequence[ClosedRound], config: Config) -> bool:
    stop = config.stop
    if len(history) < stop.tau_stop + 1:
        return False
    for before, now in pairwise(each.signals for each in history[-stop.tau_stop - 1 :]):
        if now.crit is None or before.crit is None or now.crit_variance is None:
            return False
        if now.crit_variance >= stop.epsilon_v or abs(now.crit - before.crit) >= stop.delta_v:
            return False
    return True


def _stalemate(history: Sequence[ClosedRound], config: Config) -> bool:
    """Arguments are too weak, or nothing is admitted. In the paper the judges' scores alone decide (`stop.starved` off)."""
    last = history[-config.stop.tau_stop :]
    if len(last) < config.stop.tau_stop:
        return False
    return weak(last, config) or (config.stop.starved and all(s.admitted == 0 for s in last))


def weak(rounds: Sequence[ClosedRound], config: Config) -> bool:
    """Whether the mean CRIT of every one of these rounds is below the initial τ_CRIT; undefined is not."""
    return all(s.signals.crit is not None and s.signals.crit < config.gate.tau_crit for s in rounds)
