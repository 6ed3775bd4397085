"""The data sets that can be loaded, with what must be known about each."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from maci.case.datasets.clinical import kaggle_symptom_disease, symptom2disease
from maci.case.datasets.dataset import DataFile, DataSet, Option
from maci.case.datasets.recorded import mmlu_pro_panel

__all__ = ["SETS"]

_OPEN = Option("join the label space with ddxplus and disease_symptom_261 (100+ outcomes), their texts become evidence")
_TUNE = Option("development texts only, anywhere: for choosing constants without a look at test")
_KNOWLEDGE = (
    DataFile(
        "ddxplus/release_conditions.json",
        "56edf4682d8e86a4209fc3a33932e50ce03d1cc1fecc326c26d5ef8fa5c24890",
        20_889,
        "open=true",
    ),
    DataFile(
        "ddxplus/release_evidences.json",
        "281c78b044ae60514e28ecc9052d08a8225dd3e2db3f00f8788b99c47b05e0c0",
        120_263,
        "open=true",
    ),
    DataFile(
        "disease_symptom_261/disease_symptoms.csv",
        "600e2949b82dd86cb0d576a761835033a73da21b9e7259869e614bd46cd638b1",
        18_800,
        "open=true",
    ),
)

_ALL = (
    DataSet(
        name="symptom2disease",
        about="complaints in patients' words, 24 diseases",
        purpose="diagnosis from free text (G1)",
        licence="unknown",
        source="github.com/t4ai/nlp-medical-diagnosis-classifier, Symptom2Disease.csv (first published on Kaggle)",
        files=(
            DataFile(
                "symptom2disease/Symptom2Disease.csv",
                "cab78d25838beda50da31233fe32c35f4c94206843cdb095a5ccc5731370b4c1",
                173_149,
            ),
        ),
        notes=(
            "symptom2disease: exact duplicate texts are removed before splitting; the wording is template-like, so that matching "
            "words alone comes near the ceiling.",
        ),
        options={
            "per_label": Option("texts of each disease that are evidence"),
            "open": _OPEN,
            "tune": _TUNE,
        },
        loader=symptom2disease,
        partial=True,
    ),
    DataSet(
        name="kaggle_symptom_disease",
        about="symptom lists, 41 diseases; each case shows only some of its symptoms",
        purpose="under-specified diagnosis, the paper's G1",
        licence="unknown",
        source="github.com/itachi9604/healthcare-chatbot, Data/dataset.csv; unique_cases.csv is derived from it",
        files=(
            DataFile(
                "kaggle_symptom_disease/unique_cases.csv",
                "a2dc373706ff03389cdf3af042aad45a0d807de5f9ea6e9130f48826f25023e2",
                37_243,
            ),
        ),
        notes=(
            "kaggle_symptom_disease: only 304 of its 4,920 rows are distinct and its own test file copies training rows, so the split "
            "is by distinct case; with all symptoms shown the task is trivial (nearest neighbour: 100 %). The paper's 1,500 test "
            "cases of 30 diseases cannot be had from it without duplicates.",
        ),
        options={
            "shown": Option("symptoms that a case shows, drawn by seed"),
            "per_label": Option("cases of each disease that are evidence, with all their symptoms"),
            "open": _OPEN,
            "tune": _TUNE,
        },
        loader=kaggle_symptom_disease,
    ),
    DataSet(
        name="mmlu_pro_panel",
        about="MMLU-Pro as 12 models answered it, with the reasons of 5 on a part",
        purpose="replay of strong models on hard multiple choice",
        licence="Apache-2.0 (repository)",
        source="github.com/TIGER-AI-Lab/MMLU-Pro, eval_results, and its commit ff991b5 for gpt-4o and deepseek",
        files=(
            DataFile(
                "mmlu_pro_panel/answers.csv.gz",
                "2a4aa44e0c454ddd99feb2dacf29daf67c35b9746fc9ac44e09da8383ce2515c",
                123_587,
            ),
            DataFile(
                "mmlu_pro_panel/rationales.jsonl.gz",
                "bc2e650f24ac5c8aaee389d44cca57cb9c5d38bf0e1f1d02cb57c93293bf0d91",
                1_158_776,
            ),
        ),
        citation="Wang et al. 2024, MMLU-Pro",
        notes=(
            "mmlu_pro_panel: recorded letters, no probabilities; an empty or out-of-range answer and an item missing in a model's "
            "version (NA) are abstentions. Development is the 1,200 questions whose id has the smallest SHA-256. Question and "
            "option texts are here only for the items with reasons.",
        ),
        options={
            "category": Option("one of the 14 subjects, or all"),
            "rationales": Option("only the questions whose text and reasons are here"),
        },
        loader=mmlu_pro_panel,
        quotable=True,
        partial=True,
    ),
)

SETS: Mapping[str, DataSet] = MappingProxyType({entry.name: entry for entry in _ALL})
"""By name."""
