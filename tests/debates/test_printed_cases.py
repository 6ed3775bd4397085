"""The two cases printed in the paper, played by the scripted panel: 3 and 4 rounds (D3)."""

import asyncio

import pytest

from hash_encoder import HashEncoder
from maci.cases.case import load_case
from maci.config import build
from maci.controller.decisions import Finished
from maci.controller.dials import Measured
from maci.debating.loop import debate
from maci.seating.table import opening
from maci.seating.tables import Tables


def play(name, profile="default"):
    case = load_case(name)
    table = Tables("paper", HashEncoder()).table(case)

    async def events():
        return [event async for event in debate(opening(case, table, build(profile, {})), table)]

    return asyncio.run(events())


@pytest.mark.parametrize(
    ("name", "rounds", "answer", "disagreement"),
    [
        ("paper-dengue", 3, "Dengue Fever", [1.0, 0.180, 0.0]),
        ("paper-hepatitis", 4, "Hepatitis C", [0.226, 0.12, 0.04, 0.03]),
    ],
)
def test_printed_case(name, rounds, answer, disagreement):
    events = play(name)
    result = events[-1]
    assert isinstance(result, Finished)
    assert (result.stop_reason, result.rounds, result.answer) == ("consensus", rounds, answer)
    measured = [event.d for event in events if isinstance(event, Measured)]
    assert measured == pytest.approx(disagreement, abs=2e-3)


def test_the_literal_rules_do_not_stop_where_the_paper_says_they_did():
    # both printed cases stop while r_D is far from ε_D (D3): under the literal rules they run on
    assert play("paper-dengue", "paper")[-1].rounds > 3
    assert play("paper-hepatitis", "paper")[-1].rounds > 4
