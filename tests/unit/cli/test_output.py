"""What commands print, and how work ends that was interrupted."""

from __future__ import annotations

import errno
import json
from itertools import product

import pytest
import typer
from rich.console import Console

from maci.cli.output import columns, interruptible, publish, same_command
from maci.cli.terminal import Lines
from maci.errors import EnvironmentError_


def test_a_value_is_published_as_json_or_as_lines_and_never_as_both(capsys: pytest.CaptureFixture[str]) -> None:
    publish({"π": 1}, ["one", "two"], json=True)
    assert json.loads(capsys.readouterr().out) == {"π": 1}
    publish({"π": 1}, ["one", "two"], json=False)
    assert capsys.readouterr().out == "one\ntwo\n"


def test_nothing_has_no_columns() -> None:
    assert list(columns([])) == []


def test_an_interrupt_says_what_is_kept_and_exits_130(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit) as end, interruptible("all is kept"):
        raise KeyboardInterrupt
    assert end.value.exit_code == 130
    assert capsys.readouterr().err == "\ninterrupted; all is kept\n"


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (BrokenPipeError(errno.EPIPE, "Broken pipe"), "output was closed before the end; all is kept"),
        (
            OSError(errno.ENOSPC, "No space left on device"),
            r"cannot be written \(No space left on device\); all is kept",
        ),
    ],
)
def test_an_output_that_is_lost_says_what_is_kept(error: OSError, says: str) -> None:
    with pytest.raises(EnvironmentError_, match=says), interruptible("all is kept"):
        raise error


def test_an_error_about_a_file_is_not_taken_for_one_about_the_output() -> None:
    with pytest.raises(OSError, match="No space left") as caught, interruptible("all is kept"):
        raise OSError(errno.ENOSPC, "No space left on device", "file.txt")
    assert caught.value.filename == "file.txt"


def test_a_command_is_repeated_without_the_password_of_its_database(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["maci", "study", "run", "a b.toml", "--store", "postgresql://me:secret@host/db"])
    assert same_command("study") == "maci study run 'a b.toml' --store postgresql://me:***@host/db"
    assert same_command("audit") == "the same command"


@pytest.mark.parametrize("width", range(1, 81))
def test_text_is_folded_at_every_width_of_a_terminal(width: int) -> None:
    lines = Lines(console=Console(force_terminal=True, width=width))
    for size, margin, hang, most, end in product(
        (0, 1, 5, 60), (0, 2), (0, 2, 14), (0, 1, 2), ("", " (B)", " cites 1, 2")
    ):
        words = " ".join(["word"] * size)
        rows = lines.fold(" " * margin + words, hang, most, end).split("\n")
        assert len(rows) <= (most or len(rows))
        if width >= margin + hang + len("cites"):  # a word is not broken
            assert all(len(row) <= width for row in rows)
        if not most:
            assert "".join("".join(rows).split()) == "".join((words + end).split())


@pytest.mark.parametrize("width", [40, 60, 80])
def test_text_that_is_cut_keeps_its_end_where_there_is_room(width: int) -> None:
    lines = Lines(console=Console(force_terminal=True, width=width))
    rows = lines.fold("word " * 60, 14, 2, " (B)").split("\n")
    assert len(rows) == 2 and rows[-1].endswith(" … (B)") and len(rows[-1]) <= width
