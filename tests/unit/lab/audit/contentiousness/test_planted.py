"""Planted agents: the audit finds the one that hears the dial and is not fooled by the one that does not."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dial_helpers import audited, deaf, hears, planned, seating, stone, told
from fake_house import FakeHouse
from maci.agents.contentiousness import STANCES, tone
from maci.errors import InputError
from maci.lab.audit.contentiousness.debates import HeldDebate, Sitting, held, play, recorded
from maci.lab.audit.contentiousness.report import build_report, record
from maci.lab.audit.contentiousness.trends import Trend, trend
from maci.lab.audit.contentiousness.verdict import Findings, findings, judge
from maci.llm.model import Message, Request
from maci.render.html import to_html
from maci.render.text import to_markdown, to_text
from maci.story import Story


@pytest.fixture(scope="module")
def moved(tmp_path_factory: pytest.TempPathFactory) -> Findings:
    plan = planned()
    debates = audited(plan, tmp_path_factory.mktemp("hears"), hears)
    return findings(debates, plan.levels, np.random.default_rng(0), resamples=500)


@pytest.fixture(scope="module")
def unmoved(tmp_path_factory: pytest.TempPathFactory) -> Findings:
    plan = planned()
    debates = audited(plan, tmp_path_factory.mktemp("deaf"), deaf)
    return findings(debates, plan.levels, np.random.default_rng(0), resamples=500)


def test_a_model_that_shouts_at_high_levels_is_moved_in_wording_beliefs_and_evidence(moved: Findings) -> None:
    verdict = judge(moved)
    assert {aspect.name: aspect.answer for aspect in verdict.aspects} == {
        "wording": "moves",
        "disagreement": "moves",
        "shared evidence": "moves",
    }
    assert verdict.overall == "moves" and verdict.good
    assert moved.trends["d"].within.low > 0.3 and moved.trends["o"].within.high < 0


def test_a_model_that_ignores_the_dial_is_not_moved(unmoved: Findings) -> None:
    verdict = judge(unmoved)
    assert verdict.overall == "does not move" and not verdict.good
    assert {a.answer for a in verdict.aspects} <= {
        "no effect shown",
        "moves the wrong way",
    }  # the latter in one of twenty


def test_a_dial_that_moves_nothing_is_said_not_to_be_shown_to_move_anybody(tmp_path: Path) -> None:
    plan = planned()
    verdict = judge(findings(audited(plan, tmp_path, stone), plan.levels, np.random.default_rng(0), resamples=200))
    assert {aspect.answer for aspect in verdict.aspects} == {"no effect shown"}
    assert verdict.says == (
        "The dial was not shown to move these agents: no effect of CL on how they write, how far their beliefs part or how much "
        "evidence they share."
    )


def test_a_dial_that_only_moves_the_wrong_way_is_said_to(unmoved: Findings, moved: Findings) -> None:
    wrong = replace(unmoved, trends={**unmoved.trends, "d": _turned(moved.trends["d"])})
    assert judge(wrong).says == (
        "The dial moves how far their beliefs part the wrong way; an effect on how they write or how much evidence they share was not "
        "shown."
    )


def _turned(trend: Trend) -> Trend:
    """The same trend in the other direction."""
    within = trend.within
    return replace(trend, within=replace(within, value=-within.value, low=-within.high, high=-within.low))


def test_the_placebo_moves_nobody(moved: Findings, unmoved: Findings) -> None:
    for found in (moved, unmoved):
        assert found.placebo is not None and found.placebo.auc.low <= 0.5 <= found.placebo.auc.high + 0.05
        rho = found.placebo_trends["d"].within
        assert rho.low <= 0 <= rho.high


def test_wrong_guesses_about_a_graded_dial_are_mostly_one_level_off(moved: Findings) -> None:
    assert moved.wording is not None
    confusion = moved.wording.confusion
    assert confusion.adjacent.value > confusion.chance
    assert (
        sum(map(sum, confusion.counts)) == moved.wording.turns == 5 * 2 * 5 * 2 * 2
    )  # topics seeds levels rounds agents


def test_no_topic_is_in_training_and_test_at_once(moved: Findings) -> None:
    assert moved.wording is not None
    folds: dict[str, set[int]] = {}
    for turn, fold in zip(moved.wording.guessed.turns, moved.wording.guessed.folds, strict=True):
        folds.setdefault(turn.sitting.topic, set()).add(int(fold))
    assert all(len(found) == 1 for found in folds.values()) and len({min(f) for f in folds.values()}) == 5


def test_every_debate_has_the_same_rounds_and_openings(tmp_path: Path) -> None:
    plan = planned(seeds=1, topics=dict(list(planned().topics.items())[:2]), placebo=False)
    debates = audited(plan, tmp_path, hears)
    assert {found.rounds for found in debates} == {2} and all(found.whole for found in debates)
    assert {len(found.spoken) for found in debates} == {4}


def test_a_broken_debate_goes_on_and_a_whole_one_is_not_held_again(tmp_path: Path) -> None:
    plan = planned(seeds=1, topics=dict(list(planned().topics.items())[:1]), placebo=False)
    house = FakeHouse(hears)

    class Enough(Exception):
        pass

    def stop(sitting: object, event: object) -> None:
        if house.calls >= 8:  # in the second debate: the first has six turns
            raise Enough

    with pytest.raises(Enough):
        asyncio.run(play(plan.sittings, seating(plan, house), tmp_path, watch=stop))
    asyncio.run(play(plan.sittings, seating(plan, house), tmp_path))
    debates = [held(sitting, Story.of(events)) for sitting, events in recorded(tmp_path, plan.sittings)]
    assert all(found.whole for found in debates) and len(debates) == 5
    before = house.calls
    asyncio.run(play(plan.sittings, seating(plan, house), tmp_path))
    assert house.calls == before


def test_a_debate_under_other_rules_is_refused(tmp_path: Path) -> None:
    plan = planned(seeds=1, topics=dict(list(planned().topics.items())[:1]), placebo=False, levels=(0.9, 0.1))

    house = FakeHouse(hears)
    with pytest.raises(ZeroDivisionError):  # broken off at the third call
        asyncio.run(play(plan.sittings, seating(plan, house), tmp_path, watch=lambda s, e: 1 / (house.calls < 3)))
    other = planned(seeds=1, topics=plan.topics, placebo=False, levels=(0.9, 0.1), rounds=3)
    with pytest.raises(InputError, match="another audit"):
        asyncio.run(play(other.sittings, seating(other, house), tmp_path))


def test_a_placebo_has_as_many_words_as_its_stance_and_none_of_its_manner() -> None:
    manner = {
        "confrontational",
        "challenge",
        "risks",
        "balanced",
        "agreeable",
        "caveats",
        "cooperative",
        "verify",
        "weigh",
    }
    for stance in STANCES:
        assert len(tone(stance.cl, "placebo").split()) == len(stance.tone.split())
        assert not manner & set(stance.placebo.casefold().replace(":", " ").replace(",", " ").split())
    assert len({stance.placebo for stance in STANCES}) == len(STANCES)  # else levels would share every reply


def test_the_planted_model_reads_the_tone_from_the_prompt() -> None:
    assert told(Request(messages=(Message("user", f"Tone: {tone(0.7)}"),), max_tokens=1)) == 0.7
    assert told(Request(messages=(Message("user", f"Tone: {tone(0.7, 'placebo')}"),), max_tokens=1)) is None


def test_reports_say_the_same_in_every_form(moved: Findings) -> None:
    verdict = judge(moved)
    plain, made = record(moved, verdict), build_report(moved, verdict, "planted")
    assert plain["verdict"] == "moves" and plain["auc"]["auc"]["value"] == moved.wording.auc.value  # type: ignore[union-attr]
    for written in (to_text(made), to_markdown(made), to_html(made)):
        assert verdict.says in " ".join(written.split()) and "guessed 0.9" in written
    assert to_html(made).count("<figure") == 3


def test_two_debates_a_level_are_too_few_to_show_anything(tmp_path: Path) -> None:
    plan = planned(seeds=1, topics=dict(list(planned().topics.items())[:2]), levels=(0.9, 0.1), rounds=1)
    found = findings(audited(plan, tmp_path, deaf), plan.levels, np.random.default_rng(0), resamples=200)
    assert {aspect.answer for aspect in judge(found).aspects} == {"no effect shown"}
    assert any("Only 2" in warning for warning in judge(found).warnings)


def test_one_debate_a_level_has_figures_and_no_interval(tmp_path: Path) -> None:
    plan = planned(seeds=1, topics=dict(list(planned().topics.items())[:1]), levels=(0.9, 0.1), rounds=1, placebo=False)
    found = findings(audited(plan, tmp_path, hears), plan.levels, np.random.default_rng(0), resamples=200)
    trend, verdict = found.trends["d"], judge(found)
    assert trend.within.value == trend.rho == pytest.approx(1.0) and np.isnan(trend.within.low) and trend.p == 1.0
    assert verdict.aspects[1].answer == "no effect shown"
    assert "undefined with one debate per level" in verdict.aspects[1].why and "[" not in verdict.aspects[1].why
    assert record(found, verdict)["trends"]["d"]["step"]["low"] is None and "nan" not in to_html(
        build_report(found, verdict, "planted")
    )


def test_topics_that_differ_do_not_hide_what_the_dial_does_within_each() -> None:
    levels, places = (0.9, 0.5, 0.1), range(6)
    debates = [_shared(str(topic), level, o=0.15 * topic - 0.02 * level) for topic in places for level in levels]
    found = trend("o", debates, levels, np.random.default_rng(0), resamples=500)
    assert found.rho == pytest.approx(-0.15, abs=0.05)  # hardly anything, over all debates
    assert found.within.value == found.within.high == -1.0 and found.p is not None and found.p < 0.05


def test_a_topic_the_dial_leaves_alone_counts_as_no_order() -> None:
    levels = (0.9, 0.5, 0.1)
    debates = [_shared(topic, level, o=level * (topic == "a")) for topic in "ab" for level in levels]
    assert trend("o", debates, levels, np.random.default_rng(0), resamples=200).within.value == pytest.approx(0.5)
    still = [_shared(topic, level, o=ord(topic)) for topic in "ab" for level in levels]
    found = trend("o", still, levels, np.random.default_rng(0), resamples=200)
    assert np.isnan(found.within.value) and found.p is None


def _shared(topic: str, level: float, o: float) -> HeldDebate:
    return HeldDebate(
        sitting=Sitting(topic=topic, seed=0, level=level), rounds=1, planned=1, over="max_rounds", d=0.5, o=o,
        gain=0.1, spoken=(), silent=0, written=10,
    )  # fmt: skip
