"""What a debate on record taught its schedule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from maci.config import LEARNED, Config
from maci.controller.bandit import Lesson
from maci.controller.inputs import Opened
from maci.controller.learning import arms_of, lessons
from maci.errors import InputError
from maci.record.events import Event
from maci.record.replay import replay

__all__ = ["Report", "report", "task_name", "terms"]


def terms(config: Config) -> str:
    """What rewards are made of. Lessons under other terms are other lessons.

    >>> terms(Config())
    'w₁=0.5 w₂=0.5 λ_c=0.1 C_max=dearest'
    """
    own, c_max = config.bandit, config.regime.c_max
    most = f"{c_max:g}" if c_max else "dearest"
    return f"w₁={own.w_gain:g} w₂={own.w_drop:g} λ_c={own.cost_weight:g} C_max={most}"


def task_name(opened: Opened) -> str:
    """What a task is called unless somebody names it: who debates, and over what kind of outcomes."""
    panel = opened.panel
    if not panel or panel.startswith("--"):
        panel = "+".join(seat.name for seat in opened.agents)
    return f"{panel}/{opened.case.outcomes.kind}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The lessons of one debate."""

    task: str
    debate: str
    """Under which they are entered, once."""
    schedule: str
    terms: str
    lessons: tuple[Lesson, ...]


def report(events: Sequence[Event]) -> Report:
    """The lessons of a debate, from its record; every number of the record is computed again on the way."""
    state = replay(events).state
    opened = state.opened
    if opened.config.dials.schedule not in LEARNED:
        raise InputError(
            f"this debate's schedule is {opened.config.dials.schedule!r}, which learns nothing: "
            f"debate with --set schedule={LEARNED[0]}"
        )
    if opened.learned is None:
        raise InputError(
            "this debate was not opened for a task (`maci debate` does it), so it has no name to enter it under"
        )
    return Report(
        task=opened.learned.task,
        debate=opened.learned.debate,
        schedule=opened.config.dials.schedule,
        terms=terms(opened.config),
        lessons=lessons(state.history, opened.config, arms_of(opened.learned)),
    )
