r"""Majority voting by the size of the answer space: where Condorcet helps, where agreement collapses, and what lies between.

Two models of N voters. In the first each is right with chance p, independently (Condorcet); over two outcomes a majority is right with

.. math::
   P_N = \sum_{k > N/2} \binom{N}{k} p^k (1-p)^{N-k}

In the second a voter sees a score for every outcome and votes for the highest; the true outcome's has a lead ``a``, and a part ρ of the
noise is the same for all, as when they read the same evidence:

.. math::
   s_{vy} = a\,[y = y^\star] + \sqrt\rho\, g_y + \sqrt{1-\rho}\, e_{vy}

There a voter's chance falls as |𝒴| grows, as it does for diagnoses and unlike what the first model allows.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import comb, log

import numpy as np
from numpy.typing import NDArray

from maci.config import Regime
from maci.page.chart import Chart, Series
from maci.study.statistics import wilson
from maci.theory.verdict import Size, Verdict

__all__ = ["Ballots", "ballots", "condorcet", "crossover", "exact", "voting"]

VOTERS = 20
SHARED = 0.3
LEADS = (1.5, 2.0)


def exact(voters: int, p: float) -> float:
    """P_N, for an odd number of voters.

    >>> round(exact(3, 0.6), 3)  # 0.6³ + 3·0.6²·0.4
    0.648
    """
    return sum(comb(voters, k) * p**k * (1 - p) ** (voters - k) for k in range(voters // 2 + 1, voters + 1))


@dataclass(frozen=True, slots=True)
class Ballots:
    """What N voters said of n cases; the true outcome is number 0."""

    single: NDArray[np.float64]
    """Share of the voters that are right, by case."""
    plurality: NDArray[np.float64]
    """Whether the leading outcome is right; a share of it where outcomes tie."""
    majority: NDArray[np.bool_]
    """Whether more than half agree."""
    right: NDArray[np.bool_]
    """Whether more than half agree on the true outcome."""
    agreement: NDArray[np.float64]
    """Share of pairs of voters that agree; nan of one voter."""
    pooled: NDArray[np.bool_]
    """Whether the highest of the summed scores is right: what they would say who shared all they saw."""


def ballots(
    rng: np.random.Generator, cases: int, outcomes: int, lead: float, *, voters: int = VOTERS, shared: float = SHARED
) -> Ballots:
    """Votes of the second model."""
    parts = []
    left = cases
    while left:
        n = min(left, max(1, 2_000_000 // (voters * outcomes)))
        score = np.sqrt(1 - shared) * rng.standard_normal((n, voters, outcomes))
        score += np.sqrt(shared) * rng.standard_normal((n, 1, outcomes))
        score[:, :, 0] += lead
        parts.append((score.argmax(axis=2), score.sum(axis=1).argmax(axis=1)))
        left -= n
    votes, pooled = (np.concatenate(part) for part in zip(*parts, strict=True))
    return _counted(votes, pooled == 0, outcomes)


def _counted(votes: NDArray[np.int64], pooled: NDArray[np.bool_], outcomes: int) -> Ballots:
    cases, voters = votes.shape
    flat = (np.arange(cases)[:, None] * outcomes + votes).ravel()
    counts = np.bincount(flat, minlength=cases * outcomes).reshape(cases, outcomes)
    top = counts.max(axis=1)
    ties = (counts == top[:, None]).sum(axis=1)
    return Ballots(
        single=counts[:, 0] / voters,
        plurality=(counts[:, 0] == top) / ties,
        majority=2 * top > voters,
        right=2 * counts[:, 0] > voters,
        agreement=(counts * (counts - 1)).sum(axis=1) / (voters * (voters - 1) if voters > 1 else np.nan),
        pooled=pooled,
    )


def crossover(spaces: tuple[int, ...], gain: list[float]) -> float | None:
    """The |𝒴| at which a gain that was positive becomes negative, on a logarithmic scale; ``None`` where it does not.

    >>> crossover((2, 8, 32), [0.1, 0.1, -0.1])
    16.0
    >>> crossover((2, 8), [0.1, 0.2]) is None
    True
    """
    for (y0, g0), (y1, g1) in pairwise(zip(spaces, gain, strict=True)):
        if g0 > 0 >= g1:
            return round(float(np.exp(log(y0) + (log(y1) - log(y0)) * g0 / (g0 - g1))), 6)
    return None


def condorcet(size: Size, rng: np.random.Generator) -> list[Verdict]:
    """Two outcomes: the simulated majority against the exact one, and its rise with N."""
    cases, p = 100 * size.votes, 0.6
    numbers = (1, 3, 5, 9, 15, 21)
    found = [int((2 * rng.binomial(voters, p, size=cases) > voters).sum()) for voters in numbers]
    rates = [wilson(right, cases, 0.9999) for right in found]
    truth = [exact(voters, p) for voters in numbers]
    inside = all(rate.low <= value <= rate.high for rate, value in zip(rates, truth, strict=True))
    rising = all(a.high < b.low for a, b in pairwise(rates))
    return [
        Verdict(
            id="condorcet",
            claim="With two outcomes and independent voters better than chance, a majority gains with every voter (Condorcet)",
            kind="proved",
            limit="99.99 % intervals hold the exact value, and do not touch from one N to the next",
            measured=f"p = {p}: "
            + ", ".join(f"N {n} {rate.value:.3f}" for n, rate in zip(numbers, rates, strict=True)),
            passed=inside and rising,
            n=cases,
            unit="cases for each N",
            note="Exact: " + ", ".join(f"{value:.3f}" for value in truth) + ".",
            figures={"voters": numbers, "measured": [rate.value for rate in rates], "exact": truth},
        )
    ]


def voting(size: Size, rng: np.random.Generator) -> list[Verdict]:
    """Larger answer spaces: agreement, the majority, the plurality, and shared evidence, by |𝒴|."""
    found = {lead: [ballots(rng, size.votes, y, lead) for y in size.spaces] for lead in LEADS}
    agreement = {lead: [float(b.agreement.mean()) for b in rows] for lead, rows in found.items()}
    single = {lead: [float(b.single.mean()) for b in rows] for lead, rows in found.items()}
    right = {lead: [float(b.right.mean()) for b in rows] for lead, rows in found.items()}
    plurality = {lead: [float(b.plurality.mean()) for b in rows] for lead, rows in found.items()}
    pooled = {lead: [float(b.pooled.mean()) for b in rows] for lead, rows in found.items()}
    majority = {lead: [wilson(int(b.majority.sum()), size.votes) for b in rows] for lead, rows in found.items()}
    small = [k for k, y in enumerate(size.spaces) if y <= Regime().vote_y]
    large = [k for k, y in enumerate(size.spaces) if y >= Regime().collapse_y]
    gains = {lead: [a - b for a, b in zip(right[lead], single[lead], strict=True)] for lead in LEADS}
    turns = {lead: crossover(size.spaces, gains[lead]) for lead in LEADS}
    uniform = _uniform(size, rng)
    helped = all(gains[lead][k] > 0 for lead in LEADS for k in small)
    fallen = all(gains[lead][k] < 0 for lead in LEADS for k in large)
    scattered = all(a > b for lead in LEADS for a, b in pairwise(agreement[lead]))
    low, high = LEADS
    last = len(size.spaces) - 1
    spaces = [float(y) for y in size.spaces]
    kept = all(p > s for lead in LEADS for p, s in zip(plurality[lead], single[lead], strict=True))
    ahead = {lead: [a - b for a, b in zip(pooled[lead], plurality[lead], strict=True)] for lead in LEADS}
    n = size.votes * len(size.spaces) * len(LEADS)
    shown = ", ".join(f"{turns[lead]:.0f} (lead {lead:g})" for lead in LEADS if turns[lead] is not None)
    return [
        Verdict(
            id="agreement-collapse",
            claim="Agreement of independent voters collapses as the answer space grows",
            kind="measured",
            limit="falls with every step of |𝒴|; voters who guess agree in 1/|𝒴| of pairs (99.99 % interval)",
            measured=f"pairs that agree: {agreement[low][0]:.2f} at |𝒴| = {size.spaces[0]}, {agreement[low][last]:.3f} at "
            f"{size.spaces[last]}; more than half agree: {majority[low][0].value:.0%} and {majority[low][last].value:.1%}",
            passed=scattered and uniform[0],
            n=n,
            unit=f"cases, {VOTERS} voters each",
            note=f"Guessing voters: {uniform[1]}. Figures are for a lead of {low:g}; with {high:g}: "
            f"{agreement[high][0]:.2f} and {agreement[high][last]:.3f}.",
            figures={"spaces": size.spaces, "agreement": agreement[low], "majority": [m.value for m in majority[low]]},
            charts=(
                Chart(
                    title=f"{VOTERS} voters, lead {low:g}, ρ = {SHARED:g}: do they agree?",
                    x="|𝒴|",
                    y="share",
                    log_x=True,
                    series=(
                        Series.of(
                            name="more than half agree",
                            x=spaces,
                            y=[m.value for m in majority[low]],
                            low=[m.low for m in majority[low]],
                            high=[m.high for m in majority[low]],
                        ),
                        Series.of(name="pairs that agree", x=spaces, y=agreement[low]),
                        Series.of(name="guessing: 1/|𝒴|", x=spaces, y=[1 / y for y in spaces], bound=True),
                    ),
                ),
            ),
        ),
        Verdict(
            id="crossover",
            claim="A majority of more than half beats one voter in small answer spaces and loses to it in large ones",
            kind="measured",
            limit=f"ahead for |𝒴| ≤ {Regime().vote_y}, behind for |𝒴| ≥ {Regime().collapse_y}",
            measured=f"changes sign at |𝒴| ≈ {shown or 'nowhere'}",
            passed=helped and fallen,
            n=n,
            unit=f"cases, {VOTERS} voters each",
            note="A case without a majority counts as not answered. The paper puts the crossover at 10 to 20; it "
            "moves with how good voters are, so the number is one of this model, not of language models.",
            figures={"crossover": {str(k): v for k, v in turns.items()}, "gain": gains[low], "gain_high": gains[high]},
            charts=(
                Chart(
                    title="What voting adds to one voter",
                    x="|𝒴|",
                    y="difference in accuracy",
                    log_x=True,
                    series=(
                        *(Series.of(name=f"majority, lead {lead:g}", x=spaces, y=gains[lead]) for lead in LEADS),
                        Series.of(name="no difference", x=spaces, y=[0.0] * len(spaces), bound=True),
                    ),
                ),
            ),
        ),
        Verdict(
            id="plurality",
            claim="Collapse of agreement is not collapse of accuracy: the plurality stays ahead of one voter at every size",
            kind="negative",
            limit="shown if the most frequent answer is right more often than one voter at every |𝒴|",
            measured=f"at |𝒴| = {size.spaces[last]}: one voter {single[low][last]:.3f}, plurality {plurality[low][last]:.3f}, "
            f"shared evidence {pooled[low][last]:.3f}",
            passed=kept,
            n=n,
            unit=f"cases, {VOTERS} voters each",
            note="Errors scatter too, so the true outcome needs few votes to lead. What votes lose is what voters "
            f"knew beside their first choice: sharing it is worth {ahead[low][0]:+.3f} at |𝒴| = {size.spaces[0]} and "
            f"{ahead[low][last]:+.3f} at {size.spaces[last]}. That, and not the plurality's failure, is the case for "
            "debate in large spaces.",
            figures={"single": single[low], "plurality": plurality[low], "pooled": pooled[low]},
            charts=(
                Chart(
                    title=f"Accuracy by size of the answer space, lead {low:g}",
                    x="|𝒴|",
                    y="accuracy",
                    log_x=True,
                    series=(
                        Series.of(name="shared evidence", x=spaces, y=pooled[low]),
                        Series.of(name="plurality", x=spaces, y=plurality[low]),
                        Series.of(name="one voter", x=spaces, y=single[low]),
                        Series.of(name="majority of more than half", x=spaces, y=right[low]),
                    ),
                ),
            ),
        ),
    ]


def _uniform(size: Size, rng: np.random.Generator) -> tuple[bool, str]:
    """Whether two voters who guess agree as often as 1/|𝒴| says."""
    pairs = 50 * size.votes
    said, fits = [], True
    for outcomes in (2, 10, 100):
        together = int((rng.integers(outcomes, size=pairs) == rng.integers(outcomes, size=pairs)).sum())
        rate = wilson(together, pairs, 0.9999)
        fits = fits and rate.low <= 1 / outcomes <= rate.high
        said.append(f"{rate.value:.4f} at |𝒴| = {outcomes}")
    return fits, ", ".join(said)
