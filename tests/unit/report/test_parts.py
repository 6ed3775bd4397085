"""Pieces of a report on their own."""

from __future__ import annotations

from maci.report.parts import distribution

SCALE = ("-1", "0", "+1")


def test_the_outcome_that_leads_a_scale_is_marked_and_a_tie_is_not() -> None:
    assert distribution({"-1": 0.6, "0": 0.4}, scale=SCALE).count(">leads<") == 1
    assert ">leads<" not in distribution({"-1": 0.5, "0": 0.5}, scale=SCALE)
    assert ">leads<" not in distribution({"-1": 0.6, "0": 0.4})
