from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import maci
from hash_encoder import HashEncoder
from helpers import judge, make_case, script, settings, turn


def test_every_public_name_can_be_imported_and_no_other_exists() -> None:
    assert maci.__all__ == sorted(maci.__all__)
    for name in maci.__all__:
        assert getattr(maci, name) is not None
    with pytest.raises(AttributeError, match="module 'maci' has no attribute 'nosuch'"):
        maci.nosuch  # noqa: B018


def test_run_debates_in_one_line_and_shows_every_event() -> None:
    seen: list = []
    found = maci.run(
        make_case(),
        [script("x", turn(0.9, 0.1)), script("y", turn(0.8, 0.2))],
        [judge()],
        config=settings("max_rounds=2"),
        encoder=HashEncoder(),
        watch=seen.append,
    )
    assert found.answer == "dengue"
    assert seen[-1] is found.finished
    assert seen[0].version == maci.__version__
    assert seen[0].created


@pytest.mark.parametrize(
    "order", ["opening, run, debate", "run, debate, opening", "debate, run", "Table, opening, debate, run"]
)
def test_debate_and_run_are_functions_whatever_was_imported_before(order: str) -> None:
    code = (
        f"import maci.debating.loop, maci.debating.loop, maci.cli.debate\nfrom maci import {order}\nimport maci\n"
        "assert callable(run) and callable(debate), (run, debate)\n"
        "assert maci.run is run\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stderr


CONSUMER = """
import asyncio
from collections.abc import AsyncIterator
from typing import assert_type

import maci


async def main() -> None:
    result = await maci.arun("Is it so?", ["openai/a", "ollama/b"], ["openai/c"], outcomes=["yes", "no"], evidence=["x"], budget=100)
    assert_type(result, maci.DebateResult)
    assert_type(result.answer, str | None)
    assert_type(result.probability, float | None)
    assert_type(result.distribution, dict[str, float])
    if result.plan is not None:
        print(result.plan.items[0].text)
    events: AsyncIterator[maci.Event] = maci.stream("dengue", panel="readers", record="run")
    async for event in events:
        if isinstance(event, maci.Finished):
            assert_type(event.answer, str | None)


assert_type(maci.run(maci.load_case("dengue"), settings={"max_rounds": 3}), maci.DebateResult)
asyncio.run(main())
"""


def test_a_typed_program_checks_against_the_wheel_and_a_wrong_option_does_not(tmp_path: Path) -> None:
    root = Path(maci.__file__).parents[2]
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path / "dist")]
    built = subprocess.run(build, cwd=root, capture_output=True, text=True, timeout=300)
    assert built.returncode == 0, built.stdout + built.stderr
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    with zipfile.ZipFile(wheel) as content:
        assert "maci/py.typed" in content.namelist()
        content.extractall(tmp_path / "site")
    (tmp_path / "good.py").write_text(CONSUMER)
    (tmp_path / "wrong.py").write_text(CONSUMER.replace("budget=100", 'budgte="x"'))
    check = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--cache-dir", str(tmp_path / "mypy")]
    environment = {**os.environ, "MYPYPATH": str(tmp_path / "site")}
    for name, code in (("good.py", 0), ("wrong.py", 1)):
        ran = subprocess.run([*check, name], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=600)
        assert ran.returncode == code, ran.stdout + ran.stderr
    assert 'Unexpected keyword argument "budgte"' in ran.stdout
