"""Your own cases: a CSV, TSV, JSON-lines or Parquet file, one case a row, with a mapping from what a case needs to its columns."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import starmap
from pathlib import Path
from typing import Any

import numpy as np

from maci.cases.case import Case, Document
from maci.cases.labels import canonical
from maci.cases.outcomes import OutcomeSpace
from maci.errors import BeliefError, CaseError, InputError, installed, near
from maci.files.bounds import Beyond
from maci.files.parse import parse
from maci.files.worker import ask
from maci.lab.datasets.dataset import Task, TaskItem
from maci.lab.datasets.files import content, need, objects, plain, rows, text_id

FIELDS = {
    "question": "what is asked",
    "context": "what is known",
    "gold": "the true outcome",
    "outcomes": "what an answer may be: a list, or labels between | marks",
    "evidence": "texts that come with the case: one text, or a list of texts and of {text, label, source, id}",
    "id": "a name of the case that stays",
    "group": "a stratum to report by",
}
"""What a column can be mapped to."""
OPTIONS = ("question", "outcomes", "per_label")
"""What can be said of the file as a whole."""
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
    """A row and where a person finds it."""

    place: int
    """Line of a text file, the header's is 1; row of a Parquet file."""
    cells: Mapping[str, Any]
    columns: Mapping[str, str] = field(default_factory=dict)

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
    per_label: int = 0,
    seed: int = 0,
) -> Task:
    """Your own cases as a task; development and test by the hash of the text, whatever the order of the rows.

    ``columns``: field of :data:`FIELDS` → column of the file, where the names differ. ``question``: asked of every row that has
    none. ``outcomes``: labels, or ``open``; without them a row's own, else every gold outcome of the file. ``per_label``: so many
    development texts of each gold outcome, drawn by ``seed``, are evidence for all cases and no cases any more. These three may also
    stand in ``columns``: a list of outcomes, a number, and a question that is not the name of a column.
    """
    everything = list(_rows(path))
    there = list(dict.fromkeys(name for row in everything for name in row.cells if name is not None))
    filled = [
        row
        for row in everything
        if any(value if isinstance(value, list | tuple | dict) else _text(value) for value in row.cells.values())
    ]
    if not filled:
        raise InputError(f"{path} has no rows: write one case a row, with a header")
    given = dict(columns or {})
    if isinstance(given.get("outcomes"), list | tuple) or given.get("outcomes") == "open":
        outcomes = given.pop("outcomes")
    if "per_label" in given:
        per_label = given.pop("per_label")
    asked = str(given.get("question", "")).strip()
    if (" " in asked or asked.endswith("?")) and given["question"] not in there:
        question = given.pop("question")
    per_label = _count(per_label)
    chosen = _columns(path, given, there)
    if "question" not in chosen and not question:
        raise InputError(f"{path}: nothing is asked. Map a column to question, or give one question for all rows")
    if "context" not in chosen and "question" not in chosen:
        need(there, ("context",), path)
    if "gold" not in chosen:
        raise InputError(
            f"{path}: no column says the true outcome. Map one to gold (gold=COLUMN); there are {', '.join(there)}"
        )
    task = _task(path, [replace(row, columns=chosen) for row in filled], question, outcomes)
    blank = sorted({row.place for row in everything} - {row.place for row in filled})
    notes = (*task.notes, *_about(path, blank, "is blank and left out", "are blank and left out"))
    return _dealt(replace(task, notes=notes), per_label, seed)


def _count(value: Any) -> int:
    number = int(value) if isinstance(value, str) and value.strip().isdigit() else value
    if not isinstance(number, int) or isinstance(number, bool) or number < 0:
        raise InputError(f"per_label is {value!r}: it must be a whole number of texts of each label, 0 or more")
    return number


def _dealt(task: Task, per_label: int, seed: int) -> Task:
    """The task with some of its development texts as evidence; none that a test case has too."""
    if not per_label:
        return task
    tested = {plain(_shown(item)) for item in task.test}
    rng = np.random.default_rng(seed)
    evidence: list[TaskItem] = []
    by_label: dict[str, list[TaskItem]] = defaultdict(list)
    for item in task.dev:
        if plain(_shown(item)) not in tested:
            by_label[str(item.case.gold)].append(item)
    for label in sorted(by_label):
        evidence += [by_label[label][i] for i in rng.permutation(len(by_label[label]))[:per_label]]
    taken = {plain(_shown(item)) for item in evidence}
    return replace(
        task,
        evidence=tuple(Document(_shown(item), task.name, label=item.case.gold) for item in evidence),
        dev=tuple(item for item in task.dev if plain(_shown(item)) not in taken),
        notes=(
            *task.notes,
            f"{task.name}: {len(evidence)} development texts, at most {per_label} of each label, are evidence and no cases.",
        ),
    )


def _shown(item: TaskItem) -> str:
    return item.case.context or item.case.question


def _columns(path: Path, given: Mapping[str, Any], there: Sequence[str]) -> dict[str, str]:
    for name in given:
        if name not in FIELDS:
            raise InputError(f"cannot map to {name!r}: {near(name, FIELDS, 'choose ' + ', '.join(FIELDS))}")
    need(there, tuple(map(str, given.values())), path)
    return {name: name for name in FIELDS if name in there} | {name: str(column) for name, column in given.items()}


class _Wrong(Exception):
    """What is wrong with one row."""


def _task(path: Path, rows: Sequence[_Row], question: str, outcomes: str | Sequence[str]) -> Task:
    everything = tuple(
        sorted({row["gold"] for row in rows if row["gold"]}, key=lambda label: (label.casefold(), label))
    )
    given = _labels(outcomes)
    items: dict[str, TaskItem] = {}
    golds: dict[str, str] = {}
    seen: dict[str, int] = {}
    repeated: list[int] = []
    at_odds: list[int] = []
    wrong: dict[str, list[int]] = defaultdict(list)
    for row in rows:
        asked = row["question"] or question
        text = plain(f"{asked}\n{row['context']}")
        if text in golds:
            (repeated if plain(golds[text]) == plain(row["gold"]) else at_odds).append(row.place)
            continue
        try:
            item = _item(row, asked, _labels(row.raw("outcomes")) or given or everything)
            if item.id in seen:
                raise _Wrong(f"the id {item.id!r} is that of {_place(path, [seen[item.id]])} too")
        except _Wrong as error:
            wrong[str(error)].append(row.place)
            continue
        golds[text], seen[item.id], items[text] = row["gold"], row.place, item
    if wrong:
        raise _refused(path, wrong)
    return Task.split(
        sorted(items.items(), key=lambda entry: entry[1].id),
        name=path.name,
        notes=(
            *_about(
                path, repeated, "repeats an earlier text and counts once", "repeat earlier texts, which count once"
            ),
            *_about(
                path,
                at_odds,
                "repeats an earlier text with ANOTHER gold outcome; the first counts",
                "repeat earlier texts with ANOTHER gold outcome; the first counts",
            ),
        ),
    )


def _item(row: _Row, question: str, labels: Sequence[str]) -> TaskItem:
    if None in row.cells:
        raise _Wrong("it has more cells than the header; put texts that contain the delimiter between double quotes")
    if not row["context"] and not row["question"]:
        raise _Wrong("the case is empty, it has neither context nor a question")
    if not row["gold"]:
        raise _Wrong("gold is empty; write the true outcome, or leave the row out")
    try:
        space = OutcomeSpace(kind="open") if list(labels) == ["open"] else OutcomeSpace(labels=tuple(labels))
        case = Case(
            question=question,
            context=row["context"],
            outcomes=space,
            evidence=_documents(row.raw("evidence")),
            gold=row["gold"] if space.kind == "open" else canonical(row["gold"], space, space.labels),
            id=row["id"] or text_id(f"{question}\n{row['context']}"),
        )
    except (BeliefError, CaseError) as error:
        raise _Wrong(f"gold: {error}" if isinstance(error, BeliefError) else str(error)) from error
    return TaskItem(case=case, group=row["group"])


def _refused(path: Path, wrong: Mapping[str, Sequence[int]]) -> InputError:
    """Everything that is wrong, up to a point, in one error."""
    found = [f"{_place(path, places)}: {what}" for what, places in wrong.items()]
    if len(found) == 1:
        return InputError(f"{path}, {found[0]}")
    more = f"\n  … and {len(found) - _SAID} more" if len(found) > _SAID else ""
    n = sum(map(len, wrong.values()))
    return InputError(f"{path}: {n} rows cannot be used\n  " + "\n  ".join(found[:_SAID]) + more)


_SAID = 5
"""Rows, and things that are wrong with rows, that are named."""


def _place(path: Path, places: Sequence[int]) -> str:
    word = "row" if path.name.casefold().endswith(".parquet") else "line"
    some = ", ".join(map(str, places[:_SAID])) + (" …" if len(places) > _SAID else "")
    return f"{word} {some}" if len(places) == 1 else f"{word}s {some}"


def _about(path: Path, places: Sequence[int], one: str, many: str) -> tuple[str, ...]:
    what = f"1 row {one}" if len(places) == 1 else f"{len(places)} rows {many}"
    return (f"{path.name}: {what} ({_place(path, places)}).",) if places else ()


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


def _documents(value: Any) -> tuple[Document, ...]:
    """Texts that come with a case; an object among them may say what its text is an example of, and where it is from."""
    found = []
    for i, part in enumerate(_parts(value), 1):
        if not isinstance(part, Mapping):
            found += [Document(text, f"evidence {i}")] if (text := _text(part)) else []
            continue
        odd = [str(key) for key in part if key not in {"text", "label", "source", "id"}]
        if odd or not _text(part.get("text")):
            what = f"has {odd[0]!r}" if odd else "has no text"
            raise _Wrong(f"evidence {i} {what}: write a text, or an object of text, label, source and id")
        more = {name: _text(part.get(name)) or None for name in ("label", "id")}
        found.append(Document(_text(part["text"]), _text(part.get("source")) or f"evidence {i}", **more))
    return tuple(found)


def _parts(value: Any) -> Sequence[Any]:
    """What a cell holds: the parts of a list or of a JSON list, else the cell itself."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        with suppress(InputError):
            value = parse(value, "JSON", "a cell")
    return value if isinstance(value, Sequence) and not isinstance(value, str) else [value]


def _labels(value: Any) -> tuple[str, ...]:
    """Outcomes: a list, a JSON list, or labels between | marks.

    >>> _labels("yes | no"), _labels(["a", 2]), _labels("open"), _labels(None)
    (('yes', 'no'), ('a', '2'), ('open',), ())
    """
    found = [text for part in _parts(value) if (text := _text(part))]
    return tuple(text for part in (found[0].split("|") if len(found) == 1 else found) if (text := part.strip()))


def _rows(path: Path) -> Iterator[_Row]:
    name = path.name.casefold()
    if not path.is_file():
        raise InputError(f"there is no file {path}: give the path of a {', '.join(SUFFIXES)} file")
    if name.endswith(".parquet"):
        return starmap(_Row, enumerate(_parquet(path), 1))
    if name.endswith((".jsonl", ".jsonl.gz")):
        return starmap(_Row, objects(path))
    text = content(path)
    return starmap(_Row, rows(path, text, delimiter="\t" if name.endswith((".tsv", ".tsv.gz")) else _delimiter(text)))


def _delimiter(text: str) -> str:
    r"""What is between the cells of a CSV file: a comma, or what the header has instead.

    >>> _delimiter("text;label\na, b;c"), _delimiter("text,label\na;b,c"), _delimiter("text")
    (';', ',', ',')
    """
    header = text.partition("\n")[0]
    return next((mark for mark in (",", ";", "\t") if mark in header), ",")


def _parquet(path: Path) -> Iterator[Mapping[str, Any]]:
    installed("pyarrow", "eval", f"reading {path}")
    try:
        rows: list[Mapping[str, Any]] = ask("PARQUET", path=str(path.absolute()), seconds=60, memory=4 << 30)
    except Beyond as error:
        raise InputError(f"{path} {error}") from error
    except ValueError as error:
        raise InputError(f"cannot read {path}: {' '.join(str(error).split())[:200]}") from error
    return iter(rows)
