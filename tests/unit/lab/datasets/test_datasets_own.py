"""A user's own file as a task, and what is said about a file that cannot be one."""

from __future__ import annotations

import gzip
import importlib
import json
from pathlib import Path

import pytest

from maci.cases.case import Document
from maci.errors import InputError, MissingExtra
from maci.files import worker
from maci.lab.datasets import Task, load, load_own
from maci.lab.datasets.files import is_dev, plain
from maci.lab.datasets.own import FIELDS, parse_map

QUESTION = "What is it?"


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def items(task: Task):
    return {item.case.context or item.case.question: item for item in (*task.dev, *task.test)}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    rows = "".join(f"text {n},{'Gout' if n % 2 else 'Flu'},ward {n % 3}\n" for n in range(20))
    return write(tmp_path / "mine.csv", "text,label,ward\n" + rows)


def test_columns_are_mapped_and_outcomes_are_all_golds_of_the_file(table: Path) -> None:
    task = load_own(table, columns={"context": "text", "gold": "label", "group": "ward"}, question=QUESTION)
    assert task.name == "mine.csv" and not task.notes
    found = items(task)
    assert len(found) == 20
    case = found["text 3"].case
    assert (case.question, case.gold, case.outcomes.labels) == (QUESTION, "Gout", ("Flu", "Gout"))
    assert found["text 3"].group == "ward 0"
    assert {i.case.context for i in task.dev} == {c for c in found if is_dev(plain(f"{QUESTION}\n{c}"))}
    assert task.dev and task.test


def test_a_file_stands_where_a_data_set_can(table: Path) -> None:
    for mapping in ({"context": "text", "gold": "label"}, ["context=text", "gold=label"], "context=text,gold=label"):
        task = load(str(table), options={"map": mapping, "question": QUESTION, "outcomes": "Flu | Gout | Acne"})
        assert task.dev[0].case.outcomes.labels == ("Flu", "Gout", "Acne")
    said_in_map = {"context": "text", "gold": "label", "question": QUESTION, "outcomes": ["Flu", "Gout", "Warts"]}
    assert load(str(table), options={"map": said_in_map}).dev[0].case.outcomes.labels[-1] == "Warts"
    with pytest.raises(InputError, match="no option 'shown': it has map, question, outcomes, per_label"):
        load(str(table), options={"shown": 2})


def test_lines_of_json_may_hold_lists_and_numbers(tmp_path: Path) -> None:
    entries = [
        {"id": "a", "question": "One?", "outcomes": ["1", "2"], "gold": 2, "evidence": ["It is two.", "Surely."]},
        {"id": "b", "question": "So?", "outcomes": "yes|no", "gold": True, "evidence": '["One text."]'},
        {"id": "c", "question": "Free?", "outcomes": "open", "gold": "anything", "evidence": "A single text."},
    ]
    path = tmp_path / "mine.jsonl.gz"
    path.write_bytes(gzip.compress("\n\n".join(map(json.dumps, entries)).encode()))
    found = items(load_own(path))
    assert found["One?"].case.gold == "2" and [d.text for d in found["One?"].case.evidence] == ["It is two.", "Surely."]
    assert found["So?"].case.gold == "yes" and found["So?"].case.outcomes.labels == ("yes", "no")
    assert [d.text for d in found["So?"].case.evidence] == ["One text."]
    assert found["Free?"].case.outcomes.kind == "open" and found["Free?"].id == "c"
    assert [d.text for d in found["Free?"].case.evidence] == ["A single text."]


def test_gold_is_spelled_as_the_outcomes_are(tmp_path: Path) -> None:
    path = write(tmp_path / "mine.tsv", "question\tgold\toutcomes\nOne?\tFLU \tFlu|Gout\n")
    assert items(load_own(path))["One?"].case.gold == "Flu"


def test_repeated_texts_count_once_and_are_reported(tmp_path: Path) -> None:
    path = write(tmp_path / "mine.csv", "context,gold\na,x\nb,y\na,x\na,y\nc,x\n")
    task = load_own(path, question=QUESTION)
    assert set(items(task)) == {"a", "b", "c"} and items(task)["a"].case.gold == "x"
    assert task.notes == (
        "mine.csv: 1 row repeats an earlier text and counts once (line 4).",
        "mine.csv: 1 row repeats an earlier text with ANOTHER gold outcome; the first counts (line 5).",
    )


@pytest.mark.parametrize(
    ("text", "more", "message"),
    [
        ("text,gold\na,x\n", {"columns": {"context": "txt"}}, r"has no column 'txt'; it has 'text', 'gold'"),
        ("text,gold\na,x\n", {"columns": {"contxt": "text"}}, r"cannot map to 'contxt': did you mean context\?"),
        ("text,gold\na,x\n", {"columns": {"zzz": "text"}}, r"cannot map to 'zzz': choose question, context"),
        ("text,gold\na,x\n", {}, r"has no column 'context'; it has 'text', 'gold'"),
        ("context,label\na,x\n", {}, r"no column says the true outcome.*gold=COLUMN.*context, label"),
        ("context,gold\na,x\n", {"question": ""}, r"nothing is asked. Map a column to question"),
        ("context,gold\na,x\n ,y\n", {}, r"line 3: the case is empty"),
        ("context,gold\na,x\nb,\nc,y\n", {}, r"line 3: gold is empty"),
        (
            "context,gold\na,x\nb,z\n",
            {"outcomes": ["x", "y"]},
            r"line 3: gold: 'z' is not an outcome of this case: x, y",
        ),
        ("context,gold\na,x\nb,x\n", {}, r"lines 2, 3: a debate needs at least two outcomes"),
        ("context,gold,outcomes\na,x,x|X\n", {}, r"line 2: outcomes 'x' and 'X' are the same label"),
        ("context,gold,id\na,x,1\nb,y,1\n", {}, r"line 3: the id '1' is that of line 2 too"),
        ("context,gold\na, b,x\n", {}, r"line 2: it has more cells than the header; put texts that contain"),
        ("context,gold\na,x\n", {"per_label": -1}, r"per_label is -1: it must be a whole number"),
        ("context,gold\n", {}, r"has no rows"),
        ("context,gold\n , \n", {}, r"has no rows"),
        ("", {}, r"has no rows"),
    ],
)
def test_what_is_wrong_is_named_with_its_row(text: str, more: dict, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        load_own(write(tmp_path / "mine.csv", text), **{"question": QUESTION, **more})


def test_all_bad_rows_are_reported_at_once_and_the_same_fault_once(tmp_path: Path) -> None:
    path = write(tmp_path / "mine.csv", 'context,gold\n"a\nb",x\nc,\nd,\n,y\ne,y\n')
    with pytest.raises(InputError) as refused:
        load_own(path, question=QUESTION)
    # the first case takes lines 2 and 3
    assert str(refused.value).splitlines() == [
        f"{path}: 3 rows cannot be used",
        "  lines 4, 5: gold is empty; write the true outcome, or leave the row out",
        "  line 6: the case is empty, it has neither context nor a question",
    ]
    entries = [{"id": "same" if n < 2 else f"{n}", "question": f"{n}?", "gold": f"y{n}"} for n in range(10)]
    several = write(tmp_path / "mine.jsonl", "\n".join(map(json.dumps, entries)))
    with pytest.raises(InputError, match=r"9 rows cannot be used(\n  line \d+: gold.*){5}\n  … and 4 more"):
        load_own(several, outcomes=["y0", "other"])


def test_blank_rows_are_left_out_with_a_note(tmp_path: Path) -> None:
    path = write(tmp_path / "mine.csv", "context,gold\na,x\n , \nb,y\n,\n\n")
    task = load_own(path, question=QUESTION)
    assert set(items(task)) == {"a", "b"}
    assert task.notes == ("mine.csv: 2 rows are blank and left out (lines 3, 5).",)


@pytest.mark.parametrize("mark", [";", "\t"])
def test_a_csv_may_be_divided_by_what_its_header_is_divided_by(tmp_path: Path, mark: str) -> None:
    path = write(tmp_path / "mine.csv", f"context{mark}gold\na, b{mark}x\nc{mark}y\n")
    assert items(load_own(path, question=QUESTION))["a, b"].case.gold == "x"


def test_the_order_of_rows_does_not_matter(tmp_path: Path) -> None:
    rows = [f"text {n},{'Gout' if n % 2 else 'flu'}\n" for n in range(20)]
    tasks = [
        load_own(write(tmp_path / "mine.csv", "context,gold\n" + "".join(some)), question=QUESTION, per_label=2, seed=3)
        for some in (rows, rows[::-1])
    ]
    assert tasks[0] == tasks[1] and tasks[0].test[0].case.outcomes.labels == ("flu", "Gout")


def test_evidence_may_be_labelled_and_other_objects_are_refused(tmp_path: Path) -> None:
    entry = {"question": "One?", "outcomes": ["a", "b"], "gold": "a"}
    given = [{"text": "So it is.", "label": "a", "source": "book", "id": "s1"}, {"text": "Or not."}, "Plain."]
    path = write(tmp_path / "mine.jsonl", json.dumps({**entry, "evidence": given}))
    assert items(load_own(path))["One?"].case.evidence == (
        Document("So it is.", "book", "s1", "a"),
        Document("Or not.", "evidence 2"),
        Document("Plain.", "evidence 3"),
    )
    for odd, said in (({"text": "x", "lable": "a"}, "has 'lable'"), ({"label": "a"}, "has no text")):
        write(path, json.dumps({**entry, "evidence": ["x", odd]}))
        with pytest.raises(InputError, match=rf"line 1: evidence 2 {said}: write a text, or an object of text, label"):
            load_own(path)


def test_development_texts_of_each_label_can_be_evidence(table: Path) -> None:
    columns = {"context": "text", "gold": "label"}
    whole = load_own(table, columns=columns, question=QUESTION)
    task = load_own(table, columns=columns, question=QUESTION, per_label=2)
    drawn = {d.text: d.label for d in task.evidence}
    dev = {i.case.context: i.case.gold for i in whole.dev}
    assert sorted(drawn.values()) == ["Flu", "Flu", "Gout", "Gout"] and drawn.items() <= dev.items()
    assert task.test == whole.test
    assert {i.case.context for i in task.dev} == set(dev) - set(drawn)
    assert "4 development texts, at most 2 of each label, are evidence" in task.notes[0]
    draws = [
        {
            d.text
            for d in load(
                str(table), seed=s, options={"map": {**columns, "per_label": 2}, "question": QUESTION}
            ).evidence
        }
        for s in range(8)
    ]
    assert draws[0] == set(drawn) and any(draw != draws[0] for draw in draws)


def test_a_text_of_a_test_case_is_never_evidence(tmp_path: Path) -> None:
    # the same context under many questions: some are development, some test
    lines = [
        {"question": f"Is it {n}?", "context": "All the same.", "gold": "yes" if n % 2 else "no"} for n in range(20)
    ]
    task = load_own(write(tmp_path / "mine.jsonl", "\n".join(map(json.dumps, lines))), per_label=3)
    assert task.dev and task.test and not task.evidence


def test_a_question_in_the_map_is_known_by_its_mark_or_a_blank(table: Path) -> None:
    for question in ("Which?", "Name the illness"):
        task = load_own(table, columns={"context": "text", "gold": "label", "question": question})
        assert task.test[0].case.question == question
    with pytest.raises(InputError, match="no column 'illness'"):
        load_own(table, columns={"context": "text", "gold": "label", "question": "illness"})


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"there is no file .*none\.csv"):
        load_own(tmp_path / "none.csv")
    (tmp_path / "bytes.csv").write_bytes(b"context,gold\n\xff\xfe,x\n")
    with pytest.raises(InputError, match="not UTF-8 text"):
        load_own(tmp_path / "bytes.csv")
    with pytest.raises(InputError, match=r"mine\.jsonl, line 2 is not valid JSON"):
        load_own(write(tmp_path / "mine.jsonl", '{"question": "a", "gold": "x"}\n{\n'))


@pytest.mark.parametrize("text", ["context", "=text", "context="])
def test_a_mapping_is_field_equals_column(text: str) -> None:
    with pytest.raises(InputError, match="write field=column"):
        parse_map([text])


def test_parquet_without_its_package_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr("maci.errors.import_module", missing)
    with pytest.raises(MissingExtra, match=r"pip install .*\[eval\]"):
        load_own(write(tmp_path / "mine.parquet", ""))


def test_a_parquet_file_that_is_none_is_named(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="the extra `eval` is not installed")
    with pytest.raises(InputError, match=r"cannot read .*mine\.parquet: .*magic bytes not found"):
        load_own(write(tmp_path / "mine.parquet", "question,gold\n" * 10))


def test_a_parquet_file_that_unpacks_to_too_much_is_refused_in_a_child(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow", reason="the extra `eval` is not installed")
    parquet = importlib.import_module("pyarrow.parquet")
    many = {"question": arrow.array(["x"] * 2_000_001).dictionary_encode(), "gold": ["y"] * 2_000_001}
    parquet.write_table(arrow.table(many), tmp_path / "many.parquet")
    assert (tmp_path / "many.parquet").stat().st_size < 100_000
    with pytest.raises(
        InputError, match=r"many\.parquet has 2,000,001 rows of 2 columns, over 4,000,000 values: split it"
    ):
        load_own(tmp_path / "many.parquet")
    long = {"question": ["x" * (1 << 20)] * 300, "gold": ["y"] * 300}
    parquet.write_table(arrow.table(long), tmp_path / "long.parquet", use_dictionary=False)
    with pytest.raises(InputError, match=r"long\.parquet has 314,[\d,]+ bytes when unpacked, over 268,435,456"):
        load_own(tmp_path / "long.parquet")


def test_a_csv_line_longer_than_a_document_is_refused(tmp_path: Path) -> None:
    cells = "," * (8 << 20)
    with pytest.raises(InputError, match=r"mine\.csv, line 2 has more than 8,388,608 characters"):
        load_own(write(tmp_path / "mine.csv", f"question,gold\n{cells}x\n"))


def test_parquet_is_read_where_the_package_is(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="the extra `eval` is not installed")
    arrow, parquet = importlib.import_module("pyarrow"), importlib.import_module("pyarrow.parquet")
    rows = {"question": ["One?", "Two?"], "gold": ["x", "y"], "evidence": [["a", "b"], None]}
    parquet.write_table(arrow.table(rows), tmp_path / "mine.parquet")
    found = items(load_own(tmp_path / "mine.parquet"))
    assert found["One?"].case.gold == "x" and [d.text for d in found["One?"].case.evidence] == ["a", "b"]
    assert found["Two?"].case.evidence == ()
    assert worker.ask("YAML", text="a: 1", memory=1 << 30) == {"a": 1}  # not by the child that has loaded so much


def test_every_field_is_explained() -> None:
    assert all(FIELDS.values())
