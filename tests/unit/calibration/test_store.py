"""States of tasks in one file: entered in any order, twice or at once, they come to the same."""

from __future__ import annotations

import asyncio
import itertools
import json
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from helpers import judge, open_debate, script, seat, settings, turn
from maci.calibration.schedules import DebateLessons, Schedules, report, summed, terms
from maci.controller.bandit import Arms, Context, Lesson
from maci.debating.loop import debate
from maci.errors import EnvironmentError_, InputError, MaciError
from maci.paths import schedules_file

TERMS = "w"


def lesson(action: int, reward: float | None, cost: float = 100, d: float | None = 0.5) -> Lesson:
    seen = Context(d=d, d_change=None, q=0.7, q_change=0.1, gain=0.2, gain_change=-0.1, budget=0.9)
    return Lesson(action=action, context=seen, reward=reward, cost=cost, growth=1.5)


def told(debate: str, *lessons: Lesson, task: str = "t", kind: str = TERMS) -> DebateLessons:
    return DebateLessons(task=task, debate=debate, schedule="ucb", terms=kind, lessons=lessons)


REPORTS = [
    told("a", lesson(0, 0.1), lesson(3, 0.7)),
    told("b", lesson(3, 0.2, 300, None)),
    told("c", lesson(8, None, 50), lesson(0, 0.3)),
]


def states_equal(one: Arms, two: Arms) -> bool:
    names = ("pulls", "reward", "costs", "cost", "dearest", "growth", "design", "response")
    return all(np.array_equal(getattr(one, name), getattr(two, name)) for name in names)


def test_sums_by_hand() -> None:
    arms = summed([one for report in REPORTS for one in report.lessons])
    assert arms.pulls.tolist() == [2, 0, 0, 2, 0, 0, 0, 0, 0]
    assert arms.reward[[0, 3]].tolist() == pytest.approx([0.4, 0.9])
    assert (arms.costs[8], arms.cost[8], arms.growth[8]) == (1, 50, 1.5)
    assert (arms.dearest[3], arms.cost[3]) == (300, 400)
    assert arms.response[3][0] == pytest.approx(0.9)  # Σ r · 1
    assert arms.design[3][0][0] == 2


def test_sums_are_what_learning_one_by_one_gives() -> None:
    lessons = [one for report in REPORTS for one in report.lessons]
    arms = Arms.fresh()
    for one in lessons:
        arms = arms.taught(one)
    for name in ("pulls", "reward", "costs", "cost", "dearest", "growth", "design", "response"):
        assert np.allclose(getattr(arms, name), getattr(summed(lessons), name)), name


def test_the_order_of_entering_does_not_matter_and_twice_is_once(tmp_path: Path) -> None:
    states = []
    for n, order in enumerate(itertools.permutations(REPORTS)):
        with Schedules(tmp_path / f"{n}.sqlite") as known:
            assert [known.enter(one) for one in (*order, *order)] == [True] * 3 + [False] * 3
            states.append(known.state("t", TERMS))
    assert all(state.debates == 3 and states_equal(state.arms, states[0].arms) for state in states)


def test_a_snapshot_rests_on_its_task_and_its_kind_of_reward(tmp_path: Path) -> None:
    with Schedules(tmp_path / "s.sqlite") as known:
        known.enter(REPORTS[0])
        known.enter(told("x", lesson(5, 1.0), task="other"))
        known.enter(told("y", lesson(5, 1.0), kind="other weights"))
        snapshot = known.snapshot("t", TERMS)
        assert (snapshot.debates, sum(arm.pulls for arm in snapshot.arms)) == (1, 2)
        assert snapshot.debate != known.snapshot("t", TERMS).debate
        assert known.snapshot("t", TERMS, debate="mine").debate == "mine"
        assert not any(arm.design for arm in known.snapshot("t", TERMS, contexts=False).arms)
        assert known.snapshot("nobody", TERMS).debates == 0


def test_debates_can_be_left_out(tmp_path: Path) -> None:
    with Schedules(tmp_path / "s.sqlite") as known:
        for one in REPORTS:
            known.enter(one)
        state = known.state("t", TERMS, without=["a"])
        assert (state.debates, int(state.arms.pulls.sum())) == (2, 2)


def test_export_and_import_keep_everything_and_add_nothing_twice(tmp_path: Path) -> None:
    with Schedules(tmp_path / "one.sqlite") as one, Schedules(tmp_path / "two.sqlite") as two:
        for report in REPORTS:
            one.enter(report)
        two.enter(REPORTS[1])
        assert two.bring(one.export("t"), "file") == (2, 1)
        assert two.bring(one.export(), "file") == (0, 3)
        assert states_equal(one.state("t", TERMS).arms, two.state("t", TERMS).arms)
        assert json.loads(one.export("nobody"))["debates"] == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "is no export"),
        ('{"kind": "maci schedules", "format": 2, "actions": [[0, 0]], "debates": []}', "other actions"),
        ('{"kind": "something", "format": 2, "actions": [], "debates": []}', "kind"),
        ('{"kind": "maci schedules", "format": 1, "actions": [], "debates": []}', "has format 1.*an earlier version"),
    ],
)
def test_what_is_no_export_is_refused(tmp_path: Path, text: str, said: str) -> None:
    with Schedules(tmp_path / "s.sqlite") as known, pytest.raises(InputError, match=said):
        known.bring(text, "file")


def test_what_an_earlier_version_learned_is_refused_with_the_reason(tmp_path: Path) -> None:
    with Schedules(tmp_path / "s.sqlite") as known:
        known.do("PRAGMA user_version = 1")
    with pytest.raises(
        MaciError, match=r"has format 1, and this version of maci reads 2: .*earlier version.*move the file away"
    ):
        Schedules(tmp_path / "s.sqlite")


def test_reset_forgets_one_task(tmp_path: Path) -> None:
    with Schedules(tmp_path / "s.sqlite") as known:
        for one in (*REPORTS, told("z", lesson(1, 0.5), task="kept")):
            known.enter(one)
        assert known.reset("t") == 3
        assert known.tasks() == [("kept", TERMS, 1)]
        assert known.state("t", TERMS).arms.pulls.sum() == 0


def test_half_of_a_debate_is_never_entered(tmp_path: Path) -> None:
    lessons = (lesson(0, 0.1), lesson(1, object()))  # type: ignore[arg-type]
    broken = DebateLessons.model_construct(task="t", debate="a", schedule="ucb", terms=TERMS, lessons=lessons)
    with Schedules(tmp_path / "s.sqlite") as known:
        with pytest.raises(EnvironmentError_):
            known.enter(broken)
        assert known.tasks() == []
        assert known.enter(REPORTS[0])


def test_a_damaged_or_newer_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bad.sqlite").write_bytes(b"not a database, at all, really not one" * 50)
    with pytest.raises(EnvironmentError_, match="damaged"):
        Schedules(tmp_path / "bad.sqlite")
    with sqlite3.connect(tmp_path / "new.sqlite") as db:
        db.execute("PRAGMA user_version = 9")
    db.close()
    with pytest.raises(EnvironmentError_, match="newer MACI"):
        Schedules(tmp_path / "new.sqlite")


def test_the_place_can_be_chosen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MACI_STATE", str(tmp_path))
    assert schedules_file() == tmp_path / "schedules.sqlite"


ENTERING = """
import sys
from pathlib import Path
from maci.controller.bandit import Context, Lesson
from maci.paths import schedules_file
from maci.calibration.schedules import DebateLessons
from maci.paths import schedules_file
from maci.calibration.schedules import Schedules
seen = Context(d=0.5, d_change=None, q=0.7, q_change=0.1, gain=0.2, gain_change=-0.1, budget=0.9)
sys.stdin.readline()
for n in range(40):
    for who in (sys.argv[2], "both"):  # every process enters its own debates, and one that the other enters too
        one = Lesson(action=n % 9, context=seen, reward=0.25, cost=100, growth=1.0)
        with Schedules(Path(sys.argv[1])) as known:
            known.enter(DebateLessons(task="t", debate=f"{who}-{n}", schedule="ucb", terms="w", lessons=(one,)))
"""


def test_two_processes_that_enter_at_once_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    both = [
        subprocess.Popen([sys.executable, "-c", ENTERING, str(path), who], stdin=subprocess.PIPE, text=True)
        for who in ("left", "right")
    ]
    for one in both:  # they begin together
        assert one.stdin is not None
        one.stdin.write("go\n")
        one.stdin.flush()
    for one in both:
        one.communicate(timeout=120)
        assert one.returncode == 0
    with Schedules(path) as known:
        state = known.state("t", "w")
    assert state.debates == 120  # 40 of each, and 40 that both entered
    assert state.arms.pulls.sum() == 120
    assert state.arms.reward.sum() == pytest.approx(30)


# --- from debates ---------------------------------------------------------------------------------------------------------------


def debated(*sets: str, known: Schedules | None = None) -> list:
    config = settings("max_rounds=4", "impasse=false", *sets)
    beliefs = ([0.9, 0.9, 0.8, 0.7, 0.7, 0.7], [0.1, 0.1, 0.2, 0.3, 0.3, 0.3])
    agents = [
        script(name, *(turn(p, 1 - p, 0.0, tokens=1000) for p in seen))
        for name, seen in zip(("one", "two"), beliefs, strict=True)
    ]
    table = seat(agents, [judge()])
    learned = None if known is None else known.snapshot("t", terms(config))

    async def go() -> list:
        return [event async for event in debate(open_debate(table, config, learned=learned), table)]

    return asyncio.run(go())


def test_a_debate_is_reported_with_one_lesson_for_every_action(tmp_path: Path) -> None:
    with Schedules(tmp_path / "s.sqlite") as known:
        for n in range(3):
            told_by = report(debated("schedule=linucb", known=known))
            assert len(told_by.lessons) == 3  # rounds 2, 3, 4
            assert known.enter(told_by)
            assert known.state("t", told_by.terms).debates == n + 1
        assert known.state("t", told_by.terms).arms.pulls.sum() == 9


def test_a_debate_that_cannot_be_entered_says_why() -> None:
    with pytest.raises(InputError, match="learns nothing"):
        report(debated())
    with pytest.raises(InputError, match="no name to enter it under"):
        report(debated("schedule=ucb"))
