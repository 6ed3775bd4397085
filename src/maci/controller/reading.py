r"""Reads what agents said: beliefs as vectors over one set of labels, disagreement, citations, and calibrated probabilities.

Reported probabilities are calibrated for where they come from (:func:`calibrated`). A temperature is learnt on whole debates. An
answer without rounds behind it (one agent's, a vote, the openings that `harm.rollback` restored) is tempered by what triage has
learnt about such answers, so that its leader's p is the chance c of being right:

.. math::
   \mathrm{logit}\, c = a + b\, \mathrm{logit} \max_y p(y)

Where triage has learnt nothing, the answer stays as it is.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from maci.cases.labels import (
    Comparing,
    Join,
    NameQuestion,
    Placement,
    near_pairs,
    open_pairs,
    open_question,
    place_names,
)
from maci.cases.outcomes import OutcomeSpace
from maci.config import Config
from maci.config.sections import Beliefs
from maci.controller.decisions import CheckedCitation, Joined
from maci.controller.inputs import Opened, RequestRecord, Seat
from maci.controller.state import State, as_mapping, comparing
from maci.controller.triage import chance_right
from maci.errors import BeliefError, ConfigError
from maci.moderator.belief import Vector, bias_of, read, settle, temper, temper_to
from maci.moderator.divergence import disagreement

Fine: TypeAlias = Mapping[str, float]
"""Narrower name → its part of what an agent gives the label that holds it."""


class Readings(NamedTuple):
    """Beliefs stated at one time, as they were read."""

    labels: tuple[str, ...]
    """Known once all of them are read."""
    beliefs: tuple[Vector | BeliefError, ...]
    """Over these labels, in the order in which they were stated; an error where one was refused."""
    notes: tuple[str, ...]
    """What had to be mended."""
    joins: Mapping[str, Join]
    """Names that are no labels of their own, those joined before included."""
    fine: tuple[Fine, ...]
    """What each belief gives to narrower names."""


def read_belief(
    stated: Mapping[str, float], found: Placement, space: OutcomeSpace, rules: Beliefs
) -> tuple[Vector | dict[str, float], str | None]:
    """A stated belief over the labels that hold its names, and a note where it had to be mended.

    >>> space = OutcomeSpace(kind="open", aliases={"Breakbone": "Dengue"})
    >>> said = {"BREAKBONE": 0.75, "dengue": 0.25}
    >>> read_belief(said, place_names(said, ("other",), space), space, Beliefs())
    ({'Dengue': 1.0}, None)
    """
    if tuple(stated) == found.labels:
        p = np.fromiter(stated.values(), np.float64, len(stated))
        if p.min() >= 0 and abs(float(np.add.reduce(p)) - 1) <= 1e-9:
            return p, None
    placed = dict[str, float]()
    for name, p_name in stated.items():
        label = found.label(name)
        placed[label] = placed.get(label, 0.0) + p_name
    return read(placed, rules.tolerance, space.rest)


def read_beliefs(
    said: Iterable[tuple[str, Mapping[str, float]]],
    labels: tuple[str, ...],
    space: OutcomeSpace,
    config: Config,
    by: Comparing = Comparing(),
    joins: Mapping[str, Join] = MappingProxyType({}),
) -> Readings:
    """What agents state at one time, (agent, belief) each: names placed in this order among the labels in use
    (:func:`maci.cases.labels.place_names`), then each belief taken as its agent's record says to take it.
    """
    found = Placement(labels, joins)
    taken: list[tuple[str, tuple[tuple[str, ...], Vector | dict[str, float]] | BeliefError, Mapping[str, float]]] = []
    notes = []
    for agent, stated in said:
        try:
            here = found if tuple(stated) == found.labels else place_names(stated, found.labels, space, found.joins, by)
            p, note = read_belief(stated, here, space, config.beliefs)
        except BeliefError as error:
            taken.append((agent, error, {}))
            continue
        found = here
        taken.append((agent, (here.labels, p), stated))
        if note:
            notes.append(f"{agent}: {note}")
    known = config.calibration
    bias = bias_of(known.bias, found.labels)
    beliefs = tuple(
        given
        if isinstance(given, BeliefError)
        else settle(_vector(*given, found), known.agents.get(agent, 1.0), known.doubt.get(agent, 0.0), bias)
        for agent, given, _ in taken
    )
    fine = tuple(_fine(stated, found) for *_, stated in taken)
    return Readings(found.labels, beliefs, tuple(notes), found.joins, fine)


def _fine(stated: Mapping[str, float], found: Placement) -> Fine:
    """What a belief gives to narrower names, each as a part of what it gives their label."""
    held = {name: found.joins[name] for name in stated if name in found.joins}
    finer = {name: join.label for name, join in held.items() if join.kind == "narrower"}
    total = dict[str, float]()
    for name, p in stated.items():
        total[found.label(name)] = total.get(found.label(name), 0.0) + p
    return {name: stated[name] / total[label] for name, label in finer.items() if total[label] > 0 < stated[name]}


def shares(
    labels: tuple[str, ...],
    beliefs: Mapping[str, Vector],
    weights: Mapping[str, float],
    fine: Mapping[str, Fine],
    joins: Mapping[str, Join],
) -> dict[str, dict[str, float]]:
    """Label → the narrower names it holds, each with its share of the label's probability in the mixture."""
    found = dict[str, dict[str, float]]()
    for name, label in dict.fromkeys((n, joins[n].label) for parts in fine.values() for n in parts if n in joins):
        at = labels.index(label)
        whole = sum(weights[agent] * float(p[at]) for agent, p in beliefs.items())
        part = sum(weights[agent] * float(p[at]) * fine.get(agent, {}).get(name, 0.0) for agent, p in beliefs.items())
        if part > 0:
            found.setdefault(label, {})[name] = part / whole
    return found


def _vector(labels: tuple[str, ...], p: Vector | Mapping[str, float], found: Placement) -> Vector:
    """A belief read while ``labels`` were in use, over those found in the end."""
    if isinstance(p, np.ndarray):
        if found.labels[: len(labels)] == labels:
            return widen(p, len(found.labels))
        p = dict(zip(labels, p.tolist(), strict=True))
    place = {label: at for at, label in enumerate(found.labels)}
    vector = np.zeros(len(found.labels))
    for label, mass in p.items():
        vector[place[found.label(label)]] += mass
    return vector


class Reading:
    """The beliefs of the open round, over the labels known once all of them are read."""

    def __init__(self, state: State) -> None:
        turns = {agent: turn for agent in state.agents if (turn := state.turns.get(agent)) is not None}
        said = ((agent, turn.belief) for agent, turn in turns.items())
        space = state.opened.case.outcomes
        found = read_beliefs(said, state.labels, space, state.config, comparing(state), state.joins)
        self.found = found
        self.labels, self.notes, self.joins = found.labels, found.notes, found.joins
        self.new = tuple(
            Joined(name=name, label=join.label, kind=join.kind, layer=join.layer)
            for name, join in found.joins.items()
            if state.joins.get(name) != join and join.layer != "exact"
        )
        """What was joined in this round."""
        self.fine = dict(zip(turns, found.fine, strict=True))
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


def next_question(state: State) -> NameQuestion | None:
    """The names to ask a model about before the open round is closed; ``None`` where there are none.

    All turns are in. Asked are labels that no layer can tell, those with most mass first, one question after another, since an answer
    can settle others.
    """
    limit = state.config.beliefs.ask_names
    if not state.opened.comparer or state.comparisons >= limit or state.waiting or state.stage == "single":
        return None
    if any(agent not in state.turns for agent in state.asked):
        return None
    stated = [turn.belief for turn in state.turns.values() if turn is not None]
    return question_of(
        Reading(state).found,
        stated,
        state.opened.case.outcomes,
        comparing(state),
        state.compared,
        state.config.beliefs.ask_from,
    )


def question_of(
    found: Readings,
    stated: Iterable[Mapping[str, float]],
    space: OutcomeSpace,
    by: Comparing,
    asked: Container[tuple[str, str]],
    close: float | None,
) -> NameQuestion | None:
    """What to ask a model next of the names in beliefs that were read, if anything; the names with most mass come first.

    With ``close`` (``beliefs.ask_from``) a name is put against one other at a time, else against all it stands open to.
    """
    beliefs = [p for p in found.beliefs if not isinstance(p, BeliefError)]
    if len(beliefs) < 2:
        return None
    placed, mass = Placement(found.labels, found.joins), as_mapping(found.labels, np.mean(beliefs, axis=0))
    pairs = open_pairs(mass, placed, space, by) if close is None else near_pairs(mass, placed, space, by, close)
    left = (pair for pair in pairs if pair not in asked and pair[::-1] not in asked)
    if close is None:
        return open_question(mass, stated, placed, list(left))
    first = next(left, None)
    return None if first is None else NameQuestion(first[0], (first[1],))


def read_round(state: State) -> tuple[State, Reading]:
    """The beliefs of the open round, and the state over the labels they leave: what they made part of another label is held by it."""
    reading = Reading(state)
    labels, joins = reading.labels, reading.joins
    if labels[: len(state.labels)] == state.labels:
        return state.but(joins=joins), reading
    before, found = state.labels, Placement(labels, joins)
    memory = state.memory
    outcome = {label: found.label(label) for label in before}
    opening = dict.fromkeys(labels, 0.0)
    for label, p in memory.opening.items():
        opening[outcome[label]] += p
    memory = replace(
        memory,
        opening=opening if memory.opening else {},
        leads={agent: outcome[label] for agent, label in memory.leads.items()},
        grounds={i: replace(g, outcome=outcome.get(g.outcome or "")) for i, g in memory.grounds.items()},
        said=tuple(replace(said, outcome=outcome.get(said.outcome or "")) for said in memory.said),
    )
    state = state.but(
        labels=labels,
        joins=joins,
        beliefs={agent: _vector(before[: len(p)], p, found) for agent, p in state.beliefs.items()},
        mixture=None if state.mixture is None else _vector(before[: len(state.mixture)], state.mixture, found),
        memory=memory,
        stake=None if state.stake is None else state.stake._replace(leader=outcome[state.stake.leader]),
    )
    if state.d is not None:
        state = state.but(d=spread(state.beliefs, state))
    return state, reading


def gold_index(state: State, labels: tuple[str, ...]) -> int | None:
    """Where the true outcome stands among the labels, if it is known and was named."""
    gold = state.opened.case.gold_among(labels, replace(comparing(state), joins=state.joins))
    return labels.index(gold) if gold in labels else None


def spread(beliefs: Mapping[str, Vector], state: State) -> float | None:
    """D of the agents that have a belief; undefined for fewer than two."""
    if len(beliefs) < 2:
        return None
    return disagreement(np.stack(list(beliefs.values())), state.positions, state.config.beliefs.delta)


def cited(state: State, said: Iterable[tuple[str, tuple[CheckedCitation, ...]]]) -> list[set[str]]:
    """The evidence that every agent cites, verified, from (agent, checked citations) of all its arguments, admitted or not."""
    sets: dict[str, set[str]] = {agent: set() for agent in state.agents}
    for agent, checked in said:
        sets[agent].update(c.span for c in checked if c.counts)
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
        f"the calibration was made for {given!r}, and this debate is {own!r}: run `maci calibrate` again with this panel "
        "(--panel or --agents), or leave the calibration out"
    )


def check_served(opened: Opened, requests: Iterable[RequestRecord]) -> None:
    """Refuse a calibration that was made with other versions of the models, as soon as a server reports its own."""
    made_with = dict(pair.rpartition("=")[::2] for pair in opened.config.calibration.served.split(","))
    for request in requests:
        known = made_with.get(request.model)
        if known is not None and request.served and request.served != known:
            error = ConfigError(
                f"the calibration was made with {request.model} as {known!r}, and the server now answers as {request.served!r}: run "
                "`maci calibrate` again, or leave the calibration out; what was answered so far comes from the response cache"
            )
            error.fatal = True  # the next case would be answered by the same version
            raise error
