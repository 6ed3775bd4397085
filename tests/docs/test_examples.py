"""The examples are what they are said to be."""

from __future__ import annotations

from pathlib import Path

from maci.seating.file import load_panels

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_the_panels_can_be_read() -> None:
    assert "two-qwens" in load_panels(EXAMPLES / "panels.yaml").panels
