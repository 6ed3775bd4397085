"""The two cases printed in the paper, played by the scripted panel: 3 and 4 rounds (D3)."""

import asyncio

import pytest

from hash_encoder import HashEncoder
from maci.cases.case import load_case
from maci.config import build
from maci.controller.decisions import Finished, Gated
from maci.controller.dials import Measured
from maci.debating.loop import debate
from maci.seating.table import opening
from maci.seating.tables import Tables


def play(name, profile="default", **dials):
    case = load_case(name)
    table = Tables("paper", HashEncoder()).table(case)
    config = build(profile, {f"dials.{key}": value for key, value in dials.items()})

    async def events():
        return [event async for event in debate(opening(case, table, config), table)]

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


@pytest.mark.parametrize(
    ("name", "printed", "own"),
    [
        ("paper-dengue", [0.9, 0.7, 0.5], [0.8, 0.6, 0.4]),
        ("paper-hepatitis", [0.9, 0.7, 0.5, 0.3], [0.7, 0.5, 0.3, 0.1]),
    ],
)
def test_a_printed_case_started_at_09_runs_the_printed_course(name, printed, own):
    def levels(**dials):
        return [event.dials.cl for event in play(name, schedule="course", **dials) if isinstance(event, Gated)]

    assert levels(cl_first=0.9) == printed
    assert levels() == own  # from where Q₀ and D₀ put it (SPEC 6)
    assert [e.dials.cl for e in play(name, schedule="plateau", cl_first=0.9) if isinstance(e, Gated)] != printed
