"""Running studies: every key once, whatever happens in between."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from fake_house import FakeHouse, sound
from maci.cases.case import Case
from maci.cases.outcomes import OutcomeSpace
from maci.errors import BadReply, EnvironmentError_, EvidenceError, InputError, ModelError, WrongKey
from maci.lab.datasets import Recorded, RecordedTurn, Task, TaskItem
from maci.lab.methods.method import MethodAnswer, Unfit
from maci.lab.study import run as running
from maci.lab.study.engine import Away
from maci.lab.study.store import SqliteStore
from maci.lab.study.study import RowKey, fingerprint
from maci.lab.study.worker import Worker, limited
from maci.llm.budget import Ledger, RunLedger
from maci.llm.usage import Bound, Usage
from study_helpers import FakeMethod, guess, kept, make_study, paying, run

FAKES = {"methods": [{"use": "single"}, {"use": "average"}]}


@pytest.fixture
def fakes(monkeypatch) -> Callable[..., list[tuple[str, str, int]]]:
    """Put functions in the place of methods; the list is of what they were asked."""

    def put(**replies: Any) -> list[tuple[str, str, int]]:
        asked: list[tuple[str, str, int]] = []

        def build(use: str, options: Any) -> FakeMethod:
            return FakeMethod(options["name"], replies.get(use, guess), asked)

        monkeypatch.setattr("maci.lab.study.worker.build", build)
        return asked

    return put


def test_every_method_answers_every_item_of_every_part_and_seed_once(tmp_path, fakes):
    asked = fakes()
    outcome = run(make_study(tmp_path, **FAKES), tmp_path)
    rows = kept(tmp_path)
    assert len(rows) == outcome.progress.planned == 12 * 2 * 2 == len(asked) == len(set(asked))
    assert {key.part for key in rows} == {"dev", "test"} and {key.seed for key in rows} == {0, 1}
    items = {part: {key.item for key in rows if key.part == part} for part in ("dev", "test")}
    assert not items["dev"] & items["test"] and len(items["dev"] | items["test"]) == 12


def test_a_row_has_what_the_method_said_and_what_is_known_of_the_item(tmp_path, fakes):
    fakes()
    run(make_study(tmp_path, **FAKES), tmp_path)
    row = next(row for key, row in kept(tmp_path).items() if key.item == "c4" and key.seed == 1)
    assert (row["gold"], row["group"], row["status"], row["reason"]) == ("flu", "g0", "done", "guessed")
    assert row["belief"] == {"gout": 0.2, "flu": 0.2, "hay fever": 0.6}  # (4 + 1) mod 3
    assert row["course"][0]["beliefs"] == {"one": row["belief"]} and row["course"][0]["d"] == 0.25
    assert row["usage"]["generated"] == 10


def test_what_is_there_is_not_computed_again(tmp_path, fakes):
    asked = fakes()
    run(make_study(tmp_path, **FAKES), tmp_path)
    before, rows = len(asked), kept(tmp_path)
    outcome = run(make_study(tmp_path, **FAKES), tmp_path)
    assert len(asked) == before and kept(tmp_path) == rows
    assert (outcome.progress.new, outcome.progress.there, outcome.answered) == (0, 48, 48)


def test_methods_never_see_the_truth(tmp_path, fakes):
    def look(case, bench, seed):
        assert case.gold is None and not case.hidden
        return guess(case, bench, seed)

    fakes(single=look, average=look)
    assert run(make_study(tmp_path, **FAKES), tmp_path).answered == 48


def test_a_method_that_raises_makes_a_failed_row_and_the_others_go_on(tmp_path, fakes):
    def broken(case, bench, seed):
        if case.id in {"c3", "c5"}:
            raise (BadReply("no JSON in the reply") if case.id == "c3" else ZeroDivisionError("division by zero"))
        return guess(case, bench, seed)

    fakes(average=broken)
    outcome = run(make_study(tmp_path, **FAKES), tmp_path)
    failed = {key: row for key, row in kept(tmp_path).items() if row["status"] == "failed"}
    assert {(key.item, key.seed, key.method) for key in failed} == {
        (item, seed, "average") for item in ("c3", "c5") for seed in (0, 1)
    }
    assert {row["reason"] for row in failed.values()} == {"no JSON in the reply", "ZeroDivisionError: division by zero"}
    assert all(row["belief"] is None for row in failed.values())
    assert (len(outcome.progress.failures), outcome.answered) == (4, 44)
    tally = outcome.progress.methods["average"]
    assert tally.failed == 4 and tally.n + len({k for k in failed if k.part == "test"}) == sum(
        key.part == "test" and key.method == "average" for key in kept(tmp_path)
    )


def test_an_answer_without_a_belief_is_a_failure_and_one_cut_short_is_not_scored_either(tmp_path, fakes):
    fakes(
        single=lambda case, bench, seed: MethodAnswer(belief=None, reason="nobody answered"),
        average=lambda case, bench, seed: MethodAnswer(belief=None, reason="too dear", out_of_budget=True),
    )
    outcome = run(make_study(tmp_path, **FAKES), tmp_path)
    assert {(k.method, r["status"], r["reason"]) for k, r in kept(tmp_path).items()} == {
        ("single", "failed", "nobody answered"),
        ("average", "budget", "too dear"),
    }
    assert outcome.answered == 0 and outcome.progress.unanswered == 24 and outcome.stopped == ""


def test_failed_answers_stay_until_they_are_asked_for_again(tmp_path, fakes):
    down = True

    def sometimes(case, bench, seed):
        if down and case.id == "c2":
            raise BadReply("down")
        return guess(case, bench, seed)

    asked = fakes(single=sometimes)
    run(make_study(tmp_path, **FAKES), tmp_path)
    down = False
    asked.clear()
    assert run(make_study(tmp_path, **FAKES), tmp_path).progress.new == 0
    outcome = run(make_study(tmp_path, **FAKES), tmp_path, retry_failed=True)
    assert sorted(asked) == [("single", "c2", 0), ("single", "c2", 1)] and outcome.progress.new == 2
    assert not outcome.progress.failures and outcome.answered == 48


def test_what_ends_every_answer_ends_the_run_and_keeps_what_is_done(tmp_path, fakes):
    fakes()
    run(make_study(tmp_path, **FAKES), tmp_path / "whole")

    def wrong(case, bench, seed):
        if case.id == "c7":
            raise WrongKey("the provider does not accept the key")
        return guess(case, bench, seed)

    fakes(average=wrong)
    with pytest.raises(WrongKey):
        run(make_study(tmp_path, **FAKES), tmp_path)
    before = kept(tmp_path)
    assert 0 < len(before) < 48 and all(row["status"] == "done" for row in before.values())
    fakes()
    run(make_study(tmp_path, **FAKES), tmp_path)
    assert kept(tmp_path) == kept(tmp_path / "whole")


def test_a_method_that_cannot_use_the_agents_is_refused_before_anything_runs(tmp_path):
    methods = [{"use": "average"}, {"use": "single", "agent": "nobody"}]
    with pytest.raises(
        Unfit, match=r"single cannot be used on tiny: agent 'nobody': there is no such agent, only lexical"
    ):
        run(make_study(tmp_path, methods=methods), tmp_path)
    with SqliteStore(tmp_path / "results.sqlite") as store:
        assert store.meta() is None and not store.keys()


def test_a_run_gives_up_when_nothing_answers_any_more(tmp_path, fakes, monkeypatch):
    def down(case, bench, seed):
        raise BadReply("down")

    monkeypatch.setattr(running, "PATIENCE", 5)
    fakes(single=down, average=down)
    with pytest.raises(EnvironmentError_, match=r"the last 5 answers all failed .*down.* --retry-failed continues"):
        run(make_study(tmp_path, **FAKES), tmp_path)
    assert len(kept(tmp_path)) == 5


# --- interrupted ------------------------------------------------------------------------------------------------------------


class Pulled(BaseException):
    """The plug."""


@pytest.mark.parametrize("after", [1, 2, 3, 10, 47])
def test_interrupted_at_any_row_the_whole_is_the_same(tmp_path, fakes, after):
    fakes()
    run(make_study(tmp_path, **FAKES), tmp_path / "whole")
    left = after

    def pull(row):
        nonlocal left
        left -= 1
        if left == 0:
            raise Pulled

    with pytest.raises(Pulled):
        run(make_study(tmp_path, **FAKES), tmp_path, watch=pull)
    assert len(kept(tmp_path)) == after
    run(make_study(tmp_path, **FAKES), tmp_path)
    assert kept(tmp_path) == kept(tmp_path / "whole")


def test_readers_give_the_same_rows_in_any_order_and_with_a_higher_limit(tmp_path):
    whole = make_study(tmp_path)
    run(whole, tmp_path / "whole")
    run(replace(whole, spec=whole.spec.model_copy(update={"limit": 2})), tmp_path)
    some = kept(tmp_path)
    assert len(some) == 2 * 2 * 2 * 5
    run(whole, tmp_path, shared=True)  # begins somewhere
    assert kept(tmp_path) == kept(tmp_path / "whole") and some.items() <= kept(tmp_path).items()


def test_a_limit_takes_more_items_when_raised_never_others(tmp_path):
    group = Worker(make_study(tmp_path)).group("tiny", 0)
    items = (*group.task.dev, *group.task.test)
    few, more = limited(items, 4, 0), limited(items, 7, 0)
    assert len(few) == 4 and len(more) == 7 and {i.id for i in few} < {i.id for i in more}
    assert [i.id for i in more] == [i.id for i in items if i in more]
    assert {i.id for i in limited(items, 4, 1)} != {i.id for i in few}


def test_single_agents_have_a_method_each_and_it_is_theirs(tmp_path):
    run(make_study(tmp_path, seeds=[0]), tmp_path)
    rows = kept(tmp_path)
    names = {key.method for key in rows}
    assert names == {"single/lexical", "single/semantic", "single/bayesian", "average", "maci"}
    for key, row in rows.items():
        if key.method == "average":
            singles = [rows[key._replace(method=f"single/{a}")]["belief"] for a in ("lexical", "semantic", "bayesian")]
            for label, p in row["belief"].items():
                assert p == pytest.approx(sum(belief[label] for belief in singles) / 3)
    with SqliteStore(tmp_path / "results.sqlite") as store:
        meta = store.meta()
    assert meta is not None
    assert [(m.name, m.of, m.each) for m in meta.methods["tiny"]][:2] == [
        ("single/lexical", "single", True),
        ("single/semantic", "single", True),
    ]


def test_two_runs_at_once_share_the_work_and_keep_every_row_once(tmp_path, fakes):
    asked = fakes()

    async def both():
        with SqliteStore(tmp_path / "results.sqlite") as one, SqliteStore(tmp_path / "results.sqlite") as two:
            study = make_study(tmp_path, **FAKES)
            await asyncio.gather(running.run_study(study, one, shared=True), running.run_study(study, two, shared=True))

    asyncio.run(both())
    assert len(kept(tmp_path)) == 48 and 48 <= len(asked) < 96


# --- budgets ------------------------------------------------------------------------------------------------------------------


def test_the_budget_of_the_run_stops_it_cleanly_and_a_higher_one_goes_on(tmp_path, fakes):
    fakes(single=paying(30, 100), average=paying(30, 100))
    run(make_study(tmp_path, **FAKES), tmp_path / "whole")
    outcome = run(make_study(tmp_path, **FAKES, budget={"tokens": 400}), tmp_path)
    # 30 spent each: the eleventh still fits (300 + 100), after it 330 + 100 does not
    assert outcome.stopped == "budget" and outcome.progress.new == 11 and outcome.progress.left == 37
    assert outcome.spent == Bound(330, 0.0)
    assert all(row["status"] == "done" for row in kept(tmp_path).values())
    again = run(make_study(tmp_path, **FAKES, budget={"tokens": 400}), tmp_path)
    assert again.stopped == "budget" and again.progress.new == 0
    assert run(make_study(tmp_path, **FAKES, budget={"tokens": 10_000}), tmp_path).stopped == ""
    assert kept(tmp_path) == kept(tmp_path / "whole")


def test_a_killed_runs_open_calls_count_in_full(tmp_path, fakes):
    def killed(case, bench, seed):
        assert bench.ledger is not None
        own = Ledger(1000, parent=bench.ledger)
        own.reserve(Bound(250))
        raise Pulled  # nothing is settled, as after kill -9

    fakes(single=killed)
    with pytest.raises(Pulled):
        run(make_study(tmp_path, **FAKES, budget={"tokens": 400}), tmp_path)
    fakes(single=paying(30, 100), average=paying(30, 100))
    outcome = run(make_study(tmp_path, **FAKES, budget={"tokens": 400}), tmp_path)
    assert outcome.progress.new == 2 and outcome.spent == Bound(310, 0.0)  # 250 + 30 + 30, then 310 + 100 > 400


def test_the_ceiling_of_one_answer_is_not_that_of_the_run(tmp_path, fakes):
    fakes(average=paying(30, 100))
    changes = {"set": {"budget.tokens": 50}, "budget": {"tokens": 100_000}}
    outcome = run(make_study(tmp_path, **FAKES, **changes), tmp_path)
    assert outcome.stopped == "" and outcome.progress.unanswered == 24 and outcome.answered == 24


def test_a_run_elsewhere_may_take_what_is_left():
    elsewhere = Bound()
    ledger = RunLedger(100, note=lambda spent, aside: spent.plus(aside).plus(elsewhere))
    own = Ledger(1000, parent=ledger)
    assert own.reserve(Bound(40))
    own.settle(Bound(40), Usage(generated=40))
    elsewhere = Bound(50)
    assert not own.reserve(Bound(20))
    assert ledger.reached == "tokens" and ledger.reserved == own.reserved == Bound() and ledger.own == Bound(40, 0.0)
    assert own.refusal(Bound(20)) == "may need 20 tokens, 10 of 100 are left"
    assert own.reserve(Bound(10))


@pytest.mark.parametrize("lane", ["one process", "many processes"])
def test_two_runs_on_one_store_never_set_more_aside_than_the_ceiling(tmp_path, lane):
    """Each looks before the other has written: who comes second gives back and goes without."""
    with SqliteStore(tmp_path / "study.sqlite") as one, SqliteStore(tmp_path / "study.sqlite") as two:
        runs = [RunLedger(100, note=partial(store.journal, name)) for name, store in (("1", one), ("2", two))]
        if lane == "one process":
            tables = [Ledger(1000, parent=ledger) for ledger in runs]
            assert [own.reserve(Bound(60)) for own in tables] == [True, False]
            assert [own.reserved.tokens for own in tables] == [60, 0]
        else:
            study = make_study(tmp_path, **FAKES, set={"budget.tokens": 60}, budget={"tokens": 100})
            key = RowKey("data", 0, "test", "one", "average")
            assert [Away(study, ledger).next(iter([key])) for ledger in runs] == [key, None]
        assert one.spent() == two.spent() == Bound(60, 0.0) and [run.reached for run in runs] == [None, "tokens"]


def test_processes_keep_the_budget_too(tmp_path):
    changes = {"methods": [{"use": "average"}], "set": {"budget.tokens": 5000}, "budget": {"tokens": 20_000}}
    study = make_study(tmp_path, **changes)
    outcome = run(study, tmp_path, jobs=2)
    assert outcome.stopped == "budget" and 0 < outcome.progress.new < 24
    assert outcome.spent.tokens <= 20_000
    assert outcome.spent.tokens == sum(
        row["usage"]["prompt"] + row["usage"]["generated"] for row in kept(tmp_path).values()
    )


# --- other processes, other panels ----------------------------------------------------------------------------------------------


def test_processes_give_the_same_rows(tmp_path):
    study = make_study(tmp_path, methods=[{"use": "single", "each": True}, {"use": "du_debate"}])
    run(study, tmp_path / "one")
    outcome = run(study, tmp_path / "two", jobs=2)
    assert outcome.answered == 12 * 2 * 4 and kept(tmp_path / "two") == kept(tmp_path / "one")


def test_errors_that_end_everything_come_back_from_other_processes(tmp_path, monkeypatch):
    async def unchecked(worker):
        return None

    monkeypatch.setattr(Worker, "check", unchecked)
    with pytest.raises(InputError, match=r"agent 'nobody': there is no such agent, only lexical"):
        run(make_study(tmp_path, methods=[{"use": "single", "agent": "nobody"}]), tmp_path, jobs=2)
    assert kept(tmp_path) == {}


def test_data_without_recorded_answers_has_no_recorded_panel(tmp_path):
    with pytest.raises(InputError, match="no recorded answers: name a panel or agents instead"):
        run(make_study(tmp_path, panel={"recorded": True}), tmp_path)


def test_scripts_for_single_cases_are_no_panel_of_a_study(tmp_path):
    with pytest.raises(InputError, match=r"panel.name = 'paper' is a script"):
        make_study(tmp_path, panel={"name": "paper"})


# --- language models ------------------------------------------------------------------------------------------------------------

MODELS = {
    "panel": {"agents": ["openai/one", "anthropic/two"], "judges": ["gemini/three"]},
    "methods": [{"use": "single", "each": True}, {"use": "average"}, {"use": "maci"}],
    "seeds": [0],
    "set": {"stop.max_rounds": 2, "crit.k": 1},
}


@pytest.fixture
def house(monkeypatch) -> Callable[..., list[FakeHouse]]:
    """Fake models in the place of the providers'; every house that was opened."""

    def put(answer=None) -> list[FakeHouse]:
        opened: list[FakeHouse] = []

        def make(**_):
            opened.append(FakeHouse(answer))
            return opened[-1]

        monkeypatch.setattr("maci.llm.models.House", make)
        return opened

    return put


def test_models_answer_many_cases_at_once_and_are_let_go(tmp_path, house):
    opened = house()
    outcome = run(make_study(tmp_path, **MODELS), tmp_path)
    assert outcome.answered == 12 * 4 and not outcome.progress.failures
    assert {key.method for key in kept(tmp_path)} == {"single/openai/one", "single/anthropic/two", "average", "maci"}
    assert [one.closed for one in opened] == [True] and opened[0].calls > 12 * 6
    spent = sum(r["usage"]["prompt"] + r["usage"]["generated"] for r in kept(tmp_path).values())
    judged = sum(r["judge_usage"]["prompt"] + r["judge_usage"]["generated"] for r in kept(tmp_path).values())
    assert outcome.spent.tokens == spent + judged > 0  # the journal has what the rows have


@pytest.mark.parametrize("method", ["average", "maci"])
def test_a_wrong_key_of_a_model_ends_the_run(tmp_path, house, method):
    def answer(name, request):
        if name == "anthropic/two":
            raise WrongKey("anthropic does not accept the key")
        return sound(name, request)

    opened = house(answer)
    with pytest.raises(ModelError, match="does not accept the key"):
        run(make_study(tmp_path, **{**MODELS, "methods": [{"use": method}]}), tmp_path)
    assert kept(tmp_path) == {} and opened[0].closed


def test_looking_whether_methods_fit_asks_no_model(tmp_path, house):
    opened = house()
    worker = Worker(make_study(tmp_path, **MODELS))
    asyncio.run(worker.check())
    assert opened[0].calls == 0
    study = make_study(tmp_path, **{**MODELS, "methods": [{"use": "average"}, {"use": "single", "agent": "x"}]})
    with pytest.raises(Unfit, match="single cannot be used on tiny: agent 'x'"):
        run(study, tmp_path)
    assert sum(one.calls for one in opened) == 0


def test_a_budget_of_the_run_is_kept_to_the_token_with_models(tmp_path, house):
    house()
    outcome = run(make_study(tmp_path, **MODELS, budget={"tokens": 40_000}), tmp_path)
    assert outcome.stopped == "budget" and 0 < outcome.progress.new < 48
    assert 0 < outcome.spent.tokens <= 40_000
    some = kept(tmp_path)
    house()
    run(make_study(tmp_path, **MODELS, budget={"tokens": 10_000_000}), tmp_path)
    run(make_study(tmp_path, **MODELS), tmp_path / "whole")
    assert kept(tmp_path) == kept(tmp_path / "whole") and some.items() <= kept(tmp_path).items()


# --- recorded answers -----------------------------------------------------------------------------------------------------------


def recorded_item(name: str, gold: str, **said: str | None) -> TaskItem:
    space = OutcomeSpace(labels=("A", "B", "C"))
    turns = {model: RecordedTurn(answer=answer, text=f"I say {answer}.") for model, answer in said.items()}
    return TaskItem(case=Case(question="Which?", outcomes=space, gold=gold, id=name), recorded=Recorded(openings=turns))


def test_recorded_models_say_what_is_on_record_and_abstentions_are_failures(tmp_path, monkeypatch):
    items = (
        recorded_item("q1", "A", x="A", y="A", z="B"),
        recorded_item("q2", "B", x="C", y=None, z="B"),
        recorded_item("q3", "C", x=None, y=None, z=None),
    )
    monkeypatch.setattr("maci.lab.study.worker.load_own", lambda path, **more: Task(name="t", dev=(), test=items))
    methods = [{"use": "single", "each": True}, {"use": "majority_vote", "n": 3}]
    study = make_study(tmp_path, seeds=[0], parts=["test"], panel={"recorded": True}, methods=methods)
    outcome = run(study, tmp_path)
    rows = {(key.item, key.method): row for key, row in kept(tmp_path).items()}
    assert rows[("q1", "majority_vote")]["belief"] == pytest.approx({"A": 2 / 3, "B": 1 / 3, "C": 0.0})
    assert rows[("q2", "single/z")]["belief"]["B"] == 1.0
    assert rows[("q2", "single/y")]["status"] == rows[("q3", "majority_vote")]["status"] == "failed"
    assert "without an answer that could be read" in rows[("q2", "single/y")]["reason"]
    assert len(outcome.progress.failures) == 1 + 4


def test_recorded_models_can_be_chosen_and_must_be_there(tmp_path, monkeypatch):
    items = (recorded_item("q1", "A", x="A", y="A", z="B"),)
    monkeypatch.setattr("maci.lab.study.worker.load_own", lambda path, **more: Task(name="t", dev=(), test=items))
    changes = {"seeds": [0], "parts": ["test"], "methods": [{"use": "average"}]}
    run(make_study(tmp_path, **changes, panel={"recorded": ["x", "z"]}), tmp_path)
    (row,) = kept(tmp_path).values()
    assert row["belief"] == {"A": 0.5, "B": 0.5, "C": 0.0}
    with pytest.raises(InputError, match=r"panel.recorded names 'w': there are answers of x, y, z"):
        run(make_study(tmp_path, **changes, panel={"recorded": ["x", "w"]}), tmp_path / "other")


def test_a_file_that_has_changed_is_not_silently_the_same_study(tmp_path, fakes):
    fakes()
    run(make_study(tmp_path, **FAKES), tmp_path)
    before, path = kept(tmp_path), tmp_path / "cases.jsonl"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('"gold": "flu"', '"gold": "gout"', 1), encoding="utf-8")
    with pytest.raises(InputError, match=r"^cases\.jsonl has changed since this study began .*: choose another --out"):
        run(make_study(tmp_path, **FAKES), tmp_path)
    assert kept(tmp_path) == before
    path.write_text(text, encoding="utf-8")
    assert run(make_study(tmp_path, **FAKES), tmp_path).progress.new == 0


def test_a_study_from_before_files_were_looked_at_goes_on_and_learns_them(tmp_path, fakes):
    fakes()
    study = make_study(tmp_path, **FAKES)
    plan = Worker(study).plan()
    identity = {key: value for key, value in plan.identity.items() if key != "files"}
    with SqliteStore(tmp_path / "results.sqlite") as store:
        store.begin(plan.model_copy(update={"identity": identity, "fingerprint": fingerprint(identity)}))
    run(study, tmp_path)
    with SqliteStore(tmp_path / "results.sqlite") as store:
        known = store.meta()
    assert known is not None and known.fingerprint == plan.fingerprint
    with pytest.raises(InputError, match="results of another study"):
        run(make_study(tmp_path, **FAKES, seeds=[5]), tmp_path)


def test_of_a_method_that_is_added_only_its_own_rows_are_computed(tmp_path):
    methods = [{"use": "single", "each": True}, {"use": "average"}]
    run(make_study(tmp_path, methods=methods), tmp_path)
    before = kept(tmp_path)
    outcome = run(make_study(tmp_path, methods=[{"use": "majority_vote", "n": 3}, *methods]), tmp_path)
    after = kept(tmp_path)
    assert outcome.progress.there == len(before) == 12 * 2 * 4 and outcome.progress.new == 12 * 2
    assert before.items() <= after.items() and {k.method for k in after.keys() - before.keys()} == {"majority_vote"}
    run(make_study(tmp_path, methods=[{"use": "majority_vote", "n": 3}, *methods]), tmp_path / "at once")
    assert kept(tmp_path / "at once") == after


def test_a_method_may_have_an_encoder_of_its_own_and_changes_no_other(tmp_path):
    methods = [
        {"use": "maci"},
        {"use": "maci", "name": "letters", "set": {"evidence.encoder": "study_helpers:letters"}},
    ]
    run(make_study(tmp_path, methods=methods, seeds=[0]), tmp_path)
    run(make_study(tmp_path, methods=methods[:1], seeds=[0]), tmp_path / "alone")
    rows = kept(tmp_path)
    assert {k: r for k, r in rows.items() if k.method == "maci"} == kept(tmp_path / "alone")
    q0 = {m: [r["q0"] for k, r in sorted(rows.items()) if k.method == m] for m in ("maci", "letters")}
    assert len(q0["maci"]) == 12 and all(a != b for a, b in zip(q0["maci"], q0["letters"], strict=True))


def test_rows_keep_what_every_judge_gave_every_argument(tmp_path):
    run(make_study(tmp_path, methods=[{"use": "maci"}, {"use": "crit_free"}], seeds=[0]), tmp_path)
    for key, one in kept(tmp_path).items():
        scored = [step["scores"] for step in one["course"][1:]]
        if key.method == "crit_free":
            assert not any(scored)
            continue
        given = [x for step in scored for some in step.values() for a in some for x in a.values()]
        assert one["course"][0]["scores"] == {} and 0 < len(given) <= one["judge_calls"]  # some abstain
        first = [list(a.values()) for some in scored[0].values() for a in some]
        if all(len(a) == 3 for a in first):
            assert one["course"][1]["crit"] == pytest.approx(sum(map(sum, first)) / (3 * len(first)), abs=1e-5)


def test_rows_outside_the_plan_are_kept_and_not_counted(tmp_path, fakes):
    asked = fakes()
    whole = make_study(tmp_path, **FAKES)
    run(whole, tmp_path)
    before = len(asked)
    few = replace(whole, spec=whole.spec.model_copy(update={"limit": 2}))
    assert run(few, tmp_path).progress.planned == len(kept(tmp_path)) == 2 * 2 * 2 * 2
    with SqliteStore(tmp_path / "results.sqlite") as store:
        assert len(store.keys()) == before
    run(whole, tmp_path)
    assert len(asked) == before == len(kept(tmp_path))


def test_outcomes_without_evidence_are_said_in_the_plan(tmp_path, fakes):
    fakes()
    outcomes = ["gout", "scurvy", "warts"]  # the built-in knowledge has the first only
    cases: list[dict[str, Any]] = [
        {"id": f"c{n}", "question": f"Case {n}?", "gold": "gout", "outcomes": outcomes} for n in range(10)
    ]
    cases[3]["evidence"] = [{"text": "Gums bleed.", "label": "scurvy"}]
    (tmp_path / "cases.jsonl").write_text("\n".join(map(json.dumps, cases)), encoding="utf-8")
    assert Worker(make_study(tmp_path, **FAKES)).plan().notes["tiny"] == (
        "no evidence about: scurvy (in 9 of 10 cases), warts.",
    )


def test_labels_that_nothing_speaks_of_can_be_studied_with_their_own_texts(tmp_path):
    rows = "".join(f'"the {("cable", "bill")[n % 2]} of number {n} is wrong",team {n % 2}\n' for n in range(30))
    (tmp_path / "cases.csv").write_text("context,gold\n" + rows, encoding="utf-8")
    entry = {"file": "cases.csv", "label": "tiny", "question": "Which team?"}
    methods = [{"use": "average"}]
    with pytest.raises(EvidenceError, match=r"no text about one of team 0, team 1.*`per_label = 5`.*`evidence` column"):
        Worker(make_study(tmp_path, data=[entry], methods=methods)).plan()
    outcome = run(make_study(tmp_path, data=[{**entry, "per_label": 3}], methods=methods, seeds=[0]), tmp_path)
    assert outcome.progress.methods["average"].accuracy == 1.0  # one word tells them apart
    assert not any(note.startswith("no evidence") for note in outcome.meta.notes["tiny"])
