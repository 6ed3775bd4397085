"""The parts of a story: what was said, cited, scored, admitted, believed and spent in a round."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from maci.agents.argument import Argument, Turn
from maci.agents.judges.crit import CritScore
from maci.controller.bandit import Choice
from maci.controller.caution import Watched
from maci.controller.decisions import Admission, Joined, Signals
from maci.controller.dials import RoundDials
from maci.controller.inputs import Compared, Intervened, Pending
from maci.controller.triage import Triaged
from maci.llm.usage import Usage

Belief = Mapping[str, float]
SignalName = Literal["q", "d", "o", "crit", "gain"]
SIGNALS: tuple[tuple[SignalName, str, str], ...] = (
    ("q", "Q", "evidence quality"),
    ("d", "D", "disagreement"),
    ("o", "O", "shared evidence"),
    ("crit", "CRIT", "argument quality"),
)
"""Name, symbol and meaning of the four that are drawn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cited:
    """A citation of an argument."""

    span: str
    quote: str | None = None
    places: tuple[tuple[int, int], ...] = ()
    """Where the quote stands in the span; nothing where there is no quote, no span or no match."""
    verified: bool | None = None
    """``None`` as long as the gate has not looked at it."""
    why: str = ""
    """Why it does not stand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One judge's word on an argument: a score, or why there is none."""

    slot: str
    score: CritScore | None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """An argument with all that became of it."""

    id: str
    round: int
    agent: str
    argument: Argument
    citations: tuple[Cited, ...] = ()
    scores: tuple[Judged, ...] = ()
    admission: Admission | None = None
    """``None`` as long as the round is open, and in round 0, where no gate stands."""
    repeats: str = ""
    """The id under which the same agent said the same before."""

    @property
    def fate(self) -> Literal["admitted", "fact", "rejected", "opening", "open"]:
        """What became of it."""
        if self.admission is not None:
            if self.admission.fact:
                return "fact"
            return "admitted" if self.admission.admitted else "rejected"
        return "opening" if self.round == 0 else "open"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReturnedCall:
    """A call of an agent, a judge or whoever compares names or sums up that came back, and what it cost."""

    round: int
    kind: Literal["turn", "score", "compare", "recommend"]
    who: str
    argument: str = ""
    usage: Usage = field(default_factory=Usage)
    prompt: str | None = None
    """Hash of the prompt."""
    failed: str = ""
    """Why there is no answer."""
    fatal: bool = False
    """No call to this model can succeed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hand:
    """What a person did, in words."""

    round: int
    what: str
    by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One round, finished or under way."""

    number: int
    dials: RoundDials | None = None
    """Under which it is played; ``None`` in round 0."""
    by_hand: bool = False
    choice: Choice | None = None
    said: tuple[Statement, ...] = ()
    turns: Mapping[str, Turn] = field(default_factory=dict)
    """As the agents took them, in the order they came in."""
    sent: tuple[Pending, ...] = ()
    """Calls that went out and cost something, each attempt, with the most it could cost."""
    beliefs: Mapping[str, Belief] = field(default_factory=dict)
    """Those that count."""
    reverted: Mapping[str, Belief] = field(default_factory=dict)
    """Those that were taken back."""
    abstained: Mapping[str, str] = field(default_factory=dict)
    mixture: Belief = field(default_factory=dict)
    weights: Mapping[str, float] = field(default_factory=dict)
    signals: Signals | None = None
    """``None`` as long as the round is open."""
    watched: Watched | None = None
    """What may be harm; ``None`` where `harm.enabled` is off."""
    triaged: tuple[Triaged, ...] = ()
    """What triage decided in it, in order."""
    notes: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)
    judging: Usage = field(default_factory=Usage)
    """The judges' part of ``usage``."""

    @property
    def closed(self) -> bool:
        """Whether its signals are in."""
        return self.signals is not None

    def signal(self, name: SignalName) -> float | None:
        """One of its signals; ``None`` where it is undefined or not in yet."""
        return getattr(self.signals, name) if self.signals is not None else None

    @property
    def admitted(self) -> tuple[Statement, ...]:
        """The arguments that earned their place."""
        return tuple(item for item in self.said if item.fate == "admitted")

    @property
    def answer(self) -> str | None:
        """The leading outcome of the mixture."""
        return max(self.mixture, key=lambda label: self.mixture[label]) if self.mixture else None


def compared_words(event: Compared) -> str:
    """What a model said of names, in words."""
    others = [f"“{name}”" for name in event.question.among]
    a, b = f"“{event.first}”", f"“{event.second}”" if event.second else " or ".join(others)
    match event.relation:
        case "same":
            said = f"{a} and {b} are one outcome"
        case "narrower":
            said = f"{a} is narrower than {b}"
        case "broader":
            said = f"{b} is narrower than {a}"
        case "other":
            said = f"{a} is another outcome than {b}"
        case None:
            return f"{a} was not compared with {b}: {event.error}"
    return f"{said}, says {event.by.removeprefix('names:')}"


def joined_words(joined: Joined) -> str:
    """How a name was joined with a label, in words.

    >>> joined_words(Joined(name="GERD", label="Acid reflux", kind="same", layer="alias"))
    '“GERD” counts as “Acid reflux”: a known alias'
    """
    how = {
        "exact": "the same words",
        "alias": "a known alias",
        "abbreviation": "an abbreviation",
        "spelling": "another spelling",
        "qualifier": "they differ only in a qualifier",
        "opposed": "",
        "embedding": "nearly the same meaning (embeddings)",
        "model": "a model was asked",
    }[joined.layer]
    verb = "counts as" if joined.kind == "same" else "is counted under"
    return f"“{joined.name}” {verb} “{joined.label}”: {how}"


def hand_words(event: Intervened) -> str:
    """What a person did to a debate.

    >>> hand_words(Intervened(cl=0.4, hold=True)), hand_words(Intervened(tau_q=0.1, pause=False))
    ('sets CL to 0.40 from the next round on', 'sets τ_Q to 0.10 for the next round and lets it go on')
    """
    dials = (("CL", event.cl), ("τ_Q", event.tau_q), ("τ_CRIT", event.tau_crit))
    turned = ", ".join(f"{name} to {value:.2f}" for name, value in dials if value is not None)
    acts = ["gives the dials back to the schedule"] if event.release else []
    if turned:
        acts.append(f"sets {turned} {'from the next round on' if event.hold else 'for the next round'}")
    if event.pause is not None:
        acts.append("pauses the debate" if event.pause else "lets it go on")
    if event.stop:
        acts.append("stops the debate")
    return " and ".join(acts) or "looks in"
