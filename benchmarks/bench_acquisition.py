"""Does finding things out by plan pay? Closed-loop debates of the embedded readers on public data.

    python benchmarks/bench_acquisition.py kaggle [--data DIR] [--seeds 0,1,2] [--questions 12] [--tune] [--limit N] [--json]

kaggle: symptom lists, distinct cases; 2 symptoms are shown, the rest is withheld and answers questions ("present" if withheld or shown,
"absent" if not in the case's list). Lines: *plan* asks the best item of the plan; *random* one drawn from all symptoms not yet asked;
*oracle* always reveals one that is present. Everybody debates in the same loop; only who proposes differs. *full* debates with all
symptoms shown. A debate that asks no more keeps its last answer. Intervals: 95 % percentile bootstrap over distinct test cases (a
case's seeds are averaged first), 10,000 resamples, seed 0. ``--tune``: development texts only, other seeds.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from maci.acquisition import features
from maci.acquisition.plan import Candidate
from maci.acquisition.proposals import candidate_id
from maci.acquisition.residual import Residual, Survey
from maci.acquisition.sources.hidden import Hidden
from maci.agents.reader.reader import Conduct
from maci.case.case import Case
from maci.case.datasets import Item, Task, data_folder, load
from maci.config import Config, build
from maci.controller.decisions import Finished, Gained, Planned, Weighed
from maci.debate import debate
from maci.evidence.encode import CachedEncoder, load_encoder
from maci.evidence.lexical import terms
from maci.evidence.span import Span
from maci.llm.weights import cache_dir
from maci.panel.readers import ReaderPanel
from maci.run import opening


class Drawn:
    """Proposes one thing drawn from a list, whatever it is worth: the loop asks it."""

    def __init__(self, subjects: Sequence[str], rng: np.random.Generator) -> None:
        self._left = [subjects[i] for i in rng.permutation(len(subjects))]

    def survey(self, residual: Residual) -> Survey:
        known = set(terms(residual.text))
        while self._left:
            subject = self._left.pop()
            if subject not in residual.asked and not known.issuperset(terms(subject)):
                break
        else:
            return Survey(candidates=(), considered=0)
        lead = residual.labels[int(np.argmax(residual.p))]  # a table that is sure to be worth something
        one = Candidate(
            id=candidate_id(subject),
            kind="question",
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


def kaggle(options: argparse.Namespace, encoder: CachedEncoder, conduct: Conduct) -> dict[str, object]:
    folder, n = data_folder(options.data), options.questions
    seeds = [int(s) + (100 if options.tune else 0) for s in options.seeds.split(",")]
    more = dict(item.split("=", 1) for item in options.set)
    lines: dict[str, dict[str, list[list[float]]]] = {name: defaultdict(list) for name in ("plan", "random", "oracle")}
    full: dict[str, list[float]] = defaultdict(list)
    gains: list[tuple[float, float]] = []

    async def one(item: Item, panel: ReaderPanel, vocabulary: Sequence[str], seed: int) -> None:
        case = item.case
        source = Hidden(case.hidden, panel.table(case, seed=seed).encoder, closed=True)
        rng = np.random.default_rng([seed, int(case.id.encode().hex()[:12], 16)])
        runs = {
            "plan": play(panel, case, loop(n, False, more), seed, source=source),
            "random": play(panel, case, loop(n, True, more), seed, source=source, proposer=Drawn(vocabulary, rng)),
            "oracle": play(
                panel, case, loop(n, True, more), seed, source=source, proposer=Drawn(list(case.hidden), rng)
            ),
        }
        for name, run in runs.items():
            if name not in options.lines.split(","):
                run.close()
                continue
            course = await run
            lines[name][case.id].append([float(course.after(q)) for q in range(n + 1)])
            if name == "plan":
                gains.extend(course.gains)
        told = replace(case, context=", ".join((case.context, *case.hidden)), hidden={})
        full[case.id].append(
            float((await play(panel, told, build("default", {"plan.enabled": False, **more}), seed)).right[-1])
        )

    async def everything() -> None:
        for seed in seeds:
            task = load("kaggle_symptom_disease", folder, seed=seed, options={"tune": options.tune})
            panel = panel_for(task, encoder, conduct)
            lists = [d.text for d in task.evidence] + [
                ", ".join((i.case.context, *i.case.hidden)) for i in (*task.dev, *task.test)
            ]
            vocabulary = sorted({symptom for text in lists for symptom in text.split(", ")})
            for item in (task.dev if options.tune else task.test)[: options.limit]:
                await one(item, panel, vocabulary, seed)

    asyncio.run(everything())
    per_case = {name: np.array([np.mean(rows, axis=0) for rows in by.values()]) for name, by in lines.items() if by}
    whole = np.array([np.mean(rows) for rows in full.values()])
    goal = whole.mean() - 0.03
    curves = {name: rows.mean(axis=0) for name, rows in per_case.items()}
    found: dict[str, object] = {
        "cases": len(whole),
        "debates_per_line": sum(map(len, full.values())),
        "full_information": interval(whole),
        "accuracy": {name: [interval(rows[:, q]) for q in range(n + 1)] for name, rows in per_case.items()},
        "questions_to_within_3_points": {
            name: next((q for q, a in enumerate(curve) if a >= goal), None) for name, curve in curves.items()
        },
    }
    if {"plan", "random"} <= curves.keys():
        rise = {name: rows - rows[:, :1] for name, rows in per_case.items()}
        found["rise_minus_twice_random"] = [
            interval(rise["plan"][:, q] - 2 * rise["random"][:, q]) for q in (1, 2, 3) if q <= n
        ]
    if gains:
        found["gain"] = calibration(gains)
    return found


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["kaggle"])
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
    options = parser.parse_args()
    if options.smoothing is not None:
        features.SMOOTHING = options.smoothing
    encoder = CachedEncoder(load_encoder(), cache_dir() / "bench-embeddings.sqlite")
    numbers = dict(item.split("=", 1) for item in options.conduct)
    conduct = Conduct(**{key: type(getattr(Conduct(), key))(value) for key, value in numbers.items()})
    found = kaggle(options, encoder, conduct)
    if options.json:
        print(json.dumps(found))
    else:
        print(f"{options.what}, seeds {options.seeds}, {'development texts only' if options.tune else 'test part'}")
        show(found)


if __name__ == "__main__":
    main()
