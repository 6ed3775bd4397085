"""``maci verify``: a table, a page, an exit code."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from maci.cli.app import app
from maci.errors import CheckFailed, InputError
from maci.moderator import signals
from theory_helpers import break_everywhere

FAST = ("--quick", "--only", "restless", "--only", "change")


def invoke(*words: object) -> Result:
    return CliRunner().invoke(app, ["verify", *map(str, words)], catch_exceptions=False)


def test_it_prints_claims_with_what_was_measured_and_writes_a_page(tmp_path: Path) -> None:
    done = invoke(*FAST, "--plain", "--out", tmp_path / "deep" / "er")
    assert done.exit_code == 0
    said = " ".join(done.stdout.split())
    assert said.count("shown") >= 2 and "all 2 claims hold" in said and "3 debates" in said
    page = tmp_path / "deep" / "er" / "verify.html"
    assert f"2 of 2 claims hold; written: {page}" in done.stdout.splitlines()[-1]
    assert re.search(r"change, \d+\.\d s", done.stdout) and "restless, " in done.stdout
    assert re.search(r"1/2 change: The change-based plateau test, \d+\.\d s\n", done.stderr)
    text = (tmp_path / "deep" / "er" / "verify.html").read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>") and "quick run, seed 0" in text


def test_json_is_one_object_with_every_claim(tmp_path: Path) -> None:
    done = invoke(*FAST, "--json", "--seed", 5, "--out", tmp_path)
    found = json.loads(done.stdout)
    assert done.stderr == ""
    assert (found["passed"], found["quick"], found["seed"]) == (True, True, 5)
    assert [claim["id"] for claim in found["claims"]] == ["change-test", "gain-not-monotone"]
    assert [claim["check"] for claim in found["claims"]] == ["change", "restless"]
    assert set(found["claims"][0]) >= {"claim", "kind", "limit", "measured", "passed", "n", "unit", "figures"}


def test_numbers_of_numpy_and_undefined_ones_are_json(tmp_path: Path) -> None:
    done = invoke("--quick", "--only", "relative", "--only", "gate", "--json", "--out", tmp_path)
    assert [path.name for path in (tmp_path / "plots").iterdir()] == ["relative-test.svg"]
    json.loads(done.stdout, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))


def test_quiet_says_only_the_result(tmp_path: Path) -> None:
    done = invoke(*FAST, "--quiet", "--out", tmp_path)
    assert done.stdout.count("\n") == 1 and done.stderr == ""


def test_a_claim_that_fails_is_exit_1_and_named_and_on_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    true = signals.flags

    def never(*args: object) -> signals.Flags:
        found = true(*args)
        return signals.Flags(found.r_i, found.r_d, False, False)

    break_everywhere(monkeypatch, true, never)
    with pytest.raises(CheckFailed, match=r"1 of 2 claims fail: change-test") as caught:
        invoke(*FAST, "--quiet", "--out", tmp_path)
    assert caught.value.exit == 1
    assert "1 of 2 claims fail" in (tmp_path / "verify.html").read_text(encoding="utf-8")


def test_wrong_use_is_explained(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no check 'regrets'"):
        invoke("--only", "regrets", "--out", tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"is a file, not a folder"):
        invoke(*FAST, "--out", tmp_path / "file" / "below")
