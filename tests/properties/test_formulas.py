"""What must hold of the formulas for every input, not only for the examples in the paper."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import scipy.stats
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from helpers import closed_round
from maci.config import Config
from maci.controller.dials import ClosedRound, RoundDials
from maci.controller.policies import PlateauSchedule, next_gates
from maci.errors import BeliefError
from maci.moderator.belief import entropy, read, smooth, temper, total_variation
from maci.moderator.divergence import (
    analyse,
    cross_entropy,
    disagreement,
    dispersion,
    jsd,
    shared_information,
    wasserstein,
    weighted_jsd,
)
from maci.moderator.gate import Candidate, Thresholds, passes, reverts
from maci.moderator.signals import Progress, flags, information_gain, jaccard, overlap, ratios, update, weights

THOROUGH = settings(max_examples=1000, deadline=None)
UNIT = st.floats(0, 1)


@st.composite
def beliefs(draw: st.DrawFn, agents: st.SearchStrategy[int] = st.integers(2, 6)) -> np.ndarray:
    """M rows over |𝒴| outcomes, many of them with zeros, ties and certainties."""
    shape = (draw(agents), draw(st.integers(2, 50)))
    mass = st.one_of(st.just(0.0), st.just(1.0), st.floats(1e-12, 1.0))
    raw = draw(arrays(np.float64, shape, elements=mass, fill=st.just(0.0)))
    raw[raw.sum(axis=1) == 0, draw(st.integers(0, shape[1] - 1))] = 1.0
    return raw / raw.sum(axis=1, keepdims=True)


DELTAS = st.sampled_from([0.0, 1e-6, 1e-3])


@THOROUGH
@given(beliefs(), DELTAS, st.randoms(use_true_random=False))
def test_jsd_is_between_0_and_1_and_does_not_care_who_is_who(p: np.ndarray, delta: float, rng: object) -> None:
    d = jsd(p, delta)
    assert 0 <= d <= 1
    order = list(range(len(p)))
    rng.shuffle(order)  # type: ignore[attr-defined]
    assert jsd(p[order], delta) == pytest.approx(d, abs=1e-9)


@THOROUGH
@given(beliefs(agents=st.just(2)))
def test_jsd_is_0_for_equal_beliefs_and_1_for_disjoint_ones(p: np.ndarray) -> None:
    assert jsd(np.stack([p[0], p[0]])) == pytest.approx(0, abs=1e-9)
    apart = np.stack([np.concatenate([p[0], np.zeros_like(p[1])]), np.concatenate([np.zeros_like(p[0]), p[1]])])
    assert jsd(apart) == pytest.approx(1, abs=1e-9)


@THOROUGH
@given(beliefs(), st.data())
def test_weighted_jsd_is_between_0_and_1_and_equals_jsd_under_equal_weights(p: np.ndarray, data: st.DataObject) -> None:
    gammas = data.draw(st.lists(UNIT, min_size=len(p), max_size=len(p)))
    assert -1e-12 <= weighted_jsd(p, weights(gammas, floor=1e-6)) <= 1
    assert weighted_jsd(p, weights([0.5] * len(p), floor=1e-6)) == pytest.approx(jsd(p), abs=1e-9)


@THOROUGH
@given(beliefs())
def test_dispersion_is_the_mean_kl_to_the_mean(p: np.ndarray) -> None:
    assert dispersion(p) == pytest.approx(
        np.mean([scipy.stats.entropy(row, p.mean(axis=0), base=2) for row in p]), abs=1e-9
    )


@st.composite
def scales(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    p = draw(beliefs())
    gaps = draw(st.lists(st.floats(1e-3, 1e3), min_size=p.shape[1] - 1, max_size=p.shape[1] - 1))
    return p, draw(st.floats(-1e3, 1e3)) + np.concatenate([[0.0], np.cumsum(gaps)])


@THOROUGH
@given(scales())
def test_w1_is_between_0_and_1_symmetric_and_0_only_between_equals(scale: tuple[np.ndarray, np.ndarray]) -> None:
    p, x = scale
    forward, backward = wasserstein(p[0], p[1], x), wasserstein(p[1], p[0], x)
    assert 0 <= forward <= 1
    assert forward == pytest.approx(backward, abs=1e-12)
    assert wasserstein(p[0], p[0], x) == 0
    assert 0 <= disagreement(p, x) <= 1
    assert disagreement(p[::-1], x) == pytest.approx(disagreement(p, x), abs=1e-12)


@THOROUGH
@given(scales())
def test_w1_obeys_the_triangle_and_ignores_shift_and_stretch(scale: tuple[np.ndarray, np.ndarray]) -> None:
    p, x = scale
    assume(len(p) > 2)
    assert wasserstein(p[0], p[2], x) <= wasserstein(p[0], p[1], x) + wasserstein(p[1], p[2], x) + 1e-9
    assert wasserstein(p[0], p[1], 3 * x + 5) == pytest.approx(wasserstein(p[0], p[1], x), abs=1e-6)


@THOROUGH
@given(beliefs(agents=st.just(2)))
def test_shared_information_is_symmetric_in_range_1_iff_equal(p: np.ndarray) -> None:
    value = shared_information(p[0], p[1])
    assert 0 <= value <= 1
    assert value == pytest.approx(shared_information(p[1], p[0]), abs=1e-12)
    assert shared_information(p[0], p[0]) == pytest.approx(1, abs=1e-9)


@THOROUGH
@given(beliefs(), DELTAS, st.booleans())
def test_analysis_is_defined_and_in_range_for_every_table(p: np.ndarray, delta: float, knows_gold: bool) -> None:
    omega = weights([0.5] * len(p), floor=1e-6)
    figures = analyse(
        p,
        omega,
        omega @ p,
        p[0],
        size=p.shape[1],
        delta=delta,
        gold=0 if knows_gold else None,
        positions=None,
        metric=None,
    )
    assert 0 <= figures.shared_information <= 1  # type: ignore[operator]
    assert 0 <= figures.w1_agents <= 1 + 1e-9  # type: ignore[operator]
    assert figures.weighted_jsd is not None and -1e-9 <= figures.weighted_jsd <= 1 + 1e-9
    assert figures.cross_entropy >= -1e-9 and not np.isnan(figures.cross_entropy)
    assert figures.kl_forward is not None and figures.kl_forward >= -1e-9
    assert figures.kl_backward is not None and figures.kl_backward >= -1e-9


def kl(p: np.ndarray, q: np.ndarray, delta: float) -> float:
    return float(scipy.stats.entropy(smooth(p, delta), smooth(q, delta), base=2))


def shared(p: np.ndarray, q: np.ndarray) -> float:
    scale = max(entropy(p), entropy(q))
    if scale == 0:
        return float(np.array_equal(p, q))
    both = (p > 0) & (q > 0)
    return float(np.minimum(p, q)[both] @ -np.log2(np.maximum(p, q)[both])) / scale


@THOROUGH
@given(beliefs(), st.sampled_from([1e-6, 1e-3]))
def test_analysis_of_all_pairs_at_once_is_the_mean_of_the_formulas_pair_by_pair(p: np.ndarray, delta: float) -> None:
    omega = weights([0.3 + 0.1 * i for i in range(len(p))], floor=1e-6)
    size = p.shape[1]
    got = analyse(p, omega, omega @ p, p[0], size=size, delta=delta, gold=None, positions=None, metric=None)
    pairs = list(combinations(p, 2))
    assert got.kl_forward == pytest.approx(np.mean([kl(a, b, delta) for a, b in pairs]), abs=1e-7)
    assert got.kl_backward == pytest.approx(np.mean([kl(b, a, delta) for a, b in pairs]), abs=1e-7)
    assert got.shared_information == pytest.approx(np.mean([shared(a, b) for a, b in pairs]), abs=1e-7)
    assert got.w1_agents == pytest.approx(np.mean([total_variation(a, b) for a, b in pairs]), abs=1e-9)
    assert got.weighted_jsd == pytest.approx(weighted_jsd(p, omega), abs=1e-7)
    assert got.w1_mixture == pytest.approx(total_variation(omega @ p, p[0]), abs=1e-9)


@THOROUGH
@given(beliefs(agents=st.just(2)), DELTAS)
def test_cross_entropy_is_least_at_the_truth(p: np.ndarray, delta: float) -> None:
    assert cross_entropy(p[0], p[1], p.shape[1], delta) >= cross_entropy(p[0], p[0], p.shape[1], 0) - 1e-5


@THOROUGH
@given(st.lists(UNIT, min_size=1, max_size=8), st.floats(1e-12, 1))
def test_weights_are_positive_and_sum_to_1(gammas: list[float], floor: float) -> None:
    omega = weights(gammas, floor=floor)
    assert omega.sum() == pytest.approx(1, abs=1e-12)
    assert (omega > 0).all()
    assert (np.diff(omega[np.argsort(gammas, kind="stable")]) >= 0).all()  # who argued better never weighs less


@THOROUGH
@given(UNIT, st.lists(st.one_of(st.none(), UNIT), max_size=20), UNIT)
def test_reliability_stays_in_range_and_moves_only_with_scores(gamma: float, scores: list, decay: float) -> None:
    for score in scores:
        after = update(gamma, score, decay=decay)
        assert 0 <= after <= 1
        assert score is not None or after == gamma
        gamma = after


@THOROUGH
@given(beliefs(), st.floats(0, 1))
def test_lemma_1_noiseless_averaging_contracts_dispersion(p: np.ndarray, beta: float) -> None:
    after = (1 - beta) * p + beta * p.mean(axis=0)
    assert dispersion(after) <= (1 - beta) * dispersion(p) + 1e-9


@THOROUGH
@given(beliefs(), st.floats(0.05, 1))
def test_lemma_1_over_many_rounds_is_geometric(p: np.ndarray, beta: float) -> None:
    start, now = dispersion(p), p
    for t in range(1, 6):
        now = (1 - beta) * now + beta * now.mean(axis=0)
        assert dispersion(now) <= (1 - beta) ** t * start + 1e-9


@THOROUGH
@given(beliefs(agents=st.just(2)))
def test_information_gain_entropy_and_variation_are_in_range(p: np.ndarray) -> None:
    n = p.shape[1]
    assert 0 <= information_gain(p[0], p[1], n) <= 1 + 1e-9
    assert information_gain(p[0], p[1], 1) == 0
    assert 0 <= entropy(p[0]) <= np.log2(n) + 1e-9
    assert 0 <= total_variation(p[0], p[1]) <= 1 + 1e-9


@THOROUGH
@given(beliefs(agents=st.just(2)), st.floats(0.01, 100), st.floats(0, 0.1))
def test_smoothing_and_tempering_keep_a_distribution_and_its_order(
    p: np.ndarray, temperature: float, delta: float
) -> None:
    q, s = temper(p[0], temperature), smooth(p[0], delta)
    assert q.sum() == pytest.approx(1) and (q >= 0).all()
    assert s.sum() == pytest.approx(1) and (s >= 0).all()
    assert q[p[0].argmax()] == q.max()
    assert ((p[0] == 0) <= (q == 0)).all()  # what was impossible stays so


@THOROUGH
@given(st.lists(st.sets(st.sampled_from("abcdef"), max_size=6), min_size=2, max_size=5))
def test_overlap_is_in_range_or_undefined_and_ignores_order(cited: list) -> None:
    o = overlap(cited)
    assert (o is None) == (sum(map(bool, cited)) == 0)
    if o is not None:
        assert 0 <= o <= 1
        assert overlap(cited[::-1]) == pytest.approx(o)
    assert jaccard(cited[0], cited[1]) == jaccard(cited[1], cited[0])


STATED = st.dictionaries(
    st.sampled_from("abcdef"), st.floats(allow_nan=True, allow_infinity=True, width=32), max_size=6
)


@THOROUGH
@given(STATED, st.sampled_from([None, "other"]))
def test_a_stated_belief_is_read_as_a_distribution_or_refused_with_a_reason(stated: dict, rest: str | None) -> None:
    try:
        p, note = read(stated, 0.1, rest)
    except BeliefError:
        return
    assert sum(p.values()) == pytest.approx(1, abs=1e-8)
    assert min(p.values()) >= 0
    assert (note is None) == (abs(sum(stated.values()) - 1) <= 1e-9)


PROBABLE = st.one_of(st.none(), UNIT)


@st.composite
def histories(draw: st.DrawFn, guards: st.SearchStrategy[bool] = st.booleans()) -> tuple[Config, list[ClosedRound]]:
    """Rounds as a schedule may see them, each under the dials the schedule set before."""
    config = Config.model_validate(
        {
            "gate": {
                "tau_q": draw(UNIT),
                "tau_crit": draw(UNIT),
                "tau_max": draw(UNIT),
                "gamma": draw(UNIT),
                "guard": draw(guards),
                "q_gate": draw(st.booleans()),
            },
            "dials": {"alpha_i": draw(UNIT), "alpha_d": draw(UNIT), "cl_min": draw(st.floats(0, 0.4))},
            "crit": {"enabled": draw(st.booleans())},
        }
    )
    plan = PlateauSchedule(config)
    dials = RoundDials(plan.first(draw(PROBABLE), draw(PROBABLE)), config.gate.tau_q, config.gate.tau_crit)
    rounds: list[ClosedRound] = []
    for t in range(1, draw(st.integers(1, 5)) + 1):
        rounds.append(
            closed_round(
                round=t,
                dials=dials,
                q=None,
                d=None,
                o=None,
                crit=None,
                crit_variance=None,
                admitted=draw(st.integers(0, 2)),
                candidates=tuple(
                    Candidate(f"{t}{who}1", who, draw(PROBABLE), draw(PROBABLE))
                    for who in draw(st.sampled_from(["", "A", "AB"]))
                ),
                pi_i=draw(st.booleans()),
                pi_d=draw(st.booleans()),
                same_top=True,
            )
        )
        dials = plan.next(rounds)
    return config, rounds


@THOROUGH
@given(histories())
def test_under_plateau_contentiousness_never_rises(history: tuple[Config, list[ClosedRound]]) -> None:
    config, rounds = history
    levels = [s.dials.cl for s in rounds] + [PlateauSchedule(config).next(rounds).cl]
    assert levels == sorted(levels, reverse=True)
    assert all(config.dials.cl_min <= cl <= config.dials.cl_max for cl in levels)


@THOROUGH
@given(histories())
def test_under_plateau_gates_never_loosen_nor_pass_tau_max(history: tuple[Config, list[ClosedRound]]) -> None:
    config, rounds = history
    after = PlateauSchedule(config).next(rounds)
    for gate in ("tau_q", "tau_crit"):
        levels = [getattr(s.dials, gate) for s in rounds] + [getattr(after, gate)]
        assert levels == sorted(levels)
        assert levels[-1] <= max(levels[0], config.gate.tau_max)


@THOROUGH
@given(histories(guards=st.just(True)))
def test_a_guarded_gate_rises_only_where_half_of_the_recent_candidates_still_pass(history: tuple) -> None:
    config, rounds = history
    tau_q, tau_crit = next_gates(rounds, config)
    if (tau_q, tau_crit) == (rounds[-1].dials.tau_q, rounds[-1].dials.tau_crit):
        return
    recent = [c for s in rounds[-3:] for c in s.candidates]
    gate = Thresholds(tau_q if config.gate.q_gate else None, tau_crit if config.crit.enabled else None)
    passing = [c for c in recent if passes(c, gate)]
    assert rounds[-1].signals.pi_i and rounds[-1].admitted
    assert 2 * len(passing) >= len(recent) > 0
    assert {c.agent for c in passing} == {c.agent for c in recent}


@st.composite
def progress(draw: st.DrawFn) -> list[Progress]:
    count = draw(st.integers(1, 8))
    return [Progress(draw(UNIT), draw(UNIT), draw(PROBABLE), draw(PROBABLE), draw(UNIT)) for _ in range(count)]


@THOROUGH
@given(progress(), st.sampled_from(["default", "relative", "absolute"]))
def test_flags_need_a_defined_d_and_ratios_are_finite(rounds: list[Progress], mode: str) -> None:
    config = Config.model_validate({"plateau": {"mode": mode}}).plateau
    found = flags(rounds, config, 0.3)
    now = rounds[-1]
    assert np.isfinite(found.r_i) and found.r_i >= 0
    assert (found.r_i, found.r_d) == ratios(rounds, config.window, config.eta)
    if now.d is None or now.d_before is None:
        assert not found.pi_d
    elif mode == "default" and now.d - now.d_before >= config.epsilon_d:
        assert not found.pi_d  # a rise of D clears the flag
    if mode == "default" and (len(rounds) < 2 or now.shift >= config.tv_max):
        assert not found.pi_i


@THOROUGH
@given(
    st.sets(st.sampled_from("xyz"), min_size=1),
    st.sets(st.sampled_from("xyz")),
    UNIT,
    UNIT,
    st.sampled_from(["backed", "all", "off"]),
)
def test_the_dispersion_gate_reverts_only_a_rise_and_never_a_backed_move(agents, backed, before, after, mode) -> None:
    back = reverts(agents, backed, before=before, after=after, nu=0.0, mode=mode)
    assert back <= agents
    if after <= before or mode == "off":
        assert not back
    elif after > before + 1e-9:
        assert back == (agents if mode == "all" else agents - backed)
