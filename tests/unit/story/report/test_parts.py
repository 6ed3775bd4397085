"""Pieces of a report on their own."""

from __future__ import annotations

from maci.acquisition.plan import Shift
from maci.story.report.parts import distribution
from maci.story.report.sources import _shift

SCALE = ("-1", "0", "+1")


def test_the_outcome_that_leads_a_scale_is_marked_and_a_tie_is_not() -> None:
    assert distribution({"-1": 0.6, "0": 0.4}, scale=SCALE).count(">leads<") == 1
    assert ">leads<" not in distribution({"-1": 0.5, "0": 0.5}, scale=SCALE)
    assert ">leads<" not in distribution({"-1": 0.6, "0": 0.4})


def test_an_outcome_written_from_right_to_left_does_not_turn_the_numbers_round() -> None:
    shift = Shift(answer="yes", probability=0.4, leader="حمى الضنك", before=0.26, after=0.51, changes=True)
    assert "<bdi>حمى الضنك</bdi>, 0.26 → 0.51" in _shift(shift)
