"""The pictures of docs/concepts.md, computed by the product's own formulas."""

from __future__ import annotations

from functools import cache

import numpy as np

import maci
from maci.acquisition.gain import gain
from maci.config import build
from maci.lab.theory.trajectories import TRAJECTORIES, play
from maci.moderator.belief import temper
from maci.moderator.harm import hollow
from maci.render.report import Chart, Series
from maci.render.svg import standalone
from maci.story import Story


@cache
def debated() -> Story:
    """The built-in case dengue, by the embedded panel."""
    return maci.run("dengue", panel="readers").story


def dials() -> Chart:
    """Contentiousness and the gates of every round."""
    held = [(closed.number, closed.dials) for closed in debated().closed if closed.dials is not None]
    at = [number for number, _ in held]
    return Chart(
        title="The two dials of one debate",
        x="round",
        y="dial, 0 to 1",
        series=(
            Series.of("contentiousness", at, [dial.cl for _, dial in held]),
            Series.of("gate: quality", at, [dial.tau_crit for _, dial in held], bound=True),
            Series.of("gate: evidence", at, [dial.tau_q for _, dial in held], bound=True),
        ),
    )


def signals() -> Chart:
    """What a moderator reads after every round of the same debate."""
    named = {"disagreement D": "d", "argument quality": "crit", "shared evidence O": "o", "evidence quality Q": "q"}
    drawn = []
    for name, key in named.items():
        read = [(closed.number, value) for closed in debated().closed if (value := closed.signal(key)) is not None]
        drawn.append(Series.of(name, [number for number, _ in read], [value for _, value in read]))
    return Chart(title="The four signals of the same debate", x="round", y="signal, 0 to 1", series=tuple(drawn))


def stopping() -> Chart:
    """Disagreement until the rule ends the debate, for four courses."""
    wanted = {"geometric 0.5": "quick", "stubborn": "stuck", "steady gains": "steady", "geometric 0.9": "slow"}
    drawn = []
    for course in TRAJECTORIES:
        if course.name in wanted:
            state = play(course, build("default", {"stop.max_rounds": 40}))
            read = [(each.signals.round, each.signals.d) for each in state.history]
            assert state.finished is not None
            name = f"{wanted[course.name]}: {state.finished.stop_reason}"
            drawn.append(Series.of(name, [round for round, _ in read], [d for _, d in read if d is not None]))
    return Chart(title="When four courses of a debate stop", x="round", y="disagreement D", series=tuple(drawn))


def calibration() -> Chart:
    """What a temperature makes of the probability of the leading one of two outcomes."""
    stated = np.linspace(0.5, 0.99, 50)
    return Chart(
        title="What calibration does to a probability",
        x="probability the debate arrived at",
        y="probability reported",
        series=tuple(
            Series.of(name, stated.tolist(), [float(temper(np.array([p, 1 - p]), t)[0]) for p in stated], bound=t == 1)
            for name, t in (("not sure enough, T 0.6", 0.6), ("T 1, as it was", 1.0), ("too sure, T 2", 2.0))
        ),
    )


def harm() -> Chart:
    """A consensus that rests on nothing new, as the product finds it."""
    d, o, q = [0.8, 0.35, 0.1, 0.04], [0.2, 0.21, 0.2, 0.21], [0.4, 0.4, 0.41, 0.4]
    settings = build("default", {}).harm
    assert hollow((d[0], d[-1]), (o[0], o[-1]), (q[0], q[-1]), fall=settings.fall, rise=settings.rise)
    rounds = [0, 1, 2, 3]
    return Chart(
        title="A hollow consensus",
        x="round",
        y="signal, 0 to 1",
        series=(
            Series.of("disagreement D falls", rounds, d),
            Series.of("evidence quality Q", rounds, q),
            Series.of("shared evidence O", rounds, o),
        ),
    )


def plans() -> Chart:
    """How much an answer is expected to bring, by how sure the debate is and how well the question separates two outcomes."""
    sure = np.linspace(0.5, 0.99, 50)
    return Chart(
        title="What an answer is expected to bring",
        x="probability of the leading outcome",
        y="information gain, bits",
        series=tuple(
            Series.of(name, sure.tolist(), [gain(np.array([p, 1 - p]), table) for p in sure])
            for name, table in (
                ("settles it", np.eye(2)),
                ("right 9 in 10 times", np.array([[0.9, 0.1], [0.1, 0.9]])),
                ("right 3 in 4 times", np.array([[0.75, 0.25], [0.25, 0.75]])),
                ("says nothing", np.full((2, 2), 0.5)),
            )
        ),
    )


def pictures() -> dict[str, str]:
    """Path below docs/ → drawing."""
    drawn = (dials, signals, stopping, calibration, harm, plans)
    return {f"images/concept-{each.__name__}.svg": standalone(each()) for each in drawn}
