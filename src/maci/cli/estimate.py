"""``maci debate --dry-run``: what a debate would cost, found by rehearsing it with stand-ins. Nothing is sent."""

from __future__ import annotations

import asyncio
import json as jsonlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace

import typer

from maci.cases.case import Case
from maci.cli.rehearsal import SENTENCE, StandIns
from maci.cli.seating import seat_case
from maci.config import Budget, Config, unplanned
from maci.debating.loop import debate
from maci.evidence.span import estimate_tokens
from maci.llm.usage import dollars
from maci.seating.seating import Choice, Seated, open_house
from maci.story import Story
from maci.story.words import plural

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
class Opening:
    """One agent's opening."""

    agent: str
    expected: Cost = field(default_factory=Cost)
    most: Cost = field(default_factory=Cost)
    """What is set aside for it before it goes out."""


@dataclass(slots=True)
class Round:
    """One round; the openings are round 0."""

    round: int
    calls: int = 0
    """To models."""
    expected: Cost = field(default_factory=Cost)
    so_far: Cost = field(default_factory=Cost)


@dataclass(slots=True, kw_only=True)
class Estimate:
    """What a debate would cost."""

    agents: list[Who]
    judges: list[Who]
    spans: int = 0
    evidence_tokens: int = 0
    openings: list[Opening] = field(default_factory=list)
    rounds: list[Round] = field(default_factory=list)
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


def run(case: Case, choice: Choice, *, json: bool) -> None:
    """Estimate, and print it."""
    found = asyncio.run(estimate(case, choice))
    if json:
        typer.echo(jsonlib.dumps(asdict(found), ensure_ascii=False))
        return
    for line in _page(found):
        typer.echo(line)


async def estimate(case: Case, choice: Choice) -> Estimate:
    """Rehearse a debate and count; then once more under its ceilings, to see how far they reach."""
    panel, config = choice.settled()
    if isinstance(panel, str):
        return await _rehearsed(case, choice, config, None)
    keyless = {name: spec.model_copy(update={"key_env": None}) for name, spec in panel.models.items()}
    house = open_house(panel.model_copy(update={"models": keyless}), replace(choice, no_cache=True))
    try:
        return await _rehearsed(case, choice, config, StandIns(house, case.outcomes.labels))
    finally:
        await house.aclose()


async def _rehearsed(case: Case, choice: Choice, config: Config, models: StandIns | None) -> Estimate:
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


async def _count(seated: Seated, found: Estimate, config: Config) -> None:
    """Play the debate with nothing but the last round to end it and every argument admitted."""
    unlimited = config.budget.model_copy(update={"tokens": 10**12, "usd": None, "seconds": None})
    story = await _story(seated, _endless(config, unlimited))
    found.spans = len(story.retrieved)
    found.evidence_tokens = sum(estimate_tokens(story.spans[id].text) for id in story.retrieved)
    openings = {opening.agent: opening for opening in found.openings}
    for sent in story.rounds[0].sent:
        openings[sent.who].most.add(sent.tokens, None if found.unpriced else sent.usd)
    total, played = Cost(), sorted({call.round for call in story.calls})
    for row in (Round(number, calls=len(story.rounds[number].sent)) for number in played):
        for call in (call for call in story.calls if call.round == row.round):
            used = (call.usage.tokens, None if found.unpriced else call.usage.usd)
            row.expected.add(*used)
            if row.round == 0:
                openings[call.who].expected.add(*used)
        total.add(row.expected.tokens, row.expected.usd)
        row.so_far = replace(total)
        found.rounds.append(row)


async def _story(seated: Seated, config: Config) -> Story:
    return Story.of([event async for event in debate(replace(seated.opened, config=config), seated.table)])


def _exceeds(most: Cost, ceiling: Cost) -> bool:
    dear = most.usd is not None and ceiling.usd is not None and most.usd > ceiling.usd
    return most.tokens > ceiling.tokens or dear


def _empty(seated: Seated, config: Config) -> Estimate:
    opened, stop = seated.opened, config.stop
    seats = [seat for part in ("agents", "judges") for seat in (opened.table or {}).get(part, ())]
    models = {seat["name"]: seat["model"] for seat in seats}
    told = ["every argument admitted"]
    if seats:
        told = _assumed(config, len(opened.judges))
    if stop.max_rounds > _LONGEST:
        told.append(f"only {_LONGEST} of at most {stop.max_rounds} rounds were rehearsed")
    return Estimate(
        agents=[Who(seat.name, seat.family, models.get(seat.name, "")) for seat in opened.agents],
        judges=[Who(seat.name, seat.family, models.get(seat.name, "")) for seat in opened.judges],
        openings=[Opening(seat.name) for seat in opened.agents],
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


def _page(found: Estimate) -> Iterator[str]:
    yield "Nothing was sent. At the table:"
    for part, seats in (("agent", found.agents), ("judge", found.judges)):
        for seat in seats:
            model = f" ({seat.model})" if seat.model not in ("", seat.name) else ""
            yield f"  {part} {seat.name}{model}, family {seat.family}"
    if not found.judges:
        yield "  no judges (CRIT-free)"
    yield f"Evidence: {plural(found.spans, 'piece')}, about {found.evidence_tokens:,} tokens"
    yield "Openings (at most: what is set aside before the call goes out):"
    for opening in found.openings:
        most = f"; at most {opening.most}" if opening.most.tokens else ""
        over = ", more than the ceiling: it may get no answer" if opening.agent in found.beyond else ""
        yield f"  {opening.agent}: {opening.expected}{most}{over}"
    yield "Expected:"
    for row in found.rounds:
        name = "openings" if row.round == 0 else f"round {row.round}"
        yield f"  {name:<9} {row.calls:>3} {'call ' if row.calls == 1 else 'calls'}  {row.expected}; so far {row.so_far}"
    yield from _verdict(found)
    if found.unpriced:
        yield f"No price is known for {', '.join(found.unpriced)}: give one in a panels file (models: NAME: price:)"
    yield "Assumed: " + "; ".join(found.assumptions)


def _verdict(found: Estimate) -> Iterator[str]:
    last = found.rounds[-1]
    least = next((row for row in found.rounds if row.round == found.min_rounds), last)
    yield f"In all: {least.so_far} if it ends after {plural(least.round, 'round')}, {last.so_far} after {last.round}"
    ceiling = f"{found.ceiling.tokens:,} tokens" + (
        "" if found.ceiling.usd is None else f", {dollars(found.ceiling.usd)}"
    )
    if found.rounds_within is None:
        yield f"The ceiling ({ceiling}) does not reach for one opening: raise --budget-tokens or --budget-usd"
    elif found.rounds_within == 0:
        yield f"The ceiling ({ceiling}) reaches for openings only; the debate then ends with their mixture"
    elif found.rounds_within < last.round:
        rounds = plural(found.rounds_within, "round")
        yield f"The ceiling ({ceiling}) reaches for about {rounds}; the debate then ends with its best answer"
    else:
        yield f"The ceiling ({ceiling}) reaches for all of it"
