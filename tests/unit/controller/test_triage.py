"""The rule of `maci ask`: gain against cost. Expected values are worked out by hand."""

import math

import pytest

from helpers import settings
from maci.config import Config
from maci.controller.triage import BY_REGIME, Rates, chance_right, checks, gain, prospects

TAUGHT = (
    "triage.learned_from=100", "triage.vote_rescue=0.5", "triage.vote_harm=0.1", "triage.debate_rescue=0.4",
    "triage.debate_harm=0.05", "triage.united_rescue=0.01", "triage.united_harm=0.02", "triage.whole_rescue=0.6",
    "triage.whole_harm=0.1", "triage.debate_cost=2", "triage.worth=100",
)  # fmt: skip


def test_gain_is_rescued_less_spoilt():
    # 0.4 · 0.5 − 0.05 · 0.5
    assert gain(0.5, Rates(0.4, 0.05)) == pytest.approx(0.175)


def test_what_is_certain_can_only_be_spoilt_and_what_is_surely_wrong_only_mended():
    assert gain(1.0, Rates(0.4, 0.05)) == pytest.approx(-0.05)
    assert gain(0.0, Rates(0.4, 0.05)) == pytest.approx(0.4)


def test_chance_follows_the_logistic_map():
    # logit 0.8 = ln 4; σ(−1 + 0.5 ln 4) = 1 / (1 + e / 2)
    assert chance_right(0.8, -1.0, 0.5) == pytest.approx(1 / (1 + math.e / 2))


@pytest.mark.parametrize("p", [0.0, 1.0])
def test_chance_of_certainty_is_defined(p):
    assert 0 <= chance_right(p, 0.0, 1.0) <= 1


def test_a_step_pays_only_above_its_cost():
    config = settings(*TAUGHT)
    # gain 0.4·0.6 − 0.05·0.4 = 0.22: 22 points, worth 2,200 tokens; the rounds cost twice the openings
    [cheap] = prospects("vote", 0.4, "vote", united=False, agents=3, tokens=1099, config=config)
    [dear] = prospects("vote", 0.4, "vote", united=False, agents=3, tokens=1100, config=config)
    assert (cheap.gain, cheap.worth) == pytest.approx((0.22, 2200))
    assert (cheap.tokens, cheap.pays) == (2198, True)
    assert (dear.tokens, dear.pays) == (2200, False)


def test_after_one_agent_both_ways_further_are_weighed():
    vote, debate = prospects("single", 0.5, "vote", united=True, agents=3, tokens=1000, config=settings(*TAUGHT))
    # two more openings; then twice what three openings cost
    assert (vote.to, vote.tokens) == ("vote", 2000)
    assert (debate.to, debate.tokens) == ("debate", 8000)
    assert vote.gain == pytest.approx(0.5 * 0.5 - 0.1 * 0.5)
    assert debate.gain == pytest.approx(0.6 * 0.5 - 0.1 * 0.5)


def test_a_united_vote_has_rates_of_its_own():
    config = settings(*TAUGHT)
    [split] = prospects("vote", 0.3, "vote", united=False, agents=3, tokens=10, config=config)
    [united] = prospects("vote", 0.3, "vote", united=True, agents=3, tokens=10, config=config)
    assert split.pays
    assert united.gain == pytest.approx(0.01 * 0.7 - 0.02 * 0.3)


def test_no_gain_never_pays_even_where_it_costs_nothing():
    [step] = prospects("vote", 1.0, "vote", united=False, agents=3, tokens=0, config=Config())
    assert step.tokens == 0 and not step.pays


def test_without_a_profile_each_regime_has_its_rates():
    for kind, rates in BY_REGIME.items():
        [step] = prospects("vote", 0.5, kind, united=False, agents=2, tokens=10, config=Config())
        assert step.gain == pytest.approx(gain(0.5, rates.debate))


def test_many_outcomes_make_debate_more_promising_than_few():
    few, many = BY_REGIME["vote"].debate, BY_REGIME["debate"].debate
    assert gain(0.5, many) > gain(0.5, few)


def test_checks_name_every_test_of_the_regime_and_undefined_never_holds():
    found = checks(30, None, None, None, 1, settings("regime.vote_ece=0.2"))
    assert [check.name for check in found] == [
        "outcomes", "outcomes", "outcomes", "Q₀", "D₀", "sources", "O₀", "ECE of a vote",
    ]  # fmt: skip
    assert [check.threshold for check in found if check.holds] == [20, 0.1]
