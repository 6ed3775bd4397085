"""docs/theory.md: its names exist, and it speaks of every check and of no other."""

from __future__ import annotations

import re
from pathlib import Path

from maci.lab.theory.bandits import bound
from maci.lab.theory.suite import CHECKS

ROOT = Path(__file__).parents[4]
PAGE = (ROOT / "docs" / "theory.md").read_text(encoding="utf-8")


def test_every_name_is_where_the_page_says() -> None:
    rows = [line.strip("|").split("|") for line in PAGE.splitlines() if line.startswith("|") and ".py`" in line]
    assert len(rows) > 5
    for *_, names, files in rows:
        source = "\n".join((ROOT / "src/maci" / file).read_text("utf-8") for file in re.findall(r"`([^`]+)`", files))
        for name in re.findall(r"`([^`]+)`", names):
            assert re.search(rf"^(def|class) {name}\b", source, re.MULTILINE), name


def test_every_check_is_spoken_of_and_no_other() -> None:
    spoken = {name for group in re.findall(r"\[(`[^\]]+`)\]", PAGE) for name in re.findall(r"`([^`]+)`", group)}
    assert spoken == {check.name for check in CHECKS}


def test_the_regret_bound_says_nothing_below_the_stated_horizon() -> None:
    assert "2,307 rounds" in " ".join(PAGE.split())
    assert bound(2306) > 2306 and bound(2307) <= 2307
