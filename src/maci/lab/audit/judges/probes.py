"""The scores an audit works on, and the probes: ways to ask a judge again about the same argument.

A probe changes one thing that should not matter, and nothing else.

| probe | what is changed |
|---|---|
| ``turned`` | the order of the cited pieces and of the reasons |
| ``padded`` | every reason is made longer by words that say nothing new |
| ``signed`` | the argument carries its author's name and model family, which judges are never shown in a debate |
| ``batch`` | nothing but the turn: the batch is asked backwards |
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np

from maci.agents.argument import Argument
from maci.agents.judges.crit import ScoreRequest
from maci.calibration.stats import RESAMPLES, Sampling
from maci.calibration.stats.correlation import Rows
from maci.controller.inputs import Seat
from maci.controller.requests import call_seed
from maci.lab.audit.judges.items import Item
from maci.moderator.belief import Vector


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
    """How it was asked again → the scores then: see :data:`maci.lab.audit.judges.probes.PROBES`."""
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


_PADDING = (
    "This is a point that deserves to be considered with care, and it has been looked at from more than one side before being "
    "put forward here.",
    "It should be kept in mind when everything that has been said is taken together, as it plays its part in the whole.",
)


def turned(item: Item) -> ScoreRequest | None:
    """Pieces and reasons in the reverse order; ``None`` where there is only one of each."""
    argument, spans = item.request.argument, item.request.spans
    if max(len(spans), len(argument.reasons), len(argument.opposing)) < 2:
        return None
    other = replace(
        argument,
        reasons=argument.reasons[::-1],
        opposing=argument.opposing[::-1],
        citations=argument.citations[::-1],
    )
    return replace(item.request, argument=other, spans=spans[::-1])


def padded(item: Item) -> ScoreRequest:
    """The same argument with about 45 words more, none of which says anything about the case."""
    argument = item.request.argument
    if argument.reasons:
        first, *rest = argument.reasons
        longer = replace(argument, reasons=(" ".join((first, *_PADDING)), *rest))
    else:
        longer = replace(argument, claim=" ".join((argument.claim, *_PADDING)))
    return replace(item.request, argument=longer)


def signed(item: Item) -> ScoreRequest | None:
    """The argument under its author's name; ``None`` where nobody knows who made it."""
    if not item.agent:
        return None
    who = f"{item.agent}, a model of the family {item.family}" if item.family else item.agent
    argument: Argument = replace(item.request.argument, claim=f"[By {who}.] {item.request.argument.claim}")
    return replace(item.request, argument=argument)


def again(item: Item, sample: int) -> ScoreRequest:
    """The same once more: another draw of a judge that draws."""
    return replace(item.request, sample=sample, seed=call_seed(item.request.seed, "again", sample))


PROBES: Mapping[str, Callable[[Item], ScoreRequest | None]] = MappingProxyType(
    {"turned": turned, "padded": padded, "signed": signed, "batch": lambda item: item.request}
)
"""Name → the request, or ``None`` where the probe does not apply."""
