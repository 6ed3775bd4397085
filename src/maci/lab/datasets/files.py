"""Reading the files of data sets, and the split rule they share.

A split is by distinct text or case, never by row: most sets repeat rows, and a random split of rows leaks.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import IO, Any, Literal

from maci.errors import InputError
from maci.files.parse import parse


def is_dev(key: str) -> bool:
    """A fixed 40 % of everything may be used for development, whatever the seed; the rest is only ever measured on."""
    return int(hashlib.sha256(key.encode()).hexdigest(), 16) % 5 < 2


def plain(text: str) -> str:
    """A text without differences of blanks and case: what makes two texts the same text."""
    return " ".join(text.split()).casefold()


def text_id(text: str, length: int = 12) -> str:
    """An id that depends on the text alone.

    >>> text_id("High fever.") == text_id("high  fever.")
    True
    """
    return hashlib.sha256(plain(text).encode()).hexdigest()[:length]


def digest(path: Path) -> str:
    """The SHA-256 of a file."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error


def _open(path: Path) -> IO[str]:
    if path.suffix == ".gz":
        return io.TextIOWrapper(gzip.open(path), encoding="utf-8-sig", newline="")
    return path.open(encoding="utf-8-sig", newline="")


def _unreadable(path: Path, error: Exception) -> InputError:
    if isinstance(error, UnicodeDecodeError):
        return InputError(
            f"cannot read {path}: not UTF-8 text ({error.reason} at byte {error.start}); save it as UTF-8"
        )
    why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return InputError(f"cannot read {path}: {why}")


def need(there: Collection[str], needed: Collection[str], path: Path) -> None:
    """Complain about columns that are not there."""
    if missing := [column for column in needed if column not in there]:
        raise InputError(
            f"{path} has no column {', '.join(map(repr, missing))}; it has {', '.join(map(repr, there)) or 'none'}"
        )


def table(
    path: Path, needed: Collection[str], *, delimiter: str = ",", quoting: Literal[0, 3] = 0
) -> Iterator[dict[str, str]]:
    """The rows of a CSV or TSV file, compressed or not; those that end early are filled with empty cells."""
    try:
        with _open(path) as file:
            rows = csv.DictReader(file, delimiter=delimiter, quoting=quoting, restval="")
            need(rows.fieldnames or (), needed, path)
            yield from rows
    except (OSError, EOFError, UnicodeDecodeError, csv.Error) as error:
        raise _unreadable(path, error) from error


def json_lines(path: Path, needed: Collection[str] = ()) -> Iterator[dict[str, Any]]:
    """The objects of a JSON-lines file, compressed or not; empty lines are passed over."""
    try:
        with _open(path) as file:
            for number, line in enumerate(file, 1):
                if not line.strip():
                    continue
                entry = parse(line, "JSON", f"{path}, line {number}")
                if not isinstance(entry, dict):
                    raise InputError(f"{path}, line {number} is {type(entry).__name__}, not a JSON object")
                if missing := [key for key in needed if key not in entry]:
                    raise InputError(
                        f"{path}, line {number} has no {', '.join(map(repr, missing))}; it has {', '.join(map(repr, entry))}"
                    )
                yield entry
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise _unreadable(path, error) from error


def count_rows(path: Path) -> int:
    """How many rows, lines or entries a file has."""
    name = path.name.removesuffix(".gz")
    if name.endswith(".json"):
        return len(read_json(path))
    try:
        with _open(path) as file:
            if name.endswith(".jsonl"):
                return sum(1 for line in file if line.strip())
            return max(0, sum(1 for _ in csv.reader(file, delimiter=";" if ";" in file.readline() else ",")))
    except (OSError, EOFError, UnicodeDecodeError, csv.Error) as error:
        raise _unreadable(path, error) from error


def read_json(path: Path) -> Any:
    """A JSON file."""
    try:
        with _open(path) as file:
            return json.load(file)
    except json.JSONDecodeError as error:
        raise InputError(f"{path} is not JSON: {error.msg} in line {error.lineno}") from error
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise _unreadable(path, error) from error
