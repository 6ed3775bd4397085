"""What the README shows works as shown."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", TEXT, re.DOTALL)


def test_the_python_example_prints_what_it_says():
    (code,) = blocks("python")
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, "README", "exec"), {})
    assert out.getvalue().strip() == re.search(r"print\(.*#\s*(.*)", code).group(1)


def test_it_is_short_and_its_first_lines_have_the_answer_to_what_it_is() -> None:
    assert len(TEXT.splitlines()) <= 150
    assert "make demo" in TEXT and "make test" in TEXT
    for reader in ("I have an API key", "I have Ollama", "I have nothing"):
        assert reader in TEXT


def commands() -> list[str]:
    lines = [line.split("#")[0].strip() for block in blocks("sh") for line in block.splitlines()]
    return [part.strip() for line in lines if line.startswith("maci") for part in line.split("&&")]


def test_every_command_of_the_readme_works(tmp_path: Path):
    (yaml,) = blocks("yaml")
    (tmp_path / "case.yaml").write_text(yaml, encoding="utf-8")
    env = {**os.environ, "MACI_STATE": str(tmp_path / "state")}  # what schedules learn is not for the user's folder
    ran = commands()
    assert len(ran) >= 8
    for command in ran:
        call = [sys.executable, "-c", "from maci.cli import main; main()", *shlex.split(command)[1:]]
        done = subprocess.run(call, cwd=tmp_path, capture_output=True, text=True, timeout=300, env=env)
        assert done.returncode == 0, f"{command}\n{done.stdout[-500:]}\n{done.stderr[-1500:]}"
        if command == "maci debate case.yaml --force":
            assert "Answer: cat" in done.stdout


@pytest.mark.parametrize("name", re.findall(r"`maci (\w+)", TEXT))
def test_every_command_named_exists(name):
    from maci.cli.app import COMMANDS

    assert name in COMMANDS
