"""The data of a YAML, TOML or JSON text, whoever wrote it: within :mod:`maci.files.bounds`, or an error that says why not.

What is short and plain is parsed here; the rest is parsed by a child that can be killed (:mod:`maci.files.worker`). A mark of the byte
order, which some editors put at the beginning, is passed over.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from maci.errors import InputError, MaciError
from maci.files.bounds import BYTES, Beyond, Kind, check_size, check_text, harmless
from maci.files.data import load


class _Bytes(Protocol):
    def read(self, size: int, /) -> bytes: ...


@contextmanager
def opened(path: Path, what: str = "") -> Iterator[BinaryIO]:
    """A regular file, open for reading: a pipe or a device could keep the program waiting for ever. ``what`` it is, for errors."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise InputError(f"{path} is a pipe or a device, not a file: name a regular file")
    try:
        with path.open("rb") as file:
            yield file
    except OSError as error:
        raise InputError(f"cannot read {what}{path}: {error.strerror}") from error


def read(path: Path, kind: Kind | None = None) -> Any:
    """The data of a YAML, TOML or JSON file; of which ``kind``, its name says where nobody else does."""
    with opened(path) as file:
        data = read_bytes(file, str(path))
    return parse(data, kind or kind_of(path.suffix), str(path))


def read_lines(path: Path) -> Iterator[tuple[int, Any]]:
    """Number and data of every line of a JSONL file; empty ones are passed over."""
    with opened(path) as file:
        number = 0
        while line := file.readline(BYTES + 2):
            number += 1
            if line.removeprefix(codecs.BOM_UTF8).strip():
                yield number, parse(line, "JSON", f"{path}, line {number}")


def read_bytes(file: _Bytes, where: str, most: int = BYTES) -> bytes:
    """All of a file that is no larger than a document may be, however large it says it is."""
    data = file.read(most + 1)
    try:
        check_size(len(data), most)
    except Beyond as error:
        raise InputError(f"{where} {error}") from error
    return data


def kind_of(suffix: str) -> Kind:
    """What a file is by its name.

    >>> kind_of(".TOML"), kind_of(".yml")
    ('TOML', 'YAML')
    """
    kinds: dict[str, Kind] = {".toml": "TOML", ".json": "JSON"}
    return kinds.get(suffix.lower(), "YAML")


def parse(data: bytes | str, kind: Kind, where: str) -> Any:
    """The data of a text; ``where`` names it in errors."""
    try:
        check_size(len(data))
        text = data if isinstance(data, str) else _decode(data, where)
        return _parsed(text.removeprefix("\ufeff"), kind)
    except Beyond as error:
        raise InputError(f"{where} {error}") from error
    except MaciError:
        raise
    except Exception as error:  # the parsers share no base but this
        said = re.sub(r'in "<(?:unicode|byte) string>", (?=line)', "at ", " ".join(str(error).split()))
        raise InputError(f"{where} is not valid {kind}: {said}") from error


def _parsed(text: str, kind: Kind) -> Any:
    if kind != "YAML":
        check_text(text, kind)
    if harmless(text, kind):
        return load(text, kind)
    from maci.files.worker import ask

    return ask(kind, text=text)


def _decode(data: bytes, where: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{where} is not a text file (UTF-8): {error.reason} at byte {error.start}; save it as UTF-8"
        ) from error
