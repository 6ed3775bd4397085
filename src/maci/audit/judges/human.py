"""A blind audit by people: items out, scores in.

Out go the question, the argument and its cited pieces under a code: no agent, no model, no judge's score, in an order of their own.
People fill in ``score`` (any scale, the same throughout; more is better) and may sign with ``rater``. The code is a hash of the
argument's id, so that the same command with ``--import`` knows them again.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from maci.audit.judges.agreement import alpha
from maci.audit.judges.correlation import Rows
from maci.audit.judges.estimate import Estimate, Sampling, undefined
from maci.audit.judges.items import Item
from maci.errors import EnvironmentError_, InputError
from maci.story.words import plural

__all__ = ["COLUMNS", "blind", "code", "exported", "human_alpha", "imported"]

COLUMNS = ("code", "question", "context", "argument", "evidence", "score", "rater")


def code(item: Item) -> str:
    """What an argument is called towards people."""
    return hashlib.sha256(f"blind/{item.id}".encode()).hexdigest()[:10]


def blind(items: Sequence[Item]) -> list[dict[str, str]]:
    """The rows, in the order of their codes: what stands beside what says nothing."""
    rows = []
    for item in sorted(items, key=code):
        request = item.request
        argument = request.argument
        parts = [
            argument.claim,
            *(f"Because: {r}" for r in argument.reasons),
            *(f"Against it: {o}" for o in argument.opposing),
        ]
        pieces = "\n".join(f"[{n}] {span.text}" for n, span in enumerate(request.spans, 1)) or "(none)"
        rows.append(
            {
                "code": code(item), "question": request.question.question, "context": request.question.context,
                "argument": "\n".join(parts), "evidence": pieces, "score": "", "rater": "",
            }
        )  # fmt: skip
    return rows


def exported(items: Sequence[Item], to: Path) -> None:
    """Write them, as CSV or JSONL by the file's name."""
    rows = blind(items)
    if to.suffix == ".jsonl":
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    elif to.suffix == ".csv":
        buffer = io.StringIO()
        writer = csv.DictWriter(buffer, COLUMNS)
        writer.writeheader()
        writer.writerows({key: _cell(value) for key, value in row.items()} for row in rows)
        text = buffer.getvalue()
    else:
        raise InputError(f"--export {to}: name a file that ends in .csv or .jsonl")
    try:
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_text(text, encoding="utf-8", newline="")
    except OSError as error:
        raise EnvironmentError_(f"cannot write {to}: {error.strerror}; name another file with --export") from error


def _cell(text: str) -> str:
    """A text that no spreadsheet takes for a formula."""
    return f"'{text}" if text[:1] in "=+-@\t" and text[:1] else text


def _rows(file: Path) -> list[dict[str, Any]]:
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {file}: {error}") from error
    try:
        if file.suffix == ".jsonl":
            return [json.loads(line) for line in text.splitlines() if line.strip()]
    except ValueError as error:
        raise InputError(f"{file}: not JSON: {error}") from error
    head = text.partition("\n")[0]
    separator = ";" if head.count(";") > head.count(",") else ","  # some spreadsheets write semicolons
    return list(csv.DictReader(io.StringIO(text, newline=""), delimiter=separator))


def imported(file: Path, items: Sequence[Item]) -> Rows:
    """(raters, items): what people said; nan where they did not. Rows without a score are skipped, wrong ones named."""
    place = {code(item): i for i, item in enumerate(items)}
    raters: dict[str, np.typing.NDArray[np.float64]] = {}
    unknown = empty = 0
    for number, row in enumerate(_rows(file), 2):
        where = f"{file}, row {number}"
        if not isinstance(row, dict) or "code" not in row or "score" not in row:
            raise InputError(
                f"{where}: needs the columns code and score, separated by commas or semicolons; start from a file that --export wrote"
            )
        given = str(row["score"] if row["score"] is not None else "").strip()
        if not given:
            empty += 1
            continue
        try:
            value = float(given)
        except ValueError as error:
            raise InputError(f"{where}: score is {given!r}, must be a number") from error
        if not math.isfinite(value):
            raise InputError(f"{where}: score is {given!r}, must be a number")
        if (i := place.get(str(row["code"]).strip())) is None:
            unknown += 1
            continue
        own = raters.setdefault(str(row.get("rater") or "").strip(), np.full(len(items), np.nan))
        own[i] = value
    if not raters and not unknown:
        raise InputError(
            f"{file}: no score is filled in ({plural(empty, 'row')} without one): write numbers into the column `score`"
        )
    if not raters:
        raise InputError(
            f"{file}: no score belongs to an argument of this audit ({unknown} belong to none): give the same --arguments, --n and "
            "--seed as when it was exported"
        )
    return np.stack(list(raters.values()))


def human_alpha(people: Rows, sampling: Sampling) -> Estimate:
    """Do people agree with each other? A judge can hardly agree with them more than they do."""
    return (
        alpha(people, sampling)
        if len(people) > 1
        else undefined("one person only: fill in `rater` to tell several apart")
    )
