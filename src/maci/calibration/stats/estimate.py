"""An estimate: a number with its interval, its n and the method behind both; Wilson's interval for a proportion.

:data:`Groups` says which rows belong together, such as the answers to one case under several seeds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from statistics import NormalDist
from typing import Annotated, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import BeforeValidator, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from maci.errors import InputError
from maci.moderator.belief import Vector
from maci.render.report import Cell, Kind

NORMAL = NormalDist()


Number: TypeAlias = Annotated[float, BeforeValidator(lambda value: math.nan if value is None else value)]
"""Undefined is nan here and null in JSON."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with where it may lie and what it rests on; where it is undefined, ``how`` says why."""

    value: Number
    """nan where undefined; so are the ends then."""
    low: Number
    high: Number
    """Of the 95 % interval; nan where it has none."""
    n: int
    """Rows it rests on."""
    how: str
    """How the interval was found, or why there is no value."""
    unit: str = ""
    """What ``n`` counts, where it is not cases."""

    @property
    def defined(self) -> bool:
        """Whether there is a value."""
        return not math.isnan(self.value)

    @property
    def clear(self) -> bool:
        """Whether the interval leaves out 0."""
        return self.low > 0 or self.high < 0

    def __str__(self) -> str:
        """For people.

        >>> print(Estimate(0.5, 0.25, 0.75, 10, "Wilson"))
        0.5 [0.25, 0.75], n = 10, Wilson
        """
        return f"{self.value:.4g} [{self.low:.4g}, {self.high:.4g}], n = {self.n}, {self.how}"

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """As it is written by :func:`as_json`."""
        found = handler.resolve_ref_schema(handler(core))
        fields = found["properties"]
        for name in ("value", "low", "high"):
            fields[name] = {"anyOf": [{"type": "number"}, {"type": "null"}], "title": fields[name]["title"]}
        fields["low"]["default"] = fields["high"]["default"] = None
        fields["unit"].pop("default")
        found |= {"properties": {name: fields[name] for name in _WRITTEN}, "required": ["value", "n", "unit", "how"]}
        return found


_WRITTEN = ("value", "low", "high", "n", "unit", "how")


def estimate(found: Estimate | None, kind: Kind = "number") -> Cell:
    """An estimate as the cell of a table; nothing, and why, where it is undefined.

    >>> from maci.render.report import show
    >>> show(estimate(Estimate(0.733, 0.681, 0.78, 300, "BCa"), "share"))
    '73.3 [68.1, 78.0]'
    """
    if found is None or not found.defined:
        return Cell(kind=kind) if found is None else Cell(n=found.n, kind=kind, how=found.how)
    low, high = (None, None) if math.isnan(found.low) else (found.low, found.high)
    return Cell(value=found.value, low=low, high=high, n=found.n, kind=kind, how=found.how)


def as_json(value: Any, digits: int | None = None) -> Any:
    """Figures as JSON has them: no NumPy types, null for what is undefined, a unit only where there is one.

    >>> as_json({"rho": math.nan, "n": (1, np.int64(2))}), as_json(wilson(0, 0))
    ({'rho': None, 'n': [1, 2]}, {'value': None, 'low': None, 'high': None, 'n': 0, 'how': 'no cases'})
    """
    if isinstance(value, Estimate):
        found = {name: getattr(value, name) for name in _WRITTEN if name != "unit" or value.unit}
        return as_json(found, digits)
    if is_dataclass(value):
        kept = [field.name for field in fields(value) if not field.metadata.get("layout")]
        return {name: as_json(getattr(value, name), digits) for name in kept}
    if isinstance(value, Mapping):
        return {str(key): as_json(item, digits) for key, item in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [as_json(item, digits) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return None if not math.isfinite(value) else value if digits is None else round(value, digits)
    return value


def wilson(successes: int, n: int, level: float = 0.95) -> Estimate:
    """The score interval of a proportion.

    (p̂ + z²/2n ± z √(p̂(1−p̂)/n + z²/4n²)) / (1 + z²/n), z = Φ⁻¹(1 − α/2). Wilson (1927), *JASA* 22.

    >>> print(wilson(0, 10))
    0 [0, 0.2775], n = 10, Wilson
    >>> wilson(0, 0).value
    nan
    """
    if not 0 <= successes <= n:
        raise InputError(f"successes is {successes}, not between 0 and n = {n}: count cases, not shares")
    if n == 0:
        return undefined("no cases")
    z = NORMAL.inv_cdf(0.5 + checked(level) / 2)
    p = successes / n
    middle = p + z * z / (2 * n)
    half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    low = 0.0 if successes == 0 else (middle - half) / scale  # exact at the ends, where rounding would leave 1e-18
    high = 1.0 if successes == n else (middle + half) / scale
    return Estimate(p, low, high, n, "Wilson")


def undefined(how: str, n: int = 0, unit: str = "") -> Estimate:
    """No number, and why.

    >>> undefined("one judge only").defined
    False
    """
    return Estimate(math.nan, math.nan, math.nan, n, how, unit)


def checked(level: float) -> float:
    """The level of an interval, if it is one."""
    if not 0 < level < 1:
        raise InputError(f"level is {level:g}: choose one between 0 and 1, such as 0.95")
    return level


Indices: TypeAlias = NDArray[np.int64]
Groups: TypeAlias = Sequence[Hashable]


def numbered(groups: Groups) -> tuple[Indices, int]:
    """The number of each row's group, groups in the order they appear, and how many there are.

    >>> number, n = numbered("abac")
    >>> number.tolist(), n
    ([0, 1, 0, 2], 3)
    """
    code: dict[Hashable, int] = {}
    return np.array([code.setdefault(name, len(code)) for name in groups], dtype=np.int64), len(code)


def difference_of(a: ArrayLike, b: ArrayLike) -> Vector:
    """The differences a − b of the same cases."""
    x, y = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    if x.shape != y.shape or x.ndim != 1:
        raise InputError(f"a has shape {x.shape} and b {y.shape}: give one value of each per case, in the same order")
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise InputError("a or b holds an undefined value: compare only the cases that both methods answered")
    difference: Vector = x - y
    return difference


def units_of(groups: Groups | None, n: int) -> list[Indices] | None:
    """Rows of each group, groups in the order they appear."""
    if groups is None:
        return None
    if len(groups) != n:
        raise InputError(f"groups has {len(groups)} entries for {n} rows: name the case of every row")
    rows: dict[Hashable, list[int]] = {}
    for i, name in enumerate(groups):
        rows.setdefault(name, []).append(i)
    return [np.array(r, dtype=np.int64) for r in rows.values()]


def per_group(values: Vector, groups: Groups | None, fold: Callable[[Vector], float]) -> Vector:
    """One value for each group."""
    units = units_of(groups, len(values))
    return values if units is None else np.array([fold(values[rows]) for rows in units], dtype=float)
