"""Does accuracy rise with Q₀? By encoder fit φ, target θ and the spans Q₀ is measured on; development cases only.

    python benchmarks/bench_q0.py [--data DIR] [--encoder wordllama|minilm] [--seeds 100,101,102,103]

Accuracy of the debate in the lowest, middle and highest third of Q₀ = cos(mean of unit vectors, θ). θ is the embedded case (`query`),
or the mean of that and the outcomes' names weighted by the opening mixture (`query+outcomes`).
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from bench_readers import Row, run, spans_of
from maci.config import Config
from maci.evidence.encode import AdaptedEncoder, Encoder, load_encoder
from maci.evidence.retrieve import CachedEncoder, Retriever
from maci.lab.datasets import Task, load
from maci.paths import cache_dir, data_dir


def quality(vectors: np.ndarray, theta: np.ndarray) -> float:
    mean = vectors.mean(axis=0)
    return float(mean @ theta / max(np.linalg.norm(mean) * np.linalg.norm(theta), 1e-12))


def variants(task: Task, rows: list[Row], encoder: Encoder) -> list[dict[tuple[str, str, str], float]]:
    spans = spans_of(task)
    labels = task.dev[0].case.outcomes.labels
    fits = {"raw": encoder, "adapted": CachedEncoder(AdaptedEncoder(encoder, [s.text for s in spans]), None)}
    tools = {name: (phi, Retriever(spans, phi), phi.encode(labels)) for name, phi in fits.items()}
    found = []
    for item, row in zip(task.dev, rows, strict=True):
        text, values = item.case.context, {}
        for name, (phi, retriever, names) in tools.items():
            hits = [span for span, _ in retriever.retrieve(text, 32)]
            core = set(retriever.core(text, hits))
            query = phi.encode([text])[0]
            thetas = {"query": query, "query+outcomes": query + row.average @ names}
            sets = {"all 32": hits, "best 3": hits[:3], "core": [s for s in hits if s.id in core]}
            for which, chosen in sets.items():
                vectors = phi.encode([span.text for span in chosen])
                for target, theta in thetas.items():
                    values[name, target, which] = quality(vectors, theta)
        found.append(values)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--encoder", default="wordllama")
    parser.add_argument("--seeds", default="100,101,102,103")
    options = parser.parse_args()
    folder = data_dir(options.data)
    encoder = CachedEncoder(load_encoder(options.encoder), cache_dir() / "bench-embeddings.sqlite")
    print(f"{'φ':8} {'θ':15} {'Q₀ over':8}   accuracy by third of Q₀ ({encoder.name})")
    for name in ("symptom2disease", "kaggle_symptom_disease"):
        right: list[bool] = []
        values: list[dict[tuple[str, str, str], float]] = []
        for seed in map(int, options.seeds.split(",")):
            task = load(name, folder, seed=seed)
            rows = run(task.dev, task, encoder, Config(), seed)
            right += [bool(row.debate.argmax() == row.gold) for row in rows]
            values += variants(task, rows, encoder)
        hit = np.array(right, dtype=float)
        print(f"{name}, {len(hit)} development cases, accuracy {hit.mean():.3f}")
        for key in values[0]:
            q = np.array([v[key] for v in values])
            low, high = np.quantile(q, [1 / 3, 2 / 3])
            thirds = hit[q <= low].mean(), hit[(q > low) & (q <= high)].mean(), hit[q > high].mean()
            print(f"  {key[0]:8} {key[1]:15} {key[2]:8}   " + "  ".join(f"{x:.3f}" for x in thirds))


if __name__ == "__main__":
    main()
