"""covid_claims: closed-loop retrieval with the evidence gate and without it (`bench_acquisition.py covid`).

A claim is debated by the readers, who know the passages of other claims labelled by whether those were true. Passages about the
claim are what the loop has to find, in the pool of all passages of the claims under test (page loads that failed among them). Lines:
*gate*, passages must reach τ_Q (`plan.gate`); *no gate*, all that was found is read; the debate without retrieval is their start;
*own* is told the claim's first own passages that loaded, as many as could be found. A claim's seeds are averaged. Library: the
development claims; under ``--tune`` the cases are those, in three folds. ``--panel``/``--agents``: models debate instead, who know
nothing but what is found; *own* with ``--ends`` only.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace

import numpy as np

from acquisition_openings import asked
from bench_acquisition import conduct_of, interval, loop, readied
from maci.acquisition.sources import CorpusSource
from maci.calibration.profile import fit_bias
from maci.cases.case import Case, Document
from maci.config import Config, build, unplanned
from maci.controller.acquiring import fit_for
from maci.controller.decisions import Dialled, Finished, Initialized, Planned, Weighed
from maci.controller.inputs import Acquired, Retrieved, unpack
from maci.debating.loop import debate
from maci.evidence.span import Span
from maci.lab.datasets import TaskItem, load
from maci.moderator.belief import lean
from maci.moderator.signals import evidence_qualities
from maci.paths import data_dir
from maci.seating.models import ModelPanel, ReaderPanel
from maci.seating.shelf import Sources
from maci.seating.table import opening

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
    tokens: int = 0

    def right(self, n: int) -> float:
        p = self.truth[min(n, len(self.truth) - 1)]
        return 0.5 if abs(p - 0.5) < 1e-9 else float(p > 0.5)


@dataclass(frozen=True)
class Found:
    """A passage that a retrieval found."""

    claim: str
    fits: bool
    """It reaches τ_Q."""
    own: bool
    """It is one of the claim's own passages."""
    bad: bool
    """Its page did not load."""

    @property
    def useful(self) -> bool:
        return self.own and not self.bad


def passages(item: TaskItem, label: str | None = None) -> list[Span]:
    return [Span.of(d.text, d.source, 0, label) for d in item.case.evidence]


async def play(panel: ReaderPanel, case: Case, config: Config, seed: int, **others: object) -> Course:
    table = replace(panel.table(case, seed=seed), **others)
    course, now, theta, tau = Course(), 0.5, None, 0.0
    async for event in debate(opening(case, table, config, seed=seed), table):
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
                least = fit_for(tau, fit, config)
                course.found += [(s.id, q is not None and q >= least) for s, q in zip(event.spans, fit, strict=True)]
            case Finished():
                course.truth.append(event.raw[case.gold])
                course.tokens = event.tokens
    return course


def covid(options: argparse.Namespace) -> dict[str, object]:
    task = load("covid_claims", data_dir(options.data))
    dev = [(number % _FOLDS, item) for number, item in enumerate(task.dev)]
    folds = (
        [([i for f, i in dev if f != fold], [i for f, i in dev if f == fold]) for fold in range(_FOLDS)]
        if options.tune
        else [(list(task.dev), list(task.test))]
    )
    seeds = list(map(int, options.seeds.split(",")))
    with ProcessPoolExecutor(options.jobs) as pool:
        told = list(pool.map(_of_seed, [options] * len(seeds), [folds] * len(seeds), seeds))
    lines = {name: [list(claim) for claim in zip(*(found[name] for found, _ in told), strict=True)] for name in _LINES}
    return summary(lines, [row for _, kept in told for row in kept], options.questions)


def _of_seed(
    options: argparse.Namespace, folds: Sequence[tuple[list[TaskItem], list[TaskItem]]], seed: int
) -> tuple[dict[str, list[Course]], list[Found]]:
    """Every claim debated once: which reader holds which passages is the seed's."""
    encoder, more = readied(options)
    n = options.questions
    lines: dict[str, list[Course]] = {name: [] for name in _LINES}
    kept: list[Found] = []

    async def fold(known: Sequence[TaskItem], tested: Sequence[TaskItem]) -> None:
        library = [span for item in known for span in passages(item, item.case.gold)]
        panel = ReaderPanel(library, encoder, conduct=conduct_of(options))
        pool = {span.id: (span, item.id) for item in tested for span in passages(item)}
        for item in tested[: options.limit]:
            case = replace(item.case, evidence=())
            for name in ("gate", "no gate"):
                source = CorpusSource([s for s, _ in pool.values()], panel.table(case).encoder, k=options.passages)
                sets = {**_COSTS, "plan.gate": "true" if name == "gate" else "false", **more}
                course = await play(panel, case, loop(n, True, sets), seed, source=source)
                lines[name].append(course)
                if name == "no gate":
                    kept.extend(
                        Found(item.id, fits, pool[i][1] == item.id, failed(pool[i][0])) for i, fits in course.found
                    )
            own = [s.text for s in passages(item) if not failed(s)][: n * options.passages]
            told = replace(case, context="\n".join((case.question, *own)))
            lines["own"].append(await play(panel, told, unplanned(build("default", {**_COSTS, **more})), seed))

    for known, tested in folds:
        asyncio.run(fold(known, tested))
    return lines, kept


def models(options: argparse.Namespace) -> dict[str, object]:
    """The same loop with a panel of models, who know nothing but what is found.

    *half* has no gate either and looks up half as many passages: about as many as the gate leaves to be read, and so as dear.
    How far they favour "true" whatever they read (`calibration.bias`) is learnt on the development claims, for each line its own; under
    ``--tune`` on those of the other folds.
    """
    encoder, more = readied(options)
    task = load("covid_claims", data_dir(options.data))
    n, k = options.questions, options.passages
    spec, house = asked(options)

    def setting(sets: dict[str, str]) -> tuple[ModelPanel, Config]:
        config = loop(n, True, {**_COSTS, "crit.enabled": "false", "evidence.k_ret": str(n * k), **sets, **more})
        return ModelPanel(spec, Sources(corpus=(), background=()), encoder, house, config), config

    async def courses(items: Sequence[TaskItem]) -> tuple[dict[str, list[Course]], list[Found]]:
        pool = {span.id: (span, item.id) for item in items for span in passages(item)}
        lines: dict[str, list[Course]] = {name: [] for name in (*_LINES, "half")}
        kept: list[Found] = []
        for item in items[: options.limit]:
            case = replace(item.case, evidence=())
            for name in ("gate", "no gate", "half"):
                panel, config = setting({"plan.gate": "true" if name == "gate" else "false"})
                source = CorpusSource([span for span, _ in pool.values()], encoder, k=k // 2 if name == "half" else k)
                lines[name].append(await play(panel, case, config, 0, source=source))
            found = lines["no gate"][-1].found
            kept += [Found(item.id, fits, pool[i][1] == item.id, failed(pool[i][0])) for i, fits in found]
            own = [span for span in passages(item) if not failed(span)][: k if options.ends else 0]
            told = tuple(Document(text=span.text, source=span.source, id=span.id) for span in own)
            panel, config = setting({})
            lines["own"].append(await play(panel, replace(case, evidence=told), unplanned(config), 0))
            now = {name: round(line[-1].truth[-1], 3) for name, line in lines.items()}
            print(item.id, now, f"{sum(fits for _, fits in found)}/{len(found)} fit", file=sys.stderr, flush=True)
        return lines, kept

    async def everything() -> tuple[dict[str, list[Course]], dict[str, list[Course]], list[Found]]:
        async with house:
            known, kept = await courses(task.dev)
            if options.tune:
                return known, known, kept
            lines, kept = await courses(task.test)
            return known, lines, kept

    known, lines, kept = asyncio.run(everything())
    taught, tested = (
        [item.case.gold for item in items][: options.limit]
        for items in (task.dev, task.dev if options.tune else task.test)
    )
    lines = {name: unbiased(line, tested, known[name], taught, options.tune) for name, line in lines.items()}
    p = {name: np.array([course.truth[-1] for course in line]) for name, line in lines.items()}
    right = {name: np.array([course.right(n) for course in line]) for name, line in lines.items()}
    told = summary({name: [[course] for course in line] for name, line in lines.items()}, kept, n)
    if not options.ends:
        del told["told its own passages"]
    return {
        **told,
        "half as many, no gate": {"accuracy": interval(right["half"]), "p of the truth": interval(p["half"])},
        "gate - half": {
            "accuracy": interval(right["gate"] - right["half"]),
            "p of the truth": interval(p["gate"] - p["half"]),
        },
        "tokens": {name: float(np.mean([course.tokens for course in line])) for name, line in lines.items()},
    }


def unbiased(
    line: Sequence[Course], golds: Sequence[str], known: Sequence[Course], taught: Sequence[str], tune: bool
) -> list[Course]:
    """The courses of a line without what its agents favour anyway, by the courses of development claims."""
    ends = [_both(course, gold) for course, gold in zip(known, taught, strict=True)]
    found = []
    for i, (course, gold) in enumerate(zip(line, golds, strict=True)):
        others = [j for j in range(len(ends)) if not (tune and j % _FOLDS == i % _FOLDS)]
        bias = fit_bias([ends[j] for j in others], [_LABELS.index(taught[j]) for j in others])
        p = float(lean(_both(course, gold), bias)[_LABELS.index(gold)])
        found.append(replace(course, truth=[*course.truth[:-1], p]))
    return found


def _both(course: Course, gold: str) -> np.ndarray:
    """The last belief, over true and false."""
    p = course.truth[-1]
    return np.array([p, 1 - p] if gold == _LABELS[0] else [1 - p, p])


_LABELS = ("true", "false")
_COSTS = {"budget.tokens": str(10**8)}
_LINES = ("gate", "no gate", "own")


def failed(span: Span) -> bool:
    """Whether a passage only says that its page did not load."""
    return _FAILED.search(span.text) is not None


def summary(lines: dict[str, list[list[Course]]], kept: Sequence[Found], n: int) -> dict[str, object]:
    def right(name: str, q: int) -> np.ndarray:
        return np.array([np.mean([course.right(q) for course in claim]) for claim in lines[name]])

    def truth(name: str, q: int) -> np.ndarray:
        return np.array([np.mean([c.truth[min(q, len(c.truth) - 1)] for c in claim]) for claim in lines[name]])

    looked = range(n + 1)
    return {
        "claims": len(lines["gate"]),
        "retrievals_with_gate": float(np.mean([len(course.truth) - 1 for claim in lines["gate"] for course in claim])),
        "accuracy": {name: [interval(right(name, q)) for q in looked] for name in ("gate", "no gate")},
        "told its own passages": interval(right("own", 0)),
        "accuracy, gate - no gate": [interval(right("gate", q) - right("no gate", q)) for q in looked],
        "p of the truth": {name: [interval(truth(name, q)) for q in looked] for name in ("gate", "no gate")},
        "p of the truth, gate - no gate": [interval(truth("gate", q) - truth("no gate", q)) for q in looked],
        **gate_figures(kept),
    }


def gate_figures(kept: Sequence[Found]) -> dict[str, object]:
    """What was found, what of it the gate lets in, and how much of what is then read is about the claim."""

    def share(rows: Sequence[bool]) -> float:
        return float(np.mean(rows)) if rows else float("nan")

    by_claim: dict[str, list[Found]] = {}
    for one in kept:
        by_claim.setdefault(one.claim, []).append(one)
    without = np.array([share([one.useful for one in found]) for found in by_claim.values()])
    gated = np.array([share([one.useful for one in found if one.fits]) for found in by_claim.values()])
    both = np.isfinite(gated)
    return {
        "passages found": len(kept),
        "of them about the claim": share([one.own for one in kept]),
        "of them failed page loads": share([one.bad for one in kept]),
        "pass the gate: about the claim": share([one.fits for one in kept if one.useful]),
        "pass the gate: about others": share([one.fits for one in kept if not one.own and not one.bad]),
        "pass the gate: failed loads": share([one.fits for one in kept if one.bad]),
        "of what is read, about the claim and loaded": {
            "gate": interval(gated[both]),
            "no gate": interval(without[both]),
            "gate - no gate": interval((gated - without)[both]),
            "claims for which the gate lets nothing in": int((~both).sum()),
        },
    }
