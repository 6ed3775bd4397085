"""Debates whose course is laid down: to see what a stop rule, a gate or a schedule makes of it.

A trajectory states, for every round, each agent's belief, the spans it cites, and how good its argument is. :func:`play`
drives the real fold with it; nothing is mocked but the agents.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import sqrt

import numpy as np

from maci.agents.argument import Argument, Turn
from maci.agents.judges.crit import CritScore
from maci.cases.case import Case
from maci.cases.outcomes import OutcomeSpace
from maci.config import Config, unplanned
from maci.controller.events import FORMAT
from maci.controller.fold import start, step
from maci.controller.inputs import Opened, Retrieved, Scored, Seat, TurnTaken, pack
from maci.controller.requests import wants
from maci.controller.state import State
from maci.evidence.span import Citation, Span
from maci.moderator.belief import Vector

Course = Callable[[int], Sequence[Vector]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trajectory:
    """What every agent says in round t."""

    name: str
    what: str
    """In words, for tables."""
    beliefs: Course
    cites: Callable[[int], Sequence[Sequence[str]]] = lambda t: (("s",), ("s",))
    crit: Callable[[int], float] = lambda t: 0.9
    quality: Mapping[str, float] = field(default_factory=lambda: {"s": 0.9})
    """Span → cosine with θ."""


def play(trajectory: Trajectory, config: Config) -> State:
    """The finished state of a debate that takes this course."""
    first = trajectory.beliefs(0)
    labels = tuple(f"y{i}" for i in range(len(first[0])))
    names = [f"agent{i}" for i in range(len(first))]
    spans = tuple(Span(i, i, "trajectory") for i in trajectory.quality)
    vectors = {i: pack(np.array([q, sqrt(1 - q * q)], np.float32)) for i, q in trajectory.quality.items()}
    state = start(
        Opened(
            format=FORMAT,
            case=Case(question="?", outcomes=OutcomeSpace(labels=labels)),
            config=unplanned(config),
            agents=tuple(Seat(name, "scripted") for name in names),
            judges=(Seat("judge", "judge"),),
            encoder="trajectory",
            seed=0,
            version="",
        )
    )
    state, _ = step(state, Retrieved(spans=spans, vectors=vectors, theta=pack(np.array([1, 0], np.float32))))
    while not state.finished:
        want = next(wants(state))
        if want.kind == "turn":
            seat = names.index(want.who)
            p = trajectory.beliefs(want.round)[seat]
            cited = tuple(Citation(i) for i in trajectory.cites(want.round)[seat])
            argument = Argument(claim="c", citations=cited, outcome=labels[int(np.argmax(p))])
            turn = Turn(belief=dict(zip(labels, p.tolist(), strict=True)), arguments=(argument,))
            state, _ = step(state, TurnTaken(round=want.round, agent=want.who, turn=turn))
        else:
            c = trajectory.crit(want.round)
            score = CritScore(evidence=c, logic=c, relevance=c)
            state, _ = step(state, Scored(round=want.round, argument=want.argument, slot=want.who, score=score))
    return state


def _pair(a: Sequence[float], b: Sequence[float]) -> Sequence[Vector]:
    return np.array(a, float), np.array(b, float)


def _apart(distance: float) -> Sequence[Vector]:
    """Two beliefs over four outcomes, symmetric about a common centre, further apart as ``distance`` goes from 0 to 1."""
    centre, shift = np.array([0.4, 0.4, 0.1, 0.1]), np.array([0.4, -0.4, 0.1, -0.1])
    return centre + distance * shift, centre - distance * shift


def geometric(rate: float) -> Trajectory:
    """Agents close a constant share of their distance every round."""
    common = np.array([0.7, 0.2, 0.05, 0.05])
    a, b = np.array([0.95, 0.02, 0.02, 0.01]), np.array([0.05, 0.9, 0.03, 0.02])

    def beliefs(t: int) -> Sequence[Vector]:
        left = rate**t
        return common + left * (a - common), common + left * (b - common)

    return Trajectory(
        name=f"geometric {rate:g}", what=f"distance falls to {rate:g} of itself each round", beliefs=beliefs
    )


def _gaining(t: int) -> Sequence[Vector]:
    """Both sharpen on the same outcome at a steady pace of Î, a constant small distance apart."""
    top = min(0.97, 0.25 + 0.09 * t)
    rest = (1 - top) / 3
    lean = 0.6 * rest
    return (
        np.array([top, rest + lean, rest - lean, rest]),
        np.array([top, rest - lean, rest + lean, rest]),
    )


TRAJECTORIES: tuple[Trajectory, ...] = (
    Trajectory(
        name="stubborn", what="two agents, each certain of another outcome, never move",
        beliefs=lambda t: _pair([1, 0, 0, 0], [0, 1, 0, 0]),
    ),
    Trajectory(
        name="rising D", what="agents drift apart a little every round",
        beliefs=lambda t: _apart(min(1.0, 0.45 + 0.04 * t)),
        # every round rests on a span that was not admitted before, so the dispersion gate keeps the move
        cites=lambda t: (("s", f"n{t % 50}"), ("s", f"n{t % 50}")),
        quality={"s": 0.9} | {f"n{i}": 0.9 for i in range(50)},
    ),
    Trajectory(name="steady gains", what="the mixture sharpens at a steady pace", beliefs=_gaining),
    Trajectory(
        name="swapping mass", what="both move the same mass from outcome to outcome, entropy stays the same",
        beliefs=lambda t: [np.roll(p, t % 2) for p in _pair([0.75, 0.15, 0.1, 0], [0.7, 0.1, 0, 0.2])],
    ),
    geometric(0.3),
    geometric(0.5),
    geometric(0.7),
    geometric(0.9),
    Trajectory(
        name="disjoint evidence", what="beliefs meet, but no span is ever shared",
        beliefs=geometric(0.5).beliefs,
        cites=lambda t: (("a",), ("b",)),
        quality={"a": 0.9, "b": 0.9},
    ),
    Trajectory(
        name="gates outrun scores", what="slow convergence on modest evidence (q 0.62) and arguments (CRIT 0.45)",
        beliefs=geometric(0.9).beliefs,
        crit=lambda t: 0.45,
        quality={"s": 0.62},
    ),
)  # fmt: skip
