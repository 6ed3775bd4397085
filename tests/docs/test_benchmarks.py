"""The benchmarks take from MACI what is there: they are run by hand, and a name that moved would break them unseen."""

from __future__ import annotations

import ast
import asyncio
import json
import sys
from argparse import Namespace
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module
from math import inf
from pathlib import Path
from typing import Any

import pytest

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
    assert "1 of 49 cases of the dev half so far (96 in both)" in capsys.readouterr().out
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


def test_debates_of_one_text_are_no_independent_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS[0].parent))
    bench = import_module("bench_readers")
    gains = bench.np.array([1.0, 0.0, -1.0, 1.0, 0.0, 0.0])
    texts = [f"text {n}" for n in range(6)]
    once = bench.interval(gains, texts)
    assert bench.interval(bench.np.tile(gains, 3), texts * 3) == pytest.approx(once)  # three seeds say no more than one
