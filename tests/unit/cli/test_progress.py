"""One display of how far long work is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import maci
from maci.cli import terminal
from maci.cli.terminal import ProgressBars


@pytest.fixture(autouse=True)
def still(monkeypatch: pytest.MonkeyPatch) -> None:
    """No time passes: only tenths make lines."""
    monkeypatch.setattr(terminal.time, "monotonic", lambda: 0.0)


def test_without_a_terminal_every_tenth_but_the_last_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressBars() as shown:
        assert list(shown.each(range(40), "cases")) == list(range(40))
    lines = capsys.readouterr().err.splitlines()
    assert [line.split()[0] for line in lines] == [f"{4 * tenth}/40" for tenth in range(1, 10)]
    assert lines[0] == "4/40 cases · about 0 s left"


def test_what_an_earlier_run_did_makes_no_line(capsys: pytest.CaptureFixture[str]) -> None:
    shown = ProgressBars()
    shown.at("cases", 7, 10, kept=7)
    shown.at("cases", 8, 10, kept=7, beside="3 failed")
    assert capsys.readouterr().err == "8/10 cases · about 0 s left · 3 failed\n"


def test_half_a_minute_is_worth_a_line(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    shown = ProgressBars()
    monkeypatch.setattr(terminal.time, "monotonic", lambda: 31.0)
    shown.at("cases", 1, 100)
    assert "1/100 cases · about 51 min left" in capsys.readouterr().err


def test_a_command_may_say_its_own_line_or_none(capsys: pytest.CaptureFixture[str]) -> None:
    shown = ProgressBars()
    shown.at("claims", 5, 10, line="5/10 lemma")
    shown.at("claims", 9, 10, line="")
    assert capsys.readouterr().err == "5/10 lemma\n"


def test_silent_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    shown = ProgressBars(silent=True)
    shown.say("a line")
    shown.at("cases", 9, 10, line="9/10")
    assert capsys.readouterr() == ("", "")


def test_no_other_module_draws_bars() -> None:
    files = Path(maci.__file__).parent.rglob("*.py")
    drawing = [path.name for path in files if re.search(r"rich\.progress", path.read_text(encoding="utf-8"))]
    assert drawing == ["terminal.py"]
