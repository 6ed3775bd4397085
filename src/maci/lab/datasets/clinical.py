"""Clinical sets: symptom lists, complaints in a patient's words, OSCE stations."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import starmap
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from maci.cases.case import Case, Document
from maci.cases.outcomes import OutcomeSpace, normal
from maci.errors import InputError
from maci.lab.datasets.dataset import DataFile, DataSet, Example, Option, Task, TaskItem, deal
from maci.lab.datasets.files import json_lines, plain, read_json, table, text_id

Open = Annotated[
    bool,
    Option("join the label space with ddxplus and disease_symptom_261 (100+ outcomes); their texts become evidence"),
]
Tune = Annotated[bool, Option("development texts only, anywhere: for choosing constants without a look at test")]
COMPLAINT = "Which condition best explains this complaint?"
STATION = "What is the most likely diagnosis?"

_SAME = (
    ("AIDS", "Acquired Immuno Deficiency Syndrome"),
    ("Anemia", "Anaemia"),
    ("Bronchial Asthma", "Asthma", "Bronchospasm / acute asthma exacerbation"),
    ("Chagas", "Chagas disease"),
    ("Chicken pox", "Chickenpox"),
    ("Acute COPD exacerbation / infection", "Chronic obstructive pulmonary disease (COPD)"),
    ("Diabetes", "Diabetes Mellitus"),
    ("Dimorphic hemmorhoids(piles)", "Dimorphic Hemorrhoids"),
    ("gastroesophageal reflux disease", "GERD"),
    ("Heart attack", "Myocardial Infarction (Heart Attack)", "Possible NSTEMI / STEMI"),
    ("Hypothyroidism", "Hypothyroid"),
    ("Acute laryngitis", "Laryngitis"),
    ("Osteoarthristis", "Osteoarthritis"),
    ("Paralysis (brain hemorrhage)", "Stroke"),
    ("Peptic ulcer diseae", "peptic ulcer disease", "Stomach ulcers"),
    ("Pulmonary neoplasm", "Lung cancer"),
    ("SLE", "Lupus erythematosus"),
)
"""Names that the sets give to one condition: joined when label spaces are."""


def symptom2disease(
    folder: Path,
    seed: int = 0,
    *,
    per_label: Annotated[int, Option("texts of each disease that are evidence")] = 9,
    open: Open = False,
    tune: Tune = False,
) -> Task:
    """Free-text complaints, exact duplicates removed; ``per_label`` texts of each disease are evidence."""
    labels: dict[str, str] = {}
    for row in table(folder / "symptom2disease" / "Symptom2Disease.csv", ("label", "text")):
        labels.setdefault(row["text"], row["label"])
    space, more = _space(folder, labels.values(), open)
    dealt = deal(starmap(Example, labels.items()), seed, per_label, tune=tune)
    return _task(dealt, space, more, lambda e: _item(e.text, e, space))


def kaggle_symptom_disease(
    folder: Path,
    seed: int = 0,
    *,
    shown: Annotated[int, Option("symptoms that a case shows, drawn by seed")] = 2,
    per_label: Annotated[int, Option("cases of each disease that are evidence, with all their symptoms")] = 3,
    open: Open = False,
    tune: Tune = False,
) -> Task:
    """Symptom lists, distinct cases; evidence shows all symptoms, cases only ``shown`` of them at random, the others as findings."""
    if shown < 1:
        raise InputError(f"shown is {shown}: show at least 1 symptom")
    rng = np.random.default_rng(seed)
    examples = [
        Example(", ".join(s.strip().replace("_", " ") for s in row["symptoms"].split(";")), row["disease"].strip())
        for row in table(folder / "kaggle_symptom_disease" / "unique_cases.csv", ("disease", "symptoms"))
    ]
    space, more = _space(folder, (e.label for e in examples), open)

    def mask(example: Example) -> TaskItem:
        symptoms = example.text.split(", ")
        keep = rng.permutation(len(symptoms))[:shown]
        withheld = {symptom: "yes" for i, symptom in enumerate(symptoms) if i not in keep}
        return _item(", ".join(symptoms[i] for i in sorted(keep)), example, space, withheld)

    return _task(deal(examples, seed, per_label, tune=tune), space, more, mask)


def _task(
    dealt: Sequence[Sequence[Example]],
    space: OutcomeSpace,
    more: tuple[Document, ...],
    item: Callable[[Example], TaskItem],
) -> Task:
    """Texts that were dealt; ``more`` is known of outcomes without cases, ``item`` makes a case of a text."""
    evidence, dev, test = dealt
    return Task(
        evidence=(*(Document(e.text, "evidence", label=e.label) for e in evidence), *more),
        dev=tuple(map(item, dev)),
        test=tuple(map(item, test)),
        aliases=space.aliases,
    )


def _item(context: str, example: Example, space: OutcomeSpace, hidden: Mapping[str, str] | None = None) -> TaskItem:
    case = Case(
        question=COMPLAINT, context=context, outcomes=space, gold=example.label, hidden=hidden or {}, id=text_id(example.text),
    )  # fmt: skip
    return TaskItem(case=case)


def _space(folder: Path, named: Iterable[str], open: bool) -> tuple[OutcomeSpace, tuple[Document, ...]]:
    """The outcomes, and what is known of those that have no cases here: a space of hundreds where ``open``."""
    labels = sorted(set(named))
    if not open:
        return OutcomeSpace(labels=tuple(labels)), ()
    own = {normal(label): label for label in labels}
    aliases: dict[str, str] = {}
    for group in _SAME:
        label = next((own[normal(name)] for name in group if normal(name) in own), group[0])
        aliases |= {name: label for name in group if normal(name) != normal(label)}
    joined = {normal(alias): label for alias, label in aliases.items()}
    documents = []
    for name, text in _knowledge(folder):
        label = joined.get(normal(name)) or own.setdefault(normal(name), name)
        own.setdefault(normal(label), label)
        documents.append(Document(f"{name}: {text}", "knowledge", label=label))  # two may share their findings
    everything = tuple(own.values())
    known = {alias: label for alias, label in aliases.items() if label in everything}
    return OutcomeSpace(kind="open", labels=everything, aliases=known, declared=len(everything)), tuple(documents)


def _knowledge(folder: Path) -> Iterator[tuple[str, str]]:
    """Conditions and their findings: DDXPlus's, then those of the 261 diseases."""
    asked = read_json(folder / "ddxplus" / "release_evidences.json")
    for name, condition in read_json(folder / "ddxplus" / "release_conditions.json").items():
        findings = [asked[code]["question_en"] for code in condition["symptoms"] if code in asked]
        yield name, " ".join(findings)
    for row in table(folder / "disease_symptom_261" / "disease_symptoms.csv", ("disease", "symptoms")):
        yield row["disease"].strip(), ", ".join(s.strip() for s in row["symptoms"].split(";"))


def agentclinic(
    folder: Path,
    _seed: int = 0,
    *,
    outcomes: Annotated[str, Option("open, or closed over all diagnoses of the set", ("open", "closed"))] = "open",
) -> Task:
    """OSCE stations: what the patient says is the context; examination and tests are withheld as findings to ask for."""
    stations: dict[str, dict[str, Any]] = {}
    for entry in json_lines(folder / "agentclinic" / "agentclinic_medqa_extended.jsonl", ("OSCE_Examination",)):
        station = entry["OSCE_Examination"]
        context = "\n".join(f"{name}: {text}" for name, text in _leaves(station["Patient_Actor"]))
        stations.setdefault(plain(context), station | {"context": context})
    names: dict[str, str] = {}
    for station in stations.values():
        names.setdefault(normal(_bare(station["Correct_Diagnosis"])), station["Correct_Diagnosis"].strip())
    labels = tuple(sorted(names.values(), key=normal))
    aliases = _abbreviations(labels)
    space = (
        OutcomeSpace(kind="open", aliases=aliases, declared=len(labels))
        if outcomes == "open"
        else OutcomeSpace(labels=labels, aliases=aliases)
    )
    items = []
    for key, station in stations.items():
        hidden = dict(_leaves({k: station.get(k) for k in ("Physical_Examination_Findings", "Test_Results")}))
        gold = names[normal(_bare(station["Correct_Diagnosis"]))]
        case = Case(
            question=STATION, context=station["context"], outcomes=space, gold=gold, hidden=hidden, id=text_id(key)
        )
        items.append((key, TaskItem(case=case)))
    return Task.split(items, aliases=aliases)


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """The texts of a nested table with where they stand, in words; empty ones are left out."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            name = str(key).replace("_", " ")
            yield from _leaves(inner, f"{path}, {name}" if path else name)
    elif isinstance(value, list):
        if text := "; ".join(str(part) for part in value if part):
            yield path, text
    elif value is not None and str(value).strip():
        yield path, str(value).strip()


_BRACKETS = re.compile(r"\s*\(([^()]*)\)\s*")


def _bare(name: str) -> str:
    """A diagnosis without its abbreviation in brackets.

    >>> _bare("Legg-Calvé-Perthes disease (LCPD)")
    'Legg-Calvé-Perthes disease'
    """
    return _BRACKETS.sub(" ", name).strip().replace("’s ", "'s ").replace("'s ", " ") or name


def _abbreviations(labels: Iterable[str]) -> dict[str, str]:
    """Other names of the diagnoses: without the brackets, what is in them, and without a possessive."""
    found: dict[str, set[str]] = defaultdict(set)
    own = {normal(label) for label in labels}
    for label in labels:
        for name in (_bare(label), *_BRACKETS.findall(label), _BRACKETS.sub(" ", label).strip()):
            if normal(name) and normal(name) not in own:
                found[name].add(label)
    return {name: next(iter(among)) for name, among in found.items() if len(among) == 1}


_KNOWLEDGE = tuple(
    DataFile(path, "open=true")
    for path in (
        "ddxplus/release_conditions.json",
        "ddxplus/release_evidences.json",
        "disease_symptom_261/disease_symptoms.csv",
    )
)

SETS = (
    DataSet(
        about="complaints in patients' words, 24 diseases",
        purpose="diagnosis from free text (G1)",
        licence="unknown",
        source="github.com/t4ai/nlp-medical-diagnosis-classifier, Symptom2Disease.csv (first published on Kaggle)",
        files=(DataFile("symptom2disease/Symptom2Disease.csv"), *_KNOWLEDGE),
        notes=(
            "symptom2disease: exact duplicate texts are removed before splitting; the wording is template-like, so that matching "
            "words alone comes near the ceiling.",
        ),
        loader=symptom2disease,
        partial=True,
    ),
    DataSet(
        about="symptom lists, 41 diseases; a case shows only some of its symptoms",
        purpose="under-specified diagnosis, the paper's G1",
        licence="unknown",
        source="github.com/itachi9604/healthcare-chatbot, Data/dataset.csv; unique_cases.csv is derived from it",
        files=(DataFile("kaggle_symptom_disease/unique_cases.csv"), *_KNOWLEDGE),
        notes=(
            "kaggle_symptom_disease: 304 of 4,920 rows are distinct and its own test file copies training rows, so the split is by "
            "distinct case; with all symptoms shown the task is trivial (nearest neighbour: 100 %). The paper's 1,500 test cases of "
            "30 diseases cannot be had from it without duplicates.",
        ),
        loader=kaggle_symptom_disease,
    ),
    DataSet(
        about="OSCE stations with history and symptoms; examination and tests withheld",
        purpose="hard diagnosis in free text, acquisition of findings (G1)",
        licence="MIT",
        source="github.com/SamuelSchmidgall/AgentClinic, agentclinic_medqa_extended.jsonl",
        files=(DataFile("agentclinic/agentclinic_medqa_extended.jsonl"),),
        citation="Schmidgall et al. 2024, AgentClinic",
        notes=(
            "agentclinic: free-text diagnoses are compared as names of outcomes are (decision 020); a right answer in words that share "
            "nothing with the known one may count as wrong. It has no evidence corpus: bring one, or use models.",
        ),
        loader=agentclinic,
        quotable=True,
        partial=True,
    ),
)
