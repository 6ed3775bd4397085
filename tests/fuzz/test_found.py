"""Inputs that once failed, and a short run of the fuzzer. ``make fuzz FOR=30m`` is the long one."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from fuzz.findings import Run, smaller
from fuzz.mutate import mutated
from fuzz.run import FOUND, SHARES
from fuzz.targets import TARGETS
from maci.errors import ModelError
from maci.llm.offline import heed_environment

TESTS = Path(__file__).parents[1]
INPUTS = sorted(path for path in FOUND.glob("*/*") if path.is_file())


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody's configuration, keys or network."""
    for name in [name for name in os.environ if name.startswith("MACI_") or name.endswith("_API_KEY")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("MACI_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("MACI_OFFLINE", "1")
    heed_environment()
    monkeypatch.chdir(tmp_path)


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("path", INPUTS, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_what_once_failed_is_taken_or_refused_in_words(path: Path) -> None:
    TARGETS[path.parent.name].check(path.read_bytes())


def test_an_input_reaches_nobody(tmp_path: Path) -> None:
    script = (
        "import socket\nfrom pathlib import Path\nfrom fuzz.findings import Run\n"
        "Run(lambda data: socket.getaddrinfo(data, 80), Path('out'))._check('example.org')"
    )
    path = os.pathsep.join((str(TESTS), str(TESTS.parent / "src")))
    ran = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert "offline: example.org is not on this machine" in ran.stderr
    with pytest.raises(ModelError, match="offline"):
        socket.getaddrinfo("example.org", 80)


def test_every_target_has_a_share_of_the_time_and_takes_its_seeds() -> None:
    assert set(SHARES) == set(TARGETS)
    for name in ("config", "panels", "corpus", "reply", "http"):
        for seed in TARGETS[name].seeds():
            TARGETS[name].check(seed)


def test_a_failure_is_found_once_with_a_small_input(tmp_path: Path) -> None:
    def fails(data: bytes) -> None:
        if b"boom" in data:
            raise KeyError("boom")

    run = Run(fails, tmp_path)
    for data in (b"fine", b"one\ntwo boom two\nthree", b"again boom"):
        run.one(data)
    run.write()
    (kept,) = (tmp_path / "inputs").iterdir()
    assert kept.read_bytes() == b"boom" and run.inputs == 3
    assert '"KeyError at' in (tmp_path / "told.json").read_text()
    assert smaller(b"xxboomxx", lambda part: b"boom" in part) == b"boom"


def test_a_mutation_keeps_the_form_and_follows_the_seed() -> None:
    before = b'{"a": [1, 2, {"b": "c"}]}'
    made = [mutated(before, Random(n)) for n in range(50)]
    assert made == [mutated(before, Random(n)) for n in range(50)]
    assert len(set(made)) > 20 and mutated(b"no JSON", Random(0)) is None


def test_a_short_run_of_every_target_finds_nothing(tmp_path: Path) -> None:
    pytest.importorskip("atheris")
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join((str(TESTS), str(TESTS.parent / "src")))}
    command = [sys.executable, "-m", "fuzz.run", "--for", "20s", "--seed", "1", "--save", str(tmp_path / "found")]
    done = subprocess.run(command, capture_output=True, text=True, env=environ, timeout=900, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    told = dict(re.findall(r"^(\w+) +([\d,]+) inputs ", done.stdout, re.MULTILINE))
    assert set(told) == set(TARGETS) and all(int(n.replace(",", "")) > 0 for n in told.values()), done.stdout
