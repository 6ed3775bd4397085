"""Settings by their keys: what each is called, means and may be."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel, ConfigDict

from maci.config.fields import Section
from maci.config.sections import Config
from maci.errors import ConfigError

__all__ = ["KEYS", "SHORT", "Parameter", "full_key", "parameters", "valid"]


class Parameter(BaseModel):
    """One row of `maci config`."""

    model_config = ConfigDict(frozen=True)

    key: str
    value: Any
    default: Any
    symbol: str
    meaning: str
    valid: str


def _leaves() -> Iterator[tuple[str, str, Any]]:
    for section, info in Config.model_fields.items():
        model = info.annotation
        if isinstance(model, type) and issubclass(model, Section):
            for name, leaf in model.model_fields.items():
                yield section, name, leaf


KEYS: dict[str, Any] = {f"{section}.{name}": leaf for section, name, leaf in _leaves()}
SHORT: dict[str, str] = {
    key.split(".")[1]: key for key in KEYS if sum(k.endswith("." + key.split(".")[1]) for k in KEYS) == 1
}


def valid(leaf: Any) -> str:
    """The range of a field in words."""
    lo = next((m.ge for m in leaf.metadata if hasattr(m, "ge")), None)
    hi = next((m.le for m in leaf.metadata if hasattr(m, "le")), None)
    if lo is not None:
        kind = "a whole number " if leaf.annotation is int else ""
        return f"{kind}between {lo:g} and {hi:g}"
    if leaf.annotation is bool:
        return "true or false"
    if "valid" in leaf.json_schema_extra:
        return str(leaf.json_schema_extra["valid"])
    if "Mapping" in str(leaf.annotation):
        return f"name=number pairs, each number above 0 and at most {leaf.json_schema_extra['most']:g}"
    if options := getattr(leaf.annotation, "__args__", None):
        return "one of " + ", ".join(str(option) for option in options)
    return "text"


def parameters(config: Config) -> list[Parameter]:
    """Every parameter with its effective value, symbol, meaning and range."""
    rows = []
    for key, leaf in KEYS.items():
        section, name = key.split(".")
        rows.append(
            Parameter(
                key=key,
                value=getattr(getattr(config, section), name),
                default=leaf.default,
                symbol=leaf.json_schema_extra["symbol"],
                meaning=leaf.description,
                valid=valid(leaf),
            )
        )
    return rows


def full_key(name: str) -> str:
    """The dotted key for a name given in full or by its last part.

    >>> full_key("max_rounds")
    'stop.max_rounds'
    """
    if name in KEYS:
        return name
    if name in SHORT and name not in Config.model_fields:
        return SHORT[name]
    if both := [key for key in KEYS if key.startswith(f"{name}.") or key.endswith(f".{name}")]:
        raise ConfigError(f"{name!r} is not one setting: say which of {', '.join(both[:12])}")
    near = difflib.get_close_matches(name, [*KEYS, *SHORT], n=3)
    hint = f"did you mean {', '.join(near)}?" if near else "`maci config` lists every key"
    raise ConfigError(f"unknown setting {name!r}: {hint}")
