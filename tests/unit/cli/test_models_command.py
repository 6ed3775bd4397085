"""``maci models``, over a cache that is empty."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from maci.cli.app import app
from maci.errors import InputError, ModelError
from maci.llm.local.registry import WEIGHTS


@pytest.fixture(autouse=True)
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MACI_CACHE", str(tmp_path))
    return tmp_path


def run(*words: str) -> str:
    done = CliRunner().invoke(app, ["models", *words], catch_exceptions=False)
    assert done.exit_code == 0
    return done.stdout


@pytest.mark.parametrize("words", [(), ("list",)])
def test_the_list_says_of_each_what_it_is_how_large_and_how_to_get_it(words: tuple[str, ...]) -> None:
    text = run(*words)
    for weight in WEIGHTS.values():
        assert f"maci models pull {weight.name}" in text
        assert weight.about in text and weight.licence in text and f"extra `{weight.extra}`" in text
    assert "1117.3 MB" in text


def test_the_list_as_json_has_one_entry_for_each() -> None:
    entries = {entry["name"]: entry for entry in json.loads(run("--json"))}
    assert set(entries) == set(WEIGHTS)
    small = entries["smollm2-135m"]
    assert (small["present"], small["bytes"], small["extra"], small["licence"]) == (
        False,
        98_362_432,
        "local",
        "Apache-2.0",
    )


def test_offline_nothing_is_pulled_and_the_command_is_named() -> None:
    with pytest.raises(ModelError, match="`maci models pull smollm2-135m` once while online"):
        run("pull", "smollm2-135m", "--offline", "--json")


def test_what_is_not_here_cannot_be_verified_and_frees_nothing() -> None:
    with pytest.raises(ModelError, match="is missing"):
        run("verify", "smollm2-135m", "--json")
    assert json.loads(run("remove", "smollm2-135m", "--json")) == {"name": "smollm2-135m", "freed": 0}
    assert run("remove", "smollm2-135m") == "smollm2-135m: 0.0 MB freed\n"


def test_a_wrong_name_lists_the_right_ones() -> None:
    with pytest.raises(InputError, match=r"unknown weights 'gpt'.*qwen2\.5-coder-1\.5b"):
        run("pull", "gpt")
