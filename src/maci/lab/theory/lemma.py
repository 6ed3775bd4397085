r"""Checks of Lemma 1 and the dispersion gate by gated averaging, on many trajectories at once and in whole debates.

In each round every agent moves part of the way to the mean, noise is added, and the dispersion gate reverts rounds that raise D_KL:

.. math::
   p_u \leftarrow (1-\beta)\,p_u + \beta\,\bar p + \xi_u,\qquad
   D_{KL} = \tfrac1M \sum_u \mathrm{KL}(p_u \,\Vert\, \bar p)

======================  ==========================================
symbol                  name
======================  ==========================================
:math:`D_{KL}`          :func:`dispersions`, of many tables at once; debates use :func:`maci.moderator.divergence.dispersion`
:math:`\beta`           ``beta``
:math:`\xi`             :func:`noise`: mean 0, ‖ξ‖₁ ≤ σ, and the belief stays on the simplex
:math:`\nu`             what the gate tolerates: 0
======================  ==========================================

Without noise D_KL(t+1) ≤ (1−β) D_KL(t): KL is convex and p̄ stays. With this noise E D_KL(t+1) ≤ (1−β) D_KL(t) + σ, so the paper's
constant c is 1 bit; docs/theory.md has the proof. Tables are arrays of (trajectory, agent, outcome).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import log2, sqrt

import numpy as np
from numpy.typing import NDArray

from maci.config import build
from maci.lab.theory import CheckedClaim, Size
from maci.lab.theory.trajectories import Trajectory, play
from maci.moderator.belief import Vector
from maci.moderator.divergence import dispersion
from maci.moderator.gate import reverts
from maci.render.report import Chart, Series


def dispersions(p: Vector) -> Vector:
    """D_KL of every table, in bits.

    >>> dispersions(np.array([[[1.0, 0.0], [0.0, 1.0]], [[0.5, 0.5], [0.5, 0.5]]])).tolist()
    [1.0, 0.0]
    """
    return np.asarray(np.maximum(0.0, _entropies(p.mean(axis=1)) - _entropies(p).mean(axis=1)))


def _entropies(p: Vector) -> Vector:
    logs = np.log2(p, out=np.zeros_like(p), where=p > 0)
    found: Vector = -np.einsum("...y,...y->...", p, logs)
    return found


def openings(rng: np.random.Generator, n: int, agents: int, outcomes: int) -> Vector:
    """Tables of beliefs from nearly uniform to nearly certain; in every eighth all are certain."""
    sharpness = np.exp(rng.uniform(np.log(0.05), np.log(5.0), size=(n, 1, 1)))
    p = rng.standard_gamma(np.broadcast_to(sharpness, (n, agents, outcomes))) + 1e-300
    p /= p.sum(axis=-1, keepdims=True)
    p[::8] = np.eye(outcomes)[rng.integers(outcomes, size=(len(p[::8]), agents))]
    return np.asarray(p)


def averaged(p: Vector, beta: Vector) -> Vector:
    """(1−β)p + βp̄, with one β for every table."""
    b = beta[:, None, None]
    return np.asarray((1 - b) * p + b * p.mean(axis=1, keepdims=True))


def noise(x: Vector, sigma: Vector, rng: np.random.Generator) -> Vector:
    """ξ with mean 0 and ‖ξ_u‖₁ ≤ σ for every agent, such that x + ξ is a belief.

    Outcomes are paired off at random; within a pair mass goes one way or the other with equal chance, never more than the
    smaller of the two has.

    >>> rng = np.random.default_rng(0)
    >>> x = np.array([[[0.7, 0.2, 0.1, 0.0]]])
    >>> xi = noise(x, np.array([0.1]), rng)
    >>> bool(abs(xi).sum() <= 0.1 + 1e-12 and abs(xi.sum()) < 1e-12 and (x + xi).min() >= 0)
    True
    """
    outcomes = x.shape[-1]
    half = outcomes // 2
    order = rng.permuted(np.broadcast_to(np.arange(outcomes), x.shape), axis=-1)
    one, other = order[..., :half], order[..., half : 2 * half]
    most = np.minimum(np.take_along_axis(x, one, -1), np.take_along_axis(x, other, -1))
    room = 2 * most.sum(axis=-1, keepdims=True)
    share = np.minimum(1.0, sigma[:, None, None] / np.maximum(room, 1e-300))
    moved = most * share * rng.choice((-1.0, 1.0), size=most.shape)
    xi = np.zeros_like(x)
    np.put_along_axis(xi, one, moved, -1)
    np.put_along_axis(xi, other, -moved, -1)
    return xi


ROUNDING = 1e-11
"""Bits: what a sum of 1,000 logarithms may be off."""
SIGMAS = (0.01, 0.03, 0.1, 0.3)


def _cells(size: Size, trajectories: int) -> Iterator[tuple[int, int, int]]:
    """(|𝒴|, M, trajectories), as evenly as it goes."""
    cells = list(product(size.spaces, size.agents))
    for number, (outcomes, agents) in enumerate(cells):
        n = (trajectories * (number + 1)) // len(cells) - (trajectories * number) // len(cells)
        if n:
            yield outcomes, agents, n


def lemma_noiseless(size: Size, rng: np.random.Generator) -> list[CheckedClaim]:
    """Lemma 1 without noise: D_KL(t+1) ≤ (1−β) D_KL(t), every round of every trajectory."""
    worst, apart, drift, steps = -np.inf, 0.0, 0.0, 0
    falls: list[Vector] = []
    powers: list[Vector] = []
    for outcomes, agents, n in _cells(size, size.noiseless):
        p = openings(rng, n, agents, outcomes)
        centre, d = p.mean(axis=1), dispersions(p)
        start, course = np.where(d > 0, d, np.nan), [np.ones(n)]
        for _ in range(size.rounds):
            beta = rng.uniform(0.02, 1.0, size=n)
            p = averaged(p, beta)
            after = dispersions(p)
            worst = max(worst, float((after - (1 - beta) * d).max()))
            seen = (after > 1e-6) & (beta < 1)
            powers.append(np.log(after[seen] / d[seen]) / np.log1p(-beta[seen]))
            steps += n
            apart = max(apart, abs(dispersion(p[0]) - float(after[0])))
            drift = max(drift, float(np.abs(p.mean(axis=1) - centre).max()))
            course.append(after / start)
            d = after
        falls.append(np.array(course))
    shown = np.concatenate(falls, axis=1)
    shown = shown[:, ~np.isnan(shown).any(axis=0)]
    power = np.quantile(np.concatenate(powers), (0.05, 0.5, 0.95)).tolist()
    rounds = list(range(size.rounds + 1))
    low, middle, high = np.quantile(shown, (0.05, 0.5, 0.95), axis=1)
    return [
        CheckedClaim(
            id="lemma1-exact",
            claim="Lemma 1 without noise: each round D_KL falls at least by the factor 1 − β",
            kind="proved",
            limit=f"D_KL(t+1) − (1−β) D_KL(t) ≤ {ROUNDING:g} bits in every round (rounding)",
            measured=f"largest excess {worst:.1e} bits in {steps:,} rounds",
            passed=worst <= ROUNDING and apart <= ROUNDING and drift <= ROUNDING,
            n=size.noiseless,
            unit="trajectories",
            note="β is drawn anew every round from (0.02, 1); a part of the beliefs are certain. p̄ moved by at most "
            f"{drift:.0e}; the product's `dispersion` differs from ours by at most {apart:.0e}. The lemma's power of "
            f"(1 − β) is 1; measured {power[1]:.2f} (5–95 %: {power[0]:.2f} to {power[2]:.2f}), and 2 near agreement, "
            "where D_KL is quadratic.",
            figures={"worst_excess": worst, "steps": steps, "power": power, "difference": apart},
            charts=(
                Chart(
                    title="D_KL without noise, as a share of the opening's",
                    x="round",
                    y="D_KL(t) / D_KL(0)",
                    series=(Series.of(name="median, 5–95 %", x=rounds, y=middle, low=low, high=high),),
                ),
            ),
        )
    ]


@dataclass(slots=True)
class _Noisy:
    """What noisy trajectories came to."""

    rounds: int
    steps: int = 0
    would: int = 0
    """Rounds that raised D_KL as stated."""
    rejected: int = 0
    risen: int = 0
    """Rounds that raised it after the gate."""
    largest: float = -np.inf
    """Rise of D_KL after the gate, in bits."""
    apart: float = 0.0
    """Between our D_KL and the product's."""
    cells: list[tuple[int, int, float, float]] = field(default_factory=list)
    """|𝒴|, M, c and the upper end of its interval."""
    slack: float = -np.inf
    """The largest upper end of (D_KL(t+1) − (1−β) D_KL(t)) / σ after the gate."""
    gated: Vector = field(init=False)
    """Sums of D over trajectories, by round."""
    free: Vector = field(init=False)

    def __post_init__(self) -> None:
        self.gated, self.free = np.zeros(self.rounds + 1), np.zeros(self.rounds + 1)

    def add(self, outcomes: int, agents: int, n: int, rng: np.random.Generator) -> None:
        """Another cell: n trajectories under the gate, and as many without it."""
        p = free = openings(rng, n, agents, outcomes)
        d, scale, sigma = dispersions(p), log2(agents), rng.choice(SIGMAS, size=n)
        excess, added = np.zeros(n), np.zeros(n)
        self.gated[0] += d.sum() / scale
        self.free[0] += d.sum() / scale
        for t in range(1, self.rounds + 1):
            beta = rng.uniform(0.05, 0.6, size=n)
            x, away = averaged(p, beta), averaged(free, beta)
            stated, free = x + noise(x, sigma, rng), away + noise(away, sigma, rng)
            after = dispersions(stated)
            back = _taken_back(d / scale, after / scale)
            held = np.where(back, d, after)
            added += (after - dispersions(x)) / sigma
            excess += (held - (1 - beta) * d) / sigma
            self.steps += n
            self.would += int((after > d + ROUNDING).sum())
            self.rejected += int(back.sum())
            self.risen += int((held > d + ROUNDING).sum())
            self.largest = max(self.largest, float((held - d).max()))
            self.apart = max(self.apart, abs(dispersion(stated[0]) - float(after[0])))
            p, d = np.where(back[:, None, None], p, stated), held
            self.gated[t] += d.sum() / scale
            self.free[t] += dispersions(free).sum() / scale
        if n > 1:
            self.cells.append((outcomes, agents, *_upper(added / self.rounds)))
            self.slack = max(self.slack, _upper(excess / self.rounds)[1])


def _taken_back(before: Vector, after: Vector) -> NDArray[np.bool_]:
    """Which rounds the product's gate takes back, from D before and after each."""
    agents = frozenset({"all of them"})
    pairs = zip(before.tolist(), after.tolist(), strict=True)
    return np.array([bool(reverts(agents, frozenset(), before=a, after=b, nu=0.0, mode="all")) for a, b in pairs])


def lemma_noisy(size: Size, rng: np.random.Generator) -> list[CheckedClaim]:
    """Lemma 1 in expectation, and the dispersion gate: with ν = 0 no round raises D_KL."""
    found = _Noisy(size.rounds)
    for outcomes, agents, n in _cells(size, size.noisy):
        found.add(outcomes, agents, n, rng)
    outcomes, agents, largest, upper = max(found.cells, key=lambda cell: cell[3])
    rounds = list(range(size.rounds + 1))
    by_space = {
        y: max(cell[3] for cell in found.cells if cell[0] == y) for y in sorted({cell[0] for cell in found.cells})
    }
    return [
        CheckedClaim(
            id="lemma1-noisy",
            claim="Lemma 1 with noise: E D_KL(t+1) ≤ (1−β) D_KL(t) + cσ, with c = 1 bit under this noise",
            kind="proved",
            limit="what noise adds to D_KL, divided by σ: upper end of its 95 % interval ≤ 1 in every cell of |𝒴| × M",
            measured=f"largest c: {largest:.3f}, 95 % upper end {upper:.3f} (|𝒴| = {outcomes}, M = {agents})",
            passed=upper <= 1.0 and found.slack <= 1.0 and found.apart <= ROUNDING,
            n=size.noisy,
            unit="trajectories",
            note="Noise: outcomes are paired off at random and mass moves within each pair, either way with equal "
            "chance and never more than the smaller has; so ξ has mean 0, ‖ξ‖₁ ≤ σ and no belief leaves the simplex. "
            f"σ is one of {', '.join(map(str, SIGMAS))}, β is drawn from (0.05, 0.6). Compared is the round as stated "
            "with the same round without noise; against (1−β) D_KL(t), and after the gate, the largest upper end is "
            f"{found.slack:.3f}.",
            figures={
                "c": largest,
                "upper": upper,
                "after_gate": found.slack,
                "outcomes": outcomes,
                "agents": agents,
                "by_space": by_space,
            },
            charts=(
                Chart(
                    title="The constant c of the noisy lemma",
                    x="|𝒴|",
                    y="c, 95 % upper end",
                    log_x=True,
                    series=(
                        Series.of(name="measured", x=list(by_space), y=list(by_space.values())),
                        Series.of(name="proved: 1", x=list(by_space), y=[1.0] * len(by_space), bound=True),
                    ),
                ),
            ),
        ),
        CheckedClaim(
            id="dispersion-gate",
            claim="With the dispersion gate at ν = 0 no round raises D_KL",
            kind="proved",
            limit=f"0 rounds in which D_KL rises by more than {ROUNDING:g} bits",
            measured=f"{found.risen} of {found.steps:,} rounds; {found.would:,} ({found.would / found.steps:.1%}) "
            "would have raised it without the gate",
            passed=found.risen == 0 and found.would > 0,
            n=size.noisy,
            unit="trajectories",
            note=f"The product's `reverts` decides. It took back {found.rejected:,} rounds. The gate costs nothing of the "
            "lemma: a round it takes back ends with a lower D_KL than the round as stated.",
            figures={
                "rises": found.risen,
                "would_rise": found.would,
                "rejected": found.rejected,
                "steps": found.steps,
                "largest": found.largest,
            },
            charts=(
                Chart(
                    title="Mean disagreement under noise",
                    x="round",
                    y="D = D_KL / log₂M",
                    series=(
                        Series.of(name="with the gate", x=rounds, y=found.gated / size.noisy),
                        Series.of(name="without", x=rounds, y=found.free / size.noisy),
                    ),
                ),
            ),
        ),
    ]


def _upper(values: Vector) -> tuple[float, float]:
    """The mean, and the upper end of its 95 % interval."""
    mean = float(values.mean())
    return mean, mean + 1.96 * float(values.std(ddof=1)) / sqrt(len(values))


def gate_in_debates(size: Size, rng: np.random.Generator) -> list[CheckedClaim]:
    """The dispersion gate where it works: in the fold, on agents that say anything at all."""
    rounds = 10
    never = {"stop.max_rounds": rounds, "plateau.epsilon_i": 0.0, "plateau.epsilon_d": 0.0, "stop.consensus": False}
    paper, ours = build("paper", never), build("default", never)
    rises = {"paper": 0, "default, nothing new cited": 0, "default, something new cited": 0}
    jumps = total = 0
    for agents in size.agents:
        for _ in range(max(1, size.courses // 4)):
            outcomes = int(rng.choice([2, 5, 20, 50]))
            tables = openings(rng, rounds + 1, agents, outcomes)
            same = [("s",)] * agents
            stale = _course(tables, [same] * (rounds + 1))
            fresh = _course(tables, [[("s", f"n{t}")] * agents for t in range(rounds + 1)])
            stated = dispersions(tables)
            jumps += int((np.diff(stated) > ROUNDING).sum())
            total += rounds
            for name, course, config in (
                ("paper", fresh, paper),
                ("default, nothing new cited", stale, ours),
                ("default, something new cited", fresh, ours),
            ):
                progress = [each.progress for each in play(course, config).history]
                assert len(progress) == rounds
                seen = progress[1:] if course is stale else progress  # in round 1 every citation is new
                rises[name] += sum((step.d or 0.0) > (step.d_before or 0.0) + 1e-9 for step in seen)
    held = rises["paper"] == 0 and rises["default, nothing new cited"] == 0
    return [
        CheckedClaim(
            id="dispersion-gate-debates",
            claim="In whole debates the gate holds: D never rises in `paper`, and in `default` only on newly admitted evidence",
            kind="proved",
            limit="0 rises in `paper`; 0 in `default` where nothing new is cited",
            measured=f"{rises['paper']} and {rises['default, nothing new cited']} of {total:,} rounds; agents raised it "
            f"in {jumps:,}",
            passed=held and jumps > 0,
            n=3 * total,
            unit="rounds of debates",
            note="Agents state unrelated beliefs every round; the real fold decides what counts. Where every turn "
            "cites a span that was not admitted before, `default` let D rise in "
            f"{rises['default, something new cited']:,} of {total:,} rounds: a dissent that brings evidence is kept "
            "(D9), and the price is that monotonicity.",
            figures={**rises, "rounds": total, "stated_rises": jumps},
        )
    ]


def _course(tables: Vector, cites: Sequence[Sequence[Sequence[str]]]) -> Trajectory:
    """A debate in which the agents state these tables, round after round."""
    spans = {span for seats in cites for cited in seats for span in cited}
    return Trajectory(
        name="tables", what="beliefs as given", beliefs=lambda t: list(tables[t]), cites=lambda t: cites[t],
        quality=dict.fromkeys(sorted(spans), 0.9),
    )  # fmt: skip
