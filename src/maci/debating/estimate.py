"""Estimates what a debate would cost by rehearsing it with stand-ins for its models. Nothing is sent.

The stand-ins (:class:`StandIns`) write filler in the form they are asked for, and :func:`estimate` counts the tokens.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from json import dumps
from random import Random
from typing import Any

from maci.cases.case import Case
from maci.config import Budget, Config, unplanned
from maci.debating.loop import debate
from maci.evidence.span import estimate_tokens
from maci.llm.client import Client
from maci.llm.fake import FakeModel
from maci.llm.model import Reply, Request, Token
from maci.llm.models import House
from maci.llm.usage import Usage, dollars
from maci.seating.models import Models
from maci.seating.seating import PanelChoice, Seated, seat_case
from maci.seating.spec import PanelSpec
from maci.story import Story

SENTENCE = 100
"""Characters of a claim, a reason or a justification."""
_THOUGHT = 4
"""A model that thinks is taken to use one part in so many of its room."""
_WORDS = "what is on record fits this better than it fits anything else that was named, and no piece speaks against it so far; "


class StandIns:
    """The models of a house, each with a stand-in before it: same name, family, price and bounds."""

    def __init__(self, models: Models, labels: Sequence[str]) -> None:
        self._models = models
        self.labels: Sequence[str] = labels
        """What a bare answer may be."""
        self.unpriced: list[str] = []

    def model(self, name: str) -> Client:
        """The stand-in for a model."""
        real = self._models.model(name)
        if real.price is None and name not in self.unpriced:
            self.unpriced.append(name)
        return FakeModel(
            real.name, real.family, partial(self._answer, name), price=real.price, reasoning=real.reasoning
        )

    def _answer(self, name: str, request: Request) -> Reply:
        """Filler, counted as if the model had written it."""
        rng, form = Random(f"{request.seed}/{request.sample}/{name}"), request.schema
        if form is None:
            text = rng.choice(self.labels or ("an outcome", "another outcome"))[: 4 * request.max_tokens]
        else:
            text = dumps(fill(form.json, rng))
        read = sum(estimate_tokens(message.content) for message in request.messages)
        read += 0 if form is None else estimate_tokens(form.text)
        written = estimate_tokens(text) + request.thinking // _THOUGHT
        usage = Usage(prompt=read, generated=min(request.max_tokens, written))
        return Reply(text=text, usage=usage, logprobs=(Token(text, -0.1),) if request.top_logprobs else None)


@asynccontextmanager
async def stand_ins(panel: PanelSpec | str | None, labels: Sequence[str] = ()) -> AsyncIterator[StandIns | None]:
    """Stand-ins for the models of a panel; nothing needs a key. ``None`` where it has no models."""
    if not isinstance(panel, PanelSpec):
        yield None
        return
    keyless = {name: spec.model_copy(update={"key_env": None}) for name, spec in panel.models.items()}
    async with House(cache=None, options=keyless) as house:
        yield StandIns(house, labels)


def fill(schema: Mapping[str, Any], rng: Random, name: str = "") -> Any:
    """Something that follows a schema: two of what there may be several of, sentences of a usual length, whole citations."""
    if "enum" in schema:
        return rng.choice(schema["enum"])
    match schema.get("type"):
        case "object" if name == "belief":
            return _shares(list(schema["properties"]))
        case "object":
            return {key: fill(part, rng, key) for key, part in schema["properties"].items()}
        case "array" if name == "belief":
            return _belief(schema, rng)
        case "array":
            n = max(schema.get("minItems", 0), min(schema.get("maxItems", 2), 2))
            return [fill(schema["items"], rng) for _ in range(n)]
        case "integer" | "number":
            return rng.randint(schema.get("minimum", 0), schema.get("maximum", 100))
        case "boolean":
            return False
        case _:
            if name == "quote":
                return ""
            start, size = rng.randrange(len(_WORDS)), min(SENTENCE, schema.get("maxLength", SENTENCE))
            return f"{rng.randrange(10**6)} {(_WORDS * 3)[start:].strip()}"[:size]


def _belief(schema: Mapping[str, Any], rng: Random) -> list[dict[str, Any]]:
    known = schema["items"]["properties"]["outcome"].get("enum") or ["an outcome", "another outcome"]
    labels = rng.sample(known, min(len(known), schema.get("maxItems", len(known))))
    return [{"outcome": label, "percent": share} for label, share in _shares(labels).items()]


def _shares(labels: Sequence[str]) -> dict[str, int]:
    share, rest = divmod(100, len(labels))
    return {label: share + (rest if not number else 0) for number, label in enumerate(labels)}


_LONGEST = 12
"""Rounds that are rehearsed at most."""


@dataclass(slots=True)
class Cost:
    """Tokens, and dollars where every price is known."""

    tokens: int = 0
    usd: float | None = 0.0

    def add(self, tokens: int, usd: float | None) -> None:
        """Count more."""
        self.tokens += tokens
        self.usd = None if self.usd is None or usd is None else self.usd + usd

    def times(self, number: float) -> Cost:
        """The cost of so many."""
        return Cost(round(self.tokens * number), None if self.usd is None else self.usd * number)

    def plus(self, other: Cost) -> Cost:
        """The two together."""
        return Cost(self.tokens + other.tokens, None if self.usd is None or other.usd is None else self.usd + other.usd)

    def __str__(self) -> str:
        return f"{self.tokens:,} tokens" + (
            "" if self.usd is None else f", {dollars(self.usd)}" if self.usd else ", free"
        )


@dataclass(frozen=True, slots=True)
class Who:
    """Somebody at the table."""

    name: str
    family: str
    model: str = ""


@dataclass(slots=True)
class OpeningCost:
    """One agent's opening."""

    agent: str
    expected: Cost = field(default_factory=Cost)
    most: Cost = field(default_factory=Cost)
    """What is set aside for it before it goes out."""


@dataclass(slots=True)
class RoundCost:
    """One round; the openings are round 0."""

    round: int
    calls: int = 0
    """To models."""
    expected: Cost = field(default_factory=Cost)
    so_far: Cost = field(default_factory=Cost)


@dataclass(slots=True, kw_only=True)
class CostEstimate:
    """What a debate would cost."""

    agents: list[Who]
    judges: list[Who]
    spans: int = 0
    evidence_tokens: int = 0
    openings: list[OpeningCost] = field(default_factory=list)
    rounds: list[RoundCost] = field(default_factory=list)
    recommendation: Cost = field(default_factory=Cost)
    """The one call after the last round; nothing where no model writes it."""
    min_rounds: int
    max_rounds: int
    ceiling: Cost
    """``usd`` is ``None`` where there is no ceiling in dollars."""
    rounds_within: int | None = None
    """Rounds the ceilings reach for; ``None``: not even for the openings."""
    beyond: list[str] = field(default_factory=list)
    """Agents whose opening alone may cost more than a ceiling allows."""
    unpriced: list[str] = field(default_factory=list)
    assumptions: list[str] = field(default_factory=list)


async def estimate(case: Case, choice: PanelChoice) -> CostEstimate:
    """Rehearse a debate and count; then once more under its ceilings, to see how far they reach."""
    panel, config = choice.settled()
    async with stand_ins(panel, case.outcomes.labels) as models:
        return await _rehearsed(case, choice, config, models)


async def price(cases: Sequence[Case], choice: PanelChoice, few: int = 3) -> tuple[Cost, Cost]:
    """What debates of all these cases would cost if each ends as early and as late as it may, from a few of them."""
    picked = cases[:: -(-len(cases) // few)]
    least, most = Cost(), Cost()
    for case in picked:
        found = await estimate(case, choice)
        for total, row in zip((least, most), totals(found), strict=True):
            total.add(min(row.so_far.tokens, found.ceiling.tokens), row.so_far.usd)
    return least.times(len(cases) / len(picked)), most.times(len(cases) / len(picked))


def totals(found: CostEstimate) -> tuple[RoundCost, RoundCost]:
    """The first and the last round after which the debate may end; ``so_far`` is then all of it, with the recommendation."""
    last = found.rounds[-1]
    first = next((row for row in found.rounds if row.round == found.min_rounds), last)
    few, most = (replace(row, so_far=row.so_far.plus(found.recommendation)) for row in (first, last))
    return few, most


async def _rehearsed(case: Case, choice: PanelChoice, config: Config, models: StandIns | None) -> CostEstimate:
    seated = seat_case(case, choice, models)
    found = _empty(seated, config)
    found.unpriced = [] if models is None else models.unpriced
    await _count(seated, found, config)
    found.beyond = [opening.agent for opening in found.openings if _exceeds(opening.most, found.ceiling)]
    again = seat_case(case, choice, models)  # stand-ins learn what prompts cost; these have learnt nothing yet
    result = (await _story(again, _endless(config, config.budget))).result
    if result is not None and result.answer is not None:
        found.rounds_within = result.rounds
    return found


async def _count(seated: Seated, found: CostEstimate, config: Config) -> None:
    """Play the debate with nothing but the last round to end it and every argument admitted."""
    unlimited = config.budget.model_copy(update={"tokens": 10**12, "usd": None, "seconds": None})
    story = await _story(seated, _endless(config, unlimited))
    found.spans = len(story.retrieved)
    found.evidence_tokens = sum(estimate_tokens(story.spans[id].text) for id in story.retrieved)
    openings = {opening.agent: opening for opening in found.openings}
    for sent in story.rounds[0].sent:
        openings[sent.who].most.add(sent.tokens, None if found.unpriced else sent.usd)
    total, played = Cost(), sorted({call.round for call in story.calls})
    for row in (RoundCost(number, calls=_rounds_own(story, number)) for number in played):
        for call in (call for call in story.calls if call.round == row.round):
            used = (call.usage.tokens, None if found.unpriced else call.usage.usd)
            if call.kind == "recommend":
                found.recommendation.add(*used)
                continue
            row.expected.add(*used)
            if row.round == 0:
                openings[call.who].expected.add(*used)
        total.add(row.expected.tokens, row.expected.usd)
        row.so_far = replace(total)
        found.rounds.append(row)


def _rounds_own(story: Story, number: int) -> int:
    """Calls of a round, without the one that sums the debate up after the last."""
    return sum(call.kind != "recommend" for call in story.rounds[number].sent)


async def _story(seated: Seated, config: Config) -> Story:
    return Story.of([event async for event in debate(replace(seated.opened, config=config), seated.table)])


def _exceeds(most: Cost, ceiling: Cost) -> bool:
    dear = most.usd is not None and ceiling.usd is not None and most.usd > ceiling.usd
    return most.tokens > ceiling.tokens or dear


def _empty(seated: Seated, config: Config) -> CostEstimate:
    opened, stop = seated.opened, config.stop
    seats = [seat for part in ("agents", "judges") for seat in (opened.table or {}).get(part, ())]
    models = {seat["name"]: seat["model"] for seat in seats}
    told = ["every argument admitted"]
    if seats:
        told = _assumed(config, len(opened.judges))
    if stop.max_rounds > _LONGEST:
        told.append(f"only {_LONGEST} of at most {stop.max_rounds} rounds were rehearsed")
    return CostEstimate(
        agents=[Who(seat.name, seat.family, models.get(seat.name, "")) for seat in opened.agents],
        judges=[Who(seat.name, seat.family, models.get(seat.name, "")) for seat in opened.judges],
        openings=[OpeningCost(seat.name) for seat in opened.agents],
        min_rounds=stop.min_rounds,
        max_rounds=stop.max_rounds,
        ceiling=Cost(config.budget.tokens, config.budget.usd),
        assumptions=told,
    )


def _assumed(config: Config, judges: int) -> list[str]:
    return [
        f"{config.agents.arguments} arguments a turn, all admitted, each citing two pieces",
        f"about {SENTENCE} characters for a claim, a reason or a justification",
        f"{max(config.crit.k, judges)} scores for each argument" if judges else "no scores",
        f"a model that thinks uses 1/{_THOUGHT} of the room it has for it",
        "no attempt repeated, nothing from the response cache, no discount for what a provider has cached",
    ]


def _endless(config: Config, budget: Budget) -> Config:
    """The settings with only ``max_rounds`` and a budget to end the debate, and nothing rejected."""
    last = min(config.stop.max_rounds, _LONGEST)
    stop = {"consensus": False, "crit_stable": False, "impasse": False, "tau_stop": 100}
    stop |= {"max_rounds": last, "min_rounds": min(config.stop.min_rounds, last)}
    return unplanned(config).model_copy(
        update={
            "stop": config.stop.model_copy(update=stop),
            "gate": config.gate.model_copy(update={"q_gate": False, "crit_gate": False}),
            "budget": budget,
        }
    )
