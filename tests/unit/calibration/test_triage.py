"""What development debates teach about escalation."""

import numpy as np
import pytest

from helpers import judge, make_case, play, script, seat, settings, turn
from maci.calibration.triage import PRIOR, Trial, fit_chance, learn_triage, trial
from maci.story import Story


def trial_of(single: bool, vote: bool, debate: bool, *, united: bool = False, p: float = 0.6) -> Trial:
    return Trial(
        single_p=p, single_right=single, vote_p=p, vote_right=vote, united=united, debate_right=debate,
        openings=100, rounds=250,
    )  # fmt: skip


def test_chances_are_those_of_scikit_learn():
    linear = pytest.importorskip("sklearn.linear_model")
    rng = np.random.default_rng(0)
    p = rng.uniform(0.05, 0.95, 400)
    right = rng.uniform(size=400) < p**2
    a, b = fit_chance(p.tolist(), right.tolist(), penalty=1e-8)
    x = np.log(p / (1 - p))[:, None]
    other = linear.LogisticRegression(C=np.inf, tol=1e-10).fit(x, right)
    assert (a, b) == pytest.approx((other.intercept_[0], other.coef_[0, 0]), abs=1e-3)


def test_doubt_never_rises_with_confidence():
    a, b = fit_chance([0.9] * 40 + [0.4] * 40, [False] * 40 + [True] * 40)
    assert b == 0
    assert abs(a) < 0.2  # half of them are right


def test_nothing_seen_is_taken_as_stated():
    assert fit_chance([], []) == (0.0, 1.0)


def test_rates_are_counts_drawn_to_the_assumed_ones():
    trials = [trial_of(False, True, True)] * 3 + [trial_of(False, False, True)] * 1 + [trial_of(True, True, False)] * 4
    found = learn_triage(trials)
    # single wrong 4, of which the vote puts 3 right; assumed 0.40
    assert found.settings["triage.vote_rescue"] == pytest.approx((3 + PRIOR * 0.40) / (4 + PRIOR), abs=1e-6)
    assert found.settings["triage.vote_harm"] == pytest.approx((0 + PRIOR * 0.12) / (4 + PRIOR), abs=1e-6)
    # vote right 7, of which the debate turns 4 wrong; assumed 0.15
    assert found.settings["triage.debate_harm"] == pytest.approx((4 + PRIOR * 0.15) / (7 + PRIOR), abs=1e-6)
    assert found.settings["triage.debate_cost"] == pytest.approx(2.5)
    assert found.settings["triage.learned_from"] == 8
    assert found.accuracy == {"one agent": 0.5, "vote": 7 / 8, "debate": 0.5}


def test_settings_are_ones_a_debate_can_use():
    found = learn_triage([trial_of(True, True, True, united=True, p=1.0)] * 30)
    own = settings(*(f"{key}={value}" for key, value in found.settings.items())).triage
    assert own.learned_from == 30


def test_a_whole_debate_shows_all_three_stages():
    first = script("first", turn(0.7, 0.2, 0.1, tokens=10), *[turn(0.2, 0.7, 0.1, tokens=5)] * 9)
    second = script("second", turn(0.1, 0.8, 0.1, tokens=10), *[turn(0.2, 0.7, 0.1, tokens=5)] * 9)
    events = play(seat([first, second], [judge()]))
    seen = trial(Story.of(events), "chikungunya")
    assert seen is not None
    assert (seen.single_right, seen.vote_right, seen.debate_right, seen.united) == (False, True, True, False)
    assert seen.single_p == pytest.approx(0.7)
    assert seen.vote_p == pytest.approx(0.5)
    assert (seen.openings, seen.rounds) == (20, events[-1].tokens - 20)


def test_a_run_that_triage_cut_short_teaches_nothing():
    sure = [script(name, *[turn(0.99, 0.005, 0.005, tokens=10)] * 9) for name in ("first", "second")]
    events = play(seat(sure), settings("triage.enabled=true"), make_case())
    assert events[-1].stop_reason == "triage"
    assert trial(Story.of(events), "dengue") is None
