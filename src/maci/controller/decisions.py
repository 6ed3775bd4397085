"""What the fold concludes: every decision with the figures behind it, recomputable from the inputs alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from maci.acquisition.gain import Favoured
from maci.acquisition.plan import Item
from maci.agents.argument import Sentence
from maci.cases.names import Layer
from maci.controller.bandit import Choice
from maci.controller.caution import Dissent, HarmReport, PredictionSet, RolledBack, Watched
from maci.controller.dials import Measured, RoundDials, RoundEvent, RoundNumber
from maci.controller.stop import StopReason
from maci.controller.triage import RegimeAdvice, Triaged


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined:
    """A name of an open space that is no label of its own: another name of a label, or a narrower one that the label holds."""

    name: str
    label: str
    kind: Literal["same", "narrower"]
    layer: Layer
    """How that was found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Initialized(RoundEvent):
    """Round 0 is closed: openings read, dials set, θ frozen."""

    type: Literal["initialized"] = "initialized"
    round: RoundNumber = 0
    labels: tuple[str, ...]
    beliefs: Mapping[str, Mapping[str, float]]
    abstained: Mapping[str, str]
    mixture: Mapping[str, float]
    q: float | None
    d: float | None
    o: float | None
    dials: RoundDials
    """Of round 1."""
    regime: RegimeAdvice
    correct: bool | None
    notes: tuple[str, ...]
    joined: tuple[Joined, ...] = ()
    """Names that were joined (D14)."""
    narrower: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Label → the narrower names it holds, each with its share of the label's probability."""
    crit: ClassVar[None] = None
    """No judge scores an opening."""
    gain: ClassVar[None] = None
    """Nothing comes before it."""


Signals = Initialized | Measured
"""The signals of a closed round, of the openings or of a later one: Q, D, O, CRIT and Î under one name everywhere."""


@dataclass(frozen=True, slots=True)
class CheckedCitation:
    """A citation and whether it stands."""

    span: str
    verified: bool
    match: float | None
    """How much of the quote stands in the span; undefined without a quote or a span."""
    why: str = ""
    fact: bool = False
    """The span is the case's own text: a fact, not evidence (D15)."""

    @property
    def counts(self) -> bool:
        """Whether it is a citation of evidence, and stands."""
        return self.verified and not self.fact


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """The gate's decision on one argument."""

    argument: str
    agent: str
    q: float | None
    crit: float | None
    crit_variance: float | None
    abstentions: int
    citations: tuple[CheckedCitation, ...]
    admitted: bool
    reason: str
    """Why it was not admitted; empty if it was."""
    fact: bool = False
    """Not admitted as evidence, because it rests on the case alone, and yet on the record, as a fact without weight (D15)."""
    answers: tuple[str, ...] = ()
    """Earlier arguments it responds to; of the ids it names, those that its author has been shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gated(RoundEvent):
    """The dual gate on all arguments of a round."""

    type: Literal["gated"] = "gated"
    dials: RoundDials
    """Under which the round was played."""
    admissions: tuple[Admission, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighed(RoundEvent):
    """Beliefs that count, and how much."""

    type: Literal["weighed"] = "weighed"
    labels: tuple[str, ...]
    beliefs: Mapping[str, Mapping[str, float]]
    """After the dispersion gate."""
    reverted: Mapping[str, Mapping[str, float]]
    """Agent → the belief it stated and that was not taken (D9)."""
    abstained: Mapping[str, str]
    reliability: Mapping[str, float]
    """Γ_u"""
    weights: Mapping[str, float]
    """ω_u over the agents that have a belief."""
    mixture: Mapping[str, float]
    notes: tuple[str, ...]
    joined: tuple[Joined, ...] = ()
    """Names that were joined in this round (D14)."""
    narrower: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Label → the narrower names it holds, each with its share of the label's probability."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialled(RoundEvent):
    """The dials of the next round."""

    type: Literal["dialled"] = "dialled"
    dials: RoundDials
    by_hand: bool
    choice: Choice | None = None
    """How a schedule that learns came to them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned(RoundEvent):
    """What to find out next, where the debate ends or pauses."""

    type: Literal["planned"] = "planned"
    stop: StopReason
    """Why it ends, or would end."""
    items: tuple[Item, ...]
    entropy: float
    """H(p) of the calibrated mixture, in bits."""
    joint_gain: float
    """Bits expected of all items together."""
    considered: int
    notes: tuple[str, ...]
    """Why there is nothing to ask, where there is nothing."""
    acquire: tuple[str, ...] = ()
    """Items that are asked now; the debate continues with the answers."""
    favoured: Favoured | None = None
    """What the utilities say to do now, where some were given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gained(RoundEvent):
    """What was found out, in bits: expected and come true. Its round is the first that knew it."""

    type: Literal["gained"] = "gained"
    items: tuple[str, ...]
    predicted: float
    """Expected gain of those that were answered."""
    realised: float
    """H before − H after, under the calibrated mixture; below 0 where the answer raised doubt."""
    before: str
    """The leading outcome before."""
    after: str


@dataclass(frozen=True, slots=True)
class Minority:
    """An agent that does not share the answer, and what stands behind it."""

    agent: str
    outcome: str
    probability: float
    arguments: tuple[str, ...]
    """Its admitted arguments for that outcome."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """Where the tokens of a debate went."""

    prompt: int
    cached: int
    """Of the prompt tokens: from a cache of the provider's."""
    generated: int
    judges: int
    """Of all tokens: the judges'."""
    lost: int
    """Of all tokens: counted in full for calls whose answer never came."""
    seconds: float
    """How long paid calls took, added up."""


@dataclass(frozen=True, slots=True)
class DroppedSentence:
    """A sentence of a recommendation that did not stand the check."""

    text: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendation:
    """What a model wrote of a debate's end, as far as the record supports it (D20)."""

    by: str
    sentences: tuple[Sentence, ...]
    """Those that stood the check; none: the template says it."""
    dropped: tuple[DroppedSentence, ...] = ()
    detail: str = ""
    """Why the template stands in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """The result."""

    type: Literal["finished"] = "finished"
    stop_reason: StopReason
    detail: str
    rounds: int
    answer: str | None
    """``None`` where the work ended before a first answer."""
    distribution: Mapping[str, float]
    """Calibrated."""
    raw: Mapping[str, float]
    """The mixture p⁽ᵗ⁾ before calibration."""
    rationale: tuple[str, ...]
    """Admitted arguments for the answer, best first."""
    minority: tuple[Minority, ...]
    tokens: int
    usd: float
    warnings: tuple[str, ...]
    spent: Spent | None = None
    """Where the tokens went."""
    harm: HarmReport | None = None
    """What was watched."""
    rolled_back: RolledBack | None = None
    """The debate's own answer, where ``answer`` is that of round 0."""
    dissent: Dissent | None = None
    """The minority report."""
    abstained: str | None = None
    """Why no answer is given; ``answer`` is then the best guess."""
    unfit: bool = False
    """No answer is given because word statistics cannot decide the case (D21): its best guess is not worth showing."""
    prediction_set: PredictionSet | None = None
    favoured: Favoured | None = None
    """What the utilities say to do, where some were given."""
    narrower: Mapping[str, float] = field(default_factory=dict)
    """Names narrower than the answer that it holds, each with its share of the answer's probability."""
    calibrated: bool | None = None
    """Whether a calibration knows answers that come about like this one; ``None`` without an answer."""
    tied: tuple[str, ...] = ()
    """Outcomes that share the lead (D19), the answer among them; empty where it leads alone."""
    agreed: bool | None = None
    """Whether every agent leads with the same outcome at the end, and no other shares its lead; ``None`` without a round."""
    recommendation: Recommendation | None = None
    """What a model wrote (D20); ``None`` where none was to."""

    @property
    def answered(self) -> str | None:
        """The answer; ``None`` where it is withheld."""
        return None if self.abstained is not None else self.given

    @property
    def given(self) -> str | None:
        """The answer as it is shown to people, a guess at a risk level included."""
        return None if self.unfit else self.answer


Decision = Initialized | Triaged | Gated | Weighed | Measured | Watched | Dialled | Planned | Gained | Finished
