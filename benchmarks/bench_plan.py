"""What a plan costs: milliseconds to look for what could be found out and to weigh it, beside the debate it ends.

    python benchmarks/bench_plan.py [--repeat 30] [--json]

41 outcomes and 131 findings, as in the larger symptom lists people publish, made up here: every outcome has eight findings of its own
draw and four lists that each leave some out. *survey* is the search for candidates, *weigh* the plan made of them (ranking, batch,
what each answer would do), *open* what is done once for a corpus. A debate of the embedded readers on such a case is timed beside it.
Medians of CPU time, so that others on the machine count less (OMP_NUM_THREADS=1); the first of each is not counted.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Callable
from statistics import median
from time import process_time

import numpy as np

from maci.acquisition.plan import Residual, make_plan
from maci.acquisition.proposals import Surveyor
from maci.agents.library import Library
from maci.cases.case import Case, Document
from maci.cases.outcomes import OutcomeSpace
from maci.config import Config, unplanned
from maci.debating.loop import debate
from maci.evidence.encode import load_encoder
from maci.evidence.retrieve import CachedEncoder
from maci.evidence.span import Span
from maci.seating.models import ReaderPanel
from maci.seating.table import opening

OUTCOMES, FINDINGS, EACH, LISTS = 41, 131, 8, 4


def texts(rng: np.random.Generator) -> list[tuple[str, str]]:
    """(list of findings, outcome)."""
    syllables = ["ba", "de", "fi", "go", "ku", "la", "me", "ni", "po", "ru", "sa", "ti", "vo", "zu"]
    words = [a + b + c for a in syllables for b in syllables for c in "nrst"]
    names = [f"{words[2 * i]} {words[2 * i + 1]}" for i in rng.permutation(len(words) // 2)[:FINDINGS]]
    made = []
    drawn = [
        names[i] for _ in range(1 + OUTCOMES * EACH // FINDINGS) for i in rng.permutation(FINDINGS)
    ]  # each at least once
    for y in range(OUTCOMES):
        own = drawn[EACH * y : EACH * (y + 1)]
        made += [(", ".join(x for x in own if rng.random() > 0.15), f"condition {y}") for _ in range(LISTS)]
    return made


def timed(what: Callable[[], object], repeat: int) -> float:
    """Milliseconds of CPU, the median."""
    what()
    took = []
    for _ in range(repeat):
        began = process_time()
        what()
        took.append(1000 * (process_time() - began))
    return median(took)


def measure(repeat: int) -> dict[str, float]:
    rng = np.random.default_rng(1)
    made, encoder = texts(rng), CachedEncoder(load_encoder(), None)
    spans = [Span.of(text, "lists", 0, label) for text, label in made]
    labels = tuple(f"condition {y}" for y in range(OUTCOMES))
    library = Library(spans, labels, encoder)
    shown = made[0][0].split(", ")[:2]
    residual = Residual(
        question="What is it?",
        text=", ".join(shown),
        labels=labels,
        p=tuple(rng.dirichlet(np.full(OUTCOMES, 0.3)).tolist()),
    )
    surveyor = Surveyor(library, encoder)
    candidates, p = surveyor.survey(residual).candidates, np.array(residual.p)
    case = Case(
        question=residual.question, context=residual.text, outcomes=OutcomeSpace(labels=labels),
        evidence=tuple(Document(text, label=label) for text, label in made),
    )  # fmt: skip
    panel = ReaderPanel([Span.of(d.text, d.source, 0, d.label) for d in case.evidence], encoder)
    bare = Case(question=case.question, context=case.context, outcomes=case.outcomes)

    def play(config: Config) -> object:
        async def run() -> int:
            table = panel.table(bare)
            return len([e async for e in debate(opening(bare, table, config), table)])

        return asyncio.run(run())

    found = {
        "open_ms": timed(lambda: Surveyor(library, encoder), max(3, repeat // 10)),
        "survey_ms": timed(lambda: surveyor.survey(residual), repeat),
        "weigh_ms": timed(lambda: make_plan(labels, p, candidates), repeat),
        "debate_ms": timed(lambda: play(unplanned(Config())), max(3, repeat // 10)),
    }
    found["plan_ms"] = found["survey_ms"] + found["weigh_ms"]
    found["share_of_a_debate"] = found["plan_ms"] / (found["plan_ms"] + found["debate_ms"])
    found["findings"] = len(surveyor.features.all) if surveyor.features is not None else 0
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=30)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = measure(options.repeat)
    if options.json:
        print(json.dumps(found))
        return
    print(f"{OUTCOMES} outcomes, {found['findings']:.0f} findings")
    for name in ("open_ms", "survey_ms", "weigh_ms", "plan_ms", "debate_ms"):
        print(f"{name.removesuffix('_ms'):8} {found[name]:8.2f} ms")
    print(f"the plan is {100 * found['share_of_a_debate']:.1f} % of debate and plan")


if __name__ == "__main__":
    main()
