"""Simulations small enough for a test."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from maci.lab.theory import CheckedClaim, Size

SMALL = Size(
    noiseless=120, noisy=120, rounds=8, spaces=(2, 5, 200), agents=(2, 4), courses=4, epsilons=(0.1, 0.05, 0.02),
    horizons=(1_000, 3_000, 10_000), runs=6, budget_rounds=300, votes=300,
)  # fmt: skip


def verdicts(run: Callable[[Size, np.random.Generator], list[CheckedClaim]], **changes: Any) -> dict[str, CheckedClaim]:
    """What a check says at a small size, by claim."""
    return {verdict.id: verdict for verdict in run(replace(SMALL, **changes), np.random.default_rng(7))}


def break_everywhere(monkeypatch: pytest.MonkeyPatch, function: Any, broken: Any) -> int:
    """Put ``broken`` wherever a module of ours holds ``function``; how many did."""
    held = 0
    for name, module in list(sys.modules.items()):
        if name.startswith("maci") and getattr(module, function.__name__, None) is function:
            monkeypatch.setattr(module, function.__name__, broken)
            held += 1
    return held
