"""Tasks with an answer that is simply right: arithmetic, and claims with their sources."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

from maci.cases.case import Case, Document
from maci.cases.outcomes import OutcomeSpace, normal
from maci.lab.datasets.dataset import DataFile, DataSet, Option, Recorded, RecordedTurn, Task, TaskItem
from maci.lab.datasets.files import json_lines, plain, read_json, text_id

_SAID = re.compile(r"^A:[ \t]*(.*)$", re.MULTILINE)
_NUMBER = re.compile(r"-?\d+(\.\d+)?")


def number(text: str) -> str | None:
    """A written answer as a bare number; ``None`` where it is none.

    >>> number(" $1,200 "), number("18.0"), number("1/5"), number("twelve")
    ('1200', '18', None, None)
    """
    bare = text.strip().removeprefix("$").removesuffix(".").replace(",", "")
    return normal(bare) if _NUMBER.fullmatch(bare) else None


def gsm8k(
    folder: Path,
    _seed: int = 0,
    *,
    listed: Annotated[bool, Option("list the recorded answers and the true one as known outcomes")] = True,
) -> Task:
    """Grade-school arithmetic with four recorded solvers; ``listed``: their answers and the true one are the known outcomes."""
    here = folder / "gsm8k"
    gold: dict[str, str] = {}
    for entry in json_lines(here / "test.jsonl", ("question", "answer")):
        if (answer := number(str(entry["answer"]).rpartition("####")[2])) is not None:
            gold[entry["question"]] = answer
    items = []
    for entry in json_lines(here / "example_model_solutions.jsonl", ("question",)):
        question = entry["question"]
        if question not in gold:
            continue
        openings = {model: _solution(said) for model, said in entry.items() if isinstance(said, Mapping)}
        known = {gold[question], *(turn.answer for turn in openings.values() if turn.answer is not None)}
        labels = tuple(sorted(known, key=float)) if listed else ()
        space = OutcomeSpace(kind="open", labels=labels)
        case = Case(question=question, outcomes=space, gold=gold[question], id=text_id(question))
        items.append(TaskItem(case=case, recorded=Recorded(openings=openings)))
    return _by_question(items)


def _solution(said: Mapping[str, Any]) -> RecordedTurn:
    found = _SAID.findall(said["solution"])
    return RecordedTurn(answer=number(found[-1]) if found else None, text=said["solution"])


def _by_question(items: Iterable[TaskItem]) -> Task:
    """Development and test by the question's text; a question that is there twice counts once."""
    return Task.split({plain(item.case.question): item for item in items}.items())


def ciar(
    folder: Path,
    _seed: int = 0,
    *,
    lure: Annotated[bool, Option("give the wrong explanation as evidence, as an adversary would")] = False,
) -> Task:
    """Counter-intuitive arithmetic; ``lure``: the published wrong explanation comes with the case as evidence."""
    items = []
    for entry in read_json(folder / "ciar" / "CIAR.json"):
        right, wrong = [str(a) for a in entry["answer"]], [str(a) for a in entry["incorrect answer"]]
        aliases = {name: names[0] for names in (right, wrong) for name in names[1:]}
        space = OutcomeSpace(kind="open", labels=tuple(sorted((right[0], wrong[0]))), aliases=aliases)
        evidence = (Document(entry["incorrect explanation"], "an explanation"),) if lure else ()
        name = text_id(entry["question"])
        case = Case(question=entry["question"], outcomes=space, evidence=evidence, gold=right[0], id=name)
        items.append(TaskItem(case=case))
    return _by_question(items)


def covid_claims(folder: Path, _seed: int = 0) -> Task:
    """Claims about COVID-19 that are true or false, each with passages from the web, failed page loads among them."""
    items = []
    space = OutcomeSpace(labels=("true", "false"))
    for entry in json_lines(folder / "covid_claims" / "claims.jsonl.gz", ("id", "claim", "veracity", "sources")):
        passages = (
            Document(f"{s['title']}\n{s['content']}".strip(), s["url"])
            for s in entry["sources"]
            if f"{s['title']}{s['content']}".strip()
        )
        veracity = {str(v).casefold() for v in entry["veracity"]}
        if len(veracity) != 1:
            continue
        case = Case(
            question=f"Is this claim true or false? {entry['claim']}",
            outcomes=space,
            evidence=tuple(passages),
            gold=veracity.pop(),
            id=entry["id"],
        )
        items.append(TaskItem(case=case))
    return _by_question(items)


SETS = (
    DataSet(
        about="grade-school arithmetic with four recorded GPT-3 solvers",
        purpose="objective answers; a small panel to replay",
        licence="MIT",
        source="github.com/openai/grade-school-math",
        files=(DataFile("gsm8k/test.jsonl"), DataFile("gsm8k/example_model_solutions.jsonl")),
        citation="Cobbe et al. 2021",
        notes=(
            "gsm8k: the known outcomes are the recorded answers and the true one, a help that nobody who solves the task by himself "
            "has (listed=false takes it away); an answer that is not a number is an abstention.",
        ),
        loader=gsm8k,
        quotable=True,
    ),
    DataSet(
        about="counter-intuitive arithmetic, each with a tempting wrong answer",
        purpose="gate and contentiousness against a ready-made wrong argument",
        licence="GPL-3.0 (repository)",
        source="github.com/Skytliang/Multi-Agents-Debate, data/CounterintuitiveQA/CIAR.json",
        files=(DataFile("ciar/CIAR.json"),),
        citation="Liang et al. 2023, MAD",
        notes=(
            "ciar: 50 questions only, so every interval is wide; the right answer and the lure are the known outcomes.",
        ),
        loader=ciar,
        quotable=True,
    ),
    DataSet(
        about="true and false claims with web passages",
        purpose="evidence gate on passages of uneven quality",
        licence="MIT",
        source="github.com/salman-lui/ai-debate",
        files=(DataFile("covid_claims/claims.jsonl.gz"),),
        notes=(
            "covid_claims: the passages are summaries of web pages by a language model, and about one in twelve says only that a page "
            "did not load: they stay, to test the gate. 45 claims only, so every interval is wide.",
        ),
        loader=covid_claims,
        quotable=True,
    ),
)
