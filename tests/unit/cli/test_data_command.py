"""``maci data``: what it says of sets that are here, in part here, and not here."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from dataset_files import write_all
from maci.cli.app import app
from maci.errors import CheckFailed, InputError
from maci.lab.datasets import SETS


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_all(tmp_path_factory.mktemp("data"))


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MACI_DATA", raising=False)


def invoke(*words: object) -> Result:
    return CliRunner().invoke(app, ["data", *map(str, words)], catch_exceptions=False)


def run(*words: object) -> str:
    done = invoke(*words)
    assert done.exit_code == 0
    return done.stdout


def test_without_a_folder_the_list_says_what_there_is_and_how_to_name_one() -> None:
    text = run()
    for entry in SETS.values():
        assert entry.name in text and entry.about in text and entry.licence in text
    assert text.count("not here") == len(SETS)
    assert "--data DIR or MACI_DATA" in text and "maci data show NAME" in text
    assert "maci data show" not in run("--plain")


def test_the_list_counts_the_rows_that_are_here(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = {row["name"]: row for row in json.loads(run("--data", data, "--json"))}
    assert set(found) == set(SETS)
    assert (found["ciar"]["here"], found["ciar"]["rows"]) == (True, 10)
    monkeypatch.setenv("MACI_DATA", str(data))
    assert "18 rows" in run()


def test_a_folder_that_is_none_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no data sets at .*none"):
        run("--data", tmp_path / "none")


@pytest.mark.parametrize("name", SETS)
def test_show_names_traps_options_files_checksums_licence_and_origin(name: str) -> None:
    entry = SETS[name]
    text = " ".join(run("show", name).split())
    for part in (entry.licence, entry.source, entry.purpose, *entry.notes, *(f.sha256 for f in entry.files)):
        assert " ".join(part.split()) in text
    for option in entry.options:
        assert f" {option}=" in text
    assert "Not here: get the files from" in text


def test_show_prints_the_shape_of_an_item_but_little_of_a_text_that_is_not_ours(data: Path) -> None:
    shown = json.loads(run("show", "budak_allsides_text", "--data", data, "--json"))
    assert len(shown["example"]["context"]) <= 200 and shown["example"]["raters"]
    assert shown["options"]["scale"]["valid"] == "choose slant, tone"
    text = run("show", "budak_allsides_text", "--data", data)
    assert "A development item" in text and "Many words follow here. " * 12 not in text
    debate = json.loads(run("show", "ford_debates", "--data", data, "--json"))["example"]
    assert debate["recorded"] == {"chatgpt": None, "davinci": "A", "gpt4": "B"} and debate["turns"] == 2
    assert "hidden" in json.loads(run("--data", data, "show", "agentclinic", "--json"))["example"]


def test_show_of_an_unknown_set_says_which_was_meant() -> None:
    with pytest.raises(InputError, match="did you mean basil"):
        run("show", "basill")


def test_verify_tells_files_that_differ_from_files_that_are_missing(data: Path, tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["data", "verify", "ciar", "--data", str(data)])
    assert isinstance(done.exception, CheckFailed) and "ciar/CIAR.json" in str(done.exception)
    assert "load all the same" in str(done.exception)
    assert done.stdout.split() == ["DIFFERS", "ciar/CIAR.json"]
    (tmp_path / "empty").mkdir()
    assert set(run("verify", "--data", tmp_path / "empty").split()) >= {"not", "here", "ciar/CIAR.json"}
    with pytest.raises(InputError, match=r"ciar is not in .*`maci data show ciar`"):
        run("verify", "ciar", "--data", tmp_path / "empty")
    whole = CliRunner().invoke(app, ["data", "verify", "agentclinic", "--data", str(data), "--json"])
    assert "our figures use a part" in str(whole.exception)
    (row,) = json.loads(whole.stdout)
    assert row["state"] == "DIFFERS" and row["found"] != row["sha256"]


def test_verify_is_content_with_the_very_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import hashlib

    path = tmp_path / "ciar" / "CIAR.json"
    path.parent.mkdir()
    path.write_bytes(b"[]")
    pinned = {"ciar/CIAR.json": (hashlib.sha256(b"[]").hexdigest(), 2)}
    monkeypatch.setattr("maci.lab.datasets.dataset._pins", lambda: pinned)
    assert run("verify", "ciar", "--data", tmp_path).split() == ["as", "described", "ciar/CIAR.json"]


@pytest.mark.parametrize("words", [["--help"], ["data", "--help"], ["data", "show", "--help"]])
def test_help_imports_no_data_set(words: list[str]) -> None:
    code = (
        "import sys\nfrom maci.cli.app import app\n"
        f"try:\n    app({words!r})\nexcept SystemExit:\n    pass\n"
        "assert not [m for m in sys.modules if m.startswith('maci.cases')], 'imported'\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
