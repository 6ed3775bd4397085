"""A newcomer's path: clone, `make demo`, the README's commands, in an environment made from nothing."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.system
ROOT = Path(__file__).parents[2]


def run(*command, cwd, **changes):
    environ = {k: v for k, v in os.environ.items() if not k.startswith(("MACI_", "VIRTUAL_ENV", "PYTHONPATH"))}
    return subprocess.run(command, cwd=cwd, env=environ | changes, capture_output=True, text=True, timeout=900)


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("needs git and a checkout to clone")
    target = tmp_path_factory.mktemp("fresh") / "maci"
    assert run("git", "clone", "-q", str(ROOT), str(target), cwd=ROOT).returncode == 0
    return target


def test_make_demo_sets_up_everything_and_shows_a_result(clone):
    done = run("make", "demo", cwd=clone)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "Answer: " in done.stdout and "all equal" in done.stdout
    again = run("make", "demo", cwd=clone)
    assert again.returncode == 0 and "Setting up" not in again.stdout


def test_the_installed_command_debates_shows_and_replays(clone, tmp_path):
    run("make", "demo", cwd=clone)
    maci = str(clone / ".venv" / "bin" / "maci")
    out = tmp_path / "out"
    assert run(maci, "debate", "paper-dengue", "--panel", "paper", "--out", str(out), cwd=tmp_path).returncode == 0
    assert "consensus" in run(maci, "show", str(out), "--plain", cwd=tmp_path).stdout
    assert run(maci, "replay", str(out), cwd=tmp_path).returncode == 0
