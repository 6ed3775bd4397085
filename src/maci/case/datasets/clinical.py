"""Clinical sets: symptom lists, complaints in a patient's words, OSCE stations."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from maci.case.case import Case, Document
from maci.case.datasets.dealing import Example, deal
from maci.case.datasets.files import read_json, table, text_id
from maci.case.datasets.task import Item, Task
from maci.case.outcomes import OutcomeSpace, normal
from maci.errors import InputError

__all__ = ["kaggle_symptom_disease", "symptom2disease"]

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


def symptom2disease(folder: Path, seed: int = 0, *, per_label: int = 9, open: bool = False, tune: bool = False) -> Task:
    """Free-text complaints, exact duplicates removed; ``per_label`` texts of each disease are evidence."""
    by_label: dict[str, list[str]] = defaultdict(list)
    seen: set[str] = set()
    for row in table(folder / "symptom2disease" / "Symptom2Disease.csv", ("label", "text")):
        if row["text"] not in seen:
            seen.add(row["text"])
            by_label[row["label"]].append(row["text"])
    dealt = deal(by_label, seed, per_label, tune=tune)
    space, more = _space(folder, sorted(by_label), open)
    return Task(
        name="symptom2disease",
        evidence=(*_documents(dealt.evidence), *more),
        dev=tuple(_item(e.text, e, space) for e in dealt.dev),
        test=tuple(_item(e.text, e, space) for e in dealt.test),
        aliases=space.aliases,
    )


def kaggle_symptom_disease(
    folder: Path, seed: int = 0, *, shown: int = 2, per_label: int = 3, open: bool = False, tune: bool = False
) -> Task:
    """Symptom lists, distinct cases; evidence shows all symptoms, cases only ``shown`` of them at random."""
    if shown < 1:
        raise InputError(f"shown is {shown}: show at least 1 symptom")
    rng = np.random.default_rng(seed)
    by_label: dict[str, list[str]] = defaultdict(list)
    for row in table(folder / "kaggle_symptom_disease" / "unique_cases.csv", ("disease", "symptoms")):
        symptoms = [s.strip().replace("_", " ") for s in row["symptoms"].split(";")]
        by_label[row["disease"].strip()].append(", ".join(symptoms))
    dealt = deal(by_label, seed, per_label, tune=tune)
    space, more = _space(folder, sorted(by_label), open)

    def mask(example: Example) -> Item:
        symptoms = example.text.split(", ")
        keep = rng.permutation(len(symptoms))[:shown]
        return _item(", ".join(symptoms[i] for i in sorted(keep)), example, space)

    return Task(
        name="kaggle_symptom_disease",
        evidence=(*_documents(dealt.evidence), *more),
        dev=tuple(map(mask, dealt.dev)),
        test=tuple(map(mask, dealt.test)),
        aliases=space.aliases,
    )


def _documents(examples: Iterable[Example]) -> tuple[Document, ...]:
    return tuple(Document(e.text, "evidence", label=e.label) for e in examples)


def _item(context: str, example: Example, space: OutcomeSpace) -> Item:
    name = text_id(example.text)
    case = Case(question=COMPLAINT, context=context, outcomes=space, gold=example.label, id=name)
    return Item(id=name, case=case)


def _space(folder: Path, labels: list[str], open: bool) -> tuple[OutcomeSpace, tuple[Document, ...]]:
    """The outcomes, and what is known of those that have no cases here: a space of hundreds where ``open``."""
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
        documents.append(Document(text, "knowledge", label=label))
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
