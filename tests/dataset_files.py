"""Small data sets in the formats of the real ones, written for these tests."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable, Iterable
from pathlib import Path


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text, encoding="utf-8", newline="")


def put_rows(path: Path, header: Iterable[str], rows: Iterable[Iterable[object]], delimiter: str = ",") -> None:
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter)
    writer.writerow(header)
    writer.writerows(rows)
    put(path, out.getvalue())


def put_lines(path: Path, entries: Iterable[object]) -> None:
    put(path, "".join(json.dumps(entry) + "\n" for entry in entries))


def complaints(folder: Path) -> None:
    rows = [(i, label, f"{label} complaint number {i}, with a rash") for label in ("Flu", "Gout") for i in range(8)]
    rows += [(99, "Flu", rows[0][2]), (100, "Gout", rows[8][2])]  # two exact duplicates
    put_rows(folder / "symptom2disease" / "Symptom2Disease.csv", ("index", "label", "text"), rows)


def symptom_lists(folder: Path) -> None:
    rows = [
        (f"K{n}", disease, 4, ";".join([f"{disease.strip().lower()}_sign_{k}" for k in "abc"] + [f"case_{n}"]), 9)
        for disease in ("Flu ", "Gout", "AIDS")
        for n in range(6)
    ]
    header = ("case_id", "disease", "n_symptoms", "symptoms", "rows_in_dataset_csv")
    put_rows(folder / "kaggle_symptom_disease" / "unique_cases.csv", header, rows)


def knowledge(folder: Path) -> None:
    asked = {"E_1": {"question_en": "Do you cough?"}, "E_2": {"question_en": "Do you have a fever?"}}
    known = {"Croup": {"symptoms": {"E_1": {}, "E_2": {}}}, "SLE": {"symptoms": {"E_2": {}}}}
    put(folder / "ddxplus" / "release_evidences.json", json.dumps(asked))
    put(folder / "ddxplus" / "release_conditions.json", json.dumps(known))
    rows = [
        ("Lupus erythematosus", 2, "rash;fever"),
        ("Acquired Immuno Deficiency Syndrome", 1, "fever"),
        ("gout", 1, "swelling"),
        ("Warts", 1, "skin growth"),
    ]
    put_rows(folder / "disease_symptom_261" / "disease_symptoms.csv", ("disease", "n_symptoms", "symptoms"), rows)


def stations(folder: Path) -> None:
    def station(n: int, diagnosis: str) -> object:
        return {
            "OSCE_Examination": {
                "Objective_for_Doctor": "Find out",
                "Patient_Actor": {
                    "Demographics": f"{20 + n}-year-old",
                    "Symptoms": {"Primary_Symptom": "cough", "Secondary_Symptoms": ["fever", "chills"]},
                    "Family_History": None,
                },
                "Physical_Examination_Findings": {"Vital_Signs": {"Temperature": "39 C"}},
                "Test_Results": {"X-ray": "shadow"},
                "Correct_Diagnosis": diagnosis,
            }
        }

    names = ["Chronic obstructive pulmonary disease (COPD)", "Chronic obstructive pulmonary disease", "Bowen’s disease"]
    names += ["Bowen disease", "Gout", "gout", "Lung cancer", "Acne", "Croup", "Flu"]
    entries = [station(n, name) for n, name in enumerate(names)]
    put_lines(folder / "agentclinic" / "agentclinic_medqa_extended.jsonl", [*entries, entries[0]])


VOTES = ("Negative", "SomewhatNegative", "Neutral", "SomewhatPositive", "Positive")


def ratings(folder: Path) -> None:
    rows = []
    for n in range(12):
        topic = "Democrat Scandals" if n == 0 else "Economy"
        rows.append((f"http://x.org/{n}", "News", 1, topic, "Civil Rights", VOTES[0], VOTES[2]))
        rows.append((f"http://x.org/{n}", "News", 0, "Economy", "Economy", VOTES[2], VOTES[3]))
    rows += [("http://x.org/CASE", "News", 0, "Economy", "Economy", VOTES[2], VOTES[2])]
    rows += [("http://x.org/case", "News", 0, "Economy", "Economy", VOTES[4], VOTES[0])]
    header = ("url", "q3", "perceived", "primary_topic", "secondary_topic", "democrat_vote", "republican_vote")
    put_rows(folder / "budak2016" / "newsArticlesWithLabels.tsv", header, rows, "\t")


def rated_articles(folder: Path) -> None:
    def rating(democrat: int, republican: int, topic: str) -> object:
        return {
            "perceived": 0, "type": "News", "primary_topic": topic, "secondary_topic": "Economy",
            "democrat_vote": democrat, "republican_vote": republican,
        }  # fmt: skip

    entries = [
        {
            "url": f"http://x.org/{n}",
            "source": "Fox Online News" if n % 2 else "CNN (Web News)",
            "title": f"Title {n}",
            "allsides_bias": "right",
            "ratings": [rating(-2, 0, "Republican Scandals" if n == 3 else "Economy"), rating(-2, n % 3, "Economy")],
            "text": f"Fox News and CNN reported story {n}. " + "Many words follow here. " * 60,
        }
        for n in range(20)
    ]
    put_lines(folder / "budak_allsides_text" / "articles.jsonl", entries)


def sentences(folder: Path) -> None:
    """mbic and babe, which share most of their sentences up to blanks."""
    labels = ("Biased", "Non-biased")
    mbic = [
        (n, f"Shared sentence number {n}.", "msnbc", "left", "environment", "", labels[n % 2], "", labels[0])
        for n in range(20)
    ]
    mbic.append((20, "Nobody agrees on this.", "msnbc", "", "environment", "", "No agreement", "", ""))
    header = ("sentence_idx", "text", "outlet", "outlet_leaning", "topic", "news_link", "mbic_majority_label")
    put_rows(folder / "mbic" / "sentences.csv", (*header, "mbic_opinion_label", "expert_sg1_label"), mbic)
    votes = []
    for n in range(20):
        votes += [
            (n, 1, -5, "Biased", ""),
            (n, 2, -1, "Non-biased", ""),
            (n, 3, 4, "Biased", ""),
            (n, 4, 0, "Biased", ""),
        ]
    votes.append((0, 1, -5, "Non-biased", ""))  # a repeated word of rater 1
    header = ("sentence_idx", "annotator_idx", "political_ideology", "label_bias", "label_opinion")
    put_rows(folder / "mbic" / "annotations.csv", header, votes)
    rows = [(f"Shared  sentence number {n}. ", "", "MSNBC", "x", "left", labels[n % 2], "", "[]") for n in range(20)]
    rows += [(f"Only here {n}; truly.", "", "Fox", "x", "", labels[n % 2], "", "[]") for n in range(20)]
    rows += [("Without agreement.", "", "Fox", "x", "", "No agreement", "", "[]")]
    header = ("text", "news_link", "outlet", "topic", "type", "label_bias", "label_opinion", "biased_words")
    put_rows(folder / "babe" / "final_labels_SG2.csv", header, rows, ";")
    path = folder / "babe" / "final_labels_SG2.csv"
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())  # the real file begins with a byte order mark


def triplets(folder: Path) -> None:
    stances = {"nyt": "liberal", "FOX": "conservative", "hpo": "center"}
    entries = [
        {
            "id": f"{event}_{source}", "triplet": f"event-{event}", "source": source, "title": f"Event {event}",
            "text": f"As Fox said, event {event} happened ({source}).", "main_event": "x",
            "article_annotations": {"relative_stance": stance, "notes": ""}, "phrase_annotations": [],
        }
        for event in range(15)
        for source, stance in stances.items()
    ]  # fmt: skip
    entries[0]["article_annotations"] = {"relative_stance": "unclear"}
    put_lines(folder / "basil" / "basil.jsonl", entries)


def leaning_articles(folder: Path) -> None:
    entries = [
        {"ID": str(n), "source": "Slate", "title": f"Title {n}", "bias_text": bias, "bias": 0, "text": f"Slate has it: {bias[0]}{n}"}
        for bias in ("left", "center", "right")
        for n in range(10)
    ]  # fmt: skip
    put_lines(folder / "allsides_articles" / "articles.jsonl", entries)


def arithmetic(folder: Path) -> None:
    solved = [
        {
            "question": f"How much is {n} times 1,000?",
            "ground_truth": "",
            "6b_finetuning": {"is_correct": True, "solution": f"A: wrong first\nSo it is\nA: ${n},000"},
            "6b_verification": {"is_correct": False, "solution": "A: 7"},
            "175b_finetuning": {"is_correct": False, "solution": "A: 1/5"},
            "175b_verification": {"is_correct": False, "solution": "no answer line"},
        }
        for n in range(1, 13)
    ]
    put_lines(folder / "gsm8k" / "example_model_solutions.jsonl", solved)
    tests = [{"question": s["question"], "answer": f"Easy.\n#### {n},000"} for n, s in enumerate(solved, 1)]
    put_lines(folder / "gsm8k" / "test.jsonl", tests)
    odd = [
        {
            "question": f"Odd question {n}?", "answer": ["0.75", "75%"], "explanation": "Because.",
            "incorrect answer": ["0.9", "90%"], "incorrect explanation": "It seems so.",
        }
        for n in range(10)
    ]  # fmt: skip
    put(folder / "ciar" / "CIAR.json", json.dumps(odd))


def claims(folder: Path) -> None:
    passages = [
        {"title": "A page", "url": "http://x.org", "content": "It holds."},
        {"title": "", "url": "http://y.org", "content": "The page did not load."},
        {"title": "", "url": "http://z.org", "content": ""},
    ]
    entries = [
        {"id": f"C{n}", "claim": f"Claim {n}", "veracity": [str(n % 2 == 0)], "label": ["x"], "sources": passages}
        for n in range(10)
    ]
    put_lines(folder / "covid_claims" / "claims.jsonl.gz", entries)


def mmlu(folder: Path) -> None:
    rows = [
        (n, "health" if n % 2 else "law", "src", 4, "B", "B", "", "NA" if n == 1 else "J", "A") for n in range(1, 41)
    ]
    header = ("question_id", "category", "src", "n_options", "gold", "gpt", "deepseek", "gemini", "phi")
    put_rows(folder / "mmlu_pro_panel" / "answers.csv.gz", header, rows)
    told = [
        {
            "question_id": n, "category": "health", "question": f"Question {n}?", "options": ["one", "two", "A", "two"],
            "gold": "B", "answers": {"gpt": {"pred": "B", "text": "It is two."}, "deepseek": {"pred": None, "text": "Hm."}},
        }
        for n in (1, 3)
    ]  # fmt: skip
    put_lines(folder / "mmlu_pro_panel" / "rationales.jsonl.gz", told)


def medical(folder: Path) -> None:
    questions = [
        {
            "dataset": dataset, "id": str(n), "question": f"Medical question {n}?\r\n",
            "options": {"A": "yes", "B": "no", "C": "maybe"}, "gold": "A", "hard": n % 4 == 0,
        }
        for dataset in ("medqa", "pubmedqa")
        for n in range(12)
    ]  # fmt: skip
    put_lines(folder / "medagentsbench" / "questions.jsonl.gz", questions)
    answers = []
    for q in questions:
        for model, pred in (("gpt-4o", "'A'"), ("o1-mini", "nan"), ("QwQ", "A. No, it is not"), ("haiku", "E")):
            answers.append((q["dataset"], "test", q["id"], model, "zero_shot", "A", pred, 100.0, 7, 1.5))
        answers.append((q["dataset"], "test", q["id"], "gpt-4o", "zero_shot", "A", "B", 1, 1, 1))  # repeated
        if q["hard"]:
            answers.append((q["dataset"], "test_hard", q["id"], "gpt-4o", "cot", "A", "C", "", "", ""))
    header = (
        "dataset",
        "split",
        "id",
        "model",
        "method",
        "gold",
        "pred",
        "prompt_tokens",
        "completion_tokens",
        "seconds",
    )
    put_rows(folder / "medagentsbench" / "answers.csv.gz", header, answers)


def debates(folder: Path) -> None:
    table = [
        {
            "question": f"Make pillow {n}.", "options": "(A) Use a can (B) Use a bag (see (1))", "gold": "B",
            "agreed": True, "rounds": 1,
            "turns": [
                {"model": "chatgpt", "pred": None, "text": "Neither."},
                {"model": "davinci", "pred": "A", "text": ""},
                {"model": "gpt4", "pred": "B", "text": "A bag."},
                {"model": "chatgpt", "pred": "No", "text": "Still not."},
                {"model": "davinci", "pred": "B", "text": "Right."},
            ],
        }
        for n in range(10)
    ]  # fmt: skip
    put_lines(folder / "ford_debates" / "table_chatgpt_davinci_gpt4__piqa.jsonl", [*table, table[0]])
    opened = [
        {**{k: t[k] for k in ("question", "options", "gold")}, "agents": {"gpt4": {"pred": "B", "text": "A bag."}}}
        for t in table
    ]
    put_lines(folder / "ford_debates" / "round0_panel__piqa.jsonl", opened)
    yes = {
        "question": "Is it so?",
        "options": "None",
        "gold": "yes",
        "turns": [{"model": "gpt4", "pred": "Yes", "text": ""}],
    }
    lost = {"question": "What?", "options": "None", "gold": "B", "turns": []}
    put_lines(folder / "ford_debates" / "chatgpt_davinci__strategyqa.jsonl", [yes, lost])


def pairs(folder: Path) -> None:
    topics = [f"topic-{n}_yes" for n in range(12)]
    arguments = [(t, f"arg{k}", f'Argument "{k} of {t}<br/>next line') for t in topics for k in range(3)]
    text = "topic_side\targ_id\targument\n" + "".join("\t".join(row) + "\n" for row in arguments)
    put(folder / "ukp_convarg" / "arguments_strict.tsv", text)
    rows = [f"{t}\targ0_arg1\ta1\n{t}\targ1_arg2\ta2\n{t}\targ0_arg9\ta1\n" for t in topics]
    put(folder / "ukp_convarg" / "pairs_strict.tsv", "topic_side\tpair_id\twinner\n" + "".join(rows))


WRITERS: tuple[Callable[[Path], None], ...] = (
    complaints, symptom_lists, knowledge, stations, ratings, rated_articles, sentences, triplets, leaning_articles,
    arithmetic, claims, mmlu, medical, debates, pairs,
)  # fmt: skip


def write_all(folder: Path) -> Path:
    for write in WRITERS:
        write(folder)
    return folder
