"""Every loader on small files in the real formats."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest

from dataset_files import VOTES, put, put_lines, put_rows, write_all
from maci.errors import InputError
from maci.lab.datasets import SETS, Task, find, load
from maci.lab.datasets.files import is_dev, json_lines, plain, table
from maci.lab.datasets.news import _positions
from maci.paths import data_dir

FEW = {
    name: {"per_label": 2}
    for name in ("symptom2disease", "kaggle_symptom_disease", "mbic", "babe", "basil", "allsides_articles")
}
"""Options without which a small set has nothing but evidence."""


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_all(tmp_path_factory.mktemp("data"))


def small(name: str, data: Path, **options: object) -> Task:
    return load(name, data, seed=3, options={**FEW.get(name, {}), **options})


def everything(task: Task):
    return (*task.dev, *task.test)


# What holds for every set


@pytest.mark.parametrize("name", SETS)
def test_every_set_has_items_on_both_sides_with_gold_inside_its_outcomes(name: str, data: Path) -> None:
    task = small(name, data)
    assert task.dev and task.test
    for item in everything(task):
        assert item.case.gold
        assert item.case.outcomes.kind == "open" or item.case.gold in item.case.outcomes.labels
        assert item.case.id == item.id
        for turn in item.recorded.openings.values() if item.recorded else ():
            assert turn.answer is None or turn.answer in item.case.outcomes.labels
    ids = [item.id for item in everything(task)]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("name", SETS)
def test_ids_sides_and_cases_are_the_same_every_time_and_ids_do_not_depend_on_the_seed(name: str, data: Path) -> None:
    task = small(name, data)
    assert task == small(name, data)
    other = load(name, data, seed=8, options=FEW.get(name, {}))
    ours, theirs = ({item.id: side for side in ("dev", "test") for item in getattr(t, side)} for t in (task, other))
    assert ours.keys() & theirs.keys()
    assert all(ours[i] == theirs[i] for i in ours.keys() & theirs.keys())


@pytest.mark.parametrize("name", [name for name in SETS if name not in {"budak2016", "kaggle_symptom_disease"}])
def test_no_text_is_in_two_parts(name: str, data: Path) -> None:
    task = small(name, data)
    dev, test = ({plain(item.case.query) for item in part} for part in (task.dev, task.test))
    assert not dev & test
    contexts = {plain(item.case.context) for item in everything(task)}
    assert not {plain(document.text) for document in task.evidence} & contexts


@pytest.mark.parametrize("name", SETS)
def test_every_report_can_say_what_the_traps_are(name: str, data: Path) -> None:
    entry = find(name)
    assert entry.notes and all(note.startswith(f"{name}: ") for note in entry.notes)
    assert set(entry.notes) <= set(small(name, data).notes)
    assert entry.licence and entry.source and entry.purpose and entry.about
    assert set(entry.defaults) == set(entry.options)
    for option, value in entry.defaults.items():
        choices = entry.options[option].choices
        assert not choices or value in choices
    assert not {"set", "file", "map", "label"} & set(entry.options), "a study spec needs these keys for itself"


# The way in


def test_unknown_names_say_which_were_meant() -> None:
    with pytest.raises(InputError, match=r"'gsm8': did you mean gsm8k\?"):
        find("gsm8")
    with pytest.raises(InputError, match="did you mean mmlu_pro_panel"):
        find("mmlu")
    with pytest.raises(InputError, match="`maci data` lists them"):
        find("zzz")


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("kaggle_symptom_disease", {"show": 2}, "no option 'show': did you mean shown"),
        ("kaggle_symptom_disease", {"xyz": 2}, "it has shown, per_label, open, tune"),
        ("kaggle_symptom_disease", {"shown": "two"}, "option shown is 'two': a whole number"),
        ("kaggle_symptom_disease", {"shown": True}, "option shown is True: a whole number"),
        ("kaggle_symptom_disease", {"shown": 0}, "shown is 0: show at least 1"),
        ("kaggle_symptom_disease", {"per_label": -1}, "per_label is -1"),
        ("kaggle_symptom_disease", {"open": "perhaps"}, "option open is 'perhaps': true or false"),
        ("symptom2disease", {}, "symptom2disease leaves no items in "),
        ("agentclinic", {"outcomes": "half"}, "option outcomes is 'half': choose open, closed"),
        ("mmlu_pro_panel", {"category": "magic"}, "category is 'magic': choose all or one of health, law"),
        ("mmlu_pro_panel", {"category": 3}, "option category is 3: a name"),
        ("ukp_convarg", {"per_topic": -1}, "per_topic is -1"),
        ("basil", {"words": -1}, "words is -1"),
        (
            "ford_debates",
            {"debates": "chatgpt_davinci__csqa"},
            "ford_debates needs ford_debates/chatgpt_davinci__csqa.jsonl",
        ),
    ],
)
def test_wrong_options_name_the_value_and_what_is_allowed(
    name: str, options: dict[str, object], message: str, data: Path
) -> None:
    with pytest.raises(InputError, match=message):
        load(name, data, options=options)


def test_options_may_come_from_a_command_line_and_stand_in_the_name(data: Path) -> None:
    entry = find("kaggle_symptom_disease")
    chosen = entry.choose({"shown": "3", "open": "Yes", "tune": False})
    assert chosen == {"shown": 3, "per_label": 3, "open": True, "tune": False}
    assert entry.label(chosen) == "kaggle_symptom_disease(open=true, shown=3)"
    assert load("medagentsbench", data, options={"dataset": "MedQA"}).name == "medagentsbench(dataset=medqa)"


def test_a_folder_or_file_that_is_missing_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MACI_DATA", raising=False)
    with pytest.raises(InputError, match=r"MACI_DATA \(not set\).*--data DIR"):
        load("gsm8k")
    with pytest.raises(InputError, match=r"gsm8k needs gsm8k/test\.jsonl, gsm8k/example.*`maci data show gsm8k`"):
        load("gsm8k", tmp_path)
    monkeypatch.setenv("MACI_DATA", str(tmp_path))
    assert data_dir() == tmp_path


def test_files_that_only_an_option_needs_may_be_missing_without_it(tmp_path: Path) -> None:
    from dataset_files import symptom_lists

    symptom_lists(tmp_path)
    assert small("kaggle_symptom_disease", tmp_path).test
    with pytest.raises(InputError, match=r"needs ddxplus/release_conditions\.json, ddxplus/release_ev.*, disease"):
        small("kaggle_symptom_disease", tmp_path, open=True)


def test_another_file_than_the_one_described_is_read_and_noted(data: Path) -> None:
    path = data / "ciar" / "CIAR.json"
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    assert any("ciar/CIAR.json is not the file" in n and sha256 in n for n in load("ciar", data).notes)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"question": "a"}\nnot json\n', "line 2 is not valid JSON"),
        (b"[1]\n", "line 1 is list, not a JSON object"),
        (b'{"x": 1}\n', "line 1 has no 'question'; it has 'x'"),
        (b"\xff\xfe\n", "not UTF-8 text"),
    ],
)
def test_broken_lines_are_named(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        list(json_lines(path, ("question",)))


def test_broken_tables_and_archives_are_named(tmp_path: Path) -> None:
    put(tmp_path / "x.csv", "a,b\n1,2\n")
    with pytest.raises(InputError, match=r"has no column 'c'; it has 'a', 'b'"):
        list(table(tmp_path / "x.csv", ("a", "c")))
    (tmp_path / "x.csv.gz").write_bytes(b"not gzip")
    with pytest.raises(InputError, match=r"cannot read .*x\.csv\.gz"):
        list(table(tmp_path / "x.csv.gz", ("a",)))
    with pytest.raises(InputError, match="No such file"):
        list(table(tmp_path / "none.csv", ("a",)))


# Clinical


def numbers(texts) -> list[tuple[str, int]]:
    return [(text.split()[0], int(text.split()[3].rstrip(","))) for text in texts]


def test_the_split_of_complaints_is_the_one_our_earlier_figures_were_made_with(data: Path) -> None:
    """Membership and order for seed 3, as the loader before this interface dealt them."""
    task = small("symptom2disease", data)
    assert numbers(d.text for d in task.evidence) == [("Flu", 6), ("Flu", 7), ("Gout", 6), ("Gout", 0)]
    assert numbers(i.case.context for i in task.dev) == [("Flu", 4), ("Flu", 3), ("Flu", 0), ("Gout", 3), ("Gout", 7)]
    assert numbers(i.case.context for i in task.test) == [
        ("Flu", 2), ("Flu", 1), ("Flu", 5), ("Gout", 4), ("Gout", 1), ("Gout", 5), ("Gout", 2),
    ]  # fmt: skip
    assert [d.label for d in task.evidence] == ["Flu", "Flu", "Gout", "Gout"]


def test_the_split_and_masks_of_symptom_lists_are_the_earlier_ones_too(data: Path) -> None:
    task = small("kaggle_symptom_disease", data)
    assert task.evidence[0].text == "aids sign a, aids sign b, aids sign c, case 2"
    assert [i.case.context for i in task.dev] == [
        "flu sign c, case 2",
        "flu sign b, case 1",
        "gout sign b, case 1",
        "gout sign a, gout sign b",
        "gout sign a, case 3",
    ]
    assert [i.case.context for i in task.test][:2] == ["aids sign c, case 4", "aids sign a, aids sign c"]
    assert {i.case.gold for i in everything(task)} == {"AIDS", "Flu", "Gout"}, "blanks around a name are no part of it"


def test_duplicates_count_once_and_tuning_never_sees_test(data: Path) -> None:
    task = small("symptom2disease", data, per_label=0)
    assert len(everything(task)) == 16
    tuned = small("symptom2disease", data, tune=True)
    assert not tuned.test and all(is_dev(item.case.context) for item in tuned.dev)
    assert all(is_dev(document.text) for document in tuned.evidence)


def test_more_symptoms_can_be_shown(data: Path) -> None:
    task = small("kaggle_symptom_disease", data, shown=3)
    assert {len(item.case.context.split(", ")) for item in everything(task)} == {3}


def test_open_joins_the_label_spaces_and_knows_that_two_names_are_one_condition(data: Path) -> None:
    task = small("kaggle_symptom_disease", data, open=True)
    space = task.dev[0].case.outcomes
    assert space.kind == "open" and space.declared == len(space.labels)
    # own labels, then the others' once each: Lupus is SLE, the deficiency syndrome is AIDS, gout is Gout
    assert space.labels == ("AIDS", "Flu", "Gout", "Croup", "SLE", "Warts")
    assert space.aliases["Lupus erythematosus"] == "SLE"
    told = {(d.label, d.text) for d in task.evidence if d.source == "knowledge"}
    assert ("Croup", "Croup: Do you cough? Do you have a fever?") in told
    assert ("AIDS", "Acquired Immuno Deficiency Syndrome: fever") in told
    assert ("SLE", "Lupus erythematosus: rash, fever") in told and ("Gout", "gout: swelling") in told
    closed = small("kaggle_symptom_disease", data)
    assert [i.id for i in everything(closed)] == [i.id for i in everything(task)]


def test_stations_withhold_examination_and_tests_and_merge_spellings(data: Path) -> None:
    task = load("agentclinic", data)
    items = everything(task)
    assert len(items) == 10, "the repeated station counts once"
    case = items[0].case
    assert "Symptoms, Secondary Symptoms: fever; chills" in case.context
    assert "39 C" not in case.context and "shadow" not in case.context and "None" not in case.context
    assert case.hidden == {
        "Physical Examination Findings, Vital Signs, Temperature": "39 C",
        "Test Results, X-ray": "shadow",
    }
    assert case.outcomes.labels == () and case.outcomes.kind == "open"
    golds = {item.case.gold for item in items}
    assert len(golds) == 7 and "Chronic obstructive pulmonary disease (COPD)" in golds
    assert task.aliases["COPD"] == "Chronic obstructive pulmonary disease (COPD)"
    assert task.aliases["Bowen disease"] == "Bowen’s disease"
    closed = load("agentclinic", data, options={"outcomes": "closed"})
    assert set(closed.dev[0].case.outcomes.labels) == golds


# News


def test_tone_towards_the_parties_becomes_a_position_between_them() -> None:
    # raters said (-2, 0) and (0, +1): Democrats -1 on average, Republicans +0.5
    where, raters = _positions([(-2, 0), (0, 1)], "slant")
    assert where == pytest.approx(0.75) and raters == {"democrat_vote": 1.0, "republican_vote": 0.5}
    where, raters = _positions([(-2, 0), (0, 1)], "tone")
    assert where == pytest.approx(-0.25) and raters == {"democrat_vote": -1.0, "republican_vote": 0.5}


def test_ratings_without_text_are_for_statistics_of_raters_and_say_so(data: Path) -> None:
    task = load("budak2016", data)
    assert any("TOWARDS each party" in note for note in task.notes)
    assert any("no text" in note for note in task.notes)
    assert len(everything(task)) == 14, "addresses that differ in case are two"
    scandal = load("budak2016", data, options={"scandals": True})
    (item,) = everything(scandal)
    # shown: (-2, 0) -> +1; blinded: (0, +1) -> +0.5; together 0.75, nearest step +1
    assert item.raters == {"democrat_vote": 1.0, "republican_vote": 0.5, "outlet_shown": 1.0, "blinded": 0.5}
    assert item.case.gold == "+1" and item.group == "Democrat Scandals"


def test_rated_articles_are_ordered_masked_and_say_whose_votes_they_are(data: Path) -> None:
    task = load("budak_allsides_text", data)
    assert any("not votes by Democrats" in note for note in task.notes)
    item = next(i for i in everything(task) if i.case.context.startswith("Title 4\n"))
    assert item.case.outcomes.positions == (-2, -1, 0, 1, 2)
    # both raters -2 towards Democrats; 0 and 4 % 3 = 1 towards Republicans: (0.5 + 2) / 2 = 1.25
    assert item.raters == {"democrat_vote": 2.0, "republican_vote": 0.5} and item.case.gold == "+1"
    assert "[outlet] and [outlet] reported story 4" in item.case.context
    assert {i.group for i in everything(task)} == {"CNN", "Fox News"}
    tone = load("budak_allsides_text", data, options={"scale": "tone"})
    same = next(i for i in everything(tone) if i.id == item.id)
    assert same.raters == {"democrat_vote": -2.0, "republican_vote": 0.5} and same.case.gold == "-1"
    bare = load("budak_allsides_text", data, options={"mask": False, "words": 6, "per_label": 0})
    assert any(i.case.context == "Title 4 Fox News and CNN …" for i in everything(bare))
    only = load("budak_allsides_text", data, options={"scandals": True, "per_label": 0})
    assert [i.case.context.split("\n")[0] for i in everything(only)] == ["Title 3"]


def test_evidence_of_news_is_drawn_from_development_only(data: Path) -> None:
    tests = [{i.id for i in load("allsides_articles", data, seed=s, options={"per_label": 2}).test} for s in range(4)]
    assert tests[0] == tests[1] == tests[2] == tests[3]
    drawn = [
        {d.text for d in load("allsides_articles", data, seed=s, options={"per_label": 2}).evidence} for s in range(4)
    ]
    assert len(set(map(frozenset, drawn))) > 1
    long = load("budak_allsides_text", data).evidence
    assert long and all(len(d.text.split()) <= 121 for d in long)


def test_an_outlet_whose_name_is_a_word_is_masked_in_its_own_articles(data: Path) -> None:
    assert all("[outlet] has it" in i.case.context for i in everything(load("allsides_articles", data)))


def test_the_three_articles_of_an_event_stay_together(data: Path) -> None:
    task = load("basil", data, options={"per_label": 0})
    events = [{i.case.context.split("\n")[0] for i in part} for part in (task.dev, task.test)]
    assert not events[0] & events[1] and len(events[0] | events[1]) == 15
    assert len(everything(task)) == 44, "the article without a stance is left out"
    assert {(i.group, i.case.gold) for i in everything(task)} == {
        ("New York Times", "left"),
        ("Fox News", "right"),
        ("HuffPost", "center"),
    }
    assert all("As [outlet] said" in i.case.context for i in everything(task) if i.group == "Fox News")


def test_shares_of_left_and_right_raters_are_positions_on_the_scale(data: Path) -> None:
    task = load("mbic", data, options={"per_label": 0})
    assert len(everything(task)) == 20, "the sentence without agreement is left out"
    # left: rater 1 Biased (his first word counts), rater 2 not; right: rater 3 Biased; rater 4 is in the middle
    assert {tuple(i.raters.items()) for i in everything(task)} == {(("left", 0.5), ("right", 1.0))}
    assert task.dev[0].case.outcomes.positions == (0, 1)
    (floor,) = [note for note in task.notes if "shuffled" in note]
    assert "differ by 0.500 a sentence" in floor
    experts = load("mbic", data, options={"gold": "expert", "per_label": 0})
    assert {i.case.gold for i in everything(experts)} == {"Biased"}


def test_no_sentence_is_development_in_one_set_and_test_in_the_other(data: Path) -> None:
    ours, theirs = (load(name, data, options={"per_label": 0}) for name in ("mbic", "babe"))
    both = {i.id for i in everything(ours)} & {i.id for i in everything(theirs)}
    assert len(both) == 20, "blanks make no difference"
    assert both & {i.id for i in ours.dev} == both & {i.id for i in theirs.dev}
    apart = load("babe", data, options={"without_mbic": True, "per_label": 0})
    assert len(everything(apart)) == 20 and not both & {i.id for i in everything(apart)}
    assert all("Only here" in i.case.context for i in everything(apart))


# Objective


def test_recorded_solutions_become_numbers_or_abstentions(data: Path) -> None:
    item = next(i for i in everything(load("gsm8k", data)) if " 12 times" in i.case.question)
    said = {model: turn.answer for model, turn in item.recorded.openings.items()}
    assert said == {
        "6b_finetuning": "12000",
        "6b_verification": "7",
        "175b_finetuning": None,
        "175b_verification": None,
    }
    assert item.case.outcomes.labels == ("7", "12000") and item.case.gold == "12000"
    assert item.recorded.openings["6b_finetuning"].text.startswith("A: wrong first")
    blank = load("gsm8k", data, options={"listed": False})
    assert all(i.case.outcomes.labels == () for i in everything(blank))


def test_the_lure_is_evidence_only_when_asked_for(data: Path) -> None:
    plainly, tempted = load("ciar", data), load("ciar", data, options={"lure": True})
    case = plainly.dev[0].case
    assert case.gold == "0.75" and set(case.outcomes.labels) == {"0.75", "0.9"} and not case.evidence
    assert case.outcomes.aliases == {"75%": "0.75", "90%": "0.9"}
    assert [d.text for d in tempted.dev[0].case.evidence] == ["It seems so."]


def test_pages_that_did_not_load_stay_and_empty_ones_go(data: Path) -> None:
    task = load("covid_claims", data)
    item = next(i for i in everything(task) if i.id == "C1")
    assert item.case.gold == "false"
    assert [d.text for d in item.case.evidence] == ["A page\nIt holds.", "The page did not load."]
    assert item.case.evidence[1].source == "http://y.org"


# Recorded


def test_development_questions_are_those_with_the_smallest_hashes(data: Path) -> None:
    task = load("mmlu_pro_panel", data)
    ranked = sorted(map(str, range(1, 41)), key=lambda i: hashlib.sha256(i.encode()).hexdigest())
    assert {i.id for i in task.dev} == set(ranked[:20]), "of 40 questions half; of many 1,200"


def test_what_is_not_a_letter_of_the_question_is_an_abstention(data: Path) -> None:
    items = {i.id: i for i in everything(load("mmlu_pro_panel", data))}
    # gpt said B, deepseek nothing, gemini NA, phi A; of question 2 gemini said J where four options are
    said = {model: turn.answer for model, turn in items["1"].recorded.openings.items()}
    assert said == {"gpt": "B", "deepseek": None, "gemini": None, "phi": "A"}
    assert items["2"].recorded.openings["gemini"].answer is None
    assert items["2"].case.question == "MMLU-Pro question 2" and items["2"].group == "law"


def test_reasons_and_texts_are_there_where_they_were_kept(data: Path) -> None:
    items = {i.id: i for i in everything(load("mmlu_pro_panel", data, options={"rationales": True}))}
    assert set(items) == {"1", "3"}
    case = items["3"].case
    assert case.question == "Question 3?" and case.context.startswith("(A) one\n(B) two")
    # an option's text is another name of its letter, unless it is ambiguous or itself a letter
    assert case.outcomes.aliases == {"one": "A"}
    turns = items["3"].recorded.openings
    assert turns["gpt"].text == "It is two." and turns["deepseek"].text == "Hm." and turns["phi"].text == ""


def test_medical_answers_keep_tokens_and_only_bare_letters_count(data: Path) -> None:
    task = load("medagentsbench", data)
    item = everything(task)[0]
    said = {model: turn.answer for model, turn in item.recorded.openings.items()}
    assert said == {"gpt-4o": "A", "o1-mini": None, "QwQ": None, "haiku": None}
    turn = item.recorded.openings["gpt-4o"]
    assert (turn.prompt_tokens, turn.completion_tokens, turn.seconds) == (100, 7, 1.5)
    assert len(everything(task)) == 24
    hard = load("medagentsbench", data, options={"dataset": "pubmedqa", "hard": True})
    assert {i.id for i in everything(hard)} == {"pubmedqa/0", "pubmedqa/4", "pubmedqa/8"}
    cot = load("medagentsbench", data, options={"method": "cot"})
    assert {i.recorded.openings["gpt-4o"].answer for i in everything(cot)} == {"C"}
    assert cot.dev[0].recorded.openings["gpt-4o"].prompt_tokens is None


def test_a_real_debate_is_openings_then_turns(data: Path) -> None:
    task = load("ford_debates", data)
    assert len(everything(task)) == 10, "of a repeated question the first debate counts"
    item = task.dev[0]
    assert {m: t.answer for m, t in item.recorded.openings.items()} == {"chatgpt": None, "davinci": "A", "gpt4": "B"}
    assert [(m, t.answer, t.text) for m, t in item.recorded.turns] == [
        ("chatgpt", None, "Still not."),
        ("davinci", "B", "Right."),
    ]
    assert item.case.context == "(A) Use a can\n(B) Use a bag (see (1))" and item.group == "piqa"
    opened = load("ford_debates", data, options={"debates": "round0_panel__piqa"})
    assert {i.id for i in opened.dev} == {i.id for i in task.dev}, "the same question is on the same side in every file"
    assert opened.dev[0].recorded.turns == ()


def test_yes_or_no_questions_and_debates_without_a_usable_gold(data: Path) -> None:
    (item,) = everything(load("ford_debates", data, options={"debates": "chatgpt_davinci__strategyqa"}))
    assert item.case.outcomes.labels == ("yes", "no") and item.recorded.openings["gpt4"].answer == "yes"


# Arguments


def test_pairs_are_split_by_topic_side(data: Path) -> None:
    task = load("ukp_convarg", data)
    assert len(everything(task)) == 24, "a pair with an unknown argument is left out"
    assert not {i.group for i in task.dev} & {i.group for i in task.test}
    first = next(i for i in everything(task) if i.id == "topic-0_yes/arg0_arg1")
    assert first.case.gold == "argument 1"
    assert 'Argument 1: Argument "0 of topic-0_yes\nnext line' in first.case.context
    assert len(everything(load("ukp_convarg", data, options={"per_topic": 1}))) == 12


# The files described


def test_every_file_has_a_pinned_checksum() -> None:
    for entry in SETS.values():
        for file in entry.files:
            assert len(file.sha256) == 64 and file.bytes > 0
            name, _, value = file.needed_for.partition("=")
            assert not name or (name in entry.options and value)


def test_rows_here_are_counted_without_loading(data: Path, tmp_path: Path) -> None:
    assert find("ciar").rows(data) == 10
    assert find("symptom2disease").rows(data) == 18
    assert find("covid_claims").rows(data) == 10
    assert find("mmlu_pro_panel").rows(data) == 40
    assert find("babe").rows(data) == 41
    assert find("babe").rows(tmp_path) is None


def test_unreadable_votes_and_odd_rows_do_not_become_answers(tmp_path: Path) -> None:
    header = ("url", "q3", "perceived", "primary_topic", "secondary_topic", "democrat_vote", "republican_vote")
    rows = [(f"u{n}", "News", 0, "x", "x", VOTES[2], VOTES[2]) for n in range(8)] + [
        ("v", "News", 0, "x", "x", "?", "")
    ]
    put_rows(tmp_path / "budak2016" / "newsArticlesWithLabels.tsv", header, rows, "\t")
    assert len(everything(load("budak2016", tmp_path))) == 8
    put_lines(tmp_path / "covid_claims" / "claims.jsonl.gz", [
        {"id": "a", "claim": "x", "veracity": ["True", "False"], "label": [], "sources": []},
        {"id": "b", "claim": "y", "veracity": ["True"], "label": [], "sources": []},
    ])  # fmt: skip
    assert [i.id for i in everything(load("covid_claims", tmp_path))] == ["b"], (
        "a claim both true and false has no truth"
    )
    put(tmp_path / "ciar" / "CIAR.json", "[1,")
    with pytest.raises(InputError, match=r"CIAR\.json is not JSON"):
        load("ciar", tmp_path)


def test_what_the_page_about_data_shows_runs(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (Path(__file__).parents[4] / "docs" / "data.md").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    put_rows(tmp_path / "tickets.csv", ("text", "team"), [(f"ticket {n}", "ab"[n % 2]) for n in range(9)])
    first, second = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    names: dict[str, object] = {"folder": data}
    exec(first, names)
    assert names["task"].name == "kaggle_symptom_disease(shown=3)" and f"# {names['task'].name}" in first
    exec(second, names)
    assert names["task"].name == "tickets.csv" and len(everything(names["task"])) == 9
