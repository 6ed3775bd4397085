"""Simulations: what the rules do on trajectories whose end is known.

A check gives a :class:`CheckedClaim` with what was measured of it; a :class:`Size` says how much it may simulate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from maci.render.report import LAYOUT, Chart

Kind = Literal["proved", "measured", "negative"]
"""``proved``: a theorem, here with its constants; ``measured``: true of the simulated cases; ``negative``: what does not hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedClaim:
    """A claim, what was measured of it, and whether it holds."""

    id: str
    claim: str
    kind: Kind
    limit: str
    """What would be a pass, in words."""
    measured: str
    passed: bool
    n: int
    unit: str
    """What ``n`` counts."""
    note: str = ""
    """How it was measured, and what it does not say."""
    figures: Mapping[str, Any] = field(default_factory=dict)
    """The numbers behind ``measured``, for programs."""
    charts: tuple[Chart, ...] = field(default=(), metadata=LAYOUT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How much is simulated."""

    noiseless: int
    """Trajectories of averaging without noise."""
    noisy: int
    rounds: int
    """Of each trajectory."""
    spaces: tuple[int, ...] = (2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
    """|𝒴|."""
    agents: tuple[int, ...] = (2, 3, 4, 5, 6, 7)
    """M."""
    courses: int
    """Debates played through the fold, for each setting."""
    epsilons: tuple[float, ...]
    """Tolerances of the general bound: rounds grow as 1/ε."""
    horizons: tuple[int, ...]
    """T, for regret."""
    runs: int
    """Of each bandit."""
    budget_rounds: int
    votes: int
    """Cases voted on, for each |𝒴|."""


FULL = Size(
    noiseless=10_000, noisy=2_000, rounds=30, courses=24, epsilons=(0.1, 0.05, 0.02, 0.01, 0.005, 0.0025),
    horizons=(1_000, 3_000, 10_000, 30_000, 100_000), runs=20, budget_rounds=100_000, votes=4_000,
)  # fmt: skip
QUICK = Size(
    noiseless=1_200, noisy=480, rounds=15, courses=4, epsilons=(0.1, 0.05, 0.02, 0.01),
    horizons=(1_000, 3_000, 10_000, 30_000), runs=8, budget_rounds=4_000, votes=600,
)  # fmt: skip
