"""What the debate is waiting for, and what it asks of whom. Pure: a state implies its wants.

The driver sends what is wanted and not yet under way; whatever order the replies come in, the round closes the same.
Judging an argument is wanted as soon as its turn is in, without waiting for the other agents.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from maci.agents.anchor import Anchor, Opponent, TurnRequest
from maci.agents.judges.crit import ScoreRequest, shuffled
from maci.controller.acquiring import question
from maci.controller.reading import next_question
from maci.controller.state import State, as_mapping, check_citations
from maci.evidence.span import CASE


class Want(NamedTuple):
    """Something only the outside can supply."""

    kind: str
    """``retrieve``, ``turn``, ``resolve``, ``score``, ``compare``, ``survey``, ``acquire`` or ``recommend``."""
    round: int
    who: str = ""
    """The agent, the judge slot, whoever compares names or writes the recommendation, or the item of the plan."""
    argument: str = ""
    """The argument to score, or the names to compare."""


def wants(state: State) -> Iterator[Want]:
    """Everything the open round still lacks, in the order in which it should be asked for."""
    if state.finished:
        return
    if state.theta is None:
        yield Want("retrieve", 0)
        return
    if state.recommending:
        yield Want("recommend", state.round, state.opened.writer)
        return
    if state.closing is not None:
        yield from (Want("acquire", state.round, item.id) for item in state.acquiring[:1])
        if not state.acquiring:
            yield Want("survey", state.round)
        return
    for agent in state.agents:
        if agent in state.waiting:
            yield Want("resolve", state.round, agent)
    if state.judged:
        arguments = [identity for identity, (agent, _) in state.arguments.items() if agent not in state.waiting]
        for slot in state.slots:
            open_ = [argument for argument in arguments if slot.id not in state.scores.get(argument, ())]
            for argument in shuffled(open_, seed=state.opened.seed, round=state.round, slot=slot.id):
                yield Want("score", state.round, slot.id, argument)
    if (question := next_question(state)) is not None:
        yield Want("compare", state.round, state.opened.comparer, str(question))
    for agent in state.asked:
        if agent not in state.turns:
            yield Want("turn", state.round, agent)
            if state.config.agents.order == "sequential":
                return


def call_seed(*parts: object) -> int:
    """A seed for one call, the same whenever that call is made again."""
    return int.from_bytes(hashlib.sha256("/".join(map(str, parts)).encode()).digest()[:4])


def dealt(state: State, agent: str) -> tuple[str, ...]:
    """The retrieved evidence an agent is shown: all of it, or its part of a split.

    The case's own sentences are everybody's; of the rest, the best M pieces go to the M agents in a drawn order, and so on.
    """
    if state.config.agents.evidence == "shared":
        return state.retrieved
    seats, mine = len(state.agents), state.agents.index(agent)
    case = [i for i in state.retrieved if state.spans[i].source == CASE]
    rest = [i for i in state.retrieved if state.spans[i].source != CASE]
    hand = []
    for start in range(0, len(rest), seats):
        turn = call_seed(state.opened.seed, "deal", start) % seats
        hand += [i for k, i in enumerate(rest[start : start + seats]) if (k + turn) % seats == mine]
    return (*case, *hand)


MOST_SHOWN = 3
"""Leading outcomes, and strongest arguments, that an agent is shown of each other one."""


def leading_outcomes(belief: Mapping[str, float]) -> tuple[tuple[str, float], ...]:
    """The likeliest outcomes of a belief, first the leading one.

    >>> leading_outcomes({"a": 0.2, "b": 0.5, "c": 0.2, "d": 0.1, "e": 0.0})
    (('b', 0.5), ('a', 0.2), ('c', 0.2))
    """
    return tuple(sorted(belief.items(), key=lambda each: -each[1])[:MOST_SHOWN])


def _opponent(state: State, agent: str) -> Opponent:
    """What the others are told of an agent; its opening's arguments stand in until something of it is admitted."""
    seat = state.seat(agent)
    own = [entry.id for entry in state.record if entry.seat == seat and not entry.fact]
    best = sorted(own, key=lambda i: state.merit[i], reverse=True) or [e.id for e in state.openings if e.seat == seat]
    belief = as_mapping(state.labels, state.beliefs[agent])
    return Opponent(leading_outcomes(belief), tuple(best[:MOST_SHOWN]))


def _come_up(state: State) -> Iterator[str]:
    """Spans cited in the record and found out since, in the order in which they came up."""
    entries = (*state.openings, *state.record)
    cited = [(e.round, 0, [c.span for c in e.argument.citations if c.span in state.spans]) for e in entries]
    found = [(f.round, 1, list(f.spans)) for f in state.findings]
    for _, _, spans in sorted([*cited, *found], key=lambda each: each[:2]) if found else cited:
        yield from spans


def turn_request(state: State, agent: str) -> TurnRequest:
    """What an agent is given for its turn of the open round."""
    own_share = dealt(state, agent)
    visible = dict.fromkeys((*own_share, *_come_up(state)))
    heard = tuple(
        (state.seat(other), turn.arguments)
        for other in state.agents
        if state.config.agents.order == "sequential" and (turn := state.turns.get(other)) is not None
    )
    own, gate = state.beliefs.get(agent), state.thresholds
    return TurnRequest(
        round=state.round,
        seat=state.seat(agent),
        question=question(state),
        anchor=Anchor((*state.openings, *state.record), state.dials.cl, gate.tau_q, gate.tau_crit),
        evidence=tuple(state.spans[i] for i in visible),
        retrieved=len(own_share),
        belief=None if own is None else as_mapping(state.labels, own),
        others={state.seat(other): _opponent(state, other) for other in state.beliefs if other != agent},
        rejected=state.rejected.get(agent, ()),
        heard=heard,
        asks=state.round > 0 and state.config.plan.enabled,
        seed=call_seed(state.opened.seed, state.round, agent),
    )


def score_request(state: State, slot: str, argument_id: str) -> ScoreRequest:
    """What a judge is given to score one argument of the open round."""
    _, argument = state.arguments[argument_id]
    checked = check_citations(argument, state)
    return ScoreRequest(
        question=question(state),
        argument=argument,
        spans=tuple(state.spans[i] for i in dict.fromkeys(c.span for c in checked if c.verified)),
        unverified=sum(not c.verified for c in checked),
        sample=int(slot.rpartition("#")[2]),
        seed=call_seed(state.opened.seed, state.round, slot, argument_id),
    )
