"""`maci scheduler` and `maci debate --set schedule=ucb`, as a person types them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from hash_encoder import HashEncoder
from maci.record.transcript import read


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("MACI_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("MACI_STATE", str(tmp_path / "state"))
    monkeypatch.setattr("maci.seating.seating.load_encoder", lambda *a, **k: HashEncoder())


def debate(maci, out: str, *more: str, schedule: str = "ucb") -> None:
    code, _, err = maci(
        "debate", "dengue", "--set", f"schedule={schedule}", "--set", "max_rounds=4", "--set", "min_rounds=3", "--out", out,
        "--json", *more,
    )  # fmt: skip
    assert code == 0, err


def arms(maci, task: str = "readers/closed") -> dict:
    code, out, err = maci("scheduler", "show", task, "--json")
    assert code == 0, err
    (state,) = json.loads(out)
    return state


def test_a_debate_uses_and_feeds_what_was_learned(maci) -> None:
    debate(maci, "one")
    first = arms(maci)
    assert first["debates"] == 1
    pulls = sum(arm["pulls"] for arm in first["arms"])
    assert pulls >= 2
    debate(maci, "two")
    opened = read(Path("two/transcript.jsonl")).opened
    assert opened.learned.debates == 1
    assert sum(arm.pulls for arm in opened.learned.arms) == pulls
    assert arms(maci)["debates"] == 2
    assert maci("replay", "two")[0] == 0


def test_linucb_keeps_contexts_and_ucb_needs_none(maci) -> None:
    debate(maci, "one")
    debate(maci, "two", schedule="linucb")
    assert any(arm.design for arm in read(Path("two/transcript.jsonl")).opened.learned.arms)
    debate(maci, "three")
    assert not any(arm.design for arm in read(Path("three/transcript.jsonl")).opened.learned.arms)


def test_a_task_has_a_state_of_its_own(maci) -> None:
    debate(maci, "one", "--task", "fevers")
    assert arms(maci, "fevers")["debates"] == 1
    code, _, err = maci("scheduler", "show", "colds")
    assert code == 2
    assert "there are fevers" in err


def test_a_task_without_a_learner_is_refused(maci) -> None:
    code, _, err = maci("debate", "dengue", "--task", "x", "--out", "one")
    assert code == 2
    assert "schedule=ucb" in err
    assert not Path("one").exists()
    debate(maci, "one", "--task", "fevers")
    code, _, err = maci("debate", "--resume", "--task", "x", "--out", "one")
    assert (code, "--task x (recorded: fevers)" in err) == (2, True)
    assert maci("debate", "--resume", "--task", "fevers", "--out", "one").code == 0


def test_rewards_of_other_weights_are_another_state(maci) -> None:
    debate(maci, "one")
    debate(maci, "two", "--set", "cost_weight=0.5")
    assert read(Path("two/transcript.jsonl")).opened.learned.debates == 0
    states = json.loads(maci("scheduler", "show", "--json")[1])
    assert [state["debates"] for state in states] == [1, 1]


def test_the_table_says_what_is_undefined(maci) -> None:
    code, out, _ = maci("scheduler", "show")
    assert (code, out.startswith("Nothing was learned yet")) == (0, True)
    debate(maci, "one")
    out = maci("scheduler", "show")[1]
    assert out.splitlines()[1].split()[:3] == ["action", "pulls", "mean"]
    untried = next(line for line in out.splitlines() if line.startswith("α+0.2 γ+0.2"))
    assert untried.split()[2:4] == ["0", "–"]


def test_reset_export_import_and_learn(maci) -> None:
    debate(maci, "one")
    debate(maci, "two")
    before = arms(maci)
    assert maci("scheduler", "export", "--to", "learned.json")[0] == 0
    assert "2 debates" in maci("scheduler", "reset", "readers/closed")[1]
    assert maci("scheduler", "reset", "readers/closed")[0] == 2
    assert maci("scheduler", "import", "learned.json")[1] == "2 debates taken in, 0 were known already\n"
    assert arms(maci) == before
    maci("scheduler", "reset", "readers/closed")
    assert maci("scheduler", "learn", "one", "two", "two")[1] == "2 debates entered, 1 were known already\n"
    assert arms(maci) == before


def test_a_result_stands_although_it_cannot_be_kept(maci, monkeypatch: pytest.MonkeyPatch) -> None:
    from maci.calibration.schedules import Schedules
    from maci.errors import EnvironmentError_

    def full(*_: object) -> bool:
        raise EnvironmentError_("the disk is full")

    monkeypatch.setattr(Schedules, "enter", full)
    code, out, err = maci("debate", "dengue", "--set", "schedule=ucb", "--out", "one", "--json")
    assert code == 0
    assert json.loads(out)["answer"]
    assert "maci scheduler learn one" in err
    monkeypatch.undo()


def test_evaluate_says_what_records_cannot_tell(maci) -> None:
    debate(maci, "one")
    debate(maci, "two", schedule="plateau")
    debate(maci, "three", schedule="ladder")
    code, out, err = maci("scheduler", "evaluate", "one", "two", "three")
    assert code == 0, err
    assert "Inverse propensity weighting is not possible" in out
    assert "not enough matching rounds" in out
    assert "schedule ladder: neither the course nor steps of the plateau's" in out
    found = json.loads(maci("scheduler", "evaluate", "one", "two", "--task", "readers/closed", "--json")[1])
    assert [one["name"] for one in found["candidates"]] == ["course", "stay", "ucb", "linucb"]
    assert all(one["replay"]["value"] is None for one in found["candidates"])
    assert found["debates"] == 2
