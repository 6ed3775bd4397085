"""Rules of a debate beside each other: profiles, schedules, the window w, thresholds. Embedded readers, development texts only.

    python benchmarks/bench_rules.py --rules default --rules paper --rules "paper plateau.mode=absolute"
    python benchmarks/bench_rules.py --sweep plateau.window=1,2,3,4,5,6 [--rules "default schedule=plateau"]
        [--data DIR] [--sets builtin,symptom2disease,kaggle_symptom_disease] [--seeds 100] [--limit N] [--out FILE] [--wrong]

``--rules`` is a profile and settings; ``--sweep`` plays each of them (without any: `default`) with each value of one more setting. Data
sets give development texts only (``tune``), also as evidence; the built-in cases are all there are. For each set: right answers,
negative log likelihood of the truth, rounds, tokens, the share of arguments admitted, debates whose agents lead with one outcome at the
end, debates in which CL never moved, and the reasons to stop. The difference is paired, the first rules less each other, with a 95 %
bootstrap interval over cases (10,000 resamples, seed 0). One process. ``--out`` keeps every debate: the same command of the same clean
commit continues where it was interrupted.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shlex
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from math import log
from pathlib import Path

import numpy as np

from maci.cases.case import Case, builtin_cases
from maci.config import Config, build, unplanned
from maci.controller.decisions import Finished, Gated
from maci.debating.loop import debate
from maci.evidence.encode import Encoder, load_encoder
from maci.evidence.retrieve import CachedEncoder
from maci.evidence.span import Span
from maci.lab.datasets import Task, load
from maci.paths import cache_dir, data_dir
from maci.seating.models import ReaderPanel
from maci.seating.table import commit, opening
from maci.seating.tables import Tables


@dataclass(frozen=True)
class Played:
    case: str
    right: bool
    nll: float
    rounds: int
    tokens: int
    stop: str
    agreed: bool
    said: int
    admitted: int
    levels: tuple[float, ...]
    """CL of every round."""


@cache
def encoder_of(name: str) -> Encoder:
    return CachedEncoder(load_encoder(name), cache_dir() / "bench-embeddings.sqlite")


@cache
def task_of(name: str, folder: Path, seed: int) -> Task:
    return load(name, folder, seed=seed, options={"tune": True})


def cases(
    name: str, folder: Path | None, seed: int, limit: int | None, config: Config
) -> Iterator[tuple[Case, ReaderPanel | Tables]]:
    """Every case of a set with the panel that debates it."""
    encoder = encoder_of(config.evidence.encoder)
    if name == "builtin":
        tables = Tables("readers", encoder, config)
        known = [case for case in builtin_cases().values() if case.gold]
        yield from ((case, tables) for case in known[:limit])
        return
    task = task_of(name, data_dir(folder), seed)
    spans = [Span.of(d.text, d.source, 0, d.label) for d in task.evidence]
    panel = ReaderPanel(spans, encoder, adapt=config.evidence.adapt)
    yield from ((item.case, panel) for item in task.dev[:limit])


async def play(case: Case, panel: ReaderPanel | Tables, config: Config, seed: int) -> Played:
    table = panel.table(case, seed=seed)
    events = [event async for event in debate(opening(case, table, config, seed=seed), table)]
    result, gated = events[-1], [event for event in events if isinstance(event, Gated)]
    assert isinstance(result, Finished)
    gold = case.gold_among(tuple(result.raw))
    return Played(
        case=case.id or case.question,
        right=result.answer == gold,
        nll=-log(max(result.raw.get(gold or "", 0.0), 1e-6)),
        rounds=result.rounds,
        tokens=result.tokens,
        stop=result.stop_reason,
        agreed=bool(result.agreed),
        said=sum(len(event.admissions) for event in gated),
        admitted=sum(each.admitted for event in gated for each in event.admissions),
        levels=tuple(event.dials.cl for event in gated),
    )


class Kept:
    """The debates of this commit that were played before, by set, seed, rules and place in the set; none of a changed checkout."""

    def __init__(self, file: Path | None) -> None:
        self._file, self._known = file, dict[tuple[object, ...], Played]()
        for line in file.read_text().splitlines() if file is not None and file.exists() else ():
            row = json.loads(line)
            made, key = str(row.pop("commit")), tuple(row.pop("key"))
            if made == commit() and not made.endswith("+dirty"):
                self._known[key] = Played(**{**row, "levels": tuple(row["levels"])})

    def get(self, *key: object) -> Played | None:
        return self._known.get(key)

    def keep(self, played: Played, *key: object) -> None:
        if self._file is not None:
            with self._file.open("a") as out:
                out.write(json.dumps({"commit": commit(), "key": key, **asdict(played)}) + "\n")


def interval(x: np.ndarray) -> str:
    rng = np.random.default_rng(0)
    means = x[rng.integers(0, len(x), (10_000, len(x)))].mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return f"{x.mean():+.4f} [{low:+.4f}, {high:+.4f}]"


def show(rules: str, played: Sequence[Played], wrong: bool) -> None:
    def mean(*values: float) -> float:
        return float(np.mean(values))

    n, said = len(played), sum(p.said for p in played)
    stops = ", ".join(f"{why} {times}" for why, times in Counter(p.stop for p in played).most_common())
    cells = [
        f"`{rules}`", str(n), str(sum(p.right for p in played)), f"{mean(*(p.nll for p in played)):.3f}",
        f"{mean(*(p.rounds for p in played)):.2f}", f"{mean(*(p.tokens for p in played)):,.0f}",
        f"{sum(p.admitted for p in played) / said:.2f}" if said else "–", str(sum(p.agreed for p in played)),
        str(sum(len(set(p.levels)) < 2 for p in played)), stops,
    ]  # fmt: skip
    print("| " + " | ".join(cells) + " |")
    if wrong:
        print("           wrong:", ", ".join(sorted(p.case for p in played if not p.right)))


def config_of(rules: str) -> Config:
    profile, *settings = rules.split()
    return unplanned(build(profile, dict(item.split("=", 1) for item in settings)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rules", action="append", help="a profile and settings, as in `paper plateau.mode=absolute`")
    parser.add_argument("--sweep", help="a setting and its values: key=a,b,c")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--sets", default="builtin,symptom2disease,kaggle_symptom_disease")
    parser.add_argument("--seeds", default="100")
    parser.add_argument("--limit", type=int)
    parser.add_argument("--out", type=Path, help="keep every debate here, and continue from what is there")
    parser.add_argument("--wrong", action="store_true", help="name the cases that were answered wrongly")
    options = parser.parse_args()
    rules = options.rules or ["default"]
    if options.sweep:
        key, _, values = options.sweep.partition("=")
        rules = [f"{each} {key}={value}" for each in rules for value in values.split(",")]
    configs, kept = {each: config_of(each) for each in rules}, Kept(options.out)
    print(f"commit {commit()}: python {shlex.join(sys.argv)}")
    for name in options.sets.split(","):
        table: dict[str, list[Played]] = {each: [] for each in rules}
        for each, config in configs.items():
            for seed in map(int, options.seeds.split(",")):
                for place, (case, panel) in enumerate(cases(name, options.data, seed, options.limit, config)):
                    key = (name, seed, each, place)
                    if (played := kept.get(*key)) is None:
                        played = asyncio.run(play(case, panel, config, seed))
                        kept.keep(played, *key)
                    table[each].append(played)
        print(f"\n{name}, seeds {options.seeds}\n")
        print("| rules | n | right | NLL | rounds | tokens | admitted | one lead | CL never moved | stops |")
        print("|---|---|---|---|---|---|---|---|---|---|")
        for each, played in table.items():
            show(each, played, options.wrong)
        print()
        for each in rules[1:]:
            pairs = list(zip(table[rules[0]], table[each], strict=True))
            hits = np.array([float(a.right) - float(b.right) for a, b in pairs])
            loss, spent = np.array([a.nll - b.nll for a, b in pairs]), np.array([a.tokens - b.tokens for a, b in pairs])
            print(
                f"`{rules[0]}` less `{each}`: accuracy {interval(hits)}, NLL {interval(loss)}, tokens {spent.mean():+,.0f}"
            )


if __name__ == "__main__":
    main()
