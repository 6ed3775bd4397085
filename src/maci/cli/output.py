"""What commands print on standard output, and how long work ends that was interrupted."""

from __future__ import annotations

import json as jsonlib
import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import typer

from maci.errors import EnvironmentError_, is_output_lost
from maci.render.markup import clean, visible_json


def echo(text: str, *, err: bool = False) -> None:
    """Print what may hold words of models, documents, files or their names: it cannot move the cursor or hide anything."""
    typer.echo(clean(text), err=err)


def emit(found: Any) -> None:
    """Print a value as one line of JSON, in which nothing can move the cursor or hide anything either."""
    typer.echo(visible_json(jsonlib.dumps(found, ensure_ascii=False)))


def publish(found: Any, lines: Iterable[str], *, json: bool) -> None:
    """Print what was found: as JSON, or else as ``lines`` for people."""
    if json:
        emit(found)
    else:
        for line in lines:
            echo(line)


def columns(rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> Iterator[str]:
    """Rows as lines, each column as wide as its widest cell; those numbered in ``right`` end at their right edge.

    >>> list(columns([("a", "1", "x"), ("bcd", "20", "")], right=[1]))
    ['a     1  x', 'bcd  20']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (
            cell.rjust(width) if number in right else cell.ljust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join(cells).rstrip()


def same_command(name: str) -> str:
    """The command that is running, for a person to give it again; passwords in it are left out."""
    if sys.argv[1:2] != [name]:
        return "the same command"
    from maci.llm.keys import without_credentials

    return without_credentials("maci " + shlex.join(sys.argv[1:]))


@contextmanager
def interruptible(kept: str) -> Iterator[None]:
    """Work that somebody may interrupt or stop reading: it ends with what is ``kept`` and how to go on."""
    try:
        yield
    except KeyboardInterrupt:
        echo(f"\ninterrupted; {kept}", err=True)
        raise typer.Exit(130) from None
    except OSError as error:
        if not is_output_lost(error):
            raise
        closed = isinstance(error, BrokenPipeError)
        why = "output was closed before the end" if closed else f"the output cannot be written ({error.strerror})"
        raise EnvironmentError_(f"{why}; {kept}") from error
