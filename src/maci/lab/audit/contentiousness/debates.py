"""The debates of an audit of the dial, planned, held and read: every topic, seed and level, under the same rules and the same ceiling.

The level is fixed (`schedule = fixed`), every debate has the same number of rounds (nothing stops it early), and the dispersion gate is
off: the audit asks what agents do, not what the controller admits. Language models debate a second set, the placebo: the
same debates, with as many words that say nothing about manner in place of the stance.

:func:`play` writes each debate to disk as it runs, skips those that are complete and resumes those that were interrupted. :func:`held`
reads what an audit looks at: the turns of rounds 1 and later, and the signals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, product
from pathlib import Path
from typing import Any

from maci.agents.argument import Turn
from maci.agents.contentiousness import Words
from maci.cases.case import Case, builtin_cases, load_case
from maci.controller.decisions import Finished
from maci.controller.dials import Measured
from maci.controller.events import Event
from maci.controller.inputs import Opened
from maci.debating.loop import debate
from maci.errors import EnvironmentError_, InputError
from maci.lab import side_by_side
from maci.lab.audit.contentiousness.patterns import Style, spoken, style
from maci.paths import slug
from maci.record.transcript import Transcript, read
from maci.seating.table import Table
from maci.story import Story

LEVELS = (0.9, 0.7, 0.5, 0.3, 0.1)
"""The paper's five (SPEC 8)."""
TOPICS = ("dengue", "hepatitis", "vague-fatigue", "vague-cough", "lupus")
"""Built-in cases of five kinds of illness; the paper has five topics too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sitting:
    """One debate of the audit."""

    topic: str
    seed: int
    level: float
    words: Words = "stance"

    @property
    def place(self) -> str:
        """Its folder.

        >>> Sitting(topic="dengue", seed=0, level=0.9).place
        'dengue/seed-0/stance-0.9'
        """
        return f"{self.topic}/seed-{self.seed}/{self.words}-{self.level:g}"

    @property
    def block(self) -> tuple[str, int]:
        """What is the same for all levels: topic and seed."""
        return self.topic, self.seed


@dataclass(frozen=True, slots=True, kw_only=True)
class DialPlan:
    """The whole audit."""

    topics: dict[str, Case]
    levels: tuple[float, ...] = LEVELS
    seeds: int = 3
    rounds: int = 3
    placebo: bool = True
    """Whether there is anyone at the table whom words could move."""
    tokens: int | None = None
    """Most tokens of all debates together: each may use the same share."""
    first_seed: int = 0

    def __post_init__(self) -> None:
        if len(self.levels) < 2 or len(set(self.levels)) < len(self.levels):
            listed = ",".join(f"{level:g}" for level in self.levels)
            raise InputError(f"--levels {listed}: name at least two different ones, such as 0.9,0.5,0.1")
        if wrong := [level for level in self.levels if not 0 <= level <= 1]:
            raise InputError(f"--levels: {wrong[0]:g} is not between 0 and 1")

    @property
    def sittings(self) -> tuple[Sitting, ...]:
        """Every debate, those of one topic and seed in a row: their openings are the same calls."""
        arms: tuple[Words, ...] = ("stance", "placebo") if self.placebo else ("stance",)
        seeds = range(self.first_seed, self.first_seed + self.seeds)
        return tuple(
            Sitting(topic=topic, seed=seed, level=level, words=words)
            for seed, topic, words, level in product(seeds, self.topics, arms, self.levels)
        )

    @property
    def share(self) -> int | None:
        """Most tokens of one debate."""
        return None if self.tokens is None else self.tokens // len(self.sittings)

    def settings(self, sitting: Sitting) -> dict[str, Any]:
        """What is set for one debate, by full keys."""
        ceiling = {} if self.share is None else {"budget.tokens": self.share}
        return {
            "dials.schedule": "fixed",
            "dials.cl_fixed": sitting.level,
            "stop.min_rounds": self.rounds,
            "stop.max_rounds": self.rounds,
            "dispersion.gate": "off",
            "agents.tone": sitting.words,
            "answer.recommendation": "off",
            **ceiling,
        }


def topics_of(names: Sequence[str]) -> dict[str, Case]:
    """Cases by a name that can be a folder's; the built-in topics where none is named.

    >>> list(topics_of(["dengue"]))
    ['dengue']
    """
    found: dict[str, Case] = {}
    built_in = builtin_cases()
    for name in names or TOPICS:
        case = built_in[name] if name in built_in else load_case(name)
        folder = slug(case.id or case.title or case.question)
        if folder in found:
            raise InputError(
                f"--topics: {name} is called {folder} like one before it: give each case an `id` of its own"
            )
        found[folder] = case
    return found


Seating = Callable[[Sitting], tuple[Opened, Table]]
"""Sets the table of one debate."""
Watch = Callable[[Sitting, Event], object]
"""Told of every event."""


def recorded(folder: Path, sittings: Sequence[Sitting]) -> Iterator[tuple[Sitting, Sequence[Event]]]:
    """What is on disk of these debates, whole or not, in their order."""
    for sitting in sittings:
        path = folder / sitting.place / "transcript.jsonl"
        if path.exists():
            yield sitting, read(path).events


async def play(
    sittings: Sequence[Sitting], seat: Seating, folder: Path, *, at_once: int = 1, watch: Watch = lambda s, e: None
) -> None:
    """Hold every debate that is not on disk yet.

    Debates of one topic and seed follow one another, so that the openings they share are asked for once; ``at_once`` such rows
    run side by side.
    """

    async def row(some: Sequence[Sitting]) -> None:
        for sitting in some:
            await _hold(sitting, seat, folder, watch)

    await side_by_side(row, [list(some) for _, some in groupby(sittings, key=lambda s: s.block)], at_once)


async def _hold(sitting: Sitting, seat: Seating, folder: Path, watch: Watch) -> None:
    path = folder / sitting.place / "transcript.jsonl"
    before: Sequence[Event] = read(path).events if path.exists() else ()
    last: Event | None = before[-1] if before else None
    if isinstance(last, Finished):
        watch(sitting, last)
        return
    opened, table = seat(sitting)
    if before:
        transcript, recording = Transcript.resume(path)
        before = recording.events
    else:
        transcript = Transcript.create(path)
    with transcript:
        if before:
            if _rules(recording.opened) != _rules(opened):
                raise InputError(
                    f"{path.parent} holds a debate of another audit (other agents, settings or case): name another folder with --out"
                )
            opened = recording.opened
        async for last in debate(opened, table, record=transcript, recorded=before):
            watch(sitting, last)
    if not isinstance(last, Finished):
        raise EnvironmentError_(f"the debate in {path.parent} broke off; the same command continues it")


def _rules(opened: Opened) -> tuple[object, ...]:
    """What a debate is held under."""
    return opened.case, opened.config, opened.agents, opened.judges, opened.seed


EARLY = 3
"""Rounds, from the first, among which the largest Î is looked for."""


def early(rounds: int) -> str:
    """What those rounds are called in debates of so many.

    >>> early(1), early(2), early(8)
    ('round 1', 'rounds 1–2', 'rounds 1–3')
    """
    return "round 1" if rounds == 1 else f"rounds 1–{min(rounds, EARLY)}"


def speaks(family: str) -> bool:
    """Whether agents of a family have wording of their own; readers fill in sentences that were written for them.

    >>> speaks("qwen"), speaks("reader-lexical")
    (True, False)
    """
    return not family.startswith("reader")


@dataclass(frozen=True, slots=True)
class Spoken:
    """One turn of a language model."""

    sitting: Sitting
    agent: str
    round: int
    text: str
    style: Style


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldDebate:
    """One debate of the audit, as far as it went."""

    sitting: Sitting
    rounds: int
    """Rounds that were closed."""
    planned: int
    over: str | None
    """Why it stopped; ``None`` while it is not over."""
    d: float | None
    """Disagreement D⁽¹⁾ of round 1."""
    o: float | None
    """Overlap O of the last round."""
    gain: float | None
    """The largest Î of the first rounds, as in the paper's table."""
    spoken: tuple[Spoken, ...]
    silent: int
    """Turns that failed."""
    written: int
    """Tokens that agents wrote in rounds 1 and later."""

    @property
    def whole(self) -> bool:
        """Whether it went through all its rounds, as every debate that is compared must."""
        return self.rounds >= self.planned and self.over is not None


def held(sitting: Sitting, story: Story) -> HeldDebate:
    """What an audit looks at in one debate."""
    measured = [r.signals for r in story.rounds if isinstance(r.signals, Measured)]
    later = [(r.number, agent, turn) for r in story.rounds[1:] for agent, turn in r.turns.items()]
    return HeldDebate(
        sitting=sitting,
        rounds=len(measured),
        planned=story.opened.config.stop.max_rounds,
        over=None if story.result is None else story.result.stop_reason,
        d=measured[0].d if measured else None,
        o=measured[-1].o if measured else None,
        gain=max((signals.gain for signals in measured[:EARLY]), default=None),
        spoken=tuple(_spoken(sitting, story, later)),
        silent=sum(call.kind == "turn" and bool(call.failed) for call in story.calls),
        written=sum(turn.usage.generated for _, _, turn in later),
    )


def _spoken(sitting: Sitting, story: Story, turns: Iterable[tuple[int, str, Turn]]) -> Iterable[Spoken]:
    models = {seat.name for seat in story.opened.agents if speaks(seat.family)}
    for number, agent, turn in turns:
        text = spoken(turn)
        found = style(text, sum(len(argument.citations) for argument in turn.arguments))
        if agent in models and found is not None:
            yield Spoken(sitting, agent, number, text, found)
