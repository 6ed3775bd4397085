"""Do judges agree, with each other and with people? Krippendorff's α, correlations between judges, pairs in people's order.

α (``calibration.stats.paired``) is made of sums over arguments, so that all resamples are computed at once. Scores that were not
given (a judge abstained) are left out.

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
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from maci.calibration.stats import RESAMPLES, Estimate, Indices, Sampling, Statistic, missing, ratio_of
from maci.calibration.stats.paired import FLAT, Rows, auc, parts, pearson, spearman
from maci.calibration.stats.paired import alpha as alpha_from
from maci.controller.inputs import Seat
from maci.errors import InputError
from maci.lab.audit import read_blind, write_blind
from maci.lab.audit.judges.items import Subject
from maci.moderator.belief import Vector
from maci.story.words import plural


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratings:
    """Composite scores, (judges, arguments); nan where a judge abstained or was not asked."""

    judges: tuple[Seat, ...]
    items: tuple[Subject, ...]
    plain: Rows
    variants: Mapping[str, Rows] = field(default_factory=dict)
    """How it was asked again → the scores then: see :data:`maci.lab.audit.judges.items.PROBES`."""
    again: tuple[Rows, ...] = ()
    """The same asked once more, and once more."""
    place: Rows | None = None
    """Where in its batch an argument came, 0 first to 1 last, for judges that are asked one after the other; else nan."""

    def sampling(self, seed: int = 0, resamples: int = RESAMPLES) -> Sampling:
        """How intervals are drawn: by cases."""
        return Sampling(tuple(item.case for item in self.items), seed, resamples)

    def variant(self, probe: str) -> Rows:
        """The scores of a probe; all undefined where it was not asked."""
        return self.variants.get(probe, np.full(self.plain.shape, np.nan))


def panel_mean(scores: Rows) -> Vector:
    """CRIT_i: the mean over judges who scored; nan where none did.

    >>> panel_mean(np.array([[0.2, np.nan], [0.4, np.nan]])).round(3).tolist()
    [0.3, nan]
    """
    known = np.isfinite(scores)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean: Vector = np.where(known, scores, 0.0).sum(axis=0) / known.sum(axis=0)
    return mean


def refused(n: int, *reasons: tuple[bool | np.bool_, str]) -> Estimate | None:
    """The first reason that applies, in place of an estimate; ``None`` where none does.

    >>> refused(2, (False, "there is one judge"), (True, "fewer than three arguments")).how
    'fewer than three arguments'
    """
    return next((missing(why, n) for applies, why in reasons if applies), None)


_ALONE = "there is one judge, and nobody to agree with"
_TWO = "fewer than two arguments have scores of two judges"


def alpha_of(scores: Rows) -> Statistic:
    """α of (judges, arguments) scores, as a statistic; nan where no argument has two scores or all scores hardly differ.

    >>> scores = np.array([[0.1, 0.5, 0.9], [0.2, 0.5, np.nan]])
    >>> alpha_of(scores)(np.arange(3)[None]).round(4).tolist()
    [0.9412]
    """
    added = parts(scores)
    return lambda i: alpha_from(added[i].sum(axis=1))


def alpha(scores: Rows, sampling: Sampling) -> Estimate:
    """Krippendorff's α with its interval."""
    rows = np.flatnonzero(np.isfinite(scores).sum(axis=0) >= 2)
    found = alpha_of(scores[:, rows])
    spreads = [np.std(own[np.isfinite(own)]) for own in scores[:, rows] if np.isfinite(own).any()]
    return refused(
        len(rows),
        (len(scores) < 2, _ALONE),
        (len(rows) < 2, _TWO),
        (
            max(spreads, default=0.0)
            < FLAT,  # judges of different severity have an α even then, which says nothing of arguments
            f"every judge gives all arguments nearly the same score (standard deviation below {FLAT:g})",
        ),
        (
            np.isnan(found(np.arange(len(rows))[None])[0]),
            f"all scores are nearly the same (standard deviation below {FLAT:g})",
        ),
    ) or sampling.estimate(found, rows)


def levelled(scores: Rows) -> Rows:
    """The scores with every judge's mean moved to the common one.

    >>> levelled(np.array([[0.2, 0.4], [0.6, 0.8]])).round(3).tolist()
    [[0.4, 0.6], [0.4, 0.6]]
    """
    own = panel_mean(scores.T)[:, None]
    return scores - own + np.nanmean(own) if np.isfinite(scores).any() else scores


def pairwise(scores: Rows, sampling: Sampling, *, by_rank: bool) -> Estimate:
    """The mean correlation over pairs of judges: Pearson's, or Spearman's with Fisher's z; pairs that have none are left out."""
    rows = np.flatnonzero(np.isfinite(scores).sum(axis=0) >= 2)
    x, correlation = scores[:, rows], spearman if by_rank else pearson

    def statistic(i: Indices) -> Vector:
        return panel_mean(np.stack([correlation(a[i], b[i]) for a, b in combinations(x, 2)]))

    nothing = refused(len(rows), (len(scores) < 2, _ALONE), (len(rows) < 2, _TWO))
    return nothing or sampling.estimate(statistic, rows, fisher=by_rank)


def others(scores: Rows, judge: int, leave_out: NDArray[np.bool_] | None = None) -> Vector:
    """The mean score of the other judges, argument by argument; nan where none of them gave one.

    >>> others(np.array([[0.2, 0.4], [0.6, np.nan], [0.8, 0.5]]), 0).round(3).tolist()
    [0.7, 0.5]
    """
    rest = np.ones(len(scores), dtype=bool) if leave_out is None else ~leave_out
    rest[judge] = False
    return panel_mean(scores[rest])


def with_rest(scores: Rows, judge: int, sampling: Sampling) -> Estimate:
    """Spearman's ρ of one judge's scores with the mean of the others': near 0, it scores something else, or nothing."""
    rest, own = others(scores, judge), scores[judge]
    rows = np.flatnonzero(np.isfinite(own) & np.isfinite(rest))
    own, rest = own[rows], rest[rows]
    return refused(
        len(rows),
        (len(scores) < 2, _ALONE),
        (len(rows) < 3, "fewer than three arguments that others scored too"),
        (constant(own), f"it gave every argument the same score, {own[:1].sum():.2f}"),
    ) or sampling.estimate(lambda i: spearman(own[i], rest[i]), rows, fisher=True)


def constant(scores: Vector) -> bool:
    """Whether all scores are the same.

    >>> constant(np.array([0.5, 0.5])), constant(np.array([0.5, 0.6]))
    (True, False)
    """
    return not len(scores) or bool(np.ptp(scores) < 1e-9)


def spread(scores: Vector, sampling: Sampling) -> Estimate:
    """The standard deviation of a judge's scores: near 0, it hardly tells arguments apart."""
    rows = np.flatnonzero(np.isfinite(scores))
    given = scores[rows]

    def deviation(i: Indices) -> Vector:
        one_left = i.shape[1] < 2  # undefined
        return np.full(len(i), np.nan) if one_left else np.asarray(given[i].std(axis=1, ddof=1))

    return refused(len(rows), (len(rows) < 2, "fewer than two scores")) or sampling.estimate(deviation, rows)


def scores_needed(r: float, reliability: float = 0.8) -> int | None:
    """K: how many scores of judges who correlate at r make a mean of this reliability (Spearman–Brown); ``None`` for r ≤ 0.

    K = R(1 − r) / (r(1 − R)).

    >>> scores_needed(0.5), scores_needed(0.71), scores_needed(-0.1)
    (4, 2, None)
    """
    if r <= 0:
        return None
    return max(1, int(np.ceil(reliability * (1 - r) / (r * (1 - reliability)) - 1e-9)))


# --- with people ----------------------------------------------------------------------------------------------------------------


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
    statistic = ratio_of([above for above, _ in by], [below for _, below in by])
    found = Sampling(tuple(range(len(by))), seed, resamples).estimate(statistic, np.arange(len(by)), "pairs")
    return replace(found, n=len(hits), how=f"{found.how}, {plural(len(by), 'group')} resampled")


def against_people(judge: str, scores: Vector, people: Vector, sampling: Sampling) -> Agreement:
    """A judge's scores of items against people's (nan where there is none)."""
    rows = np.flatnonzero(np.isfinite(scores) & np.isfinite(people))
    x, y, n = scores[rows], people[rows], len(rows)
    if nothing := refused(n, (n < 3, "fewer than three arguments that both scored")):
        return Agreement(judge=judge, rho=nothing, pairs=nothing, auc=nothing)
    middle = np.median(y)
    upper = np.where(y == middle, np.nan, (y > middle).astype(float))
    cases = [sampling.groups[i] for i in rows.tolist()]
    pairs = [(a, b) for a, b in combinations(range(n), 2) if cases[a] == cases[b] and y[a] != y[b]]
    hits = [hit(x[a] - x[b], y[a] - y[b]) for a, b in pairs]
    flat = refused(n, (constant(x) or constant(y), "the judge, or people, gave the same score throughout"))
    return Agreement(
        judge=judge,
        rho=flat or sampling.estimate(lambda i: spearman(x[i], y[i]), rows, fisher=True),
        pairs=pair_accuracy(hits, [cases[a] for a, _ in pairs], seed=sampling.seed, resamples=sampling.resamples),
        auc=sampling.estimate(lambda i: auc(x[i], upper[i]), rows),
    )


def human_alpha(people: Rows, sampling: Sampling) -> Estimate:
    """Do people agree with each other? A judge can hardly agree with them more than they do."""
    alone = refused(0, (len(people) < 2, "one person only: fill in `rater` to tell several apart"))
    return alone or alpha(people, sampling)


COLUMNS = ("code", "question", "context", "argument", "evidence", "score", "rater")


def code(item: Subject) -> str:
    """What an argument is called towards people."""
    return hashlib.sha256(f"blind/{item.id}".encode()).hexdigest()[:10]


def blind(items: Sequence[Subject]) -> list[dict[str, str]]:
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


def exported(items: Sequence[Subject], to: Path) -> None:
    """Write them, as CSV or JSONL by the file's name."""
    if to.suffix not in (".csv", ".jsonl"):
        raise InputError(f"--export {to}: name a file that ends in .csv or .jsonl")
    write_blind(blind(items), COLUMNS, to)


def imported(file: Path, items: Sequence[Subject]) -> Rows:
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
