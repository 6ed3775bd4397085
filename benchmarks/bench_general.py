"""General decisions, medicine among them: how often is an answer right, wrong or withheld, and how sure is it?

    python benchmarks/bench_general.py [--who readers|alone|vote5|equal|two|kin|free] [--file denials.jsonl] [--half dev|test]
        [--limit N] [--minutes M] [--table] [--out DIR] [--show wrong]
    python benchmarks/bench_general.py --clinical [--data DIR] [--seed 0] [--limit N]

All but the readers ask the local model ``--model`` (benchmarks/general_models.py).

`benchmarks/blind/general.jsonl`: contracts, outages, purchases, arithmetic and more, decidable from the texts beside the case, with
distractors that share words with a wrong outcome. ``--file denials.jsonl``: labelled texts for every outcome, which tempt readers to
answer, while the case denies what speaks for the wrong outcomes, or the texts are copies of one another. *Withheld* are the cases
in which no answer is given, refusals included. Intervals: Wilson for shares, BCa for the calibration error (15 bins) and the Brier
score of the answers given. A *pair* of runs (``--against WHO``) is compared case by case, on the cases that both have.

A model takes hours, so its run may come in pieces, on several days and machines. Each answer is a line of
``benchmarks/results/general/FILE-WHO-MODEL-HALF-SEED.jsonl``: case, answer, probabilities, tokens, and a hash of the prompt templates,
settings and case. Commit it with any figure you publish. Committed so far: two rows of ``alone``; those of ``free`` and ``kin`` that
docs/decisions/019-judges.md is about were not kept. A run continues with what has no line yet, failed, or was asked under another
hash; ``--minutes`` ends it after the case in hand, ``--table`` asks nobody. Cases come in an order that says nothing of them, so the
first n are a sample of all. The readers take seconds and are asked anew each time.

``--clinical``: what it costs that readers withhold what word statistics cannot decide (D21), where they are at home. Right answers of
all cases, with and without it: the built-in clinical cases, and symptom2disease as `bench_readers.py` splits it.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from time import monotonic
from typing import Any, Literal

import numpy as np

from general_models import MODELS, asked_with, file_name
from maci.calibration.stats import Estimate, bootstrap, bootstrap_mean, wilson
from maci.calibration.temperature import binned_gaps, equal_width
from maci.cases.case import Case, builtin_cases, parse_case
from maci.config import Config
from maci.controller.decisions import Finished
from maci.debating.loop import debate
from maci.errors import EvidenceError, MaciError
from maci.evidence.encode import load_encoder
from maci.evidence.knowledge import builtin_spans
from maci.evidence.span import Span
from maci.lab.datasets import load
from maci.paths import data_dir
from maci.seating.models import ReaderPanel
from maci.seating.seating import PanelChoice, seat_case
from maci.seating.shelf import Sources
from maci.seating.table import opening

BLIND = Path(__file__).parent / "blind"
RESULTS = Path(__file__).parent / "results" / "general"
Status = Literal["right", "wrong", "withheld", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What was answered to a case."""

    p: Mapping[str, float]
    """Over the outcomes; empty where there is none."""
    withheld: str = ""
    """Why no answer is given, though there may be a best guess."""
    failed: str = ""
    """Why there is none; a failure is not an answer."""
    tokens: int = 0
    calls: int = 0

    @property
    def best(self) -> str | None:
        """The likeliest outcome."""
        return max(self.p, key=lambda y: self.p[y]) if self.p else None

    def status(self, gold: str) -> Status:
        if self.failed:
            return "failed"
        if self.withheld or not self.p:
            return "withheld"
        return "right" if self.best == gold else "wrong"


Answer = Callable[[Case, int], Awaitable[Given | None]]
"""Answers a case under a seed; ``None``: not yet."""
Who = Callable[[argparse.Namespace], AbstractAsyncContextManager[Answer]]
"""Opens what answers (models, say), and closes it afterwards. To add one: write it and name it in :data:`WHO`."""


@asynccontextmanager
async def readers(_: argparse.Namespace) -> AsyncIterator[Answer]:
    """What `maci debate` answers without any model."""

    async def answer(case: Case, seed: int) -> Given:
        try:
            seated = seat_case(case, PanelChoice(panel="readers", seed=seed))
        except EvidenceError as error:
            return Given(p={}, withheld=str(error))
        async for event in debate(seated.opened, seated.table):
            if isinstance(event, Finished):
                return Given(p=event.distribution, withheld=event.abstained or "", tokens=event.tokens)
        raise AssertionError("a debate ends with its result")

    yield answer


def local_model(ask: Callable[[argparse.Namespace], AbstractAsyncContextManager[Callable[..., Any]]]) -> Who:
    """A way to ask a local model, as one of those who answer."""

    @asynccontextmanager
    async def who(options: argparse.Namespace) -> AsyncIterator[Answer]:
        async with ask(options) as asked:

            async def answer(case: Case, seed: int) -> Given | None:
                given = await asked(case, seed)
                return None if given is None else Given(**asdict(given))

            yield answer

    return who


WHO: dict[str, Who] = {"readers": readers, **{name: local_model(ask) for name, ask in MODELS.items()}}


# --- running ------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Posed:
    """A case to be answered."""

    field: str
    case: Case
    told: str
    """The line of the file that it was read from."""

    def hash(self, who: str, options: argparse.Namespace) -> str:
        """Of what decides what is asked: a line with another one does not count."""
        return hashlib.sha256(f"{asked_with(who, options)}\n{self.told}".encode()).hexdigest()[:16]


def cases(file: str, half: str, limit: int | None = None) -> list[Posed]:
    """Those of one half, in the order of a hash of their names."""
    told = (BLIND / file).read_text(encoding="utf-8").splitlines()
    rows = [(line, row) for line in told if (row := json.loads(line))["half"] == half]
    rows.sort(key=lambda each: hashlib.sha256(each[1]["id"].encode()).digest())
    keys = ("id", "question", "context", "outcomes", "evidence", "gold")
    return [Posed(row["field"], parse_case({k: row[k] for k in keys}, row["id"]), line) for line, row in rows[:limit]]


def stored(file: Path, hashes: Mapping[str, str]) -> dict[str, Given]:
    """Case → what was answered before to the same question; a line cut short by a kill is dropped."""
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    if not text.endswith("\n") and text:
        text = text[: text.rfind("\n") + 1]
        file.write_text(text, encoding="utf-8")
    found = {}
    for row in map(json.loads, text.splitlines()):
        case, _, prompt = row.pop("id"), row.pop("answer"), row.pop("prompt")
        if hashes.get(case) == prompt:
            found[case] = Given(**row)
    return found


async def collect(who: str, posed: Sequence[Posed], options: argparse.Namespace) -> dict[str, Given]:
    """The answers there are: those on file and, unless only the table is wanted, those asked for now."""
    file, hashes = options.out / file_name(who, options), {each.case.id: each.hash(who, options) for each in posed}
    found = {} if who not in MODELS else stored(file, hashes)
    left = [each.case for each in posed if each.case.id not in found or found[each.case.id].failed]
    if not left or (options.table and who in MODELS):
        return found
    end = monotonic() + 60 * options.minutes
    async with WHO[who](options) as answer:
        for case in left:
            if monotonic() > end:
                break
            try:
                given = await answer(case, options.seed)
            except MaciError as error:
                given = Given(p={}, failed=str(error))
            if given is None:
                continue
            found[case.id] = given
            if who in MODELS:
                write(file, case.id, hashes[case.id], given)
    return found


def write(file: Path, case: str, prompt: str, given: Given) -> None:
    """Add a line."""
    row = asdict(given) | {"p": {y: round(p, 6) for y, p in given.p.items()}}
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a", encoding="utf-8") as out:
        out.write(json.dumps({"id": case, "answer": given.best, **row, "prompt": prompt}, ensure_ascii=False) + "\n")


# --- telling ------------------------------------------------------------------------------------------------------------------


def share(n: int, of: int) -> str:
    rate = wilson(n, of)
    return f"{n:3} of {of} ({rate.value:.3f} [{rate.low:.3f}, {rate.high:.3f}])"


def figure(found: Estimate) -> str:
    return f"{found.value:.3f} [{found.low:.3f}, {found.high:.3f}]" if found.defined else f"undefined ({found.how})"


ENOUGH = 30
"""Answers below which no calibration error and no Brier score is printed."""


def calibration(sure: np.ndarray, right: np.ndarray) -> Estimate:
    """The expected calibration error of answers, with its interval."""
    place = equal_width(sure) if len(sure) else np.zeros(0, dtype=np.int64)
    return bootstrap(
        lambda i: binned_gaps((sure - right)[i], place[i], 15) / i.shape[1], len(sure), np.random.default_rng(0)
    )


def brier(sure: np.ndarray, right: np.ndarray) -> Estimate:
    """The mean squared error of how sure the answers were, with its interval."""
    return bootstrap_mean((sure - right) ** 2, np.random.default_rng(0))


def tell(who: str, posed: Sequence[Posed], found: Mapping[str, Given], options: argparse.Namespace) -> None:
    """The table of one who answered."""
    told = [each for each in posed if each.case.id in found]
    status = {each.case.id: found[each.case.id].status(each.case.gold or "") for each in told}
    n, name = len(told), f"{who} {options.model}" if who in MODELS else who
    half, other = (
        len(cases(options.file, each)) for each in (options.half, "test" if options.half == "dev" else "dev")
    )
    print(f"\n{name}: {n} of {half} cases of the {options.half} half so far ({half + other} in both)")
    for kind in ("right", "wrong", "withheld", "failed"):
        print(f"  {kind:22} {share(list(status.values()).count(kind), n) if n else 0}")
    answered = [each.case for each in told if status[each.case.id] in ("right", "wrong")]
    sure = np.array([max(found[case.id].p.values()) for case in answered])
    right = np.array([status[case.id] == "right" for case in answered], dtype=float)
    errors = {"calibration error": calibration, "Brier, top answer": brier}
    for kind, error in errors.items():
        said = figure(error(sure, right)) if len(answered) >= ENOUGH else f"not estimated below {ENOUGH}"
        print(f"  {kind:22} {said}, of {len(answered)} answers given")
    tokens = [found[each.case.id].tokens for each in told]
    print(f"  {'tokens a case':22} {f'{np.mean(tokens):.0f}' if tokens else 'none'} (all cases {sum(tokens):,})")
    for each in told:
        given = found[each.case.id]
        if options.show == status[each.case.id] and options.half == "dev":
            print(
                f"    {each.case.id} {each.field}: {given.best}, should be {each.case.gold}. {given.withheld or given.failed}"
            )


def compare(posed: Sequence[Posed], a: Mapping[str, Given], b: Mapping[str, Given]) -> str:
    """Right answers of one less those of another, case by case, where neither failed."""
    both = [each.case for each in posed if each.case.id in a and each.case.id in b]
    pairs = [(case.gold or "", a[case.id], b[case.id]) for case in both]
    pairs = [(gold, x, y) for gold, x, y in pairs if not x.failed and not y.failed]
    gap = [float(x.status(gold) == "right") - float(y.status(gold) == "right") for gold, x, y in pairs]
    return f"{figure(bootstrap_mean(gap, np.random.default_rng(0)))}, {len(pairs)} pairs"


# --- what withholding costs ---------------------------------------------------------------------------------------------------


async def withheld(panel: ReaderPanel, some: Sequence[Case], seed: int) -> list[tuple[bool, bool]]:
    """(the best guess is right, it is withheld) of each case."""
    found = []
    for case in some:
        table = panel.table(case, seed=seed)
        async for event in debate(opening(case, table, Config(), seed=seed), table):
            if isinstance(event, Finished):
                found.append((event.answer == case.gold, event.unfit))
    return found


def clinical(options: argparse.Namespace) -> None:
    """The second half of the table."""
    encoder = load_encoder("wordllama")
    known = [case for case in builtin_cases().values() if case.gold is not None and case.outcomes.kind == "closed"]
    task = load("symptom2disease", data_dir(options.data), seed=options.seed, options={"tune": False})
    own = ReaderPanel(Sources(corpus=tuple(Span.of(d.text, d.source, 0, d.label) for d in task.evidence)), encoder)
    parts = {
        "built-in clinical cases": (ReaderPanel(Sources(background=builtin_spans()), encoder), known),
        "symptom2disease dev": (own, [item.case for item in task.dev]),
        "symptom2disease test": (own, [item.case for item in task.test]),
    }
    print(f"{'':26}{'cases':>6}  {'right without D21':32}{'right with D21':32}withheld  fall in points")
    for name, (panel, some) in parts.items():
        found = asyncio.run(withheld(panel, some[: options.limit], options.seed))
        n, before = len(found), sum(right for right, _ in found)
        after = sum(right and not held for right, held in found)
        lost = bootstrap_mean([100.0 * (right and held) for right, held in found], np.random.default_rng(0))
        fall = f"{lost.value:.2f} [{lost.low:.2f}, {lost.high:.2f}]"
        print(f"{name:26}{n:6}  {share(before, n):32}{share(after, n):32}{sum(held for _, held in found):8}  {fall}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--who", choices=sorted(WHO), action="append")
    parser.add_argument("--against", choices=sorted(WHO), help="compare every --who with this one, case by case")
    parser.add_argument("--model", default="qwen2.5-coder-0.5b", help="what follows local/ in its name")
    parser.add_argument("--file", default="general.jsonl", help="of benchmarks/blind")
    parser.add_argument("--half", choices=("dev", "test"), default="dev")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=3, help="of a debate of two, at most")
    parser.add_argument("--limit", type=int, help="only the first so many cases")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no case after so long")
    parser.add_argument("--table", action="store_true", help="ask no model: tell what is on file")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the lines")
    parser.add_argument(
        "--show", choices=("right", "wrong", "withheld", "failed"), help="list them (not of the test half)"
    )
    parser.add_argument("--clinical", action="store_true", help="what withholding costs on clinical cases")
    parser.add_argument("--data", type=Path, help="with --clinical: folder of the data sets (default: MACI_DATA)")
    options = parser.parse_args()
    if options.clinical:
        clinical(options)
        return
    posed, found = cases(options.file, options.half, options.limit), {}
    for who in dict.fromkeys([*(options.who or ["readers"]), *([options.against] if options.against else [])]):
        found[who] = asyncio.run(collect(who, posed, options))
        tell(who, posed, found[who], options)
    for who in found:
        if options.against and who != options.against:
            gap = compare(posed, found[who], found[options.against])
            print(f"\nright answers, {who} less {options.against}: {gap}")


if __name__ == "__main__":
    main()
