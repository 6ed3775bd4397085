"""What the records of an audit's debates hold: turns of rounds 1 and later, and the signals of each round."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from maci.agents.argument import Turn
from maci.controller.dials import Measured
from maci.lab.audit.contentiousness.patterns import Style, spoken, style
from maci.lab.audit.contentiousness.plan import Sitting
from maci.story import Story

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
class Held:
    """One debate of the audit, as far as it went."""

    sitting: Sitting
    rounds: int
    """Rounds that were closed."""
    planned: int
    over: str | None
    """Why it stopped; ``None`` while it is not over."""
    d: tuple[float | None, ...]
    """Disagreement of rounds 1, 2, …"""
    o: tuple[float | None, ...]
    gain: tuple[float, ...]
    """Î"""
    spoken: tuple[Spoken, ...]
    silent: int
    """Turns that failed."""
    written: int
    """Tokens that agents wrote in rounds 1 and later."""

    @property
    def whole(self) -> bool:
        """Whether it went through all its rounds, as every debate that is compared must."""
        return self.rounds >= self.planned and self.over is not None

    @property
    def d_first(self) -> float | None:
        """D⁽¹⁾"""
        return self.d[0] if self.d else None

    @property
    def o_last(self) -> float | None:
        """O of the last round."""
        return self.o[-1] if self.o else None

    @property
    def gain_peak(self) -> float | None:
        """The largest Î of the first rounds, as in the paper's table."""
        return max(self.gain[:EARLY], default=None)


def held(sitting: Sitting, story: Story) -> Held:
    """What an audit looks at in one debate."""
    measured = [r.signals for r in story.rounds if isinstance(r.signals, Measured)]
    later = [(r.number, agent, turn) for r in story.rounds[1:] for agent, turn in r.turns.items()]
    return Held(
        sitting=sitting,
        rounds=len(measured),
        planned=story.opened.config.stop.max_rounds,
        over=None if story.result is None else story.result.stop_reason,
        d=tuple(signals.d for signals in measured),
        o=tuple(signals.o for signals in measured),
        gain=tuple(signals.gain for signals in measured),
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
