"""A debate in a line of Python: names, objects, folders, notebooks, streams and cancelling."""

from __future__ import annotations

import asyncio
import json
import os
import re
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

import maci
from hash_encoder import HashEncoder
from helpers import judge, make_case, script, settings, turn
from maci.debating.api import Options
from maci.errors import CaseError, InputError, MaciError
from maci.seating.seating import PanelChoice, reseat
from maci.story.result import Result
from serving import serving

QUESTION = "High fever, pain behind the eyes and a rash. Which disease is it?"
OUTCOMES = ["Dengue fever", "Measles", "Gout"]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        if name.startswith("MACI_") or name.endswith(("_API_KEY", "_BASE_URL")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("MACI_CACHE", str(tmp_path / "cache"))


def test_a_question_its_outcomes_and_a_folder_of_evidence(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "a.txt").write_text("Dengue fever brings high fever, pain behind the eyes and a rash.")
    (notes / "b.png").write_bytes(b"\x89PNG")
    result = maci.run(QUESTION, outcomes=OUTCOMES, evidence=notes, panel="readers", settings={"max_rounds": 2})
    assert result.story.opened.case.evidence[0].source.endswith("a.txt")
    assert set(result.distribution) == set(OUTCOMES)
    assert list(result.distribution.values()) == sorted(result.distribution.values(), reverse=True)
    if result.answer is None:
        assert result.withheld and result.probability is None and repr(result.withheld) in repr(result)
    else:
        assert not result.withheld and result.probability == result.distribution[result.answer]
    assert result.rounds <= 2 and result.story.opened.config.stop.max_rounds == 2


def own(**options: object) -> maci.DebateResult:
    agents = [script("x", turn(0.9, 0.1)), script("y", turn(0.3, 0.7))]
    more = {"config": settings("max_rounds=2"), "encoder": HashEncoder(), **options}
    return maci.run(make_case(), agents, [judge()], **more)  # type: ignore[arg-type]


def test_the_result_has_the_keys_of_the_json_and_flat_rows(tmp_path: Path) -> None:
    result = own(record=tmp_path / "kept")
    printed = result.to_dict()
    assert set(printed) == set(Result.model_fields) and json.loads(json.dumps(printed)) == printed
    assert (
        printed["transcript"] == str(result.transcript) and result.transcript == tmp_path / "kept" / "transcript.jsonl"
    )
    assert maci.read(result.transcript).events[-1] == result.finished
    assert maci.DebateResult.of(maci.read(result.transcript).events).answer == result.answer
    arguments, rounds = result.rows(), result.rows("rounds")
    assert [row["round"] for row in rounds] == list(range(result.rounds + 1))
    assert {row["id"] for row in arguments} == set(result.story.said)
    for row in (*arguments, *rounds):
        assert all(value is None or isinstance(value, str | int | float | bool) for value in row.values())
    assert "answer='dengue'" in repr(result) and result.stop_reason in repr(result)
    page = result._repr_html_()
    assert page.startswith("<iframe sandbox ") and "Which diagnosis fits" in page and "dengue" in page


def test_texts_for_programs_have_spaces_that_a_search_finds() -> None:
    result = maci.run("hepatitis", panel="readers")
    assert any(" % overall)" in line for line in result.against)
    held = maci.run("tone-budget", panel="readers")
    assert " % of comparisons" in held.withheld
    for each in (result, held):
        texts = json.dumps([each.to_dict(), each.rows(), each.rows("rounds"), each.why, each.against, each.withheld])
        assert "\\u00a0" not in texts


def test_rows_of_something_else_are_refused() -> None:
    with pytest.raises(maci.MaciError, match="rows of 'turns': choose arguments or rounds"):
        maci.run("dengue", panel="readers", budget=1).rows("turns")  # type: ignore[arg-type]


def test_run_works_inside_a_running_loop_as_in_a_notebook() -> None:
    async def cell() -> maci.DebateResult:
        return own()

    assert asyncio.run(cell()).answer == "dengue"


def test_a_withheld_answer_is_none_and_says_why() -> None:
    result = maci.run(QUESTION, outcomes=["Dengue fever", "a broken leg", "Gout"], panel="readers")
    assert result.answer is None and result.probability is None
    assert "Word statistics cannot decide" in result.withheld and "answer=None" in repr(result)
    assert 'settings={"answer.force": True}' in result.withheld and "Use a" not in result.to_dict()["abstained"]
    assert not {"--force", "maci init"} & set(re.findall("--force|maci init", repr(result)))  # advice for Python
    assert result.to_dict()["answer"] is None


def test_a_question_that_readers_refuse_is_refused_with_advice_for_python() -> None:
    with pytest.raises(
        maci.MaciError, match=r"or use a language model\. .* pass `settings=\{\"answer.force\""
    ) as raised:
        maci.run("What is 17 times 3?", panel="readers")
    assert not re.findall("--force|maci init", str(raised.value))


def test_models_by_name_take_their_seats_as_at_the_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving("alpha", "beta") as server:
        monkeypatch.setenv("OPENAI_API_KEY", "k")
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        models = ["openai/alpha", "openai/beta"]
        result = maci.run(
            "Is it so?", models, [], outcomes=["yes", "no"], evidence=["yes it is", "no it is not"], budget=60_000,
            settings={"max_rounds": 2},
        )  # fmt: skip
    assert result.story.opened.panel == "--agents" and result.story.opened.judges == ()
    assert result.story.opened.config.budget.tokens == 60_000 and 0 < result.tokens <= 60_000
    assert result.answer in ("yes", "no")


def test_a_cancelled_task_leaves_a_record_that_can_be_resumed(tmp_path: Path) -> None:
    async def cut() -> None:
        task: asyncio.Task[maci.DebateResult]

        def watch(event: maci.Event) -> None:
            if event.type == "turn":
                task.cancel()

        debate = maci.arun("dengue", panel="readers", record=tmp_path / "cut", watch=watch)
        task = asyncio.create_task(debate)
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cut())
    recording = maci.read(tmp_path / "cut" / "transcript.jsonl")
    assert not recording.finished and any(event.type == "turn" for event in recording.events)
    seated = reseat(recording.opened, PanelChoice())

    async def again() -> list[maci.Event]:
        return [event async for event in maci.debate(seated.opened, seated.table, recorded=recording.events)]

    assert asyncio.run(again())[-1].type == "finished"


def test_a_stream_yields_typed_events_and_stops_when_it_is_left() -> None:
    async def all_of_it() -> list[maci.Event]:
        return [event async for event in maci.stream("dengue", panel="readers", settings={"max_rounds": 2})]

    events = asyncio.run(all_of_it())
    assert isinstance(events[-1], maci.Finished)
    assert maci.DebateResult.of(events).rounds == events[-1].rounds

    async def first() -> str:
        async with aclosing(maci.stream("dengue", panel="readers")) as events:
            async for event in events:
                return event.type
        return ""

    assert asyncio.run(first()) == "opened"


@pytest.mark.parametrize(
    ("case", "options", "error", "says"),
    [
        ("nosuchcase", {}, CaseError, "no built-in case named 'nosuchcase'"),
        ("dengue?", {"outcoms": ["a", "b"]}, InputError, "unknown option 'outcoms'"),
        (make_case(), {"outcomes": ["a", "b"]}, InputError, "a case brings its own"),
        ("Is it so?", {"evidence": "nowhere/"}, InputError, "no such file or folder"),
        ("Is it so?", {"evidence": [1, None]}, InputError, r"evidence\[0\] is 1: give a text, a Document or a path"),
        ("Is it so?", {"evidence": ["So.", None]}, InputError, r"evidence\[1\] is None: give a text"),
        ("Is it so?", {"evidence": 5}, InputError, "evidence is 5: give a file, a folder, or a list"),
        ("Is it so?", {"evidence": {"text": "So."}}, InputError, "evidence is {'text': 'So.'}: give a file"),
        ("Is it so?", {"agents": ["openai/a"], "panel": "readers"}, InputError, "not both"),
        ("Is it so?", {"agents": ["openai/a", script("x", turn(1.0))]}, InputError, "names or objects, not both"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_asked(
    case: object, options: dict[str, object], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        maci.run(case, **options)  # type: ignore[arg-type]


def test_the_page_about_python_runs(capsys: pytest.CaptureFixture[str]) -> None:
    page = (Path(maci.__file__).parents[2] / "docs" / "python.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(blocks) == 3
    names: dict[str, object] = {"__name__": "__main__"}
    for block in blocks:
        exec(block, names)
    assert "has spoken" in (said := capsys.readouterr().out) and "DebateResult(answer=" in said
    listed = re.findall(r"^\| (`.*?) \|", page, re.MULTILINE)
    named = {name.partition("(")[0] for cell in listed for name in re.findall(r"`([^`]+)`", cell)}
    assert set(Options.__annotations__) <= named  # none is missing from the tables


LONG = "x" * 5_000


@pytest.mark.parametrize(
    "options",
    [
        {"evidence": LONG}, {"evidence": "a\0b"}, {"evidence": [Path(LONG)]}, {"evidence": ["half \ud800"]},
        {"record": f"runs/{LONG}"}, {"record": "a\ud800"}, {"record": "a\0"}, {"panel": LONG},
    ],
)  # fmt: skip
def test_names_that_no_file_can_have_are_refused_in_words(
    options: dict[str, Any], tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(MaciError):
        maci.run("Which is it, fever or rash?", outcomes=["measles", "rubella"], **options)


def test_a_transcript_with_a_name_that_no_file_can_have_is_refused_in_words() -> None:
    for name in (LONG, "a\0", "a\ud800"):
        with pytest.raises(MaciError):
            maci.read(Path(name))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="a system without pipes that have names")
def test_evidence_that_is_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(MaciError, match="pipe"):
        maci.run("Which is it?", outcomes=["measles", "rubella"], evidence=tmp_path / "pipe")


def test_a_mapping_is_refused_with_the_way_to_write_a_case() -> None:
    with pytest.raises(InputError, match=r"not dict: write maci\.Case\("):
        maci.run({"question": "Which?", "outcomes": ["a", "b"]})  # type: ignore[arg-type]
