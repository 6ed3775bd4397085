"""Questions that were answered before: by models (letters, and reasons where they were kept), and by people who compared arguments."""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from maci.cases.case import Case
from maci.cases.outcomes import OutcomeSpace, normal
from maci.errors import InputError
from maci.lab.datasets.dataset import DataFile, DataSet, Option, Recorded, RecordedTurn, Task, TaskItem
from maci.lab.datasets.files import json_lines, plain, table, text_id

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
MMLU_DEV = 1200
"""Development questions of mmlu_pro_panel."""


def letter(pred: Any, letters: Sequence[str]) -> str | None:
    """The option a recorded answer names; anything but a bare letter of the list is an abstention.

    >>> letter("'I'", "ABCDEFGHI"), letter("(D)", "ABCD"), letter("nan", "ABCD"), letter("E", "ABCD"), letter("", "A")
    ('I', 'D', None, None, None)
    """
    if isinstance(pred, str) and len(pred) == 1 and pred in letters:
        return pred  # nearly all of them
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


def mmlu_pro_panel(
    folder: Path,
    _seed: int = 0,
    *,
    category: Annotated[str, Option("a subject such as health, or all")] = "all",
    rationales: Annotated[bool, Option("only the questions whose text and reasons are here")] = False,
) -> Task:
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
    items = [
        _mmlu_item(row, models, told.get(row["question_id"]))
        for row in rows
        if category in {"all", row["category"]} and (row["question_id"] in told or not rationales)
    ]
    return Task(
        dev=tuple(item for item in items if item.id in dev_ids),
        test=tuple(item for item in items if item.id not in dev_ids),
    )


def _mmlu_item(row: Mapping[str, str], models: Sequence[str], told: Mapping[str, Any] | None) -> TaskItem:
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
    case = Case(question=question, context=context, outcomes=space, gold=row["gold"], id=row["question_id"])
    return TaskItem(case=case, group=row["category"], recorded=Recorded(openings=openings))


MEDICAL = ("medqa", "pubmedqa", "medmcqa", "mmlu", "mmlu-pro", "medbullets", "afrimedqa")
METHODS = (
    "zero_shot", "few_shot", "cot", "cot_sc-5", "self_refine-3", "multipersona-2", "medprompt-3", "mdagents", "medagents", "aflow",
    "spo",
)  # fmt: skip


def medagentsbench(
    folder: Path,
    _seed: int = 0,
    *,
    dataset: Annotated[str, Option("one of the seven sets, or all", ("all", *MEDICAL))] = "all",
    method: Annotated[
        str, Option("zero_shot (10 models), or another method of 3 models on the hard items", METHODS)
    ] = "zero_shot",
    hard: Annotated[bool, Option("only the hard items")] = False,
) -> Task:
    """Medical multiple choice as ten models answered it zero-shot, or as three did with another method on the hard items."""
    here = folder / "medagentsbench"
    said: dict[tuple[str, str], dict[str, Mapping[str, str]]] = defaultdict(dict)
    part = "test" if method == "zero_shot" else "test_hard"
    columns = ("dataset", "split", "id", "model", "method", "pred", "prompt_tokens", "completion_tokens", "seconds")
    for row in table(here / "answers.csv.gz", columns):
        if row["split"] == part and row["method"] == method and dataset in {"all", row["dataset"]}:
            said[row["dataset"], row["id"]].setdefault(row["model"], row)  # of a repeated answer the first counts
    needed = ("dataset", "id", "question", "options", "gold", "hard")
    items = [
        (plain(entry["question"]), _medical_item(entry, answers))
        for entry in json_lines(here / "questions.jsonl.gz", needed)
        if (answers := said.get((entry["dataset"], str(entry["id"])))) and (entry["hard"] or not hard)
    ]
    return Task.split(items)


def _medical_item(entry: Mapping[str, Any], answers: Mapping[str, Mapping[str, str]]) -> TaskItem:
    options: dict[str, str] = entry["options"]
    lines, space = choices(options)
    openings = {
        model: RecordedTurn(
            answer=letter(row["pred"], tuple(options)),
            prompt_tokens=_number(row["prompt_tokens"]),
            completion_tokens=_number(row["completion_tokens"]),
            seconds=float(row["seconds"]) if row["seconds"] else None,
        )
        for model, row in sorted(answers.items())
    }
    name = f"{entry['dataset']}/{entry['id']}"
    case = Case(question=entry["question"].strip(), context=lines, outcomes=space, gold=entry["gold"], id=name)
    return TaskItem(case=case, group=entry["dataset"], recorded=Recorded(openings=openings))


def _number(text: str) -> int | None:
    return int(float(text)) if text else None


FORD = (
    "table_chatgpt_davinci_gpt4__ecare", "table_chatgpt_davinci_gpt4__piqa",
    "round0_panel__ecare", "round0_panel__piqa",
    "chatgpt_gpt4__ecare__run1", "chatgpt_gpt4__ecare__run2", "chatgpt_gpt4__ecare__run3",
    "chatgpt_gpt4__piqa__run1", "chatgpt_gpt4__piqa__run2", "chatgpt_gpt4__piqa__run3",
    "chatgpt_davinci__csqa", "chatgpt_davinci__ecare", "chatgpt_davinci__piqa", "chatgpt_davinci__socialiqa",
    "chatgpt_davinci__strategyqa",
)  # fmt: skip
_OPTION = re.compile(r"(?:^|(?<=\s))\(([A-E])\) ?")


def ford_debates(
    folder: Path,
    _seed: int = 0,
    *,
    debates: Annotated[str, Option("who debated, over which questions", FORD)] = "table_chatgpt_davinci_gpt4__piqa",
) -> Task:
    """Debates that models really had: the opening of each, then the turns in order."""
    items: dict[str, tuple[str, TaskItem]] = {}
    for entry in json_lines(folder / "ford_debates" / f"{debates}.jsonl", ("question", "options", "gold")):
        if (item := _ford_item(entry, debates)) is not None:
            items.setdefault(item.id, (plain(entry["question"]), item))
    return Task.split(items.values())


def split_options(text: str | None) -> dict[str, str]:
    """The options of a line such as ``(A) one (B) two``; brackets inside an option are part of it.

    >>> split_options("(A) a can (see (1)) (B) a bag")
    {'A': 'a can (see (1))', 'B': 'a bag'}
    >>> split_options("None")
    {}
    """
    said = text or ""
    marks: list[re.Match[str]] = []
    for match in _OPTION.finditer(said):
        if match[1] == LETTERS[len(marks)]:  # only the next letter opens an option
            marks.append(match)
    ends = [*(mark.start() for mark in marks[1:]), len(said)]
    return {mark[1]: said[mark.end() : end].strip() for mark, end in zip(marks, ends, strict=False)}


def _ford_item(entry: Mapping[str, Any], debates: str) -> TaskItem | None:
    gold = str(entry["gold"])
    options = split_options(entry["options"])
    if gold.casefold() in {"yes", "no"}:
        lines, space, gold = "", OutcomeSpace(labels=("yes", "no")), gold.casefold()
    elif gold in options and len(options) > 1:
        lines, space = choices(options)
    else:
        return None

    def turn(said: Mapping[str, Any]) -> RecordedTurn:
        answer = str(said["pred"]).casefold() if "yes" in space.labels else letter(said["pred"], space.labels)
        return RecordedTurn(answer=answer if answer in space.labels else None, text=said["text"] or "")

    openings = {model: turn(said) for model, said in entry.get("agents", {}).items()}
    turns = []
    for said in entry.get("turns", ()):
        if said["model"] in openings:
            turns.append((said["model"], turn(said)))
        else:
            openings[said["model"]] = turn(said)
    name = text_id(f"{entry['question']} {entry['options']}")
    case = Case(question=entry["question"].strip(), context=lines, outcomes=space, gold=gold, id=name)
    return TaskItem(
        case=case,
        group=debates.split("__")[1],
        recorded=Recorded(openings=openings, turns=tuple(turns)),
    )


_BREAK = re.compile(r"\s*<br\s*/?>\s*", re.IGNORECASE)
_QUOTE_NONE: Literal[3] = 3
"""A quotation mark is part of an argument: `csv.QUOTE_NONE`."""
LABELS = ("argument 1", "argument 2")


def ukp_convarg(
    folder: Path,
    _seed: int = 0,
    *,
    per_topic: Annotated[int, Option("pairs of each topic side, the first in the file; 0: all")] = 0,
) -> Task:
    """Pairs of arguments for one side of a topic, and which of them people found more convincing."""
    if per_topic < 0:
        raise InputError(f"per_topic is {per_topic}: give 0 for all pairs, or how many of each topic side")
    here = folder / "ukp_convarg"
    columns = ("topic_side", "arg_id", "argument")
    texts = {
        (row["topic_side"], row["arg_id"]): _BREAK.sub("\n", row["argument"]).strip()
        for row in table(here / "arguments_strict.tsv", columns, delimiter="\t", quoting=_QUOTE_NONE)
    }
    items: list[tuple[str, TaskItem]] = []
    taken = Counter[str]()
    pairs = table(here / "pairs_strict.tsv", ("topic_side", "pair_id", "winner"), delimiter="\t", quoting=_QUOTE_NONE)
    for row in pairs:
        topic = row["topic_side"]
        first, _, second = row["pair_id"].partition("_")
        one, two = texts.get((topic, first)), texts.get((topic, second))
        if not one or not two or row["winner"] not in {"a1", "a2"} or (per_topic and taken[topic] == per_topic):
            continue
        taken[topic] += 1
        case = Case(
            question=f"Which argument is more convincing? Topic and side: {topic.replace('-', ' ').replace('_', ', ')}",
            context=f"Argument 1: {one}\n\nArgument 2: {two}",
            outcomes=OutcomeSpace(labels=LABELS),
            gold=LABELS[0] if row["winner"] == "a1" else LABELS[1],
            id=f"{topic}/{row['pair_id']}",
        )
        items.append((topic, TaskItem(case=case, group=topic)))
    return Task.split(items)


SETS = (
    DataSet(
        about="MMLU-Pro as 12 models answered it, with the reasons of 5 on a part",
        purpose="replay of strong models on hard multiple choice",
        licence="Apache-2.0 (repository)",
        source="github.com/TIGER-AI-Lab/MMLU-Pro, eval_results, and its commit ff991b5 for gpt-4o and deepseek",
        files=(DataFile("mmlu_pro_panel/answers.csv.gz"), DataFile("mmlu_pro_panel/rationales.jsonl.gz")),
        citation="Wang et al. 2024, MMLU-Pro",
        notes=(
            "mmlu_pro_panel: recorded letters, no probabilities; an empty or out-of-range answer and an item missing in a model's "
            "version (NA) are abstentions. Development is the 1,200 questions whose id has the smallest SHA-256. Question and "
            "option texts are here only for the items with reasons; of those about one in twenty repeats another under a second id, "
            "some across the split.",
        ),
        loader=mmlu_pro_panel,
        quotable=True,
        partial=True,
    ),
    DataSet(
        about="seven medical multiple-choice sets as 10 models answered them",
        purpose="replay of strong models; methods of others on the hard part",
        licence="Apache-2.0 (repository)",
        source="github.com/gersteinlab/medagents-benchmark, output/",
        files=(DataFile("medagentsbench/questions.jsonl.gz"), DataFile("medagentsbench/answers.csv.gz")),
        citation="Tang et al. 2025, MedAgentsBench",
        notes=(
            "medagentsbench: recorded letters, no reasons and no probabilities; an answer that is not one bare letter of the options "
            "is an abstention, of a repeated answer the first counts. The hard items were chosen because models fail on them: "
            "accuracy there says nothing about the whole. Questions that several of the sets share are on one side of the split.",
        ),
        loader=medagentsbench,
        quotable=True,
    ),
    DataSet(
        about="real debates of ChatGPT, text-davinci-003 and GPT-4 over common-sense questions",
        purpose="replay of real debates; harm of unweighted debate",
        licence="unknown",
        source="github.com/Waste-Wood/FORD, output/",
        files=tuple(DataFile(f"ford_debates/{name}.jsonl", f"debates={name}") for name in FORD),
        citation="Xiong et al. 2023, FORD (Findings of EMNLP)",
        notes=(
            "ford_debates: apart from the round0_panel files only questions on which the models disagreed at the start were debated, "
            "so accuracy there is not that of the whole set; turns without a readable letter are abstentions; no confidences.",
        ),
        loader=ford_debates,
        partial=True,
    ),
    DataSet(
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
        loader=ukp_convarg,
        quotable=True,
    ),
)
