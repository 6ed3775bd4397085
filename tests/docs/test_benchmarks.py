"""The benchmarks take from MACI what is there: they are run by hand, and a name that moved would break them unseen."""

from __future__ import annotations

import ast
import asyncio
import json
import re
import sys
from argparse import Namespace
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module
from math import inf
from pathlib import Path
from typing import Any

import pytest

CLAIMS = {"in seconds": "debate dengue --panel readers -q", "within a second": "debate dengue --panel readers -q"}
"""What the README says of speed, and the command of `bench_start.py` whose row of the table shows it."""
BENCHMARKS = sorted((Path(__file__).parents[2] / "benchmarks").glob("*.py"))


@pytest.mark.parametrize("file", BENCHMARKS, ids=lambda file: file.stem)
def test_what_a_benchmark_imports_exists(file: Path) -> None:
    taken = [
        (node.module, name.name)
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "maci"
        for name in node.names
    ]
    missing = [f"{module}.{name}" for module, name in taken if not _has(module, name)]
    assert not missing


def _has(module: str, name: str) -> bool:
    """As an attribute, or as a module inside."""
    if hasattr(import_module(module), name):
        return True
    try:
        import_module(f"{module}.{name}")
    except ImportError:
        return False
    return True


# --- `make bench` ---------------------------------------------------------------------------------------------------------------


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Any:
    """`run`, which has `bench_throughput` and `bench_start`."""
    monkeypatch.syspath_prepend(str(BENCHMARKS[0].parent))
    sys.modules.pop("run", None)  # the examples have one, too
    yield import_module("run")
    for name in ("run", "bench_start", "bench_throughput", "peers"):
        sys.modules.pop(name, None)


def test_what_is_measured_is_on_disk_before_the_next_part_and_a_part_that_fails_loses_nothing(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    history = tmp_path / "history.jsonl"
    printing = "import json; print(json.dumps({'figure': 1})); print(json.dumps({'figure': 2}))"
    (tmp_path / "fails.py").write_text(f"{printing}; raise SystemExit(3)")
    (tmp_path / "silent.py").write_text("print('not JSON')")
    counting = f"import json; print(json.dumps({{'figure': len(open({str(history)!r}).readlines())}}))"
    (tmp_path / "counts.py").write_text(counting)
    monkeypatch.setattr(run, "HERE", tmp_path)
    keep = run.keeping(history, {"run": "now", "commit": "c", "quick": True})
    failed = run.measure({"a": ("fails.py",), "b": ("silent.py",), "c": ("counts.py",)}, keep)
    assert failed == ["a", "b"]
    rows = run.run_of(history)
    assert [(row["part"], row["found"].get("figure")) for row in rows] == [
        ("a", 1), ("a", 2), ("a", None), ("b", None), ("c", 4),
    ]  # fmt: skip
    assert "failed" in rows[2]["found"] and "failed" in rows[3]["found"]
    assert all(row["run"] == "now" and row["commit"] == "c" for row in rows)
    assert "a: " in capsys.readouterr().out


def test_a_line_that_was_cut_off_costs_no_other_row(run: Any, tmp_path: Path) -> None:
    history = tmp_path / "history.jsonl"
    run.keeping(history, {"run": "first"})("a", {"failed": "é"})
    whole = history.read_bytes()
    history.write_bytes(whole + whole[: whole.index("é".encode()) + 1])  # killed within a letter
    assert [row["run"] for row in run.run_of(history)] == ["first"]
    run.keeping(history, {"run": "second"})("b", {"failed": "0"})
    assert [(row["run"], row["part"]) for row in run.run_of(history)] == [("second", "b")]
    assert [row["part"] for row in run.run_of(history, "first")] == ["a"]


@pytest.fixture
def children(run: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """`bench_throughput`, whose children take no time: a bare second each, MACI two of them, and AutoGen fails."""
    bench, served = sys.modules["bench_throughput"], [0]

    def child(*command: str) -> Any:
        if "bodies" in command:
            return {}
        if "autogen" in command:
            raise bench.Failed("no such model")
        served[0] += 2 * bench.CALLS
        took = 2.0 if "maci" in command else 1.0
        return {"seconds": took, "cpu": took, "peak_mb": 10 * took}

    monkeypatch.setattr(bench, "_child", child)
    monkeypatch.setattr(bench, "serving", lambda _: bench.tempfile.TemporaryDirectory())
    monkeypatch.setattr(bench, "requests", lambda _: served[0])
    return bench


def test_a_contender_that_fails_is_named_and_the_others_go_on(children: Any) -> None:
    turns = list(children.in_turn("1", 2, 3, ["bare", "maci", "autogen", "inspect"]))
    assert [list(turn["ran"]) for turn in turns] == [["bare", "maci", "autogen", "inspect"]] + 2 * [
        ["bare", "maci", "inspect"]
    ]
    assert turns[0]["ran"]["autogen"] == {"failed": "no such model"}
    text = "\n".join(children.lines(turns, {"bare": [1.0], "maci": [3.0], "autogen": None}))
    assert "| 2 | 1 s | maci | 2.00 | 2.00 | 2.00 [2.00, 2.00] | 2.00 [2.00, 2.00] |" in text
    assert "| 2 | 1 s | autogen | failed |" in text
    assert "autogen failed with 2 debates, replies 1 s: no such model" in text
    assert "| maci | 3.00 [3.00, 3.00] | 3.0 [3.0, 3.0] |" in text and "| autogen | not installed | |" in text


def test_who_makes_other_calls_than_the_debate_has_failed(children: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(children, "requests", lambda _: 0)
    (turn,) = children.in_turn("1", 2, 1, ["bare"])
    assert turn["ran"]["bare"] == {"failed": f"it made 0 calls instead of {2 * children.CALLS}"}


def test_the_best_of_a_contender_is_held_against_the_best_of_the_bare_script(children: Any) -> None:
    def turn(bare: float, maci: float) -> dict[str, Any]:
        of = {"bare": bare, "maci": maci}
        ran = {who: {"seconds": s, "cpu": s, "peak_mb": s} for who, s in of.items()}
        return {"debates": 1, "replies": "1", "turn": 0, "ran": ran}

    row = list(children.rows_of([turn(10, 11), turn(8, 12), turn(9, 10)]))[1]
    assert row["best_ratio"] == 10 / 8 and row["seconds_ratio"] == [1.1, 1.5, 10 / 9]


def test_each_turn_is_printed_as_it_ends_and_a_failure_is_the_exit_code(
    children: Any, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setattr(children, "import_cpu", lambda _: 1.0)
    options = (
        "--json",
        "--who",
        "maci,autogen",
        "--debates",
        "2",
        "--delays",
        "1",
        "--times",
        "1",
        "--more",
        "2/heavy/2",
    )
    monkeypatch.setattr(sys, "argv", ["bench_throughput.py", *options])
    with pytest.raises(SystemExit) as ended:
        children.main()
    assert ended.value.code == 1
    first, *turns = map(json.loads, capsys.readouterr().out.splitlines())
    assert first == {"imports": {"bare": [1.0], "maci": [1.0], "autogen": [1.0]}}
    assert [(turn["debates"], turn["replies"], turn["turn"]) for turn in turns] == [
        (2, "1", 0),
        (2, "heavy", 0),
        (2, "heavy", 1),
    ]


SPEED = re.compile(
    r"\b(?:in|within|under|after) (?:a |an |some |two |a few |\d+ )?(?:milli)?seconds?\b"
    r"|\b\d[\d.,]* ?(?:m?s|seconds?)\b|\bfast(?:er|est)?\b|\b[\d.]+ ?(?:×|times) as\b"
)


def test_each_claim_of_the_readme_on_speed_is_a_row_of_the_table(run: Any) -> None:
    readme = (BENCHMARKS[0].parents[1] / "README.md").read_text(encoding="utf-8")
    claims = {match.group() for match in SPEED.finditer(readme)}
    assert claims and claims <= set(CLAIMS), claims - set(CLAIMS)
    assert set(CLAIMS.values()) <= set(sys.modules["bench_start"].COMMANDS)
    measured = run.parts(Namespace(quick=False, table=True, rest=[]))
    assert list(measured) == ["start", "throughput"] and measured["start"][0] == "bench_start.py"
    each = {command: [{"cpu": [1.0], "seconds": [1.25]}] for command in CLAIMS.values()}
    table = "\n".join(run.table([{"part": "start", "found": each}]))
    assert all(f"| `{command}` | 1.00 | 1.00 | 1.25 | 1.25 | 1 |" in table for command in CLAIMS.values())


# --- a run in pieces ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def general(monkeypatch: pytest.MonkeyPatch) -> Any:
    """`bench_general`, with a model that answers each case with its first outcome and counts how often it is asked."""
    monkeypatch.syspath_prepend(str(BENCHMARKS[0].parent))
    bench = import_module("bench_general")
    bench.asked = []

    @asynccontextmanager
    async def alone(_: Any) -> AsyncIterator[Any]:
        async def answer(case: Any, seed: int) -> Any:
            bench.asked.append(case.id)
            first, *rest = case.outcomes.labels
            return bench.Given(p={first: 0.7, **dict.fromkeys(rest, 0.3 / len(rest))}, tokens=10, calls=1)

        yield answer

    monkeypatch.setitem(bench.WHO, "alone", alone)
    yield bench
    for name in ("bench_general", "general_models"):
        sys.modules.pop(name, None)


def _options(out: Path, **more: Any) -> Namespace:
    given = {
        "model": "m",
        "seed": 0,
        "rounds": 3,
        "file": "general.jsonl",
        "half": "dev",
        "minutes": inf,
        "table": False,
    }
    return Namespace(**given | {"show": None, "out": out} | more)


def test_a_run_in_pieces_asks_each_case_once_and_keeps_its_row(general: Any, tmp_path: Path) -> None:
    options, posed = _options(tmp_path), general.cases("general.jsonl", "dev")
    asyncio.run(general.collect("alone", posed[:3], options))
    file = next(tmp_path.iterdir())
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert [row["id"] for row in rows] == [each.case.id for each in posed[:3]] == general.asked
    assert all(row["answer"] in row["p"] and row["tokens"] == 10 and len(row["prompt"]) == 16 for row in rows)
    with file.open("a", encoding="utf-8") as torn:  # as a kill may leave it
        torn.write('{"id": "q0')
    asyncio.run(general.collect("alone", posed[:4], options))
    assert general.asked[3:] == [posed[3].case.id] and len(file.read_text(encoding="utf-8").splitlines()) == 4
    assert len(asyncio.run(general.collect("alone", posed, _options(tmp_path, table=True)))) == 4  # asks nobody
    assert len(asyncio.run(general.collect("alone", posed, _options(tmp_path, minutes=-1)))) == 4  # no time for another
    assert len(general.asked) == 4


def test_a_row_asked_with_other_prompts_does_not_count(general: Any, tmp_path: Path, capsys: Any) -> None:
    options, posed = _options(tmp_path), general.cases("general.jsonl", "dev")[:2]
    asyncio.run(general.collect("alone", posed, options))
    file = next(tmp_path.iterdir())
    first, second = file.read_text(encoding="utf-8").splitlines()
    old = first.replace(json.loads(first)["prompt"], "0" * 16)
    file.write_text(f"{old}\n{second}\n", encoding="utf-8")
    found = asyncio.run(general.collect("alone", posed, _options(tmp_path, table=True)))
    assert list(found) == [posed[1].case.id]
    general.tell("alone", posed, found, options)
    said = capsys.readouterr().out
    assert "1 of 49 cases of the dev half so far (96 in both)" in said
    assert "calibration error      not estimated below 30, of 1 answers given" in said
    assert general.compare(posed, found, found).endswith("1 pairs")


def test_committed_rows_are_of_cases_of_our_own_and_say_what_they_must() -> None:
    known = {
        row["id"]: row["outcomes"]
        for file in (BENCHMARKS[0].parent / "blind").glob("*.jsonl")
        for row in map(json.loads, file.read_text(encoding="utf-8").splitlines())
        if "outcomes" in row and "id" in row
    }
    for file in (BENCHMARKS[0].parent / "results" / "general").glob("*.jsonl"):
        for row in map(json.loads, file.read_text(encoding="utf-8").splitlines()):
            assert set(row["p"]) <= set(known[row["id"]]) and row.keys() >= {"answer", "tokens", "prompt"}
            assert row["failed"] or sum(row["p"].values()) == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize("half", ["dev", "test"])
def test_readers_give_a_wrong_answer_to_at_most_one_general_question_in_twenty(
    general: Any, tmp_path: Path, half: str
) -> None:
    """The general row of docs/decisions/005-readers.md; it is met by withholding, and no case may fail instead."""
    posed = general.cases("general.jsonl", half)
    found = asyncio.run(general.collect("readers", posed, _options(tmp_path, half=half)))
    status = [found[each.case.id].status(each.case.gold) for each in posed]
    assert len(status) > 40 and "failed" not in status
    assert status.count("wrong") <= 0.05 * len(status)


def test_debates_of_one_text_are_no_independent_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS[0].parent))
    bench = import_module("bench_readers")
    gains = bench.np.array([1.0, 0.0, -1.0, 1.0, 0.0, 0.0])
    texts = [f"text {n}" for n in range(6)]
    once = bench.interval(gains, texts)
    assert bench.interval(bench.np.tile(gains, 3), texts * 3) == pytest.approx(once)  # three seeds say no more than one
