"""The report of a long debate: how large it is, how long it takes to write and to open in Chromium.

    python benchmarks/bench_report.py [--json] [--keep FILE]

Ten rounds, five agents with three arguments each and a quote in every citation, three judges with justifications. Opening is from
navigation to the end of layout (two animation frames after `load`), the median of nine new pages; where no Chromium is found it
is left out. The goal (issue 08): under a second, under 3 MB.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter

from maci.agents.agent import FunctionAgent, FunctionJudge
from maci.agents.anchor import TurnRequest
from maci.agents.argument import Argument, Turn
from maci.agents.judges.crit import CritScore
from maci.cases.case import Case, Document
from maci.cases.outcomes import OutcomeSpace
from maci.config import build
from maci.controller.events import Event
from maci.debating.api import run
from maci.evidence.span import Citation
from maci.llm.usage import Usage
from maci.story import Story
from maci.story.report.page import to_html

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from hash_encoder import HashEncoder

ROUNDS, AGENTS, ARGUMENTS, SPANS, LABELS = 10, 5, 3, 40, 12
TEXT = "the pump failed after a cold night because its seal had cracked and nobody had looked at it since spring"
WORDS = TEXT.split()


def sentence(seed: int, n: int) -> str:
    """So many words, others for another seed."""
    return " ".join(WORDS[(seed * 7 + i * (1 + seed % 5)) % len(WORDS)] for i in range(n)).capitalize() + "."


def speaker(number: int) -> FunctionAgent:
    """Argues at length, and never quite agrees."""
    labels = [f"cause {i}" for i in range(LABELS)]

    def reply(request: TurnRequest) -> Turn:
        t, lead = request.round, (number + request.round) % LABELS
        belief = {label: 0.5 if i == lead else 0.5 / (LABELS - 1) for i, label in enumerate(labels)}
        said = []
        for i in range(ARGUMENTS):
            span = (number * 7 + t * 3 + i) % SPANS
            reasons = tuple(sentence(t * 31 + number * 5 + i + k, 24) for k in range(3))
            quote = " ".join(sentence(span, 60).split()[5:18])
            cited = (Citation(f"e{span}", quote), Citation(f"e{(span + 1) % SPANS}"))
            claim = sentence(t * 13 + number * 3 + i, 16)
            said.append(
                Argument(
                    claim=claim, reasons=reasons, opposing=(sentence(t, 15),), citations=cited, outcome=labels[lead]
                )
            )
        return Turn(
            belief=belief, arguments=tuple(said), usage=Usage(prompt=2400, generated=420, usd=0.003, seconds=2.1)
        )

    return FunctionAgent(f"agent-{number}", reply, family=f"family-{number}")


def long_debate() -> list[Event]:
    """Ten rounds of five agents."""
    evidence = tuple(Document(sentence(i, 60), f"log of day {i}", f"e{i}") for i in range(SPANS))
    labels = tuple(f"cause {i}" for i in range(LABELS))
    case = Case(
        question="Why did the pump fail?",
        outcomes=OutcomeSpace(labels=labels),
        context=sentence(3, 80),
        evidence=evidence,
    )
    rules = {
        "stop.max_rounds": ROUNDS, "stop.consensus": False, "stop.impasse": False, "stop.crit_stable": False,
        "stop.d_max": 0.0, "gate.tau_q": 0.0, "gate.tau_crit": 0.0, "budget.tokens": 10_000_000,
    }  # fmt: skip
    why = sentence(9, 30)

    def judged(_: object) -> CritScore:
        return CritScore(evidence=0.8, logic=0.7, relevance=0.9, justification=why)

    judges = [FunctionJudge(f"judge-{i}", judged) for i in range(3)]
    happened: list[Event] = []
    found = run(
        case, [speaker(i) for i in range(AGENTS)], judges, config=build("default", rules), encoder=HashEncoder(),
        watch=happened.append,
    )  # fmt: skip
    assert found.rounds == ROUNDS, found.stop_reason
    return happened


def opening(page: Path) -> float | None:
    """Seconds until a new browser page is laid out; the median of nine."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        return None
    from playwright.sync_api import sync_playwright

    laid_out = (
        "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now()))))"
    )
    with sync_playwright() as play:
        chromium = play.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        times = []
        for _ in range(9):
            tab = chromium.new_page()
            tab.goto(page.as_uri())
            times.append(tab.evaluate(laid_out) / 1000)
            tab.close()
        chromium.close()
    return median(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--keep", type=Path, help="write the page here")
    options = parser.parse_args()
    happened = long_debate()
    began = perf_counter()
    story = Story.of(happened)
    told = perf_counter()
    page = to_html(story)
    written = perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        file = options.keep.resolve() if options.keep else Path(folder) / "report.html"
        file.write_text(page, encoding="utf-8")
        opened = opening(file)
    found = {
        "events": len(happened),
        "arguments": len(story.said),
        "bytes": len(page.encode()),
        "story_seconds": round(told - began, 3),
        "write_seconds": round(written - told, 3),
        "open_seconds": None if opened is None else round(opened, 3),
    }
    if options.json:
        print(json.dumps(found))
        return
    print(f"{found['events']} events, {found['arguments']} arguments: {found['bytes'] / 1e6:.2f} MB")
    print(f"told in {found['story_seconds']:.2f} s, written in {found['write_seconds']:.2f} s")
    print(
        "no Chromium: opening was not measured"
        if opened is None
        else f"open in Chromium after {opened:.2f} s (median of 9)"
    )


if __name__ == "__main__":
    main()
