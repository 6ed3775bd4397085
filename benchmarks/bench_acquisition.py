"""Does finding things out by plan pay? Closed-loop debates of the embedded readers on public data.

    python benchmarks/bench_acquisition.py kaggle [--data DIR] [--seeds 0,1,2] [--questions 12] [--jobs 2] [--plot FILE.svg]
                                                  [--tune] [--limit N] [--json]

mentions: where the words of counted phrases stand in development texts (acquisition_mentions.py).

kaggle: symptom lists, distinct cases; 2 symptoms are shown, the rest is withheld and answers questions ("present" if it is withheld,
"absent" if it is not in the case's list). Lines: *plan* asks the best item of the plan; *random* one drawn from all symptoms not yet
asked; *oracle* always reveals one that is present. Everybody debates in the same loop; only who proposes differs. *full* debates with
all symptoms shown. T of the calibrated mixture is fitted to the development cases of each seed. A debate that asks no more keeps its
last answer. Intervals: 95 % percentile bootstrap over distinct test cases (a case's seeds averaged first), 10,000 resamples, seed 0.
``--tune``: development texts only, other seeds.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from maci.acquisition import features
from maci.acquisition.plan import Kind, Proposal, Residual, Survey, proposal_id
from maci.acquisition.sources import Hidden
from maci.agents.reader import Conduct
from maci.calibration.temperature import fit_temperature
from maci.cases.case import Case
from maci.config import Config, build, unplanned
from maci.controller.decisions import Finished, Gained, Planned, Weighed
from maci.debating.loop import debate
from maci.evidence.encode import load_encoder
from maci.evidence.lexical import terms
from maci.evidence.retrieve import CachedEncoder
from maci.evidence.span import Span
from maci.lab.datasets import Task, TaskItem, load
from maci.paths import data_dir
from maci.seating.models import ReaderPanel
from maci.seating.table import opening


class Drawn:
    """Proposes one thing drawn from a list, whatever it is worth: the loop asks it."""

    def __init__(self, subjects: Sequence[str], rng: np.random.Generator, kind: Kind = "question") -> None:
        self._kind = kind
        self._left = [subjects[i] for i in rng.permutation(len(subjects))]

    def survey(self, residual: Residual) -> Survey:
        known = set(terms(residual.text))
        while self._left:
            subject = self._left.pop()
            if subject not in residual.asked and (subject in residual.menu or not known.issuperset(terms(subject))):
                break
        else:
            return Survey(candidates=(), considered=0)
        lead = residual.labels[int(np.argmax(residual.p))]  # a table that is sure to be worth something
        one = Proposal(
            id=proposal_id(subject),
            kind=self._kind,
            text=f"Any sign of {subject}?",
            subject=subject,
            table={lead: (0.9, 0.1)},
            otherwise=(0.1, 0.9),
        )
        return Survey(candidates=(one,), considered=1)


@dataclass
class Course:
    """One debate: the answer after 0, 1, 2, … questions."""

    right: list[bool] = field(default_factory=list)
    gains: list[tuple[float, float]] = field(default_factory=list)
    """(predicted, realised) bits."""
    rounds: int = 0

    def after(self, n: int) -> bool:
        return self.right[min(n, len(self.right) - 1)]


async def play(panel: ReaderPanel, case: Case, config: Config, seed: int, **others: object) -> Course:
    table = replace(panel.table(case, seed=seed), **others)
    course, mixture = Course(), dict[str, float]()
    async for event in debate(opening(case, table, config, seed=seed), table):
        match event:
            case Weighed():
                mixture = dict(event.mixture)
            case Planned() if event.acquire:
                course.right.append(max(mixture, key=lambda y: mixture[y]) == case.gold)
            case Gained():
                course.gains.append((event.predicted, event.realised))
            case Finished():
                course.right.append(event.answer == case.gold)
                course.rounds = event.rounds
    return course


def panel_for(task: Task, encoder: CachedEncoder, conduct: Conduct) -> ReaderPanel:
    return ReaderPanel([Span.of(d.text, d.source, 0, d.label) for d in task.evidence], encoder, conduct=conduct)


def interval(x: np.ndarray) -> tuple[float, float, float]:
    rng = np.random.default_rng(0)
    means = x[rng.integers(0, len(x), (10_000, len(x)))].mean(axis=1)
    return float(x.mean()), *np.quantile(means, [0.025, 0.975]).tolist()


def loop(questions: int, forced: bool, more: dict[str, str]) -> Config:
    sets = {"plan.acquire": questions, **({"plan.worth": 0, "plan.least": 0, "plan.price": 0} if forced else {})}
    return build("default", {**sets, **more})


@dataclass
class Told:
    """What came of one case under one seed."""

    case: str
    lines: dict[str, list[float]]
    """Line → right or not after 0, 1, 2, … questions."""
    full: float
    gains: list[tuple[float, float]]


def temperature(panel: ReaderPanel, items: Sequence[TaskItem], seed: int, more: dict[str, str]) -> float:
    """T of the calibrated mixture, from development cases as they are shown."""
    config = unplanned(build("default", more))

    async def ends() -> list[tuple[np.ndarray, int]]:
        found = []
        for item in items:
            table = panel.table(item.case, seed=seed)
            *_, last = [e async for e in debate(opening(item.case, table, config, seed=seed), table)]
            labels = item.case.outcomes.labels
            found.append((np.array([last.raw[y] for y in labels]), labels.index(item.case.gold)))
        return found

    pairs = asyncio.run(ends())
    return fit_temperature([p for p, _ in pairs], [gold for _, gold in pairs])


def kaggle_seed(options: argparse.Namespace, seed: int) -> tuple[float, list[Told]]:
    """All cases of one seed."""
    n, folder = options.questions, data_dir(options.data)
    encoder, more = readied(options)
    task = load("kaggle_symptom_disease", folder, seed=seed, options={"tune": options.tune})
    panel = panel_for(task, encoder, conduct_of(options))
    lists = [d.text for d in task.evidence]
    lists += [", ".join((i.case.context, *i.case.hidden)) for i in (*task.dev, *task.test)]
    vocabulary = sorted({symptom for text in lists for symptom in text.split(", ")})
    t = temperature(panel, task.dev, seed, more)
    more = {"calibration.temperature": str(t), **more}

    async def one(item: TaskItem) -> Told:
        case = item.case
        source = Hidden(case.hidden, panel.table(case, seed=seed).encoder, closed=True)
        rng = np.random.default_rng([seed, int(case.id.encode().hex()[:12], 16)])
        proposers = {
            "plan": {},
            "random": {"proposer": Drawn(vocabulary, rng)},
            "oracle": {"proposer": Drawn([*case.hidden], rng)},
        }
        told = Told(case.id, {}, 0.0, [])
        for name in options.lines.split(","):
            course = await play(panel, case, loop(n, name != "plan", more), seed, source=source, **proposers[name])
            told.lines[name] = [float(course.after(q)) for q in range(n + 1)]
            told.gains += course.gains if name == "plan" else []
        whole = replace(case, context=", ".join((case.context, *case.hidden)), hidden={})
        told.full = float((await play(panel, whole, unplanned(build("default", more)), seed)).right[-1])
        return told

    async def everything() -> list[Told]:
        return [await one(item) for item in (task.dev if options.tune else task.test)[: options.limit]]

    return t, asyncio.run(everything())


def kaggle(options: argparse.Namespace) -> dict[str, object]:
    seeds = [int(s) + (100 if options.tune else 0) for s in options.seeds.split(",")]
    with ProcessPoolExecutor(options.jobs) as pool:
        done = list(pool.map(kaggle_seed, [options] * len(seeds), seeds))
    rows = [told for _, part in done for told in part]
    n, cases = options.questions, sorted({told.case for told in rows})
    per_case = {
        name: np.array([np.mean([t.lines[name] for t in rows if t.case == case], axis=0) for case in cases])
        for name in options.lines.split(",")
    }
    whole = np.array([np.mean([t.full for t in rows if t.case == case]) for case in cases])
    goal = whole.mean() - 0.03
    found: dict[str, object] = {
        "cases": len(cases),
        "debates_per_line": len(rows),
        "temperature": [t for t, _ in done],
        "full_information": interval(whole),
        "accuracy": {name: [interval(a[:, q]) for q in range(n + 1)] for name, a in per_case.items()},
        "questions_to_within_3_points": {
            name: next((q for q, a in enumerate(a.mean(axis=0)) if a >= goal), None) for name, a in per_case.items()
        },
    }
    if {"plan", "random"} <= per_case.keys():
        rise = {name: a - a[:, :1] for name, a in per_case.items()}
        found["rise_minus_twice_random_after_1_2_3"] = [
            interval(rise["plan"][:, q] - 2 * rise["random"][:, q]) for q in (1, 2, 3) if q <= n
        ]
    if gains := [pair for told in rows for pair in told.gains]:
        found["gain"] = calibration(gains)
        if options.plot:
            options.plot.write_text(chart(gains), encoding="utf-8")
    return found


def readied(options: argparse.Namespace) -> tuple[CachedEncoder, dict[str, str]]:
    if options.smoothing is not None:
        features.SMOOTHING = options.smoothing
    return CachedEncoder(load_encoder(), None), dict(item.split("=", 1) for item in options.set)


def conduct_of(options: argparse.Namespace) -> Conduct:
    numbers = dict(item.split("=", 1) for item in options.conduct)
    return Conduct(**{key: type(getattr(Conduct(), key))(value) for key, value in numbers.items()})


def calibration(gains: Sequence[tuple[float, float]]) -> dict[str, object]:
    """Realised on predicted gain: slope through the origin and with a constant, and means by fifth of predicted gain."""
    x, y = np.array(gains).T
    slope, constant = np.polyfit(x, y, 1)
    fifths = np.array_split(np.argsort(x, kind="stable"), 5)
    rng = np.random.default_rng(0)
    picks = rng.integers(0, len(x), (2000, len(x)))
    slopes = [(x[i] @ y[i]) / (x[i] @ x[i]) for i in picks]
    return {
        "n": len(x),
        "slope_through_0": [float(x @ y / (x @ x)), *np.quantile(slopes, [0.025, 0.975]).tolist()],
        "slope": float(slope),
        "constant": float(constant),
        "mean_predicted": float(x.mean()),
        "mean_realised": float(y.mean()),
        "fifths": [(float(x[f].mean()), float(y[f].mean())) for f in fifths],
    }


def chart(gains: Sequence[tuple[float, float]]) -> str:
    """Realised against predicted gain, every question a dot, tenths of the predicted gain as circles, the diagonal."""
    x, y = np.array(gains).T
    low, high = float(min(0.0, y.min())), float(max(x.max(), y.max()))
    wide, tall, edge = 640, 420, 48

    def at(px: float, py: float) -> tuple[float, float]:
        return edge + (wide - 2 * edge) * px / max(float(x.max()), 1e-9), tall - edge - (tall - 2 * edge) * (
            py - low
        ) / (high - low)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {tall}" font-family="sans-serif" font-size="12">',
        f'<rect width="{wide}" height="{tall}" fill="#fff"/>',
    ]
    dots = "".join(f"M{u:.0f} {v:.0f}h0" for u, v in (at(a, b) for a, b in zip(x, y, strict=True)))
    parts.append(f'<path d="{dots}" stroke="#3a6ea5" stroke-opacity="0.3" stroke-width="3" stroke-linecap="round"/>')
    for part in np.array_split(np.argsort(x, kind="stable"), 10):
        u, v = at(float(x[part].mean()), float(y[part].mean()))
        parts.append(f'<circle cx="{u:.1f}" cy="{v:.1f}" r="5" fill="none" stroke="#b3261e" stroke-width="2"/>')
    (a, b), (c, d) = at(0, 0), at(float(x.max()), float(x.max()))
    parts += [
        f'<line x1="{a:.1f}" y1="{b:.1f}" x2="{c:.1f}" y2="{d:.1f}" stroke="#555" stroke-dasharray="4"/>',
        f'<line x1="{edge}" y1="{b:.1f}" x2="{wide - edge}" y2="{b:.1f}" stroke="#999"/>',
        f'<text x="{edge}" y="20">realised gain, {low:.1f} to {high:.1f} bits (circles: means of tenths; dashed: equal)</text>',
        f'<text x="{wide - edge}" y="{tall - 12}" text-anchor="end">predicted gain, 0 to {x.max():.2f} bits</text>',
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def show(found: dict[str, object], indent: int = 0) -> None:
    for key, value in found.items():
        if isinstance(value, dict):
            print(f"{' ' * indent}{key}")
            show(value, indent + 2)
        elif isinstance(value, list) and value and isinstance(value[0], tuple):
            print(f"{' ' * indent}{key}")
            for number, row in enumerate(value):
                print(f"{' ' * indent}  {number:2}  " + "  ".join(f"{x:.3f}" for x in row))
        elif isinstance(value, list | tuple):
            print(f"{' ' * indent}{key:24} " + "  ".join(f"{x:.3f}" for x in value))
        else:
            print(
                f"{' ' * indent}{key:24} {value:.3f}" if isinstance(value, float) else f"{' ' * indent}{key:24} {value}"
            )


def measure(options: argparse.Namespace) -> dict[str, object]:
    if options.what == "agentclinic" and (options.why or options.panel or options.agents):
        import acquisition_openings

        return acquisition_openings.why(options) if options.why else acquisition_openings.models(options)
    if options.what == "agentclinic":
        from acquisition_sections import agentclinic

        return agentclinic(options)
    if options.what == "mentions":
        from acquisition_mentions import mentions

        return mentions(options)
    if options.what == "covid":
        import acquisition_claims as claims

        return claims.models(options) if options.panel or options.agents else claims.covid(options)
    return kaggle(options)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["kaggle", "agentclinic", "covid", "mentions"])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--questions", type=int, default=12)
    parser.add_argument("--lines", default="plan,random,oracle")
    parser.add_argument("--tune", action="store_true")
    parser.add_argument("--limit", type=int)
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--conduct", action="append", default=[], help="key=number: another conduct of the readers")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--smoothing", type=float, help="another m for the plan's tables")
    parser.add_argument("--jobs", type=int, default=1, help="seeds at once")
    parser.add_argument("--plot", type=Path, help="an SVG of realised against predicted gain")
    parser.add_argument("--draws", type=int, default=8, help="agentclinic: random orders for each case")
    parser.add_argument("--leaves", action="store_true", help="agentclinic: single findings instead of sections")
    parser.add_argument("--stations", action="store_true", help="agentclinic: readers know the development stations")
    parser.add_argument("--why", action="store_true", help="agentclinic: what single sections are worth, by openings")
    parser.add_argument("--panel", help="models of a panels file: agentclinic by openings, covid in debates")
    parser.add_argument("--agents", help="agentclinic, covid: the same, models by name")
    parser.add_argument("--seats", type=int, help="only so many of the panel's models, the first")
    parser.add_argument("--cache", type=Path, help="where models' replies are kept and found again")
    parser.add_argument("--at", default="2", help="agentclinic with models: after how many sections")
    parser.add_argument("--choices", type=int, help="agentclinic with models: the truth is among so many diagnoses")
    parser.add_argument(
        "--ends",
        action="store_true",
        help="with models: also told everything (agentclinic), or a claim's own passages (covid)",
    )
    parser.add_argument("--passages", type=int, default=4, help="covid: passages of a retrieval")
    options = parser.parse_args()
    if options.what == "mentions":  # nothing to look at the test part for
        options.tune, options.seeds = True, "0"
    found = measure(options)
    if options.json:
        print(json.dumps(found))
    else:
        print(f"{options.what}, seeds {options.seeds}, {'development texts only' if options.tune else 'test part'}")
        show(found)


if __name__ == "__main__":
    main()
