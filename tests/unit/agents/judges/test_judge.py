from __future__ import annotations

import pytest

from maci.agents.judges.crit import CritScore, check_families, shuffled, slots, verdict
from maci.errors import ConfigError, InputError


@pytest.mark.parametrize("wrong", [-0.01, 1.01, float("nan"), float("inf")])
@pytest.mark.parametrize("criterion", ["evidence", "logic", "relevance"])
def test_a_score_out_of_range_is_refused_by_name(criterion: str, wrong: float) -> None:
    with pytest.raises(InputError, match=f"CRIT {criterion} is {wrong}, must be between 0 and 1"):
        CritScore(**{"evidence": 0.5, "logic": 0.5, "relevance": 0.5, criterion: wrong})


def test_a_link_quality_out_of_range_is_refused() -> None:
    with pytest.raises(InputError, match="link quality is 2"):
        CritScore(evidence=0.5, logic=0.5, relevance=0.5, links=(0.5, 2))


def mark(x: float) -> CritScore:
    return CritScore(evidence=x, logic=x, relevance=x)


def test_abstentions_are_counted_and_never_become_a_number() -> None:
    said = verdict([mark(0.9), None, mark(0.7)])
    assert (said.mean, said.scores, said.abstained) == (pytest.approx(0.8), 2, 1)
    assert said.variance == pytest.approx(0.02)
    assert verdict([None, mark(0.4)]).variance is None
    assert verdict([None, None]).mean is None
    assert verdict([]).abstained == 0


def test_every_argument_gets_k_scores_from_fewer_judges_or_one_from_each_of_more() -> None:
    assert [s.id for s in slots(["x"], 3)] == ["x#0", "x#1", "x#2"]
    assert [s.id for s in slots(["x", "y", "z", "w"], 3)] == ["x#0", "y#0", "z#0", "w#0"]


def test_a_judge_of_a_debaters_family_is_refused_with_the_way_out() -> None:
    with pytest.raises(ConfigError, match=r"judge 'j' is of the family 'acme'.*debater 'a'.*crit.same_family=true"):
        check_families([("a", "acme"), ("b", "other")], [("j", "acme")], allowed=False)
    assert check_families([("a", "acme")], [("j", "acme")], allowed=True) == [
        "judge j shares the family 'acme' with debater a"
    ]
    assert check_families([("a", "acme")], [("j", "else")], allowed=False) == []


def test_each_judge_meets_the_arguments_in_an_order_of_its_own_that_never_changes() -> None:
    items = [f"1A{i}" for i in range(8)]
    orders = {slot: shuffled(items, seed=1, round=1, slot=slot) for slot in ("x#0", "y#0")}
    assert orders["x#0"] != orders["y#0"]
    assert sorted(orders["x#0"]) == items
    assert shuffled(items[::-1], seed=1, round=1, slot="x#0") == orders["x#0"]
    assert [i for i in orders["x#0"] if i in items[:4]] == shuffled(items[:4], seed=1, round=1, slot="x#0")
    assert shuffled(items, seed=1, round=2, slot="x#0") != orders["x#0"]
