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
from typing import Any, Literal

from maci.errors import InputError
from maci.files.parse import parse, read_bytes, short_lines


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


_LARGEST = 256 << 20
"""Bytes of a file, unpacked."""


def content(path: Path) -> str:
    """The text of a file, compressed or not."""
    try:
        with gzip.open(path) if path.suffix.casefold() == ".gz" else path.open("rb") as file:
            return read_bytes(file, str(path), _LARGEST).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"cannot read {path}: not UTF-8 text ({error.reason} at byte {error.start}); save it as UTF-8"
        ) from error
    except (OSError, EOFError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise InputError(f"cannot read {path}: {why}") from error


def need(there: Collection[str], needed: Collection[str], path: Path) -> None:
    """Complain about columns that are not there."""
    if missing := [column for column in needed if column not in there]:
        raise InputError(
            f"{path} has no column {', '.join(map(repr, missing))}; it has {', '.join(map(repr, there)) or 'none'}"
        )


def rows(
    path: Path, text: str, needed: Collection[str] = (), *, delimiter: str = ",", quoting: Literal[0, 3] = 0
) -> Iterator[tuple[int, dict[Any, Any]]]:
    """The rows of a CSV or TSV text and the line each begins on, without blank lines.

    A row that ends early is filled with empty cells; what one has beyond the header stands under ``None``.
    """
    lines = csv.reader(short_lines(io.StringIO(text, newline=""), str(path)), delimiter=delimiter, quoting=quoting)
    try:
        header = next(lines, [])
        need(header, needed, path)
        end = lines.line_num
        for cells in lines:
            place, end = end + 1, lines.line_num
            if cells:
                row: dict[Any, Any] = dict(zip(header, [*cells, *[""] * (len(header) - len(cells))], strict=False))
                yield place, row | ({None: cells[len(header) :]} if any(cells[len(header) :]) else {})
    except csv.Error as error:
        raise InputError(f"cannot read {path}: line {lines.line_num}: {error}") from error


def table(
    path: Path, needed: Collection[str], *, delimiter: str = ",", quoting: Literal[0, 3] = 0
) -> Iterator[dict[str, str]]:
    """The rows of a CSV or TSV file, compressed or not."""
    for _, row in rows(path, content(path), needed, delimiter=delimiter, quoting=quoting):
        yield row


def objects(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a JSON-lines file, compressed or not, and the line of each; empty lines are passed over."""
    for number, line in enumerate(content(path).split("\n"), 1):
        if line.strip():
            entry = parse(line, "JSON", f"{path}, line {number}")
            if not isinstance(entry, dict):
                raise InputError(f"{path}, line {number} is {type(entry).__name__}, not a JSON object")
            yield number, entry


def json_lines(path: Path, needed: Collection[str] = ()) -> Iterator[dict[str, Any]]:
    """The objects of a JSON-lines file, each with the keys that are needed."""
    for number, entry in objects(path):
        if missing := [key for key in needed if key not in entry]:
            raise InputError(
                f"{path}, line {number} has no {', '.join(map(repr, missing))}; it has {', '.join(map(repr, entry))}"
            )
        yield entry


def count_rows(path: Path) -> int:
    """How many rows, lines or entries a file has."""
    name = path.name.removesuffix(".gz")
    if name.endswith(".json"):
        return len(read_json(path))
    text = content(path)
    if name.endswith(".jsonl"):
        return sum(1 for line in text.split("\n") if line.strip())
    return sum(1 for _ in rows(path, text, delimiter=";" if ";" in text.partition("\n")[0] else ","))


def read_json(path: Path) -> Any:
    """A JSON file."""
    try:
        return json.loads(content(path))
    except json.JSONDecodeError as error:
        raise InputError(f"{path} is not JSON: {error.msg} in line {error.lineno}") from error
