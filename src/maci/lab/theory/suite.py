"""All claims, in the order of the paper, and how to check them.

Every check has a random stream of its own, so that one can be run alone and say the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from maci.errors import InputError
from maci.lab.theory import bandits, lemma, termination, voting
from maci.lab.theory.verdict import Size, Verdict

Run: TypeAlias = Callable[[Size, np.random.Generator], list[Verdict]]


@dataclass(frozen=True, slots=True)
class Check:
    """One simulation, which may speak to several claims."""

    name: str
    title: str
    run: Run


CHECKS = (
    Check("lemma", "Lemma 1 without noise", lemma.lemma_noiseless),
    Check("noise", "Lemma 1 with noise, and the dispersion gate", lemma.lemma_noisy),
    Check("gate", "The dispersion gate in whole debates", lemma.gate_in_debates),
    Check("rounds", "Rounds against ε", termination.general),
    Check("contraction", "Rounds against ε under contraction", termination.contraction),
    Check("regret", "Regret of UCB", bandits.regret),
    Check("context", "LinUCB against UCB", bandits.context_matters),
    Check("budget", "The budget under adversarial costs", bandits.budget),
    Check("condorcet", "Majorities over two outcomes", voting.condorcet),
    Check("voting", "Voting by the size of the answer space", voting.voting),
    Check("relative", "The relative plateau test", termination.relative_alone),
    Check("change", "The change-based plateau test", termination.stubborn),
    Check("overlap", "Evidence that is never shared", termination.disjoint),
    Check("restless", "Gains that come and go", termination.restless),
)


def named(names: Sequence[str]) -> tuple[Check, ...]:
    """The checks of these names, in the house's order; all of them where none is named."""
    known = {check.name: check for check in CHECKS}
    for name in names:
        if name not in known:
            raise InputError(f"there is no check {name!r}: choose from {', '.join(known)}")
    return tuple(check for check in CHECKS if not names or check.name in names)


def check(checks: Sequence[Check], size: Size, seed: int) -> Iterator[tuple[Check, list[Verdict]]]:
    """Run checks one after the other.

    >>> from maci.lab.theory.verdict import QUICK
    >>> [verdict.passed for _, found in check(named(["overlap"]), QUICK, seed=0) for verdict in found]
    [True]
    """
    for one in checks:
        yield one, one.run(size, np.random.default_rng([seed, CHECKS.index(one)]))
