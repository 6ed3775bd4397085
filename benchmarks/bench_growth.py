"""How CPU seconds grow: log-log slopes over rounds, agents, outcomes, spans, debates at once, stored runs and study rows.

    python benchmarks/bench_growth.py [AXIS …] [--quick | --full] [--json] [--study FOLDER]

For every axis some work is done at several sizes and timed in CPU seconds of this process, the least of a few times. The slope is that
of a least-squares line through (log size, log seconds), with R². A fixed cost flattens it, so `last` is the slope of the last step
alone. `bound` is what the work itself needs: 1 where every item is looked at once, 2 where every agent is shown every other one's
arguments. Everything runs in this process with agents and judges that are functions: no calls, no sleeping.

- rounds: the fold of a debate of so many rounds (3 agents, 10 arguments a round, 3 scores each).
- agents: one round of the fold with so many agents, two arguments each, and the requests that are built for them.
- outcomes: one round of the fold over so many outcomes.
- index, query: building a retriever over so many spans, and 20 queries of it.
- debates: so many debates at once, from the case to the result.
- listing, page: taking so many stored debates into the index of `maci serve`, and 20 first pages and searches then.
- study: `maci study report` of so many rows (`bench_study.py`); FOLDER is the results folder whose rows are copied.

``--quick`` leaves the largest sizes of spans, runs and rows out; ``--full`` goes on to 10⁶ spans, 10⁶ stored runs and 10⁷ rows: hours,
and tens of gigabytes.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from time import process_time
from typing import Any, Literal

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import bench_controller
import bench_retrieval
import bench_study
import bench_viewers
from helpers import judge, make_case, open_debate, script, seat, settings, turn
from maci.agents.argument import Turn
from maci.agents.judges.crit import CritScore
from maci.controller.fold import step
from maci.controller.inputs import Scored, TurnTaken
from maci.controller.requests import turn_request
from maci.controller.state import argument_id
from maci.debating.loop import debate
from maci.evidence.retrieve import Retriever
from maci.evidence.span import Span
from maci.web.index import History

Size = Literal["quick", "usual", "full"]
Measured = dict[str, list[tuple[int, float]]]
"""Name of the work → (size, CPU seconds)."""


def least(work: Callable[[], object], times: int = 5) -> float:
    """CPU seconds of the quickest of a few times, without a search for cycles in between."""
    found = []
    for _ in range(times):
        gc.collect()
        gc.disable()
        began = process_time()
        work()
        found.append(process_time() - began)
        gc.enable()
    return min(found)


def rounds(_: Size) -> Measured:
    """A debate of 1 to 20 rounds, folded."""
    rng = np.random.default_rng(1)
    first = bench_controller.opened(3, 20)
    made = [bench_controller.inputs(first, t, rng) for t in range(21)]

    def fold(last: int) -> None:
        state = first
        for items in made[: last + 1]:
            for item in items:
                state, _ = step(state, item)
        assert state.round == last + 1

    return {"rounds": [(n, least(lambda n=n: fold(n), 9)) for n in (1, 2, 5, 10, 15, 20)]}


def agents(_: Size) -> Measured:
    """A round of 2 to 16 agents."""

    def work(m: int) -> Callable[[], None]:
        rng = np.random.default_rng(1)
        first = bench_controller.opened(m, 20)
        made = [_two_each(bench_controller.inputs(first, t, rng)) for t in range(3)]

        def one() -> None:
            state = first
            for items in made:
                for agent in state.agents:
                    turn_request(state, agent)
                for item in items:
                    state, _ = step(state, item)

        return one

    return {"agents": [(m, least(work(m), 9)) for m in (2, 4, 8, 16)]}


def _two_each(items: Sequence[Any]) -> list[Any]:
    """The inputs of a round with two arguments an agent, and a score of each by every judge."""
    turns = [item for item in items if isinstance(item, TurnTaken)]
    argument = next(t.turn.arguments[0] for t in turns if t.turn.arguments)
    made: list[Any] = [replace(t, turn=Turn(belief=t.turn.belief, arguments=(argument, argument))) for t in turns]
    if (t := turns[0].round) > 0:
        score = CritScore(evidence=0.8, logic=0.8, relevance=0.8)
        made += [
            Scored(round=t, argument=argument_id(t, place, n), slot=f"judge{k}#0", score=score)
            for place in range(len(turns))
            for n in (1, 2)
            for k in range(3)
        ]
    return made


def outcomes(_: Size) -> Measured:
    """A round over 5 to 10,000 outcomes."""

    def work(y: int) -> Callable[[], None]:
        rng = np.random.default_rng(1)
        first = bench_controller.opened(3, y)
        made = [bench_controller.inputs(first, t, rng) for t in range(3)]

        def one() -> None:
            state = first
            for items in made:
                for item in items:
                    state, _ = step(state, item)

        return one

    return {"outcomes": [(y, least(work(y))) for y in (5, 100, 1000, 3000, 10_000)]}


def _sizes(size: Size, quick: Sequence[int], usual: Sequence[int], full: Sequence[int]) -> tuple[int, ...]:
    return (*quick, *(() if size == "quick" else usual), *(full if size == "full" else ()))


def spans(size: Size) -> Measured:
    """Retrieval over 100 to 100,000 spans, or a million."""
    sizes = _sizes(size, (100, 1000, 10_000), (100_000,), (1_000_000,))
    rng = np.random.default_rng(0)
    queries = bench_retrieval.synthetic(20, 30, rng)
    index, query = list[tuple[int, float]](), list[tuple[int, float]]()
    for n in sizes:
        texts = bench_retrieval.synthetic(n, 60, rng)
        rows = rng.normal(size=(n + len(queries), 64)).astype(np.float32)
        frozen = bench_retrieval.Frozen(dict(zip([*texts, *queries], rows, strict=True)))
        pieces = [Span.of(text) for text in texts]
        kept: list[Retriever] = []

        def build(pieces: Any = pieces, frozen: Any = frozen, kept: Any = kept) -> None:
            kept[:] = [Retriever(pieces, frozen)]
            kept[0].warm()

        index.append((n, least(build, 3 if n < 10**5 else 1)))
        query.append((n, least(lambda kept=kept: [kept[0].retrieve(q, 32, 4000) for q in queries], 3)))
    return {"spans: index": index, "spans: 20 queries": query}


def debates(_: Size) -> Measured:
    """1 to 1,000 debates at once."""

    def work(n: int) -> None:
        async def one(seed: int) -> None:
            voices = [script("x", turn(0.8, 0.1, 0.1)), script("y", turn(0.1, 0.8, 0.1))]
            table = seat(voices, [judge("j")])
            opened = open_debate(table, settings("max_rounds=2", "crit.k=3"), make_case(), seed=seed)
            async for _ in debate(opened, table):
                await asyncio.sleep(0)  # the others go on in between

        async def all_of_them() -> None:
            await asyncio.gather(*map(one, range(n)))

        asyncio.run(all_of_them())

    sizes = (1, 10, 100, 300, 1000)
    return {"debates at once": [(n, least(lambda n=n: work(n), 9 if n < 10 else 2)) for n in sizes]}


def runs(size: Size) -> Measured:
    """100 to 10,000 stored debates in the index of `maci serve`, or a million."""
    sizes = _sizes(size, (100, 300, 1000), (3000, 10_000), (100_000, 1_000_000))
    listing, page = list[tuple[int, float]](), list[tuple[int, float]]()
    for n in sizes:
        with tempfile.TemporaryDirectory() as name:
            bench_viewers.shelve(Path(name), n)
            history = History(Path(name) / "runs")
            began = process_time()
            history.refresh()
            listing.append((n, process_time() - began))

            def look(history: Any = history) -> None:
                for _ in range(20):
                    history.search()
                    history.search("bridge lorries")

            page.append((n, least(look, 3)))
            history.close()
    return {"stored runs: listing": listing, "stored runs: 20 pages, 20 searches": page}


def study(size: Size, small: Path | None = None) -> Measured:
    """The report of 10,000 to 100,000 rows, or ten million."""
    sizes = _sizes(size, (10_000, 30_000), (100_000,), (1_000_000, 10_000_000))
    found = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        small = small or bench_study.small_study(folder)
        for n in sizes:
            rows = bench_study.grown(small, n, folder / str(n))
            found.append((rows, bench_study.apart(folder / str(n), None)["cpu_seconds"]))
            (folder / str(n) / bench_study.FILE).unlink()
    return {"study rows": found}


AXES: dict[str, Callable[..., Measured]] = {
    "rounds": rounds, "agents": agents, "outcomes": outcomes, "spans": spans, "debates": debates, "runs": runs, "study": study,
}  # fmt: skip
BOUND = {"agents": 2}


def fitted(points: Sequence[tuple[int, float]]) -> dict[str, Any]:
    """The slope of log seconds over log size, how well a line fits, and the slope of the last step."""
    x, y = np.log([n for n, _ in points]), np.log([s for _, s in points])
    slope, shift = np.polyfit(x, y, 1)
    rest, whole = float(((y - slope * x - shift) ** 2).sum()), float(((y - y.mean()) ** 2).sum())
    return {
        "slope": round(float(slope), 3),
        "r2": round(1 - rest / whole, 3) if whole else None,
        "last": round(float((y[-1] - y[-2]) / (x[-1] - x[-2])), 3),
        "n": len(points),
        "points": [[n, round(s, 6)] for n, s in points],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("axes", nargs="*", metavar="AXIS", help=f"some of {', '.join(AXES)}; all without any")
    much = parser.add_mutually_exclusive_group()
    much.add_argument("--quick", dest="size", action="store_const", const="quick", help="smaller sizes only")
    much.add_argument("--full", dest="size", action="store_const", const="full", help="the largest sizes too: hours")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--study", type=Path, help="results folder of a small study to copy")
    options = parser.parse_args()
    if unknown := set(options.axes) - set(AXES):
        parser.error(f"{', '.join(sorted(unknown))}: there are {', '.join(AXES)}")
    found: dict[str, Any] = {}
    if not options.json:
        print(f"{'':36} {'slope':>6} {'R²':>6} {'last':>6} {'bound':>6}  size: CPU seconds")
    for axis in options.axes or AXES:
        more = {"small": options.study} if axis == "study" else {}
        for name, points in AXES[axis](options.size or "usual", **more).items():
            row = found[name] = {**fitted(points), "bound": BOUND.get(axis, 1)}
            if not options.json:
                sizes = ", ".join(f"{n:,}: {s:.3g}" for n, s in points)
                r2 = "–" if row["r2"] is None else f"{row['r2']:.3f}"
                print(
                    f"{name:36} {row['slope']:>6.2f} {r2:>6} {row['last']:>6.2f} {row['bound']:>6}  {sizes}", flush=True
                )
    if options.json:
        print(json.dumps(found))


if __name__ == "__main__":
    main()
