"""covid_claims: closed-loop retrieval with the evidence gate and without it (`bench_acquisition.py covid`).

A claim is debated by the readers, who know the passages of other claims labelled by whether those were true. Passages about the
claim are what the loop has to find, in the pool of all passages of the claims under test (page loads that failed among them). Lines:
*gate*, passages must reach τ_Q (`plan.gate`); *no gate*, all that was found is read; the debate without retrieval is their start;
*own* is told the claim's first own passages that loaded, as many as could be found. Library: the development claims; under
``--tune`` the cases are those, in three folds.
"""

from __future__ import annotations

import argparse
import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from bench_acquisition import conduct_of, interval, loop, readied
from maci.acquisition.sources.corpus import CorpusSource
from maci.case.case import Case
from maci.case.datasets import Item, data_folder, load
from maci.config import Config, build, unplanned
from maci.controller.decisions import Dialled, Finished, Initialized, Planned, Weighed
from maci.controller.inputs import Acquired, Retrieved, unpack
from maci.debate import debate
from maci.evidence.span import Span
from maci.moderator.signals import evidence_qualities
from maci.panel.readers import ReaderPanel
from maci.run import opening

_FOLDS = 3
_FAILED = re.compile(
    r"error message|something went wrong|no content provided|not sufficient for me|access to .{0,60}(?:denied|restricted)"
    r"|technical issue preventing access|403 forbidden|could you please provide",
    re.IGNORECASE,
)
"""How the summaries of pages that did not load begin."""


@dataclass
class Course:
    truth: list[float] = field(default_factory=list)
    """Probability of the truth after 0, 1, 2, … retrievals."""
    found: list[tuple[str, bool]] = field(default_factory=list)
    """Passages: id, and whether they fit the case as the gate sees it."""

    def right(self, n: int) -> float:
        p = self.truth[min(n, len(self.truth) - 1)]
        return 0.5 if abs(p - 0.5) < 1e-9 else float(p > 0.5)


def passages(item: Item, label: str | None = None) -> list[Span]:
    return [Span.of(d.text, d.source, 0, label) for d in item.case.evidence]


async def play(panel: ReaderPanel, case: Case, config: Config, **others: object) -> Course:
    table = replace(panel.table(case), **others)
    course, now, theta, tau = Course(), 0.5, None, 0.0
    async for event in debate(opening(case, table, config), table):
        match event:
            case Retrieved():
                theta = unpack(event.theta)
            case Initialized() | Dialled():
                tau = event.dials.tau_q
            case Weighed():
                now = event.mixture[case.gold]
            case Planned() if event.acquire:
                course.truth.append(now)
            case Acquired():
                fit = evidence_qualities([[unpack(event.vectors[s.id])] for s in event.spans], theta)
                course.found += [(s.id, q is not None and q >= tau) for s, q in zip(event.spans, fit, strict=True)]
            case Finished():
                course.truth.append(event.raw[case.gold])
    return course


def covid(options: argparse.Namespace) -> dict[str, object]:
    encoder, more = readied(options)
    task, n = load("covid_claims", data_folder(options.data)), options.questions
    dev = [(number % _FOLDS, item) for number, item in enumerate(task.dev)]
    folds = (
        [([i for f, i in dev if f != fold], [i for f, i in dev if f == fold]) for fold in range(_FOLDS)]
        if options.tune
        else [(list(task.dev), list(task.test))]
    )
    lines: dict[str, list[Course]] = {"gate": [], "no gate": [], "own": []}
    kept: list[tuple[bool, bool, bool]] = []

    async def fold(known: Sequence[Item], asked: Sequence[Item]) -> None:
        library = [span for item in known for span in passages(item, item.case.gold)]
        panel = ReaderPanel(library, encoder, conduct=conduct_of(options))
        pool = {span.id: (span, item.id) for item in asked for span in passages(item)}
        for item in asked[: options.limit]:
            case = replace(item.case, evidence=())
            for name in ("gate", "no gate"):
                source = CorpusSource([s for s, _ in pool.values()], panel.table(case).encoder, k=options.passages)
                sets = {**_COSTS, "plan.gate": "true" if name == "gate" else "false", **more}
                course = await play(panel, case, loop(n, True, sets), source=source)
                lines[name].append(course)
                if name == "no gate":
                    kept.extend((fits, pool[i][1] == item.id, failed(pool[i][0])) for i, fits in course.found)
            own = [s.text for s in passages(item) if not failed(s)][: n * options.passages]
            told = replace(case, context="\n".join((case.question, *own)))
            lines["own"].append(await play(panel, told, unplanned(build("default", {**_COSTS, **more}))))

    for known, asked in folds:
        asyncio.run(fold(known, asked))
    return summary(lines, kept, n)


_COSTS = {"budget.tokens": str(10**8)}


def failed(span: Span) -> bool:
    """Whether a passage only says that its page did not load."""
    return _FAILED.search(span.text) is not None


def summary(lines: dict[str, list[Course]], kept: Sequence[tuple[bool, bool, bool]], n: int) -> dict[str, object]:
    def right(name: str, q: int) -> np.ndarray:
        return np.array([course.right(q) for course in lines[name]])

    def truth(name: str, q: int) -> np.ndarray:
        return np.array([course.truth[min(q, len(course.truth) - 1)] for course in lines[name]])

    def share(rows: Sequence[bool]) -> float:
        return float(np.mean(rows)) if rows else float("nan")

    looked = range(n + 1)
    return {
        "claims": len(lines["gate"]),
        "retrievals_with_gate": float(np.mean([len(course.truth) - 1 for course in lines["gate"]])),
        "accuracy": {name: [interval(right(name, q)) for q in looked] for name in ("gate", "no gate")},
        "told its own passages": interval(right("own", 0)),
        "accuracy, gate - no gate": [interval(right("gate", q) - right("no gate", q)) for q in looked],
        "p of the truth": {name: [interval(truth(name, q)) for q in looked] for name in ("gate", "no gate")},
        "p of the truth, gate - no gate": [interval(truth("gate", q) - truth("no gate", q)) for q in looked],
        "passages found": len(kept),
        "of them about the claim": share([own for _, own, _ in kept]),
        "of them failed page loads": share([bad for _, _, bad in kept]),
        "pass the gate: about the claim": share([fits for fits, own, bad in kept if own and not bad]),
        "pass the gate: about others": share([fits for fits, own, bad in kept if not own and not bad]),
        "pass the gate: failed loads": share([fits for fits, _, bad in kept if bad]),
    }
