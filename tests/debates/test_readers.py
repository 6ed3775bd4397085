"""The embedded panel, end to end: real encoder, real evidence, real debate."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import numpy as np
import pytest

from maci.cases.case import Case, load_case
from maci.cases.outcomes import OutcomeSpace
from maci.config import Config
from maci.controller.decisions import Finished, Gated, Initialized
from maci.controller.inputs import Retrieved
from maci.debating.api import run
from maci.debating.loop import debate
from maci.errors import EvidenceError
from maci.evidence.encode import load_encoder
from maci.evidence.span import Span
from maci.lab.datasets import load
from maci.record.replay import replay
from maci.seating.models import ReaderPanel
from maci.seating.table import opening
from maci.seating.tables import Tables
from maci.story.outline import outline

DATA = Path(os.environ.get("MACI_DATA") or "missing")
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="the public data sets are not here: set MACI_DATA")


def play(table, case, seed=0):
    async def events():
        return [event async for event in debate(opening(case, table, Config(), seed=seed), table)]

    return asyncio.run(events())


@pytest.fixture(scope="module")
def dengue():
    case = load_case("dengue")
    return play(Tables("readers", load_encoder()).table(case), case)


def test_the_dengue_case_ends_by_itself_with_dengue_on_top(dengue):
    result = dengue[-1]
    assert isinstance(result, Finished)
    assert result.answer == "Dengue fever"
    assert result.stop_reason in {"consensus", "plateau", "crit_stable"}
    assert result.rationale


def test_its_record_replays(dengue):
    assert replay(dengue).complete


def test_readers_open_with_different_evidence_and_come_to_share_it(dengue):
    start = next(e for e in dengue if isinstance(e, Initialized))
    assert start.o == 0 and start.d > 0
    gates = [e for e in dengue if isinstance(e, Gated)]
    assert all(c.verified for g in gates for a in g.admissions for c in a.citations)


def test_the_same_seed_gives_the_same_debate_and_another_deals_other_hands():
    case = load_case("dengue")
    table = Tables("readers", load_encoder()).table(case, seed=3)
    again = Tables("readers", load_encoder()).table(case, seed=3)
    assert play(table, case, 3)[1:] == play(again, case, 3)[1:]
    other = Tables("readers", load_encoder()).table(case, seed=4)
    assert play(other, case, 4)[2] != play(table, case, 3)[2]


def test_an_ordered_case_uses_the_scale():
    case = load_case("tone-budget")
    result = play(Tables("readers", load_encoder()).table(case), case)[-1]
    assert set(result.distribution) == {"-2", "-1", "0", "+1", "+2"}


def test_a_users_own_case_is_debated_on_its_own_documents():
    from maci.cases.case import Document

    texts = [
        "Plan A costs less and is ready this year.",
        "Plan A has been tried twice.",
        "Plan B needs a new building.",
    ]
    case = Case(
        question="Which plan is cheaper and ready this year?",
        outcomes=OutcomeSpace(labels=("Plan A", "Plan B")),
        evidence=tuple(Document(text) for text in texts),
    )
    assert play(Tables("readers", load_encoder()).table(case), case)[-1].answer == "Plan A"


def test_outcomes_nobody_has_evidence_about_say_what_to_add():
    case = Case(question="Which?", outcomes=OutcomeSpace(labels=("flux capacitor", "warp drive")))
    with pytest.raises(EvidenceError, match=r"no text about one of flux capacitor, warp drive.*in a corpus"):
        Tables("readers", load_encoder()).table(case)


def test_outcomes_may_be_called_by_another_name():
    case = Case(question="Which?", context="Itchy red eyes.", outcomes=OutcomeSpace(labels=("flu", "break-bone fever")))
    table = Tables("readers", load_encoder()).table(case)
    assert set(play(table, case)[-1].distribution) == {"flu", "break-bone fever"}


@pytest.mark.parametrize(
    ("question", "context"),
    [
        ("Which disease?", ""),
        ("Is it dengue fever or gout?", ""),
        ("Which disease does she have?", "A woman of 45 years comes to the clinic, ill for two days."),
        ("What is it?", "Pain."),  # which either has
    ],
)
def test_a_case_that_says_nothing_to_match_is_withheld_with_the_next_step(question, context):
    result = run(question, outcomes=["Dengue fever", "Gout"], context=context, panel="readers")
    assert result.answer is None and result.withheld
    why = outline(result.story).withheld
    assert why.startswith("Word statistics cannot decide") and ("describe the case" in why or "in common" in why), why


def test_a_question_that_describes_the_case_is_answered():
    asked = {"outcomes": ["Dengue fever", "Gout"], "panel": "readers"}
    assert run("Which disease brings fever and pain behind the eyes?", **asked).answer == "Dengue fever"
    assert run("What is it?", context="A hot, swollen and painful big toe.", **asked).answer == "Gout"


def test_an_open_case_ranges_over_everything_the_library_knows():
    dengue = load_case("dengue")
    case = Case(question=dengue.question, context=dengue.context, outcomes=OutcomeSpace(kind="open"))
    result = play(Tables("readers", load_encoder()).table(case), case)[-1]
    assert len(result.distribution) > 100
    assert result.distribution["Dengue fever"] > 1 / 100


def accuracy_and_q0(task, seed, limit):
    rng = np.random.default_rng(seed)
    chosen = [task.dev[i] for i in rng.permutation(len(task.dev))[:limit]]
    panel = ReaderPanel([Span.of(d.text, d.source, 0, d.label) for d in task.evidence], load_encoder())
    right, opening_right, q0, recalled = [], [], [], []
    for item in chosen:
        case = item.case
        events = play(panel.table(case, seed=seed), case, seed)
        start = next(e for e in events if isinstance(e, Initialized))
        right.append(events[-1].answer == case.gold)
        opening_right.append([max(p, key=p.get) == case.gold for p in start.beliefs.values()])
        q0.append(start.q)
        recalled.append(any(s.label == case.gold for s in next(e for e in events if isinstance(e, Retrieved)).spans))
    return np.array(right), np.array(opening_right), np.array(q0), np.array(recalled)


@needs_data
@pytest.mark.data
def test_debate_beats_every_single_reader_and_rises_with_evidence_quality():
    """A sample of development texts; `benchmarks/bench_readers.py` has the whole table on test texts."""
    right, singles, q0, recalled = accuracy_and_q0(load("symptom2disease", DATA, seed=7), 7, 120)
    assert (right.mean() - singles.mean(axis=0) > 0.08).all()
    order = np.argsort(q0)
    assert right[order[80:]].mean() > right[order[:40]].mean()
    assert recalled.mean() >= 0.95


@needs_data
@pytest.mark.data
def test_accuracy_rises_with_evidence_quality_on_masked_cases_too():
    right, _, q0, _ = accuracy_and_q0(load("kaggle_symptom_disease", DATA, seed=7), 7, 120)
    order = np.argsort(q0)
    assert right[order[-len(order) // 3 :]].mean() > right[order[: len(order) // 3]].mean()


@pytest.mark.parametrize("ceiling", [0, 1000, 5000, 20_000])
def test_readers_keep_the_token_ceiling_like_everyone(ceiling):
    from maci.config import build

    case = load_case("dengue")
    table = Tables("readers", load_encoder()).table(case)

    async def events():
        config = build("default", {"budget.tokens": ceiling})
        return [event async for event in debate(opening(case, table, config), table)]

    result = asyncio.run(events())[-1]
    assert result.stop_reason == "budget" and result.tokens <= ceiling
    assert (result.answer is None) == (ceiling < 5000)
