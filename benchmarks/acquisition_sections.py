"""agentclinic: which sections of a record to reveal, with examination and tests hidden (`bench_acquisition.py agentclinic`).

The source offers the names of its sections; the plan chooses by name, *random* draws one. Revealed one at a time, 1 to 4 of them,
all at the same cost; *none* (0) and *all* are the ends. What the readers know: the name of every diagnosis of the set (closed
outcomes), and what ddxplus, disease_symptom_261 and the built-in knowledge say of those they cover; nothing is known of the others
beyond their names, so accuracy is told for both. ``--stations``: the development stations with their diagnoses besides. Line
*counted*: the plan also counts names of sections in the development stations. Under ``--tune`` the cases are the development
stations, each without its own fifth of them.

Models (``--panel``, ``--agents``) and what single sections are worth (``--why``): acquisition_openings.py.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from bench_acquisition import Drawn, conduct_of, interval, loop, readied
from maci.acquisition.answers import offered
from maci.acquisition.plan import Residual, Survey
from maci.acquisition.sources import Hidden
from maci.agents.library import Library
from maci.cases.case import Case
from maci.cases.outcomes import normal
from maci.config import build, unplanned
from maci.controller.decisions import Finished, Planned, Weighed
from maci.debating.loop import debate
from maci.evidence.encode import Encoder
from maci.evidence.knowledge import builtin_spans, conditions
from maci.evidence.retrieve import CachedEncoder
from maci.evidence.span import Span
from maci.lab.datasets import TaskItem, load
from maci.lab.datasets.clinical import _knowledge
from maci.paths import data_dir
from maci.seating.models import ReaderPanel
from maci.seating.shelf import Sources
from maci.seating.table import opening

_FOLDS = 5
"""Of the development stations under ``--tune``."""


@dataclass
class Course:
    """One line on one case: the place of the truth and its probability after 0, 1, 2, … sections, and which they were."""

    place: list[int]
    truth: list[float]
    asked: list[str]

    def at(self, n: int) -> tuple[float, float, float]:
        """Right, among the first three, probability of the truth."""
        i = min(n, len(self.place) - 1)
        return float(self.place[i] == 0), float(self.place[i] < 3), self.truth[i]


def _knows(folder: Path, labels: Sequence[str], aliases: dict[str, str]) -> Iterator[Span]:
    """The names, and what the other sets say of those they cover."""
    names = {normal(label): label for label in labels} | {normal(a): label for a, label in aliases.items()}
    for label in labels:
        yield Span.of(label, "name", 0, label)
    for name, text in _knowledge(folder):
        if normal(name) in names:
            yield Span.of(f"{name}: {text}", "knowledge", 0, names[normal(name)])


def _station(case: Case) -> tuple[Span, ...]:
    """A station as texts about its diagnosis: what the patient says, what was found."""
    found = "\n".join(f"{name}: {text}" for name, text in case.hidden.items())
    return tuple(Span.of(text, "station", 0, case.gold) for text in (case.context, found) if text)


def whole_of(case: Case) -> Case:
    found = (f"{name}: {text}" for name, text in case.hidden.items())
    return replace(case, context="\n".join((case.context, *found)), hidden={})


def by_section(case: Case) -> Case:
    """Findings joined by the section they stand in: `Physical Examination Findings, Vital Signs`, `Test Results, Chest X-ray`."""
    joined: dict[str, list[str]] = {}
    for name, text in case.hidden.items():
        part, _, rest = name.partition(", ")
        section, _, leaf = rest.partition(", ")
        joined.setdefault(f"{part}, {section}" if section else name, []).append(f"{leaf}: {text}" if leaf else text)
    return replace(case, hidden={name: "; ".join(texts) for name, texts in joined.items()})


async def play(panel: ReaderPanel, case: Case, config: object, seed: int, **others: object) -> Course:
    table = replace(panel.table(case, seed=seed), **others)
    course, mixture = Course([], [], []), dict[str, float]()

    def note(p: dict[str, float]) -> None:
        course.place.append(sum(x > p[case.gold] for x in p.values()))
        course.truth.append(p[case.gold])

    async for event in debate(opening(case, table, config, seed=seed), table):
        match event:
            case Weighed():
                mixture = dict(event.mixture)
            case Planned() if event.acquire:
                note(mixture)
                course.asked += [item.subject for item in event.items if item.id in event.acquire]
            case Finished():
                note(dict(event.raw))
    return course


class SectionsOnly:
    """The plan's choice among the source's sections, which are all that can be revealed here; else it weighs questions too."""

    def __init__(self, library: Library) -> None:
        self._library = library

    def survey(self, residual: Residual) -> Survey:
        sections = offered(residual.menu, residual, self._library)
        return Survey(candidates=sections, considered=len(sections))


@dataclass
class Found:
    case: Case
    covered: str
    """stations, knowledge, or nothing but the name."""
    lines: dict[str, list[Course]]


class Bench:
    """The cases, and what is known to readers."""

    def __init__(self, options: argparse.Namespace, encoder: CachedEncoder) -> None:
        self.options, self.encoder = options, encoder
        folder = data_dir(options.data)
        task = load("agentclinic", folder, options={"outcomes": "closed"})
        self.dev = list(task.dev)
        self.items = (self.dev if options.tune else list(task.test))[: options.limit]
        space = task.test[0].case.outcomes
        self.facts = tuple(_knows(folder, space.labels, dict(space.aliases)))
        names = {normal(label): label for label in space.labels} | {normal(a): y for a, y in space.aliases.items()}
        self.known = {s.label for s in self.facts if s.source == "knowledge"}
        self.known |= {
            names[normal(name)] for c in conditions() for name in (c.name, *c.aliases) if normal(name) in names
        }
        self._fold = {item.id: number % _FOLDS for number, item in enumerate(self.dev)}
        self._proposers: dict[int | None, SectionsOnly] = {}
        self._panels: dict[int | None, ReaderPanel] = {}

    def stations(self, item: TaskItem) -> list[Case]:
        """Stations that may be known when a case is debated: those of development, without the case's own fold."""
        own = self._fold.get(item.id)
        return [other.case for other in self.dev if self._fold[other.id] != own]

    def panel(self, item: TaskItem) -> ReaderPanel:
        texts = [span for case in self.stations(item) for span in _station(case)] if self.options.stations else []
        own = self._fold.get(item.id) if texts else None
        if own not in self._panels:
            sources = Sources(corpus=(*self.facts, *texts), background=builtin_spans())
            self._panels[own] = ReaderPanel(sources, self.encoder, conduct=conduct_of(self.options))
        return self._panels[own]

    def proposer(self, item: TaskItem, encoder: Encoder) -> SectionsOnly:
        """One that counts names of sections in labelled stations besides."""
        own = self._fold.get(item.id)
        if own not in self._proposers:
            space = item.case.outcomes
            texts = [span for case in self.stations(item) for span in _station(case)]
            spans = (*self.facts, *texts, *builtin_spans())
            self._proposers[own] = SectionsOnly(Library(spans, space.labels, encoder, space.aliases))
        return self._proposers[own]

    def covered(self, item: TaskItem) -> str:
        if self.options.stations and any(case.gold == item.case.gold for case in self.stations(item)):
            return "stations"
        return "knowledge" if item.case.gold in self.known else "name only"

    async def one(self, item: TaskItem, more: dict[str, str]) -> Found:
        case = item.case if self.options.leaves else by_section(item.case)
        panel, n = self.panel(item), self.options.questions
        config = loop(n, True, {"plan.costs": "test=1", "budget.tokens": str(10**8), **more})
        source = Hidden(case.hidden, panel.table(case).encoder)
        menu = SectionsOnly(panel._books.about(case).library)
        lines: dict[str, list[Course]] = {"plan": [await play(panel, case, config, 0, source=source, proposer=menu)]}
        if "counted" in self.options.lines.split(","):
            others = {"source": source, "proposer": self.proposer(item, panel.table(case).encoder)}
            lines["counted"] = [await play(panel, case, config, 0, **others)]
        number = int(case.id.encode().hex()[:12], 16)
        lines["random"] = [
            await play(
                panel, case, config, 0, source=source,
                proposer=Drawn(source.menu(), np.random.default_rng([draw, number]), kind="test"),
            )
            for draw in range(self.options.draws)
        ]  # fmt: skip
        lines["all"] = [
            await play(panel, whole_of(case), unplanned(build("default", {"budget.tokens": str(10**8), **more})), 0)
        ]
        return Found(case, self.covered(item), lines)


def _share(options: argparse.Namespace, number: int) -> list[Found]:
    """One process's cases."""
    encoder, more = readied(options)
    bench = Bench(options, encoder)

    async def everything() -> list[Found]:
        return [await bench.one(item, more) for item in bench.items[number :: options.jobs]]

    return asyncio.run(everything())


def agentclinic(options: argparse.Namespace) -> dict[str, object]:
    with ProcessPoolExecutor(options.jobs) as pool:
        shares = list(pool.map(_share, [options] * options.jobs, range(options.jobs)))
    found = [f for share in shares for f in share]
    parts = {"all cases": found} | {
        part: [f for f in found if f.covered == part] for part in ("stations", "knowledge", "name only")
    }
    told: dict[str, object] = {
        "cases": len(found),
        "sections_per_case": float(np.mean([len(f.case.hidden) for f in found])),
        "asked_by_plan": float(np.mean([len(f.lines["plan"][0].asked) for f in found])),
    }
    for name, part in parts.items():
        if part:
            told[f"{name} ({len(part)})"] = table(part, options.questions)
    return told


def table(found: Sequence[Found], n: int) -> dict[str, object]:
    """Accuracy, accuracy of the first three, probability of the truth; each line, and the plan less random."""

    def line(name: str, measure: int, q: int) -> np.ndarray:
        return np.array([np.mean([course.at(q)[measure] for course in f.lines[name]]) for f in found])

    told: dict[str, object] = {}
    names = [name for name in found[0].lines if name != "all"]
    for measure, title in enumerate(("accuracy", "among the first three", "p of the truth")):
        told[title] = {
            **{name: [interval(line(name, measure, q)) for q in range(n + 1)] for name in names},
            **{
                f"{name} - random": [
                    interval(line(name, measure, q) - line("random", measure, q)) for q in range(1, n + 1)
                ]
                for name in names
                if name != "random"
            },
            "all revealed": interval(line("all", measure, 0)),
        }
    return told
