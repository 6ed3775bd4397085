"""What openings teach about agents: by hand, by simulation, and beside SciPy."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize

from maci.calibration import weights as learn
from maci.calibration.weights import Learnt, Opening, learn_agents
from maci.config import build
from maci.errors import InputError
from maci.lab.datasets import load

AB = ("a", "b")
FIVE = ("a", "b", "c", "d", "e")


def letters(
    rng: np.random.Generator, n: int, accuracy: Sequence[float], names: Sequence[str] = FIVE, absent: float = 0.0
) -> tuple[list[Opening], list[str], list[Sequence[str]]]:
    """Agents u0, u1, … that are right with a known probability, independently, and else name any other outcome."""
    gold = [names[i] for i in rng.integers(len(names), size=n)]
    openings: list[Opening] = []
    for true in gold:
        said: dict[str, dict[str, float] | None] = {}
        for u, right in enumerate(accuracy):
            wrong = [name for name in names if name != true]
            answer = true if rng.random() < right else wrong[rng.integers(len(wrong))]
            said[f"u{u}"] = None if rng.random() < absent else {answer: 1.0}
        openings.append(said)
    return openings, gold, [names] * n


def stated(rng: np.random.Generator, n: int, temperature: float) -> tuple[list[Opening], list[str]]:
    """An agent whose log-probabilities are ``1/temperature`` times what they should be, so T = 1/that makes them true."""
    openings: list[Opening] = []
    gold = []
    for _ in range(n):
        honest = rng.dirichlet(np.ones(5))
        gold.append(FIVE[rng.choice(5, p=honest)])
        said = honest**temperature / (honest**temperature).sum()
        openings.append({"u": dict(zip(FIVE, said.tolist(), strict=True)), "v": {"a": 0.5, "b": 0.5}})
    return openings, gold


# --- how each agent is taken -------------------------------------------------------------------------------------------------


def test_doubt_of_letters_is_what_makes_their_accuracy_true() -> None:
    # 30 of 40 right over 2 outcomes, with half a right and half a wrong answer added: 30.5/41 = 1 − ε/2 ⇒ ε = 0.512
    openings: list[Opening] = [{"u": {"a": 1.0}, "v": {"b": 1.0}}] * 40
    learnt = learn_agents(openings, ["a"] * 30 + ["b"] * 10, [AB] * 40)
    assert learnt.doubt["u"] == pytest.approx(2 * (1 - 30.5 / 41), abs=0.003)
    assert (
        learnt.doubt["v"] == 0.99
    )  # 10 of 40 right is worse than chance: hardly believed, but its lead stays its lead
    assert learnt.temperature == {"u": 1, "v": 1}


def test_doubt_counts_how_many_outcomes_there_were() -> None:
    # right on 3 of 4 throughout: over 2 outcomes a guess is right half the time, so knowledge is less and doubt is more than over 5
    def doubt(names: Sequence[str]) -> float:
        openings: list[Opening] = [{"u": {"a": 1.0}}] * 400
        return learn_agents(openings, (["a"] * 3 + ["b"]) * 100, [names] * 400).doubt["u"]

    assert doubt(AB) == pytest.approx(0.5, abs=0.01)  # ε(1 − 1/2) = 1/4
    assert doubt(FIVE) == pytest.approx(0.3125, abs=0.01)  # ε(1 − 1/5) = 1/4


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.5])
def test_a_known_temperature_is_recovered(temperature: float) -> None:
    openings, gold = stated(np.random.default_rng(1), 1500, temperature)
    learnt = learn_agents(openings, gold, [FIVE] * len(gold))
    assert learnt.temperature["u"] == pytest.approx(temperature, rel=0.15)
    assert 0 < learnt.doubt["u"] <= 0.05


def test_known_doubts_are_recovered() -> None:
    openings, gold, names = letters(np.random.default_rng(2), 2000, (0.9, 0.6, 0.2))
    learnt = learn_agents(openings, gold, names)
    # accuracy = 1 − ε(1 − 1/5)
    assert learnt.doubt["u0"] == pytest.approx(0.1 / 0.8, abs=0.03)
    assert learnt.doubt["u1"] == pytest.approx(0.4 / 0.8, abs=0.05)
    assert learnt.doubt["u2"] > 0.93


def test_abstentions_say_nothing_of_an_agent() -> None:
    openings, gold, names = letters(np.random.default_rng(3), 400, (0.8, 0.6))
    silent: list[Opening] = [{**said, "u0": None} for said in openings]
    more = learn_agents([*openings, *silent], [*gold, *gold], [*names, *names])
    once = learn_agents(openings, gold, names)
    assert more.doubt["u0"] == once.doubt["u0"]
    missing = learn_agents([*openings, *({"u1": said["u1"]} for said in openings)], [*gold, *gold], [*names, *names])
    assert missing == more  # not named is the same as None


# --- how much each weighs ----------------------------------------------------------------------------------------------------


def test_a_random_agent_weighs_next_to_nothing() -> None:
    openings, gold, names = letters(np.random.default_rng(4), 1500, (0.8, 0.7, 0.2, 0.2), absent=0.1)
    learnt = learn_agents(openings, gold, names)
    assert learnt.prior["u0"] > learnt.prior["u1"] > 1
    assert max(learnt.prior["u2"], learnt.prior["u3"]) < 0.15
    assert sum(learnt.prior.values()) == pytest.approx(4)


def test_few_cases_leave_the_weights_nearly_equal_and_many_do_not() -> None:
    """One answers as another does: reliability alone would count that answer twice."""
    openings, gold, names = letters(np.random.default_rng(6), 2000, (0.75, 0.75))
    doubled: list[Opening] = [{**said, "copy": said["u0"]} for said in openings]
    few = learn_agents(doubled[:20], gold[:20], names[:20]).prior
    assert all(0.8 < weight < 1.2 for weight in few.values())
    many = learn_agents(doubled, gold, names).prior
    assert many["u0"] == pytest.approx(many["copy"], rel=1e-3)
    assert many["u0"] + many["copy"] < 1.5 * many["u1"]


def test_agents_that_differ_only_in_how_often_they_are_right_differ_in_doubt_and_hardly_in_weight() -> None:
    # of independent agents the best pull is the log-odds: ln(4a/(1 − a)) is 2.77 and 2.23; 1 − ε is 0.75 and 0.625; 3.70 and 3.57 times
    openings, gold, names = letters(np.random.default_rng(12), 4000, (0.8, 0.7))
    learnt = learn_agents(openings, gold, names)
    assert learnt.prior["u0"] / learnt.prior["u1"] == pytest.approx(3.70 / 3.57, abs=0.15)


def test_fewer_than_twenty_answers_teach_nothing_of_an_agent() -> None:
    openings, gold, names = letters(np.random.default_rng(7), 200, (0.9, 0.6))
    rare: list[Opening] = [{**said, "rare": {gold[n]: 1.0} if n < 19 else None} for n, said in enumerate(openings)]
    learnt = learn_agents(rare, gold, names)
    assert (learnt.temperature["rare"], learnt.doubt["rare"], learnt.prior["rare"]) == (1, 0, 1)
    assert "rare: 19 dev answers, 20 are needed" in learnt.notes[0]
    assert learnt.prior["u0"] > learnt.prior["u1"]


def test_nothing_to_learn_from_is_not_an_error() -> None:
    assert learn_agents([], [], []) == Learnt()
    assert learn_agents([{"u": None}], ["a"], [AB]).n == 0


def test_cases_nobody_could_have_got_right_are_left_out() -> None:
    openings, gold, names = letters(np.random.default_rng(8), 100, (0.8, 0.6))
    more = learn_agents([*openings, {"u0": {"a": 1.0}}], [*gold, "unheard of"], [*names, FIVE])
    assert more == learn_agents(openings, gold, names)


def test_the_logit_is_the_one_of_scipy() -> None:
    openings, gold, names = letters(np.random.default_rng(9), 300, (0.8, 0.6, 0.4, 0.15), absent=0.2)
    table = learn._tabulate(openings, gold, names, ("u0", "u1", "u2", "u3"))

    towards = np.array([0.9, 0.6, 0.3, 0.1])

    def cost(theta: np.ndarray) -> float:
        scores = np.einsum("u,nuk->nk", theta, table.p)
        chosen = scores[np.arange(len(scores)), table.gold]
        spread = ((theta - towards * (theta @ towards) / (towards @ towards)) ** 2).sum()
        return float((np.log(np.exp(scores).sum(axis=1)) - chosen).sum() + 0.5 * 3 * spread + 0.005 * (theta**2).sum())

    found = minimize(
        cost, np.full(4, 0.5), bounds=[(0, None)] * 4, method="L-BFGS-B", options={"ftol": 1e-14, "gtol": 1e-9}
    )
    assert learn._logit(table.p, table, 3.0, towards) == pytest.approx(found.x, abs=2e-3)
    assert found.x[3] == 0  # worse than chance


def test_em_finds_the_highest_likelihood_of_the_linear_pool() -> None:
    openings, gold, names = letters(np.random.default_rng(10), 300, (0.7, 0.6, 0.3), absent=0.3)
    table = learn._tabulate(openings, gold, names, ("u0", "u1", "u2"))
    table = table.rows(table.said.any(axis=1))
    own = learn._fit_own(table)
    at = table.at_gold(own.settle(table))

    def cost(logs: np.ndarray) -> float:
        omega = np.exp(logs) / np.exp(logs).sum()
        given = np.log((omega * at).sum(axis=1)) - np.log((omega * table.said).sum(axis=1))
        return -float(given.sum() + 10 * np.log(omega).mean())

    found = minimize(cost, np.zeros(3), method="BFGS").x
    best = np.exp(found) / np.exp(found).sum()
    assert cost(np.log(learn._em(table, own))) == pytest.approx(cost(np.log(best)), abs=0.05)
    assert learn._em(table, own) == pytest.approx(best, abs=0.02)


def test_a_mixture_of_letters_can_be_sharpened_into_a_logit() -> None:
    """q ∝ ((1 − κ) m + κ/K)^{1/T} → exp(c m) as κ → 1 with T = (1 − κ) K/(κ c)."""
    m, c = np.array([0.6, 0.3, 0.1, 0.0, 0.0]), 5.0
    logit = np.exp(c * m) / np.exp(c * m).sum()
    apart = []
    for kappa in (0.9, 0.99, 0.999):
        t = (1 - kappa) * 5 / (kappa * c)
        logs = np.log((1 - kappa) * m + kappa / 5) / t
        q = np.exp(logs - logs.max())
        apart.append(float(np.abs(q / q.sum() - logit).max()))
    assert apart[0] > apart[1] > apart[2] and apart[2] < 0.003


# --- what comes of it --------------------------------------------------------------------------------------------------------


def test_settings_are_settings_of_a_debate() -> None:
    learnt = Learnt(temperature={"u": 2.0, "v": 1.0}, doubt={"u": 0.0, "v": 0.25}, prior={"u": 1.5, "v": 0.5})
    settings = learnt.settings()
    assert settings == {
        "calibration.agents": {"u": 2.0}, "calibration.doubt": {"v": 0.25}, "reliability.prior": {"u": 1.5, "v": 0.5},
    }  # fmt: skip
    config = build("default", settings)
    assert config.reliability.prior == {"u": 1.5, "v": 0.5} and config.calibration.doubt == {"v": 0.25}
    assert Learnt().settings() == {}


def test_a_weight_is_never_zero_since_settings_must_be_above_it() -> None:
    openings, gold, names = letters(np.random.default_rng(11), 800, (0.9, 0.05))
    prior = learn_agents(openings, gold, names).prior
    assert 0 < prior["u1"] < 0.5 and math.isclose(sum(prior.values()), 2)


def test_what_does_not_fit_together_is_refused() -> None:
    with pytest.raises(InputError, match="have 1, 2 and 1 entries: give one of each per case"):
        learn_agents([{"u": {"a": 1.0}}], ["a", "b"], [AB])
    with pytest.raises(InputError, match="u holds 'z', which is not among the labels of its case"):
        learn_agents([{"u": {"z": 1.0}}], ["a"], [AB])


DATA = Path(os.environ.get("MACI_DATA") or "missing")


@pytest.mark.skipif(not (DATA / "mmlu_pro_panel").is_dir(), reason="mmlu_pro_panel is not here: set MACI_DATA")
def test_on_recorded_models_half_of_dev_teaches_weights_that_are_better_than_a_vote_on_the_other_half() -> None:
    items = load("mmlu_pro_panel", DATA, seed=0, options={}).dev
    said: list[Opening] = [
        {m: None if t.answer is None else {t.answer: 1.0} for m, t in item.recorded.openings.items()}
        for item in items
        if item.recorded is not None
    ]
    gold, names = [str(item.case.gold) for item in items], [item.case.outcomes.labels for item in items]
    half = len(items) // 2
    learnt = learn_agents(said[:half], gold[:half], names[:half])

    def right(weight: Mapping[str, float]) -> int:
        count = 0
        for opening, true, labels in zip(said[half:], gold[half:], names[half:], strict=True):
            votes = {y: sum(weight[m] for m, p in opening.items() if p and y in p) for y in labels}
            count += max(votes, key=lambda y: votes[y]) == true
        return count

    pull = {m: w * (1 - learnt.doubt[m]) for m, w in learnt.prior.items()}
    assert right(pull) > right(dict.fromkeys(pull, 1.0)) + 0.02 * half
    assert learnt.prior["gpt-4o-2024-05"] > 1 > learnt.prior["mistral-7b-instruct-v0.2"]
