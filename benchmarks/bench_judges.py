"""Do judges prefer an argument that cites support to one that cites the case, something else, the opposite or nothing?

    python benchmarks/bench_judges.py [--data FILE] [--half dev|test] [--model local/NAME] [--limit N] [--show KIND] [--reserved]
    python benchmarks/bench_judges.py --cases
    python benchmarks/bench_judges.py --planted [--limit N]

Every group of the file is one argument in five variants that differ in their citation alone. A judge or the panel (the mean of those
who score) *prefers* the supported one if it gives it a higher score; an abstention on either side is counted apart. ``--model`` asks a
language model instead of the reader judges; its replies are kept in the cache folder (`bench-judges.sqlite`).
``--reserved`` has the reader judges abstain where claim and cited text share no word beside those of the question and the case, and no
number, negation or opposite tells (tried and not taken, decisions/019).
``--cases`` debates the built-in cases with the embedded panel and prints how many answers are right.
``--planted`` asks how good a judge must be to beat none: readers debate the built-in cases and development texts of
symptom2disease before judges whose skill and faults are planted, and each is compared with nobody judging (CRIT-free), case by case.
It simulates judges; it measures no model.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from maci.agents.agent import Judge
from maci.agents.anchor import Question
from maci.agents.argument import Argument
from maci.agents.judges.crit import CritScore, JudgeAbstained, ScoreRequest
from maci.agents.judges.reader import assertion, bearing, reader_judges, words
from maci.agents.prompt import quoted, single_line
from maci.calibration.stats import bootstrap_mean, wilson
from maci.cases.case import Case, builtin_cases
from maci.config import Config
from maci.controller.decisions import Finished, Initialized
from maci.debating.loop import debate
from maci.evidence.encode import load_encoder
from maci.evidence.knowledge import builtin_spans
from maci.evidence.span import CASE, Citation, Span
from maci.lab.datasets import load
from maci.llm.usage import Usage
from maci.paths import data_dir
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


class Reserved(Judge):
    """A reader judge that abstains where nothing of a claim is in the cited texts, and nothing in these contradicts it."""

    def __init__(self, judge: Judge) -> None:
        self.name, self.family, self._judge = judge.name, judge.family, judge

    async def score(self, request: ScoreRequest) -> tuple[CritScore, Usage]:
        """The judge's score; an abstention where neither words nor signs can tell."""
        question, argument = request.question, request.argument
        said, spans = (argument.claim, *argument.reasons), [span for span in request.spans if span.source != CASE]
        stated = words(" ".join(map(assertion, said))) - words(f"{question.question} {question.context}")
        if spans and not any(stated & words(span.text) or any(bearing(t, span.text) for t in said) for span in spans):
            raise JudgeAbstained("nothing of the claim is in the cited text")
        return await self._judge.score(request)


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


# --- planted judges -----------------------------------------------------------------------------------------------------------


class Planted(Judge):
    """Scores what it was made to: some skill, some pull towards what the debaters already lead with, some noise."""

    stateless = True

    def __init__(self, gold: str, lead: str, *, skill: float, pull: float, noise: float) -> None:
        self.name, self.family = "planted", "planted"
        self._gold, self._lead, self._skill, self._pull, self._noise = gold, lead, skill, pull, noise

    async def score(self, request: ScoreRequest) -> tuple[CritScore, Usage]:
        """Half the marks, and what else moves this judge."""
        outcome = request.argument.outcome
        drawn = Random(f"{request.question.context}/{request.argument.claim}/{request.argument.reasons}").gauss(0, 1)
        x = 0.5 + self._skill * (1 if outcome == self._gold else -1) + self._pull * (1 if outcome == self._lead else -1)
        x = min(1.0, max(0.0, x + self._noise * drawn))
        return CritScore(evidence=x, logic=x, relevance=x), Usage()


PLANTED: dict[str, dict[str, float]] = {
    "all alike": {"skill": 0.0, "pull": 0.0, "noise": 0.02},
    "says anything": {"skill": 0.0, "pull": 0.0, "noise": 0.2},
    "some skill": {"skill": 0.05, "pull": 0.0, "noise": 0.15},
    "good skill": {"skill": 0.15, "pull": 0.0, "noise": 0.15},
    "a relative without skill": {"skill": 0.0, "pull": 0.15, "noise": 0.15},
    "a relative with some skill": {"skill": 0.05, "pull": 0.15, "noise": 0.15},
    "a relative with good skill": {"skill": 0.15, "pull": 0.15, "noise": 0.15},
}
"""A *relative* shares the debaters' mistakes: it favours what their openings lead with. Skill .05 in noise .15 ranks an argument for
the true outcome above another in 68 of 100 pairs, .15 in 92."""


async def held(panel: ReaderPanel, case: Case, config: Config, judges: Sequence[Judge]) -> tuple[float, float, str]:
    """(right, ln p of the truth, what the openings led with) of a debate."""
    table, lead = replace(panel.table(case), judges=judges), ""
    async for event in debate(opening(case, table, config), table):
        if isinstance(event, Initialized):
            lead = max(event.mixture, key=lambda y: event.mixture[y])
        if isinstance(event, Finished):
            best = max(event.raw, key=lambda y: event.raw[y])
            return float(best == case.gold), float(np.log(max(event.raw[case.gold or ""], 1e-6))), lead
    raise AssertionError("a debate ends with its result")


def planted(limit: int | None) -> None:
    """The table of planted judges against none."""
    encoder = load_encoder("wordllama")
    task = load("symptom2disease", data_dir(None), seed=0, options={"tune": False})
    own = ReaderPanel([Span.of(d.text, d.source, 0, d.label) for d in task.evidence], encoder)
    known = [case for case in builtin_cases().values() if case.gold is not None and case.outcomes.kind == "closed"]
    parts = [(ReaderPanel(builtin_spans(), encoder), known[:limit]), (own, [item.case for item in task.dev][:limit])]
    asked = [(panel, case) for panel, some in parts for case in some]
    nobody = Config().model_copy(update={"crit": Config().crit.model_copy(update={"enabled": False})})
    free = [asyncio.run(held(panel, case, nobody, ())) for panel, case in asked]
    print(f"{len(asked)} debates each; nobody judges: {sum(row[0] for row in free):.0f} right")
    for name, made in PLANTED.items():
        rows = [
            asyncio.run(held(panel, case, Config(), [Planted(case.gold or "", lead, **made)]))
            for (panel, case), (_, _, lead) in zip(asked, free, strict=True)
        ]
        right = [a - b for (a, _, _), (b, _, _) in zip(rows, free, strict=True)]
        sure = [a - b for (_, a, _), (_, b, _) in zip(rows, free, strict=True)]
        gaps = [bootstrap_mean(gap, np.random.default_rng(0)) for gap in (right, sure)]
        said = ", ".join(f"{gap.value:+.3f} [{gap.low:+.3f}, {gap.high:+.3f}]" for gap in gaps)
        print(f"{name:28} {sum(row[0] for row in rows):.0f} right; accuracy and ln p less nobody's: {said}", flush=True)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--half", choices=("dev", "test"), default="dev")
    parser.add_argument("--model")
    parser.add_argument("--reserved", action="store_true")
    parser.add_argument("--limit", type=int, help="so many arguments, evenly spread")
    parser.add_argument("--show", help="list the groups of this kind in which the supported one was not preferred")
    parser.add_argument("--cases", action="store_true")
    parser.add_argument("--planted", action="store_true", help="planted judges against none")
    args = parser.parse_args()
    if args.planted:
        planted(args.limit)
        return
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
            judges = reader_judges(spans, encoder)
            return [Reserved(judge) for judge in judges] if args.reserved else judges

        found = asyncio.run(compare(rows, readers, args.show))
    print(f"{len(rows)} arguments, half {args.half}")
    report(found)
    texts = [
        (text, row["outcomes"])
        for row in rows
        for text in (row["claim"], *(v["text"] for v in row["variants"].values()))
    ]
    cut = sum(quoted(text, outcomes) != single_line(text) for text, outcomes in texts)
    print(f"left out as instructions before a language model judges: something in {cut} of {len(texts)} texts")


if __name__ == "__main__":
    main()
