"""How far a result can be trusted, as records: what was watched in each round, what stands against the answer, why none is given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from maci.controller.dials import RoundEvent

Flip = Literal["harmed", "mended", "same"]
"""Right before and wrong now; the reverse; neither."""


@dataclass(frozen=True, slots=True)
class Move:
    """An agent that went over to the majority without new admitted evidence for it."""

    agent: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Held:
    """An agent that stayed where it was although new evidence was shown for what most others hold."""

    agent: str
    outcome: str
    against: str


@dataclass(frozen=True, slots=True)
class Repeat:
    """An argument that says an earlier one again."""

    argument: str
    of: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched(RoundEvent):
    """What may be harm in a round."""

    type: Literal["watched"] = "watched"
    moved: int
    """Agents whose leading outcome changed."""
    conformed: tuple[Move, ...]
    stubborn: tuple[Held, ...]
    repeated: tuple[Repeat, ...]
    new_spans: int
    """Admitted for the first time."""
    collapsed: bool
    """The mixture grew much surer while no new span was admitted, in this round or the one before."""
    hollow: bool
    """D fell against the round before while neither O nor Q rose."""
    harmed: tuple[str, ...] | None
    """Agents whose lead was right and is wrong now; unknown without gold."""
    mended: tuple[str, ...] | None
    mixture: Flip | None
    """The same for the mixture's lead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HarmReport:
    """The rounds of a debate together."""

    moves: int
    """How often an agent's lead changed."""
    conformed: int
    """Of the moves: to the majority without new admitted evidence."""
    stubborn: tuple[str, ...]
    """Agents that were stubborn for `harm.stubborn_rounds` rounds."""
    arguments: int
    repeated: int
    """Of the arguments: restate an earlier one."""
    collapses: tuple[int, ...]
    """Rounds."""
    hollow: bool
    """From the openings to the end D fell while neither O nor Q rose."""
    openings: Mapping[str, str]
    """Agent → its lead at the opening, in seat order; agents without one are left out."""
    opening_answer: str
    """What the openings together answer."""
    support: float
    """Admitted evidence for the debate's answer; see :func:`maci.controller.watch.support`."""
    opening_support: float
    """The same for the openings' answer."""
    harmed: int | None
    """How often an agent's lead went from right to wrong; unknown without gold."""
    mended: int | None
    mixture: Flip | None
    """From the openings to the debate's answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RolledBack:
    """The debate's own answer, where the round-0 vote was given instead."""

    answer: str
    distribution: Mapping[str, float]
    """Calibrated."""
    support: float
    opening_support: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Dissent:
    """The minority report: the best-supported outcome other than the answer, and what stands behind it."""

    outcome: str
    probability: float
    """As reported for it in the distribution."""
    holders: tuple[str, ...]
    """Agents that lead with it at the end; its arguments stand even where nobody does."""
    arguments: tuple[str, ...]
    """Admitted ones for it, best first."""
    spans: tuple[str, ...]
    """Evidence they cite."""
    crit: float | None
    """Mean of their CRIT; undefined without any, or without judges."""
    support: float
    answer_support: float
    unanswered: tuple[str, ...]
    """Of the spans: cited by no admitted argument for the answer."""
    contested: tuple[str, ...]
    """Of the spans: cited for the answer too."""
    decides: tuple[str, ...]
    """What evidence would decide between the two, in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictionSet:
    """Outcomes that hold the truth with a stated coverage, on cases like those calibrated on."""

    outcomes: tuple[str, ...]
    """Most probable first."""
    coverage: float
    score: Literal["lac", "aps"]
    n: int
    """Cases the threshold rests on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """An admitted argument as support: who made it, for what, on which spans."""

    agent: str
    round: int
    outcome: str | None
    """What it speaks for; ``None`` where it speaks for nothing, or against something."""
    spans: frozenset[str]
    """What it cites."""
    backing: frozenset[str]
    """Of those, all that are not about another outcome: such are cited for contrast."""
    crit: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierArgument:
    """An argument as it can be compared with later ones."""

    id: str
    agent: str
    outcome: str | None
    against: bool
    words: frozenset[str]
    """Of its claim."""
    spans: frozenset[str]
    """Its verified citations."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """What the monitor remembers between rounds."""

    opening: Mapping[str, float] = field(default_factory=dict)
    """The openings' mixture."""
    leads: Mapping[str, str] = field(default_factory=dict)
    """Of the openings."""
    o: float | None = None
    """O of the openings."""
    cited: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Agent → what it has cited in earlier rounds."""
    grounds: Mapping[str, Ground] = field(default_factory=dict)
    """Admitted argument → what it supports."""
    said: tuple[EarlierArgument, ...] = ()
    watched: tuple[Watched, ...] = ()
