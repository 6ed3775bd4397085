"""The command as a person calls it, in this process."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import NamedTuple

import pytest

from maci.cli import main


class Ran(NamedTuple):
    """How a call ended."""

    code: int
    out: str
    err: str


@pytest.fixture
def maci(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """``maci("debate", "dengue")``: exit code, standard output and error; never a traceback."""

    def run(*args: object) -> Ran:
        monkeypatch.setattr(sys, "argv", ["maci", *map(str, args)])
        capfd.readouterr()
        code = 0
        try:
            main()
        except SystemExit as end:
            code = int(end.code or 0)
        out, err = capfd.readouterr()
        assert "Traceback" not in err
        return Ran(code, out, err)

    return run
