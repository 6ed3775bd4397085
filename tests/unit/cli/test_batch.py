"""`maci batch` as a person types it: what is asked, what is kept, and how it goes on."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hash_encoder import HashEncoder
from helpers import judge, script, seat, turn
from maci.cli.app import app
from maci.cli.batch.run import write
from maci.debating.batch import Batch, owning
from maci.errors import BadReply, BudgetError, CaseError, EnvironmentError_, InputError, WrongKey
from maci.evidence.span import CaseEvidence
from maci.record.replay import replay
from maci.record.transcript import Transcript, read

YES = turn(0.9, 0.1, labels=("yes", "no"), tokens=10)
asked: list[str] = []
"""The context of every case whose opening an agent was asked for."""
trouble: dict[str, Exception] = {}
"""Context → what goes wrong there."""


def table(self, case, seed):
    def agent(name: str):
        made = script(name, trouble.get(case.context, YES), YES, ceiling=10)
        inner = made.turn

        async def counted(request):
            if request.round == 0:
                asked.append(case.context)
            return await inner(request)

        made.turn = counted
        return made

    return seat([agent("x"), agent("y")], [judge()], evidence=CaseEvidence(case))


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("MACI_")]:
        monkeypatch.delenv(name)
    monkeypatch.setattr("maci.seating.seating.load_encoder", lambda *args, **more: HashEncoder())
    monkeypatch.setattr("maci.seating.tables.Tables._seat", table)
    asked.clear()
    trouble.clear()
    cases = [
        {"id": f"c{n}", "question": "Is it?", "context": f"Day {n}.", "outcomes": ["yes", "no"], "gold": "yes"}
        for n in range(4)
    ]
    Path("cases.jsonl").write_text("\n".join(map(json.dumps, cases)))


def batch(*words: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, ["batch", "cases.jsonl", "--out", "out", *words])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.stdout, done.stderr


def folders() -> list[Path]:
    return sorted(path for path in Path("out").iterdir() if path.is_dir())


def test_every_case_has_a_folder_with_its_transcript_and_nothing_else() -> None:
    code, said, _ = batch()
    assert code == 0
    assert "4 answers to 4 cases, 4 of 4 with a known answer right" in said
    answers = [line for line in said.splitlines() if line.startswith("c")]
    assert [line.partition(", ")[0] for line in answers] == [f"c{n}: yes" for n in range(4)]
    assert all(line.endswith(" (right)") for line in answers)
    assert [[file.name for file in folder.iterdir()] for folder in folders()] == [["transcript.jsonl"]] * 4
    assert sorted(path.name for path in Path("out").iterdir() if path.is_file()) == ["results.csv", "results.json"]
    assert all(replay(read(folder / "transcript.jsonl").events).complete for folder in folders())


def test_json_is_one_line_a_case_in_the_order_of_the_file() -> None:
    _, said, _ = batch("--json", "--jobs", "3")
    rows = [json.loads(line) for line in said.splitlines()]
    assert [row["case"] for row in rows] == ["c0", "c1", "c2", "c3"]
    assert all(
        {"answer", "distribution", "stop_reason", "rounds", "tokens", "transcript", "warnings"} <= row.keys()
        for row in rows
    )
    assert "stage" not in rows[0]


def test_results_are_written_as_json_and_csv() -> None:
    batch("--ask", "--quiet")
    page = json.loads(Path("out/results.json").read_text())
    assert (page["done"], page["failed"], page["budget"], page["waiting"]) == (4, 0, 0, 0)
    rows = list(csv.DictReader(Path("out/results.csv").read_text().splitlines()))
    assert [row["stage"] for row in rows] == ["single"] * 4
    assert [row["correct"] for row in rows] == ["True"] * 4


def test_answers_withheld_are_no_answers() -> None:
    code, said, _ = batch("--risk", "0.01")  # everybody says 0.9
    assert code == 0
    assert "0 answers to 4 cases, 4 withheld at this risk level (of their best guesses 4 of 4 would be right)" in said
    page = json.loads(Path("out/results.json").read_text())
    assert (page["done"], page["withheld"]) == (0, 4)
    first = page["results"][0]
    assert (first["status"], first["answer"], first["guess"], first["p"]) == ("withheld", None, "yes", 0.9)
    assert (first["correct"], first["guess_correct"]) == (None, True)
    assert "below 0.99" in first["abstained"] and first["warnings"]
    rows = list(csv.DictReader(Path("out/results.csv").read_text().splitlines()))
    assert [row["abstained"] for row in rows] == [first["abstained"]] * 4
    assert [(row["status"], row["answer"], row["correct"]) for row in rows] == [("withheld", "", "")] * 4
    _, printed, _ = batch("--risk", "0.01", "--json")
    lines = [json.loads(line) for line in printed.splitlines()]
    assert [(line["status"], line["answer"], line["guess"]) for line in lines] == [("withheld", None, "yes")] * 4
    assert json.loads(rows[0]["warnings"]) == first["warnings"]


def test_prediction_sets_are_in_the_results() -> None:
    batch("--quiet", "--set", "calibration.conformal=0.9=0.95", "--set", "calibration.conformal_n=40")
    first = json.loads(Path("out/results.json").read_text())["results"][0]
    assert first["prediction_set"] == {"outcomes": ["yes", "no"], "coverage": 0.9, "score": "lac", "n": 40}
    rows = list(csv.DictReader(Path("out/results.csv").read_text().splitlines()))
    assert json.loads(rows[0]["prediction_set"]) == ["yes", "no"]


def test_ask_asks_one_agent_where_that_is_enough() -> None:
    batch("--ask", "--quiet")
    assert sorted(asked) == [f"Day {n}." for n in range(4)]
    lines = [json.loads(line) for line in batch("--ask", "--json")[1].splitlines()]
    assert all(line["stage"] == "single" and line["explain"] for line in lines)


def test_started_again_it_asks_nothing_again() -> None:
    _, first, _ = batch("--json")
    asked.clear()
    _, again, _ = batch("--json")
    assert asked == []
    assert again == first


def test_broken_off_it_goes_on_with_what_is_open_and_what_is_lacking() -> None:
    batch("--quiet")
    whole = {folder.name: read(folder / "transcript.jsonl").events[-1] for folder in folders()}
    gone, open_, *kept = folders()
    shutil.rmtree(gone)
    lines = (open_ / "transcript.jsonl").read_bytes().splitlines(keepends=True)
    second = next(n for n, line in enumerate(lines) if b'"type":"initialized"' in line)  # killed after the openings
    (open_ / "transcript.jsonl").write_bytes(b"".join(lines[: second + 1]) + lines[second + 1][:20])
    before = [(folder / "transcript.jsonl").read_bytes() for folder in kept]
    asked.clear()
    code, _, _ = batch("--quiet")
    assert code == 0
    assert asked == ["Day 0."] * 2  # only the one that was gone opens again
    assert [(folder / "transcript.jsonl").read_bytes() for folder in kept] == before
    for folder in folders():
        assert read(folder / "transcript.jsonl").events[-1].raw == whole[folder.name].raw


def test_cases_may_be_added_and_reordered() -> None:
    batch("--quiet")
    lines = Path("cases.jsonl").read_text().splitlines()
    Path("cases.jsonl").write_text("\n".join([*reversed(lines), lines[0].replace("Day 0", "Day 9")]))
    asked.clear()
    batch("--quiet")
    assert asked == ["Day 9."] * 2


def test_the_same_case_twice_has_two_records() -> None:
    line = Path("cases.jsonl").read_text().splitlines()[0]
    Path("cases.jsonl").write_text(f"{line}\n{line}\n")
    batch("--quiet")
    assert len(folders()) == 2 and len(asked) == 4


def test_one_budget_for_all_is_never_exceeded_and_ends_with_exit_4() -> None:
    with pytest.raises(BudgetError, match="had an answer"):
        batch("--budget-tokens", "100", "--quiet", "--jobs", "2")
    page = json.loads(Path("out/results.json").read_text())
    assert sum(row["tokens"] or 0 for row in page["results"]) <= 100
    assert page["done"] + page["budget"] + page["waiting"] == 4
    assert page["waiting"] or page["budget"]


def test_with_more_budget_it_goes_on_and_counts_what_was_spent() -> None:
    with pytest.raises(BudgetError):
        batch("--budget-tokens", "100", "--quiet", "--jobs", "1")
    answered = [
        row["number"] for row in json.loads(Path("out/results.json").read_text())["results"] if row["status"] == "done"
    ]
    asked.clear()
    code, said, _ = batch("--budget-tokens", "100000", "--retry-failed")
    assert code == 0 and "4 answers to 4 cases" in said
    assert not {f"Day {n - 1}." for n in answered} & set(asked)


def test_a_case_that_fails_is_listed_and_counted_and_the_others_are_answered() -> None:
    trouble["Day 2."] = BadReply("no JSON")
    with pytest.raises(EnvironmentError_, match="1 case failed"):
        batch("--quiet")
    page = json.loads(Path("out/results.json").read_text())
    assert [row["status"] for row in page["results"]] == ["done", "done", "failed", "done"]
    assert "no JSON" in page["results"][2]["error"]
    assert page["results"][2]["answer"] is None
    trouble.clear()
    asked.clear()
    code, _, _ = batch("--quiet", "--retry-failed")
    assert code == 0
    assert asked == ["Day 2."] * 2
    assert len([folder for folder in folders() if folder.name.endswith(".again1")]) == 1


def test_a_wrong_key_ends_the_run_and_the_rest_is_not_tried() -> None:
    trouble.update({f"Day {n}.": WrongKey("the key was refused") for n in range(4)})
    with pytest.raises(EnvironmentError_, match="failed, 3 cases not begun"):
        batch("--quiet", "--jobs", "1")
    assert set(asked) == {"Day 0."}


def test_other_settings_are_refused_for_the_same_folder() -> None:
    batch("--quiet")
    with pytest.raises(InputError, match=r"another config \(stop.max_rounds was 8, is 3\)"):
        batch("--quiet", "--set", "max_rounds=3")
    with pytest.raises(InputError, match=r"another seed \(seed was 0, is 7\)"):
        batch("--quiet", "--seed", "7")


def test_a_line_that_is_no_case_is_named_before_anything_is_asked() -> None:
    with Path("cases.jsonl").open("a") as file:
        file.write('\n{"question": ""}\n')
    with pytest.raises(CaseError, match="line 5"):
        batch()
    assert asked == [] and not Path("out").exists()


def test_an_empty_file_is_refused() -> None:
    Path("cases.jsonl").write_text("\n")
    with pytest.raises(InputError, match="holds no case"):
        batch()


def test_interrupted_it_writes_what_it_has_and_says_how_to_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(self, *args: object, **more: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("maci.cli.terminal.ProgressBars.at", stop)
    code, _, said = batch("--jobs", "1")
    assert code == 130
    assert "nothing that was recorded is lost" in said
    page = json.loads(Path("out/results.json").read_text())
    assert (page["done"], page["waiting"]) == (1, 3)


@pytest.mark.parametrize("words", [("--json",), ()])
def test_where_nobody_reads_any_more_it_writes_what_it_has_and_exits_3(
    words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*args: object, **more: object) -> None:
        raise BrokenPipeError

    monkeypatch.setattr("maci.cli.batch.run.typer.echo" if words else "maci.cli.terminal.ProgressBars.at", gone)
    with pytest.raises(EnvironmentError_, match=r"output was closed before the end.*results.json.*--out out"):
        batch("--jobs", "1", *words)
    assert json.loads(Path("out/results.json").read_text())["done"] == 1


def test_a_closed_pipe_on_standard_error_exits_3() -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    words = ["batch", "cases.jsonl", "--panel", "readers", "--out", "out"]
    done = subprocess.run([sys.executable, "-m", "maci", *words], stderr=write_end, stdout=subprocess.PIPE, check=False)
    os.close(write_end)
    assert done.returncode == 3
    assert Path("out/results.csv").exists()


def test_a_file_that_is_not_utf8_says_what_to_do() -> None:
    Path("cases.jsonl").write_text('{"question": "Is it?"}', encoding="utf-16")
    with pytest.raises(InputError, match="save it as UTF-8"):
        batch()


def test_a_folder_that_cannot_be_is_refused_before_anything_is_asked() -> None:
    Path("file").touch()
    with pytest.raises(InputError, match="file is a file, not a folder"):
        batch("--out", "file/below")
    assert asked == []


def test_a_full_disk_leaves_the_results_as_they_were_and_nothing_half_written(tmp_path, monkeypatch):
    write(tmp_path / "out", [])
    before = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}

    def full(path: Path, text: str, encoding: str) -> int:
        path.write_bytes(text[:10].encode())
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(EnvironmentError_, match="No space left on device; the transcripts are kept"):
        write(tmp_path / "out", [])
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == before


HOLD = """
import sys, time
from pathlib import Path
from maci.debating.batch import owning
with owning(Path("out")):
    print("mine", flush=True)
    time.sleep(60)
"""


def test_a_second_batch_in_one_folder_is_refused_and_told_whose_it_is() -> None:
    with subprocess.Popen([sys.executable, "-c", HOLD], stdout=subprocess.PIPE, text=True) as other:
        try:
            assert other.stdout is not None and other.stdout.readline() == "mine\n"
            with pytest.raises(
                EnvironmentError_, match=rf"--out out belongs to process {other.pid} on .+, since 20.+ UTC"
            ):
                batch()
            assert not asked and not folders()
        finally:
            other.kill()  # it cannot tidy up
        other.wait()
    assert Path("out/.owner").read_text().startswith(f"process {other.pid} on")
    assert batch()[0] == 0 and len(asked) == 8
    assert not Path("out/.owner").exists()


def test_two_batches_in_one_folder_do_not_spend_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    refused = []
    play = Batch._one

    async def meanwhile(self, *which):
        if not refused:
            with pytest.raises(EnvironmentError_, match=f"process {os.getpid()}") as error, owning(Path("out")):
                raise AssertionError("two owners")
            refused.append(error)
        return await play(self, *which)

    monkeypatch.setattr(Batch, "_one", meanwhile)
    assert batch()[0] == 0 and refused


def test_an_empty_transcript_that_another_process_holds_is_not_removed() -> None:
    batch()
    path = folders()[0] / "transcript.jsonl"
    path.unlink()
    with Transcript.create(path):
        with pytest.raises(EnvironmentError_, match="is being written by another process"):
            batch()
        assert path.exists()
    path.touch()  # a process that was killed at once
    assert batch()[0] == 0 and read(path).events


def test_a_fault_of_our_own_ends_the_run_instead_of_hanging(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self, case, seed):
        raise RuntimeError("an encoder that fails")

    monkeypatch.setattr("maci.seating.tables.Tables._seat", broken)
    with pytest.raises(RuntimeError, match="an encoder that fails"):
        batch("--quiet", "--jobs", "2")
