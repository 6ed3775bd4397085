r"""Checks of majority voting by the size of the answer space: where it helps, where agreement collapses, and what lies between.

Votes are drawn from two models of N voters on one case. In the first each is right with chance p, independently (Condorcet); over two
outcomes a majority is right with

.. math::
   P_N = \sum_{k > N/2} \binom{N}{k} p^k (1-p)^{N-k}

In the second a voter sees a score for every outcome and votes for the highest. The score of the true outcome has a lead ``a``, and a
part ρ of the noise is the same for all voters, as when they read the same evidence:

.. math::
   s_{vy} = a\,[y = y^\star] + \sqrt\rho\, g_y + \sqrt{1-\rho}\, e_{vy}

There a voter's chance falls as |𝒴| grows, as it does for diagnoses and unlike what the first model allows.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass
from itertools import pairwise
from math import comb, log

import numpy as np
from numpy.typing import NDArray

from maci.calibration.stats import wilson
from maci.config import Regime
from maci.lab.theory import CheckedClaim, Size
from maci.render.report import Chart, Series

VOTERS = 20
SHARED = 0.3


def exact(voters: int, p: float) -> float:
    """P_N, for an odd number of voters.

    >>> round(exact(3, 0.6), 3)  # 0.6³ + 3·0.6²·0.4
    0.648
    """
    return sum(comb(voters, k) * p**k * (1 - p) ** (voters - k) for k in range(voters // 2 + 1, voters + 1))


@dataclass(frozen=True, slots=True)
class Ballots:
    """What N voters said of n cases, or on average by |𝒴|; the true outcome is number 0."""

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


LEADS = (1.5, 2.0)
"""Of the true outcome's score; figures are of the first."""
UNIT = f"cases, {VOTERS} voters each"


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


def condorcet(size: Size, rng: np.random.Generator) -> list[CheckedClaim]:
    """Two outcomes: the simulated majority against the exact one, and its rise with N."""
    cases, p = 100 * size.votes, 0.6
    numbers = (1, 3, 5, 9, 15, 21)
    found = [int((2 * rng.binomial(voters, p, size=cases) > voters).sum()) for voters in numbers]
    rates = [wilson(right, cases, 0.9999) for right in found]
    truth = [exact(voters, p) for voters in numbers]
    inside = all(rate.low <= value <= rate.high for rate, value in zip(rates, truth, strict=True))
    rising = all(a.high < b.low for a, b in pairwise(rates))
    return [
        CheckedClaim(
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


def _curves(rows: list[Ballots]) -> Ballots:
    """The mean over all cases of everything that was counted, by |𝒴|."""
    return Ballots(*(np.array([part.mean() for part in parts]) for parts in zip(*map(astuple, rows), strict=True)))


def voting(size: Size, rng: np.random.Generator) -> list[CheckedClaim]:
    """Larger answer spaces: agreement, the majority, the plurality, and shared evidence, by |𝒴|."""
    low, high = (_curves([ballots(rng, size.votes, y, lead) for y in size.spaces]) for lead in LEADS)
    return [_collapse(low, high, size, _uniform(size, rng)), _turning(low, high, size), _plurality(low, high, size)]


def _collapse(low: Ballots, high: Ballots, size: Size, guessing: tuple[bool, str]) -> CheckedClaim:
    """Agreement, by |𝒴|."""
    spaces, first, last = _spaces(size), size.spaces[0], size.spaces[-1]
    scattered = all(a > b for curves in (low, high) for a, b in pairwise(curves.agreement))
    majority = [wilson(round(share * size.votes), size.votes) for share in low.majority]
    return CheckedClaim(
        id="agreement-collapse",
        claim="Agreement of independent voters collapses as the answer space grows",
        kind="measured",
        limit="falls with every step of |𝒴|; voters who guess agree in 1/|𝒴| of pairs (99.99 % interval)",
        measured=f"pairs that agree: {low.agreement[0]:.2f} at |𝒴| = {first}, {low.agreement[-1]:.3f} at {last}; "
        f"more than half agree: {majority[0].value:.0%} and {majority[-1].value:.1%}",
        passed=scattered and guessing[0],
        n=_cases(size),
        unit=UNIT,
        note=f"Guessing voters: {guessing[1]}. Figures are for a lead of {LEADS[0]:g}; with {LEADS[1]:g}: "
        f"{high.agreement[0]:.2f} and {high.agreement[-1]:.3f}.",
        figures={"spaces": size.spaces, "agreement": low.agreement, "majority": [m.value for m in majority]},
        charts=(
            Chart(
                title=f"{VOTERS} voters, lead {LEADS[0]:g}, ρ = {SHARED:g}: do they agree?",
                x="|𝒴|",
                y="share",
                log_x=True,
                series=(
                    Series.of(
                        name="more than half agree",
                        x=spaces,
                        y=[m.value for m in majority],
                        low=[m.low for m in majority],
                        high=[m.high for m in majority],
                    ),
                    Series.of(name="pairs that agree", x=spaces, y=low.agreement),
                    Series.of(name="guessing: 1/|𝒴|", x=spaces, y=[1 / y for y in spaces], bound=True),
                ),
            ),
        ),
    )


def _turning(low: Ballots, high: Ballots, size: Size) -> CheckedClaim:
    """A majority against one voter, by |𝒴|."""
    spaces, regime = _spaces(size), Regime()
    gains = {lead: (found.right - found.single).tolist() for lead, found in zip(LEADS, (low, high), strict=True)}
    turns = {lead: crossover(size.spaces, gain) for lead, gain in gains.items()}
    shown = ", ".join(f"{turn:.0f} (lead {lead:g})" for lead, turn in turns.items() if turn is not None)
    by_size = [(y, gain) for some in gains.values() for y, gain in zip(size.spaces, some, strict=True)]
    helped = all(gain > 0 for y, gain in by_size if y <= regime.vote_y)
    fallen = all(gain < 0 for y, gain in by_size if y >= regime.collapse_y)
    return CheckedClaim(
        id="crossover",
        claim="A majority of more than half beats one voter in small answer spaces and loses to it in large ones",
        kind="measured",
        limit=f"ahead for |𝒴| ≤ {regime.vote_y}, behind for |𝒴| ≥ {regime.collapse_y}",
        measured=f"changes sign at |𝒴| ≈ {shown or 'nowhere'}",
        passed=helped and fallen,
        n=_cases(size),
        unit=UNIT,
        note="A case without a majority counts as not answered. The paper puts the crossover at 10 to 20; it "
        "moves with how good voters are, so the number is one of this model, not of language models.",
        figures={
            "crossover": {str(k): v for k, v in turns.items()},
            "gain": gains[LEADS[0]],
            "gain_high": gains[LEADS[1]],
        },
        charts=(
            Chart(
                title="What voting adds to one voter",
                x="|𝒴|",
                y="difference in accuracy",
                log_x=True,
                series=(
                    *(Series.of(name=f"majority, lead {lead:g}", x=spaces, y=gain) for lead, gain in gains.items()),
                    Series.of(name="no difference", x=spaces, y=[0.0] * len(spaces), bound=True),
                ),
            ),
        ),
    )


def _plurality(low: Ballots, high: Ballots, size: Size) -> CheckedClaim:
    """The most frequent answer against one voter and against shared evidence, by |𝒴|."""
    spaces, first, last = _spaces(size), size.spaces[0], size.spaces[-1]
    kept = all(bool((curves.plurality > curves.single).all()) for curves in (low, high))
    ahead = low.pooled - low.plurality
    return CheckedClaim(
        id="plurality",
        claim="Collapse of agreement is not collapse of accuracy: the plurality stays ahead of one voter at every size",
        kind="negative",
        limit="shown if the most frequent answer is right more often than one voter at every |𝒴|",
        measured=f"at |𝒴| = {last}: one voter {low.single[-1]:.3f}, plurality {low.plurality[-1]:.3f}, "
        f"shared evidence {low.pooled[-1]:.3f}",
        passed=kept,
        n=_cases(size),
        unit=UNIT,
        note="Errors scatter too, so the true outcome needs few votes to lead. What votes lose is what voters "
        f"knew beside their first choice: sharing it is worth {ahead[0]:+.3f} at |𝒴| = {first} and "
        f"{ahead[-1]:+.3f} at {last}. That, and not the plurality's failure, is the case for debate in large spaces.",
        figures={"single": low.single, "plurality": low.plurality, "pooled": low.pooled},
        charts=(
            Chart(
                title=f"Accuracy by size of the answer space, lead {LEADS[0]:g}",
                x="|𝒴|",
                y="accuracy",
                log_x=True,
                series=(
                    Series.of(name="shared evidence", x=spaces, y=low.pooled),
                    Series.of(name="plurality", x=spaces, y=low.plurality),
                    Series.of(name="one voter", x=spaces, y=low.single),
                    Series.of(name="majority of more than half", x=spaces, y=low.right),
                ),
            ),
        ),
    )


def _spaces(size: Size) -> list[float]:
    return [float(y) for y in size.spaces]


def _cases(size: Size) -> int:
    """How many a verdict rests on."""
    return size.votes * len(size.spaces) * len(LEADS)


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
