"""What commands print, and how work ends that was interrupted."""

from __future__ import annotations

import errno
import json

import pytest
import typer

from maci.cli.output import columns, interruptible, publish, same_command
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
