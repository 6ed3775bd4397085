"""How a setting is written down: its default, symbol, meaning and range, and what values it takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationInfo,
    field_validator,
)

from maci.config.plugins import SCHEDULE

_FAR = 20.0
"""Nats that no bias exceeds."""


def param(default: Any, symbol: str, meaning: str, *, ge: float | None = None, le: float | None = None) -> Any:
    """A setting with its symbol, meaning and range."""
    return Field(default, ge=ge, le=le, description=meaning, json_schema_extra={"symbol": symbol})


def by_agent(symbol: str, meaning: str, *, most: float) -> Any:
    """A setting that is a number for some of the agents."""
    return Field({}, description=meaning, json_schema_extra={"symbol": symbol, "most": most})


def by_coverage(symbol: str, meaning: str) -> Any:
    """A setting that is a threshold for some coverages."""
    valid = "coverage=threshold pairs, coverages above 0 and below 1, thresholds between 0 and 1"
    return Field({}, description=meaning, json_schema_extra={"symbol": symbol, "valid": valid})


def by_outcome(symbol: str, meaning: str) -> Any:
    """A setting that is a number, above or below 0, for some of the outcomes."""
    valid = f"outcome=number pairs, each number between −{_FAR:g} and {_FAR:g}"
    return Field({}, description=meaning, json_schema_extra={"symbol": symbol, "valid": valid})


def _named_numbers(value: Any) -> Any:
    """``a=1,b=2`` as a mapping."""
    if isinstance(value, Mapping) and any(isinstance(number, bool) for number in value.values()):
        raise ValueError("true and false are no numbers")
    if not isinstance(value, str):
        return value
    pairs = [item.rpartition("=") for item in value.split(",") if item.strip()]
    return {name.strip(): number.strip() for name, _, number in pairs}


def _positive(value: Mapping[str, float], info: ValidationInfo) -> Mapping[str, float]:
    most = {"agents": 100.0, "doubt": 1.0}.get(info.field_name or "", 1000.0)
    if wrong := [name for name, number in value.items() if not 0 < number <= most]:
        raise ValueError(f"{wrong[0]} has {value[wrong[0]]}, which is not above 0 and at most {most:g}")
    return value


def _bounded(value: Mapping[str, float]) -> Mapping[str, float]:
    if wrong := [name for name, number in value.items() if not abs(number) <= _FAR]:
        raise ValueError(f"{wrong[0]} has {value[wrong[0]]}, which is not between −{_FAR:g} and {_FAR:g}")
    return value


def _levels(value: Mapping[str, float]) -> Mapping[str, float]:
    for level, number in value.items():
        try:
            known = 0 < float(level) < 1
        except ValueError:
            known = False
        if not known or not 0 <= number <= 1:
            raise ValueError(f"{level}={number} is not a coverage above 0 and below 1 with a threshold between 0 and 1")
    return value


ByAgent = Annotated[Mapping[str, float], BeforeValidator(_named_numbers), AfterValidator(_positive)]
"""A number for some of the agents, by name."""
ByCoverage = Annotated[Mapping[str, float], BeforeValidator(_named_numbers), AfterValidator(_levels)]
"""A threshold for some coverages."""

ByOutcome = Annotated[Mapping[str, float], BeforeValidator(_named_numbers), AfterValidator(_bounded)]
"""A number for some of the outcomes, by name."""


ScheduleOfPlugin = Annotated[str, StringConstraints(pattern=rf"^{SCHEDULE}[\w.-]+$")]
"""A schedule that an installed package adds."""


class SettingsGroup(BaseModel):
    """Settings that belong together."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    @field_validator("*", mode="before")
    @classmethod
    def _no_truth_as_a_number(cls, value: Any, info: ValidationInfo) -> Any:
        """True is no 1: a setting that is a number takes numbers only."""
        if isinstance(value, bool) and cls.model_fields[info.field_name or ""].annotation is not bool:
            raise ValueError("true and false are no numbers")
        return value
