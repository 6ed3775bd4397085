"""Charts as data: what is drawn against what, with intervals. :mod:`maci.render.svg` draws them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import isfinite
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One mark of a chart."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None
    """Of y; in a forest plot of x."""
    n: int | None = None
    label: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """Marks that belong together."""

    name: str
    points: tuple[Point, ...]
    reference: bool = False
    """The one that others are compared with."""
    bound: bool = False
    """A limit, drawn dashed."""
    band: bool = False
    """Intervals are drawn as one band instead of a whisker each."""

    @classmethod
    def of(
        cls,
        name: str,
        x: Iterable[float],
        y: Iterable[float],
        *,
        low: Iterable[float] = (),
        high: Iterable[float] = (),
        bound: bool = False,
    ) -> Series:
        """From columns; what is not finite is left out.

        >>> [p.x for p in Series.of("s", [1, 2, 3], [0.5, float("nan"), 0.25]).points]
        [1.0, 3.0]
        """
        ends: list[tuple[float | None, float | None]] = list(zip(low, high, strict=True))
        found = [(float(a), float(b)) for a, b in zip(x, y, strict=True)]
        points = tuple(
            Point(x=a, y=b, low=_end(lo), high=_end(hi))
            for (a, b), (lo, hi) in zip(found, ends or [(None, None)] * len(found), strict=True)
            if isfinite(a) and isfinite(b)
        )
        return cls(name=name, points=points, bound=bound, band=bool(ends))


def _end(value: float | None) -> float | None:
    return None if value is None or not isfinite(value) else float(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A drawing of figures."""

    title: str
    x: str
    y: str
    """A name that ends in % is drawn from shares."""
    series: tuple[Series, ...]
    kind: Literal["lines", "scatter", "forest", "reliability"] = "lines"
    key: str = ""
    about: str = ""
    """What is to be seen, for those who cannot see it; where empty, the ends of every series are said."""
    log_x: bool = False
    log_y: bool = False

    @property
    def said(self) -> str:
        """The chart in words."""
        if self.about:
            return self.about
        ends = [
            f"{s.name} from {s.points[0].y:.3g} to {s.points[-1].y:.3g}" if s.points else f"{s.name}: nothing"
            for s in self.series
        ]
        return "; ".join([f"{self.y} against {self.x}", *ends])
