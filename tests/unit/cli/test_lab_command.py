"""``maci lab``: habits from records, and the map."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from maci.cli.app import app
from maci.errors import InputError


def invoke(*words: object) -> Result:
    return CliRunner().invoke(app, ["lab", *map(str, words)], catch_exceptions=False)


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("MACI_DATA", raising=False)
    for case in ("dengue", "hepatitis"):
        words = ["debate", case, "--panel", "readers", "--force", "-q", "--out", str(tmp_path / "runs" / case)]
        assert CliRunner().invoke(app, words, catch_exceptions=False).exit_code == 0
    return tmp_path / "runs"


def test_habits_of_own_records_need_no_data_set_and_the_map_takes_them(runs: Path, tmp_path: Path) -> None:
    file = tmp_path / "habits.json"
    done = invoke("habits", runs, "--out", file)
    assert done.exit_code == 0
    assert "its citations exist" in done.stdout
    assert "assumed" in done.stdout  # another sample: records of debates do not tell it
    drawn = invoke("map", "--habits", file, "--quick", "--json", "--out", tmp_path / "map")
    found = json.loads(drawn.stdout)
    assert drawn.exit_code == 0
    assert Path(found["page"]).read_text("utf-8").startswith("<!doctype html>")
    assert found["predictions"] == {}
    before = (tmp_path / "map" / "cells.jsonl").read_text()
    again = invoke("map", "--habits", file, "--quick", "-q", "--out", tmp_path / "map")
    assert again.stdout == f"Page: {tmp_path / 'map' / 'map.html'}\n"
    assert (tmp_path / "map" / "cells.jsonl").read_text() == before  # nothing is computed twice


def test_only_some_habits_are_taken_from_records(runs: Path) -> None:
    found = json.loads(invoke("habits", runs, "--only", "crit", "--json").stdout)["habits"]
    assert {name for name, each in found.items() if each["n"]} == {
        "crit_true", "crit_false", "crit_spread", "crit_noise"
    }  # fmt: skip


def test_without_records_and_data_the_error_names_both_ways(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("MACI_DATA", raising=False)
    with pytest.raises(InputError, match="MACI_DATA"):
        invoke("habits")
    with pytest.raises(InputError, match="maci outcome"):
        invoke("habits", tmp_path)


def test_causes_show_each_change_of_habits_beside_the_average(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MACI_DATA", raising=False)
    words = ("causes", "--cases", 2, "--every", 243, "-q")
    done = invoke(*words)
    assert done.exit_code == 0
    assert "neither: nobody moves" in done.stdout
    found = json.loads(invoke(*words, "--json").stdout)
    assert found["recorded"] == {}
    assert {each["habits"]: each["maci less average"]["value"] for each in found["causes"]}[
        "neither: nobody moves"
    ] == 0
