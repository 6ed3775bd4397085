"""The state of a debate: everything the inputs so far imply. Frozen; the fold makes a new one for every input."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from maci.acquisition.gain import Utilities, utilities_of
from maci.acquisition.plan import AgentInquiry, Item
from maci.agents.anchor import Admitted, Finding, Rejected, seat_letter
from maci.agents.argument import Argument, Turn
from maci.agents.judges.crit import CritScore, Slot
from maci.cases.labels import Comparing, Join, canonical, unnamed
from maci.cases.names import Kind
from maci.config import Config
from maci.controller.bandit import Choice
from maci.controller.caution import Memory
from maci.controller.decisions import CheckedCitation, Finished, Planned
from maci.controller.dials import ClosedRound, RoundDials
from maci.controller.inputs import Acquired, Intervened, Opened
from maci.controller.stop import StopReason
from maci.controller.triage import Stage
from maci.evidence.span import ABOUT_CASE, ACQUIRED, CASE, Span, quote_score
from maci.llm.usage import Bound, Usage
from maci.moderator.belief import Vector
from maci.moderator.gate import Thresholds

Scores = Mapping[str, Mapping[str, CritScore | None]]


class Closing(NamedTuple):
    """Why a debate ends, once its plan is made; or why it pauses."""

    reason: StopReason
    detail: str


class Stake(NamedTuple):
    """How things stood when something was found out."""

    entropy: float
    leader: str
    items: tuple[str, ...]
    predicted: float


@dataclass(frozen=True, kw_only=True)
class State:
    """A debate between two inputs."""

    opened: Opened
    agents: tuple[str, ...]
    """Names in seat order."""
    slots: tuple[Slot, ...]
    labels: tuple[str, ...]
    """𝒴 as known so far; in an open space it grows at the end."""
    positions: Vector | None
    metric: Vector | None
    label_vectors: Mapping[str, NDArray[np.float32]] = field(default_factory=dict)
    joins: Mapping[str, Join] = field(default_factory=dict)
    """Names of outcomes that are no labels of their own, and the labels that hold them (D14)."""
    compared: Mapping[tuple[str, str], Kind | None] = field(default_factory=dict)
    """What a model said of pairs of names; ``None`` where it gave no answer."""
    comparisons: int = 0
    """Pairs asked about in the open round."""
    fine: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Agent → narrower name → its part of what the agent's last belief gives the label."""
    narrower: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Label → narrower name → its share of the label's probability in the mixture."""
    spans: Mapping[str, Span] = field(default_factory=dict)
    vectors: Mapping[str, NDArray[np.float32]] = field(default_factory=dict)
    missing: frozenset[str] = frozenset()
    retrieved: tuple[str, ...] = ()
    core: tuple[str, ...] = ()
    theta: NDArray[np.float32] | None = None

    round: int = 0
    stage: Stage = "debate"
    """How far `maci ask` has come; a debate from the start is where it may end."""
    dials: RoundDials
    choice: Choice | None = None
    """How a schedule that learns came to ``dials``."""
    spent: Bound = field(default_factory=Bound)
    """By the end of the round before."""
    turns: Mapping[str, Turn | None] = field(default_factory=dict)
    """Of the open round; ``None`` is an agent that failed."""
    failures: Mapping[str, str] = field(default_factory=dict)
    waiting: frozenset[str] = frozenset()
    """Agents whose turn is in, but not all it cites and names has been looked up."""
    arguments: Mapping[str, tuple[str, Argument]] = field(default_factory=dict)
    """Id → (agent, argument) of the open round."""
    scores: Scores = field(default_factory=dict)
    silent: tuple[str, ...] = ()
    """Judges' abstentions in the open round, with their reasons."""
    waived: frozenset[tuple[str, str]] = frozenset()
    """(Argument, judge slot) of the open round that was not waited for."""
    hand: Intervened | None = None
    paused: bool = False
    """A person holds the debate; what was sent still comes in."""

    beliefs: Mapping[str, Vector] = field(default_factory=dict)
    """Last belief of every agent that ever had one."""
    mixture: Vector | None = None
    q0: float | None = None
    d: float | None = None
    reliability: Mapping[str, float]
    openings: tuple[Admitted, ...] = ()
    """What was argued in round 0: agents are shown it with the record, but nobody has judged it."""
    record: tuple[Admitted, ...] = ()
    rejected: Mapping[str, tuple[Rejected, ...]] = field(default_factory=dict)
    """Agent → its arguments that were not admitted in the round before."""
    merit: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Admitted argument → (CRIT, q), 0 where a gate is off and nothing was measured; orders the rationale."""
    admitted_spans: frozenset[str] = frozenset()
    history: tuple[ClosedRound, ...] = ()
    usage: Usage = field(default_factory=Usage)
    judging: Usage = field(default_factory=Usage)
    """The judges' part of ``usage``."""
    lost: Usage = field(default_factory=Usage)
    """The part of ``usage`` that bought nothing."""
    agreement: Mapping[str, tuple[int, float]] = field(default_factory=dict)
    """Judge → (scores it gave beside others, sum of their squared distances from the others' mean)."""
    prompted: frozenset[str] = frozenset()
    """Hashes of the prompts and texts that are on record."""
    in_flight: Mapping[tuple[str, str, str], Usage] = field(default_factory=dict)
    """Calls that were sent and have not come back, with the most they can cost."""
    beyond: Mapping[str, tuple[int, Bound]] = field(default_factory=dict)
    """Agent or judge → how many of its calls cost more than was set aside for them, and how much more."""
    memory: Memory = field(default_factory=Memory)
    """What the harm monitor and the minority report rest on."""
    requests: tuple[AgentInquiry, ...] = ()
    """What agents would like to know."""
    closing: Closing | None = None
    recommending: bool = False
    """The debate is over, and a model writes the recommendation."""
    planned: Planned | None = None
    acquiring: tuple[Item, ...] = ()
    """Items asked of the source and not answered yet."""
    acquired: tuple[tuple[Item, Acquired], ...] = ()
    findings: tuple[Finding, ...] = ()
    stake: Stake | None = None
    segment: int = 0
    """Rounds closed before the debate last went on after a pause."""
    warnings: tuple[str, ...] = ()
    finished: Finished | None = None

    @property
    def config(self) -> Config:
        """The parameters in force."""
        return self.opened.config

    @property
    def mixed(self) -> Vector:
        """The mixture, once the opening is closed."""
        assert self.mixture is not None
        return self.mixture

    @property
    def judged(self) -> bool:
        """Whether the open round's arguments are scored: not the opening's, and not without judges."""
        return self.round > 0 and bool(self.slots)

    @property
    def asked(self) -> tuple[str, ...]:
        """Who is to speak in the open round: everybody, but one agent alone where that may do (`maci ask`)."""
        if self.stage != "single" or self.round:
            return self.agents
        return (first_agent(self.agents, self.config),)

    @property
    def facts(self) -> bool:
        """Whether the case's own text is facts and not evidence (D15)."""
        return self.config.evidence.case == "facts" and self.opened.case.context_is == "case"

    @property
    def grounded(self) -> bool:
        """Whether there is evidence: text about more than this case, or a case text that is evidence. Else Q and O are undefined."""
        return not self.facts or any(span.source not in ABOUT_CASE for span in self.spans.values())

    def is_fact(self, span: str) -> bool:
        """Whether a known span is a fact: the case's own text, and in a debate without evidence what was found out about it."""
        source = self.spans[span].source
        return self.facts and (source == CASE or (source == ACQUIRED and not self.grounded))

    @property
    def thresholds(self) -> Thresholds:
        """The gates in force in the open round."""
        gate = self.config.gate
        return Thresholds(
            self.dials.tau_q if gate.q_gate and self.grounded else None,
            self.dials.tau_crit if gate.crit_gate and self.slots else None,
        )

    def seat(self, agent: str) -> str:
        """The neutral name of an agent."""
        return seat_letter(self.agents.index(agent))

    @property
    def complete(self) -> bool:
        """Whether the open round lacks nothing."""
        if self.theta is None or self.waiting or not all(agent in self.turns for agent in self.asked):
            return False
        return not self.judged or sum(map(len, self.scores.values())) == len(self.arguments) * len(self.slots)

    def in_seat_order(self) -> Iterator[tuple[str, str, Argument]]:
        """(id, agent, argument) of the open round, whatever order they arrived in."""
        for name in self.agents:
            yield from ((identity, agent, a) for identity, (agent, a) in self.arguments.items() if agent == name)

    def utilities(self, n: int) -> Utilities | None:
        """What actions are worth under the first ``n`` labels, where utilities were given.

        Outcomes of an open space that they speak of may not have been named yet.
        """
        stakes, space = self.opened.stakes, self.opened.case.outcomes
        if stakes is None:
            return None
        return utilities_of(stakes, self.labels[:n], space, lenient=space.kind == "open")

    def but(self, **changes: object) -> State:
        """The same state with some fields changed; :func:`dataclasses.replace` without its cost, for the busiest steps."""
        new = object.__new__(State)
        values = new.__dict__
        values.update(self.__dict__)
        values.update(changes)
        return new

    def unresolved(self, turn: Turn) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Cited ids and outcome names of a turn that nobody has looked up yet."""
        cited = {c.span: None for argument in turn.arguments for c in argument.citations}
        ids = tuple(i for i in cited if i not in self.spans and i not in self.missing)
        return ids, unnamed(turn.belief, self.opened.case.outcomes, self.labels, self.label_vectors)


def first_agent(agents: Sequence[str], config: Config) -> str:
    """Whom `maci ask` asks first: who weighs most (``reliability.prior``), the first seat among equals.

    Where turns are sequential it is always the first seat, whose opening is then the same call as in a debate.
    """
    if config.agents.order == "sequential":
        return agents[0]
    return max(agents, key=lambda agent: config.reliability.prior.get(agent, 1.0))


def argument_id(round: int, seat: int, number: int) -> str:
    """Round, seat, number.

    >>> argument_id(2, 0, 1)
    '2A1'
    """
    return f"{round}{seat_letter(seat)}{number}"


def place(name: str, labels: tuple[str, ...], state: State) -> str:
    """The canonical label of a name, given the labels known at this point."""
    return canonical(name, state.opened.case.outcomes, labels, state.joins, comparing(state))


def comparing(state: State) -> Comparing:
    """What names of outcomes are compared by beside their words."""
    said = {pair: kind for pair, kind in state.compared.items() if kind is not None}
    return Comparing(vectors=state.label_vectors, threshold=state.config.beliefs.label_match, answers=said)


def check_citations(argument: Argument, state: State) -> tuple[CheckedCitation, ...]:
    """Which citations of an argument stand: the span exists, and the quote is in it."""
    checked = []
    for citation in argument.citations:
        span, match, why = state.spans.get(citation.span), None, ""
        if span is None:
            why = "no such span"
        elif citation.quote is not None:
            match = quote_score(citation.quote, span.text)
            why = "" if match >= state.config.evidence.quote_match else "the quote is not in the span"
        fact = span is not None and state.is_fact(citation.span)
        checked.append(CheckedCitation(citation.span, not why, match, why, fact))
    return tuple(checked)


def as_mapping(labels: tuple[str, ...], p: Vector) -> dict[str, float]:
    """A vector as label → probability."""
    return dict(zip(labels, p.tolist(), strict=True))
