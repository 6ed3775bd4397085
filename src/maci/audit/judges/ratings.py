"""What judges said of which arguments, asked plainly and asked again in other ways."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from maci.audit.judges.correlation import Rows
from maci.audit.judges.estimate import Sampling
from maci.belief import Vector
from maci.controller.inputs import Seat
from maci.study.statistics import RESAMPLES

__all__ = ["Ratings", "Subject", "panel_mean"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What the statistics know of an argument."""

    id: str
    debate: str
    case: str
    """Arguments about one case hang together."""
    agent: str
    family: str
    """The model family of the agent; empty where nobody knows."""
    words: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratings:
    """Composite scores, (judges, arguments); nan where a judge abstained or was not asked."""

    judges: tuple[Seat, ...]
    items: tuple[Subject, ...]
    plain: Rows
    variants: Mapping[str, Rows] = field(default_factory=dict)
    """How it was asked again → the scores then: see :data:`maci.audit.judges.probes.PROBES`."""
    again: tuple[Rows, ...] = ()
    """The same asked once more, and once more."""
    place: Rows | None = None
    """Where in its batch an argument came, 0 first to 1 last, for judges that are asked one after the other; else nan."""

    def sampling(self, seed: int = 0, resamples: int = RESAMPLES) -> Sampling:
        """How intervals are drawn: by cases."""
        return Sampling(tuple(item.case for item in self.items), seed, resamples)


def panel_mean(scores: Rows) -> Vector:
    """CRIT_i: the mean over judges who scored; nan where none did.

    >>> panel_mean(np.array([[0.2, np.nan], [0.4, np.nan]])).round(3).tolist()
    [0.3, nan]
    """
    known = np.isfinite(scores)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean: Vector = np.where(known, scores, 0.0).sum(axis=0) / known.sum(axis=0)
    return mean
