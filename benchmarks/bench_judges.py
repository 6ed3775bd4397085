"""Do judges prefer an argument that cites support to one that cites the case, something else, the opposite or nothing?

    python benchmarks/bench_judges.py [--data FILE] [--half dev|test] [--model local/NAME] [--limit N] [--show KIND] [--cases]

Every group of the file is one argument in five variants that differ in their citation alone. A judge or the panel (the mean of those
who score) *prefers* the supported one if it gives it a higher score; an abstention on either side is counted apart. ``--model`` asks a
language model instead of the reader judges; its replies are kept in the cache folder (`bench-judges.sqlite`).
``--cases`` debates the built-in cases with the embedded panel and prints how many answers are right.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from maci.agents.agent import Judge
from maci.agents.anchor import Question
from maci.agents.argument import Argument
from maci.agents.judges.crit import JudgeAbstained, ScoreRequest
from maci.agents.judges.reader import reader_judges
from maci.calibration.stats import wilson
from maci.cases.case import builtin_cases
from maci.config import Config
from maci.controller.decisions import Finished
from maci.debating.loop import debate
from maci.evidence.encode import load_encoder
from maci.evidence.knowledge import builtin_spans
from maci.evidence.span import CASE, Citation, Span
from maci.seating.models import ReaderPanel
from maci.seating.table import opening

DATA = Path(__file__).parent / "blind" / "arguments.jsonl"
OTHERS = ("case_back", "irrelevant", "contradicted", "uncited")


def request(row: dict[str, Any], variant: str) -> ScoreRequest:
    """What a judge is given of a variant: its text is the reason, the citation mark left out."""
    spans = {e["id"]: Span(e["id"], e["text"], e["source"]) for e in row["evidence"]}
    spans |= {f"c{n}": Span(f"c{n}", text, CASE) for n, text in enumerate(row["case"], 1)}
    cites = row["variants"][variant]["cites"]
    argument = Argument(
        claim=row["claim"],
        reasons=(row["variants"]["uncited"]["text"],),
        citations=tuple(Citation(i) for i in cites),
        outcome=row["supports"],
    )
    question = Question(row["question"], " ".join(row["case"]), "closed", tuple(row["outcomes"]))
    return ScoreRequest(question=question, argument=argument, spans=tuple(spans[i] for i in cites))


async def composite(judge: Judge, asked: ScoreRequest) -> float | None:
    """The judge's score; ``None`` where it abstains."""
    try:
        return (await judge.score(asked))[0].composite
    except JudgeAbstained:
        return None


def mean(scores: Sequence[float | None]) -> float | None:
    """The panel's score: the mean of those who gave one."""
    given = [score for score in scores if score is not None]
    return sum(given) / len(given) if given else None


async def compare(
    rows: Sequence[dict[str, Any]], judges_for: Any, show: str | None, *, progress: bool = False
) -> dict[tuple[str, str], Counter[str]]:
    """(judge, kind) → how often the supported one was preferred, not preferred, or not scored."""
    found: dict[tuple[str, str], Counter[str]] = {}
    for row in rows:
        judges = judges_for(row)
        scores = {v: [await composite(judge, request(row, v)) for judge in judges] for v in ("supported", *OTHERS)}
        if progress:
            print(f"  {row['id']} {scores}", flush=True)
        for kind in OTHERS:
            name = f"contradicted ({row['variants'][kind]['contradiction']})" if kind == "contradicted" else kind
            pairs = {j.name: (scores["supported"][n], scores[kind][n]) for n, j in enumerate(judges)}
            if len(judges) > 1:
                pairs["panel"] = (mean(scores["supported"]), mean(scores[kind]))
            for who, (good, other) in pairs.items():
                said = "abstained" if good is None or other is None else "preferred" if good > other else "not"
                found.setdefault((who, name), Counter())[said] += 1
                if show and show in name and said != "preferred" and who in ("panel", judges[0].name):
                    print(f"  {row['id']} {who}: supported {good}, {name} {other}")
    return found


def report(found: dict[tuple[str, str], Counter[str]]) -> None:
    """One line for each judge and kind."""
    for (who, kind), counts in sorted(found.items(), key=lambda item: item[0]):
        n = sum(counts.values())
        rate = wilson(counts["preferred"], n)
        print(
            f"{who:28} {kind:24} prefers the supported one {counts['preferred']:3} of {n:3} ({rate.value:.3f} "
            f"[{rate.low:.3f}, {rate.high:.3f}]), not {counts['not']}, abstains {counts['abstained']}"
        )


async def right_answers() -> tuple[int, int, float]:
    """Of the built-in cases with a known answer: how many the embedded panel answers right, of how many, and the mean of its rounds."""
    panel, config = ReaderPanel(builtin_spans(), load_encoder("wordllama")), Config()
    right = n = rounds = 0
    for case in builtin_cases().values():
        if case.gold is None or case.outcomes.kind == "ordered":
            continue
        table = panel.table(case)
        async for event in debate(opening(case, table, config), table):
            if isinstance(event, Finished):
                n, right, rounds = n + 1, right + (event.answer == case.gold), rounds + event.rounds
    return right, n, rounds / n


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--half", choices=("dev", "test"), default="dev")
    parser.add_argument("--model")
    parser.add_argument("--limit", type=int, help="so many arguments, evenly spread")
    parser.add_argument("--show", help="list the groups of this kind in which the supported one was not preferred")
    parser.add_argument("--cases", action="store_true")
    args = parser.parse_args()
    if args.cases:
        right, n, rounds = asyncio.run(right_answers())
        print(f"built-in cases, embedded panel: {right} of {n} right ({right / n:.3f}), {rounds:.2f} rounds")
        return
    rows = [json.loads(line) for line in args.data.read_text(encoding="utf-8").splitlines()]
    rows = [row for row in rows if row["half"] == args.half]
    rows = rows[:: max(1, len(rows) // args.limit)][: args.limit] if args.limit else rows
    if args.model:
        from maci.agents.judges.llm import LlmJudge
        from maci.llm.cache import ResponseCache
        from maci.llm.models import House
        from maci.paths import cache_dir

        async def asked() -> dict[tuple[str, str], Counter[str]]:
            house = House(cache=ResponseCache(cache_dir() / "bench-judges.sqlite"))
            judge = LlmJudge(args.model, house.model(args.model))
            try:
                return await compare(rows, lambda row: [judge], args.show, progress=True)
            finally:
                await house.aclose()

        found = asyncio.run(asked())
    else:
        encoder = load_encoder("wordllama")

        def readers(row: dict[str, Any]) -> Sequence[Judge]:
            spans = [Span(e["id"], e["text"], e["source"]) for e in row["evidence"]]
            return reader_judges(spans, encoder)

        found = asyncio.run(compare(rows, readers, args.show))
    print(f"{len(rows)} arguments, half {args.half}")
    report(found)


if __name__ == "__main__":
    main()
