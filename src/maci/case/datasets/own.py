"""Your own cases: a CSV, TSV, JSON-lines or Parquet file, one case a row, with a mapping from what a case needs to its columns."""

from __future__ import annotations

import difflib
import importlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from maci.case.case import Case, Document
from maci.case.datasets.files import is_dev, json_lines, need, plain, table, text_id
from maci.case.datasets.task import Item, Task
from maci.case.outcomes import OutcomeSpace, canonical
from maci.errors import BeliefError, CaseError, InputError, MissingExtra

__all__ = ["FIELDS", "SUFFIXES", "is_own", "load_own", "parse_map"]

FIELDS = {
    "question": "what is asked",
    "context": "what is known",
    "gold": "the true outcome",
    "outcomes": "what an answer may be: a list, or labels between | marks",
    "evidence": "texts that come with the case: a list, or one text",
    "id": "a name of the case that stays",
    "group": "a stratum to report by",
}
"""What a column can be mapped to."""
SUFFIXES = (".csv", ".tsv", ".jsonl", ".jsonl.gz", ".csv.gz", ".parquet")


def is_own(name: str) -> bool:
    """Whether the name of a data set is that of a file.

    >>> is_own("my/cases.csv"), is_own("gsm8k")
    (True, False)
    """
    return name.casefold().endswith(SUFFIXES)


def parse_map(given: Sequence[str]) -> dict[str, str]:
    """A mapping from ``field=column`` texts.

    >>> parse_map(["context=text", "gold=label"])
    {'context': 'text', 'gold': 'label'}
    """
    found = {}
    for text in given:
        name, equals, column = text.partition("=")
        if not equals or not name.strip() or not column.strip():
            raise InputError(f"--map {text!r}: write field=column, such as context=text")
        found[name.strip()] = column.strip()
    return found


@dataclass(frozen=True, slots=True)
class _Row:
    """A row with the number a person would give it: the first below the header is 1."""

    number: int
    cells: Mapping[str, Any]
    columns: Mapping[str, str]

    def __getitem__(self, field: str) -> str:
        return _text(self.raw(field))

    def raw(self, field: str) -> Any:
        return self.cells.get(self.columns[field]) if field in self.columns else None


def load_own(
    path: Path,
    *,
    columns: Mapping[str, Any] | None = None,
    question: str = "",
    outcomes: str | Sequence[str] = (),
) -> Task:
    """Your own cases as a task; development and test by the hash of the text.

    ``columns``: field of :data:`FIELDS` → column of the file, where the names differ. ``question``: asked of every row that has
    none. ``outcomes``: labels, or ``open``; without them a row's own, else every gold outcome of the file. Both may also stand in
    ``columns``: a list of outcomes, and a question that is not the name of a column.
    """
    rows = list(_rows(path))
    there = list(dict.fromkeys(name for row in rows for name in row))
    if not rows:
        raise InputError(f"{path} has no rows: write one case a row, with a header")
    given = dict(columns or {})
    if isinstance(given.get("outcomes"), list | tuple) or given.get("outcomes") == "open":
        outcomes = given.pop("outcomes")
    if " " in str(given.get("question", "")) and given["question"] not in there:
        question = given.pop("question")
    chosen = _columns(path, given, there)
    if "question" not in chosen and not question:
        raise InputError(f"{path}: nothing is asked. Map a column to question, or give one question for all rows")
    if "context" not in chosen and "question" not in chosen:
        need(there, ("context",), path)
    if "gold" not in chosen:
        raise InputError(
            f"{path}: no column says the true outcome. Map one to gold (gold=COLUMN); there are {', '.join(there)}"
        )
    return _task(path, [_Row(n, cells, chosen) for n, cells in enumerate(rows, 1)], question, outcomes)


def _columns(path: Path, given: Mapping[str, Any], there: Sequence[str]) -> dict[str, str]:
    for name in given:
        if name not in FIELDS:
            near = difflib.get_close_matches(name, FIELDS, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"choose {', '.join(FIELDS)}"
            raise InputError(f"cannot map to {name!r}: {hint}")
    need(there, tuple(map(str, given.values())), path)
    return {name: name for name in FIELDS if name in there} | {name: str(column) for name, column in given.items()}


def _task(path: Path, rows: Sequence[_Row], question: str, outcomes: str | Sequence[str]) -> Task:
    everything = tuple(dict.fromkeys(row["gold"] for row in rows if row["gold"]))
    given = _labels(outcomes)
    items: dict[str, Item] = {}
    golds: dict[str, str] = {}
    seen: dict[str, int] = {}
    repeated: list[int] = []
    at_odds: list[int] = []
    for row in rows:
        asked, context = row["question"] or question, row["context"]
        if not context and not row["question"]:
            raise InputError(f"{path}, row {row.number}: the case is empty, it has neither context nor a question")
        text = f"{asked}\n{context}"
        if text in golds:
            (repeated if golds[text] == row["gold"] else at_odds).append(row.number)
            continue
        golds[text] = row["gold"]
        name = row["id"] or text_id(text)
        if name in seen:
            raise InputError(f"{path}, row {row.number}: the id {name!r} is that of row {seen[name]} too")
        seen[name] = row.number
        case = _case(path, row, name, asked, _labels(row.raw("outcomes")) or given or everything)
        items[text] = Item(id=name, case=case, group=row["group"])
    return Task(
        name=path.name,
        dev=tuple(item for text, item in items.items() if is_dev(plain(text))),
        test=tuple(item for text, item in items.items() if not is_dev(plain(text))),
        notes=(
            *_about(path, repeated, "repeat an earlier text and count once"),
            *_about(path, at_odds, "repeat an earlier text with ANOTHER gold outcome; the first counts"),
        ),
    )


def _case(path: Path, row: _Row, name: str, question: str, labels: Sequence[str]) -> Case:
    if not row["gold"]:
        raise InputError(f"{path}, row {row.number}: gold is empty; write the true outcome, or leave the row out")
    try:
        space = OutcomeSpace(kind="open") if list(labels) == ["open"] else OutcomeSpace(labels=tuple(labels))
        return Case(
            question=question,
            context=row["context"],
            outcomes=space,
            evidence=tuple(Document(text, f"evidence {i}") for i, text in enumerate(_texts(row.raw("evidence")), 1)),
            gold=row["gold"] if space.kind == "open" else canonical(row["gold"], space, space.labels),
            id=name,
        )
    except BeliefError as error:
        raise InputError(f"{path}, row {row.number}: gold: {error}") from error
    except CaseError as error:
        raise InputError(f"{path}, row {row.number}: {error}") from error


def _about(path: Path, rows: Sequence[int], what: str) -> tuple[str, ...]:
    some = ", ".join(map(str, rows[:5])) + (" …" if len(rows) > 5 else "")
    return (f"{path.name}: {len(rows)} rows {what} (rows {some}).",) if rows else ()


def _text(value: Any) -> str:
    """A cell as text; nothing, and a number that is none, are empty.

    >>> _text(None), _text(" a "), _text(2.0), _text(float("nan")), _text(True)
    ('', 'a', '2', '', 'yes')
    """
    if value is None or value != value:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value).strip()


def _texts(value: Any) -> tuple[str, ...]:
    """A cell that may hold several texts: a list, a JSON list, or one text."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            value = json.loads(value)
        except json.JSONDecodeError:
            return (value.strip(),)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return tuple(text for part in value if (text := _text(part)))
    return (_text(value),) if _text(value) else ()


def _labels(value: Any) -> tuple[str, ...]:
    """Outcomes: a list, a JSON list, or labels between | marks.

    >>> _labels("yes | no"), _labels(["a", 2]), _labels("open"), _labels(None)
    (('yes', 'no'), ('a', '2'), ('open',), ())
    """
    found = _texts(value)
    if len(found) == 1 and "|" in found[0]:
        return tuple(part.strip() for part in found[0].split("|") if part.strip())
    return found


def _rows(path: Path) -> Iterator[Mapping[str, Any]]:
    name = path.name.casefold()
    if not path.is_file():
        raise InputError(f"there is no file {path}: give the path of a {', '.join(SUFFIXES)} file")
    if name.endswith(".parquet"):
        return _parquet(path)
    if name.endswith((".jsonl", ".jsonl.gz")):
        return json_lines(path)
    return table(path, (), delimiter="\t" if name.endswith(".tsv") else ",")


def _parquet(path: Path) -> Iterator[Mapping[str, Any]]:
    try:
        parquet: Any = importlib.import_module("pyarrow.parquet")
    except ImportError as error:
        raise MissingExtra("pyarrow", "eval", f"reading {path}") from error
    try:
        rows: list[Mapping[str, Any]] = parquet.read_table(path).to_pylist()
    except Exception as error:  # pyarrow's own errors share no base but this
        raise InputError(f"cannot read {path}: {' '.join(str(error).split())[:200]}") from error
    return iter(rows)
