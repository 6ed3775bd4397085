"""YAML, TOML and JSON texts as data, and such data as JSON can carry them from one process to another."""

from __future__ import annotations

import base64
import datetime
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from maci.files.bounds import DEPTH, NODES, Beyond, Kind, check_data, too_deep, too_long


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
