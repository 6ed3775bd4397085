"""The real files, where they are: splits, outcomes, leaks and the quirks that are known."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from maci.cases.outcomes import normal
from maci.lab.datasets import SETS, find, load
from maci.lab.datasets.files import plain

DATA = Path(os.environ.get("MACI_DATA") or "missing")


def here(name: str) -> pytest.MarkDecorator:
    there = DATA.is_dir() and all((DATA / f.path).is_file() for f in find(name).needed(find(name).defaults))
    return pytest.mark.skipif(not there, reason=f"{name} is not here: set MACI_DATA")


def parts(name: str, **options: object):
    task = load(name, DATA, options=options)
    return task, (*task.dev, *task.test)


def each(*names: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("name", [pytest.param(name, marks=[here(name), pytest.mark.data]) for name in names])


@each(*SETS)
def test_items_on_both_sides_with_gold_among_their_outcomes_and_ids_of_their_own(name: str) -> None:
    task, items = parts(name)
    assert task.dev and task.test
    assert len({item.id for item in items}) == len(items)
    for item in items:
        space = item.case.outcomes
        assert item.case.gold in space.labels or (space.kind == "open" and not space.labels)
        for turn in item.recorded.openings.values() if item.recorded else ():
            assert turn.answer is None or turn.answer in space.labels
        for _, turn in item.recorded.turns if item.recorded else ():
            assert turn.answer is None or turn.answer in space.labels
        if space.kind == "ordered":
            assert all(space.positions[0] <= x <= space.positions[-1] for x in item.raters.values())


@each(*[name for name in SETS if name not in {"budak2016", "kaggle_symptom_disease", "mmlu_pro_panel"}])
def test_no_text_is_on_both_sides_or_in_the_evidence(name: str) -> None:
    """Without budak2016 (no texts), masked lists (few symptoms coincide) and mmlu_pro_panel (split by id, as documented)."""
    task, items = parts(name)
    dev, test = ({plain(item.case.query) for item in part} for part in (task.dev, task.test))
    assert not dev & test
    assert not {plain(d.text) for d in task.evidence} & {plain(item.case.context) for item in items}


@each("symptom2disease", "kaggle_symptom_disease", "agentclinic")
def test_the_diagnosis_is_not_in_the_case(name: str) -> None:
    for item in parts(name)[1]:
        assert f" {normal(item.case.gold)} " not in f" {normal(item.case.context)} "


@each("symptom2disease", "kaggle_symptom_disease")
def test_the_open_label_space_has_more_than_a_hundred_outcomes_and_evidence_for_them(name: str) -> None:
    task, items = parts(name, open=True)
    labels = set(items[0].case.outcomes.labels)
    assert len(labels) > 100 and {d.label for d in task.evidence} <= labels
    assert all(item.case.gold in labels for item in items)


@each("agentclinic")
def test_findings_are_withheld(name: str) -> None:
    for item in parts(name)[1]:
        assert item.case.hidden
        assert any(key.startswith("Physical Examination") for key in item.case.hidden)


@each("budak_allsides_text", "allsides_articles", "basil")
def test_outlets_are_masked(name: str) -> None:
    named = re.compile(r"\b(CNN|Fox News|New York Times|HuffPost|Washington Times|Politico|NPR)\b")
    for item in parts(name)[1]:
        assert not named.search(item.case.context)
    assert any("[outlet]" in item.case.context for item in parts(name)[1])


@each("basil")
def test_an_event_is_on_one_side(name: str) -> None:
    import json

    from maci.lab.datasets.files import text_id

    lines = (DATA / "basil" / "basil.jsonl").read_text(encoding="utf-8").splitlines()
    event = {text_id(entry["text"]): entry["triplet"] for entry in map(json.loads, lines)}
    task, _ = parts(name)
    assert not {event[i.id] for i in task.dev} & {event[i.id] for i in task.test}


@each("babe")
def test_sentences_of_both_bias_sets_are_on_the_same_side(name: str) -> None:
    babe, mbic = load("babe", DATA, options={"per_label": 0}), load("mbic", DATA, options={"per_label": 0})
    dev, test = {i.id for i in babe.dev}, {i.id for i in babe.test}
    assert not dev & {i.id for i in mbic.test} and not test & {i.id for i in mbic.dev}
    shared = (dev | test) & {i.id for i in (*mbic.dev, *mbic.test)}
    assert len(shared) > 1000
    apart = load("babe", DATA, options={"without_mbic": True, "per_label": 0})
    assert not shared & {i.id for i in (*apart.dev, *apart.test)}


@each("mbic")
def test_the_partisan_gap_stands_little_above_its_floor(name: str) -> None:
    (note,) = [note for note in parts(name)[0].notes if "shuffled" in note]
    gap, floor = map(float, re.findall(r"by (0\.\d+)", note))
    assert 0.0 < gap - floor < 0.05


@each("gsm8k")
def test_a_solver_is_right_exactly_where_the_file_says_so(name: str) -> None:
    from maci.lab.datasets.files import json_lines

    items = {item.case.question: item for item in parts(name)[1]}
    checked = 0
    for entry in json_lines(DATA / "gsm8k" / "example_model_solutions.jsonl"):
        item = items[entry["question"]]
        for model, turn in item.recorded.openings.items():
            assert (turn.answer == item.case.gold) == entry[model]["is_correct"]
            checked += 1
    assert checked == 4 * len(items)


@each("covid_claims")
def test_pages_that_did_not_load_are_still_there(name: str) -> None:
    texts = [d.text.casefold() for item in parts(name)[1] for d in item.case.evidence]
    assert sum("load" in text or "unable to" in text or "error" in text for text in texts) > 20


@each("mmlu_pro_panel")
def test_twelve_models_and_exactly_1200_development_questions(name: str) -> None:
    task, items = parts(name)
    assert len(task.dev) == 1200
    assert {len(item.recorded.openings) for item in items} == {12}
    told, _ = parts(name, rationales=True)
    assert {i.id for i in told.dev} <= {i.id for i in task.dev}
    assert {sum(bool(t.text) for t in i.recorded.openings.values()) for i in told.dev} <= {3, 4, 5}
    right = [i.recorded.openings["gpt-4o-2024-05"].answer == i.case.gold for i in items]
    assert sum(right) / len(right) == pytest.approx(0.721, abs=0.002)  # as the file's description has it


@each("medagentsbench")
def test_ten_models_answered_medqa(name: str) -> None:
    _, items = parts(name, dataset="MedQA")
    assert {len(item.recorded.openings) for item in items} == {10}
    assert len(items) == 1273
    right = [item.recorded.openings["o3-mini"].answer == item.case.gold for item in items]
    assert sum(right) / len(right) == pytest.approx(0.927, abs=0.002)
    _, hard = parts(name, method="cot")
    assert {tuple(i.recorded.openings) for i in hard} == {("DeepSeek-V3", "gpt-4o", "gpt-4o-mini")}


@pytest.mark.data
@pytest.mark.parametrize("debates", find("ford_debates").options["debates"].choices)
def test_every_file_of_debates_loads_and_keeps_its_questions_on_one_side(debates: str) -> None:
    if not (DATA / "ford_debates" / f"{debates}.jsonl").is_file():
        pytest.skip("ford_debates is not here: set MACI_DATA")
    task, items = parts("ford_debates", debates=debates)
    assert task.dev and task.test
    lines = (DATA / "ford_debates" / f"{debates}.jsonl").read_text(encoding="utf-8").splitlines()
    assert 0.97 * len(lines) <= len(items) <= len(lines)
    assert all(bool(i.recorded.turns) != debates.startswith("round0") for i in items) or "table" not in debates


@each("ukp_convarg")
def test_the_longer_argument_wins_about_three_pairs_in_four(name: str) -> None:
    task, items = parts(name)
    assert not {i.group for i in task.dev} & {i.group for i in task.test}
    longer = []
    for item in items:
        one, two = item.case.context.removeprefix("Argument 1: ").split("\n\nArgument 2: ")
        words = len(one.split()), len(two.split())
        if words[0] != words[1]:
            longer.append(item.case.gold == ("argument 1" if words[0] > words[1] else "argument 2"))
    assert sum(longer) / len(longer) == pytest.approx(0.762, abs=0.005)  # as the file's description has it
