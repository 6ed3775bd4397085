"""Recorded panels: does what dev teaches about agents make their mixture better than a vote, and as good as stacking?

    python benchmarks/bench_recorded.py [--data DIR] [--only mmlu|medagents|ford] [--dev]

``--dev`` looks at development items alone (cross-validation inside dev; ford: dev items); that is where every choice was made.
Without it: learnt and calibrated on dev, measured on test. Differences are paired, with 95 % percentile bootstrap intervals.

mmlu, medagents: every model answered once, so a mixture is a weighted vote and no debate can be tested. ford: debates that really
took place, folded again with weights and a stop rule (off-policy): what the models would have said to other opponents, under other
contentiousness, or without an argument that a gate kept out, is not on record. Round t is every model's t-th turn after its
opening; who did not speak again keeps its last answer. In the recording a turn was heard at once, in the fold at the end of its round.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression

from maci.calibration.stats import wilson
from maci.calibration.temperature import Softening, fit_softening
from maci.calibration.weights import Learnt, learn_agents
from maci.config import build
from maci.lab.datasets import Task, TaskItem, load
from maci.lab.methods.baselines import WeightedAverage
from maci.lab.methods.maci import Maci
from maci.lab.methods.method import Bench, Method, MethodAnswer
from maci.lab.study.metrics import ScoredAnswer, per_case, score
from maci.lab.study.report.estimates import Estimates
from maci.lab.study.worker import RecordedPanel
from maci.paths import data_dir

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from hash_encoder import HashEncoder

Belief = dict[str, float]
NO_EVIDENCE = {"crit.enabled": False, "gate.q_gate": False}
"""Nothing is cited on record and nobody judges: neither gate can be used."""
RESAMPLES = 2000


# --- openings -------------------------------------------------------------------------------------------------------------------


def opening(item: TaskItem) -> dict[str, Belief | None]:
    assert item.recorded is not None
    return {m: None if t.answer is None else {t.answer: 1.0} for m, t in item.recorded.openings.items()}


def golds(items: Sequence[TaskItem]) -> list[str]:
    return [str(item.case.gold) for item in items]


def taught(items: Sequence[TaskItem]) -> Learnt:
    return learn_agents([opening(i) for i in items], golds(items), [i.case.outcomes.labels for i in items])


def play(method: Method, items: Sequence[TaskItem], settings: Mapping[str, object]) -> list[MethodAnswer]:
    """The product's own way: a method at a table of recorded agents."""
    bench = Bench(panel=RecordedPanel(items, HashEncoder()), config=build("default", {**NO_EVIDENCE, **settings}))

    async def ask() -> list[MethodAnswer]:
        return [await method.answer(item.case, bench, 0) for item in items]

    return asyncio.run(ask())


def mixture(train: Sequence[TaskItem], items: Sequence[TaskItem], learnt: Learnt | None = None) -> list[Belief | None]:
    settings = (learnt or taught(train)).settings()
    return [None if a.belief is None else dict(a.belief) for a in play(WeightedAverage(), items, settings)]


def ranked(train: Sequence[TaskItem]) -> list[str]:
    """Models by their accuracy on ``train``, abstentions wrong."""
    right = Counter(m for i in train for m, p in opening(i).items() if p and i.case.gold in p)
    return [m for m, _ in right.most_common()]


def vote(models: Sequence[str], items: Sequence[TaskItem]) -> list[Belief | None]:
    """The share of votes; ties go to the better model's side."""
    found: list[Belief | None] = []
    for item in items:
        said = opening(item)
        votes = [next(iter(p)) for m in models if (p := said.get(m))]
        share = {y: votes.count(y) / max(1, len(votes)) for y in item.case.outcomes.labels}
        for n, y in enumerate(votes):
            share[y] += 1e-6 / (n + 1)
        total = sum(share.values())
        found.append({y: p / total for y, p in share.items()} if votes else None)
    return found


def stacked(train: Sequence[TaskItem], items: Sequence[TaskItem], c: float = 0.3) -> list[Belief | None]:
    """The baseline: a logistic regression on (question, option) pairs, a vote a model; C by cross-validation inside dev."""
    models = list(opening(train[0]))

    def rows(item: TaskItem) -> np.ndarray:
        said = opening(item)
        return np.array(
            [[bool(said.get(m)) and y in (said[m] or {}) for m in models] for y in item.case.outcomes.labels]
        )

    x = np.concatenate([rows(i) for i in train]).astype(float)
    y = np.concatenate([[name == i.case.gold for name in i.case.outcomes.labels] for i in train])
    model = LogisticRegression(C=c, max_iter=1000).fit(x, y)
    found: list[Belief | None] = []
    for item in items:
        # softmax of the linear scores: the conditional form of the same regression
        s = rows(item).astype(float) @ model.coef_[0]
        p = np.exp(s - s.max())
        found.append(dict(zip(item.case.outcomes.labels, (p / p.sum()).tolist(), strict=True)))
    return found


def category_wise(train: Sequence[TaskItem], items: Sequence[TaskItem], strength: float = 100.0) -> list[Belief | None]:
    """Weights of each category, shrunk to those of all by so many cases; a candidate that was dropped."""
    whole = taught(train)
    found: dict[str, Belief | None] = {}
    for group in sorted({i.group for i in items}):
        own = [i for i in train if i.group == group]
        part = taught(own)
        share = len(own) / (len(own) + strength)
        prior = {m: share * part.prior[m] + (1 - share) * w for m, w in whole.prior.items()}
        mixed = Learnt(temperature=whole.temperature, doubt=whole.doubt, prior=prior)
        some = [i for i in items if i.group == group]
        found |= dict(zip((i.id for i in some), mixture(train, some, mixed), strict=True))
    return [found[i.id] for i in items]


# --- measuring ------------------------------------------------------------------------------------------------------------------

Way = Callable[[Sequence[TaskItem], Sequence[TaskItem]], list[Belief | None]]


def scored(
    beliefs: Sequence[Belief | None], items: Sequence[TaskItem], known: Softening | None = None
) -> list[ScoredAnswer]:
    """What has no answer has no score; differences are over the cases that both answered."""
    found = []
    for p, item in zip(beliefs, items, strict=True):
        if p is None:
            found.append(score(dict.fromkeys(item.case.outcomes.labels, 1 / len(item.case.outcomes.labels)), None))
        else:
            found.append(score(known.apply(p) if known else p, item.case.gold))
    return found


def calibrated(train: Sequence[Belief | None], gold: Sequence[str]) -> Softening:
    pairs = [(p, y) for p, y in zip(train, gold, strict=True) if p is not None]
    return fit_softening([p for p, _ in pairs], [y for _, y in pairs])


def measured(
    way: Way, train: Sequence[TaskItem], items: Sequence[TaskItem]
) -> tuple[list[ScoredAnswer], list[ScoredAnswer], Softening, int]:
    """(as it is, calibrated on train, the calibration, how many had no answer)."""
    both = way(train, [*train, *items])
    known = calibrated(both[: len(train)], golds(train))
    rest = both[len(train) :]
    return scored(rest, items), scored(rest, items, known), known, sum(p is None for p in rest)


def crossed(way: Way, items: Sequence[TaskItem], folds: int = 5) -> list[ScoredAnswer]:
    """Calibrated answers to each fold from what the others teach."""
    fold = np.random.default_rng(1).permutation(len(items)) % folds
    found: dict[int, ScoredAnswer] = {}
    for f in range(folds):
        rest = np.flatnonzero(fold == f).tolist()
        train = [items[i] for i in np.flatnonzero(fold != f).tolist()]
        _, after, _, _ = measured(way, train, [items[i] for i in rest])
        found |= dict(zip(rest, after, strict=True))
    return [found[i] for i in range(len(items))]


HEAD = f"{'':34} {'acc1':>6} {'ece':>6} {'brier':>6} {'nll':>6}"


def values(metrics: Sequence[str], some: Sequence[ScoredAnswer]) -> list[float]:
    return [found.value for found in Estimates(resamples=100).metrics(metrics, some, range(len(some)))]


def line(name: str, some: Sequence[ScoredAnswer], more: str = "") -> str:
    return f"{name:34} " + " ".join(f"{x:6.4f}" for x in values(("acc1", "ece", "brier", "nll"), some)) + f"  {more}"


def versus(name: str, a: Sequence[ScoredAnswer], b: Sequence[ScoredAnswer]) -> str:
    parts = []
    for metric in ("acc1", "ece", "nll"):
        gap = Estimates(resamples=RESAMPLES).difference(metric, a, b, range(len(a)))
        parts.append(f"{metric} {gap.value:+.4f} [{gap.low:+.4f}, {gap.high:+.4f}]")
    return f"  less {name:28} " + "  ".join(parts)


def ways(task: Task) -> dict[str, Way]:
    found: dict[str, Way] = {"weighted mixture (maci.calibration.weights)": mixture}
    n = len(opening(task.dev[0]))
    for k in sorted({1, 3, 5, n} & set(range(1, n + 1))):
        name = "best single" if k == 1 else f"vote of the best {k}" if k < n else f"vote of all {n}"
        found[name] = lambda train, items, k=k: vote(ranked(train)[:k], items)  # type: ignore[misc]
    found["stacked logit (scikit-learn)"] = stacked
    return found


def table(task: Task) -> None:
    """Everything learnt on dev, measured on test."""
    print(f"{task.name}: {len(task.dev)} dev, {len(task.test)} test items; calibrated on dev, in brackets as it is")
    print(HEAD)
    found: dict[str, list[ScoredAnswer]] = {}
    for name, way in ways(task).items():
        raw, after, known, none = measured(way, task.dev, task.test)
        found[name] = after
        acc1, ece = values(("acc1", "ece"), raw)
        said = f"(acc1 {acc1:.4f} ece {ece:.4f})  T {known.temperature:.2f} ε {known.epsilon:.2f}"
        print(line(name, after, said + (f"  {none} without an answer" if none else "")))
    ours, *others = found
    print(f"{ours}, paired:")
    for name in others:
        print(versus(name, found[ours], found[name]))


# --- the data sets --------------------------------------------------------------------------------------------------------------


def mmlu(folder: Path, dev_only: bool) -> None:
    task = load("mmlu_pro_panel", folder, seed=0, options={})
    learnt = taught(task.dev)
    print(f"mmlu_pro_panel: weights by {learnt.weights}; nats on cases left out: "
          + ", ".join(f"{k} {v:.4f}" for k, v in learnt.losses.items()))  # fmt: skip
    print("  ω " + ", ".join(f"{m} {w:.2f}" for m, w in learnt.prior.items()))
    print("  ε " + ", ".join(f"{m} {e:.2f}" for m, e in learnt.doubt.items()))
    if not dev_only:
        table(task)
        return
    print("5-fold cross-validation inside dev:")
    print(HEAD)
    candidates = {**ways(task), "category-wise weights": category_wise}
    candidates |= {f"stacked logit, C = {c:g}": lambda t, i, c=c: stacked(t, i, c) for c in (0.03, 1.0)}  # type: ignore[misc]
    for name, way in candidates.items():
        print(line(name, crossed(way, task.dev)), flush=True)


def medagents(folder: Path, dev_only: bool) -> None:
    for name in ("medqa", "pubmedqa", "medmcqa", "mmlu", "mmlu-pro", "medbullets", "afrimedqa", "all"):
        task = load("medagentsbench", folder, seed=0, options={"dataset": name})
        if not dev_only:
            table(task)
        else:
            print(f"medagentsbench {name}: 5-fold cross-validation inside {len(task.dev)} dev items\n{HEAD}")
            for way, make in ways(task).items():
                print(line(way, crossed(make, task.dev)), flush=True)


FORD = (
    "table_chatgpt_davinci_gpt4__piqa", "table_chatgpt_davinci_gpt4__ecare", "chatgpt_gpt4__piqa__run1",
    "chatgpt_gpt4__ecare__run1", "chatgpt_davinci__csqa", "chatgpt_davinci__ecare", "chatgpt_davinci__piqa",
    "chatgpt_davinci__socialiqa", "chatgpt_davinci__strategyqa",
)  # fmt: skip


def last_speaker(item: TaskItem) -> Belief | None:
    """What the last turn that can be read says: how the recorded debate ended."""
    assert item.recorded is not None
    said = [*item.recorded.openings.values(), *(t for _, t in item.recorded.turns)]
    answer = next((t.answer for t in reversed(said) if t.answer is not None), None)
    return None if answer is None else {**dict.fromkeys(item.case.outcomes.labels, 0.0), answer: 1.0}


def final(item: TaskItem) -> dict[str, str]:
    """Each model's last answer that can be read."""
    assert item.recorded is not None
    said = [*item.recorded.openings.items(), *item.recorded.turns]
    return {m: t.answer for m, t in said if t.answer is not None}


def majority(item: TaskItem) -> Belief | None:
    votes = list(final(item).values())
    return {y: votes.count(y) / len(votes) for y in item.case.outcomes.labels} if votes else None


def turns_until(item: TaskItem, rounds: int) -> int:
    """Recorded turns after the openings that the fold needed for so many rounds."""
    assert item.recorded is not None
    return sum(min(n, rounds) for n in Counter(m for m, _ in item.recorded.turns).values())


def ford(folder: Path, dev_only: bool) -> None:
    together: dict[str, tuple[list[ScoredAnswer], list[float]]] = {}
    for name in FORD:
        task = load("ford_debates", folder, seed=0, options={"debates": name})
        items = task.dev if dev_only else task.test
        learnt = taught(task.dev)
        settings = learnt.settings()
        print(f"ford_debates {name}: learnt on {len(task.dev)} dev, measured on {len(items)} {'dev' if dev_only else 'test'} debates"
              f" (all of them began in disagreement); ω {', '.join(f'{m} {w:.2f}' for m, w in learnt.prior.items())}")  # fmt: skip
        print(f"  {'':42} {'acc1 [95 %]':22} turns  right→wrong  wrong→right   (against weights only)")
        before: list[ScoredAnswer] = []
        for label, some, turns in courses(task.dev, items, settings):
            kind = "fold with weights, rounds best on dev" if "best on dev" in label else label
            scores, spent = together.setdefault(kind, ([], []))
            scores += some
            spent += [turns] * len(some)
            right = [s.correct for s in some if s.correct is not None]
            share = wilson(sum(right), len(right))
            before = before or some
            moved = Counter((was.correct, now.correct) for was, now in zip(before, some, strict=True))
            print(f"  {label:42} {share.value:.3f} [{share.low:.3f}, {share.high:.3f}]   {turns:5.2f}"
                  f"  {moved[True, False]:6d}       {moved[False, True]:6d}")  # fmt: skip

    end, _ = together["recorded: last speaker"]
    print(f"all {len(end)} debates together                    acc1    turns   less the recorded last speaker [95 %]")
    for label, (scores, spent) in together.items():
        both = [(a, b) for a, b in zip(scores, end, strict=True) if a.correct is not None and b.correct is not None]
        ours, theirs = [a for a, _ in both], [b for _, b in both]
        gap = Estimates().difference("acc1", ours, theirs, range(len(ours)))
        right = np.mean([a.correct for a in ours])
        print(f"  {label:42} {right:.3f}   {np.mean(spent):5.2f}   {gap.value:+.3f} [{gap.low:+.3f}, {gap.high:+.3f}]")


def turns_of(items: Sequence[TaskItem], rounds: Sequence[int]) -> list[int]:
    return [turns_until(i, r) for i, r in zip(items, rounds, strict=True)]


def at_round(answer: MethodAnswer, round: int) -> Belief | None:
    """The mixture after so many rounds, or the last there is."""
    course = answer.course
    return dict(course[min(round, len(course) - 1)].belief) if course else None


def best_rounds(played: Sequence[MethodAnswer], items: Sequence[TaskItem]) -> int:
    """The number of rounds after which the mixture is right most often; of equals the fewest."""
    right = [float(np.nanmean(per_case("acc1", scored([at_round(a, r) for a in played], items)))) for r in range(9)]
    return int(np.argmax(right))


def courses(
    dev: Sequence[TaskItem], items: Sequence[TaskItem], settings: Mapping[str, object]
) -> list[tuple[str, list[ScoredAnswer], float]]:
    """(name, scores, mean turns after the openings)."""
    found = []
    pooled = play(WeightedAverage(), items, settings)
    found.append(("weights only, no later turn", [_b(a) for a in pooled], [0] * len(items)))
    equal = play(WeightedAverage(), items, {})
    found.append(("openings with equal weights", [_b(a) for a in equal], [0] * len(items)))
    rounds = best_rounds(play(Maci(), dev, settings), dev)
    folded = play(Maci(), items, settings)
    cut = [at_round(a, rounds) for a in folded]
    found.append((f"fold with weights, {rounds} rounds (best on dev)", cut, turns_of(items, [rounds] * len(items))))
    for label, played in (
        ("fold with weights, MACI's stop rule", folded),
        ("fold with equal weights, MACI's stop rule", play(Maci(), items, {})),
    ):
        found.append((label, [_b(a) for a in played], turns_of(items, [a.rounds for a in played])))
    everything = turns_of(items, [99] * len(items))
    found.append(("recorded: last speaker", [last_speaker(i) for i in items], everything))
    found.append(("recorded: majority of last answers", [majority(i) for i in items], everything))
    return [(label, scored(p, items), float(np.mean(turns))) for label, p, turns in found]


def _b(answer: MethodAnswer) -> Belief | None:
    return None if answer.belief is None else dict(answer.belief)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--only", choices=("mmlu", "medagents", "ford"))
    parser.add_argument("--dev", action="store_true", help="look at development items alone")
    options = parser.parse_args()
    folder = data_dir(options.data)
    for name, run in (("mmlu", mmlu), ("medagents", medagents), ("ford", ford)):
        if options.only in {None, name}:
            run(folder, options.dev)


if __name__ == "__main__":
    main()
