"""What came of a batch: a row for each case, the two files that hold them, and the sentence that sums them up."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from maci.debating.batch import Done
from maci.errors import EnvironmentError_
from maci.story import Story
from maci.story.words import plural

_COLUMNS = (
    "number", "case", "status", "answer", "p", "abstained", "prediction_set", "gold", "correct", "stage", "stop_reason", "rounds",
    "tokens", "usd", "folder", "warnings", "error",
)  # fmt: skip


def path_of(done: Done) -> Path:
    """Where a case is recorded, or would be."""
    return done.entry.folder / "transcript.jsonl" if done.path is None else done.path


def row(done: Done) -> dict[str, Any]:
    """One case of results.json; where `abstained` says why no answer is given, `answer` and `correct` are of the best guess."""
    result, case = done.result, done.entry.case
    answer = None if result is None else result.answer
    held = None if result is None else result.prediction_set
    return {
        "number": done.entry.number,
        "case": done.entry.name,
        "status": done.status,
        "answer": answer,
        "p": None if result is None or answer is None else result.distribution[answer],
        "abstained": None if result is None else result.abstained,
        "prediction_set": None if held is None else asdict(held),
        "gold": case.gold,
        "correct": None
        if case.gold is None or result is None or answer is None
        else answer == case.gold_among(result.raw),
        "stage": Story.of(done.events).stage if result is not None else None,
        "stop_reason": None if result is None else result.stop_reason,
        "rounds": None if result is None else result.rounds,
        "tokens": None if result is None else result.tokens,
        "usd": None if result is None else result.usd,
        "folder": path_of(done).parent.name,
        "warnings": [] if result is None else list(result.warnings),
        "error": done.error,
    }


def write(out: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """results.json and results.csv, each whole or as it was before."""
    page = io.StringIO()
    table = csv.DictWriter(page, _COLUMNS)
    table.writeheader()
    table.writerows(map(_flat, rows))
    summary = {
        status: sum(row["status"] == status for row in rows) for status in ("done", "failed", "budget", "waiting")
    }
    summary["withheld"] = sum(_withheld(row) for row in rows)
    texts = {
        "results.csv": page.getvalue(),
        "results.json": json.dumps({**summary, "results": list(rows)}, ensure_ascii=False, indent=1) + "\n",
    }
    try:
        out.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            part = out / f".{name}.{os.getpid()}"
            try:
                part.write_text(text, encoding="utf-8")
                part.replace(out / name)
            finally:
                part.unlink(missing_ok=True)
    except OSError as error:
        raise EnvironmentError_(
            f"cannot write the results to {out}: {error.strerror}; the transcripts are kept"
        ) from error


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    """The same for a cell of a table each: outcomes and warnings as JSON lists."""
    held = row["prediction_set"]
    outcomes = None if held is None else json.dumps(held["outcomes"], ensure_ascii=False)
    warnings = json.dumps(row["warnings"], ensure_ascii=False) if row["warnings"] else None
    return {**row, "prediction_set": outcomes, "warnings": warnings}


def in_words(rows: Sequence[Mapping[str, Any]]) -> str:
    """How many cases have an answer, how many of those are right, and how many answers were withheld."""
    done = [row for row in rows if row["status"] == "done"]
    given, withheld = [row for row in done if not _withheld(row)], [row for row in done if _withheld(row)]
    said = f"{plural(len(given), 'answer')} to {plural(len(rows), 'case')}"
    if known := _known(given):
        said += f", {sum(known)} of {len(known)} with a known answer right"
    if withheld:
        known = _known(withheld)
        guesses = f" (of their best guesses {sum(known)} of {len(known)} would be right)" if known else ""
        said += f", {len(withheld)} withheld at this risk level{guesses}"
    return said


def _withheld(row: Mapping[str, Any]) -> bool:
    return row["status"] == "done" and row["abstained"] is not None


def _known(rows: Sequence[Mapping[str, Any]]) -> list[bool]:
    return [row["correct"] for row in rows if row["correct"] is not None]
