"""What agents said, read against the outcome space: beliefs as vectors over one set of labels, disagreement, citations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from maci.belief import Vector, bias_of, read, settle
from maci.case.outcomes import canonical
from maci.controller.decisions import CheckedCitation
from maci.controller.state import State, place
from maci.errors import BeliefError
from maci.moderator.divergence import disagreement

__all__ = ["Reading", "cited", "correct", "gold_index", "spread", "widen"]


class Reading:
    """The beliefs of the open round, over the labels known once all of them are read."""

    def __init__(self, state: State) -> None:
        self.labels = state.labels
        self.abstained: dict[str, str] = {}
        self.notes: list[str] = []
        stated: dict[str, Vector | dict[str, float]] = {}
        for agent in state.agents:
            turn = state.turns.get(agent)
            if turn is None:
                self.abstained[agent] = state.failures.get(agent, "no turn")
                continue
            try:
                stated[agent] = self._read(turn.belief, state, agent)
            except BeliefError as error:
                self.abstained[agent] = f"belief refused: {error}"
        known = state.config.calibration
        bias = bias_of(known.bias, self.labels)
        self.beliefs = {
            agent: settle(self._vector(p), known.agents.get(agent, 1.0), known.doubt.get(agent, 0.0), bias)
            for agent, p in stated.items()
        }

    def abstentions(self, t: int) -> list[str]:
        """Who gave no belief in round ``t``, and why."""
        return [f"round {t}: {agent} abstained: {why}" for agent, why in self.abstained.items()]

    def first_reason(self) -> str:
        """Why there is no belief at all."""
        return next((f"{agent}: {why}" for agent, why in self.abstained.items()), "there are no agents")

    def _read(self, belief: Mapping[str, float], state: State, agent: str) -> Vector | dict[str, float]:
        if tuple(belief) == self.labels:
            p = np.fromiter(belief.values(), np.float64, len(belief))
            if p.min() >= 0 and abs(float(np.add.reduce(p)) - 1) <= 1e-9:
                return p
        labels, placed = self.labels, dict[str, float]()
        for name, p_name in belief.items():
            label = place(name, labels, state)
            if label not in labels:
                labels = (*labels, label)
            placed[label] = placed.get(label, 0.0) + p_name
        mended, note = read(placed, state.config.beliefs.tolerance, state.opened.case.outcomes.rest)
        if note:
            self.notes.append(f"{agent}: {note}")
        self.labels = labels
        return mended

    def _vector(self, p: Vector | Mapping[str, float]) -> Vector:
        if isinstance(p, np.ndarray):
            return widen(p, len(self.labels))
        return np.array([p.get(label, 0.0) for label in self.labels])


def widen(p: Vector, size: int) -> Vector:
    """A belief over labels that have grown at the end."""
    return p if len(p) == size else np.concatenate([p, np.zeros(size - len(p))])


def gold_index(state: State, labels: tuple[str, ...]) -> int | None:
    """Where the true outcome stands among the labels, if it is known and was named."""
    gold = state.opened.case.gold
    if gold is None:
        return None
    label = canonical(gold, state.opened.case.outcomes, labels)
    return labels.index(label) if label in labels else None


def correct(state: State, labels: tuple[str, ...], mixture: Vector) -> bool | None:
    """Whether the mixture's top outcome is the gold one."""
    if state.opened.case.gold is None:
        return None
    return int(mixture.argmax()) == gold_index(state, labels)


def spread(beliefs: Mapping[str, Vector], state: State) -> float | None:
    """D of the agents that have a belief; undefined for fewer than two."""
    if len(beliefs) < 2:
        return None
    return disagreement(np.stack(list(beliefs.values())), state.positions, state.config.beliefs.delta)


def cited(state: State, said: Iterable[tuple[str, tuple[CheckedCitation, ...]]]) -> list[set[str]]:
    """Verified citations of every agent, from (agent, checked citations) of all its arguments, admitted or not."""
    sets: dict[str, set[str]] = {agent: set() for agent in state.agents}
    for agent, checked in said:
        sets[agent].update(c.span for c in checked if c.verified)
    return list(sets.values())
