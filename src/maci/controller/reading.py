r"""Reads what agents said: beliefs as vectors over one set of labels, disagreement, citations, and calibrated probabilities.

Reported probabilities are calibrated for where they come from (:func:`calibrated`). A temperature is learnt on whole debates. An
answer without rounds behind it (one agent's, a vote, the openings that `harm.rollback` restored) is tempered by what triage has
learnt about such answers, so that its leader's p is the chance c of being right:

.. math::
   \mathrm{logit}\, c = a + b\, \mathrm{logit} \max_y p(y)

Where triage has learnt nothing, the answer stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maci.cases.outcomes import OutcomeSpace, canonical
from maci.config import Config
from maci.config.sections import Beliefs
from maci.controller.decisions import CheckedCitation
from maci.controller.inputs import Opened, Seat
from maci.controller.state import State
from maci.controller.triage import chance_right
from maci.errors import BeliefError, ConfigError
from maci.moderator.belief import Vector, bias_of, read, settle, temper, temper_to
from maci.moderator.divergence import disagreement


class Readings(NamedTuple):
    """Beliefs stated at one time, as they were read."""

    labels: tuple[str, ...]
    """Known once all of them are read."""
    beliefs: tuple[Vector | BeliefError, ...]
    """Over these labels, in the order in which they were stated; an error where one was refused."""
    notes: tuple[str, ...]
    """What had to be mended."""


def read_belief(
    stated: Mapping[str, float],
    labels: tuple[str, ...],
    space: OutcomeSpace,
    rules: Beliefs,
    vectors: Mapping[str, NDArray[np.float32]],
) -> tuple[Vector | dict[str, float], tuple[str, ...], str | None]:
    """A stated belief, the labels with those it is the first to name, and a note where it had to be mended.

    Every name is placed among the labels (:func:`maci.cases.outcomes.canonical`); ``vectors`` embeds what was named, for open spaces.

    >>> space = OutcomeSpace(kind="open", aliases={"Breakbone": "Dengue"})
    >>> read_belief({"BREAKBONE": 0.75, "dengue": 0.25}, ("other",), space, Beliefs(), {})
    ({'Dengue': 1.0}, ('other', 'Dengue'), None)
    """
    if tuple(stated) == labels:
        p = np.fromiter(stated.values(), np.float64, len(stated))
        if p.min() >= 0 and abs(float(np.add.reduce(p)) - 1) <= 1e-9:
            return p, labels, None
    placed = dict[str, float]()
    for name, p_name in stated.items():
        label = canonical(name, space, labels, vectors, rules.label_match)
        if label not in labels:
            labels = (*labels, label)
        placed[label] = placed.get(label, 0.0) + p_name
    mended, note = read(placed, rules.tolerance, space.rest)
    return mended, labels, note


def read_beliefs(
    said: Iterable[tuple[str, Mapping[str, float]]],
    labels: tuple[str, ...],
    space: OutcomeSpace,
    config: Config,
    vectors: Mapping[str, NDArray[np.float32]],
) -> Readings:
    """What agents state at one time, (agent, belief) each: read in this order, then taken as each agent's record says to take it."""
    taken: list[tuple[str, Vector | dict[str, float] | BeliefError]] = []
    notes = []
    for agent, stated in said:
        try:
            p, labels, note = read_belief(stated, labels, space, config.beliefs, vectors)
        except BeliefError as error:
            taken.append((agent, error))
            continue
        taken.append((agent, p))
        if note:
            notes.append(f"{agent}: {note}")
    known = config.calibration
    bias = bias_of(known.bias, labels)
    beliefs = tuple(
        p
        if isinstance(p, BeliefError)
        else settle(_vector(p, labels), known.agents.get(agent, 1.0), known.doubt.get(agent, 0.0), bias)
        for agent, p in taken
    )
    return Readings(labels, beliefs, tuple(notes))


def _vector(p: Vector | Mapping[str, float], labels: tuple[str, ...]) -> Vector:
    if isinstance(p, np.ndarray):
        return widen(p, len(labels))
    return np.array([p.get(label, 0.0) for label in labels])


class Reading:
    """The beliefs of the open round, over the labels known once all of them are read."""

    def __init__(self, state: State) -> None:
        turns = {agent: turn for agent in state.agents if (turn := state.turns.get(agent)) is not None}
        said = ((agent, turn.belief) for agent, turn in turns.items())
        found = read_beliefs(said, state.labels, state.opened.case.outcomes, state.config, state.label_vectors)
        self.labels, self.notes = found.labels, found.notes
        taken = dict(zip(turns, found.beliefs, strict=True))
        self.beliefs: dict[str, Vector] = {}
        self.abstained: dict[str, str] = {}
        for agent in state.agents:
            p = taken.get(agent)
            if p is None:
                self.abstained[agent] = state.failures.get(agent, "no turn")
            elif isinstance(p, BeliefError):
                self.abstained[agent] = f"belief refused: {p}"
            else:
                self.beliefs[agent] = p

    def abstentions(self, t: int) -> list[str]:
        """Who gave no belief in round ``t``, and why."""
        return [f"round {t}: {agent} abstained: {why}" for agent, why in self.abstained.items()]

    def first_reason(self) -> str:
        """Why there is no belief at all."""
        return next((f"{agent}: {why}" for agent, why in self.abstained.items()), "there are no agents")


def widen(p: Vector, size: int) -> Vector:
    """A belief over labels that have grown at the end."""
    return p if len(p) == size else np.concatenate([p, np.zeros(size - len(p))])


def gold_index(state: State, labels: tuple[str, ...]) -> int | None:
    """Where the true outcome stands among the labels, if it is known and was named."""
    gold = state.opened.case.gold_among(labels)
    return labels.index(gold) if gold in labels else None


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


def is_calibrated(state: State, *, debated: bool) -> bool:
    """Whether a calibration knows such answers."""
    return bool(state.config.calibration.made_for if debated else state.config.triage.learned_from)


def calibrated(state: State, mixture: Vector | None = None, *, debated: bool | None = None) -> Vector:
    """The mixture of the state, or another, as it is reported; ``debated`` where it is not the state's own."""
    p = state.mixed if mixture is None else mixture
    if bool(state.history) if debated is None else debated:
        return temper(p, state.config.calibration.temperature)
    known = state.config.triage
    if not known.learned_from:
        return p
    alone = state.stage == "single"
    shift, slope = (known.single_shift, known.single_slope) if alone else (known.vote_shift, known.vote_slope)
    return temper_to(p, chance_right(float(p.max()), shift, slope))


def made_for(opened: Opened) -> str:
    """What a calibration from such debates is good for: the panel with its models, the encoder, and the format of the record, which
    changes with what is counted.

    Such as ``readers: reader-lexical, reader-semantic; judges letters (surface), words (surface) | wordllama/256 | format 6``.
    """
    agents, judges = (", ".join(_models(opened, seats)) for seats in ("agents", "judges"))
    judged = f"judges {judges}" if judges and opened.config.crit.enabled else "no judges"
    return f"{opened.panel.strip('-') or 'agents'}: {agents}; {judged} | {opened.encoder} | format {opened.format}"


def _models(opened: Opened, seats: Literal["agents", "judges"]) -> Iterator[str]:
    """Whoever sits there, by model; where none is on record, by what is: name and family."""
    if opened.table is not None:
        yield from (str(seat["model"]) for seat in opened.table.get(seats, ()))
        return
    given: tuple[Seat, ...] = opened.agents if seats == "agents" else opened.judges
    yield from (
        seat.family if f"-{seat.family}".endswith(f"-{seat.name}") else f"{seat.name} ({seat.family})" for seat in given
    )


def check_made_for(opened: Opened) -> None:
    """Refuse a calibration that was made for another panel, other models or another encoder; a replay takes it as recorded."""
    given, own = opened.config.calibration.made_for, made_for(opened)
    if not given or given == own:
        return
    if " | " not in given:
        raise ConfigError(
            f"the calibration names only the encoder it was made with ({given!r}), not its panel: it was written by an earlier "
            f"version, and nothing shows that it fits this debate ({own!r}). Run `maci calibrate` again, or leave the calibration out"
        )
    if given == own.rpartition(" | ")[0] or " | format " not in given:
        raise ConfigError(
            f"the calibration was made by an earlier version ({given!r}), which counted evidence, prompts and judges "
            "otherwise: its figures do not fit. Run `maci calibrate` again, or leave the calibration out"
        )
    raise ConfigError(
        f"the calibration was made for {given!r}, and this debate is {own!r}: run `maci calibrate` again (a panel "
        "other than the readers is taught from its own records: docs/ask.md), or leave the calibration out"
    )
