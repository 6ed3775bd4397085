"""Is debate worth it for this case (SPEC 6)? Asked after the opening, before anything is spent on rounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from maci.config import Config

__all__ = ["Regime", "regime"]


@dataclass(frozen=True, slots=True)
class Regime:
    """Advice, with the tests behind it."""

    kind: Literal["debate", "vote", "depends"]
    why: tuple[str, ...]


def regime(size: int, q0: float | None, d0: float | None, o0: float | None, sources: int, config: Config) -> Regime:
    """Which regime a case is in, and why.

    >>> regime(120, 0.3, 0.7, 0.0, 5, Config()).kind
    'debate'
    >>> regime(4, 0.8, 0.1, 0.9, 1, Config()).kind
    'vote'
    """
    limits, bins = config.regime, config.dials
    why: list[str] = []
    low_q = q0 is not None and q0 <= bins.q_lo
    high_d = d0 is not None and d0 >= bins.d_hi
    if size >= limits.tau_y and low_q and high_d:
        why.append(
            f"{size} outcomes (≥ {limits.tau_y}), weak evidence (Q₀ {q0:.2f}) and strong disagreement (D₀ {d0:.2f})"
        )
    if sources > 1 and o0 is not None and o0 < config.stop.tau_o:
        why.append(f"{sources} sources and little shared evidence (O₀ {o0:.2f} < {config.stop.tau_o:g})")
    if limits.vote_ece is not None and limits.vote_ece >= limits.ece_delta:
        why.append(f"a vote is badly calibrated here (ECE {limits.vote_ece:.3f} ≥ {limits.ece_delta:g})")
    if why:
        return Regime("debate", tuple(why))
    if size <= limits.vote_y:
        return Regime("vote", (f"{size} outcomes (≤ {limits.vote_y}): a vote usually suffices",))
    if size >= limits.collapse_y:
        return Regime("debate", (f"{size} outcomes (≥ {limits.collapse_y}): agreement of voters collapses",))
    if size > limits.tau_y:
        return Regime("debate", (f"{size} outcomes (> {limits.tau_y}): debate is likely to pay",))
    return Regime(
        "depends", (f"{size} outcomes: between voting and debate; the crossover lies at about 10 to {limits.tau_y}",)
    )
