"""Audits: do the judges (``.judges``) and the behaviour dial (``.contentiousness``) do what a debate relies on?

Both let people answer the same questions blind: a file goes out as CSV or JSON Lines, and comes back as rows.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from maci.errors import InputError
from maci.files.parse import opened, read_bytes, read_lines
from maci.paths import save


def write_blind(rows: Sequence[Mapping[str, str]], columns: Sequence[str], to: Path) -> None:
    """JSON Lines where the name says so, else CSV whose texts no spreadsheet takes for formulas."""
    if to.suffix == ".jsonl":
        body = "".join(json.dumps(dict(row), ensure_ascii=False) + "\n" for row in rows)
    else:
        sheet = io.StringIO()
        writer = csv.DictWriter(sheet, columns)
        writer.writeheader()
        writer.writerows(
            {key: f"'{x}" if x.startswith(tuple("=+-@\t")) else x for key, x in row.items()} for row in rows
        )
        body = sheet.getvalue()
    save(to, body, "name another with --export")


def read_blind(file: Path, key: str, answer: str) -> Iterator[tuple[str, str, str, Mapping[str, Any]]]:
    """(where, key, answer, row) of every row; the answer is empty where it was left open."""
    try:
        if file.suffix == ".jsonl":
            rows = [data for _, data in read_lines(file)]
        else:
            with opened(file) as stream:
                body = read_bytes(stream, str(file)).decode("utf-8-sig")
            head = body.partition("\n")[0]
            separator = ";" if head.count(";") > head.count(",") else ","  # some spreadsheets write semicolons
            rows = list(csv.DictReader(io.StringIO(body, newline=""), delimiter=separator))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {file}: {error}") from error
    except csv.Error as error:
        raise InputError(f"{file} is not what --export wrote, filled in: {error}") from error
    for number, row in enumerate(rows, 1 if file.suffix == ".jsonl" else 2):
        where = f"{file}, row {number}"
        if not isinstance(row, dict) or not {key, answer} <= row.keys():
            raise InputError(
                f"{where}: needs the columns {key} and {answer}, separated by commas or semicolons; start from a file that "
                "--export wrote"
            )
        given = "" if row[answer] is None else str(row[answer]).strip()
        yield where, str(row[key]).strip(), given, row
