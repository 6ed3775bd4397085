"""The encoders on retrieval that is harder than symptom2disease, where nearly every word of a query stands in what is looked for.

    python benchmarks/bench_encoders.py --data DIR [--encoders wordllama,minilm,arctic] [--limit N] [--json]

Ranked by cosine alone, without BM25:

``claims``    covid_claims: a claim → the passages collected for it, among those of all claims (of each claim the first 8 with a text)
``patients``  agentclinic: what a patient tells → the same patient's examination and tests, among all patients'
``symptoms``  kaggle_symptom_disease: three symptoms of a case → the description of its disease, among 41

MRR@10: the mean of 1 / place of the first right one, 0 beyond the tenth; with its standard error over queries.
Recall@10: the mean share of the right ones among the first ten. ms: one thread, mean of all texts, queries included.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import os
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from maci.evidence.encode import as_query, load_encoder

Set = tuple[list[str], list[str], list[set[int]]]
"""Queries, passages, and which passages are right for each query."""


def claims(folder: Path) -> Set:
    queries, passages, right = [], [], []
    with gzip.open(folder / "covid_claims" / "claims.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            texts = [source["content"] for source in row["sources"] if len(source["content"].split()) >= 30][:8]
            if texts:
                queries.append(row["claim"])
                right.append(set(range(len(passages), len(passages) + len(texts))))
                passages += texts
    return queries, passages, right


def patients(folder: Path) -> Set:
    queries, passages = [], []
    with (folder / "agentclinic" / "agentclinic_medqa_extended.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            case = json.loads(line)["OSCE_Examination"]
            told, found = (
                case.get("Patient_Actor"),
                [case.get("Physical_Examination_Findings"), case.get("Test_Results")],
            )
            if told and all(found):
                queries.append(_prose(told))
                passages.append(_prose(found))
    return queries, passages, [{n} for n in range(len(queries))]


def symptoms(folder: Path) -> Set:
    rng, folder = random.Random(0), folder / "kaggle_symptom_disease"
    with (folder / "symptom_Description.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    place = {_letters(name): n for n, (name, _) in enumerate(rows)}
    place[_letters("Dimorphic hemmorhoids(piles)")] = place.pop(_letters("Dimorphic hemorrhoids(piles)"))
    queries, right = [], []
    with (folder / "unique_cases.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            shown = rng.sample(row["symptoms"].split(";"), 3)
            queries.append(", ".join(symptom.replace("_", " ") for symptom in shown))
            right.append({place[_letters(row["disease"])]})
    return queries, [text for _, text in rows], right


def _prose(value: Any) -> str:
    """The texts in nested data, with their names."""
    if isinstance(value, dict):
        return ". ".join(f"{name.replace('_', ' ')}: {_prose(inner)}" for name, inner in value.items())
    return ", ".join(map(_prose, value)) if isinstance(value, list) else str(value)


def _letters(name: str) -> str:
    return "".join(char for char in name.casefold() if char.isalnum())


SETS: dict[str, Callable[[Path], Set]] = {"claims": claims, "patients": patients, "symptoms": symptoms}


def score(name: str, data: Set, limit: int | None) -> dict[str, object]:
    """How well an encoder ranks the passages of a set."""
    queries, passages, right = data
    encoder = load_encoder(name, offline=True)
    start = time.process_time()
    found = encoder.encode(passages)
    asked = encoder.encode([as_query(encoder, query) for query in queries[:limit]])
    spent = time.process_time() - start
    first, share = [], []
    for row, good in zip(asked, right, strict=False):
        best = np.argsort(-(found @ row), kind="stable")[:10].tolist()
        first.append(next((1 / place for place, n in enumerate(best, 1) if n in good), 0.0))
        share.append(len(good & set(best)) / min(10, len(good)))
    error = float(np.std(first, ddof=1) / np.sqrt(len(first)))
    return {
        "queries": len(first),
        "passages": len(passages),
        "mrr": round(float(np.mean(first)), 3),
        "mrr_error": round(error, 3),
        "recall": round(float(np.mean(share)), 3),
        "ms": round(1e3 * spent / (len(passages) + len(first)), 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("MACI_DATA"), help="default: MACI_DATA")
    parser.add_argument("--encoders", default="wordllama,minilm,arctic")
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--limit", type=int, default=None, help="queries of each set")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.data is None:
        parser.error("--data or MACI_DATA must name the folder of the data sets")
    figures = {}
    for which in options.sets.split(","):
        data = SETS[which](Path(options.data))
        figures[which] = {name: score(name, data, options.limit) for name in options.encoders.split(",")}
        if not options.json:
            for name, row in figures[which].items():
                print(
                    f"{which:9} {name:10} MRR@10 {row['mrr']:.3f} ± {row['mrr_error']:.3f}  recall@10 {row['recall']:.3f}  "
                    f"{row['ms']:7.2f} ms  ({row['queries']} queries, {row['passages']} passages)",
                    flush=True,
                )
    if options.json:
        print(json.dumps(figures))


if __name__ == "__main__":
    main()
