"""The line that says what is being waited for."""

from __future__ import annotations

import io

from rich.console import Console

from helpers import turn
from maci.agents.argument import Usage
from maci.cli.remarks import Remarks
from maci.cli.waiting import Waiting
from maci.controller.inputs import JudgeAbstention, Pending, Sent, TurnTaken


def test_the_line_names_who_is_out_and_goes_when_all_are_back() -> None:
    screen = Console(file=io.StringIO(), force_terminal=True, width=120)
    waiting = Waiting(screen)
    turns = tuple(Pending(kind="turn", who=who, tokens=10) for who in ("x", "y"))
    waiting.follow(Sent(round=2, calls=turns))
    assert waiting._words() == "round 2 · waiting for x, y"
    waiting.follow(TurnTaken(round=2, agent="x", turn=turn(1.0, tokens=1500)))
    waiting.follow(Sent(round=2, calls=(Pending(kind="score", who="j#0", argument="2A1", tokens=5),)))
    assert waiting._words() == "round 2 · waiting for y · 1 score to come · 1,500 tokens"
    waiting.follow(TurnTaken(round=2, agent="y", turn=turn(1.0)))
    assert waiting._bar is not None
    usage = Usage(prompt=500, usd=0.25)
    waiting.follow(JudgeAbstention(round=2, argument="2A1", slot="j#0", reason="", usage=usage))
    assert waiting._bar is None
    waiting.close()


def test_a_complaint_that_was_not_printed_counts_as_new() -> None:
    remarks = Remarks()
    assert remarks.new("x", "no key", printed=False)
    assert remarks.once("round 1: x abstained: no key") == "round 1: x abstained: no key"
    assert remarks.once("round 2: x abstained: no key") == "round 2: x abstained, as above"
    assert remarks.once("round 2: x abstained: no network") == "round 2: x abstained: no network"
    missing = "3 of 3 scores are missing: j#0 on 1A1: it is down"
    assert remarks.once(f"round 1: {missing}") == f"round 1: {missing}"
    assert remarks.once(f"round 2: {missing}") == "round 2: 3 of 3 scores are missing, as above"
    assert remarks.once("undecided: a, b") == "undecided: a, b"
