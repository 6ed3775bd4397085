"""Whatever agents and judges do: a debate ends, says why once, and can be told again from its record."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helpers import Wild, decisions, of, play, result
from maci.config import Config
from maci.controller.decisions import Finished, Gated, Initialized, Weighed
from maci.controller.dials import Measured
from maci.controller.events import Event, dump, parse
from maci.controller.inputs import TurnFailed, TurnTaken
from maci.record.replay import replay, replay_with
from maci.seating.table import Table

THOROUGH = settings(max_examples=1000, deadline=None, suppress_health_check=list(HealthCheck))


@st.composite
def wild_debates(draw: st.DrawFn) -> Wild:
    """Debates of two to four agents over every kind of space, profile and schedule."""
    rounds = draw(st.integers(1, 3))
    sets = [f"max_rounds={rounds}", f"min_rounds={draw(st.integers(1, rounds))}"]
    sets.append(f"schedule={draw(st.sampled_from(['plateau', 'ladder', 'fixed', 'ucb', 'linucb']))}")
    sets.append(f"order={draw(st.sampled_from(['simultaneous', 'simultaneous', 'sequential']))}")
    sets.append(f"dispersion.gate={draw(st.sampled_from(['backed', 'all', 'off']))}")
    sets.append(f"k={draw(st.integers(1, 3))}")
    if draw(st.integers(0, 4)) == 0:
        sets.append("crit.enabled=false")
    if draw(st.integers(0, 4)) == 0:
        sets.append("delta=0")
    if draw(st.integers(0, 4)) == 0:
        sets += ["q_gate=false", "weights=uniform"]
    return Wild(
        seed=draw(st.integers(0, 2**32)),
        agents=draw(st.integers(2, 4)),
        judges=draw(st.integers(1, 3)),
        kind=draw(st.sampled_from(["closed", "open", "ordered"])),
        outcomes=draw(st.integers(2, 6)),
        trouble=draw(st.sampled_from([0.0, 0.2, 0.6])),
        sets=tuple(sets),
        profile=draw(st.sampled_from(["default", "paper"])),
        paid=draw(st.booleans()),
    )


def check_rounds(events: list[Event], seats: set[str]) -> None:
    """Every decision of every round is whole and in range."""
    stated = {(e.round, e.agent): e.turn for e in of(TurnTaken, events)}
    for event in decisions(events):
        match event:
            case Initialized():
                assert abs(sum(event.mixture.values()) - 1) < 1e-9
                assert set(event.beliefs) | set(event.abstained) == seats
            case Gated():
                for a in event.admissions:
                    assert a.admitted == (a.reason == "")
                    assert a.crit is None or 0 <= a.crit <= 1
                made = sum(len(t.arguments) for (r, _), t in stated.items() if r == event.round)
                assert len(event.admissions) == made  # every argument is decided on, none is dropped
            case Weighed():
                assert abs(sum(event.weights.values()) - 1) < 1e-9
                assert min(event.weights.values()) > 0
                assert abs(sum(event.mixture.values()) - 1) < 1e-9
                assert all(abs(sum(p.values()) - 1) < 1e-9 for p in event.beliefs.values())
                assert set(event.beliefs) | set(event.abstained) == seats
                assert not set(event.beliefs) & set(event.abstained)
            case Measured():
                assert event.d is None or 0 <= event.d <= 1
                assert event.o is None or 0 <= event.o <= 1
                assert event.q is None or -1 <= event.q <= 1
                assert 0 <= event.gain <= 1 + 1e-9
                assert event.r_i >= 0


def check_end(events: list[Event], table: Table, config: Config) -> None:
    """It ended within max_rounds, for one reason, and asked nobody twice."""
    end = result(events)
    assert end.rounds <= config.stop.max_rounds
    assert end.rounds == len(of(Measured, events))
    assert max(event.round for event in [*of(TurnTaken, events), *of(TurnFailed, events)]) <= config.stop.max_rounds
    for agent in table.agents:
        assert agent.asked == sorted(set(agent.asked))
    if end.answer is not None:
        assert abs(sum(end.distribution.values()) - 1) < 1e-9
        assert min(end.distribution.values()) >= 0
        assert end.distribution[end.answer] == max(end.distribution.values())
    else:
        assert end.stop_reason == "error"
        assert end.detail


def check_retold(events: list[Event]) -> None:
    """Its record replays exactly after a round trip through JSON."""
    replayed = replay([parse(dump(event)) for event in events])
    assert replayed.complete
    assert replayed.compared == len(decisions(events))
    assert dump(replayed.state.finished) == dump(events[-1])  # to the last bit, not to a tolerance


def check_otherwise(events: list[Event], config: Config) -> None:
    """Other rules over the same record never crash and never add a round."""
    asked = replay_with(events, config)
    assert len(asked.history) <= len(of(Measured, events))
    if asked.finished:
        assert isinstance(asked.finished, Finished)


@THOROUGH
@given(wild_debates(), wild_debates(), st.none() | st.integers(0, 2**16), st.integers(0, 2**16))
def test_every_debate_ends_for_one_reason_whatever_the_order_of_replies_and_can_be_told_again(
    wild: Wild, other: Wild, one: int | None, two: int
) -> None:
    table, config = wild.table(order=one), wild.config()
    events = play(table, config, wild.case())
    check_end(events, table, config)
    check_rounds(events, {agent.name for agent in table.agents})
    assert decisions(events) == decisions(play(wild.table(order=two), config, wild.case()))  # in whatever order
    check_retold(events)
    if "crit.enabled=false" not in wild.sets or not other.config().crit.enabled:
        check_otherwise(events, other.config())  # else refused, there are no judges: tested by name elsewhere
