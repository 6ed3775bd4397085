r"""What a development split teaches about agents: how to take what each says, and how much it weighs.

From openings to cases with known answers, in this order:

1. **T_u, ε_u** of each agent: p′_u = (1 − ε_u)·temper(p_u, T_u) + ε_u/\|𝒴\| of the highest penalised likelihood (Guo et al. 2017 for
   T). An agent that only ever names one outcome (a letter on record) has T_u = 1 and an ε_u of its own; of an agent that states
   probabilities T_u does the work, and ε_u ≤ 0.05 only keeps a probability of 0 from being final.
2. **ω_u** of the mixture m = Σ ω_u p′_u / Σ ω_u over those who answered. Candidates: from a conditional logit (McFadden 1974)
   P(y) ∝ exp Σ_u θ_u temper(p_u, T_u)(y) with θ_u ≥ 0; and the linear pool's own highest likelihood by EM (with Hunter's 2004 update
   for abstentions). In the mixture an agent pulls with ω_u a_u, a_u = 1 − ε_u. So θ is drawn by ½λ |θ − c·a|² (the best c) to what
   equal weights would do, and ω_u = θ_u a_u / (a_u² + 0.04): θ_u/a_u, but 0 for an agent that knows nothing.
3. Of these, and of the λ, the one with the highest cross-validated likelihood of m, sharpened as every report does it; among few
   cases that choice is noise, so λ ≥ 1000/n, and EM from 100 cases on. So 20 cases leave the weights nearly equal; with many an agent
   that guesses, or only repeats another, loses its weight.

Why m is sharpened: a linear pool of calibrated forecasts is never confident enough (Ranjan & Gneiting 2010, *JRSS B* 72). The map
q ∝ ((1 − κ) m + κ/\|𝒴\|)^{1/T} is m itself at κ = 0, T = 1 and, since (κ/\|𝒴\| + (1 − κ) m)^{1/T} → const · exp(c m) as κ → 1 with
T = (1 − κ)\|𝒴\|/(κ c), the conditional logit at the other end: a reliability-weighted mixture of letters can say all that a logit can.

>>> said = [{"good": {"a": 1.0}, "coin": {"ab"[n % 2]: 1.0}} for n in range(40)]
>>> learnt = learn_agents(said, ["a"] * 36 + ["b"] * 4, [("a", "b")] * 40)
>>> round(learnt.doubt["good"], 2), round(learnt.doubt["coin"], 2)
(0.22, 0.99)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from maci.calibration.temperature import ENOUGH, FLOOR, Answers
from maci.errors import InputError
from maci.moderator.belief import Vector

Opening = Mapping[str, Mapping[str, float] | None]
"""What each agent held at first; ``None``: it abstained."""

TAUGHT: Mapping[str, Mapping[str, float]] = {"calibration.agents": {}, "calibration.doubt": {}, "reliability.prior": {}}
"""The settings that are learnt, as they are before."""
_FOLDS = 5
_PENALTIES = (100.0, 30.0, 10.0, 3.0)
"""λ, from the most equal weights to nearly free ones."""
_TEMPERATURES = np.geomspace(0.2, 5, 41)
_SMALL_DOUBTS = (0.001, 0.01, 0.05)
_DOUBTS = np.concatenate([np.geomspace(1e-4, 0.02, 20), np.linspace(0.025, 0.99, 194)])
"""Never 1: what an agent leads with stays its lead, so that a vote counts it."""
_RIDGE = 0.04
"""Of the division by a_u: an agent of a_u = 0.2 gets half of θ_u/a_u."""
_KAPPAS = (0.0, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9)
_SHARPER = np.geomspace(0.05, 4, 24)
_LEAST = 1e-3
"""The least weight, of a mean of 1: a setting must be above 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Learnt:
    """What is known of the agents, by name."""

    temperature: Mapping[str, float] = field(default_factory=dict)
    """T_u."""
    doubt: Mapping[str, float] = field(default_factory=dict)
    """ε_u."""
    prior: Mapping[str, float] = field(default_factory=dict)
    """ω_u, with a mean of 1."""
    n: int = 0
    """Cases that taught something: somebody answered, and the true outcome is one that could be named."""
    weights: str = "equal"
    """How ω was fitted: ``logit(λ)``, ``em``, or ``equal`` where it was not."""
    losses: Mapping[str, float] = field(default_factory=dict)
    """Mean negative log-likelihood (nats) of each way on cases left out; of equal weights beside."""
    notes: tuple[str, ...] = ()
    """What was not learnt, and why."""

    def settings(self) -> dict[str, dict[str, float]]:
        """As settings of a debate; what is as it would be anyway is left out."""
        learnt = (
            {a: round(t, 6) for a, t in self.temperature.items() if t != 1},
            {a: round(e, 6) for a, e in self.doubt.items() if e > 0},
            {a: round(w, 6) for a, w in self.prior.items()},
        )
        return {key: values for key, values in zip(TAUGHT, learnt, strict=True) if values}


def learn_agents(openings: Sequence[Opening], gold: Sequence[str], labels: Sequence[Sequence[str]]) -> Learnt:
    """What the openings to cases with known answers teach; ``labels`` are the outcomes of each case.

    An abstention is left out of its case: it says nothing for or against the agent. A case whose true outcome is not among its labels
    (an open space nobody named it in) is the same whatever is learnt, and so teaches nothing. The result depends on the cases and
    their order alone.
    """
    if not len(openings) == len(gold) == len(labels):
        raise InputError(
            f"openings, gold and labels have {len(openings)}, {len(gold)} and {len(labels)} entries: give one of each per case"
        )
    agents = tuple(dict.fromkeys(name for said in openings for name in said))
    table = _tabulate(openings, gold, labels, agents)
    n, counts = len(table.gold), table.said.sum(axis=0)
    few = [u for u in range(len(agents)) if counts[u] < ENOUGH]
    notes = tuple(
        f"{agents[u]}: {counts[u]} dev answers, {ENOUGH} are needed; taken as it is, with the mean weight" for u in few
    )
    own = _fit_own(table)
    known = [u for u in range(len(agents)) if u not in few]
    weights, how, losses = np.ones(len(agents)), "equal", dict[str, float]()
    if len(known) > 1:
        weights[known], how, losses = _choose(table.of(known))
    return Learnt(
        temperature={a: 1.0 if u in few else float(own.temperature[u]) for u, a in enumerate(agents)},
        doubt={a: 0.0 if u in few else float(own.doubt[u]) for u, a in enumerate(agents)},
        prior=dict(zip(agents, weights.tolist(), strict=True)),
        n=n,
        weights=how,
        losses=losses,
        notes=notes,
    )


# --- cases as arrays ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Table:
    """Openings as arrays: n cases, U agents, K outcomes at most."""

    p: Vector
    """(n, U, K); rows of abstentions are 0."""
    there: NDArray[np.bool_]
    """(n, K): which outcomes the case has."""
    gold: NDArray[np.int64]

    @property
    def said(self) -> NDArray[np.bool_]:
        """(n, U): who answered."""
        return np.asarray(self.p.any(axis=2), dtype=bool)

    @property
    def flat(self) -> Vector:
        """(n, K): 1/|𝒴|."""
        even: Vector = self.there / self.there.sum(axis=1, keepdims=True)
        return even

    def rows(self, chosen: NDArray[np.bool_]) -> _Table:
        return _Table(self.p[chosen], self.there[chosen], self.gold[chosen])

    def of(self, agents: Sequence[int]) -> _Table:
        """Only these agents, and the cases one of them answered."""
        some = _Table(self.p[:, list(agents)], self.there, self.gold)
        return some.rows(np.asarray(some.said.any(axis=1), dtype=bool))

    def mixed(self, own: _Own, omega: Vector) -> Answers:
        """The mixture of those who answered."""
        share = np.maximum(omega, FLOOR) * self.said
        share = share / np.maximum(share.sum(axis=1, keepdims=True), FLOOR)
        return Answers(np.einsum("nu,nuk->nk", share, own.settle(self)), self.there, self.gold)

    def at_gold(self, p: Vector) -> Vector:
        """(n, …): what the true outcome was given, of (n, K) or (n, U, K)."""
        return np.take_along_axis(p, self.gold.reshape(-1, *[1] * (p.ndim - 1)), axis=-1)[..., 0]


def _tabulate(
    openings: Sequence[Opening], gold: Sequence[str], labels: Sequence[Sequence[str]], agents: Sequence[str]
) -> _Table:
    width = max((len(names) for names in labels), default=0)
    p, there, place = [], [], []
    for said, true, names in zip(openings, gold, labels, strict=True):
        where = {name: k for k, name in enumerate(names)}
        rows = np.zeros((len(agents), width))
        for u, agent in enumerate(agents):
            for name, value in (said.get(agent) or {}).items():
                if name not in where:
                    raise InputError(
                        f"{agent} holds {name!r}, which is not among the labels of its case ({', '.join(names)})"
                    )
                rows[u, where[name]] = value
        if true in where and len(where) > 1 and rows.any():
            p.append(rows / np.maximum(rows.sum(axis=1, keepdims=True), FLOOR))
            there.append(np.arange(width) < len(names))
            place.append(where[true])
    shape = (len(p), len(agents), width)
    return _Table(
        np.array(p).reshape(shape), np.array(there, dtype=bool).reshape(len(p), width), np.array(place, dtype=np.int64)
    )


# --- how each agent is to be taken ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Own:
    temperature: Vector
    doubt: Vector

    def temper(self, table: _Table) -> Vector:
        """(n, U, K): the beliefs at each agent's own temperature."""
        if (self.temperature == 1).all():
            return table.p
        powered = table.p ** (1 / self.temperature)[:, None]
        tempered: Vector = powered / np.maximum(powered.sum(axis=2, keepdims=True), FLOOR)
        return tempered

    def settle(self, table: _Table) -> Vector:
        """(n, U, K): tempered and spread, as :func:`maci.moderator.belief.settle`; rows of abstentions stay 0."""
        e = self.doubt[:, None]
        return ((1 - e) * self.temper(table) + e * table.flat[:, None, :]) * table.said[:, :, None]


def _fit_own(table: _Table) -> _Own:
    found = []
    for u in range(table.p.shape[1]):
        said = table.said[:, u]
        answers = Answers(table.p[said, u], table.there[said], table.gold[said])
        found.append(_letters(answers) if (answers.p.max(axis=1, initial=0) > 1 - 1e-9).all() else _stated(answers))
    t, e = zip(*found, strict=True) if found else ((), ())
    return _Own(np.array(t), np.array(e))


def _letters(answers: Answers) -> tuple[float, float]:
    """ε of an agent that names one outcome, by Σ ln(1 − ε + ε/K) over right and Σ ln(ε/K) over wrong answers; half of each is given."""
    p, size = answers.p, answers.there.sum(axis=1)
    if not len(p):
        return 1.0, 0.0
    right = p[np.arange(len(p)), answers.gold] > 0.5
    e = _DOUBTS[:, None]
    gain = np.log(1 - e + e / size[right]).sum(axis=1) + np.log(e / size[~right]).sum(axis=1)
    mean = size.mean()
    gain = gain + 0.5 * (np.log(1 - e[:, 0] + e[:, 0] / mean) + np.log(e[:, 0] / mean))
    return 1.0, float(_DOUBTS[int(gain.argmax())])


def _stated(answers: Answers) -> tuple[float, float]:
    """T, and a small ε, of an agent that states probabilities; ln T is held to 0 by a normal prior of deviation 1."""
    held = 0.5 * np.log(_TEMPERATURES) ** 2
    gains = np.array([answers.log_likelihood(_TEMPERATURES, doubt=e).sum(axis=1) - held for e in _SMALL_DOUBTS])
    e, t = np.unravel_index(gains.argmax(), gains.shape)
    return float(_TEMPERATURES[t]), _SMALL_DOUBTS[e]


# --- how much each weighs -------------------------------------------------------------------------------------------------------

_Fit = Callable[[_Table, _Own], Vector]


def _choose(table: _Table) -> tuple[Vector, str, dict[str, float]]:
    """Weights with a mean of 1, how they were found, and the losses of all ways on cases left out."""
    ways: dict[str, _Fit] = {"equal": lambda table, own: np.ones(table.p.shape[1])}
    n = len(table.gold)
    ways |= {f"logit({x:g})": _logit_with(x) for x in _PENALTIES if x == max(_PENALTIES) or x * n >= 1000}
    ways |= {"em": _em} if n >= 100 else {}
    fold = np.random.default_rng(0).permutation(n) % _FOLDS
    losses = {name: np.zeros(n) for name in ways}
    for f in range(_FOLDS):
        train, rest = table.rows(fold != f), table.rows(fold == f)
        own = _fit_own(train)
        for name, way in ways.items():
            omega = way(train, own)
            _, t, kappa = train.mixed(own, omega).best(_SHARPER, _KAPPAS, least=-math.inf)
            losses[name][fold == f] = -rest.mixed(own, omega).log_likelihood([t], kappa)[0]
    name = min((name for name in ways if name != "equal"), key=lambda name: losses[name].mean())
    omega = np.maximum(ways[name](table, _fit_own(table)), FLOOR)
    omega = np.maximum(omega / omega.mean(), _LEAST)
    return omega / omega.mean(), name, {key: float(value.mean()) for key, value in losses.items()}


def _em(table: _Table, own: _Own) -> Vector:
    """ω of the linear pool's own highest likelihood Σ ln (Σ_u ω_u p′_u(gold) / Σ_u ω_u), sums over those who answered.

    ω_u ← Σ_n r_nu / Σ_n 1/Σ_v ω_v with r_nu the share of u in case n; each step raises the likelihood. Ten cases on which
    all are equal are added.
    """
    at, said = table.at_gold(own.settle(table)), table.said
    users = at.shape[1]
    omega = np.full(users, 1 / users)
    for _ in range(300):
        shares = omega * at
        claims = (shares / np.maximum(shares.sum(axis=1, keepdims=True), FLOOR)).sum(axis=0)
        exposure = (said / (omega * said).sum(axis=1, keepdims=True)).sum(axis=0)
        new = (claims + 10 / users) / (exposure + 10)
        new = new / new.sum()
        if np.abs(new - omega).max() < 1e-7:
            break
        omega = new
    return omega


def _logit_with(penalty: float) -> _Fit:
    def fit(table: _Table, own: _Own) -> Vector:
        known = 1 - own.doubt
        return _logit(own.temper(table), table, penalty, known) * known / (known**2 + _RIDGE)

    return fit


def _logit(x: Vector, table: _Table, penalty: float, towards: Vector) -> Vector:
    """θ ≥ 0 of P(y) ∝ exp Σ_u θ_u x_u(y), penalised by its distance from the line of ``towards``.

    Newton steps on the free coordinates, halved until they gain (Bertsekas 1982).
    """
    users = x.shape[1]
    away = np.eye(users) - np.outer(towards, towards) / max(float(towards @ towards), FLOOR)
    pull = penalty * away + 0.01 * np.eye(users)
    gold = table.at_gold(x)

    def chances(theta: Vector) -> tuple[float, Vector]:
        s = np.where(table.there, np.einsum("u,nuk->nk", theta, x), -np.inf)
        top = s.max(axis=1, keepdims=True)
        e = np.exp(s - top)
        total = e.sum(axis=1, keepdims=True)
        cost = (np.log(total) + top).sum() - (gold @ theta).sum() + 0.5 * theta @ pull @ theta
        return float(cost), e / total

    theta = np.full(users, 0.5)
    cost, q = chances(theta)
    for _ in range(100):
        expected = np.einsum("nk,nuk->nu", q, x)
        slope = (expected - gold).sum(axis=0) + pull @ theta
        free = (theta > 0) | (slope < 0)
        if not free.any() or np.abs(slope[free]).max() < 1e-6:
            break
        curve = np.einsum("nuk,nk,nvk->uv", x, q, x, optimize=True) - expected.T @ expected + pull
        move = np.zeros(users)
        move[free] = np.linalg.solve(curve[np.ix_(free, free)], slope[free])
        step = 1.0
        while step > 1e-8:
            tried = np.maximum(theta - step * move, 0.0)
            new_cost, new_q = chances(tried)
            if new_cost < cost:
                break
            step /= 2
        else:
            break
        theta, cost, q = tried, new_cost, new_q
    return theta
