"""A user's own file as a task, and what is said about a file that cannot be one."""

from __future__ import annotations

import gzip
import importlib
import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from maci.case.datasets import Task, load, load_own
from maci.case.datasets.files import is_dev, plain
from maci.case.datasets.own import FIELDS, parse_map
from maci.errors import InputError, MissingExtra

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
    with pytest.raises(InputError, match="no option 'shown': it has map, question, outcomes"):
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
        "mine.csv: 1 rows repeat an earlier text and count once (rows 3).",
        "mine.csv: 1 rows repeat an earlier text with ANOTHER gold outcome; the first counts (rows 4).",
    )


@pytest.mark.parametrize(
    ("text", "more", "message"),
    [
        ("text,gold\na,x\n", {"columns": {"context": "txt"}}, r"has no column 'txt'; it has 'text', 'gold'"),
        ("text,gold\na,x\n", {"columns": {"contxt": "text"}}, r"cannot map to 'contxt': did you mean 'context'\?"),
        ("text,gold\na,x\n", {"columns": {"zzz": "text"}}, r"cannot map to 'zzz': choose question, context"),
        ("text,gold\na,x\n", {}, r"has no column 'context'; it has 'text', 'gold'"),
        ("context,label\na,x\n", {}, r"no column says the true outcome.*gold=COLUMN.*context, label"),
        ("context,gold\na,x\n", {"question": ""}, r"nothing is asked. Map a column to question"),
        ("context,gold\na,x\n ,y\n", {}, r"row 2: the case is empty"),
        ("context,gold\na,x\nb,\nc,y\n", {}, r"row 2: gold is empty"),
        (
            "context,gold\na,x\nb,z\n",
            {"outcomes": ["x", "y"]},
            r"row 2: gold: 'z' is not an outcome of this case: x, y",
        ),
        ("context,gold\na,x\nb,x\n", {}, r"row 1: a debate needs at least two outcomes"),
        ("context,gold,outcomes\na,x,x|X\n", {}, r"row 1: outcomes 'x' and 'X' are the same label"),
        ("context,gold,id\na,x,1\nb,y,1\n", {}, r"row 2: the id '1' is that of row 1 too"),
        ("context,gold\n", {}, r"has no rows"),
        ("", {}, r"has no rows"),
    ],
)
def test_what_is_wrong_is_named_with_its_row(text: str, more: dict, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        load_own(write(tmp_path / "mine.csv", text), **{"question": QUESTION, **more})


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"there is no file .*none\.csv"):
        load_own(tmp_path / "none.csv")
    (tmp_path / "bytes.csv").write_bytes(b"context,gold\n\xff\xfe,x\n")
    with pytest.raises(InputError, match="not UTF-8 text"):
        load_own(tmp_path / "bytes.csv")
    with pytest.raises(InputError, match=r"mine\.jsonl, line 2 is not JSON"):
        load_own(write(tmp_path / "mine.jsonl", '{"question": "a", "gold": "x"}\n{\n'))


@pytest.mark.parametrize("text", ["context", "=text", "context="])
def test_a_mapping_is_field_equals_column(text: str) -> None:
    with pytest.raises(InputError, match="write field=column"):
        parse_map([text])


def test_parquet_without_its_package_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr("maci.case.datasets.own.importlib.import_module", missing)
    with pytest.raises(MissingExtra, match=r"pip install .*\[eval\]"):
        load_own(write(tmp_path / "mine.parquet", ""))


def test_a_parquet_file_that_is_none_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(path: Path) -> None:
        raise RuntimeError("Magic bytes\nnot found")

    fake = SimpleNamespace(read_table=broken)
    monkeypatch.setattr("maci.case.datasets.own.importlib.import_module", lambda name: fake)
    with pytest.raises(InputError, match=r"cannot read .*mine\.parquet: Magic bytes not found"):
        load_own(write(tmp_path / "mine.parquet", ""))


def test_parquet_is_read_where_the_package_is(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="the extra `eval` is not installed")
    arrow, parquet = importlib.import_module("pyarrow"), importlib.import_module("pyarrow.parquet")
    rows = {"question": ["One?", "Two?"], "gold": ["x", "y"], "evidence": [["a", "b"], None]}
    parquet.write_table(arrow.table(rows), tmp_path / "mine.parquet")
    found = items(load_own(tmp_path / "mine.parquet"))
    assert found["One?"].case.gold == "x" and [d.text for d in found["One?"].case.evidence] == ["a", "b"]
    assert found["Two?"].case.evidence == ()


def test_every_field_is_explained() -> None:
    assert all(FIELDS.values())
