from __future__ import annotations

import subprocess
import sys

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
    assert seen[-1] is found
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
