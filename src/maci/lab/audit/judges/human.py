"""Judges against people: does a judge put arguments in the same order as people do?

*Accuracy on pairs*: of two arguments about one case that people scored differently (or chose between), how often the judge prefers
the same; a tie of the judge counts half. *AUC*: the chance that an argument which people put above their median scores above one
that they put below. Cases (topic sides) are resampled whole: an argument is in many pairs.

People score blind. The exported file has the question, the argument and its cited pieces under a code: no agent, no model, no judge's
score, in the order of the codes. People fill in ``score`` (any scale, the same throughout; more is better) and may sign with
``rater``. The code is a hash of the argument's id, so that the same command with ``--import`` can match the rows to the arguments.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from maci.calibration.stats import Estimate, Indices, Sampling, missing
from maci.calibration.stats.correlation import Rows, auc, spearman
from maci.errors import InputError
from maci.lab.audit.blind import read_blind, write_blind
from maci.lab.audit.judges.agreement import alpha
from maci.lab.audit.judges.items import Item
from maci.moderator.belief import Vector
from maci.story.words import plural


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """One judge, or the panel's mean, against people."""

    judge: str
    rho: Estimate
    pairs: Estimate
    auc: Estimate


def hit(ahead: float, truth: float) -> float:
    """1 where the sign of a difference of scores is that of people's, 0 where it is the other, ½ where the scores tie.

    >>> hit(0.2, 1), hit(-0.2, 1), hit(0.0, -1)
    (1.0, 0.0, 0.5)
    """
    return 0.5 if abs(ahead) < 1e-12 else float((ahead > 0) == (truth > 0))


def hits_by_group(hits: Sequence[float], groups: Sequence[Hashable]) -> dict[Hashable, tuple[float, int]]:
    """Group → (hits, pairs)."""
    found: dict[Hashable, tuple[float, int]] = {}
    for right, group in zip(hits, groups, strict=True):
        above, below = found.get(group, (0.0, 0))
        found[group] = above + right, below + 1
    return found


def pair_accuracy(
    hits: Sequence[float], groups: Sequence[Hashable], *, seed: int = 0, resamples: int = 10_000
) -> Estimate:
    """The share of hits over all pairs; groups (topic sides, cases) are resampled."""
    by = list(hits_by_group(hits, groups).values())
    if not by:
        return missing("no pair to compare", 0, "pairs")
    above, below = np.array([a for a, _ in by]), np.array([float(b) for _, b in by])

    def statistic(i: Indices) -> Vector:
        share: Vector = above[i].sum(axis=1) / below[i].sum(axis=1)
        return share

    found = Sampling(tuple(range(len(by))), seed, resamples).estimate(statistic, np.arange(len(by)), "pairs")
    how = f"{found.how}, {len(by)} group{'s' if len(by) != 1 else ''} resampled"
    return Estimate(value=found.value, low=found.low, high=found.high, n=len(hits), unit="pairs", how=how)


def against_people(judge: str, scores: Vector, people: Vector, sampling: Sampling) -> Agreement:
    """A judge's scores of items against people's (nan where there is none)."""
    rows = np.flatnonzero(np.isfinite(scores) & np.isfinite(people))
    x, y = scores[rows], people[rows]
    if len(rows) < 3:
        nothing = missing("fewer than three arguments that both scored", len(rows))
        return Agreement(judge=judge, rho=nothing, pairs=nothing, auc=nothing)
    middle = np.median(y)
    upper = np.where(y == middle, np.nan, (y > middle).astype(float))
    hits, groups = [], []
    cases = [sampling.groups[i] for i in rows.tolist()]
    for a in range(len(rows)):
        for b in range(a + 1, len(rows)):
            if cases[a] == cases[b] and y[a] != y[b]:
                hits.append(hit(x[a] - x[b], y[a] - y[b]))
                groups.append(cases[a])
    flat = np.ptp(x) < 1e-9 or np.ptp(y) < 1e-9
    return Agreement(
        judge=judge,
        rho=missing("the judge, or people, gave the same score throughout", len(rows))
        if flat
        else sampling.estimate(lambda i: spearman(x[i], y[i]), rows, fisher=True),
        pairs=pair_accuracy(hits, groups, seed=sampling.seed, resamples=sampling.resamples),
        auc=sampling.estimate(lambda i: auc(x[i], upper[i]), rows),
    )


COLUMNS = ("code", "question", "context", "argument", "evidence", "score", "rater")


def code(item: Item) -> str:
    """What an argument is called towards people."""
    return hashlib.sha256(f"blind/{item.id}".encode()).hexdigest()[:10]


def blind(items: Sequence[Item]) -> list[dict[str, str]]:
    """The rows, in the order of their codes: what stands beside what says nothing."""
    rows = []
    for item in sorted(items, key=code):
        request = item.request
        argument = request.argument
        parts = [
            argument.claim,
            *(f"Because: {r}" for r in argument.reasons),
            *(f"Against it: {o}" for o in argument.opposing),
        ]
        pieces = "\n".join(f"[{n}] {span.text}" for n, span in enumerate(request.spans, 1)) or "(none)"
        rows.append(
            {
                "code": code(item), "question": request.question.question, "context": request.question.context,
                "argument": "\n".join(parts), "evidence": pieces, "score": "", "rater": "",
            }
        )  # fmt: skip
    return rows


def exported(items: Sequence[Item], to: Path) -> None:
    """Write them, as CSV or JSONL by the file's name."""
    if to.suffix not in (".csv", ".jsonl"):
        raise InputError(f"--export {to}: name a file that ends in .csv or .jsonl")
    write_blind(blind(items), COLUMNS, to)


def imported(file: Path, items: Sequence[Item]) -> Rows:
    """(raters, items): what people said; nan where they did not. Rows without a score are skipped, wrong ones named."""
    place = {code(item): i for i, item in enumerate(items)}
    raters: dict[str, np.typing.NDArray[np.float64]] = {}
    unknown = empty = 0
    for where, name, given, row in read_blind(file, "code", "score"):
        if not given:
            empty += 1
            continue
        try:
            value = float(given)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise InputError(f"{where}: score is {given!r}, must be a number")
        if (i := place.get(name)) is None:
            unknown += 1
            continue
        own = raters.setdefault(str(row.get("rater") or "").strip(), np.full(len(items), np.nan))
        own[i] = value
    if not raters and not unknown:
        raise InputError(
            f"{file}: no score is filled in ({plural(empty, 'row')} without one): write numbers into the column `score`"
        )
    if not raters:
        raise InputError(
            f"{file}: no score belongs to an argument of this audit ({unknown} belong to none): give the same --arguments, --n and "
            "--seed as when it was exported"
        )
    return np.stack(list(raters.values()))


def human_alpha(people: Rows, sampling: Sampling) -> Estimate:
    """Do people agree with each other? A judge can hardly agree with them more than they do."""
    return (
        alpha(people, sampling)
        if len(people) > 1
        else missing("one person only: fill in `rater` to tell several apart")
    )
