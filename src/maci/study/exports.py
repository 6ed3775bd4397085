"""Rows for other programs: JSON lines as they are, CSV and Parquet with one flat line for each."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from maci.errors import EnvironmentError_, InputError, MissingExtra
from maci.llm.usage import Usage
from maci.study.rows import Row

__all__ = ["FORMATS", "export", "flat"]

FORMATS = ("jsonl", "csv", "parquet")
_TEXT = ("data", "part", "item", "method", "gold", "group", "status", "reason", "answer")
_WHOLE = ("seed", "calls", "judge_calls", "rounds", "tokens", "judge_tokens")
_NUMBER = ("confidence", "agreement", "q0", "d0", "usd", "judge_usd", "seconds")
_NESTED = ("belief", "raters", "positions", "course", "extra")
COLUMNS = (
    *_TEXT,
    *_WHOLE,
    *_NUMBER,
    *(f"{prefix}{name}" for prefix in ("", "judge_") for name in ("prompt", "cached", "generated")),
)
"""Of CSV and Parquet; then the nested parts as JSON."""


def _parts(usage: Usage, prefix: str) -> dict[str, Any]:
    names = ("prompt", "cached", "generated", "tokens", "usd")
    return {f"{prefix}{name}": getattr(usage, name) for name in names}


def flat(row: Row) -> dict[str, Any]:
    """A row as one line of a table: what was spent by its parts, nested parts as JSON, what is not known empty."""
    values = row.model_dump(mode="json", exclude={"usage", "judge_usage"})
    belief = row.belief
    answer = max(belief, key=lambda y: belief[y]) if belief else None
    more = {"answer": answer, "confidence": belief[answer] if belief and answer is not None else None}
    line = {**values, **more, **_parts(row.usage, ""), **_parts(row.judge_usage, "judge_")}
    for name in _NESTED:
        line[name] = None if line[name] is None else json.dumps(line[name], ensure_ascii=False)
    return {name: line[name] for name in (*COLUMNS, *_NESTED)}


def export(rows: Iterable[Row], format: str, path: Path) -> int:
    """Write rows as ``jsonl``, ``csv`` or ``parquet``; how many they were."""
    if format not in FORMATS:
        raise InputError(f"--format {format!r}: choose one of {', '.join(FORMATS)}")
    if format == "parquet":
        _parquet()  # before anything is written
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if format == "parquet":
            return _to_parquet(rows, path)
        with path.open("w", encoding="utf-8", newline="") as file:
            table = csv.DictWriter(file, (*COLUMNS, *_NESTED))
            if format == "csv":
                table.writeheader()
            n = 0
            for row in rows:
                if format == "csv":
                    table.writerow(flat(row))
                else:
                    file.write(row.model_dump_json() + "\n")
                n += 1
            return n
    except OSError as error:
        raise EnvironmentError_(f"cannot write {path}: {error.strerror}; choose another --to") from error


def _parquet() -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise MissingExtra("pyarrow", "eval", "Parquet") from error
    return pyarrow


def _to_parquet(rows: Iterable[Row], path: Path) -> int:
    pa = _parquet()
    kinds = {**dict.fromkeys((*_TEXT, *_NESTED), pa.string()), **dict.fromkeys(_NUMBER, pa.float64())}
    schema = pa.schema([(name, kinds.get(name, pa.int64())) for name in (*COLUMNS, *_NESTED)])
    n = 0
    with pa.parquet.ParquetWriter(path, schema) as file:
        batch: list[dict[str, Any]] = []
        for row in rows:
            batch.append(flat(row))
            n += 1
            if len(batch) >= 5000:
                file.write_table(pa.Table.from_pylist(batch, schema=schema))
                batch = []
        if batch:
            file.write_table(pa.Table.from_pylist(batch, schema=schema))
    return n
