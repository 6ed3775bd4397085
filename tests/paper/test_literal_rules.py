"""The profile `paper` says what the paper says: each rule by hand, beside what `default` makes of the same round."""

import asyncio

import numpy as np
import pytest

from hash_encoder import HashEncoder
from helpers import arg, closed_round, judge, make_case, of, open_debate, play, result, script, seat, settings, turn
from maci.calibration.profile import calibrate, observe
from maci.cases.case import load_case
from maci.config import PROFILES, Config, build
from maci.controller.decisions import Initialized
from maci.controller.dials import Measured, RoundDials
from maci.controller.fold import start, step
from maci.controller.inputs import Retrieved, TurnTaken, pack
from maci.controller.policies import scheduler
from maci.controller.stop import stop_reason
from maci.controller.triage import regime
from maci.debating.loop import debate
from maci.evidence.span import Span
from maci.moderator.signals import Progress, evidence_quality, flags
from maci.seating.table import opening
from maci.seating.tables import Tables

DEFAULT, PAPER = build("default", {}), build("paper", {})
ABSOLUTE = build("paper", {"plateau.mode": "absolute"})


def test_what_the_profile_changes():
    assert dict(PROFILES["paper"]) == {
        "gate.fit_tau_q": False, "gate.guard": False, "dials.schedule": "plateau", "dials.cl_min": 0.0, "dials.cl_max": 1.0,
        "plateau.mode": "relative", "stop.min_rounds": 1, "stop.d_max": 1.0, "stop.consensus": False,
        "stop.crit_agreement": False, "stop.impasse": False, "stop.starved": False, "dispersion.gate": "all",
        "dispersion.leave_ties": False, "evidence.case": "evidence", "evidence.adapt": False, "evidence.q0": "all",
        "regime.vote_y": 5,
    }  # fmt: skip


# --- Q, eq. (1), and Q₀ -----------------------------------------------------------------------------------------------------


def test_q_by_hand():
    # e = (3,4)/5 and (1,0): mean of unit vectors (.8, .4), length √.8; θ = (1,0): cos = .8/.8944 = .8944
    unit = [np.array([0.6, 0.8], np.float32), np.array([1.0, 0.0], np.float32)]
    assert evidence_quality(unit, np.array([1.0, 0.0], np.float32)) == pytest.approx(0.8944, abs=1e-4)


def opened(config: Config) -> Initialized:
    """Round 0 over a span along θ, which is the core, and one across it."""
    opens = turn(0.8, 0.2, args=[])
    table = seat([script("x", opens), script("y", opens)], [])
    state = start(
        open_debate(table, config.model_copy(update={"crit": config.crit.model_copy(update={"enabled": False})}))
    )
    rows = {"near": np.array([1.0, 0.0], np.float32), "far": np.array([0.0, 1.0], np.float32)}
    found = Retrieved(
        spans=tuple(Span(i, i, "corpus") for i in rows),
        core=("near",),
        vectors={i: pack(row) for i, row in rows.items()},
        theta=pack(rows["near"]),
    )
    state, _ = step(state, found)
    for agent in "xy":
        state, made = step(state, TurnTaken(round=0, agent=agent, turn=opens))
    (first,) = of(Initialized, made)
    return first


def test_q0_is_over_all_retrieved_spans():
    # mean of (1,0) and (0,1) against θ = (1,0): cos 45° = .7071; the core alone is along θ
    assert opened(PAPER).q == pytest.approx(0.7071, abs=1e-4)
    assert opened(DEFAULT).q == pytest.approx(1.0)


def test_phi_is_the_encoder_as_it_is():
    case, phi = load_case("dengue"), HashEncoder()
    literal, ours = (Tables("readers", phi, config).table(case) for config in (PAPER, DEFAULT))
    text = ["High fever with pain behind the eyes."]
    assert literal.encoder.name == phi.name and ours.encoder.name == f"{phi.name}+adapted"
    assert literal.encoder.encode(text) == pytest.approx(phi.encode(text))
    assert ours.encoder.encode(text) != pytest.approx(phi.encode(text))


def test_how_readers_read_is_theirs_and_not_the_moderators():
    case = load_case("dengue")

    async def openings(config):
        table = Tables("readers", HashEncoder(), config).table(case)
        return [event async for event in debate(opening(case, table, config), table)]

    literal, ours = (of(Initialized, asyncio.run(openings(config)))[0] for config in (PAPER, DEFAULT))
    assert literal.beliefs == ours.beliefs and literal.q != ours.q


# --- flags, Appx D -----------------------------------------------------------------------------------------------------------


def test_the_absolute_test_is_on_gains_that_are_not_clipped():
    # entropy rises by .2, then stays. Appx D: Î = −.2, 0; MA(−.2, 0) − MA(−.2) = −.1 + .2 = .1 ≥ ε_I: no plateau.
    # Clipped, both gains were 0 and so was their change.
    rose = [Progress(-0.2, 0.6, 0.5, 0.5, 0.1), Progress(0.0, 0.8, 0.5, 0.5, 0.0)]
    assert not flags(rose, ABSOLUTE.plateau, 1.0).pi_i
    assert flags([Progress(0.0, 0.8, 0.5, 0.5, 0.0)] * 2, ABSOLUTE.plateau, 1.0).pi_i
    # Sect. 3 clips: r_I = MA(0, 0)/… = 0
    assert flags(rose, PAPER.plateau, 1.0).r_i == 0.0 and rose[0].gain == 0.0


def test_a_debate_hands_the_absolute_test_what_was_lost():
    # x and y agree on .9/.1 and fall back to .5/.5: H rises from .469 to 1 bit over 3 outcomes, (.469 − 1)/log₂3 = −.335
    turns = [turn(0.9, 0.1), turn(0.5, 0.5), turn(0.5, 0.5)]
    sets = ("max_rounds=2", "plateau.mode=absolute", "tau_stop=3")
    events = play(seat([script("x", *turns), script("y", *turns)]), settings(*sets, profile="paper"))
    first, second = of(Measured, events)
    assert first.gain == 0.0 and first.pi_i  # −.335 − 0 < ε_I
    assert not second.pi_i  # MA(−.335, 0) + .335 = .168 ≥ ε_I


# --- dials -------------------------------------------------------------------------------------------------------------------


def round_(t: int, **more):
    given = {
        "q": 0.9, "d": 0.5, "o": 1.0, "crit": 0.8, "crit_variance": 0.5, "admitted": 2, "candidates": (), "pi_i": True,
        "pi_d": True, "same_top": False, "dials": RoundDials(0.9, 0.5, 0.3), **more,
    }  # fmt: skip
    return closed_round(round=t, **given)


def test_contentiousness_is_cut_off_at_0_and_gates_rise_whoever_starves():
    # [.3 − .2 − .2]₊ = 0; τ + .1 per component, also where nothing was admitted
    after = scheduler(PAPER).next([round_(2, dials=RoundDials(0.3, 0.5, 0.3), admitted=0)])
    assert (after.cl, after.tau_q, after.tau_crit) == (0.0, pytest.approx(0.6), pytest.approx(0.4))
    assert scheduler(build("default", {"dials.schedule": "plateau"})).next(
        [round_(2, dials=RoundDials(0.3, 0.5, 0.3), admitted=0)]
    ) == RoundDials(0.1, 0.5, 0.3)


# --- stopping, eq. (10) and Appx D -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "literal", "ours"),
    [
        ({}, "plateau", None),  # both plateaus persist, Q ≥ τ_Q, O ≥ τ_O; whatever D is, and in the paper at any CL
        ({"d": 0.2}, "plateau", "plateau"),
        ({"dials": RoundDials(0.5, 0.5, 0.3)}, "plateau", "impasse"),
        ({"pi_i": False}, None, None),
        ({"pi_d": False}, None, None),
        ({"q": 0.49, "d": 0.2}, None, None),
        ({"q": None, "d": 0.2}, None, None),
        ({"o": 0.29, "d": 0.2}, None, None),
        ({"o": 0.29, "d": 0.2, "crit_variance": 0.001}, "crit_stable", None),
        ({"pi_i": False, "crit": 0.29}, "stalemate", "stalemate"),
        ({"pi_i": False, "crit": 0.30}, None, None),
        ({"pi_i": False, "admitted": 0, "q": None}, None, "stalemate"),
        ({"pi_i": False, "d": 0.01, "same_top": True}, None, "consensus"),
    ],
)
def test_stop_rule(changes, literal, ours):
    history = [round_(t, **changes) for t in (1, 2, 3)]
    assert (stop_reason(history, PAPER), stop_reason(history, DEFAULT)) == (literal, ours)


def test_one_round_is_not_tau_stop_rounds():
    assert stop_reason([round_(1, pi_i=False), round_(2)], PAPER) is None
    assert stop_reason([round_(1), round_(2)], PAPER) == "plateau"


@pytest.mark.parametrize("name", ["paper-dengue", "paper-hepatitis"])
def test_agents_that_agree_are_not_said_to_disagree(name):
    case = load_case(name)
    table = Tables("paper", HashEncoder(), PAPER).table(case)

    async def events():
        return [event async for event in debate(opening(case, table, PAPER), table)]

    end = result(asyncio.run(events()))
    assert end.agreed and end.stop_reason in {"plateau", "crit_stable"}
    assert not any("agreement" in warning or "settled" in warning for warning in end.warnings)


def test_a_debate_cut_short_says_whether_its_agents_agree():
    def warned(other, *sets):
        events = play(seat([script("x", turn(0.6, 0.4)), script("y", other)], [judge(score=0.9)]), settings(*sets))
        return " ".join(result(events).warnings)

    assert "same outcome, but the debate ended before it had settled (max_rounds)" in warned(
        turn(0.9, 0.1), "max_rounds=2"
    )
    assert "ended without agreement (max_rounds)" in warned(turn(0.1, 0.9), "max_rounds=2")
    assert "settled" not in warned(turn(0.6, 0.4), "max_rounds=2")  # consensus


def test_a_stalemate_says_what_was_lacking():
    def detail(score, *cited):
        said = turn(0.9, 0.1, args=[arg("It is so.", *cited)])
        other = turn(0.1, 0.9, args=[arg("It is not.", *cited)])
        return result(play(seat([script("x", said), script("y", other)], [judge(score=score)]), settings())).detail

    assert detail(0.1, "e4") == "mean argument quality (CRIT) below 0.3 for 2 rounds"
    assert detail(0.9, "nowhere") == "no admissible argument for 2 rounds"


# --- regime, C_max -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "ece", "literal", "ours"),
    [
        (4, None, "vote", "vote"),
        (5, None, "vote", "depends"),
        (5, 0.05, "vote", "vote"),  # up to 5 outcomes with adequate calibration
        (5, 0.10, "debate", "debate"),  # ECE ≥ δ
        (6, 0.05, "depends", "depends"),
        (20, None, "depends", "depends"),
        (21, None, "debate", "debate"),
    ],
)
def test_regime_by_outcomes(size, ece, literal, ours):
    kinds = [
        regime(size, 0.6, 0.4, 0.9, 1, build(profile, {"regime.vote_ece": ece})).kind
        for profile in ("paper", "default")
    ]
    assert kinds == [literal, ours]


def test_c_max_is_the_95th_percentile_of_tokens_per_round():
    # 20 debates of two rounds that cost 10, 20, …, 400 tokens, after openings of 5,000: rank .95 · 39 = 37.05 of 10 … 400,
    # so 380 + .05 · 10 = 380.5
    def observed(n):
        x = script("x", *(turn(0.9, 0.1, tokens=t) for t in (2500, 20 * n - 10, 20 * n)))
        y = script("y", *(turn(0.2, 0.8, tokens=t) for t in (2500, 0, 0)))
        case = make_case(gold="dengue")
        return observe(play(seat([x, y], [judge()], case), settings("max_rounds=2"), case))

    found = calibrate([observed(n) for n in range(1, 21)])
    assert found.settings["regime.c_max"] == pytest.approx(380.5)
