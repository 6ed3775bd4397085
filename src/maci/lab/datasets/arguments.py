"""Arguments that people compared: what a judge of arguments is measured against."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

from maci.cases.case import Case
from maci.cases.outcomes import OutcomeSpace
from maci.errors import InputError
from maci.lab.datasets.dataset import DataFile, DataSet, Item, Option, Task
from maci.lab.datasets.files import is_dev, table

_BREAK = re.compile(r"\s*<br\s*/?>\s*", re.IGNORECASE)
_QUOTE_NONE: Literal[3] = 3
"""A quotation mark is part of an argument: `csv.QUOTE_NONE`."""
LABELS = ("argument 1", "argument 2")


def ukp_convarg(folder: Path, _seed: int = 0, *, per_topic: int = 0) -> Task:
    """Pairs of arguments for one side of a topic, and which of them people found more convincing."""
    if per_topic < 0:
        raise InputError(f"per_topic is {per_topic}: give 0 for all pairs, or how many of each topic side")
    here = folder / "ukp_convarg"
    columns = ("topic_side", "arg_id", "argument")
    texts = {
        (row["topic_side"], row["arg_id"]): _BREAK.sub("\n", row["argument"]).strip()
        for row in table(here / "arguments_strict.tsv", columns, delimiter="\t", quoting=_QUOTE_NONE)
    }
    dev: list[Item] = []
    test: list[Item] = []
    taken: dict[str, int] = {}
    space = OutcomeSpace(labels=LABELS)
    pairs = table(here / "pairs_strict.tsv", ("topic_side", "pair_id", "winner"), delimiter="\t", quoting=_QUOTE_NONE)
    for row in pairs:
        topic = row["topic_side"]
        first, _, second = row["pair_id"].partition("_")
        one, two = texts.get((topic, first)), texts.get((topic, second))
        if not one or not two or row["winner"] not in {"a1", "a2"} or (per_topic and taken.get(topic, 0) == per_topic):
            continue
        taken[topic] = taken.get(topic, 0) + 1
        name = f"{topic}/{row['pair_id']}"
        case = Case(
            question=f"Which argument is more convincing? Topic and side: {topic.replace('-', ' ').replace('_', ', ')}",
            context=f"Argument 1: {one}\n\nArgument 2: {two}",
            context_is="evidence",
            outcomes=space,
            gold=LABELS[0] if row["winner"] == "a1" else LABELS[1],
            id=name,
        )
        (dev if is_dev(topic) else test).append(Item(id=name, case=case, group=topic))
    return Task(name="ukp_convarg", dev=tuple(dev), test=tuple(test))


SETS = (
    DataSet(
        name="ukp_convarg",
        about="pairs of web arguments and which one people found more convincing",
        purpose="validation of judges",
        licence="CC-BY 4.0",
        source="github.com/UKPLab/acl2016-convincing-arguments",
        files=(DataFile("ukp_convarg/pairs_strict.tsv"), DataFile("ukp_convarg/arguments_strict.tsv")),
        citation="Habernal and Gurevych 2016, ACL",
        notes=(
            "ukp_convarg: the longer argument wins about three pairs in four, and a judge must beat that; an argument is in many "
            "pairs, so the split is by topic side, and pairs are not independent.",
        ),
        options={"per_topic": Option("pairs of each topic side, the first in the file; 0: all")},
        loader=ukp_convarg,
        quotable=True,
    ),
)
