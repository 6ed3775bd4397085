"""What is scored: transcripts, files, built-in debates; and what people are shown of it."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hash_encoder import HashEncoder
from maci.calibration.stats.resampling import Sampling
from maci.errors import InputError
from maci.evidence.encode import load_encoder
from maci.lab.audit.judges.agreement import against_people, code, exported, human_alpha, imported
from maci.lab.audit.judges.items import builtin, draw, gather
from planted_judges import arguments

FROZEN = Path(__file__).parents[3] / "transcripts" / "format-5.jsonl"


def test_arguments_of_a_transcript_are_read():
    (batch,) = gather([FROZEN], HashEncoder())
    assert batch.items and all(item.debate == FROZEN.stem and item.request.argument.claim for item in batch.items)
    assert {item.agent for item in batch.items} and all(item.family for item in batch.items)
    assert not any(item.id.startswith(f"{FROZEN.stem}/0") for item in batch.items)  # openings are not scored
    assert len({(item.agent, item.request.argument) for item in batch.items}) == len(batch.items)
    assert batch.readers()


def test_built_in_debates_are_the_same_every_time():
    encoder = load_encoder("wordllama")
    one, two = (draw(builtin(2, encoder, seed=3), 9, 3) for _ in range(2))
    assert [item for batch in one for item in batch.items] == [item for batch in two for item in batch.items]
    assert sum(len(batch.items) for batch in one) == 9
    assert all(item.request.spans for batch in one for item in batch.items)
    assert [judge.name for judge in one[0].readers()] == ["letters", "words", "phrases"]


def test_every_agent_of_every_debate_comes_before_a_second_argument():
    batches = arguments(4)
    doubled = [type(b)(items=b.items + arguments(4, seed=9)[i].items, readers=b.readers) for i, b in enumerate(batches)]
    doubled = [
        type(b)(items=tuple(_named(item, f"{n}-{k}") for k, item in enumerate(b.items)), readers=b.readers)
        for n, b in enumerate(doubled)
    ]
    kept = draw(doubled, 12)
    assert [sorted(item.agent for item in batch.items) for batch in kept] == [
        ["agent-alpha", "agent-beta", "agent-gamma"]
    ] * 4
    assert sum(len(batch.items) for batch in draw(doubled, 100)) == 24
    assert sum(len(batch.items) for batch in draw(doubled, 5)) == 5


def _named(item, name):
    return replace(item, id=name)


def test_a_file_of_arguments_is_read_and_its_faults_are_named(tmp_path):
    file = tmp_path / "mine.jsonl"
    line = {"question": "Which?", "claim": "This.", "reasons": ["Because."], "spans": ["A text.", {"text": "B text.", "label": "x"}],
            "agent": "a", "family": "f", "debate": "d"}  # fmt: skip
    file.write_text("\n".join(json.dumps({**line, "agent": agent}) for agent in "ab") + "\n\n")
    (batch,) = gather([file], HashEncoder())
    assert [item.agent for item in batch.items] == ["a", "b"] and len({item.id for item in batch.items}) == 2
    assert [span.label for span in batch.items[0].request.spans] == [None, "x"]
    assert {judge.name for judge in batch.readers()} == {"letters", "words", "phrases"}
    file.write_text(json.dumps({**line, "clam": "typo"}) + "\n")
    with pytest.raises(InputError, match=r"mine.jsonl, line 1: clam: .* a line may have question, context, claim"):
        gather([file], HashEncoder())
    file.write_text("{oops\n")
    with pytest.raises(InputError, match="not valid JSON"):
        gather([file], HashEncoder())
    with pytest.raises(InputError, match="no such file"):
        gather([tmp_path / "nowhere"], HashEncoder())
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="no transcript"):
        gather([tmp_path / "empty"], HashEncoder())


def test_lines_of_one_question_and_context_are_one_case(tmp_path):
    file = tmp_path / "mine.jsonl"
    lines = [
        {"question": "Which?", "context": c, "claim": k, "spans": ["A text."]} for c in "xy" for k in ("One.", "Two.")
    ]
    file.write_text("\n".join(json.dumps(line) for line in [*lines, {**lines[0], "case": "own"}]))
    items = [item for batch in gather([file], HashEncoder()) for item in batch.items]
    assert len({item.case for item in items}) == 3 and items[0].case == items[1].case


def table(file):
    return list(csv.DictReader(io.StringIO(file.read_text(), newline="")))


def items_of(n=6):
    return [item for batch in arguments(n) for item in batch.items]


@pytest.mark.parametrize("name", ["items.csv", "items.jsonl"])
def test_people_are_shown_nothing_of_who_said_it(tmp_path, name):
    items = items_of()
    exported(items, tmp_path / name)
    text = (tmp_path / name).read_text()
    assert "agent-" not in text and not any(f'"{item.id}"' in text for item in items)
    rows = table(tmp_path / name) if name.endswith("csv") else [json.loads(line) for line in text.splitlines()]
    assert [row["code"] for row in rows] == sorted(map(code, items))  # an order that tells nothing
    assert all(row["score"] == "" for row in rows)


def test_people_s_scores_come_back_and_are_compared(tmp_path):
    items = items_of(12)
    exported(items, tmp_path / "items.csv")
    rows = table(tmp_path / "items.csv")
    place = {code(item): i for i, item in enumerate(items)}
    truth = np.random.default_rng(0).uniform(size=len(items))
    with (tmp_path / "filled.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        for rater in ("ann", "bob"):
            for row in rows[:30]:
                # bob is twice as generous, but of the same opinion
                mark = truth[place[row["code"]]] * (100 if rater == "ann" else 50)
                writer.writerow({**row, "rater": rater, "score": f"{mark:.6f}"})
    people = imported(tmp_path / "filled.csv", items)
    assert people.shape == (2, 36) and np.isfinite(people).sum() == 60
    sampling = Sampling(tuple(item.case for item in items), resamples=100)
    mean = np.nanmean(people, axis=0) if np.isfinite(people).all() else people.mean(axis=0)
    same = against_people("same", truth, mean, sampling)
    assert (same.rho.value, same.pairs.value, same.auc.value) == (1.0, 1.0, 1.0)
    reverse = against_people("reverse", -truth, mean, sampling)
    assert (reverse.rho.value, reverse.pairs.value, reverse.auc.value) == (-1.0, 0.0, 0.0)
    assert same.rho.n == 30 and human_alpha(people, sampling).value < 0.9
    assert "one person" in human_alpha(people[:1], sampling).how


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("code,score\nffff,3\n", "same --arguments"),
        ("code,score\nCODE,good\n", "row 2: score is 'good'"),
        ("code,score\nCODE,nan\n", "must be a number"),
        ("id,points\n1,2\n", "needs the columns code and score"),
        ("code,score\nCODE,\n", r"no score is filled in \(1 row"),
    ],
)
def test_files_that_cannot_be_used_say_why(tmp_path, text, says):
    items = items_of(1)
    file = tmp_path / "people.csv"
    file.write_text(text.replace("CODE", code(items[0])))
    with pytest.raises(InputError, match=says):
        imported(file, items)


def test_semicolons_may_separate_what_people_said(tmp_path):
    items = items_of(1)
    file = tmp_path / "people.csv"
    file.write_text(f"code;score;rater\n{code(items[0])};3;ann, b\n")
    assert imported(file, items)[0, 0] == 3


def test_a_spreadsheet_runs_nothing(tmp_path):
    item = items_of(1)[0]
    wicked = replace(
        item, request=replace(item.request, argument=replace(item.request.argument, claim="=HYPERLINK(1)"))
    )
    exported([wicked], tmp_path / "items.csv")
    (row,) = table(tmp_path / "items.csv")
    assert row["argument"].startswith("'=")
    with pytest.raises(InputError, match=r"\.csv or \.jsonl"):
        exported([item], tmp_path / "items.xlsx")
