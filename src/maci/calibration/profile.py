"""Calibration: what a development split teaches about a task and an encoder (SPEC 4, 6).

Runs the panel on cases with known answers and reads off: the temperature that makes the reported p fit the truth, the P30/P70 bins
of Q₀ and D₀, the starting gates, the plateau and judge thresholds, the overlap floor, and how well a vote is calibrated; then, from
debates of other cases under what was learnt, the thresholds of prediction sets (:mod:`maci.moderator.conformal`). The
result is a TOML file for ``--config``; it names the panel, models, their versions and the encoder it was made for and is refused for
others.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from json import dumps
from typing import Any

import numpy as np

from maci.calibration.temperature import Worth, appraise, ece
from maci.calibration.triage import learn_triage, trial
from maci.config import Plateau, Regime, full_key
from maci.controller.dials import Measured
from maci.controller.events import Event
from maci.controller.inputs import Requested
from maci.controller.reading import made_for
from maci.errors import InputError
from maci.moderator.belief import Vector, temper
from maci.moderator.conformal import COVERAGES, Score, nonconformity, quantile, smallest
from maci.record.replay import replay_with
from maci.story import Story

ENOUGH = 20
"""Cases with a known answer that a calibration needs at least."""
SCALES = (1.0, 0.5, 1.5, 2.0)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What calibration looks at in one finished debate with a known answer."""

    story: Story
    events: tuple[Event, ...]
    """The same, to be folded again under other rules."""
    p: Vector
    gold: int
    labels: tuple[str, ...]
    vote: Vector
    """Share of the openings that lead with each outcome."""

    @property
    def made_for(self) -> str:
        """The panel with its models, and the encoder."""
        return made_for(self.story.opened)

    @property
    def served(self) -> dict[str, str]:
        """Every model with its version, as the server reported it."""
        asked = (request for event in self.events if isinstance(event, Requested) for request in event.requests)
        return {request.model: request.served for request in asked if request.served and not request.error}

    @property
    def rounds(self) -> tuple[Measured, ...]:
        """The signals of the rounds after the openings."""
        return tuple(r.signals for r in self.story.rounds if isinstance(r.signals, Measured))

    @property
    def scores(self) -> tuple[tuple[float, float], ...]:
        """(q, CRIT) of every argument for which both are defined."""
        gated = (item.admission for item in self.story.said.values() if item.admission is not None)
        return tuple((a.q, a.crit) for a in gated if a.q is not None and a.crit is not None)


def observe(events: Sequence[Event]) -> Outcome | None:
    """What one debate teaches; ``None`` without an answer of rounds, or where the gold outcome was never named."""
    story = Story.of(events)
    if story.result is None or story.stage != "debate":
        return None
    labels = tuple(story.result.raw)
    gold = story.gold_among(labels)
    if gold not in labels:
        return None
    tops = [max(p, key=lambda y: p[y]) for p in story.rounds[0].beliefs.values()]
    return Outcome(
        story=story,
        events=tuple(events),
        p=np.array(list(story.result.raw.values())),
        gold=labels.index(gold),
        labels=labels,
        vote=np.array([tops.count(label) / len(tops) for label in labels]),
    )


def fit_bias(beliefs: Sequence[Vector], gold: Sequence[int]) -> Vector:
    """The b of p ∝ p · exp(-b) that gives the true outcomes the highest likelihood, drawn to 0 as by one nat's worth of doubt in all.

    Beliefs over the same outcomes in every case. Convex: Newton's steps settle it.
    """
    p, n = np.log(np.maximum(np.stack(beliefs), 1e-12)), len(beliefs)
    truth = np.zeros_like(p)
    truth[np.arange(n), list(gold)] = 1
    b: Vector = np.zeros(p.shape[1])
    for _ in range(50):
        raised = np.exp(p - b - (p - b).max(axis=1, keepdims=True))
        q = raised / raised.sum(axis=1, keepdims=True)
        slope = (truth - q).mean(axis=0) + b / n
        curve = np.diag(q.mean(axis=0)) - q.T @ q / n + np.eye(len(b)) / n
        step = np.linalg.solve(curve, slope)
        b -= step
        if np.abs(step).max() < 1e-9:
            break
    b -= b.mean()
    return b


@dataclass(frozen=True, slots=True)
class TaskCalibration:
    """Settings learnt from a development split, and how good they are."""

    settings: Mapping[str, Any]
    worth: Worth
    accuracy: float
    triage: tuple[str, ...] = ()
    """What the cases say about one agent, vote and debate, in words."""
    held: int = 0
    """Cases that taught nothing but the thresholds of prediction sets."""

    def advice(self, use: str) -> str:
        """What to do with it, where ``use`` is how it is used: a temperature that makes matters worse is not recommended."""
        if not self.worth.worse:
            return f"Use it with: {use}"
        if set(self.settings) <= {"calibration.made_for", "calibration.temperature"}:
            return "It holds nothing but that temperature: do not use it"
        return f"Use the rest of it, without the temperature: {use} --set calibration.temperature=1"


def _percentile(values: Sequence[float | None], q: float, default: float) -> float:
    known = [v for v in values if v is not None]
    return float(np.percentile(known, q)) if known else default


def _plateau_scale(outcomes: Sequence[Outcome]) -> float:
    """How much looser or tighter than the defaults the plateau test should be on this task."""

    def merit(scale: float) -> tuple[float, float]:
        right, rounds = 0, 0
        for outcome in outcomes:
            config = outcome.story.opened.config
            plateau = config.plateau
            other = plateau.model_copy(
                update={"epsilon_i": scale * plateau.epsilon_i, "epsilon_d": scale * plateau.epsilon_d}
            )
            state = replay_with(outcome.events, config.model_copy(update={"plateau": other}))
            right += state.mixture is not None and int(state.mixture.argmax()) == outcome.gold
            rounds += len(state.history)
        return right / len(outcomes), -rounds / len(outcomes)

    return max(SCALES, key=merit)


def calibrate(outcomes: Sequence[Outcome]) -> TaskCalibration:
    """Learn from finished debates.

    Gates start at the 10th percentile of what arguments reach, never above the defaults. The plateau thresholds are those of
    :data:`SCALES` times the defaults that would have given the best answers on the recorded turns, and among equals the
    shortest debates (off-policy, by the same fold).
    """
    if len(outcomes) < ENOUGH:
        raise InputError(
            f"calibration needs at least {ENOUGH} cases with a known answer, got {len(outcomes)}: give more"
        )
    if len(seated := sorted({o.made_for for o in outcomes})) > 1:
        raise InputError(
            f"a calibration is of one panel, and these debates are of {' and of '.join(map(repr, seated))}"
        )
    served = {model: name for o in outcomes for model, name in o.served.items()}
    if other := next((o for o in outcomes if any(served[model] != name for model, name in o.served.items())), None):
        raise InputError(
            f"a calibration is of one version of each model, and these debates are of {other.served} and of {served}"
        )
    beliefs, gold = [o.p for o in outcomes], [o.gold for o in outcomes]
    worth = appraise(beliefs, gold)
    q, crit = [q for o in outcomes for q, _ in o.scores], [c for o in outcomes for _, c in o.scores]
    openings, courses = [o.story.rounds[0] for o in outcomes], [o.rounds for o in outcomes]
    q0, d0 = [r.signal("q") for r in openings], [r.signal("d") for r in openings]
    scale = _plateau_scale(outcomes)
    right = [int(o.p.argmax()) == o.gold for o in outcomes]
    overlaps = [course[-1].o for course, known in zip(courses, right, strict=True) if course and known]
    variances = [m.crit_variance for course in courses for m in course]
    drifts = [abs(b.crit - a.crit) for course in courses for a, b in pairwise(course) if a.crit and b.crit]
    costs = [r.usage.tokens for o in outcomes for r in o.story.closed if r.number]
    settings = {
        "calibration.made_for": outcomes[0].made_for,
        "calibration.served": ",".join(f"{model}={name}" for model, name in sorted(served.items())),
        "calibration.temperature": worth.temperature,
        "dials.q_lo": _percentile(q0, 30, 0.5),
        "dials.q_hi": _percentile(q0, 70, 0.7),
        "dials.d_lo": _percentile(d0, 30, 0.3),
        "dials.d_hi": _percentile(d0, 70, 0.5),
        "gate.tau_q": min(0.5, max(0.0, _percentile(q, 10, 0.5))),
        "gate.tau_crit": min(0.3, max(0.0, _percentile(crit, 10, 0.3))),
        "plateau.epsilon_i": scale * Plateau().epsilon_i,
        "plateau.epsilon_d": scale * Plateau().epsilon_d,
        "stop.epsilon_v": float(np.clip(_percentile(variances, 80, 0.01), 0.005, 0.02)),
        "stop.delta_v": float(np.clip(_percentile(drifts, 50, 0.02), 0.01, 0.04)),
        "stop.tau_o": float(np.clip(_percentile(overlaps, 10, 0.3), 0.1, 0.5)),
        "regime.tau_y": Regime().tau_y,  # one task has one size of 𝒴: kept, so that a profile is complete
        "regime.ece_delta": Regime().ece_delta,
        "regime.vote_ece": ece([o.vote for o in outcomes], gold),
        "regime.c_max": _percentile(costs, 95, 0.0),
    }
    escalation = learn_triage([seen for o in outcomes if (seen := trial(o.story, o.labels[o.gold])) is not None])
    return TaskCalibration(
        settings={
            **{key: round(value, 6) if isinstance(value, float) else value for key, value in settings.items()},
            **escalation.settings,
        },
        worth=worth,
        accuracy=float(np.mean(right)),
        triage=tuple(escalation.lines()),
    )


def nonconformity_of(story: Story, score: Score) -> float | None:
    """How far from the reported p the truth was in one debate: infinite where nobody named it, ``None`` without an answer."""
    result = story.result
    if result is None or result.answer is None:
        return None
    return nonconformity_at(result.distribution, story.gold_among(list(result.distribution)), score)


def nonconformity_at(p: Mapping[str, float], gold: str | None, score: Score) -> float:
    """Nonconformity of the true outcome; infinite where it was not named."""
    if gold is None or gold not in p:
        return math.inf
    return float(nonconformity(np.array(list(p.values()), dtype=float), score)[list(p).index(gold)])


def conformalise(found: TaskCalibration, fitted: Sequence[Outcome], held: Sequence[Story]) -> TaskCalibration:
    """The calibration with thresholds of prediction sets, from debates (``held``) of other cases under what was learnt.

    The score is the one whose sets are smaller on the cases fitted on. A coverage for which there are too few cases, or too many
    truths that nobody named, has no threshold.
    """
    score = smallest([temper(o.p, found.worth.temperature) for o in fitted], [o.gold for o in fitted])
    scores = [s for story in held if (s := nonconformity_of(story, score)) is not None]
    limits = {c: q for c in COVERAGES if math.isfinite(q := quantile(scores, c))}
    rounded = {c: min(1.0, math.ceil(q * 1e6) / 1e6) for c, q in limits.items()}  # upwards: what was in stays in
    settings = {
        **found.settings,
        "calibration.score": score,
        "calibration.conformal": ",".join(f"{c:g}={q:g}" for c, q in rounded.items()),
        "calibration.conformal_n": len(scores),
    }
    return replace(found, settings=settings, held=len(scores))


def to_toml(found: TaskCalibration, made: str) -> str:
    """The calibration as a config file."""
    use = found.advice("--config FILE")
    lines = [
        f"# Calibration from {found.worth.cases} ({made}). {use}. Another panel, model version or encoder refuses it.",
        f"# Accuracy {found.accuracy:.3f}.",
        *(f"# {line}" for line in found.worth.lines()),
    ]
    if found.held:
        lines.append(f"# Prediction sets rest on {found.held} other cases; their promise is about cases like these.")
    section = ""
    for key in sorted(found.settings, key=lambda k: (full_key(k).split(".")[0], k)):
        table, name = full_key(key).split(".")
        if table != section:
            lines += ["", f"[{table}]"]
            lines += [f"# {line}" for line in found.triage if table == "triage"]
            section = table
        value = found.settings[key]
        lines.append(f"{name} = {dumps(value, ensure_ascii=False)}" if isinstance(value, str) else f"{name} = {value}")
    return "\n".join(lines) + "\n"
