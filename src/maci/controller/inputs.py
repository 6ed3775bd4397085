"""What comes from outside: the recorded inputs of the fold.

Together they determine everything else. A transcript is these, in order of arrival, with the fold's decisions between them.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal, assert_never

import numpy as np
from numpy.typing import NDArray

from maci.acquisition.gain import Stakes
from maci.acquisition.plan import Proposal
from maci.agents.argument import Sentence, Turn
from maci.agents.judges.crit import CritScore
from maci.cases.case import Case
from maci.cases.labels import NameQuestion
from maci.cases.names import Kind
from maci.config import Config
from maci.controller.bandit import Learned
from maci.controller.dials import RoundEvent
from maci.errors import InputError
from maci.evidence.span import Span
from maci.llm.usage import NOTHING, Bound, RequestFacts, Usage


def pack(vector: NDArray[np.float32]) -> str:
    """A vector as text: little-endian float32 in base64."""
    return base64.b64encode(np.ascontiguousarray(vector, dtype="<f4").tobytes()).decode()


@lru_cache(maxsize=4096)
def unpack(text: str) -> NDArray[np.float32]:
    """The vector that :func:`pack` wrote.

    >>> unpack(pack(np.array([0.5, -1.0], np.float32))).tolist()
    [0.5, -1.0]
    """
    return np.frombuffer(base64.b64decode(text), dtype="<f4")


@dataclass(frozen=True, slots=True)
class Seat:
    """A debater or a judge at the table."""

    name: str
    family: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """The first line: everything that was fixed before anyone spoke."""

    type: Literal["opened"] = "opened"
    format: int
    case: Case
    config: Config
    agents: tuple[Seat, ...]
    judges: tuple[Seat, ...]
    encoder: str
    seed: int
    version: str
    commit: str | None = None
    """Git commit of the package's checkout, `+dirty` where it was changed."""
    created: str = ""
    panel: str = ""
    """How the table was put together, so that a broken debate can be resumed."""
    corpus: str = ""
    """The evidence index it was given, if any."""
    table: Mapping[str, Any] | None = None
    """A panel of models as it was resolved (names, endpoints, personas; no keys), for the same reason."""
    prompts: Mapping[str, str] = field(default_factory=dict)
    """Prompt template → the first 16 hex digits of its SHA-256."""
    learned: Learned | None = None
    """What a schedule that learns starts from; nothing where this is missing."""
    source: str = ""
    """Who answers what the plan asks, if anybody does."""
    answers: tuple[str, ...] = ()
    """The kinds of items it can answer; all where none is named."""
    sure: bool = False
    """It answers whatever it is asked, be it that something is not there."""
    comparer: str = ""
    """Who is asked whether two names are one outcome, if anybody is (D14)."""
    writer: str = ""
    """The model that writes the recommendation at the end (D20); nothing where the template does, or nobody."""
    set_aside: Bound = field(default_factory=Bound)
    """The most that can cost: from round 1 on no other call may use it."""
    stakes: Stakes | None = None
    """Utilities of what could be done, where some were given: what is asked is then chosen by value, not by bits."""
    notes: tuple[str, ...] = ()
    """How the table was set where nobody said: warnings that the result repeats."""
    unfit: str = ""
    """Where only readers debate: why word statistics cannot decide the case (D21); nothing where they can."""
    readers: bool = False
    """Only readers debate: where none of their arguments is admitted, they cannot decide the case either. Not in older records."""

    @property
    def models(self) -> Mapping[str, str]:
        """Agent or judge → its model; nothing for readers and those made in Python."""
        seats = [seat for part in ("agents", "judges") for seat in (self.table or {}).get(part) or ()]
        return {str(seat.get("name")): str(seat.get("model", "")) for seat in seats}


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieved:
    """ℰ⁽⁰⁾ and the frozen θ."""

    type: Literal["retrieved"] = "retrieved"
    spans: tuple[Span, ...]
    core: tuple[str, ...] = ()
    """Those that fit about as well as the best; Q₀ is measured on these, or on all if none is named."""
    vectors: Mapping[str, str]
    theta: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """A call about to be sent, and the most it can cost."""

    kind: Literal["turn", "score", "compare", "acquire", "recommend"]
    who: str
    """The agent, the judge slot, whoever compares names or writes the recommendation, or the item a source is asked."""
    argument: str = ""
    tokens: int
    usd: float = 0.0

    @property
    def key(self) -> tuple[str, str, str]:
        """Which call it is."""
        return self.kind, self.who, self.argument


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent(RoundEvent):
    """Written before calls that cost something go out; another attempt at one of them is written again."""

    type: Literal["sent"] = "sent"
    calls: tuple[Pending, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost(RoundEvent):
    """The debate broke off with calls under way; nobody knows what they cost, so they count in full."""

    type: Literal["lost"] = "lost"


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnTaken(RoundEvent):
    """An agent's turn, as it gave it."""

    type: Literal["turn"] = "turn"
    agent: str
    turn: Turn


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnFailed(RoundEvent):
    """An agent that raised: it sits this round out."""

    type: Literal["turn_failed"] = "turn_failed"
    agent: str
    error: str
    usage: Usage = field(default_factory=Usage)
    fatal: bool = False
    """No call to this model can succeed (a wrong key, an unknown model): the debate is over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """Cited spans looked up and embedded, and new outcome names embedded."""

    type: Literal["resolved"] = "resolved"
    spans: tuple[Span, ...] = ()
    vectors: Mapping[str, str] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    """Cited ids that exist nowhere."""
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored(RoundEvent):
    """One judge's score of one argument."""

    type: Literal["scored"] = "scored"
    argument: str
    slot: str
    score: CritScore
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeAbstention(RoundEvent):
    """A judge that failed or would not say: counted and shown, never a number."""

    type: Literal["judge_abstained"] = "judge_abstained"
    argument: str
    slot: str
    reason: str
    usage: Usage = field(default_factory=Usage)
    fatal: bool = False
    waived: bool = False
    """The debate did not wait for it: no score could change the argument's admission (``crit.enough``)."""


@dataclass(frozen=True, slots=True)
class PromptMessage:
    """One message of a prompt: the hashes of the texts it is made of."""

    role: str
    parts: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRecord(RequestFacts):
    """One request to a model."""

    prompt: str
    """Hash of the prompt."""
    tokens: int = 0
    """Read and generated."""
    thought: int = 0
    """Tokens of thinking, as far as they are known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Requested(RoundEvent):
    """What a call asked of models, word for word; written before what came of the call. It decides nothing."""

    type: Literal["requested"] = "requested"
    kind: str
    who: str
    argument: str = ""
    requests: tuple[RequestRecord, ...]
    prompts: Mapping[str, tuple[PromptMessage, ...]] = field(default_factory=dict)
    """Hash of a prompt → its messages; only those that no event before holds."""
    texts: Mapping[str, str] = field(default_factory=dict)
    """Hash of a text → the text; only those that no event before holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared(RoundEvent):
    """What a model said of a name of an outcome and those in use, where words and embeddings could not tell (D14)."""

    type: Literal["compared"] = "compared"
    first: str
    second: str
    """The name in use that it was compared with; empty where it is none of them."""
    among: tuple[str, ...] = ()
    """All names in use it was put against; nothing where that was the second alone."""
    relation: Kind | None
    """How the first stands to the second; ``None`` where there is no answer: the names then stay apart."""
    by: str
    raw: str | None = None
    """The reply, word for word."""
    prompt: str | None = None
    """Hash of the prompt."""
    error: str = ""
    """Why there is no answer."""
    usage: Usage = field(default_factory=Usage)

    @property
    def question(self) -> NameQuestion:
        """What was asked."""
        return NameQuestion(self.first, self.among or (self.second,))

    @property
    def answers(self) -> dict[tuple[str, str], Kind | None]:
        """What it says of each pair of names."""
        return self.question.answered(self.second, self.relation)


@dataclass(frozen=True, slots=True, kw_only=True)
class Intervened:
    """A person's hand on the dials, for the next round or from it on; or their pause, or their stop."""

    type: Literal["intervened"] = "intervened"
    stop: bool = False
    cl: float | None = None
    tau_q: float | None = None
    tau_crit: float | None = None
    by: str = ""
    pause: bool | None = None
    """Yes: no new call is sent and no time of the budget passes until somebody says no."""
    hold: bool = False
    """The dials stay as they were set until somebody sets them again or gives them back; else they are set for one round."""
    release: bool = False
    """The schedule has the dials again, except those set here."""

    def __post_init__(self) -> None:
        for name in ("cl", "tau_q", "tau_crit"):
            value = getattr(self, name)
            if value is not None and not 0 <= value <= 1:  # also refuses nan
                raise InputError(f"{name} set by hand is {value}, must be between 0 and 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Exhausted:
    """A call was not sent because it did not fit what is left."""

    type: Literal["exhausted"] = "exhausted"
    resource: Literal["tokens", "usd", "seconds"]
    detail: str = ""
    usage: Usage = field(default_factory=Usage)
    """What was spent on calls that could not be finished."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surveyed(RoundEvent):
    """What could be found out, looked for at the end of a debate or where it pauses."""

    type: Literal["surveyed"] = "surveyed"
    candidates: tuple[Proposal, ...] = ()
    considered: int = 0
    """Phrases, symptoms, tests and requests looked at."""
    note: str = ""
    """Why there are none, where the search failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Acquired(RoundEvent):
    """What a source answered."""

    type: Literal["acquired"] = "acquired"
    item: str
    verdict: Literal["present", "absent", "told", "unknown", "off_question", "failed", "stopped"]
    """What came of the item: found, not there, told in words, not known, an answer to something else, an error, a person's stop."""
    text: str = ""
    """The answer as it came; data, whatever it says."""
    spans: tuple[Span, ...] = ()
    vectors: Mapping[str, str] = field(default_factory=dict)
    source: str = ""
    usage: Usage = field(default_factory=Usage)
    cost: float = 0.0
    """What it cost, in the plan's units."""
    remarks: tuple[str, ...] = ()
    """What is wrong with the answer: it reads like an instruction, it contradicts an earlier one, the error."""
    by: str = ""
    """The model that read the answer, where one did; else it was read by rules."""
    raw: str | None = None
    """What that model said, word for word."""
    prompt: str | None = None
    """Hash of the prompt that led to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommended(RoundEvent):
    """What a model of the panel wrote as the joint recommendation, before it is checked (D20)."""

    type: Literal["recommended"] = "recommended"
    by: str
    sentences: tuple[Sentence, ...] = ()
    raw: str | None = None
    """The reply, word for word."""
    prompt: str | None = None
    """Hash of the prompt."""
    error: str = ""
    """Why there is none."""
    usage: Usage = field(default_factory=Usage)


Input = (
    Opened
    | Retrieved
    | Sent
    | Requested
    | TurnTaken
    | TurnFailed
    | Resolved
    | Scored
    | JudgeAbstention
    | Compared
    | Intervened
    | Lost
    | Exhausted
    | Surveyed
    | Acquired
    | Recommended
)


def usage_of(item: Input) -> Usage:
    """What an input cost."""
    match item:
        case TurnTaken():
            return item.turn.usage
        case TurnFailed() | Scored() | JudgeAbstention() | Compared() | Exhausted() | Acquired() | Recommended():
            return item.usage
        case Opened() | Retrieved() | Sent() | Requested() | Lost() | Resolved() | Intervened() | Surveyed():
            return NOTHING
        case _:
            assert_never(item)
