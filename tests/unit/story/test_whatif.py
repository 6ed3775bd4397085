"""Other rules over a record, as they are told to people."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from maci.config import load
from maci.controller.decisions import Planned
from maci.record.transcript import read
from maci.story.whatif import other_rules, otherwise
from stories import events_of


def test_where_a_record_asked_something_rules_are_compared_up_to_there() -> None:
    recording = read(Path(__file__).parents[2] / "transcripts" / "format-6.jsonl")
    events, rules = recording.events, recording.opened.config
    same = otherwise(events, rules)
    first = next(event for event in events if isinstance(event, Planned) and event.acquire)
    assert replace(same.other, rules="recorded") == same.recorded
    assert same.recorded.rounds == first.round and same.recorded.stop_reason == first.stop
    assert same.remark.startswith("Both up to the first stop")
    longer = otherwise(events, other_rules(rules, sets=["max_rounds=30", "stop.min_rounds=20"]))
    assert not longer.decided and longer.other.rounds == first.round  # nothing that was said after an answer is used


def test_a_setting_that_other_rules_lower_with_another_is_said() -> None:
    events = events_of("bridge")
    found = otherwise(events, other_rules(events[0].config, sets=["max_rounds=1"]))
    assert found.other.rounds == 1 and found.remark == "min_rounds was lowered from 2 to 1, because max_rounds is 1."


def test_other_rules_name_the_arguments_whose_admission_flips() -> None:
    events = events_of("bridge")
    stricter = otherwise(events, other_rules(events[0].config, sets=["tau_crit=0.70"]))
    assert stricter.flips == ((), ("1C1", "2C1", "3C1", "4C1"))  # graded 0.59 and 0.64
    looser = otherwise(events, other_rules(events[0].config, sets=["tau_crit=0.05"]))
    assert looser.flips == (("1C2",), ())  # graded 0.09
    assert otherwise(events, events[0].config).flips == ((), ())


def test_the_paper_s_rules_can_be_asked_of_a_record_whose_judges_were_spared() -> None:
    spared = load("default", sets=["crit.enough=2", "crit.together=3"], environ={})
    assert other_rules(spared).crit.enough == 2
    literal = other_rules(spared, "paper")
    assert (literal.crit.enough, literal.crit.together) == (load("paper", environ={}).crit.enough, 1)
