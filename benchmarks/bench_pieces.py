"""The default encoder's own cutting of texts into tokens, beside the library ``tokenizers``: differences, and seconds of CPU.

    python benchmarks/bench_pieces.py [--random 20000] [--json]

The texts are every line of the documents and source files of this checkout, each file whole, and random strings (letters, awkward
parts, any Unicode). Both run in one thread.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import time
from pathlib import Path

import wordllama

from maci.evidence.encode import load_encoder

os.environ["TOKENIZERS_PARALLELISM"] = "false"
ROOT = Path(__file__).resolve().parents[1]
AWKWARD = ("<s>", "</s>", "<unk>", " ", "  ", "▁", "a", "the", "\n", "é", "e\u0301", "日本", "🙂", "\t", "ing", "\x00")


def texts(randoms: int) -> list[str]:
    found = []
    for kind in ("**/*.md", "src/**/*.py", "src/**/*.yaml"):
        for file in sorted(ROOT.glob(kind)):
            if ".venv" not in file.parts:
                whole = file.read_text(encoding="utf-8")
                found += [*whole.split("\n"), whole]
    draw = random.Random(1)
    ranges = ((1, 0x2FF), (0x300, 0xD7FF), (0xE000, 0x1FFFF))
    anything = [chr(draw.randint(*ranges[n % 3])) for n in range(5000)]
    for n in range(randoms):
        pool = (anything, AWKWARD, "abcdeft aeinst  .,")[n % 3]
        found.append("".join(draw.choice(pool) for _ in range(draw.randint(0, 30))))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--random", type=int, default=20_000)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    all_texts, clock = texts(options.random), time.process_time
    row: dict[str, object] = {"texts": len(all_texts), "characters": sum(map(len, all_texts))}
    own = load_encoder("wordllama")._pieces  # type: ignore[attr-defined]
    library = wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True).tokenizer
    library.no_padding()
    started = clock()
    theirs = [found.ids for found in library.encode_batch(all_texts, add_special_tokens=False)]
    row["library_seconds"] = clock() - started
    started = clock()
    ours = [own.ids(text) for text in all_texts]
    row["own_seconds"] = clock() - started
    row["differences"] = sum(a != b for a, b in zip(ours, theirs, strict=True))
    if options.json:
        print(json.dumps(row))
    else:
        print(
            *(f"{key} {value:,.2f}" if isinstance(value, float) else f"{key} {value:,}" for key, value in row.items()),
            sep="\n",
        )


if __name__ == "__main__":
    main()
