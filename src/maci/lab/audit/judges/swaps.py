"""What changes a score although the argument is the same: other judges, order, length, identity (SPEC 5).

*Pairs.* For a pair shown both ways, p and p′ are the chances a judge gives to the argument shown first. Without a preference for a
place, p + p′ = 1: *position bias* is the mean of p + p′ − 1, from −1 (always the second) to 1 (always the first). A judge is
*consistent* if it prefers the same argument both ways.

*Winners.* The winner of a debate is the agent with the highest mean CRIT; within :data:`BAND` of the next it is a tie. Flips under
another judge or another order are counted in two ways: with ties *forgiven*, a flip is from one clear winner to another; with ties
*counted*, a tie is a separate outcome, and winner → tie is a flip too.

*Scores.* Every measure is in points of CRIT (0 … 1) unless it says otherwise.

| | |
|---|---|
| ``own_family`` | mean (s_j − s̄₋ⱼ) on its own family less the same on the rest |
| ``length`` | partial rank correlation of s_j with the number of words, at equal s̄₋ⱼ. A bias that all judges share escapes it |
| ``shift`` | mean change of the score when the same argument is asked in another way: padded, signed with its author, turned round |
| ``position`` | mean of score asked early minus score asked late in the batch, the same argument in both places |
| ``within`` | standard deviation of a judge's scores of one argument, and the share it has in the variance of all its scores |
"""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from maci.agents.agent import Judge
from maci.agents.judges.crit import JudgeAbstained, ScoreRequest
from maci.calibration.stats import Estimate, Indices, Sampling, bootstrap_mean, missing, share
from maci.calibration.stats.paired import Rows, partial, spearman
from maci.errors import BudgetError
from maci.lab.audit.judges.agreement import Ratings, constant, others, panel_mean, refused
from maci.lab.audit.judges.items import Docket, Subject
from maci.llm.budget import Ledger, reported
from maci.llm.usage import Bound, Usage
from maci.moderator.belief import Vector


@runtime_checkable
class PairJudge(Protocol):
    """A judge that can also compare."""

    async def prefer(self, first: ScoreRequest, second: ScoreRequest) -> tuple[float, Usage]:
        """The chance that the first is better, and what asking cost; raises :class:`JudgeAbstained` where it cannot say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairs:
    """What place does to a comparison."""

    bias: Estimate
    consistent: Estimate


def pairs_of(batches: Sequence[Docket], most: int) -> list[tuple[Subject, Subject]]:
    """Arguments of different agents of one debate, two by two."""
    found = [pair for batch in batches for pair in pairwise(batch.items) if pair[0].agent != pair[1].agent]
    return found[:most]


async def presented_both_ways(
    judge: PairJudge,
    pairs: Sequence[tuple[Subject, Subject]],
    *,
    ledger: Ledger | None = None,
    seed: int = 0,
    resamples: int = 10_000,
) -> Pairs:
    """Ask for every pair, both ways, one after the other, until the ledger allows no more."""

    def prefer(one: Subject, two: Subject) -> Awaitable[float]:
        free, most = False, Bound()
        if isinstance(judge, Judge):  # to compare two can cost as much as to score both
            free = judge.free
            most = judge.prepare(one.request).bound.plus(judge.prepare(two.request).bound)
        return reported(most, free, lambda: judge.prefer(one.request, two.request)).within(ledger)

    said: list[tuple[str, float, float]] = []
    for one, two in pairs:
        try:
            with suppress(JudgeAbstained):
                said.append((one.case, await prefer(one, two), await prefer(two, one)))
        except BudgetError:
            break
    if not said:
        nothing = missing("no pair was compared both ways", 0, "pairs")
        return Pairs(bias=nothing, consistent=nothing)
    bias = np.array([p + q - 1 for _, p, q in said])
    same = sum((p > 0.5) == (q < 0.5) and p != 0.5 and q != 0.5 for _, p, q in said)
    sampling = Sampling(tuple(case for case, _, _ in said), seed, resamples)
    return Pairs(bias=sampling.mean(bias, "pairs"), consistent=share(same, len(said), "pairs"))


BAND = 0.02
"""|Δ| of mean CRIT up to which two agents tie."""
CLOSE = 0.05
"""|Δ| below which two scores of one argument are the same for practical purposes."""


def winners(ratings: Ratings, scores: Vector, band: float = BAND) -> dict[str, tuple[str | None, float]]:
    """Debate → (who is ahead, by how much); ``None`` for a tie. Debates in which fewer than two agents were scored have no entry."""
    said: dict[str, dict[str, list[float]]] = {}
    for item, score in zip(ratings.items, scores.tolist(), strict=True):
        if np.isfinite(score):
            said.setdefault(item.debate, {}).setdefault(item.agent, []).append(score)
    found: dict[str, tuple[str | None, float]] = {}
    for debate, agents in said.items():
        if len(agents) >= 2:
            means = {agent: sum(given) / len(given) for agent, given in agents.items()}
            first, second = sorted(means, key=lambda agent: -means[agent])[:2]
            margin = means[first] - means[second]
            found[debate] = (None if margin <= band + 1e-12 else first, margin)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeSwap:
    """Winners under one judge, and under another in its place."""

    first: str
    second: str
    forgiven: Estimate
    counted: Estimate
    margin: float | None
    """Mean lead, under the first judge, in the debates that flipped (ties forgiven)."""


def flips(
    one: dict[str, tuple[str | None, float]], two: dict[str, tuple[str | None, float]]
) -> dict[str, tuple[bool, bool]]:
    """Debate → flipped with ties forgiven, with ties counted; for debates that have a verdict under both.

    >>> flips({"d": ("a", 0.1), "e": ("a", 0.1)}, {"d": ("b", 0.1), "e": (None, 0.01)})
    {'d': (True, True), 'e': (False, True)}
    """
    both = [debate for debate in one if debate in two]
    leads = {debate: (one[debate][0], two[debate][0]) for debate in both}
    return {debate: (None not in (a, b) and a != b, a != b) for debate, (a, b) in leads.items()}


def judge_swap(ratings: Ratings, band: float = BAND) -> tuple[JudgeSwap, ...]:
    """Every pair of judges, one in the place of the other; Wilson's interval over debates."""
    held = [winners(ratings, row, band) for row in ratings.plain]
    found = []
    for a, b in combinations(range(len(held)), 2):
        flipped = flips(held[a], held[b])
        leads = [held[a][debate][1] for debate, (forgiven, _) in flipped.items() if forgiven]
        found.append(
            JudgeSwap(
                first=ratings.judges[a].name,
                second=ratings.judges[b].name,
                forgiven=share(sum(forgiven for forgiven, _ in flipped.values()), len(flipped), "debates"),
                counted=share(sum(counted for _, counted in flipped.values()), len(flipped), "debates"),
                margin=sum(leads) / len(leads) if leads else None,
            )
        )
    return tuple(found)


def swap_rate(ratings: Ratings, sampling: Sampling, *, counted: bool, band: float = BAND) -> Estimate:
    """The share of debates that flip, averaged over all pairs of judges; debates resampled, Wilson where none or all do."""
    held = [winners(ratings, row, band) for row in ratings.plain]
    per: dict[str, list[bool]] = {}
    for one, two in combinations(held, 2):
        for debate, both in flips(one, two).items():
            per.setdefault(debate, []).append(both[counted])
    if len(held) < 2:
        return missing("there is one judge, and no other to put in its place", 0, "debates")
    if not per:
        return missing("no debate has scored arguments of two agents", 0, "debates")
    rates = np.array([sum(given) / len(given) for given in per.values()])
    if rates.max() == 0 or rates.min() == 1:
        return share(round(rates.sum()), len(rates), "debates")
    case = {item.debate: item.case for item in ratings.items}
    rng = np.random.default_rng(sampling.seed)
    found = bootstrap_mean(rates, rng, groups=[case[debate] for debate in per], resamples=sampling.resamples)
    return replace(found, unit="debates", how=f"{found.how}, mean over pairs")


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderSwap:
    """Scores of the same arguments in two orders."""

    mean: Estimate
    """Mean |Δ|."""
    close: Estimate
    """Share with |Δ| < 0.05."""
    rho: Estimate
    """Spearman's ρ between both orders."""


def order_swap(forward: Vector, back: Vector, sampling: Sampling) -> OrderSwap:
    """How much an order matters, for one judge or for the panel's mean."""
    rows = np.flatnonzero(np.isfinite(forward) & np.isfinite(back))
    n = len(rows)
    if nothing := refused(0, (not n, "no argument was scored in both orders")):
        return OrderSwap(mean=nothing, close=nothing, rho=nothing)
    gap: Vector = np.abs(forward - back).round(12)  # less is rounding
    x, y = forward[rows], back[rows]
    if not gap[rows].any() and np.ptp(x) > 0:
        rho = Estimate(1.0, 1.0, 1.0, n, "every score is the same", "arguments")
    else:
        few = refused(n, (n < 3, "fewer than three arguments"))
        rho = few or sampling.estimate(lambda i: spearman(x[i], y[i]), rows, fisher=True)
    close = share(int((gap[rows] < CLOSE - 1e-12).sum()), n, "arguments")
    return OrderSwap(mean=sampling.mean(gap), close=close, rho=rho)


_ENOUGH = 5
"""Arguments of a kind, below which nothing is said of it."""


def own_family(ratings: Ratings, judge: int, sampling: Sampling) -> Estimate:
    """Difference in differences; judges of the same family are no yardstick and are left out of s̄₋ⱼ."""
    family = ratings.judges[judge].family
    kin = np.array([seat.family == family for seat in ratings.judges])
    excess = ratings.plain[judge] - others(ratings.plain, judge, kin)
    own = np.array([item.family == family for item in ratings.items])
    known = np.array([item.family != "" for item in ratings.items])
    rows = np.flatnonzero(np.isfinite(excess) & known)
    x, mine = excess[rows], own[rows]
    nothing = refused(
        0,
        (not own.any(), f"no argument is by an agent of its family ({family})"),
        (kin.all(), f"all judges are of the family {family}: nobody to compare with"),
    )
    few = min(mine.sum(), (~mine).sum()) < _ENOUGH, f"fewer than {_ENOUGH} arguments of its own family, or of others"
    return nothing or refused(len(rows), few) or sampling.estimate(lambda i: _gap(x[i], mine[i]), rows)


def _gap(x: Rows, mine: NDArray[np.bool_]) -> Vector:
    """Mean where ``mine`` less mean elsewhere, in each row."""
    own, rest = np.where(mine, x, np.nan), np.where(mine, np.nan, x)
    return panel_mean(own.T) - panel_mean(rest.T)


def length(ratings: Ratings, judge: int, sampling: Sampling) -> Estimate:
    """Rank correlation of a judge's score with length, at equal scores of the others."""
    own, rest = ratings.plain[judge], others(ratings.plain, judge)
    words = np.array([float(item.words) for item in ratings.items])
    rows = np.flatnonzero(np.isfinite(own) & np.isfinite(rest))
    x, y, z = own[rows], words[rows], rest[rows]
    if nothing := refused(
        len(rows),
        (len(ratings.judges) < 2, "there is no other judge to compare with"),
        (len(rows) < 2 * _ENOUGH, f"fewer than {2 * _ENOUGH} arguments that others scored too"),
    ):
        return nothing
    unknown = not np.isfinite(partial(x[None], y[None], z[None])[0])
    return refused(
        len(rows),
        (np.ptp(y) == 0, "all arguments are of one length"),
        (unknown, "its scores do not vary, or follow the others' exactly"),
    ) or sampling.estimate(lambda i: partial(x[i], y[i], z[i]), rows, fisher=True)


def shift(plain: Vector, varied: Vector, sampling: Sampling) -> Estimate:
    """Mean of varied − plain over the arguments that have both."""
    change = varied - plain
    nothing = refused(0, (not np.isfinite(change).any(), "no argument was asked both ways"))
    return nothing or sampling.mean(change)


def shift_by_family(ratings: Ratings, judge: int, probe: str, sampling: Sampling) -> dict[str, Estimate]:
    """The shift for the arguments of each agents' family."""
    change = ratings.variants[probe][judge] - ratings.plain[judge]
    found = {}
    for family in sorted({item.family for item in ratings.items} - {""}):
        kept = np.where([item.family == family for item in ratings.items], change, np.nan)
        n = int(np.isfinite(kept).sum())
        few = refused(n, (n < _ENOUGH, f"fewer than {_ENOUGH} arguments of this family"))
        found[family] = few or sampling.mean(kept)
    return found


def position(ratings: Ratings, judge: int, sampling: Sampling) -> Estimate:
    """Early minus late: batches are asked in one order and then in the reverse, so that every argument is in both places."""
    back = ratings.variants.get("batch")
    if ratings.place is None or back is None or not np.isfinite(ratings.place[judge]).any():
        return missing("each argument is asked in a call of its own: no order can reach it")
    place, change = ratings.place[judge], ratings.plain[judge] - back[judge]
    with np.errstate(invalid="ignore"):
        early = np.where(place < 0.5, change, np.where(place > 0.5, -change, np.nan))
    return refused(0, (not np.isfinite(early).any(), "no batch has two arguments")) or sampling.mean(early)


def _variances(ratings: Ratings, judge: int) -> Vector:
    """Unbiased variance of a judge's scores of each argument; nan for fewer than two scores."""
    given = np.stack([ratings.plain[judge], *(scores[judge] for scores in ratings.again)])
    n = np.isfinite(given).sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        found: Vector = np.nansum((given - panel_mean(given)) ** 2, axis=0) / (n - 1)
    return np.where(n >= 2, found, np.nan)


def within(ratings: Ratings, judge: int, sampling: Sampling) -> Estimate:
    """√ of the mean variance of a judge's scores of one and the same argument."""
    found = _variances(ratings, judge)
    rows = np.flatnonzero(np.isfinite(found))
    nothing = refused(0, (not len(rows), "no argument was asked twice"))
    return nothing or sampling.estimate(lambda i: np.sqrt(found[rows][i].mean(axis=1)), rows)


def noise(ratings: Ratings, judge: int, sampling: Sampling) -> Estimate:
    """The share of chance in a judge's scores: variance within an argument over variance across arguments; may exceed 1 by chance."""
    found, plain = _variances(ratings, judge), ratings.plain[judge]
    rows = np.flatnonzero(np.isfinite(found) & np.isfinite(plain))
    inner, x = found[rows], plain[rows]

    def statistic(i: Indices) -> Vector:
        across = x[i].var(axis=1, ddof=1)
        ratio: Vector = np.divide(inner[i].mean(axis=1), across, out=np.full(len(i), np.nan), where=across > 1e-18)
        return ratio

    return refused(
        len(rows),
        (len(rows) < _ENOUGH, f"fewer than {_ENOUGH} arguments were asked twice"),
        (constant(x), f"it gave every argument the same score, {x[:1].sum():.2f}"),
    ) or sampling.estimate(statistic, rows)
