"""Calibration learns what it should from debates with known answers."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import math
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from hash_encoder import HashEncoder
from maci.calibration.profile import (
    TaskCalibration,
    calibrate,
    conformalise,
    fit_bias,
    nonconformity_of,
    observe,
    to_toml,
)
from maci.calibration.stats import Estimate
from maci.calibration.temperature import Worth, appraise, ece, fit_temperature
from maci.cases.case import builtin_cases
from maci.cli.app import app
from maci.config import Config, build, load
from maci.controller.decisions import Dialled, Finished, Gated, Initialized
from maci.controller.reading import made_for
from maci.debating.loop import debate
from maci.errors import ConfigError, InputError
from maci.moderator.belief import lean, temper
from maci.moderator.conformal import COVERAGES
from maci.seating.table import opening
from maci.seating.tables import Tables
from maci.story import Story


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch):
    """Debates are recorded below the working directory."""
    monkeypatch.chdir(tmp_path)


def test_a_planted_bias_is_found_and_taken_off():
    rng = np.random.default_rng(0)
    true = rng.dirichlet(np.ones(3), 3000)
    gold = [int(rng.choice(3, p=p)) for p in true]
    planted = np.array([1.0, 0.0, -1.0])
    stated = [lean(p, -planted) for p in true]
    found = fit_bias(stated, gold)
    assert found == pytest.approx(planted, abs=0.12) and found.sum() == pytest.approx(0, abs=1e-9)
    loss = [
        -np.mean([np.log(q[y]) for q, y in zip(ps, gold, strict=True)])
        for ps in (stated, [lean(p, found) for p in stated])
    ]
    assert loss[1] < loss[0]


def test_few_cases_say_little_about_a_bias():
    sure = [np.array([0.9, 0.1])] * 3
    assert 0 < fit_bias(sure, [1, 1, 1])[0] < 1.5
    assert fit_bias(sure, [0, 0, 0])[0] < 0
    assert fit_bias([np.array([0.5, 0.5])] * 2, [0, 1]) == pytest.approx([0, 0])


def test_temperature_undoes_overconfidence():
    rng = np.random.default_rng(0)
    true = rng.dirichlet(np.ones(4), 3000)
    gold = [int(rng.choice(4, p=p)) for p in true]
    sharpened = [temper(p, 0.5) for p in true]
    assert fit_temperature(sharpened, gold) == pytest.approx(2.0, rel=0.1)
    assert ece([temper(p, 2.0) for p in sharpened], gold) < 0.03 < ece(sharpened, gold)


def test_few_cases_do_not_make_probabilities_certain():
    """25 right answers in a row fit T = 0.2 best; what is learnt from them stays near what was believed."""
    rng = np.random.default_rng(1)
    beliefs = [rng.dirichlet(np.array([6.0, 2.0, 1.0])) for _ in range(25)]
    beliefs = [np.sort(p)[::-1] for p in beliefs]
    assert fit_temperature(beliefs, [0] * 25, math.inf) == pytest.approx(0.2)
    assert 0.6 < fit_temperature(beliefs, [0] * 25) < 0.9
    many = fit_temperature(beliefs * 40, [0] * 1000)
    assert many < 0.35  # a thousand may say so


def test_what_a_calibration_is_worth_is_measured_on_cases_left_out():
    """A calibration of nothing but noise looks better on its own cases, and not on those left out."""
    rng = np.random.default_rng(0)
    true = rng.dirichlet(np.ones(3) * 2, 40)
    gold = [int(rng.choice(3, p=p)) for p in true]
    found = appraise(list(true), gold)
    own = np.mean([math.log(temper(p, found.temperature)[y] / p[y]) for p, y in zip(true, gold, strict=True)])
    assert own >= 0 and found.gain.value < own and not found.gain.clear
    assert found.lines()[-1].startswith("No measurable change in the log score of the same cases (mean ln p of")
    sharp = [temper(p, 0.4) for p in rng.dirichlet(np.ones(3) * 2, 400)]
    truths = [int(rng.choice(3, p=temper(p, 2.5))) for p in sharp]
    clear = appraise(sharp, truths)
    assert clear.gain.low > 0 and clear.after.value < clear.before.low and "too sure" in clear.lines()[0]


def test_too_small_a_difference_is_no_verdict_however_narrow_its_interval():
    """Answers that are right as they stand: this fit costs 0.008 nats a case, and its interval leaves out 0."""
    error = Estimate(0.14, 0.1, 0.2, 26, "BCa")

    def verdict(value: float, low: float, high: float) -> str:
        return Worth(1.02, error, error, Estimate(value, low, high, 26, "BCa")).lines()[-1]

    assert verdict(-0.008, -0.012, -0.002).startswith("No measurable change in the log score")
    assert verdict(0.008, 0.002, 0.012).startswith("No measurable change in the log score")
    assert verdict(-0.03, -0.08, 0.01).startswith("No measurable change in the log score")
    assert verdict(-0.05, -0.08, -0.02).startswith("Worse log score of the same cases (mean ln p of the true outcome)")
    assert verdict(0.05, 0.02, 0.08).startswith("Better log score ")


def test_a_calibration_that_should_be_left_out_is_not_recommended():
    error = Estimate(0.14, 0.1, 0.2, 26, "BCa")
    bad, fine = (Worth(1.3, error, error, Estimate(g, g - 0.01, g + 0.01, 26, "BCa")) for g in (-0.05, 0.05))
    alone = {"calibration.made_for": "x", "calibration.temperature": 1.3}
    said = {
        (w.worse, len(s)): TaskCalibration(settings=s, worth=w, accuracy=0.5)
        for w in (bad, fine)
        for s in (alone, {**alone, "gate.tau_q": 0.2})
    }
    assert said[False, 2].advice("--config c") == said[False, 3].advice("--config c") == "Use it with: --config c"
    assert said[True, 2].advice("--config c") == "It holds nothing but that temperature: do not use it"
    assert (
        said[True, 3]
        .advice("--config c")
        .endswith("without the temperature: --config c --set calibration.temperature=1")
    )
    assert all("Use it with" not in to_toml(said[True, n], "x") for n in (2, 3))


@pytest.fixture(scope="module")
def outcomes():
    cases = [
        case for case in builtin_cases().values() if case.outcomes.kind == "closed" and not case.id.startswith("paper")
    ]
    panel = Tables("readers", HashEncoder())

    async def play(case):
        table = panel.table(case)
        return observe([event async for event in debate(opening(case, table, Config()), table)])

    return [outcome for case in cases[:24] if (outcome := asyncio.run(play(case))) is not None]


def test_a_calibration_is_a_config_file_that_loads_and_names_what_it_was_made_for(outcomes, tmp_path: Path):
    found = calibrate(outcomes)
    file = tmp_path / "calibration.toml"
    file.write_text(to_toml(found, "built-in"), encoding="utf-8")
    config = load(file=file, environ={})
    assert config.calibration.made_for == (
        "readers: reader-lexical, reader-semantic, reader-bayesian; "
        "judges letters (surface), words (surface), phrases (surface) | fake-hash/64+adapted | format 6"
    )
    assert config.calibration.temperature == pytest.approx(found.settings["calibration.temperature"], abs=1e-6)
    assert found.worth.before.low <= found.worth.before.value <= found.worth.before.high
    assert found.worth.lines()[0].startswith(f"Learnt from {len(outcomes)} cases: ")
    assert config.calibration.served == ""
    assert config.dials.q_lo <= config.dials.q_hi and config.dials.d_lo <= config.dials.d_hi
    assert config.gate.tau_q <= 0.5 and config.regime.c_max > 0


def test_a_temperature_alone_changes_what_is_reported_and_nothing_of_the_debate():
    case = builtin_cases()["dengue"]
    table = Tables("readers", HashEncoder()).table(case)
    own = made_for(opening(case, table, Config()))

    def play(config: Config) -> list:
        async def held() -> list:
            return [event async for event in debate(opening(case, table, config), table)]

        return asyncio.run(held())

    plain = play(Config())
    soft = play(build("default", {"calibration.made_for": own, "calibration.temperature": 2.0}))
    dials = [[e.dials for e in events if isinstance(e, Initialized | Dialled)] for events in (plain, soft)]
    assert dials[0] == dials[1] and dials[0][0].tau_q < 0.5
    assert [e for e in soft if isinstance(e, Gated)] == [e for e in plain if isinstance(e, Gated)]
    before, after = (next(e for e in events if isinstance(e, Finished)) for events in (plain, soft))
    assert after.raw == before.raw and after.distribution != before.distribution and after.calibrated
    assert any("the calibration holds no τ_Q: τ_Q starts at" in note for note in after.warnings)
    hardly = [any("hardly fits" in note for note in end.warnings) for end in (before, after)]
    assert hardly[0] == hardly[1]


def test_a_calibration_for_another_encoder_is_refused(outcomes, tmp_path: Path):
    from maci.evidence.encode import load_encoder

    file = tmp_path / "calibration.toml"
    file.write_text(to_toml(calibrate(outcomes), "built-in"), encoding="utf-8")
    case = builtin_cases()["dengue"]
    table = Tables("readers", load_encoder()).table(case)

    async def play():
        return [event async for event in debate(opening(case, table, load(file=file, environ={})), table)]

    with pytest.raises(
        ConfigError,
        match=r"made for 'readers: .*fake-hash/64\+adapted \| format 6', and this debate is 'readers: .*wordllama.*`maci calibrate`",
    ):
        asyncio.run(play())


def test_debates_of_two_panels_make_no_calibration(outcomes):
    opened, *rest = outcomes[0].events
    strange = observe([dataclasses.replace(opened, panel="paper"), *rest])
    with pytest.raises(InputError, match="a calibration is of one panel, and these debates are of 'paper: reader"):
        calibrate([*outcomes, strange])


def test_too_few_cases_are_refused(outcomes):
    with pytest.raises(InputError, match="at least 20 cases"):
        calibrate(outcomes[:5])


def test_the_command_writes_the_file_and_says_what_it_learnt(tmp_path: Path):
    lines = [
        json.dumps({"question": c.question, "context": c.context, "outcomes": list(c.outcomes.labels), "gold": c.gold})
        for c in list(builtin_cases().values())[:40]
        if c.outcomes.kind == "closed" and not c.id.startswith("paper")
    ]
    (tmp_path / "dev.jsonl").write_text("\n".join(lines), encoding="utf-8")
    out = tmp_path / "c.toml"
    done = CliRunner().invoke(app, ["calibrate", str(tmp_path / "dev.jsonl"), "--out", str(out), "--json"])
    assert done.exit_code == 0, done.output
    said = json.loads(done.stdout)
    assert said["held_out"] == round(0.33 * len(lines)) and said["n"] + said["held_out"] == len(lines)
    assert "made_for" in out.read_text(encoding="utf-8")


# --- prediction sets --------------------------------------------------------------------------------------------------------------


def test_thresholds_are_the_corrected_quantiles_of_the_held_out_cases(outcomes, tmp_path: Path):
    found = calibrate(outcomes)
    learnt = conformalise(found, outcomes, [o.story for o in outcomes])
    score, n = learnt.settings["calibration.score"], len(outcomes)
    by_hand = []
    for o in outcomes:
        p = np.array(list(o.events[-1].distribution.values()))
        by_hand.append(1 - p[o.gold] if score == "lac" else p[p >= p[o.gold] - 1e-9].sum())
    by_hand.sort()
    file = tmp_path / "c.toml"
    file.write_text(to_toml(learnt, "built-in"), encoding="utf-8")
    known = load(file=file, environ={}).calibration
    assert (known.conformal_n, known.score, learnt.held) == (n, score, n)
    for level, limit in known.conformal.items():
        assert limit == pytest.approx(by_hand[math.ceil((n + 1) * float(level)) - 1], abs=1e-6)
    assert max(map(float, known.conformal)) <= n / (n + 1) < min(c for c in COVERAGES if c > n / (n + 1))


def test_a_truth_nobody_named_is_infinitely_far_and_a_debate_without_an_answer_says_nothing(outcomes):
    opened, *rest, end = outcomes[0].events
    strange = dataclasses.replace(opened, case=dataclasses.replace(opened.case, gold=None))
    assert nonconformity_of(Story.of([strange, *rest, end]), "lac") == math.inf
    silent = dataclasses.replace(end, answer=None, distribution={})
    assert nonconformity_of(Story.of([opened, *rest, silent]), "lac") is None


def dev_file(path: Path, n: int) -> Path:
    cases = [
        case for case in builtin_cases().values() if case.outcomes.kind == "closed" and not case.id.startswith("paper")
    ]
    lines = []
    for i in range(n):
        c = cases[i % len(cases)]
        context = f"{c.context} {'Seen today.' if i >= len(cases) else ''}".strip()
        lines.append(
            json.dumps(
                {"question": c.question, "context": context, "outcomes": list(c.outcomes.labels), "gold": c.gold}
            )
        )
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_the_command_holds_cases_out_for_prediction_sets_and_a_debate_then_has_one(tmp_path: Path):
    out, runner = tmp_path / "c.toml", CliRunner()
    dev = dev_file(tmp_path / "dev.jsonl", 44)
    done = runner.invoke(app, ["calibrate", str(dev), "--out", str(out)])
    assert done.exit_code == 0, done.output
    assert (
        "from 29 cases" in done.stdout
        and "Prediction sets from 15 cases held out, of a coverage up to 0.9" in done.stdout
    )
    said = runner.invoke(app, ["debate", "dengue", "--config", str(out), "--out", str(tmp_path / "run"), "--json"])
    held = json.loads(said.stdout)["prediction_set"]
    assert held["coverage"] == 0.9 and held["n"] == 15 and held["outcomes"][0] == json.loads(said.stdout)["answer"]
    none = runner.invoke(app, ["calibrate", str(dev), "--out", str(out), "--held-out", "0"])
    assert "from 44 cases" in none.stdout and "No prediction sets: nothing was held out" in none.stdout
    few = runner.invoke(app, ["calibrate", str(dev_file(tmp_path / "few.jsonl", 24)), "--out", str(out)])
    assert (
        "from 24 cases" in few.stdout
        and "No prediction sets: of 24 cases none can be held out; give at least 30, or a smaller share: --held-out 0.16"
        in few.stdout
    )


# --- the command, where something is wrong ----------------------------------------------------------------------------------------


def test_the_file_goes_into_a_folder_that_is_made_and_lines_say_how_far_it_is(tmp_path: Path):
    dev, out = dev_file(tmp_path / "dev.jsonl", 20), tmp_path / "new" / "folder" / "c.toml"
    done = CliRunner().invoke(app, ["calibrate", str(dev), "--out", str(out)])
    assert done.exit_code == 0 and out.exists()
    assert "18/20 development cases debated · about " in done.stderr


@pytest.mark.parametrize(
    ("cases", "out", "says"),
    [
        ("dev.jsonl", "dev.jsonl/c.toml", "is a file, not a folder"),
        ("empty.jsonl", "c.toml", "has no cases"),
        ("few.jsonl", "c.toml", "at least 20 cases with a `gold` answer, and 19 of its 19 have one"),
    ],
)
def test_what_cannot_be_is_refused_before_a_debate(tmp_path: Path, monkeypatch, cases: str, out: str, says: str):
    monkeypatch.setattr("maci.debating.batch.debate", None)
    dev_file(tmp_path / "dev.jsonl", 20)
    dev_file(tmp_path / "few.jsonl", 19)
    (tmp_path / "empty.jsonl").write_text("\n", encoding="utf-8")
    done = CliRunner().invoke(app, ["calibrate", str(tmp_path / cases), "--out", str(tmp_path / out), "--quiet"])
    assert isinstance(done.exception, InputError) and says in str(done.exception)


# --- the same panel as everywhere else ----------------------------------------------------------------------------------------------


def doors(path: Path, n: int) -> Path:
    """Cases that contradict each other: what a bell means is a matter of the house, and each case brings the rule of its own."""
    lines = []
    for i in range(n):
        first, second = ("left", "right") if i % 2 else ("right", "left")
        heard, gold = (("twice", second), ("once", first))[i // 2 % 2]
        rules = [
            {"text": f"A bell that rings once means that the {first} door is open.", "label": f"{first} door"},
            {"text": f"A bell that rings twice means that the {second} door is open.", "label": f"{second} door"},
        ]
        case = {
            "id": f"house-{i}", "question": "Which door is open?", "context": f"The bell rings {heard}.",
            "outcomes": ["left door", "right door"], "gold": f"{gold} door", "evidence": rules,
        }  # fmt: skip
        lines.append(json.dumps(case))
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_batch_and_calibrate_are_right_on_the_same_cases(tmp_path: Path):
    file, runner = doors(tmp_path / "doors.jsonl", 24), CliRunner()
    batch = runner.invoke(app, ["batch", str(file), "--out", str(tmp_path / "batch"), "--json", "--force"])
    assert batch.exit_code == 0, batch.output
    answers = [json.loads(line)["answer"] for line in batch.stdout.splitlines()]
    gold = [json.loads(line)["gold"] for line in file.read_text(encoding="utf-8").splitlines()]
    done = runner.invoke(app, ["calibrate", str(file), "--out", str(tmp_path / "c.toml"), "--json"])
    assert done.exit_code == 0, done.output
    said = json.loads(done.stdout)
    assert said["n"] == 24 and said["accuracy"] == sum(map(str.__eq__, answers, gold)) / 24 == 1.0


def test_a_case_without_evidence_of_its_own_is_left_out_and_borrows_none(tmp_path: Path):
    file = doors(tmp_path / "doors.jsonl", 21)
    bare = {**json.loads(file.read_text(encoding="utf-8").splitlines()[0]), "id": "bare", "evidence": []}
    file.write_text(json.dumps(bare) + "\n" + file.read_text(encoding="utf-8"), encoding="utf-8")
    done = CliRunner().invoke(app, ["calibrate", str(file), "--out", str(tmp_path / "c.toml"), "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["failed"] == ["bare"] and json.loads(done.stdout)["n"] == 21


def test_a_calibration_of_the_readers_is_refused_to_another_panel(tmp_path: Path):
    file, out, runner = doors(tmp_path / "doors.jsonl", 20), tmp_path / "c.toml", CliRunner()
    assert runner.invoke(app, ["calibrate", str(file), "--out", str(out), "--quiet"]).exit_code == 0
    case = tmp_path / "case.json"
    case.write_text(file.read_text(encoding="utf-8").splitlines()[0], encoding="utf-8")

    def debated(folder: str, *panel: str):
        return runner.invoke(
            app,
            ["debate", str(case), "--config", str(out), "--out", str(tmp_path / folder), "--json", "--force", *panel],
        )

    own = debated("own")
    assert own.exit_code == 0 and json.loads(own.stdout)["answer"] is not None
    for number, panel in enumerate((("--agents", "reader"), ("--agents", "reader/lexical,reader/bayesian"))):
        other = debated(f"other-{number}", *panel)
        assert isinstance(other.exception, ConfigError) or other.exit_code == 2
        said = str(other.exception) + other.output
        assert "made for 'readers: reader-lexical" in said and "this debate is 'agents: reader/lexical" in said
        assert "run `maci calibrate` again" in said and not (tmp_path / f"other-{number}").exists()
