r"""Learned schedules: which way the steps of the dials move next (SPEC 9; paper, appendix on the learned scheduler).

After a round that did not end the debate, one of nine actions moves the step α (= α_I = α_D) of contentiousness and the step γ of
the gates; the next round then shows what it earned:

.. math::
   r = \mathrm{clip}_{[0,1]}\big(w_1[\hat I^{(t+1)} - \hat I^{(t)}]_+ + w_2[D^{(t)} - D^{(t+1)}]_+ - \lambda_c\,c/C_{max}\big)

.. math::
   \mathrm{UCB}_k = \hat\mu_k + \sqrt{2\ln t / \max(1, n_k)},\qquad
   \mathrm{LinUCB}_k = \hat\theta_k^\top x + \sqrt{x^\top A_k^{-1} x}, \quad \hat\theta_k = A_k^{-1} b_k

=============  ========================  =========================================================
symbol         name                      meaning
=============  ========================  =========================================================
(Δα, Δγ)       ``ACTIONS``               nine moves; the first, taken on a tie, moves nothing
α, γ           ``Steps``                 in [0, 1]
n_k, μ̂_k       ``Arms.pulls``, ``mean``  rewards seen of action k, and their mean
t              ``Arms.t``                1 + all rewards seen
A_k, b_k       ``design``, ``response``  Σ x xᵀ (+ ridge) and Σ r x (Li et al. 2010, disjoint models)
x              ``Context.vector``        D, ΔD, Q, ΔQ, Î, ΔÎ, budget left; 1; and what is undefined
ĉ_k            ``estimates``             the most a round after action k is expected to cost
S_t            ``feasible``              actions whose ĉ_k fits what is left
=============  ========================  =========================================================

An action that was never tried has no mean. Its index is the bonus alone, which from t = 2 on is above any mean there can be.

**The cost estimate's promise.** A round costs at most ``headroom`` times the largest growth its action has shown (of any action,
while it is untried; 1 at the least), times the dearest round of this debate so far. Growth is a round's cost over the dearest
round before it. While the promise holds, no feasible action exceeds the budget, whatever the costs are. Where it is broken the
ceiling still holds: the driver sends no call that might not fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maci.moderator.belief import Vector

Bools = NDArray[np.bool_]


class Action(NamedTuple):
    """Δα and Δγ."""

    alpha: float
    gamma: float

    def __str__(self) -> str:
        return f"α{_signed(self.alpha)} γ{_signed(self.gamma)}"


def _signed(value: float) -> str:
    return f"{value:+.1f}".replace("-", "−") if value else "±0"


ACTIONS = tuple(
    sorted(
        (Action(alpha, gamma) for alpha in (-0.2, 0.0, 0.2) for gamma in (-0.2, 0.0, 0.2)),
        key=lambda action: (abs(action.alpha) + abs(action.gamma), action),
    )
)
"""The smallest move first; records number actions in this order."""


@dataclass(frozen=True, slots=True)
class Steps:
    """By how much the dials move while progress has stalled."""

    alpha: float
    gamma: float


def moved(steps: Steps, action: Action) -> Steps:
    """The steps after an action, kept in [0, 1].

    >>> moved(Steps(0.2, 0.1), Action(0.2, -0.2))
    Steps(alpha=0.4, gamma=0.0)
    """
    alpha, gamma = round(steps.alpha + action.alpha, 12), round(steps.gamma + action.gamma, 12)
    return Steps(min(1.0, max(0.0, alpha)), min(1.0, max(0.0, gamma)))


# --- what an action earned ------------------------------------------------------------------------------------------------------


def reward(
    gain: tuple[float | None, float | None],
    d: tuple[float | None, float | None],
    cost: float,
    c_max: float,
    *,
    w_gain: float = 0.5,
    w_drop: float = 0.5,
    cost_weight: float = 0.1,
) -> float | None:
    """R of an action, from Î and D before and after the round it led to; undefined where one of the four is.

    Nothing spent has no cost, also where C_max is 0.

    >>> round(reward((0.1, 0.3), (0.5, 0.2), cost=500, c_max=1000), 6)  # 0.5·0.2 + 0.5·0.3 − 0.1·0.5
    0.2
    >>> reward((0.3, 0.1), (0.2, 0.5), cost=500, c_max=1000)  # −0.05, clipped
    0.0
    """
    if gain[0] is None or gain[1] is None or d[0] is None or d[1] is None:
        return None
    gained, fallen = max(0.0, gain[1] - gain[0]), max(0.0, d[0] - d[1])
    paid = cost_weight * cost / c_max if cost else 0.0
    return min(1.0, max(0.0, w_gain * gained + w_drop * fallen - paid))


FEATURES = ("1", "D", "ΔD", "Q", "ΔQ", "Î", "ΔÎ", "budget", "D?", "ΔD?", "Q?", "ΔQ?", "Î?", "ΔÎ?")
"""What a context vector holds; those with a question mark are 1 where the signal is undefined, else 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What is known when an action is chosen; a change is from the round before."""

    d: float | None
    d_change: float | None
    q: float | None
    q_change: float | None
    gain: float | None
    gain_change: float | None
    budget: float
    """Share of the ceiling that is left."""

    def vector(self) -> Vector:
        """X, by :data:`FEATURES`. An undefined signal is a 0 that an indicator beside it marks, so that it gets a level of its own.

        >>> Context(d=0.4, d_change=-0.1, q=None, q_change=None, gain=0.2, gain_change=None, budget=0.5).vector().tolist()
        [1.0, 0.4, -0.1, 0.0, 0.0, 0.2, 0.0, 0.5, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0]
        """
        signals = (self.d, self.d_change, self.q, self.q_change, self.gain, self.gain_change)
        known = [0.0 if value is None else value for value in signals]
        return np.array([1.0, *known, self.budget, *(float(value is None) for value in signals)])


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """What one action taught."""

    action: int
    context: Context
    reward: float | None
    """Undefined where a signal is; then only the cost is learned."""
    cost: float
    """Tokens of the round it led to."""
    growth: float | None
    """That cost over the dearest round before it; undefined where those cost nothing."""


# --- what was learned -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """All that was learned of one action, as it is recorded."""

    pulls: int = 0
    reward: float = 0.0
    """Sum of the rewards."""
    costs: int = 0
    """Rounds whose cost was seen."""
    cost: float = 0.0
    """Sum of the costs."""
    dearest: float = 0.0
    growth: float = 0.0
    """The largest seen; 0 where none was."""
    design: tuple[float, ...] = ()
    """Upper triangle of Σ x xᵀ, row by row; empty where nothing was learned."""
    response: tuple[float, ...] = ()
    """Σ r x."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """What a debate starts from: a snapshot of a task's shared state."""

    task: str
    debate: str
    """Under which this debate will be entered, once."""
    debates: int
    """How many the snapshot rests on."""
    arms: tuple[Arm, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """An action with all that decided it; actions are numbered as in :data:`ACTIONS`."""

    action: int | None
    """``None`` where no action fits the budget."""
    steps: Steps
    """After the action."""
    t: int
    context: Context
    index: tuple[float, ...]
    """Of every action."""
    estimate: tuple[float, ...]
    """ĉ of every action, in tokens."""
    feasible: tuple[int, ...]
    """Actions whose estimate fits."""
    left: float
    """Tokens."""
    lesson: Lesson | None = None
    """What the action before this one earned."""
    counts: bool = True
    """False where a person set the dials: what follows says nothing about the action."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Arms:
    """The learned state of all actions: sums, counts and maxima, so that states add up in any order."""

    pulls: NDArray[np.int64]
    reward: Vector
    costs: NDArray[np.int64]
    cost: Vector
    dearest: Vector
    growth: Vector
    design: Vector
    response: Vector

    @classmethod
    def fresh(cls, actions: int = len(ACTIONS), features: int = len(FEATURES)) -> Arms:
        """Nothing learned yet."""
        return cls(
            pulls=np.zeros(actions, np.int64),
            reward=np.zeros(actions),
            costs=np.zeros(actions, np.int64),
            cost=np.zeros(actions),
            dearest=np.zeros(actions),
            growth=np.zeros(actions),
            design=np.zeros((actions, features, features)),
            response=np.zeros((actions, features)),
        )

    @property
    def t(self) -> int:
        """The number of the next choice."""
        return 1 + int(self.pulls.sum())

    @property
    def mean(self) -> Vector:
        """μ̂ of every action; nan of one that was never tried."""
        return np.where(self.pulls > 0, self.reward / np.maximum(1, self.pulls), np.nan)

    def learn(
        self,
        action: int,
        reward: float | None,
        x: Vector | None = None,
        *,
        cost: float | None = None,
        growth: float | None = None,
    ) -> Arms:
        """The state after one more round. Without a reward only its cost is learned, without ``x`` only the means.

        >>> Arms.fresh().learn(3, 0.25).learn(3, 0.75).mean[3]
        np.float64(0.5)
        """
        new: dict[str, Any] = {}
        if reward is not None:
            new["pulls"], new["reward"] = self.pulls.copy(), self.reward.copy()
            new["pulls"][action] += 1
            new["reward"][action] += reward
            if x is not None:
                new["design"], new["response"] = self.design.copy(), self.response.copy()
                new["design"][action] += x[:, None] * x
                new["response"][action] += reward * x
        if cost is not None:
            new["costs"], new["cost"], new["dearest"] = self.costs.copy(), self.cost.copy(), self.dearest.copy()
            new["costs"][action] += 1
            new["cost"][action] += cost
            new["dearest"][action] = max(self.dearest[action], cost)
        if growth is not None:
            new["growth"] = self.growth.copy()
            new["growth"][action] = max(self.growth[action], growth)
        return replace(self, **new)

    def taught(self, lesson: Lesson) -> Arms:
        """The state after a lesson."""
        return self.learn(lesson.action, lesson.reward, lesson.context.vector(), cost=lesson.cost, growth=lesson.growth)

    def plus(self, other: Arms) -> Arms:
        """Both states together."""
        return Arms(
            pulls=self.pulls + other.pulls,
            reward=self.reward + other.reward,
            costs=self.costs + other.costs,
            cost=self.cost + other.cost,
            dearest=np.maximum(self.dearest, other.dearest),
            growth=np.maximum(self.growth, other.growth),
            design=self.design + other.design,
            response=self.response + other.response,
        )

    def records(self, *, contexts: bool = True) -> tuple[Arm, ...]:
        """As it is recorded; without ``contexts`` only what ``ucb`` needs."""
        upper = np.triu_indices(self.response.shape[1])
        rows = []
        for k in range(len(self.pulls)):
            linear = contexts and bool(self.pulls[k])
            rows.append(
                Arm(
                    pulls=int(self.pulls[k]),
                    reward=float(self.reward[k]),
                    costs=int(self.costs[k]),
                    cost=float(self.cost[k]),
                    dearest=float(self.dearest[k]),
                    growth=float(self.growth[k]),
                    design=tuple(self.design[k][upper].tolist()) if linear else (),
                    response=tuple(self.response[k].tolist()) if linear else (),
                )
            )
        return tuple(rows)

    @classmethod
    def of(cls, records: Sequence[Arm]) -> Arms:
        """The state that :meth:`records` wrote."""
        arms = cls.fresh()
        upper = np.triu_indices(len(FEATURES))
        for k, arm in enumerate(records):
            arms.pulls[k], arms.reward[k], arms.costs[k], arms.cost[k] = arm.pulls, arm.reward, arm.costs, arm.cost
            arms.dearest[k], arms.growth[k] = arm.dearest, arm.growth
            if arm.design:
                arms.design[k][upper] = arm.design
                arms.design[k].T[upper] = arm.design
                arms.response[k] = arm.response
        return arms


# --- what to do -----------------------------------------------------------------------------------------------------------------


def bonus(pulls: NDArray[np.int64] | Vector, t: int | Vector) -> Vector:
    """√(2 ln t / max(1, n)): what an action is given for having been tried little."""
    return np.asarray(np.sqrt(2 * np.log(t) / np.maximum(1, pulls)))


def ucb(rewards: Vector, pulls: NDArray[np.int64], t: int | Vector, *, exploration: float = 1.0) -> Vector:
    """Index of every action, from sums of rewards and counts; many states at once where actions are the last axis.

    >>> ucb(np.array([1.5, 0.0]), np.array([3, 0]), 4).round(4).tolist()  # 0.5 + √(2 ln 4 / 3), √(2 ln 4)
    [1.4614, 1.6651]
    """
    return np.asarray(rewards / np.maximum(1, pulls) + exploration * bonus(pulls, t))


def linucb(design: Vector, response: Vector, x: Vector, *, exploration: float = 1.0, ridge: float = 1.0) -> Vector:
    """Index of every action in the context ``x``: the ridge regression's forecast, and its width.

    >>> linucb(np.zeros((2, 1, 1)) + [[[3.0]], [[0.0]]], np.array([[2.0], [0.0]]), np.array([1.0])).tolist()
    [1.0, 1.0]
    """
    a = design + ridge * np.eye(len(x))
    right = np.stack([response, np.broadcast_to(x, response.shape)], axis=-1)
    solved = np.linalg.solve(a, right)
    forecast, spread = (x @ solved).T
    return np.asarray(forecast + exploration * np.sqrt(np.maximum(0.0, spread)))


def estimates(arms: Arms, dearest: float, *, headroom: float = 1.5) -> Vector:
    """ĉ of every action: the most its round may cost while the promise above holds; ``dearest`` is this debate's so far.

    >>> arms = Arms.fresh(2).learn(0, 0.1, cost=300, growth=1.25)
    >>> estimates(arms.learn(1, 0.1, cost=200, growth=0.8), 1000).tolist()
    [1875.0, 1500.0]
    """
    shown = np.where(arms.costs > 0, arms.growth, arms.growth.max(initial=0.0))
    return np.asarray(headroom * np.maximum(1.0, shown) * dearest)


def feasible(estimate: Vector, left: float) -> Bools:
    """Which actions' rounds fit what is left."""
    return np.asarray(estimate <= left)


def choose(index: Vector, allowed: Bools) -> int | None:
    """The allowed action with the highest index, the first of equals; ``None`` where none is allowed.

    Differences below 1e-9 are none, so that another machine's arithmetic chooses the same.
    """
    if not allowed.any():
        return None
    return int(np.where(allowed, np.round(index, 9), -np.inf).argmax())
