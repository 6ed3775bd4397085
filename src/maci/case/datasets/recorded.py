"""Questions that real models have answered: their letters, and their reasons where they were kept."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from maci.case.case import Case
from maci.case.datasets.files import json_lines, table
from maci.case.datasets.task import Item, Recorded, RecordedTurn, Task
from maci.case.outcomes import OutcomeSpace, normal
from maci.errors import InputError

__all__ = ["mmlu_pro_panel"]

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
MMLU_DEV = 1200
"""Development questions of mmlu_pro_panel."""


def letter(pred: Any, letters: Sequence[str]) -> str | None:
    """The option a recorded answer names; anything but a bare letter of the list is an abstention.

    >>> letter("'I'", "ABCDEFGHI"), letter("(D)", "ABCD"), letter("nan", "ABCD"), letter("E", "ABCD"), letter("", "A")
    ('I', 'D', None, None, None)
    """
    bare = re.sub(r"[\s'\"()*.`]", "", str(pred)).upper()
    return bare if len(bare) == 1 and bare in letters else None


def choices(options: Mapping[str, str]) -> tuple[str, OutcomeSpace]:
    """The options as text, and as outcomes: the letters, with the texts as their other names."""
    names = [normal(text) for text in options.values()]
    letters = {normal(name) for name in options}
    aliases = {
        text: name
        for name, text in options.items()
        if normal(text) and normal(text) not in letters and names.count(normal(text)) == 1
    }
    lines = "\n".join(f"({name}) {text}" for name, text in options.items())
    return lines, OutcomeSpace(labels=tuple(options), aliases=aliases)


def mmlu_pro_panel(folder: Path, _seed: int = 0, *, category: str = "all", rationales: bool = False) -> Task:
    """MMLU-Pro as twelve models answered it; ``rationales``: only the questions whose text and reasons are here."""
    here = folder / "mmlu_pro_panel"
    needed = ("question_id", "category", "n_options", "gold")
    rows = list(table(here / "answers.csv.gz", needed))
    models = [name for name in (rows[0] if rows else ()) if name not in {*needed, "src"}]
    categories = sorted({row["category"] for row in rows})
    if category != "all" and category not in categories:
        raise InputError(f"category is {category!r}: choose all or one of {', '.join(categories)}")
    told = {str(e["question_id"]): e for e in json_lines(here / "rationales.jsonl.gz", ("question_id", "answers"))}
    ranked = sorted((row["question_id"] for row in rows), key=lambda i: hashlib.sha256(i.encode()).hexdigest())
    dev_ids = frozenset(ranked[: min(MMLU_DEV, len(ranked) // 2)])
    dev: list[Item] = []
    test: list[Item] = []
    for row in rows:
        name = row["question_id"]
        if category in {"all", row["category"]} and (name in told or not rationales):
            (dev if name in dev_ids else test).append(_mmlu_item(row, models, told.get(name)))
    return Task(name="mmlu_pro_panel", dev=tuple(dev), test=tuple(test))


def _mmlu_item(row: Mapping[str, str], models: Sequence[str], told: Mapping[str, Any] | None) -> Item:
    letters = LETTERS[: int(row["n_options"])]
    if told is None:
        question, context, space = f"MMLU-Pro question {row['question_id']}", "", OutcomeSpace(labels=tuple(letters))
    else:
        question = told["question"]
        context, space = choices(dict(zip(LETTERS, told["options"], strict=False)))
    said = told["answers"] if told else {}
    openings = {
        model: RecordedTurn(
            answer=letter(row[model], letters) if row[model] != "NA" else None,
            text=said.get(model, {}).get("text") or "",
        )
        for model in models
    }
    name = row["question_id"]
    case = Case(question=question, context=context, outcomes=space, gold=row["gold"], id=name)
    return Item(id=name, case=case, group=row["category"], recorded=Recorded(openings=openings))
