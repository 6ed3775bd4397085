"""A tiny study of made-up cases, methods that do as they are told, and a look at what a run has kept."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maci.cases.case import Case
from maci.lab.methods.method import Bench, Method, MethodAnswer, Step
from maci.lab.study.run import RunOutcome, run_study
from maci.lab.study.spec import StudySpec, parse_spec
from maci.lab.study.store import SqliteStore
from maci.lab.study.study import Meta, Row, RowKey, Study, fingerprint, resolve
from maci.llm.budget import Ledger
from maci.llm.usage import Bound, Usage

SIGNS = {
    "gout": ("swollen big toe", "sudden pain at night", "red hot joint"),
    "flu": ("high fever", "muscle aches", "dry cough"),
    "hay fever": ("itchy eyes", "sneezing in spring", "runny nose"),
}
"""Made up, and so are the cases."""


def write_cases(folder: Path, n: int = 12) -> Path:
    """A file of ``n`` cases; some look like another outcome than theirs."""
    path = folder / "cases.jsonl"
    texts = [f"In {label}, look for {', '.join(signs)}." for label, signs in SIGNS.items()]
    labels = list(SIGNS)
    lines = []
    for i in range(n):
        gold, other = labels[i % 3], labels[(i + i // 3) % 3]
        context = f"Patient {i} has {SIGNS[gold][i % 2]} and {SIGNS[other][(i + 1) % 3]}."
        case = {"id": f"c{i}", "question": "What is it?", "context": context, "gold": gold, "outcomes": labels}
        lines.append(json.dumps({**case, "evidence": texts, "group": f"g{i % 2}"}))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def spec_data(**changes: Any) -> dict[str, Any]:
    """A spec over the file that :func:`write_cases` makes."""
    return {
        "name": "tiny",
        "seeds": [0, 1],
        "data": [{"file": "cases.jsonl", "label": "tiny"}],
        "methods": [{"use": "single", "each": True}, {"use": "average"}, {"use": "maci"}],
        **changes,
    }


def make_study(folder: Path, **changes: Any) -> Study:
    """The study of a folder."""
    if not (folder / "cases.jsonl").exists():
        write_cases(folder)
    spec: StudySpec = parse_spec(spec_data(**changes), "test.toml", folder=folder)
    return Study(spec=spec, panel=resolve(spec))


def toml(data: Mapping[str, Any]) -> str:
    """Enough TOML for a spec."""
    lines = [f"{k} = {json.dumps(v)}" for k, v in data.items() if not isinstance(v, dict) and not _tables(v)]
    for key, value in data.items():
        for table in value if _tables(value) else [value] if isinstance(value, dict) else []:
            lines.append(f"[[{key}]]" if _tables(value) else f"[{key}]")
            lines += [f"{json.dumps(k)} = {_inline(v)}" for k, v in table.items()]
    return "\n".join(lines) + "\n"


def _inline(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k)} = {_inline(v)}" for k, v in value.items()) + "}"
    return json.dumps(value)


def _tables(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)


def letters(texts: Sequence[str]) -> NDArray[np.float32]:
    """An encoder of one's own: how often each letter is there."""
    return np.array([[text.casefold().count(c) for c in "abcdefghijklmnopqrstuvwxyz"] for text in texts], np.float32)


class FakeMethod(Method):
    """Answers with a function of the case; keeps what it was asked."""

    def __init__(
        self, name: str, reply: Callable[[Case, Bench, int], MethodAnswer], asked: list[tuple[str, str, int]]
    ) -> None:
        self.name, self._reply, self._asked = name, reply, asked

    async def answer(self, case: Case, bench: Bench, seed: int) -> MethodAnswer:
        if bench.config.budget.tokens == 0:
            return MethodAnswer(belief=None, reason="nothing fits", out_of_budget=True)
        self._asked.append((self.name, case.id, seed))
        await asyncio.sleep(0)
        return self._reply(case, bench, seed)


def guess(case: Case, bench: Bench, seed: int) -> MethodAnswer:
    """A belief that depends on the case and the seed alone."""
    first = (int(case.id[1:]) + seed) % 3
    belief = {label: 0.6 if i == first else 0.2 for i, label in enumerate(SIGNS)}
    step = Step(belief=belief, beliefs={"one": belief}, d=0.25)
    return MethodAnswer(belief=belief, reason="guessed", calls=1, usage=Usage(generated=10), course=(step,))


def paying(tokens: int, bound: int) -> Callable[[Case, Bench, int], MethodAnswer]:
    """Like :func:`guess`, after a call that may cost ``bound`` and costs ``tokens``."""

    def reply(case: Case, bench: Bench, seed: int) -> MethodAnswer:
        own = Ledger(bench.config.budget.tokens, parent=bench.ledger)
        if not own.reserve(Bound(bound)):
            return MethodAnswer(belief=None, reason="budget", out_of_budget=True)
        own.settle(Bound(bound), Usage(generated=tokens))
        return guess(case, bench, seed)

    return reply


def run(study: Study, folder: Path, **more: Any) -> RunOutcome:
    """Run a study into ``results.sqlite`` of a folder."""
    with SqliteStore(folder / "results.sqlite") as store:
        return asyncio.run(run_study(study, store, **more))


def kept(folder: Path) -> dict[RowKey, dict[str, Any]]:
    """What a folder has, without what may differ between two runs."""
    with SqliteStore(folder / "results.sqlite", make=False) as store:
        return {row.key: telling(row) for row in store.rows()}


def telling(row: Row) -> dict[str, Any]:
    """A row without its times."""
    return row.model_dump(mode="json", exclude={"seconds": True, "usage": {"seconds"}, "judge_usage": {"seconds"}})


def make_meta(**changes: Any) -> Meta:
    """What a store is told of a study."""
    spec = parse_spec(spec_data(**changes), "test.toml")
    return Meta(spec=spec, identity=spec.identity, fingerprint=fingerprint(spec.identity))


def make_row(item: str = "c1", **changes: Any) -> Row:
    """A row with something in every corner."""
    belief = {"gout": 0.7, "flu": 0.2, "hay fever": 0.1}
    fields: dict[str, Any] = {
        "data": "tiny", "seed": 0, "part": "test", "item": item, "method": "maci", "gold": "gout", "group": "g1",
        "belief": belief, "reason": "consensus", "q0": 0.5, "calls": 6, "judge_calls": 4, "rounds": 2, "seconds": 0.25,
        "usage": Usage(prompt=100, generated=20, usd=0.01), "course": ({"belief": belief, "d": 0.25},),
    }  # fmt: skip
    return Row(**{**fields, **changes})


class Runs:
    """`maci study run` as processes, each a group of its own; what still runs at the end of the block is killed."""

    def __init__(self, folder: Path, environ: Mapping[str, str] | None = None) -> None:
        plain = {k: v for k, v in os.environ.items() if not k.startswith(("MACI_", "PYTHONHASHSEED"))}
        self._folder, self._environ = folder, environ or plain
        self._started: list[subprocess.Popen[str]] = []

    def __enter__(self) -> Runs:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._started:
            if process.returncode is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()

    def start(self, *more: str, inside: Sequence[str] = ()) -> subprocess.Popen[str]:
        """Begin; ``inside`` stands before the command."""
        maci = str(Path(sys.executable).parent / "maci")
        self._started.append(
            subprocess.Popen(
                [*inside, maci, "study", "run", "study.toml", *more, "--plain"],
                cwd=self._folder, env=self._environ, text=True,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
            )
        )  # fmt: skip
        return self._started[-1]

    def finish(self, *more: str) -> str:
        """What a run that must end well prints."""
        return self.end(self.start(*more))

    def end(self, process: subprocess.Popen[str]) -> str:
        """Wait for one that must end well."""
        out, err = process.communicate(timeout=300)
        assert process.returncode == 0, err[-3000:]
        return out

    def wait(self, process: subprocess.Popen[str], rows: Callable[[], int], at_least: int) -> int:
        """Until there are so many rows, or the run has ended: how many there are then."""
        patience = time.monotonic() + 120
        while (found := rows()) < at_least and process.poll() is None and time.monotonic() < patience:
            time.sleep(0.01)
        return found
