"""Keys in a file such as ``.env``, which a person names (``--env-file``). Only providers' keys are read from it.

Addresses are not: a file that came with somebody else's folder must not send a key or a case elsewhere. A variable that is set in the
environment goes before the file. No value is ever printed, logged or recorded: an error names the file and the line.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, MutableMapping
from pathlib import Path

from maci.errors import InputError
from maci.files.parse import opened, read_bytes
from maci.llm.keys import SERVICES, Key

_LINE = re.compile(r"\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*?)\s*$")
_MOST = 1 << 20


def key_variables() -> frozenset[str]:
    """The variables that hold the keys of the services known by name."""
    return frozenset(variable for service in SERVICES.values() for variable in service.variables)


def read_env_file(path: Path, names: Iterable[str] = ()) -> Mapping[str, Key]:
    """The keys in a file, by the names of their variables; ``names`` are read beside those of the known services."""
    wanted = key_variables() | set(names)
    with opened(path, "the file of keys ") as file:
        raw = read_bytes(file, str(path), _MOST)
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{path} is not a text file (UTF-8): save it as UTF-8") from None
    found = {}
    for line in text.splitlines():
        match = _LINE.match(line)
        if match is None or match[1] not in wanted:
            continue
        value = _value(match[2])
        if value:
            found[match[1]] = Key(value, f"{match[1]} in {path}")
    return found


def _value(text: str) -> str:
    """What stands after the equals sign: quotes are taken off, and a comment after a space."""
    if len(text) > 1 and text[0] in "\"'" and (end := text.find(text[0], 1)) > 0:
        return text[1:end].strip()
    return re.sub(r"\s+#.*", "", text).strip()


def use_env_file(path: Path, environ: MutableMapping[str, str] = os.environ) -> tuple[str, ...]:
    """Use the keys of a file for this process; the variables that came from it, by name."""
    used = []
    for name, key in read_env_file(path).items():
        if not environ.get(name, "").strip():
            environ[name] = key.reveal()
            used.append(name)
    return tuple(used)
