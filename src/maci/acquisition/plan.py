"""A plan: what to find out next, ranked by what it is worth under the calibrated mixture. Pure: values in, values out.

A :class:`Proposal` says how likely each answer is under each outcome; the plan adds what follows from p: bits, bits per cost, what
each answer would do to the decision. Items are chosen jointly, so two that would say the same are not both on the list.

Proposals come from a :class:`Survey` of what the debate leaves open, the :class:`Residual`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import repeat

import numpy as np

from maci.acquisition.gain import Utilities, added_gains, choose, favoured, gain, posterior, value, with_silence
from maci.agents.argument import Inquiry, Kind, Subkind
from maci.cases.outcomes import normal
from maci.config.sections import Plan
from maci.moderator.belief import Vector, entropy

COSTS: Mapping[str, float] = {"question": 1.0, "history": 1.0, "retrieval": 1.0, "monitoring": 3.0, "test": 3.0}
"""What finding something out costs, in units of a question, unless `plan.costs` says otherwise."""
AGENTS = "agents"
"""The origin of what agents asked for."""
CONTRAST, NAMED = "contrast", "named"
"""The origin of a question that quotes one sentence for each of two outcomes."""
MENU = "menu"
"""The origin of what the source says it has."""
NONE_OF_THESE = "none of these"
"""The answer of a test that shows nothing it was expected to."""
LISTED = 1e-3
"""Outcomes below this probability share the row ``otherwise`` of a table."""
_SHOWN = 0.02
"""An outcome below this probability is not named as one that an item separates."""
_ASSUMED = 0.5
"""How much a gain counts in the ranking where its table is a guess."""
_PART = 0.1
"""Share of an item's gain from which an outcome counts as separated by it."""


@lru_cache(maxsize=4096)  # many rows are alike
def _are_chances(row: tuple[float, ...], n: int) -> bool:
    """Whether a row has a chance for each of n answers."""
    return len(row) == n and min(row, default=0) >= 0 and max(row, default=0) <= 1 and sum(row) > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """Something that could be found out, and how likely each answer is under each outcome."""

    id: str
    kind: Kind
    text: str
    """As it would be asked."""
    subject: str
    """What it asks about, in a few words: a finding."""
    answers: tuple[str, ...] = ("present", "absent")
    table: Mapping[str, tuple[float, ...]]
    """Outcome → P(answer | outcome)."""
    otherwise: tuple[float, ...]
    """The same for outcomes that are not listed."""
    expected: Mapping[str, str] = field(default_factory=dict)
    """Outcome → what would be found, in words, where that says more than an answer."""
    origin: tuple[str, ...] = ()
    """Who proposed it: corpus, contrast, knowledge, agents, disagreement; and menu, where the source offers it."""
    assumed: bool = False
    """The table is a guess at how telling the answer is; else it was counted in labelled texts."""
    evidence: tuple[str, ...] = ()
    """Spans behind the table."""
    requests: tuple[str, ...] = ()
    """Turns that asked for it: round and seat, as in 2A."""
    cost: float | None = None
    """Where it is known; else that of its kind."""
    subkind: Subkind | None = None
    """What sort of test it is, where that is known."""
    query: str = ""
    """Retrieval: the text to search for."""
    filters: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    weight: float | None = None
    """How much its gain counts in the ranking; without one, half where the table is a guess, and in full elsewhere."""

    def __post_init__(self) -> None:
        """A table that is none, as in a record that somebody else wrote, is refused where it is read."""
        n = len(self.answers)
        for row in set(map(tuple, (self.otherwise, *self.table.values()))):
            if not _are_chances(row, n):
                raise ValueError(f"{list(row)[:5]} is no chance for each of {n} answers")

    askable: bool = True
    """Whether the source can be asked for it; not where the source has a menu and this is not on it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentInquiry:
    """A request of an agent, and the turn it stood in."""

    turn: str
    """Round and seat, as in 2A."""
    request: Inquiry


@dataclass(frozen=True, slots=True, kw_only=True)
class Residual:
    """What is still open, as a survey is told."""

    question: str
    text: str
    """The case with everything found out so far."""
    labels: tuple[str, ...]
    p: tuple[float, ...]
    leads: tuple[str, ...] = ()
    """Leading outcomes of the agents."""
    requests: tuple[AgentInquiry, ...] = ()
    asked: tuple[str, ...] = ()
    """Subjects that were asked about already, whatever came of it."""
    unanswered: tuple[str, ...] = ()
    """Those of them to which there was no answer."""
    menu: tuple[str, ...] = ()
    """What the source says it has, by name, where it says so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """Candidates, the most informative first."""

    candidates: tuple[Proposal, ...]
    considered: int
    """Phrases, symptoms, tests and requests looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shift:
    """What one answer would do to the decision."""

    answer: str
    probability: float
    leader: str
    """The outcome that would then lead."""
    before: float
    """Its probability now."""
    after: float
    changes: bool
    """Another outcome would lead than does now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One line of a plan."""

    id: str
    kind: Kind
    text: str
    subject: str
    separates: tuple[str, ...]
    """Outcomes whose expected answers differ most, the likelier first."""
    expected: Mapping[str, str]
    """Outcome → the answer to expect, and how surely."""
    expected_information_gain: float
    """Bits, on its own; where somebody is asked, times the chance of an answer."""
    added_gain: float
    """Bits beyond those of the items above it, likewise."""
    cost: float
    gain_per_cost: float
    shifts: tuple[Shift, ...]
    """Given that there is an answer."""
    asked_for_by: tuple[str, ...]
    """Admitted arguments whose turn asked for it, or that rest on the evidence behind it."""
    evidence: tuple[str, ...]
    origin: tuple[str, ...]
    assumed: bool
    query: str = ""
    filters: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    value: float | None = None
    """Value of the answer under utilities, where some were given; where somebody is asked, times the chance of an answer."""
    answered: float | None = None
    """π: how likely it is to be answered, where there is somebody to ask (:mod:`maci.controller.acquiring`)."""
    subkind: Subkind | None = None
    """What sort of test it is, where that is known."""
    askable: bool = True
    """Whether the source can be asked for it."""

    @property
    def sort(self) -> str:
        """Its kind in words."""
        return f"{self.kind} ({self.subkind})" if self.subkind else self.kind

    @property
    def if_answered(self) -> float:
        """Bits it adds once an answer has come."""
        return self.added_gain / (self.answered or 1.0)

    @property
    def value_if_answered(self) -> float | None:
        """What an answer would be worth, whatever the chance of one."""
        return None if self.value is None else self.value / (self.answered or 1.0)


def leaderless(items: Sequence[Item]) -> tuple[Item, ...]:
    """Items that do not tell which outcome leads: for readers of a debate whose answer is withheld."""
    return tuple(
        replace(
            item,
            shifts=(),
            separates=tuple(sorted(item.separates)),
            expected=dict(sorted(item.expected.items())),
            origin=tuple(origin for origin in item.origin if origin != "mixture"),
        )
        for item in items
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class AcquisitionPlan:
    """What to find out next; without items, ``note`` says why."""

    items: tuple[Item, ...]
    entropy: float
    """H(p) of the calibrated mixture, in bits."""
    joint_gain: float
    """Bits of all items together."""
    considered: int
    """Candidates that were looked at."""
    note: str = ""


def proposal_id(subject: str, kind: str = "") -> str:
    """An id that depends on what is asked alone."""
    return "q-" + hashlib.sha256(f"{kind}/{normal(subject)}".encode()).hexdigest()[:8]


def make_plan(
    labels: Sequence[str],
    p: Vector,
    candidates: Sequence[Proposal],
    rules: Plan | None = None,
    *,
    backing: Mapping[str, frozenset[str]] | None = None,
    utilities: Utilities | None = None,
    chances: Mapping[str, float] | None = None,
) -> AcquisitionPlan:
    """The plan for a belief over labels.

    ``backing``: admitted argument → its turn, as in 2A, and the spans it cites. ``chances``: candidate → π, where somebody is asked.
    """
    rules, h = rules or Plan(), entropy(p)
    if note := _settled(labels, p, h, 0.0 if utilities is not None else rules.least):
        return AcquisitionPlan(items=(), entropy=h, joint_gain=0.0, considered=len(candidates), note=note)
    weighed = [_weighed(*each, rules, chances) for each in zip(candidates, tables_of(candidates, labels), strict=True)]
    chosen = _by_value(p, weighed, utilities, rules.size) if utilities is not None else _by_bits(p, weighed, rules)
    items = tuple(_item(labels, p, of, added, backing or {}, utilities) for of, added in chosen)
    note = "" if items else _nothing(weighed, p, rules, utilities)
    bits = sum(item.added_gain for item in items)
    return AcquisitionPlan(items=items, entropy=h, joint_gain=bits, considered=len(candidates), note=note)


def _settled(labels: Sequence[str], p: Vector, h: float, least: float) -> str:
    """Why there is nothing to ask whatever could be asked; empty where there may be something."""
    if not len(labels):
        return "No question can be ranked: there is no belief yet."
    if h < least or h <= 0:
        return f"No question is worth asking: {labels[int(p.argmax())]} is all but certain ({h:.2g} bits of uncertainty remain)."
    return ""


@dataclass(frozen=True, slots=True)
class _Weighed:
    """A candidate with its figures."""

    candidate: Proposal
    table: Vector
    """P(answer | outcome), given that there is one."""
    silent: Vector
    """The same with the chance of none."""
    cost: float
    dear: float
    """What it counts as in the ranking: a guessed table is no better than its guess."""
    chance: float | None


def _nothing(weighed: Sequence[_Weighed], p: Vector, rules: Plan, utilities: Utilities | None) -> str:
    if not weighed:
        return (
            "No question is worth asking: no agent proposed one, and neither the labelled texts nor the built-in knowledge "
            "separate the leading outcomes."
        )
    if utilities is not None:
        best = favoured(p, utilities).action
        return f"No question is worth asking: whatever the answer, the best action is still “{best}”."
    bits = max(gain(p, of.silent) for of in weighed)
    if bits > rules.least:
        return f"No question is worth its cost: the best would reduce the uncertainty by only {bits:.2g} bits."
    return f"No question is worth asking: the best would reduce the uncertainty by less than {rules.least:g} bits."


def _weighed(candidate: Proposal, table: Vector, rules: Plan, chances: Mapping[str, float] | None) -> _Weighed:
    cost = rules.costs.get(candidate.kind, COSTS[candidate.kind])
    if candidate.cost is not None and candidate.cost > 0:
        cost = candidate.cost
    chance = (chances or {}).get(candidate.id)
    silent = table if chance is None else with_silence(table, chance)
    weight = (_ASSUMED if candidate.assumed else 1.0) if candidate.weight is None else candidate.weight
    return _Weighed(candidate, table, silent, cost, cost / weight, chance)


def _by_bits(p: Vector, weighed: Sequence[_Weighed], rules: Plan) -> list[tuple[_Weighed, float]]:
    """Chosen jointly by bits per cost; below them, up to twice as many that agents asked for, though they add little."""
    found = choose(p, [w.silent for w in weighed], [w.dear for w in weighed], rules.size, least=rules.least)
    chosen = [(weighed[i], added) for i, added in found if added >= rules.price * weighed[i].cost]
    taken = {of.candidate.id for of, _ in chosen}
    wished = [of for of in weighed if AGENTS in of.candidate.origin and of.candidate.id not in taken]
    worth = {of.candidate.id: gain(p, of.silent) / of.dear for of in wished}
    kept = sorted((of for of in wished if worth[of.candidate.id] > 0), key=lambda of: -worth[of.candidate.id])
    return chosen + _below(p, [of for of, _ in chosen], kept[: 2 * rules.size])


def _below(p: Vector, above: Sequence[_Weighed], more: Sequence[_Weighed]) -> list[tuple[_Weighed, float]]:
    """Items with the bits they add to those above them; 0 of those that are too many to be looked at jointly."""
    if not more:
        return []
    added = added_gains(p, [of.silent for of in (*above, *more)])[len(above) :]
    return list(zip(more, (*added, *[0.0] * len(more)), strict=False))


def _by_value(p: Vector, weighed: Sequence[_Weighed], utilities: Utilities, size: int) -> list[tuple[_Weighed, float]]:
    """Ranked by value per cost; value of information is not submodular, so each stands on its own."""
    utility = np.array(utilities.table, dtype=np.float64)
    worth = [value(p, of.silent, utility) / of.dear for of in weighed]
    order = sorted((i for i in range(len(worth)) if worth[i] > 0), key=lambda i: (-worth[i], i))[:size]
    picked = [weighed[i] for i in order]
    return list(zip(picked, added_gains(p, [of.silent for of in picked]), strict=False))


def tables_of(candidates: Sequence[Proposal], labels: Sequence[str]) -> list[Vector]:
    """P(answer | outcome) of each, a row for each label; those with equally many answers are made at once."""
    found = [np.empty(0)] * len(candidates)
    for n in {len(each.otherwise) for each in candidates}:
        places = [i for i, each in enumerate(candidates) if len(each.otherwise) == n]
        rows = [list(map(candidates[i].table.get, labels, repeat(candidates[i].otherwise))) for i in places]
        tables = np.array(rows, dtype=np.float64)
        for i, table in zip(places, tables / tables.sum(axis=2, keepdims=True), strict=True):
            found[i] = table
    return found


def _item(
    labels: Sequence[str],
    p: Vector,
    of: _Weighed,
    added: float,
    backing: Mapping[str, frozenset[str]],
    utilities: Utilities | None,
) -> Item:
    candidate, table = of.candidate, of.table
    bits = gain(p, of.silent)
    separates = _separated(labels, p, table)
    wanted = {*candidate.evidence, *candidate.requests}
    return Item(
        id=candidate.id,
        kind=candidate.kind,
        text=candidate.text,
        subject=candidate.subject,
        separates=separates,
        expected={label: _expected(candidate, label, table[list(labels).index(label)]) for label in separates},
        expected_information_gain=bits,
        added_gain=added,
        cost=of.cost,
        gain_per_cost=bits / of.cost,
        shifts=_shifts(labels, p, candidate, table),
        asked_for_by=tuple(argument for argument, rests in backing.items() if wanted & rests),
        evidence=candidate.evidence,
        origin=candidate.origin,
        assumed=candidate.assumed,
        query=candidate.query,
        filters=candidate.filters,
        value=None if utilities is None else value(p, of.silent, np.array(utilities.table, dtype=np.float64)),
        answered=of.chance,
        subkind=candidate.subkind,
        askable=candidate.askable,
    )


def _separated(labels: Sequence[str], p: Vector, table: Vector) -> tuple[str, ...]:
    marginal = p @ table
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = p * np.where(table > 0, table * np.log2(table / marginal), 0.0).sum(axis=1)
    total = float(parts.sum())
    among = [i for i in np.argsort(-p, kind="stable").tolist() if p[i] >= _SHOWN]
    told = sorted((i for i in among if parts[i] >= _PART * total), key=lambda i: -parts[i])[:6]
    more = [i for i in among if i not in told]
    while len(told) < 2 and more:
        told.append(more.pop(0))
    return tuple(labels[i] for i in sorted(told, key=lambda i: (-p[i], i)))


def _expected(candidate: Proposal, label: str, row: Vector) -> str:
    best = int(row.argmax())
    return f"{candidate.expected.get(label) or candidate.answers[best]} ({row[best]:.2f})"


def _shifts(labels: Sequence[str], p: Vector, candidate: Proposal, table: Vector) -> tuple[Shift, ...]:
    now, found = int(p.argmax()), []
    for a, answer in enumerate(candidate.answers):
        chance, after = posterior(p, table, a)
        if chance > 0:
            lead = int(after.argmax())
            found.append(
                Shift(
                    answer=answer,
                    probability=chance,
                    leader=labels[lead],
                    before=float(p[lead]),
                    after=float(after[lead]),
                    changes=lead != now,
                )
            )
    return tuple(found)
