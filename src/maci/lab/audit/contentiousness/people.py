"""The classifier's question put to people: how contentious is this turn? Out as a blind file, back as figures.

A file holds the turns in a drawn order under names that tell nothing, and an empty column ``guess`` for a level, from 1 (most
cooperative) up to the number of levels. The level, topic, seed and agent of a turn are nowhere in it; they are looked up again
from the debates when the file comes back.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from maci.calibration.stats import RESAMPLES, Estimate, bootstrap, bootstrap_mean
from maci.errors import InputError
from maci.lab.audit.blind import read_blind
from maci.lab.audit.contentiousness.ranking import macro_auc, resampled, spearman_of
from maci.lab.audit.contentiousness.sample import Spoken

FIELDS = ("item", "text", "guess")


@dataclass(frozen=True, slots=True)
class Guesses:
    """How well people tell the levels."""

    n: int
    """Turns with a guess."""
    unknown: int
    """Rows that are no turn of these debates."""
    empty: int
    right: Estimate
    """Share of turns whose level was guessed."""
    chance: float
    rho: Estimate
    """Spearman's ρ of guess and level."""
    auc: Estimate
    """Macro AUC: the nearer a guess is to a level, the higher that level scores; ½ is guessing."""


def _id(turn: Spoken) -> str:
    """A name for a turn that tells nothing of it."""
    key = f"{turn.sitting.place}/{turn.round}/{turn.agent}"
    return hashlib.sha256(key.encode()).hexdigest()[:12]


def blind(turns: Sequence[Spoken], seed: int = 0) -> list[dict[str, str]]:
    """Rows in a drawn order, the guess left open."""
    order = np.random.default_rng(seed).permutation(len(turns))
    return [{"item": _id(turns[i]), "text": turns[i].text, "guess": ""} for i in order]


def read_guesses(path: Path, levels: int) -> dict[str, int | None]:
    """Item → guess from 1 to ``levels``; ``None`` where it was left open."""
    found: dict[str, int | None] = {}
    for where, item, said, _ in read_blind(path, "item", "guess"):
        if said and (not said.isdigit() or not 1 <= int(said) <= levels):
            raise InputError(f"{where}: guess is {said!r}: write a whole number from 1 to {levels}, or nothing")
        if item in found:
            raise InputError(f"{where}: the item {item} stands there twice: one file for each person")
        found[item] = int(said) if said else None
    return found


def guesses(
    turns: Sequence[Spoken],
    levels: Sequence[float],
    given: Mapping[str, int | None],
    rng: np.random.Generator,
    *,
    resamples: int = RESAMPLES,
) -> Guesses:
    """What people's guesses say; intervals draw topics × seeds anew."""
    known = {_id(turn): turn for turn in turns}
    rising = sorted(levels)
    rated = [(known[item], guess) for item, guess in given.items() if guess is not None and item in known]
    if not rated:
        raise InputError("none of the guesses is about a turn of these debates: import the file of this very audit")
    truth = np.array([rising.index(turn.sitting.level) + 1 for turn, _ in rated], dtype=float)
    said = np.array([guess for _, guess in rated], dtype=float)
    blocks = [turn.sitting.block for turn, _ in rated]
    scores = -np.abs(said[:, None] - np.arange(1, len(rising) + 1)[None])
    return Guesses(
        n=len(rated),
        unknown=sum(item not in known for item in given),
        empty=sum(guess is None for guess in given.values()),
        right=bootstrap_mean(truth == said, rng, groups=blocks, resamples=resamples),
        chance=1 / len(rising),
        rho=bootstrap(
            spearman_of(truth, said), len(rated), rng, groups=blocks, method="percentile", resamples=resamples
        ),
        auc=bootstrap(
            resampled(macro_auc(scores, truth.astype(int) - 1, np.zeros(len(rated))), len(rated)),
            len(rated),
            rng,
            groups=blocks,
            method="percentile",
            resamples=resamples,
        ),
    )
