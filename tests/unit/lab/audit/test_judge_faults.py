"""Planted faults are found, and judges without fault are left alone."""

from __future__ import annotations

import asyncio

import pytest

from maci.agents.judges.crit import JudgeAbstained
from maci.calibration.stats.estimate import as_json
from maci.lab.audit.judges.audit import ProbePlan, audit
from maci.lab.audit.judges.swaps import pairs_of, presented_both_ways
from maci.llm.budget import Ledger
from maci.llm.usage import Usage
from planted_judges import FAULTS, PlantedJudge, arguments

CHECK = {
    "position": "position",
    "length": "length",
    "own family": "own family",
    "identity": "identity",
    "random": "with the others",
}


def played(fault=None, seed=0, *, judges=None, plan=None, debates=50):
    judges = judges or [
        PlantedJudge(f"first-{seed}", "alpha", FAULTS.get(fault or "")),
        PlantedJudge(f"second-{seed}", "delta"),
        PlantedJudge(f"third-{seed}", "epsilon"),
    ]
    plan = plan or ProbePlan(seed=seed, resamples=300)
    return asyncio.run(audit(arguments(debates, seed=seed), lambda batch: judges, plan)).audit


def bad(found):
    return {(f.check, f.judge.partition("-")[0]) for f in found.findings if f.level == "bad"}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found_and_laid_at_the_right_door(fault):
    found = played(fault, seed=1)
    assert (CHECK[fault], "first") in bad(found)
    assert {judge for _, judge in bad(found)} <= {"first", ""}
    assert found.verdict == "bad"
    advice = next(f.advice for f in found.findings if f.level == "bad" and f.check == CHECK[fault])
    assert advice  # every bad finding says what to do


def test_judges_without_fault_are_not_called_bad():
    """Twelve seeds; `benchmarks/bench_judge_audit.py` counts 100 (docs/decisions/015)."""
    verdicts = [played(seed=seed) for seed in range(12)]
    assert [bad(found) for found in verdicts] == [set()] * 12
    assert all(found.alpha.value > 0.8 for found in verdicts)


def test_effects_have_the_planted_size():
    family = played("own family", seed=2).judges[0].own_family
    assert family.low < 0.10 < family.high  # planted: 0.10
    leak = played("identity", seed=2).judges[0].signed_by_family
    assert leak["beta"].low <= 0.15 + 0.02 and leak["beta"].high >= 0.15 - 0.02
    assert abs(leak["alpha"].value) < 0.02
    # a batch of three: the first is lifted by 0.10, the last is not, the middle is in the middle both times and does not count
    place = played("position", seed=2).judges[0].position
    assert place.low < 0.10 < place.high


def test_a_judge_that_always_says_the_same_is_named():
    class Flat(PlantedJudge):
        async def score(self, request):
            score, usage = await super().score(request)
            return type(score)(evidence=0.7, logic=0.7, relevance=0.7), usage

    found = played(judges=[Flat("flat", "x"), PlantedJudge("b", "y"), PlantedJudge("c", "z")])
    flat = found.judges[0]
    assert flat.constant and not flat.with_rest.defined and "same score" in flat.with_rest.how
    assert flat.spread.value == pytest.approx(0, abs=1e-12)
    assert {("with the others", "flat"), ("spread", "flat")} <= {
        (f.check, f.judge) for f in found.findings if f.level == "bad"
    }


def test_abstentions_are_counted_and_never_become_numbers():
    class Shy(PlantedJudge):
        async def score(self, request):
            if int(request.seed) % 2:
                raise JudgeAbstained("too hard")
            return await super().score(request)

    found = played(judges=[Shy("shy", "x"), PlantedJudge("b", "y"), PlantedJudge("c", "z")])
    shy = found.judges[0]
    assert 0.3 < shy.abstained.value < 0.7 and shy.with_rest.n == round(150 * (1 - shy.abstained.value))
    assert shy.with_rest.value > 0.8  # what it did score, it scored well
    assert any(f.check == "abstentions" and f.judge == "shy" and f.level == "bad" for f in found.findings)


def test_one_judge_alone_is_audited_as_far_as_one_can_be():
    found = played(judges=[PlantedJudge("only", "x", FAULTS["identity"])])
    assert not found.alpha.defined and "one judge" in found.alpha.how
    assert not found.swap_forgiven.defined and found.swaps == ()
    assert ("identity", "only") in {(f.check, f.judge) for f in found.findings if f.level == "bad"}


def test_a_judge_that_compares_is_shown_pairs_both_ways():
    class Comparing(PlantedJudge):
        def __init__(self, name, lean):
            super().__init__(name, "x")
            self.lean = lean

        async def prefer(self, first, second):
            (one, _), (two, _) = await self.score(first), await self.score(second)
            return min(1.0, max(0.0, 0.5 + 2 * (one.composite - two.composite) + self.lean)), Usage()

    fair, leaning = Comparing("fair", 0.0), Comparing("leaning", 0.2)
    found = played(judges=[fair, leaning, PlantedJudge("third", "z")])
    assert abs(found.judges[0].pairs.bias.value) < 0.05
    assert found.judges[1].pairs.bias.low > 0.2  # p + p' - 1 = 2 x 0.2, less where it is clipped
    assert found.judges[2].pairs is None
    assert found.judges[0].pairs.consistent.value > found.judges[1].pairs.consistent.value
    assert ("pairs", "leaning") in {(f.check, f.judge) for f in found.findings if f.level == "bad"}
    assert ("pairs", "fair") not in {(f.check, f.judge) for f in found.findings if f.level == "bad"}
    nobody = asyncio.run(presented_both_ways(fair, pairs_of([], 5)))
    assert not nobody.bias.defined


def test_comparing_pairs_is_paid_from_the_same_ledger_and_ends_with_it():
    class Comparing(PlantedJudge):
        asked = 0

        def ceiling(self, request):
            return 50

        async def prefer(self, first, second):
            self.asked += 1
            return 0.5, Usage(generated=30)

    judge, pairs = Comparing("paid", "x"), pairs_of(arguments(20), 20)
    ledger = Ledger(tokens=300)
    asyncio.run(presented_both_ways(judge, pairs, ledger=ledger))
    # each may cost 100 and costs 30: the 8th begins with 90 left
    assert judge.asked == 7 and ledger.spent.tokens == 210 and ledger.reached == "tokens"


def test_the_same_seed_gives_the_same_audit():
    assert as_json(played(seed=4)) == as_json(played(seed=4))  # undefined is undefined: nan is no equal of itself
