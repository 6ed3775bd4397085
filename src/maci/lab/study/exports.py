"""Rows for other programs: JSON lines with all parts, CSV and Parquet with one flat line for each."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from maci.errors import InputError, installed
from maci.lab.datasets import load_own
from maci.lab.datasets.files import digest
from maci.lab.study.rows import Row
from maci.lab.study.store import Meta
from maci.llm.usage import Usage
from maci.paths import writing

Texts = Mapping[tuple[str, str], str]
"""(Data, item) → what the case said."""

FORMATS = ("jsonl", "csv", "parquet")
_TEXT = ("data", "part", "item", "method", "gold", "group", "status", "reason", "answer")
_WHOLE = ("seed", "correct", "calls", "judge_calls", "rounds", "tokens", "judge_tokens")
_NUMBER = ("confidence", "agreement", "q0", "d0", "usd", "judge_usd", "seconds")
_NESTED = ("belief", "raters", "positions", "course", "extra")
_LAST = "context"
COLUMNS = (
    *_TEXT,
    *_WHOLE,
    *_NUMBER,
    *(f"{prefix}{name}" for prefix in ("", "judge_") for name in ("prompt", "cached", "generated")),
)
"""Of CSV and Parquet; then the nested parts as JSON, and the text of the case."""
_HEADER = (*COLUMNS, *_NESTED, _LAST)


def _parts(usage: Usage, prefix: str) -> dict[str, Any]:
    names = ("prompt", "cached", "generated", "tokens", "usd")
    return {f"{prefix}{name}": getattr(usage, name) for name in names}


def _derived(row: Row, texts: Texts) -> dict[str, Any]:
    """What can be said of a row in a word: who was named, whether that is right, what it cost."""
    belief = row.belief
    answer = max(belief, key=lambda y: belief[y]) if belief else None
    return {
        "answer": answer,
        "confidence": belief[answer] if belief and answer is not None else None,
        "correct": None if answer is None or row.gold is None else answer == row.gold,
        "tokens": row.usage.tokens,
        "judge_tokens": row.judge_usage.tokens,
        _LAST: texts.get((row.data, row.item)),
    }


def flat(row: Row, texts: Texts | None = None) -> dict[str, Any]:
    """A row as one line of a table: what was spent by its parts, nested parts as JSON, what is not known empty."""
    values = row.model_dump(mode="json", exclude={"usage", "judge_usage"})
    line = {**values, **_parts(row.usage, ""), **_parts(row.judge_usage, "judge_"), **_derived(row, texts or {})}
    line["correct"] = None if line["correct"] is None else int(line["correct"])
    for name in _NESTED:
        line[name] = None if line[name] is None else json.dumps(line[name], ensure_ascii=False)
    return {name: line[name] for name in _HEADER}


def texts_of(meta: Meta) -> tuple[dict[tuple[str, str], str], tuple[str, ...]]:
    """What the cases of a study's own files said, and why that is not known of some. Texts of public sets stay where they are."""
    found: dict[tuple[str, str], str] = {}
    missing = []
    for entry in meta.spec.data:
        if entry.file is None:
            continue
        known = meta.identity.get("files", {}).get(entry.name, {}).get(entry.file.name)
        whole = {"per_label": 0}  # evidence was a case with another seed
        try:
            if known is not None and digest(entry.file) != known:
                raise InputError(f"{entry.file} has changed since the study began")
            task = load_own(entry.file, columns={**entry.map, **whole}, **{**entry.options, **whole})
        except InputError as error:
            missing.append(f"the texts of {entry.name} are left out: {error}")
            continue
        for item in (*task.dev, *task.test):
            found[(entry.name, item.id)] = item.case.context or item.case.question
    return found, tuple(missing)


def export(rows: Iterable[Row], format: str, path: Path, texts: Texts | None = None) -> int:
    """Write rows as ``jsonl``, ``csv`` or ``parquet``, with the texts of their cases where given; how many they were."""
    if format not in FORMATS:
        raise InputError(f"--format {format!r}: choose one of {', '.join(FORMATS)}")
    with writing(path, "choose another --to"):
        path.parent.mkdir(parents=True, exist_ok=True)
        if format == "parquet":
            return _to_parquet(rows, path, texts)
        with path.open("w", encoding="utf-8", newline="") as file:
            table = csv.DictWriter(file, _HEADER)
            if format == "csv":
                table.writeheader()
            n = 0
            for row in rows:
                if format == "csv":
                    table.writerow(flat(row, texts))
                else:
                    line = {**row.model_dump(mode="json"), **_derived(row, texts or {})}
                    file.write(json.dumps(line, ensure_ascii=False) + "\n")
                n += 1
            return n


def _to_parquet(rows: Iterable[Row], path: Path, texts: Texts | None) -> int:
    pa, parquet = (installed(name, "eval", "Parquet") for name in ("pyarrow", "pyarrow.parquet"))
    kinds = {**dict.fromkeys((*_TEXT, *_NESTED, _LAST), pa.string()), **dict.fromkeys(_NUMBER, pa.float64())}
    schema = pa.schema([(name, kinds.get(name, pa.int64())) for name in _HEADER])
    n = 0
    with parquet.ParquetWriter(path, schema) as file:
        batch: list[dict[str, Any]] = []
        for row in rows:
            batch.append(flat(row, texts))
            n += 1
            if len(batch) >= 5000:
                file.write_table(pa.Table.from_pylist(batch, schema=schema))
                batch = []
        if batch:
            file.write_table(pa.Table.from_pylist(batch, schema=schema))
    return n
