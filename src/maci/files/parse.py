"""The data of a YAML, TOML or JSON text, whoever wrote it: within :mod:`maci.files.bounds`, or an error that says why not.

What is short and plain is parsed here; the rest is parsed by a child that can be killed (:mod:`maci.files.worker`). A mark of the byte
order, which some editors put at the beginning, is passed over.
"""

from __future__ import annotations

import base64
import codecs
import datetime
import errno
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from maci.errors import InputError, MaciError
from maci.files.bounds import (
    BYTES,
    DEPTH,
    NODES,
    Beyond,
    Kind,
    check_data,
    check_size,
    check_text,
    harmless,
    too_deep,
    too_long,
)


class _Bytes(Protocol):
    def read(self, size: int, /) -> bytes: ...


def check_name(path: Path) -> None:
    """Refuse what cannot be the name of a file: one that is too long, or that the system has no letters for."""
    try:
        path.stat()
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise InputError(f"{str(path)[:60]}… is longer than the name of a file can be: correct it") from error
    except ValueError as error:
        raise InputError(f"{str(path)[:60]!r} cannot be the name of a file: correct it") from error


@contextmanager
def opened(path: Path, what: str = "") -> Iterator[BinaryIO]:
    """A regular file, open for reading: a pipe or a device could keep the program waiting for ever. ``what`` it is, for errors."""
    check_name(path)
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


def whole_rows(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a JSON Lines file of our own, which grows by :func:`append_row`; a line that was cut off is left out.

    A file that is not there yet has none.
    """
    if not path.exists():
        return
    with path.open("rb") as file:
        for line in file:
            try:
                row = json.loads(line)
            except ValueError:
                continue
            yield row


def append_row(path: Path, row: Mapping[str, Any]) -> None:
    """Add a row to such a file, on disk before anything else is done; a line that was cut off before it stays alone."""
    with path.open("ab+") as file:
        if file.tell():
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                file.write(b"\n")
        file.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())


def short_lines(lines: Iterable[str], where: str) -> Iterator[str]:
    """The lines of a table, none of them longer than a document may be: its parser makes a list of every line's cells."""
    for number, line in enumerate(lines, 1):
        if len(line) > BYTES:
            raise InputError(
                f"{where}, line {number} has more than {BYTES:,} characters, the most that is read: split it"
            )
        yield line


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


def load(text: str, kind: Kind) -> Any:
    """The data of a text, by the parser of its kind."""
    try:
        value = _load(text, kind)
    except ValueError as error:
        if "integer string conversion" in str(error):  # Python's own limit, which lies above this one
            raise too_long() from error
        raise
    check_data(value)
    return value


def _load(text: str, kind: Kind) -> Any:
    if kind == "JSON":
        return json.loads(text)
    if kind == "TOML":
        import tomllib

        return tomllib.loads(text)
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(text)
    try:
        root = loader.get_single_node()
        if root is None:
            return None
        _check_keys(root)
        return loader.construct_document(root)
    finally:
        loader.dispose()


def _check_keys(root: Any) -> None:
    """Refuse YAML that gives one key twice: the first would be lost without a word."""
    from yaml import CollectionNode, MappingNode, ScalarNode

    left, seen = [root], set[int]()
    while left:
        node = left.pop()
        if id(node) in seen or not isinstance(node, CollectionNode):
            continue
        seen.add(id(node))
        if not isinstance(node, MappingNode):
            left += node.value
            continue
        given = dict[tuple[str, str], Any]()
        for key, value in node.value:
            left += (key, value)
            if isinstance(key, ScalarNode) and key.value != "<<":
                first = given.setdefault((key.tag, key.value), key)
                if first is not key:
                    where = f"lines {first.start_mark.line + 1} and {key.start_mark.line + 1}"
                    raise Beyond(f"has the key {key.value[:80]!r} twice ({where}): keep one of them")


def check_yaml(text: str) -> None:
    """Refuse YAML that is too deep or stands for too much. What makes its events does not recurse; what composes them does."""
    import yaml

    stands_for: dict[str, int] = {}
    open_: list[str | None] = []
    counts = [0]
    events: Iterable[Any] = yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    for event in events:
        kind = type(event)
        if issubclass(kind, yaml.AliasEvent):
            if event.anchor in open_:
                raise Beyond(
                    f"refers to itself (*{event.anchor} in line {event.start_mark.line + 1}): write it out in full"
                )
            counts[-1] += stands_for.get(event.anchor, 1)
        elif issubclass(kind, yaml.CollectionStartEvent):
            open_.append(event.anchor)
            counts.append(1)
            if len(open_) > DEPTH:
                raise too_deep(event.start_mark.line + 1)
        elif issubclass(kind, yaml.ScalarEvent | yaml.CollectionEndEvent):
            anchor, size = (event.anchor, 1) if issubclass(kind, yaml.ScalarEvent) else (open_.pop(), counts.pop())
            counts[-1] += size
            if anchor:
                stands_for[anchor] = size
        if counts[-1] > NODES:
            raise Beyond(f"stands for more than {NODES:,} values, those that *name repeats counted each time: split it")


def pack(value: Any) -> Any:
    """Data of YAML or TOML as JSON can carry them; :func:`unpack` undoes it.

    >>> unpack(pack({1: datetime.date(2026, 1, 2), "": (b"x", {"a"})}))
    {1: datetime.date(2026, 1, 2), '': (b'x', {'a'})}
    """
    if isinstance(value, list):
        return [pack(part) for part in value]
    if isinstance(value, dict):
        if all(isinstance(key, str) and key for key in value):
            return {key: pack(part) for key, part in value.items()}
        return {"": "dict", "of": [[pack(key), pack(part)] for key, part in value.items()]}
    if isinstance(value, tuple | set):
        return {"": type(value).__name__, "of": [pack(part) for part in value]}
    if isinstance(value, bytes):
        return {"": "bytes", "of": base64.b64encode(value).decode()}
    if isinstance(value, datetime.date | datetime.time):
        return {"": type(value).__name__, "of": value.isoformat()}
    return value if value is None or isinstance(value, str | int | float) else str(value)


_MADE: Mapping[str, Callable[[Any], Any]] = {
    "dict": dict,
    "tuple": tuple,
    "set": set,
    "bytes": base64.b64decode,
    "date": datetime.date.fromisoformat,
    "datetime": datetime.datetime.fromisoformat,
    "time": datetime.time.fromisoformat,
}


def unpack(value: Any) -> Any:
    """What :func:`pack` packed."""
    if isinstance(value, list):
        return [unpack(part) for part in value]
    if not isinstance(value, dict):
        return value
    if "" in value:
        return _MADE[value[""]](unpack(value["of"]))
    return {key: unpack(part) for key, part in value.items()}


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
