"""Who answers in bench_general.py with a local model: alone, in a vote, in a debate of two.

=========  ==================================================================================================================
``alone``  one opening
``vote5``  five openings with other seeds; the most frequent answer, its share of the votes as its probability
``equal``  as many openings as the debate (``two``) of the same case took turns: the model alone at equal compute
``two``    two seats of the model, the reader judges, at most three rounds, no questions to anybody
``kin``    the same two seats, a third copy of the model judges
``free``   the same two seats, nobody judges (CRIT-free)
=========  ==================================================================================================================

An opening is the same call for all six, and the response cache makes it once on a machine.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from maci.agents.debater import Debater
from maci.agents.judges.llm import LlmJudge
from maci.cases.case import Case
from maci.controller.decisions import Finished
from maci.controller.inputs import TurnFailed, TurnTaken
from maci.debating.loop import debate
from maci.errors import ModelError
from maci.lab.methods.baselines import SelfConsistency, Single
from maci.lab.methods.method import Bench
from maci.paths import cache_dir
from maci.seating.seating import PanelChoice, Seating
from maci.seating.table import Table

SETTINGS = ("plan.enabled=false", "answer.recommendation=off")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What came of asking a model or two."""

    p: Mapping[str, float]
    withheld: str = ""
    tokens: int = 0
    """Read and written; an opening that the cache gave counts like any other."""
    calls: int = 0


Ask = Callable[[Case, int], Awaitable[Asked | None]]
"""``None``: not yet, because something else has to be asked first."""


def file_name(who: str, options: argparse.Namespace) -> str:
    """Rows of one kind of answer."""
    rounds = f"-{options.rounds}-rounds" if who in LONG and options.rounds != 3 else ""
    return f"{Path(options.file).stem}-{who}-{options.model}{rounds}-{options.half}-{options.seed}.jsonl"


def asked_with(who: str, options: argparse.Namespace) -> str:
    """What a question to a model is made of, beside the case: templates by their hashes, and settings."""
    prompts = [*Debater.prompts, *(LlmJudge.prompts if who == "kin" else ())]
    rounds = options.rounds if who in LONG else 0
    return json.dumps([who, options.model, options.seed, rounds, SETTINGS, [prompt.hash for prompt in prompts]])


def _seating(options: argparse.Namespace, judges: Literal["reader", "kin", "none"] = "reader") -> Seating:
    name = f"local/{options.model}"
    rules = {"reader": (), "kin": ("crit.same_family=true",), "none": ("crit.enabled=false",)}[judges]
    replies = cache_dir() / "bench-general"
    replies.mkdir(parents=True, exist_ok=True)
    return Seating(
        PanelChoice(
            agents=f"{name},{name}",
            judges=name if judges == "kin" else judges,
            sets=(*SETTINGS, f"stop.max_rounds={options.rounds}", f"stop.min_rounds={min(2, options.rounds)}", *rules),
            seed=options.seed,
            cache=replies / "replies.sqlite",
            offline=True,
        )
    )


class _Seats:
    """The same table for every method."""

    def __init__(self, seating: Seating) -> None:
        self._seating = seating

    def table(self, case: Case, *, seed: int = 0) -> Table:
        return self._seating.seat(case).table


def _draws(many: Callable[[Case, Mapping[str, int]], int]) -> Callable[..., AbstractAsyncContextManager[Ask]]:
    """Openings of the first seat, as many as a case has."""

    @asynccontextmanager
    async def who(options: argparse.Namespace) -> AsyncIterator[Ask]:
        seating = _seating(options)
        assert seating.house is not None
        bench = Bench(panel=_Seats(seating), config=seating.config)
        turns = _turns(options.out / file_name("two", options))

        async def answer(case: Case, seed: int) -> Asked | None:
            if not (n := many(case, turns)):
                return None
            found = await (Single() if n == 1 else SelfConsistency(n=n)).answer(case, bench, seed)
            if found.belief is None:
                raise ModelError(found.reason)
            return Asked(p=found.belief, tokens=found.usage.prompt + found.usage.generated, calls=found.calls)

        try:
            yield answer
        finally:
            await seating.house.aclose()

    return who


def _turns(file: Path) -> dict[str, int]:
    """Case → turns its debate took; none before there was one."""
    if not file.exists():
        return {}
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    return {row["id"]: row["calls"] for row in rows if not row["failed"]}


def _two(judges: Literal["reader", "kin", "none"]) -> Callable[..., AbstractAsyncContextManager[Ask]]:
    """A debate of two, scored by those who judge."""

    @asynccontextmanager
    async def who(options: argparse.Namespace) -> AsyncIterator[Ask]:
        seating = _seating(options, judges)
        assert seating.house is not None

        async def answer(case: Case, seed: int) -> Asked:
            assert seed == options.seed
            seated, calls = seating.seat(case), 0
            async for event in debate(seated.opened, seated.table):
                calls += isinstance(event, TurnTaken | TurnFailed)
                if isinstance(event, Finished):
                    if event.answer is None and not event.abstained:
                        raise ModelError(event.detail)
                    withheld = event.abstained or ""
                    return Asked(p=event.distribution, withheld=withheld, tokens=event.tokens, calls=calls)
            raise AssertionError("a debate ends with its result")

        try:
            yield answer
        finally:
            await seating.house.aclose()

    return who


LONG = ("two", "kin", "free", "equal")
"""Who takes longer the more rounds a debate may have."""
MODELS: dict[str, Callable[[argparse.Namespace], AbstractAsyncContextManager[Ask]]] = {
    "alone": _draws(lambda case, turns: 1),
    "vote5": _draws(lambda case, turns: 5),
    "equal": _draws(lambda case, turns: turns.get(case.id, 0)),
    "two": _two("reader"),
    "kin": _two("kin"),
    "free": _two("none"),
}
