"""Changes to an input that keep its form: one value of a JSON document, or of one line of JSONL, becomes another.

Bytes that are changed at random seldom get past a parser. These do, and reach what reads the values.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from random import Random
from typing import Any

ODD: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2, 0.5, -0.0, 1e308, -1e308, 1e-320, 1e20, 2**31, 2**63, 10**300, 10**400,
    "", " ", "\n", "0", "NaN", "a" * 5000, "\x00", "\x1b[31m", "\x9b31m", "\u202e", "\ud800", "é", "登革热", "{}", "../../etc/passwd",
    "http://127.0.0.1:1/", "python:os:system", "corpus:/", "<script>", "</data>", "%s%n", "$x", "E1", "a.b.c", [], [[]], {}, {"": ""},
    [None], [0, 0], [1e308, 1e308], {"a": 1}, float("inf"), float("-inf"), float("nan"),
)  # fmt: skip
"""Values that people do not write and programs may."""


def mutated(data: bytes, chance: Random) -> bytes | None:
    """The input with something else in it; ``None`` where it is neither JSON nor JSONL."""
    lines = data.split(b"\n")
    try:
        return _dumped(_changed(json.loads(data), chance))
    except (ValueError, RecursionError):
        place = chance.randrange(len(lines))
    try:
        value = json.loads(lines[place])
    except (ValueError, RecursionError):
        return None
    what = chance.random()
    if what < 0.08:
        del lines[place]
    elif what < 0.14:
        lines.insert(chance.randrange(len(lines) + 1), lines[place])
    else:
        lines[place] = _dumped(_changed(value, chance))
    return b"\n".join(lines)


def _dumped(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=True).encode()


def _changed(value: Any, chance: Random) -> Any:
    """One to three places changed."""
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        value = _once(value, chance)
    return value


def _places(value: Any, path: tuple[Any, ...] = (), depth: int = 0) -> list[tuple[Any, ...]]:
    found = [path]
    if depth < 60 and isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            found += _places(value[key], (*path, key), depth + 1)
    return found


def _at(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


def _once(value: Any, chance: Random) -> Any:
    places = _places(value)
    path = chance.choice(places)
    if not path:
        return deepcopy(chance.choice(ODD)) if chance.random() < 0.05 else value
    holder, key = _at(value, path[:-1]), path[-1]
    _HOW[chance.randrange(len(_HOW))](holder, key, chance, _at(value, chance.choice(places)))
    return value


def _replace(holder: Any, key: Any, chance: Random, other: Any) -> None:
    holder[key] = deepcopy(chance.choice(ODD))


def _remove(holder: Any, key: Any, chance: Random, other: Any) -> None:
    del holder[key]


def _copy(holder: Any, key: Any, chance: Random, other: Any) -> None:
    """What stands elsewhere; a copy, so that nothing holds itself."""
    holder[key] = deepcopy(other)


def _grow(holder: Any, key: Any, chance: Random, other: Any) -> None:
    """Twice, renamed, many times, or with more in it."""
    if isinstance(holder, list):
        holder[key:key] = [deepcopy(holder[key]) for _ in range(chance.choice((1, 2, 50)))]
    else:
        holder[chance.choice((f"{key}_", str(key).upper(), "", "x" * 300))] = deepcopy(holder[key])


def _near(holder: Any, key: Any, chance: Random, other: Any) -> None:
    """A value like this one."""
    value = holder[key]
    if isinstance(value, bool) or value is None:
        holder[key] = not value
    elif isinstance(value, int | float):
        holder[key] = chance.choice(
            (-value, value + 1, value * 10, value // 3 if isinstance(value, int) else value / 3, str(value)[:300])
        )
    elif isinstance(value, str):
        at = chance.randrange(len(value) + 1)
        holder[key] = chance.choice(
            (value[:at], value + value, value[:at] + chance.choice('\x00\u0301\u200b\n"<{ß\x85') + value[at:])
        )
    elif isinstance(value, list):
        chance.shuffle(value)
    else:
        holder[key] = [list(pair) for pair in value.items()]


_HOW: tuple[Callable[[Any, Any, Random, Any], None], ...] = (_replace, _replace, _replace, _remove, _copy, _grow, _near)
