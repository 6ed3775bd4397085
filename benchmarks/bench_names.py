"""Names of outcomes: how often are two names of one thing joined, and how often two things, by kind of pair and by layer?

    python benchmarks/bench_names.py [--file names2.jsonl] [--half dev] [--encoder wordllama] [--match 0.95]
        [--model local/qwen2.5-coder-1.5b]

A pair is right where it is joined as it should be (the same, or narrower the right way round), or kept apart. Precision is over pairs
that were joined. Recall is over pairs that should be joined; "within reach" are those that share a word or a known alias, or are an
abbreviation or another spelling. A pair that a layer leaves open stays apart, unless `--model` is asked about it: about every such
pair, or with `--from COSINE` about those that share a word or are as close (`beliefs.ask_from`). Without a model it is counted how many
of them should be joined. Replies are kept in the cache folder (`bench-names.sqlite`), so a run that broke off continues.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from maci.agents.judges.interpreter import Comparer
from maci.calibration.stats import wilson
from maci.cases.labels import NameQuestion
from maci.cases.names import Relation, by_model, relate, share_a_word
from maci.config.sections import Beliefs
from maci.evidence.encode import load_encoder
from maci.llm.cache import ResponseCache
from maci.llm.models import House
from maci.paths import cache_dir

JOINED = {"same", "narrower", "broader"}
REACHED = {"abbrev", "spelling", "qualifier", "syn_shared"}


def gold(row: dict[str, Any]) -> str:
    if row["gold"] != "narrower":
        return str(row["gold"])
    return "narrower" if row.get("narrower_is", "b") == "a" else "broader"


def related(row: dict[str, Any], cosine: float, threshold: float) -> Relation | None:
    """The first relation that joins ``b`` with ``a`` or one of its aliases; else one that keeps them apart, if any does."""
    found = relate(row["a"], row["b"], cosine, threshold)
    for alias in row.get("aliases", ()) if found is None else ():
        if (other := relate(alias, row["b"])) is not None and other.kind in JOINED:
            return Relation(other.kind, "alias")
    return found


async def asked(rows: list[dict[str, Any]], name: str) -> dict[str, Relation]:
    found = {}
    async with House(cache=ResponseCache(cache_dir() / "bench-names.sqlite")) as house:
        comparer = Comparer("comparer", house.model(name))
        for row in rows:
            try:
                said = await comparer.prepare("Which is it?", NameQuestion(row["a"], (row["b"],))).within()
            except Exception as error:
                print(f"  {row['id']}: {error}")
                continue
            found[row["id"]] = by_model(row["a"], row["b"], said.kind)
            print(".", end="", flush=True)
    return found


def share(right: int, n: int) -> str:
    if not n:
        return "–"
    rate = wilson(right, n)
    return f"{rate.value:.3f} [{rate.low:.3f}, {rate.high:.3f}] ({right}/{n})"


def report(title: str, rows: Iterable[dict[str, Any]], found: dict[str, Relation | None], *, wrong: bool) -> None:
    kinds: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    layers: dict[str, Counter[str]] = defaultdict(Counter)
    joined, hits, wanted, reach, reached = Counter[bool](), 0, 0, 0, 0
    print(f"\n{title}")
    for row in rows:
        relation, truth = found[row["id"]], gold(row)
        right = relation is not None and relation.kind == truth
        stands = "open" if relation is None else "right" if right else "wrong"
        kinds[row["kind"], row["gold"]][stands] += 1
        if relation is not None:
            layers[relation.layer][stands] += 1
            joined[right] += relation.kind in JOINED
            if wrong and not right:
                print(f"  wrong: {row['a']} | {row['b']} | {relation.kind} by {relation.layer}, should be {truth}")
        if truth in JOINED:
            wanted, hits = wanted + 1, hits + right
        if truth == "same" and (row["kind"] in REACHED or row.get("aliases") or share_a_word(row["a"], row["b"])):
            reach, reached = reach + 1, reached + right
            if wrong and relation is None:
                print(f"  open: {row['a']} | {row['b']} ({row['kind']})")
    print(f"{'kind':14}{'should be':12}{'right':>7}{'wrong':>7}{'open':>7}")
    for (kind, truth), n in sorted(kinds.items()):
        print(f"{kind:14}{truth:12}{n['right']:7}{n['wrong']:7}{n['open']:7}")
    print(f"{'layer':26}{'right':>7}{'wrong':>7}")
    for layer, n in layers.items():
        print(f"{layer:26}{n['right']:7}{n['wrong']:7}")
    print(f"precision of joins          {share(joined[True], joined.total())}")
    print(f"recall of 'same' in reach   {share(reached, reach)}")
    print(f"recall of all joins         {share(hits, wanted)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--file", default="names.jsonl", help="a file, or the name of one in benchmarks/blind")
    parser.add_argument("--half", choices=["dev", "test"], default="dev")
    parser.add_argument("--encoder", default="wordllama")
    parser.add_argument("--match", type=float, default=Beliefs().label_match, help="cosine from which embeddings join")
    parser.add_argument("--model", default="")
    parser.add_argument(
        "--from", dest="near", type=float, help="ask only about pairs that share a word or are this close"
    )
    parser.add_argument("--wrong", action="store_true", help="print what is wrong (not for the test half)")
    args = parser.parse_args()
    file = Path(args.file) if Path(args.file).is_file() else Path(__file__).parent / "blind" / args.file
    lines = (json.loads(line) for line in file.read_text(encoding="utf-8").splitlines())
    rows = [row for row in lines if row["half"] == args.half]
    encoder = load_encoder(args.encoder)
    vectors = {row["id"]: encoder.encode([row["a"], row["b"]]) for row in rows}
    cosine = {row["id"]: float(vectors[row["id"]][0] @ vectors[row["id"]][1]) for row in rows}
    found = {row["id"]: related(row, cosine[row["id"]], args.match) for row in rows}
    report(f"Without a model, {args.encoder}, {len(rows)} pairs of the {args.half} half", rows, found, wrong=args.wrong)
    left = [row for row in rows if found[row["id"]] is None]
    if args.near is not None:
        left = [row for row in left if share_a_word(row["a"], row["b"]) or cosine[row["id"]] >= args.near]
    print(
        f"a model would be asked about {len(left)}, of which {sum(gold(row) in JOINED for row in left)} should be joined"
    )
    if args.model:
        found |= asyncio.run(asked(left, args.model))
        report(f"With {args.model} asked about {len(left)} of them", rows, found, wrong=args.wrong)


if __name__ == "__main__":
    main()
