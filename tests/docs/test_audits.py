"""docs/audits.md: its example runs, and its limits are those of the code."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from maci.lab.audit.judges.report import LIMITS

PAGE = (Path(__file__).parents[2] / "docs" / "audits.md").read_text(encoding="utf-8")


def test_the_example_finds_the_planted_fault():
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "['with the others', 'length', 'verbosity']\n"


def test_every_limit_is_in_the_table():
    rows = {row.split("|")[1].strip(): row for row in PAGE.splitlines() if row.startswith("| ")}
    where = {"agreement": "alpha", "with the others": "rest", "spread": "spread",
             "judge swap": "swap", "order": "order", "position": "effect",
             "own family": "effect", "verbosity": "effect", "identity": "effect", "length": "length",
             "self-consistency": "noise", "abstentions": "abstained"}  # fmt: skip
    assert set(where.values()) == set(LIMITS)
    for check, key in where.items():
        *_, watch, bad, _ = rows[check].split("|")
        for cell, limit in zip((watch, bad), LIMITS[key], strict=True):
            written = f"{100 * limit:g} %" if "%" in cell else f"{limit:.3f}".rstrip("0")
            assert written in cell or f"{limit:.2f}" in cell, (check, cell, limit)
