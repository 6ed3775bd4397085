"""The live area in a real terminal (tmux) that is resized and interrupted: nothing of it stays, and nothing else is lost."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from stage import fake_models, slow_panel

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux: tests/system/install.sh"),
]


class Terminal:
    """A shell in a window of tmux, 110 columns by 40 rows, and the command of a slow debate."""

    def __init__(self, folder: Path, models: str) -> None:
        self._socket = str(folder / "socket")
        panels, out = slow_panel(folder, models), str(folder / "run")
        question = "Is the bridge safe for lorries of forty tonnes?"
        words = [sys.executable, "-m", "maci", "debate", "--question", question, "--panel", "slow", "--no-cache"]
        words += ["--outcomes", "safe,unsafe,safe with a speed limit", "--out", out]
        words += ["--set", "min_rounds=8", "--set", "max_rounds=8"]
        given = {"MACI_PANELS": str(panels), "OPENAI_API_KEY": "test-key", "MISTRAL_API_KEY": "test-key"}
        given["PYTHONPATH"] = os.environ.get("PYTHONPATH", "")
        for name, value in given.items():
            words.insert(0, f"{name}={value}")
        (folder / "debate.sh").write_text(f'exec env -u COLUMNS -u LINES {shlex.join(words)} "$@"\n', encoding="utf-8")
        self.debate = f"sh {shlex.quote(str(folder / 'debate.sh'))}"
        self.tmux("new-session", "-d", "-x", "110", "-y", "40", "env PS1='$ ' bash --norc --noprofile -i")
        self.type("echo THE START")

    def tmux(self, *args: str) -> str:
        """Have it do something."""
        call = ["tmux", "-S", self._socket, *args]
        return subprocess.run(call, capture_output=True, text=True, check=True).stdout

    def type(self, line: str) -> None:
        """A line for the shell."""
        self.tmux("send-keys", line, "Enter")

    def screen(self, *more: str) -> list[str]:
        """What is shown now; with ``-S -`` everything that can be scrolled back to as well."""
        return self.tmux("capture-pane", "-p", *more).splitlines()

    def wait(self, until: Callable[[list[str]], bool]) -> None:
        """Until what is shown is as wanted."""
        for _ in range(600):
            if until(self.screen()):
                return
            time.sleep(0.1)
        raise AssertionError("\n".join(self.screen()))

    def normal(self) -> bool:
        """The terminal is as a shell expects it: the normal screen, and a cursor."""
        return self.tmux("display-message", "-p", "#{alternate_on}#{cursor_flag}").strip() == "01"


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    with fake_models(0.6) as models:
        it = Terminal(tmp_path, models)
        try:
            yield it
        finally:
            it.tmux("kill-server")


def area(width: int) -> Callable[[list[str]], bool]:
    """One line across the whole terminal, and one status below it."""
    return lambda now: (
        [line for line in now if line.startswith("──")] == ["─" * (width - 1)]
        and sum(line.startswith(("round ", "openings")) for line in now) == 1
    )


def running(now: list[str]) -> bool:
    return area(110)(now)


@pytest.mark.parametrize("option", ["", "--verbose"])
def test_a_terminal_that_is_resized_in_mid_debate_shows_one_live_area_and_in_the_end_none(
    terminal: Terminal, option: str
) -> None:
    terminal.type(f"{terminal.debate} {option}; echo THE END")
    terminal.wait(running)
    for width, height in ((70, 40), (45, 30), (100, 40), (60, 36), (30, 12), (110, 40)):
        terminal.tmux("resize-window", "-x", str(width), "-y", str(height))
        terminal.wait(area(width))
        time.sleep(0.7)  # it is drawn again a few times
        terminal.wait(area(width))
    terminal.wait(lambda now: "THE END" in now)
    whole = terminal.screen("-S", "-")
    assert not [line for line in whole if line.startswith(("──", "openings · "))], "\n".join(whole)
    once = ("THE START", "Is the bridge", ("Answer: ", "No clear answer: "))  # fake models need not come to one
    assert [sum(line.startswith(text) for line in whole) for text in once] == [1, 1, 1]
    assert terminal.normal()


def test_a_debate_that_is_suspended_and_interrupted_gives_the_terminal_back(terminal: Terminal) -> None:
    terminal.type(terminal.debate)
    terminal.wait(running)
    assert not terminal.normal()
    terminal.tmux("send-keys", "C-z")
    terminal.wait(lambda now: any("Stopped" in line for line in now) and terminal.normal())
    assert not [line for line in terminal.screen("-S", "-") if line.startswith("──")]
    terminal.type("fg")
    terminal.wait(running)
    terminal.tmux("send-keys", "C-z")  # again: not only once
    terminal.wait(lambda now: sum("Stopped" in line for line in now) == 2)
    terminal.type("fg")
    terminal.wait(running)
    terminal.tmux("send-keys", "C-c")
    terminal.wait(lambda now: any("--resume" in line for line in now))
    whole = terminal.screen("-S", "-")
    assert terminal.normal() and "THE START" in whole and not [line for line in whole if line.startswith("──")]
