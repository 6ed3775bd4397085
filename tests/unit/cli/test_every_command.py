"""Every command keeps to what is said of all: `--json` prints JSON alone, `--plain` draws nothing, `--quiet` prints no more."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from hash_encoder import HashEncoder
from maci.cli.app import COMMANDS, opened

CALLS = {
    "init": "--offline",
    "debate": "paper-hepatitis --panel paper",
    "ask": "paper-hepatitis --panel paper",
    "batch": "cases.jsonl --panel panel.yaml --out many",
    "panels": "",
    "plugins": "",
    "doctor": "",
    "show": "run",
    "report": "run --out report.html",
    "replay": "run",
    "plan": "run",
    "config": "tau_q",
    "cases": "",
    "index": "notes --out my-index",
    "verify": "--quick --only lemma",
    "lab habits": "run",
    "models": "",
    "models list": "",
    "data": "",
    "scheduler show": "",
    "scheduler export": "",
    "study methods": "",
    "study list": "study",
    "study export": "study --to rows.csv --format csv",
    "study report": "study",
    "export": "run --out rows.jsonl",
    "sign": "run --key secret --by me",
    "verify-signature": "signed --key secret",
    "outcome": "run --was Cirrhosis",
    "prune": "",
}
"""A call of each command in the folder of :func:`stage`."""
ELSEWHERE = {
    "serve": "runs until it is stopped",
    "mcp": "serves until its input ends: tests/unit/integrations",
    "calibrate": "test_calibrate.py",
    "study run": "test_study_command.py",
    "data show": "test_data_command.py",
    "data verify": "test_data_command.py",
    "models pull": "fetches from the network",
    "models verify": "test_models_command.py",
    "models remove": "test_models_command.py",
    "scheduler reset": "test_scheduler_command.py",
    "scheduler import": "test_scheduler_command.py",
    "scheduler learn": "test_scheduler_command.py",
    "scheduler evaluate": "test_scheduler_command.py",
    "lab map": "test_lab_command.py",
    "lab causes": "test_lab_command.py",
    "audit judges": "test_audit_judges.py",
    "audit contentiousness": "test_audit_contentiousness.py",
}
"""Commands that take too long here, or need more than a debate, with where they are tried."""
MANY = {"batch"}
"""Commands whose JSON is one object a case."""
DRAWN = re.compile("[\x1b\u2500-\u259f]")
"""Escapes of the terminal, lines and blocks."""

PANEL = """
evidence: [{id: e1, text: "High fever points to dengue."}]
agents:
  - {name: x, family: fx, turns: [{belief: {yes: 0.9, no: 0.1}, arguments: [{claim: It is., cite: [e1], outcome: "yes"}]}]}
  - {name: y, family: fy, turns: [{belief: {yes: 0.8, no: 0.2}, arguments: [{claim: It is., cite: [e1], outcome: "yes"}]}]}
judges: [{name: j, family: fj}]
"""
CASE = {"question": "Is it dengue?", "context": "High fever.", "outcomes": ["yes", "no"], "gold": "yes"}
STUDY = """
name = "tiny"
seeds = [0]
[[data]]
file = "cases.csv"
map = { context = "text", gold = "label" }
question = "Which?"
[panel]
name = "readers"
[[methods]]
use = "single"
[[methods]]
use = "average"
"""


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a debate, a signed one, a study, documents and cases; its caches are its own."""
    from maci.cli import main

    here: Path = tmp_path_factory.mktemp("stage") / "work"
    (here / "notes").mkdir(parents=True)
    (here / "notes" / "one.log").write_text("12:00 ERROR disk full\n", encoding="utf-8")
    (here / "secret").write_bytes(b"k" * 32)
    (here / "panel.yaml").write_text(PANEL, encoding="utf-8")
    (here / "cases.jsonl").write_text(
        "".join(json.dumps({**CASE, "id": each}) + "\n" for each in "ab"), encoding="utf-8"
    )
    texts = {"Measles": "fever rash cough red eyes koplik", "Gout": "big toe pain swollen at night wine"}
    rows = [f"{text} {n},{label}" for n in range(10) for label, text in texts.items()]
    (here / "cases.csv").write_text("text,label\n" + "\n".join(rows) + "\n", encoding="utf-8")
    (here / "study.toml").write_text(STUDY, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        surroundings(patch, here)
        for words in (
            "debate paper-hepatitis --panel paper --out run -q",
            "debate paper-hepatitis --panel paper --out signed -q",
            "sign signed --key secret --by me",
            "study run study.toml --out study -q",
        ):
            patch.setattr("sys.argv", ["maci", *words.split()])
            with pytest.raises(SystemExit) as end:
                main()
            assert not end.value.code, words
    return here


def surroundings(patch: pytest.MonkeyPatch, here: Path) -> None:
    patch.chdir(here)
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "MACI_CACHE"):
        patch.setenv(name, str(here.parent / name.lower()))
    patch.setattr("maci.seating.seating.load_encoder", lambda *args, **more: HashEncoder())


def _leaves(name: str, command: object) -> list[tuple[list[str], set[str]]]:
    """Every command below a name with the options it takes."""
    if isinstance(command, typer.core.TyperGroup):
        below = [leaf for sub, under in command.commands.items() for leaf in _leaves(f"{name} {sub}", under)]
        return below if not command.invoke_without_command else [_leaf(name, command), *below]
    return [_leaf(name, command)]


def _leaf(name: str, command: object) -> tuple[list[str], set[str]]:
    return (name.split(), {option for param in command.params for option in param.opts})


LEAVES = [leaf for name in COMMANDS for leaf in _leaves(name, opened(name))]


@pytest.mark.parametrize(
    ("words", "taken"), LEAVES, ids=lambda value: " ".join(value) if isinstance(value, list) else ""
)
def test_every_command_takes_json_plain_and_quiet_and_answers_h(words: list[str], taken: set[str]) -> None:
    assert {"--json", "--plain", "--quiet"} <= taken
    from maci.cli.app import app

    shown = CliRunner().invoke(app, [*words, "-h"])
    assert shown.exit_code == 0 and "--quiet" in shown.output and "Usage" in shown.output


def test_a_command_that_prints_a_list_takes_plain_and_quiet_and_prints_the_same() -> None:
    from maci.cli.app import app

    plain = CliRunner().invoke(app, ["models", "list"])
    assert plain.exit_code == 0
    assert CliRunner().invoke(app, ["models", "list", "--plain", "-q"]).output == plain.output
    assert CliRunner().invoke(app, ["models", "--plain", "-q"]).output == plain.output


def test_no_command_is_left_out() -> None:
    assert {" ".join(words) for words, _ in LEAVES} == CALLS.keys() | ELSEWHERE.keys()


@pytest.mark.parametrize("name", CALLS)
def test_json_is_alone_plain_draws_nothing_and_quiet_says_no_more(
    name: str, maci: Callable[..., Any], stage: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = {}
    for mode in ("", "--json", "--plain", "--quiet"):
        here = tmp_path / (mode.strip("-") or "usual")
        shutil.copytree(stage, here)
        surroundings(monkeypatch, here)
        ran = maci(*name.split(), *CALLS[name].split(), *mode.split())
        assert ran.code == 0, (mode, ran.err)
        said[mode] = ran.out
    values = said["--json"].splitlines() if name in MANY else [said["--json"]]
    assert values and all(isinstance(json.loads(value), dict | list) for value in values)
    assert not DRAWN.search(said["--plain"])
    assert len(said["--quiet"].splitlines()) <= len(said[""].splitlines())
