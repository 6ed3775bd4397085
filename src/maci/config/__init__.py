"""One frozen configuration: every parameter with its symbol, its meaning and its range.

A value comes from, each overriding the one before: the profile (``default`` or ``paper``), a TOML file,
the environment (``MACI_GATE_TAU_Q=0.6``), flags (``--set gate.tau_q=0.6``). A key may be given by its
last part alone (``tau_q``) where only one section has it. Unknown keys and values out of range
are refused with the valid range.

:func:`load` combines the layers. :func:`parameters` lists each setting with its value, symbol, meaning and range.

>>> load(sets=["tau_q=0.6"]).gate.tau_q
0.6
>>> load(sets=["tau_q=1.6"])
Traceback (most recent call last):
maci.errors.ConfigError: gate.tau_q = 1.6 is out of range: τ_Q must be between 0 and 1
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from maci.config import plugins
from maci.config.fields import SettingsGroup
from maci.config.sections import LEARNED, Budget, Config, Dials, Plateau, Regime, Triage, unplanned
from maci.errors import ConfigError, near
from maci.files.parse import read

__all__ = [
    "LEARNED", "PROFILES", "Budget", "Config", "Dials", "Parameter", "Plateau", "Regime", "Triage", "build", "full_key", "load",
    "parameters", "unplanned",
]  # fmt: skip

PROFILES: Mapping[str, Mapping[str, Any]] = {
    "default": {},
    # The paper's literal rules: φ as it is, its flags, its stop test, gates that only rise, every rise of D reverted.
    "paper": {
        "gate.fit_tau_q": False,
        "gate.guard": False,
        "dials.schedule": "plateau",
        "dials.cl_min": 0.0,
        "dials.cl_max": 1.0,
        "plateau.mode": "relative",
        "stop.min_rounds": 1,
        "stop.d_max": 1.0,
        "stop.consensus": False,
        "stop.crit_agreement": False,
        "stop.impasse": False,
        "stop.starved": False,
        "dispersion.gate": "all",
        "dispersion.leave_ties": False,
        "evidence.case": "evidence",
        "evidence.adapt": False,
        "evidence.q0": "all",
        "regime.vote_y": 5,
    },
}


QUICKER = ("crit.enough", "crit.together", "budget.hedge")
"""Settings that shorten a debate and change what is measured; the profile `paper` has none of them."""


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
        if isinstance(model, type) and issubclass(model, SettingsGroup):
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
        choices = [choice for option in options for choice in getattr(option, "__args__", (option,))]
        return "one of " + ", ".join("plugin:NAME" if choice is str else str(choice) for choice in choices)
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


_LISTED = "`maci config` lists every key"


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
    hint = near(name, [*KEYS, *SHORT], _LISTED, 3)
    raise ConfigError(f"unknown setting {name!r}: {hint}")


def _from_env(environ: Mapping[str, str]) -> dict[str, Any]:
    names = {"MACI_" + short.upper(): key for short, key in SHORT.items()}
    names |= {"MACI_" + key.replace(".", "_").upper(): key for key in KEYS}
    sections = tuple(f"MACI_{section.upper()}_" for section in {key.split(".")[0] for key in KEYS})
    found: dict[str, Any] = {}
    for variable, value in environ.items():
        if variable in names:
            found[names[variable]] = value
        elif variable.startswith(sections):
            raise ConfigError(f"unknown setting in the environment: {variable}; {near(variable, names, _LISTED)}")
    return found


def _from_toml(path: Path) -> tuple[str | None, dict[str, Any]]:
    data = read(path, "TOML")
    profile = data.pop("profile", None)
    flat: dict[str, Any] = {}
    for key, value in data.items():
        if isinstance(value, dict):
            flat |= {full_key(f"{key}.{name}"): leaf for name, leaf in value.items()}
        else:
            flat[full_key(key)] = value
    return profile, flat


def _from_sets(sets: Iterable[str]) -> dict[str, Any]:
    flat = {}
    for item in sets:
        name, equals, value = item.partition("=")
        if not equals:
            raise ConfigError(f"--set {item!r}: write key=value, for example --set stop.max_rounds=5")
        flat[full_key(name.strip())] = None if value.strip().lower() in {"none", ""} else value.strip()
    return flat


def build(profile: str, *layers: Mapping[str, Any]) -> Config:
    """A validated config from a profile and dotted values on top of it, in layers that each override the ones before.

    ``max_rounds`` below ``min_rounds`` is an error only where both were chosen together: else ``min_rounds``, which whoever shortened
    the debate did not ask for, is lowered with a note.

    >>> build("default", {"max_rounds": 1}).notes
    ('min_rounds was lowered from 2 to 1, because max_rounds is 1',)
    """
    if not isinstance(profile, str) or profile not in PROFILES:
        raise ConfigError(f"unknown profile {profile!r}: choose one of {', '.join(PROFILES)}")
    nested: dict[str, Any] = {"profile": profile}
    named = [{full_key(key): value for key, value in layer.items()} for layer in layers]
    chosen = {key: value for layer in named for key, value in layer.items()}
    if "gate.tau_q" in chosen:  # a gate that somebody set is not fitted to the evidence
        chosen.setdefault("gate.fit_tau_q", False)
    for key, value in {**PROFILES[profile], **chosen}.items():
        section, name = key.split(".")
        nested.setdefault(section, {})[name] = value
    try:
        config = Config.model_validate(nested)
    except ValidationError as error:
        raise ConfigError(_explain(error)) from error
    if config.dials.cl_min > config.dials.cl_max:
        raise ConfigError(f"dials.cl_min = {config.dials.cl_min} is above dials.cl_max = {config.dials.cl_max}")
    if config.dials.schedule in LEARNED and config.dials.alpha_i != config.dials.alpha_d:
        raise ConfigError(
            f"dials.schedule = {config.dials.schedule} moves one step α: dials.alpha_i = {config.dials.alpha_i} and "
            f"dials.alpha_d = {config.dials.alpha_d} must be the same"
        )
    least, most = (
        max((i for i, layer in enumerate(named) if key in layer), default=-1)
        for key in ("stop.min_rounds", "stop.max_rounds")
    )
    if least < most:
        config = config.shortened()
    elif config.stop.min_rounds > config.stop.max_rounds:
        raise ConfigError(
            f"stop.min_rounds = {config.stop.min_rounds} is above stop.max_rounds = {config.stop.max_rounds}: set both"
        )
    if config.profile == "paper":
        for row in parameters(config):
            if row.key in QUICKER and row.value != row.default:
                raise ConfigError(
                    f"{row.key} = {row.value} is not part of the profile paper: leave it out, or use another profile"
                )
    return config


_BOUNDS = {"greater_than_equal", "less_than_equal"}


def _explain(error: ValidationError) -> str:
    first = error.errors()[0]
    key = ".".join(str(part) for part in first["loc"][:2])
    leaf = KEYS[key]
    symbol = leaf.json_schema_extra["symbol"]
    wrong = "is out of range" if first["type"] in _BOUNDS else "is not valid"
    return f"{key} = {first['input']} {wrong}: {symbol} must be {valid(leaf)}"


def load(
    profile: str | None = None,
    *,
    file: Path | None = None,
    environ: Mapping[str, str] | None = None,
    sets: Iterable[str] = (),
    given: Mapping[str, Any] = MappingProxyType({}),
    base: Mapping[str, Any] = MappingProxyType({}),
) -> Config:
    """The effective config from profile, ``base`` (a panel's own settings), TOML file, environment, ``sets`` (``key=value``) and
    ``given`` (values that need no reading), in that order.
    """
    named, from_file = _from_toml(file) if file else (None, {})
    from_env = _from_env(os.environ if environ is None else environ)
    own = (from_file, from_env, _from_sets(sets), given)
    plugins.name_schedule(str({key: value for layer in own for key, value in layer.items()}.get("dials.schedule", "")))
    return build(profile or named or "default", base, *own)
