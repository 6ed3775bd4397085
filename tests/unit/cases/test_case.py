from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from maci.cases import case as case_module
from maci.cases.case import Case, Document, builtin_cases, load_case, parse_case
from maci.cases.outcomes import OutcomeSpace
from maci.errors import CaseError, InputError

GOOD = {"question": "Is it so?", "outcomes": ["yes", "no"]}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"question": None}, "question is None: input should be a valid string"),
        ({"question": 5}, "question is 5: input should be a valid string"),
        ({"question": "  "}, "the case has no question: add `question: …`"),
        ({"outcomes": 5}, "outcomes is 5: it must be a list of labels, `open`, or a table with kind"),
        ({"outcomes": ["a"]}, "at least two outcomes, got ['a']"),
        ({"outcomes": []}, "at least two outcomes"),
        ({"outcomes": ["a", "A"]}, "are the same label"),
        ({"outcomes": ["a", None]}, "outcomes.1 is None"),
        ({"outcomes": {"kind": "closd"}}, "outcomes.kind is 'closd': input should be 'closed', 'open' or 'ordered'"),
        ({"outcomes": {"labls": ["a", "b"]}}, "unknown key 'outcomes.labls': did you mean labels?"),
        ({"evidence": 5}, "evidence is 5"),
        (
            {"outcomes": ["leak", "fire"], "evidence": [{"text": "Wet.", "label": "leaks"}]},
            "no outcome of this case: did you mean leak?",
        ),
        ({"evidence": [{"txt": "x", "text": "y"}]}, "unknown key 'evidence.0.txt': did you mean text?"),
        ({"evidence": [{"source": "x"}]}, "evidence.0.text is missing: add `text: …`"),
        ({"evidence": [7]}, "evidence.0 is 7: it must be a list of texts"),
        ({"hidden": [1]}, "hidden is [1]"),
        ({"gold": "maybe"}, "gold: 'maybe' is not an outcome of this case: yes, no"),
        ({"outcomes": "open", "gold": "?"}, "gold is '?': it has no letters or digits"),
        ({"quesion": "x"}, "unknown key 'quesion': did you mean question?"),
        ({"zzz": 1}, "unknown key 'zzz'"),
        ({"question": "half \ud800"}, "is not text that UTF-8 can write"),
        ({"evidence": [{"text": "\udcff"}]}, "is not text that UTF-8 can write"),
    ],
)
def test_a_wrong_key_or_value_is_refused_by_name_and_value(change: dict, says: str) -> None:
    with pytest.raises(CaseError) as error:
        parse_case({**GOOD, **change}, "my.yaml")
    assert str(error.value).startswith("my.yaml: ")
    assert says in str(error.value)


def test_a_missing_question_is_asked_for() -> None:
    with pytest.raises(CaseError, match="question is missing: add `question: …`"):
        parse_case({"outcomes": ["a", "b"]}, "my.yaml")


@pytest.mark.parametrize("data", [None, [], "text", 3])
def test_data_that_is_no_table_is_refused_with_the_keys(data: object) -> None:
    with pytest.raises(CaseError, match="a case is a table with the keys question, context, outcomes, evidence, gold"):
        parse_case(data, "my.yaml")


def test_bare_yes_no_and_numbers_in_yaml_are_labels(tmp_path: Path) -> None:
    file = tmp_path / "c.yaml"
    file.write_text("question: q\noutcomes: [yes, no, 2, 2.5]\ngold: yes\n")
    case = load_case(str(file))
    assert case.outcomes.labels == ("yes", "no", "2", "2.5")
    assert case.gold == "yes"
    file.write_text(
        "question: q\noutcomes: {kind: ordered, labels: [-2, 0, 2], positions: [-2, 0, 2], aliases: {nil: 0}}\ngold: 0\n"
    )
    assert load_case(str(file)).outcomes.labels == ("-2", "0", "2")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("c.yaml", "question: q\noutcomes: [a, b]\ncontext: c\n"),
        ("c.toml", 'question = "q"\noutcomes = ["a", "b"]\ncontext = "c"\n'),
        ("c.json", json.dumps({"question": "q", "outcomes": ["a", "b"], "context": "c"})),
        ("C.JSON", json.dumps({"question": "q", "outcomes": "a, b", "context": "c"})),
    ],
)
def test_a_case_reads_the_same_from_every_format(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    assert load_case(str(tmp_path / name)) == Case(question="q", context="c", outcomes=OutcomeSpace(labels=("a", "b")))


@pytest.mark.parametrize(
    ("name", "data", "says"),
    [
        ("c.yaml", b"question: [", "is not valid YAML"),
        ("c.toml", b"question = ", "is not valid TOML"),
        ("c.json", b"{", "is not valid JSON"),
        ("c.yaml", b"question: \xff\xfe", "is not a text file (UTF-8): invalid start byte at byte 10"),
        ("c.yaml", b"", "a case is a table"),
    ],
)
def test_a_file_that_cannot_be_parsed_is_refused(tmp_path: Path, name: str, data: bytes, says: str) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(InputError) as error:
        load_case(str(tmp_path / name))
    assert says in str(error.value)
    assert name in str(error.value)


@pytest.mark.parametrize(
    ("name", "says"), [("x" * 300, "maci cases"), ("paper-denge", "did you mean paper-dengue"), ("", "no case file")]
)
def test_a_name_that_is_no_case_is_refused_with_a_next_step(name: str, says: str) -> None:
    with pytest.raises(CaseError) as error:
        load_case(name)
    assert says in str(error.value)


def test_a_folder_is_no_case(tmp_path: Path) -> None:
    with pytest.raises(CaseError, match="no case file"):
        load_case(str(tmp_path))


@pytest.mark.parametrize(
    ("data", "says"), [(b"question: q\noutcomes: [a, b]", None), (b"\xff", "standard input is not a text file")]
)
def test_a_case_can_come_from_standard_input(monkeypatch: pytest.MonkeyPatch, data: bytes, says: str | None) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
    if says is None:
        assert load_case("-").question == "q"
    else:
        with pytest.raises(InputError, match=says):
            load_case("-")


def test_a_built_in_case_is_read_without_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    whole, parsed = builtin_cases()["hepatitis"], []
    real = case_module.load
    monkeypatch.setattr(case_module, "load", lambda text, kind: parsed.append(text) or real(text, kind))
    assert load_case("hepatitis") == whole
    assert len(parsed) == 1 and parsed[0].count("- id: ") == 1


def test_every_built_in_case_can_be_debated() -> None:
    cases = builtin_cases()
    assert {"paper-dengue", "paper-hepatitis"} <= cases.keys()
    for name, case in cases.items():
        assert case.id == name
        assert load_case(name) == case


def test_the_query_never_holds_gold_or_hidden_findings() -> None:
    case = parse_case({**GOOD, "context": "Known.", "gold": "yes", "hidden": {"x": "SECRET"}}, "c")
    assert case.query == "Known.\nIs it so?"


def test_what_is_wrong_with_yaml_is_said_by_line_and_without_the_parsers_own_words(tmp_path):
    (tmp_path / "c.yaml").write_text("question: x\noutcomes: [a, b\ngold: a\n")
    with pytest.raises(InputError, match=r"at line 2, column 11") as caught:
        load_case(str(tmp_path / "c.yaml"))
    assert "<unicode string>" not in str(caught.value)


def test_a_misspelt_case_file_is_told_the_one_beside_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tracks.yaml").write_text("question: x\n")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "other.json").write_text("{}")
    with pytest.raises(CaseError, match=r"did you mean tracks\.yaml\?"):
        load_case("track.yaml")
    with pytest.raises(CaseError, match=r"did you mean sub/other\.json\?"):
        load_case("sub/othr.json")
    with pytest.raises(CaseError, match="lists the built-in ones"):
        load_case("nowhere/zzzz.yaml")


def test_bare_yes_no_and_numbers_in_yaml_are_findings(tmp_path: Path) -> None:
    file = tmp_path / "case.yaml"
    text = "question: Is it so?\noutcomes: [a, b]\nhidden: {rash: no, cough: yes, pulse: 110, skin: pale}\n"
    file.write_text(text, encoding="utf-8")
    assert dict(load_case(str(file)).hidden) == {"rash": "no", "cough": "yes", "pulse": "110", "skin": "pale"}
    with pytest.raises(CaseError, match=r"hidden\.rash is None"):
        parse_case({**GOOD, "hidden": {"rash": None}}, "x")


def test_labels_that_are_no_outcome_are_compared_with_the_outcomes_only_as_far_as_that_may_show_a_slip(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compared: list[str] = []
    monkeypatch.setattr("maci.cases.case.near", lambda label, *_: compared.append(label) or "")
    texts = [{"text": f"text {n}", "label": f"other {n}", "id": f"i{n}"} for n in range(300)]
    case = parse_case({"question": "Which?", "outcomes": ["a", "b"], "evidence": texts}, "here")
    assert len(case.evidence) == 300 and 0 < len(compared) <= 20


@pytest.mark.parametrize(
    ("data", "what"),
    [
        ({"question": "Why? " * 5_000}, "the question has 25,000 characters, and at most 20,000 are read"),
        ({"question": "Why?", "context": "x" * 200_001}, "the context has 200,001 characters"),
        ({"question": "Why?", "outcomes": ["a" * 5_001, "b"]}, "the name of an outcome has 5,001 characters"),
    ],
)
def test_texts_that_are_too_long_are_refused_with_the_limit(data: dict[str, Any], what: str) -> None:
    with pytest.raises(CaseError, match=what):
        parse_case(data, "a case")


def test_half_a_character_is_refused_in_a_case_made_in_python_too() -> None:
    space = OutcomeSpace(labels=("a", "b"))
    with pytest.raises(CaseError, match="UTF-8"):
        Case(question="Why \ud800?", outcomes=space)
    with pytest.raises(CaseError, match="UTF-8"):
        Case(question="Why?", outcomes=space, evidence=(Document("half \ud800"),))
