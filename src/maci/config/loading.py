"""One config out of a profile, a TOML file, the environment and flags."""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pydantic import ValidationError

from maci.config.keys import KEYS, SHORT, full_key, valid
from maci.config.sections import LEARNED, PROFILES, Config
from maci.errors import ConfigError

__all__ = ["build", "load"]


def _from_env(environ: Mapping[str, str]) -> dict[str, Any]:
    names = {"MACI_" + short.upper(): key for short, key in SHORT.items()}
    names |= {"MACI_" + key.replace(".", "_").upper(): key for key in KEYS}
    sections = tuple(f"MACI_{section.upper()}_" for section in {key.split(".")[0] for key in KEYS})
    found: dict[str, Any] = {}
    for variable, value in environ.items():
        if variable in names:
            found[names[variable]] = value
        elif variable.startswith(sections):
            near = difflib.get_close_matches(variable, names, n=1)
            raise ConfigError(
                f"unknown setting in the environment: {variable}" + (f"; did you mean {near[0]}?" if near else "")
            )
    return found


def _from_toml(path: Path) -> tuple[str | None, dict[str, Any]]:
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"cannot read the config file {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not valid TOML: it is not UTF-8 text; save it as UTF-8") from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path} is not valid TOML: {error}") from error
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


def build(profile: str, values: Mapping[str, Any]) -> Config:
    """A validated config from a profile and dotted values on top of it."""
    if not isinstance(profile, str) or profile not in PROFILES:
        raise ConfigError(f"unknown profile {profile!r}: choose one of {', '.join(PROFILES)}")
    nested: dict[str, Any] = {"profile": profile}
    chosen = {full_key(key): value for key, value in values.items()}
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
    if config.stop.min_rounds > config.stop.max_rounds:
        raise ConfigError(
            f"stop.min_rounds = {config.stop.min_rounds} is above stop.max_rounds = {config.stop.max_rounds}: set both"
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
    base: Mapping[str, Any] = MappingProxyType({}),
) -> Config:
    """The effective config from profile, ``base`` (a panel's own settings), TOML file, environment and flags, in that order."""
    named, from_file = _from_toml(file) if file else (None, {})
    from_env = _from_env(os.environ if environ is None else environ)
    lowest = {full_key(key): value for key, value in base.items()}
    return build(profile or named or "default", {**lowest, **from_file, **from_env, **_from_sets(sets)})
