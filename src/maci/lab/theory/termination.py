r"""How long debates last: rounds against the tolerance ε, and where the stop rules of the paper do not do what they are for.

While the change test has not stopped a debate, D falls by ε in at least one of every τ_stop rounds. It can fall no further than to 0,
so with the dispersion gate at ν = 0

.. math::
   t \le \tau_{stop} (D_0 / \varepsilon + 1), \qquad\text{and under}\; D^{(t)} \le c^t D_0:\quad
   t \le \ln(D_0/\varepsilon) / \ln(1/c) + \tau_{stop} + 1

as long as Î stands still. Every figure is from the real fold, driven by :func:`maci.lab.theory.trajectories.play`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import ceil, log

import numpy as np

from maci.config import Config, build
from maci.controller.state import State
from maci.lab.theory import CheckedClaim, Size
from maci.lab.theory.lemma import averaged, openings
from maci.lab.theory.trajectories import TRAJECTORIES, Trajectory, geometric, play
from maci.moderator.belief import Vector
from maci.moderator.divergence import jsd
from maci.render.report import Chart, Series

_LITERAL = {"plateau.mode": "absolute", "stop.crit_stable": False, "stop.max_rounds": 1000, "beliefs.delta": 0.0}


def slope(x: Sequence[float], y: Sequence[float]) -> tuple[float, float, float]:
    """Of the least-squares line through the points, with the ends of its 95 % interval.

    >>> [round(value, 6) for value in slope([0, 1, 2, 3], [1, 3, 5, 7])]
    [2.0, 2.0, 2.0]
    """
    a, b = np.asarray(x, float), np.asarray(y, float)
    dx = a - a.mean()
    k = float(dx @ b / (dx @ dx))
    left = b - b.mean() - k * dx
    if len(a) < 3:
        return k, float("nan"), float("nan")
    t = _T95[min(len(a) - 2, len(_T95)) - 1]
    half = t * float(np.sqrt(left @ left / (len(a) - 2) / (dx @ dx)))
    return k, k - half, k + half


_T95 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131)
"""Student's t, two-sided 95 %, by degrees of freedom; from 15 on the last is used, which is a little wide."""


def halves(course: Sequence[float]) -> list[tuple[Vector, Vector]]:
    """For every D of a course two beliefs over two outcomes, mirror images of each other, with that JSD; by bisection.

    >>> [p.round(3).tolist() for p in halves([1.0])[0]]
    [[1.0, 0.0], [0.0, 1.0]]
    >>> round(jsd(np.stack(halves([0.25])[0])), 9)
    0.25
    """
    low, high = np.full(len(course), 0.5), np.ones(len(course))
    for _ in range(60):
        middle = (low + high) / 2
        rest = 1 - middle
        logs = np.log2(rest, out=np.zeros_like(rest), where=rest > 0)
        short = 1 + middle * np.log2(middle) + rest * logs < np.asarray(course)
        low, high = np.where(short, middle, low), np.where(short, high, middle)
    return [(np.array([p, 1 - p]), np.array([1 - p, p])) for p in high]


def _mirrored(course: Sequence[float]) -> Trajectory:
    """A debate whose D takes this course, and then stays; the mixture never moves."""
    tables = halves(course)
    return Trajectory(name="course", what="D as given", beliefs=lambda t: tables[min(t, len(tables) - 1)])


def _rounds(trajectory: Trajectory, config: Config) -> int:
    return len(play(trajectory, config).history)


def _literal(epsilon: float, **more: object) -> Config:
    return build("paper", {**_LITERAL, "plateau.epsilon_i": epsilon, "plateau.epsilon_d": epsilon, **more})


def general(size: Size, rng: np.random.Generator) -> list[CheckedClaim]:
    """Rounds of the change test against ε: never more than τ_stop(D₀/ε + 1), whatever course D takes down."""
    tau = _literal(0.1).stop.tau_stop
    worst: list[int] = []
    drawn: list[list[int]] = []
    over = n = 0
    for epsilon in size.epsilons:
        step = 1.0001 * epsilon
        stairs = [max(0.0, 1 - step * (t // tau)) for t in range(tau * int(1 / step) + 1)]
        worst.append(_rounds(_mirrored(stairs), _literal(epsilon)))
        drawn.append([_rounds(_mirrored(_descent(rng, epsilon, tau)), _literal(epsilon)) for _ in range(size.courses)])
        over += sum(rounds > tau * (1 / epsilon + 1) for rounds in (worst[-1], *drawn[-1]))
        n += 1 + size.courses
    inverse = [log(1 / epsilon) for epsilon in size.epsilons]
    steepest = slope(inverse, [log(rounds) for rounds in worst])
    typical = slope(inverse, [log(np.mean(rounds)) for rounds in drawn])
    x = [1 / epsilon for epsilon in size.epsilons]
    return [
        CheckedClaim(
            id="termination-general",
            claim="The change test stops within O(1/ε) rounds when D never rises and Î stands still",
            kind="proved",
            limit=f"every debate ≤ {tau}·(D₀/ε + 1) rounds; slope of log rounds against log 1/ε ≤ 1 at worst",
            measured=f"{over} of {n} above the bound; slope {steepest[0]:.3f} at worst, {typical[0]:.3f} on random courses",
            passed=over == 0 and steepest[0] <= 1 + 1e-9,
            n=n,
            unit="debates",
            note=f"The worst course lets D fall by just over ε once in every {tau} rounds; it nearly reaches the "
            f"bound, so O(1/ε) cannot be improved in general. 95 % intervals of the slopes: {steepest[1]:.3f} to "
            f"{steepest[2]:.3f}, {typical[1]:.3f} to {typical[2]:.3f}. The tests: `paper`, mode `absolute`, "
            f"crit_stable off; the smallest ε is {min(size.epsilons):g}.",
            figures={"epsilons": list(size.epsilons), "worst": worst, "random": drawn, "slope": steepest},
            charts=(
                Chart(
                    title="Rounds until the change test stops",
                    x="1/ε",
                    y="rounds",
                    log_x=True,
                    log_y=True,
                    series=(
                        Series.of(name="worst course", x=x, y=worst),
                        Series.of(
                            name="random: mean and range",
                            x=x,
                            y=[float(np.mean(rounds)) for rounds in drawn],
                            low=[min(rounds) for rounds in drawn],
                            high=[max(rounds) for rounds in drawn],
                        ),
                        Series.of(name=f"bound {tau}(1/ε + 1)", x=x, y=[tau * (v + 1) for v in x], bound=True),
                    ),
                ),
            ),
        )
    ]


def _descent(rng: np.random.Generator, epsilon: float, tau: int) -> list[float]:
    """A random course down from 1: falls of ε and more, with fewer than ``tau`` still rounds between two of them."""
    course, more = [1.0], rng.uniform(0.0, 2.0)
    while course[-1] > 0:
        course += [course[-1]] * int(rng.integers(tau))
        course.append(max(0.0, course[-1] - epsilon * (1.0001 + rng.exponential(more))))
    return course


def contraction(size: Size, rng: np.random.Generator) -> list[CheckedClaim]:
    """Rounds against ε when agents close a constant share of their distance: linear in log 1/ε."""
    epsilons = tuple(10.0**-k for k in range(2, 8))
    betas = (0.2, 0.4, 0.7)
    tau = _literal(0.1).stop.tau_stop
    mean = {beta: [0.0] * len(epsilons) for beta in betas}
    ours = [0.0] * len(epsilons)
    over = n = 0
    each = max(4, size.courses // 4)
    for beta in betas:
        for _ in range(each):
            trajectory, d0 = _averaging(rng, beta)
            for number, epsilon in enumerate(epsilons):
                rounds = _rounds(trajectory, _literal(epsilon, **{"stop.max_rounds": 400}))
                mean[beta][number] += rounds / each
                if beta == betas[0]:
                    scaled = {"plateau.epsilon_i": epsilon, "plateau.epsilon_d": epsilon, "stop.consensus": False}
                    ours[number] += _rounds(trajectory, build("default", {**scaled, "stop.max_rounds": 400})) / each
                over += rounds > max(0, ceil(log(d0 / epsilon) / log(1 / (1 - beta)))) + tau + 1
                n += 1
    decades = [log(1 / epsilon) for epsilon in epsilons]
    straight = {beta: float(np.corrcoef(decades, mean[beta])[0, 1] ** 2) for beta in betas}
    steps = {beta: slope(decades, mean[beta])[0] for beta in betas}
    allowed = {beta: 1 / log(1 / (1 - beta)) for beta in betas}
    fits = all(straight[beta] >= 0.97 and steps[beta] <= allowed[beta] for beta in betas)
    said = ", ".join(f"β {beta:g}: {steps[beta]:.2f} ≤ {allowed[beta]:.2f}, R² {straight[beta]:.4f}" for beta in betas)
    x = [1 / epsilon for epsilon in epsilons]
    return [
        CheckedClaim(
            id="termination-contraction",
            claim="Under contraction the change test stops within O(log 1/ε) rounds",
            kind="proved",
            limit="every debate within the bound; rounds per unit of ln 1/ε ≤ 1/ln(1/(1−β)), on a straight line (R² ≥ 0.97)",
            measured=f"{over} of {n} above the bound; {said}",
            passed=over == 0 and fits,
            n=n,
            unit="debates",
            note="M from 2 to 7, |𝒴| from 2 to 50, D₀ ≥ 0.05, averaging without noise. The default rule, with its "
            "tolerances set to the same ε and consensus off, is drawn beside it; as it comes, it stops at a D of "
            "0.02 to 0.3 and does not go after small ε at all.",
            figures={
                "epsilons": epsilons,
                "rounds": {str(k): v for k, v in mean.items()},
                "r2": list(straight.values()),
            },
            charts=(
                Chart(
                    title="Rounds under contraction",
                    x="1/ε",
                    y="rounds, mean",
                    log_x=True,
                    series=(
                        *(Series.of(name=f"change test, β {beta:g}", x=x, y=mean[beta]) for beta in betas),
                        Series.of(name=f"default rule, β {betas[0]:g}", x=x, y=ours),
                    ),
                ),
            ),
        )
    ]


def _averaging(rng: np.random.Generator, beta: float) -> tuple[Trajectory, float]:
    """Agents that average with step β, and their opening D."""
    table, d0 = np.zeros((1, 2, 2)), 0.0
    while d0 < 0.05:
        agents, outcomes = int(rng.integers(2, 8)), int(rng.choice([2, 3, 5, 10, 20, 50]))
        table = openings(rng, 2, agents, outcomes)[1:]
        d0 = jsd(table[0])
    tables = [table]
    for _ in range(200):
        tables.append(averaged(tables[-1], np.array([beta])))
    course = Trajectory(
        name="averaging", what=f"every agent moves {beta:g} of the way to the mean",
        beliefs=lambda t: list(tables[min(t, 200)][0]), cites=lambda t: [("s",)] * agents,
    )  # fmt: skip
    return course, d0


# --- what does not hold ---------------------------------------------------------------------------------------------------------

_LONG = {"stop.max_rounds": 200}


def _rules() -> Mapping[str, Config]:
    """The default rule and the two literal ones, free to run for 200 rounds."""
    return {
        "default": build("default", _LONG),
        "relative": build("paper", _LONG),
        "absolute": build("paper", {**_LONG, "plateau.mode": "absolute"}),
    }


def _said(state: State) -> str:
    """How a debate ended, in a few words."""
    assert state.finished is not None
    d = state.history[-1].signals.d
    return f"{state.finished.stop_reason} in round {len(state.history)} at D {'undefined' if d is None else f'{d:.2g}'}"


def _known(name: str) -> Trajectory:
    return next(trajectory for trajectory in TRAJECTORIES if trajectory.name == name)


def relative_alone(_size: Size, _rng: np.random.Generator) -> list[CheckedClaim]:
    """The relative test does not see geometric convergence: what ends it is η, not ε."""
    rates = (0.3, 0.5, 0.7, 0.8, 0.9)
    rules = _rules()
    ended = {name: [play(geometric(rate), rules[name]) for rate in rates] for name in ("default", "relative")}
    took = {name: [len(state.history) for state in states] for name, states in ended.items()}
    etas = (1e-2, 1e-3, 1e-4, 1e-6, 1e-8)
    small = [_rounds(geometric(0.9), build("paper", {**_LONG, "plateau.eta": eta})) for eta in etas]
    loose = [_rounds(geometric(0.9), build("paper", {**_LONG, "plateau.epsilon_d": e})) for e in (0.02, 0.05, 0.08)]
    slower = all(2 * ours <= theirs for ours, theirs in zip(took["default"], took["relative"], strict=True))
    late = [state.history[-1].signals.d or 0.0 for state in ended["relative"]]
    return [
        CheckedClaim(
            id="relative-test",
            claim="The relative test alone does not see geometric convergence: a constant rate never looks like a plateau",
            kind="negative",
            limit="shown if it takes at least twice the default rule's rounds at every rate, and more the smaller η is",
            measured=f"rounds {took['relative']} against {took['default']} (default) at rates {list(rates)}; "
            f"at rate 0.9 {small} rounds for η = {', '.join(f'{eta:g}' for eta in etas)}",
            passed=slower and all(a < b for a, b in pairwise(small)) and max(late) < 0.02,
            n=len(rates) * 2 + len(etas) + len(loose),
            unit="debates",
            note=f"r_D stays at 1 − rate until D is small beside η. With ε_D of 0.02, 0.05 and 0.08 it takes {loose} "
            f"rounds: ε hardly matters. When it stops, D has long been below 0.02 (at most {max(late):.1e}); the "
            "default rule had stopped on its level.",
            figures={"rates": rates, **took, "etas": etas, "rounds_by_eta": small, "rounds_by_epsilon": loose},
            charts=(
                Chart(
                    title="Rounds until a debate that converges geometrically stops",
                    x="share of the distance that is left each round",
                    y="rounds",
                    series=(
                        Series.of(name="relative test", x=rates, y=took["relative"]),
                        Series.of(name="default rule", x=rates, y=took["default"]),
                    ),
                ),
            ),
        )
    ]


def stubborn(_size: Size, _rng: np.random.Generator) -> list[CheckedClaim]:
    """The change test takes standing still for agreement, at any distance."""
    rules = _rules()
    levels = (0.2, 0.4, 0.6, 0.8, 1.0)
    still = {d: {name: play(_mirrored([d]), config) for name, config in rules.items()} for d in levels}
    rising = {name: play(_known("rising D"), config) for name, config in rules.items()}
    ends = {d: {name: _reason(state) for name, state in found.items()} for d, found in still.items()}
    fooled = all(ends[d]["absolute"] == "plateau" and len(still[d]["absolute"].history) == 2 for d in levels)
    ours = all(ends[d]["default"] == ("plateau" if d <= 0.3 else "impasse") for d in levels)
    drift = _reason(rising["absolute"]) == "plateau" and _reason(rising["default"]) == "impasse"
    return [
        CheckedClaim(
            id="change-test",
            claim="The change test stops agents that never move, at any disagreement, and calls it a plateau",
            kind="negative",
            limit="shown if it stops in round 2 at every D; the default rule must call it an impasse above D = 0.3",
            measured=f"change test: {'; '.join(_said(still[d]['absolute']) for d in (0.4, 1.0))}; "
            f"default: {'; '.join(_said(still[d]['default']) for d in (0.4, 1.0))}",
            passed=fooled and ours and drift,
            n=len(rules) * (len(levels) + 1),
            unit="debates",
            note=f"Agents that drift apart: change test {_said(rising['absolute'])}, default "
            f"{_said(rising['default'])}. At D = 0.2 the default rule says {_said(still[0.2]['default'])}.",
            figures={"ends": {str(d): found for d, found in ends.items()}},
        )
    ]


def _reason(state: State) -> str:
    assert state.finished is not None
    return state.finished.stop_reason


def disjoint(size: Size, _rng: np.random.Generator) -> list[CheckedClaim]:
    """Evidence that is never shared keeps O at 0: without impasse nothing but max_rounds ends the debate."""
    limits = (8, 50, 200, 400) if size.courses > 8 else (8, 50, 200)
    course = _known("disjoint evidence")
    bare = {"stop.impasse": False, "stop.crit_stable": False}
    blocked = [play(course, build("default", {**bare, "stop.max_rounds": limit})) for limit in limits]
    literal = [play(course, build("paper", {**bare, "stop.max_rounds": limit})) for limit in limits]
    shared = play(geometric(0.5), build("default", {**bare, "stop.max_rounds": limits[-1]}))
    ours = play(course, build("default", _LONG))
    for_ever = all(
        _reason(state) == "max_rounds" and len(state.history) == limit and state.history[-1].signals.o == 0
        for states in (blocked, literal)
        for state, limit in zip(states, limits, strict=True)
    )
    return [
        CheckedClaim(
            id="overlap-blocks",
            claim="Disjoint evidence keeps O low for ever: the full stop rule then rests on impasse and max_rounds alone",
            kind="negative",
            limit="shown if every such debate runs to max_rounds without impasse; the default rule must end it as an impasse",
            measured=f"without impasse: {'; '.join(map(_said, blocked))}; default: {_said(ours)}",
            passed=for_ever and _reason(ours) == "impasse" and _reason(shared) == "consensus",
            n=2 * len(limits) + 2,
            unit="debates",
            note="crit_stable is off here, in both profiles: the paper's proof does not monitor O, its stop test "
            f"does. The same beliefs with one shared span end as {_said(shared)}. With crit_stable on, `paper` ends "
            "the debate and calls it settled.",
            figures={"limits": limits, "default": _reason(ours), "rounds": len(ours.history)},
        )
    ]


def restless(_size: Size, _rng: np.random.Generator) -> list[CheckedClaim]:
    """Î can rise again and again: the termination proof counts changes of quantities that do not go one way."""
    limits = (50, 200)
    sharp, flat = np.array([0.95, 0.05]), np.array([0.6, 0.4])
    breathing = Trajectory(
        name="breathing", what="agents agree, and are sure and unsure by turns",
        beliefs=lambda t: (sharp, sharp) if t % 2 else (flat, flat),
    )  # fmt: skip
    literal = {"plateau.mode": "absolute", "stop.crit_stable": False}
    runs = [play(breathing, build("paper", {**literal, "stop.max_rounds": limit})) for limit in limits]
    ours = play(breathing, build("default", _LONG))
    return [
        CheckedClaim(
            id="gain-not-monotone",
            claim="The change test need not stop at all when Î comes and goes, though D never rises",
            kind="negative",
            limit="shown if the debate runs to max_rounds at every limit; the default rule must end it",
            measured=f"change test: {'; '.join(map(_said, runs))}; default: {_said(ours)}",
            passed=all(
                _reason(run) == "max_rounds" and len(run.history) == k for run, k in zip(runs, limits, strict=True)
            )
            and _reason(ours) == "consensus",
            n=len(limits) + 1,
            unit="debates",
            note="D is 0 throughout. The gate bounds D, not the entropy of the mixture; so the sum of all gains is "
            "not bounded, and the proposition's count of ε-steps does not end. It holds for D; for Î it needs an "
            "assumption of its own.",
            figures={"limits": limits},
        )
    ]
