"""Stores what debates taught the learned schedules, for every task, shared by debates and processes.

:func:`report` computes the lessons of one debate from its record. :class:`Schedules` is the SQLite file that keeps every lesson under
the debate that taught it. A task's state is the sum over its lessons in a fixed order, so the order in which debates are entered does
not matter, and a debate entered twice counts once. Two processes that enter debates at the same time lose nothing: the file has a
write-ahead log, and each debate is one transaction.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from math import inf
from pathlib import Path
from typing import Annotated, Any, Literal
from uuid import uuid4

import numpy as np
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from maci.config import LEARNED, Config
from maci.controller.bandit import ACTIONS, Arms, Context, Learned, Lesson
from maci.controller.events import Event
from maci.controller.inputs import Opened
from maci.controller.policies import arms_of, lessons
from maci.errors import InputError
from maci.files.sqlite import SqliteFile
from maci.paths import schedules_file
from maci.record.replay import replay


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


def _sound(lesson: Lesson) -> Lesson:
    reward, growth = lesson.reward or 0.0, lesson.growth or 0.0
    if not (0 <= lesson.action < len(ACTIONS) and 0 <= reward <= 1 and 0 <= lesson.cost < inf and 0 <= growth < inf):
        raise ValueError("a lesson has figures that cannot be")
    return lesson


class _Page(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class DebateLessons(_Page):
    """The lessons of one debate."""

    task: str = Field(min_length=1)
    debate: str = Field(min_length=1)
    """Under which they are entered, once."""
    schedule: str
    terms: str
    lessons: tuple[Annotated[Lesson, AfterValidator(_sound)], ...]


class _Export(_Page):
    kind: Literal["maci schedules"] = "maci schedules"
    format: Literal[2] = 2
    actions: tuple[tuple[float, float], ...] = tuple((a.alpha, a.gamma) for a in ACTIONS)
    debates: tuple[DebateLessons, ...]


def report(events: Sequence[Event]) -> DebateLessons:
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
    return DebateLessons(
        task=opened.learned.task,
        debate=opened.learned.debate,
        schedule=opened.config.dials.schedule,
        terms=terms(opened.config),
        lessons=lessons(state.history, opened.config, arms_of(opened.learned)),
    )


_FORMAT = 2
_OUTDATED = (
    "what was learned rests on debates of an earlier version, in which evidence, prompts and judges were counted otherwise: move the "
    "file away; `maci scheduler learn` takes in new transcripts"
)
_TABLES = """
CREATE TABLE IF NOT EXISTS debates (
    task TEXT NOT NULL, debate TEXT NOT NULL, terms TEXT NOT NULL, schedule TEXT NOT NULL, PRIMARY KEY (task, debate)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS lessons (
    task TEXT NOT NULL, debate TEXT NOT NULL, n INTEGER NOT NULL, action INTEGER NOT NULL, context TEXT NOT NULL,
    reward REAL, cost REAL NOT NULL, growth REAL, PRIMARY KEY (task, debate, n)
) WITHOUT ROWID;
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskState:
    """A task's state under one kind of reward."""

    task: str
    terms: str
    debates: int
    arms: Arms


def summed(lessons: Sequence[Lesson]) -> Arms:
    """The state that lessons add up to: all at once, since a task may have very many.

    >>> int(summed([]).pulls.sum())
    0
    """
    arms = Arms.fresh()
    if not lessons:
        return arms
    seen = [one.context for one in lessons]
    known = np.array([(c.d, c.d_change, c.q, c.q_change, c.gain, c.gain_change) for c in seen], float)  # None is nan
    hidden = np.isnan(known)
    ones, left = np.ones((len(lessons), 1)), np.array([[c.budget] for c in seen])
    x = np.hstack([ones, np.where(hidden, 0.0, known), left, hidden])
    action = np.array([one.action for one in lessons])
    reward, cost, growth = np.array([(one.reward, one.cost, one.growth) for one in lessons], float).T
    for k in set(action.tolist()):
        own, told = action == k, (action == k) & ~np.isnan(reward)
        arms.costs[k], arms.cost[k], arms.dearest[k] = own.sum(), cost[own].sum(), cost[own].max()
        arms.growth[k] = np.max(growth[own & ~np.isnan(growth)], initial=0.0)
        arms.pulls[k], arms.reward[k] = told.sum(), reward[told].sum()
        arms.design[k], arms.response[k] = x[told].T @ x[told], reward[told] @ x[told]
    return arms


class Schedules(SqliteFile):
    """The file of states."""

    def __init__(self, path: Path | None = None) -> None:
        where = path or schedules_file()
        super().__init__(
            where,
            _TABLES,
            _FORMAT,
            name=f"what schedules learned, {where},",
            elsewhere="point MACI_STATE at another folder",
            outdated=_OUTDATED,
            steps={"damaged": "it is damaged: move it away (`maci scheduler learn` reads transcripts in again)"},
            synchronous="FULL",
        )

    # --- for debates ------------------------------------------------------------------------------------------------------------

    def snapshot(self, task: str, terms: str, *, contexts: bool = True, debate: str | None = None) -> Learned:
        """What a new debate of a task starts from; ``contexts`` is what only ``linucb`` needs."""
        state = self.state(task, terms)
        return Learned(
            task=task,
            debate=debate or uuid4().hex,
            debates=state.debates,
            arms=state.arms.records(contexts=contexts),
        )

    def enter(self, report: DebateLessons) -> bool:
        """Keep what a debate taught; false where it was entered before."""
        return self._enter([report]) == 1

    # --- for people -------------------------------------------------------------------------------------------------------------

    def state(self, task: str, terms: str, *, without: Iterable[str] = ()) -> TaskState:
        """A task's state under one kind of reward, as if some debates had never been."""
        left_out = set(without)
        rows = self.do(
            "SELECT l.debate, action, context, reward, cost, growth FROM lessons l JOIN debates d USING (task, debate) "
            "WHERE task = ? AND terms = ? ORDER BY l.debate, n",
            (task, terms),
        )
        debates = self.do("SELECT debate FROM debates WHERE task = ? AND terms = ?", (task, terms))
        arms = summed(_lessons([row[1:] for row in rows if row[0] not in left_out]))
        count = sum(debate not in left_out for (debate,) in debates)
        return TaskState(task=task, terms=terms, debates=count, arms=arms)

    def tasks(self) -> list[tuple[str, str, int]]:
        """Every task with its kinds of rewards and how many debates each rests on."""
        return self.do("SELECT task, terms, count(*) FROM debates GROUP BY task, terms ORDER BY task, terms")

    def reset(self, task: str) -> int:
        """Forget a task; how many debates were forgotten."""
        with self.transaction():
            self.do("DELETE FROM lessons WHERE task = ?", (task,))
            return len(self.do("DELETE FROM debates WHERE task = ? RETURNING 1", (task,)))

    def export(self, task: str | None = None) -> str:
        """Everything, or a task's part, as JSON that :meth:`bring` reads."""
        pages = []
        for name, debate, terms, schedule in self.do(
            "SELECT task, debate, terms, schedule FROM debates WHERE ? IS NULL OR task = ? ORDER BY task, debate",
            (task, task),
        ):
            rows = self.do(
                "SELECT action, context, reward, cost, growth FROM lessons WHERE task = ? AND debate = ? ORDER BY n",
                (name, debate),
            )
            own = {"task": name, "debate": debate, "terms": terms, "schedule": schedule}
            pages.append(DebateLessons(**own, lessons=tuple(_lessons(rows))))
        return _Export(debates=tuple(pages)).model_dump_json(indent=1)

    def bring(self, text: str, where: str) -> tuple[int, int]:
        """Take in what :meth:`export` wrote; (debates that are new, debates that were known)."""
        try:
            pages = _Export.model_validate_json(text)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"])) or "the file"
            if place == "format" and first["input"] == 1:
                raise InputError(
                    f"{where} has format 1, and this version of maci reads format {_FORMAT}: {_OUTDATED}"
                ) from error
            raise InputError(
                f"{where} is no export of `maci scheduler export`: {place}: {first['msg'].lower()}"
            ) from error
        if pages.actions != _Export(debates=()).actions:
            raise InputError(f"{where} is about other actions than this MACI's: it cannot be taken in")
        new = self._enter(pages.debates)
        return new, len(pages.debates) - new

    # --- the file -----------------------------------------------------------------------------------------------------------------

    def _enter(self, reports: Sequence[DebateLessons]) -> int:
        new = 0
        with self.transaction():
            for one in reports:
                values = (one.task, one.debate, one.terms, one.schedule)
                if not self.do("INSERT OR IGNORE INTO debates VALUES (?,?,?,?) RETURNING 1", values):
                    continue
                new += 1
                for n, lesson in enumerate(one.lessons):
                    context = json.dumps(asdict(lesson.context))
                    row = (one.task, one.debate, n, lesson.action, context, lesson.reward, lesson.cost, lesson.growth)
                    self.do("INSERT INTO lessons VALUES (?,?,?,?,?,?,?,?)", row)
        return new


def _lessons(rows: Sequence[tuple[Any, ...]]) -> list[Lesson]:
    """Of rows of action, context, reward, cost and growth; contexts are read at once."""
    contexts = json.loads(f"[{','.join(row[1] for row in rows)}]")
    return [
        Lesson(action=action, context=Context(**seen), reward=reward, cost=cost, growth=growth)
        for (action, _, reward, cost, growth), seen in zip(rows, contexts, strict=True)
    ]
