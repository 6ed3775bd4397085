"""Negation: is a feature said to be present, said to be absent, or left open in a sentence?

    python benchmarks/bench_negation.py [--file negation.jsonl|negation2.jsonl|negation3.jsonl] [--half dev|test] [--wrong]

Three files of `benchmarks/blind`, by three authors. A sentence that does not mention the feature leaves it open. Intervals: Wilson.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path

from maci.calibration.stats import wilson
from maci.evidence.negation import polarity

BLIND = Path(__file__).parent / "blind"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--file", default="negation.jsonl", help="a file of benchmarks/blind")
    parser.add_argument("--half", choices=("dev", "test"), default="dev")
    parser.add_argument("--wrong", action="store_true", help="print what is wrong (not for the test half)")
    options = parser.parse_args()
    rows = [json.loads(line) for line in (BLIND / options.file).read_text(encoding="utf-8").splitlines()]
    n, right = Counter[str](), Counter[str]()
    for row in rows:
        if row["half"] != options.half:
            continue
        found = polarity(row["sentence"], row["feature"]) or "unknown"
        gold = "unknown" if row["gold"] == "open" else row["gold"]
        n[gold] += 1
        right[gold] += found == gold
        if options.wrong and found != gold:
            print(f"  {row['sentence']} | {row['feature']}: {found}, should be {gold}")
    for name, of in (*n.items(), ("all", n.total())):
        rate = wilson(right.total() if name == "all" else right[name], of)
        print(f"{name:8} {rate.value:.3f} [{rate.low:.3f}, {rate.high:.3f}] of {of}")


if __name__ == "__main__":
    main()
