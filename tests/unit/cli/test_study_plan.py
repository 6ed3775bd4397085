"""``maci study run --dry-run``."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from fake_house import FakeHouse
from maci.cli.study.run import show_plan
from maci.errors import InputError
from maci.lab.study.run import planned
from study_helpers import kept, make_study, run

METHODS = [{"use": "single", "each": True}, {"use": "average"}]


def looked(study, folder: Path):
    return asyncio.run(planned(study, folder))


def test_everything_is_to_do_and_nothing_is_written(tmp_path):
    plan = looked(make_study(tmp_path, methods=METHODS), tmp_path / "out")
    assert not (tmp_path / "out").exists()
    assert plan.seeds == (0, 1) and sum(plan.items["tiny"].values()) == 12 * 2
    assert [(p.method, p.answers, p.there, p.left) for p in plan.parts] == [
        (name, 24, 0, 24) for name in ("single/lexical", "single/semantic", "single/bayesian", "average")
    ]
    assert [p.calls for p in plan.parts] == [1, 1, 1, 3] and all(p.tokens > 0 for p in plan.parts)
    assert plan.tokens == pytest.approx(24 * sum(p.tokens for p in plan.parts)) and plan.usd == 0


def test_what_is_there_is_not_counted_again_and_what_is_new_is(tmp_path):
    run(make_study(tmp_path, methods=METHODS), tmp_path)
    before, size = kept(tmp_path), (tmp_path / "results.sqlite").read_bytes()
    plan = looked(make_study(tmp_path, methods=[*METHODS, {"use": "majority_vote", "n": 3}]), tmp_path)
    assert [(p.method, p.left) for p in plan.parts if p.left] == [("majority_vote", 24)]
    assert kept(tmp_path) == before and (tmp_path / "results.sqlite").read_bytes() == size
    with pytest.raises(InputError, match=r"another study \(seeds was \[0, 1\], is \[7\]\)"):
        looked(make_study(tmp_path, methods=METHODS, seeds=[7]), tmp_path)


def test_openings_that_teach_are_counted_until_they_are_learnt(tmp_path):
    study = make_study(tmp_path, methods=METHODS, learn={"agents": True})
    plan = looked(study, tmp_path / "out")
    assert plan.openings == plan.items["tiny"]["dev"] * 3 and plan.opening_tokens > 0
    run(study, tmp_path / "out")
    assert looked(study, tmp_path / "out").openings == 0


def test_models_are_rehearsed_by_stand_ins_and_never_asked(tmp_path, monkeypatch, capsys):
    opened: list[FakeHouse] = []

    def make(**_):
        opened.append(FakeHouse())
        return opened[-1]

    monkeypatch.setattr("maci.debating.estimate.House", make)
    study = make_study(
        tmp_path, seeds=[0], budget={"tokens": 1000},
        panel={"agents": ["openai/one", "anthropic/two"], "judges": ["gemini/three"]},
        methods=[{"use": "average"}, {"use": "maci"}], set={"stop.max_rounds": 2, "crit.k": 1},
    )  # fmt: skip
    plan = looked(study, tmp_path / "out")
    assert sum(house.calls for house in opened) == 0 and plan.models == ("openai/one", "anthropic/two", "gemini/three")
    average, maci = plan.parts
    assert (average.calls, average.judge_calls, average.note) == (2, 0, "")
    assert maci.calls == 2 * 3 and maci.judge_calls > 0 and maci.tokens > average.tokens  # openings and two rounds
    show_plan(plan, json=False)
    said = capsys.readouterr().out
    assert "nothing was sent or written" in said and "1,000 tokens, may end it early" in said and "stand-ins" in said
    show_plan(plan, json=True)
    found = json.loads(capsys.readouterr().out)
    assert found["expected"]["tokens"] == round(plan.tokens) and found["parts"][1]["left"] == 12
    assert not (tmp_path / "out").exists()
