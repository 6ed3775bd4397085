"""Retrieval over 10,000 synthetic spans, beside the least code that does the same with bm25s and NumPy.

    python benchmarks/bench_retrieval.py [--spans 10000] [--words 60] [--encoder wordllama] [--json]

Targets: lexical part built in < 2 s; hybrid query ≤ 1.3 × raw. Both sides search the same spans with warm
embeddings and take turns on each query, each encoding it once; the ratio is of medians, without and with
the time of that encoding.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable

import bm25s
import numpy as np

from maci.evidence.encode import load_encoder
from maci.evidence.lexical import Lexical
from maci.evidence.retrieve import Retriever
from maci.evidence.span import Span

K, DEPTH = 32, 4


def synthetic(count: int, words: int, rng: np.random.Generator) -> list[str]:
    """Texts of about ``words`` words whose frequencies follow Zipf's law, as language does."""
    vocabulary = np.array([f"w{rank:05d}" for rank in range(30_000)])
    weight = 1 / np.arange(1, len(vocabulary) + 1)
    lengths = rng.integers(words // 2, words * 3 // 2, count)
    drawn = vocabulary[rng.choice(len(vocabulary), lengths.sum(), p=weight / weight.sum())]
    return [" ".join(row) for row in np.split(drawn, lengths.cumsum()[:-1])]


class Frozen:
    """An encoder that looks its vectors up, to time everything but the encoding."""

    name = "frozen/1"

    def __init__(self, vectors: dict[str, np.ndarray]) -> None:
        self._vectors = vectors

    def encode(self, texts: list[str]) -> np.ndarray:
        return np.stack([self._vectors[text] for text in texts])


def raw_search(texts: list[str], encoder: Frozen) -> Callable[[str], list[tuple[int, float]]]:
    """bm25s's own tokenizer and top-k, then a dot product: no duplicates, no budget, no care for ties."""
    index = bm25s.BM25(method="lucene", backend="numpy", csc_backend="numpy")
    index.index(bm25s.tokenize(texts, stopwords="en", show_progress=False), show_progress=False)
    matrix = encoder.encode(texts)

    def search(query: str) -> list[tuple[int, float]]:
        tokens = bm25s.tokenize([query], stopwords="en", return_ids=False, show_progress=False)
        rows = index.retrieve(tokens, k=K * DEPTH, show_progress=False).documents[0]
        similarity = matrix[rows] @ encoder.encode([query])[0]
        best = np.argsort(-similarity)[:K]
        return list(zip(rows[best].tolist(), similarity[best].tolist(), strict=True))

    return search


def seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spans", type=int, default=10_000)
    parser.add_argument("--words", type=int, default=60)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--query-words", type=int, default=30)
    parser.add_argument("--encoder", default="wordllama")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()

    rng = np.random.default_rng(args.seed)
    texts = synthetic(args.spans, args.words, rng)
    queries = synthetic(args.queries, args.query_words, rng)
    Lexical.build(texts[:10])  # imports
    build = min(seconds(lambda: Lexical.build(texts)) for _ in range(3))

    real = load_encoder(args.encoder, offline=True)
    encode_all = seconds(lambda: real.encode(texts))
    encode_one = statistics.median(seconds(lambda q=query: real.encode([q])) for query in queries)
    frozen = Frozen(dict(zip([*texts, *queries], real.encode([*texts, *queries]), strict=True)))
    whole: list[Retriever] = []
    construct = seconds(lambda: whole.append(Retriever([Span.of(t) for t in texts], frozen, depth=DEPTH)))
    retriever = whole[0]
    retriever.warm()
    raw = raw_search(texts, frozen)

    ours, theirs = [], []
    for query in queries:
        ours.append(seconds(lambda q=query: retriever.retrieve(q, k=K, max_tokens=10**9)))
        theirs.append(seconds(lambda q=query: raw(q)))
    hybrid, plain = statistics.median(ours), statistics.median(theirs)
    figures = {
        "spans": args.spans,
        "encoder": real.name,
        "lexical_build_s": round(build, 3),
        "retriever_build_s": round(construct, 3),
        "encode_all_s": round(encode_all, 3),
        "encode_query_ms": round(1e3 * encode_one, 3),
        "hybrid_query_ms": round(1e3 * hybrid, 3),
        "raw_query_ms": round(1e3 * plain, 3),
        "ratio": round(hybrid / plain, 3),
        "ratio_with_encoding": round((hybrid + encode_one) / (plain + encode_one), 3),
    }
    print(json.dumps(figures) if args.json else "\n".join(f"{k:22} {v}" for k, v in figures.items()))


if __name__ == "__main__":
    main()
