"""Observable patterns of a debate, with values derived by hand."""

from __future__ import annotations

import pytest

from helpers import arg, play, script, seat, settings, turn
from maci.lab.audit.contentiousness.patterns import NAMES, patterns, table
from maci.story import Story


def test_patterns_of_two_rounds_by_hand() -> None:
    broad, sure = (0.0, 0.5, 0.5), (1.0, 0.0, 0.0)
    first = script(
        "first",
        turn(*broad),
        turn(*broad, args=[arg("It fits.", "e4", outcome="dengue")]),  # reasons: "Because." 1 word
        turn(*sure, args=[arg("Analyst B is right. It may be dengue.", "e4", outcome="dengue")]),
    )
    second = script(
        "second",
        turn(*sure),
        turn(
            *sure,
            args=[arg("Chikungunya should be ruled out.", "e1", outcome="dengue", opposing=("It is not so bad.",))],
        ),
        turn(*sure, args=[arg("So it is.", "e1", outcome="dengue")]),
    )
    events = play(seat([first, second]), settings("min_rounds=2", "max_rounds=2", "dispersion.gate=off"))
    opening, one, two = patterns(Story.of(events))
    log3 = 1.584962500721156
    assert (opening.round, one.round, two.round) == (0, 1, 2)
    assert one.specificity == pytest.approx(((1 - 1 / log3) + 1) / 2)
    assert one.specificity_gap == pytest.approx(1 / log3)
    assert two.specificity == pytest.approx(1.0) and two.specificity_gap == pytest.approx(0.0)
    assert one.reference == 0.5  # the second speaks of chikungunya, with which the first leads
    assert two.reference == 0.5  # the first names an analyst
    assert one.depth == pytest.approx((1 + 6) / 2) and one.depth_gap == 5.0
    assert one.recommendations == 0.5 and two.recommendations == 0.0
    assert two.hedging == pytest.approx(100 * 1 / (8 + 1 + 3 + 1))  # `may`, in 13 words
    assert opening.reference == 0.0
    rows = table((opening, one, two))
    assert rows[0] == ("", "round 0", "round 1", "round 2") and len(rows) == 1 + len(NAMES)


def test_a_round_in_which_nobody_argues_has_no_figures_and_no_zeros() -> None:
    quiet = [script(name, turn(1.0, 0, 0, args=[])) for name in ("a", "b")]
    (_, one) = patterns(Story.of(play(seat(quiet), settings("min_rounds=1", "max_rounds=1"))))
    assert one.reference is None and one.depth is None and one.hedging is None and one.recommendations is None
    assert one.specificity == pytest.approx(1.0)
