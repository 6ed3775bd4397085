"""What besides the argument moves a judge's score? Every measure is in points of CRIT (0 … 1) unless it says otherwise.

| | |
|---|---|
| ``own_family`` | mean (s_j − s̄₋ⱼ) on its own family less the same on the rest |
| ``length`` | partial rank correlation of s_j with the number of words, at equal s̄₋ⱼ. All judges loving length alike escapes it |
| ``shift`` | mean change of the score when the same argument is asked in another way: padded, signed with its author, turned round |
| ``position`` | mean of score asked early minus score asked late in the batch, the same argument in both places |
| ``within`` | standard deviation of a judge's scores of one argument, and the share it has in the variance of all its scores |
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from maci.calibration.stats.correlation import Rows, partial
from maci.calibration.stats.estimate import Estimate
from maci.calibration.stats.sampling import Sampling, missing
from maci.lab.audit.judges.agreement import others
from maci.lab.audit.judges.probes import Ratings
from maci.moderator.belief import Vector

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
    if not own.any():
        return missing(f"no argument is by an agent of its family ({family})")
    if kin.all():
        return missing(f"all judges are of the family {family}: nobody to compare with")
    if own[rows].sum() < _ENOUGH or (~own[rows]).sum() < _ENOUGH:
        return missing(f"fewer than {_ENOUGH} arguments of its own family, or of others", len(rows))
    x, mine = excess[rows], own[rows]
    return sampling.estimate(lambda i: _gap(x[i], mine[i]), rows)


def _gap(x: Rows, mine: NDArray[np.bool_]) -> Vector:
    """Mean where ``mine`` less mean elsewhere, in each row."""
    n = mine.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        own = np.where(mine, x, 0.0).sum(axis=1) / n
        rest = np.where(mine, 0.0, x).sum(axis=1) / (x.shape[1] - n)
    found: Vector = own - rest
    return found


def length(ratings: Ratings, judge: int, sampling: Sampling) -> Estimate:
    """Rank correlation of a judge's score with length, at equal scores of the others."""
    own, rest = ratings.plain[judge], others(ratings.plain, judge)
    words = np.array([float(item.words) for item in ratings.items])
    rows = np.flatnonzero(np.isfinite(own) & np.isfinite(rest))
    if len(ratings.judges) < 2:
        return missing("there is no other judge to compare with")
    if len(rows) < 2 * _ENOUGH:
        return missing(f"fewer than {2 * _ENOUGH} arguments that others scored too", len(rows))
    x, y, z = own[rows], words[rows], rest[rows]
    if np.ptp(y) == 0:
        return missing("all arguments are of one length", len(rows))
    if not np.isfinite(partial(x[None], y[None], z[None])[0]):
        return missing("its scores do not vary, or follow the others' exactly", len(rows))
    return sampling.estimate(lambda i: partial(x[i], y[i], z[i]), rows, fisher=True)


def shift(plain: Vector, varied: Vector, sampling: Sampling) -> Estimate:
    """Mean of varied − plain over the arguments that have both."""
    change = varied - plain
    if not np.isfinite(change).any():
        return missing("no argument was asked both ways")
    return sampling.mean(change)


def shift_by_family(ratings: Ratings, judge: int, probe: str, sampling: Sampling) -> dict[str, Estimate]:
    """The shift for the arguments of each agents' family."""
    change = ratings.variants[probe][judge] - ratings.plain[judge]
    found = {}
    for family in sorted({item.family for item in ratings.items} - {""}):
        kept = np.where([item.family == family for item in ratings.items], change, np.nan)
        n = int(np.isfinite(kept).sum())
        found[family] = (
            sampling.mean(kept) if n >= _ENOUGH else missing(f"fewer than {_ENOUGH} arguments of this family", n)
        )
    return found


def position(ratings: Ratings, judge: int, sampling: Sampling) -> Estimate:
    """Early minus late: batches are asked in one order and then in the reverse, so that every argument is in both places."""
    back = ratings.variants.get("batch")
    if ratings.place is None or back is None or not np.isfinite(ratings.place[judge]).any():
        return missing("each argument is asked in a call of its own: no order can reach it")
    place, change = ratings.place[judge], ratings.plain[judge] - back[judge]
    with np.errstate(invalid="ignore"):
        early = np.where(place < 0.5, change, np.where(place > 0.5, -change, np.nan))
    if not np.isfinite(early).any():
        return missing("no batch has two arguments")
    return sampling.mean(early)


def _variances(ratings: Ratings, judge: int) -> Vector:
    """Unbiased variance of a judge's scores of each argument; nan for fewer than two scores."""
    given = np.stack([ratings.plain[judge], *(scores[judge] for scores in ratings.again)])
    known = np.isfinite(given)
    n = known.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(known, given, 0.0).sum(axis=0) / n
        found: Vector = (np.where(known, given - mean, 0.0) ** 2).sum(axis=0) / (n - 1)
    return np.where(n >= 2, found, np.nan)


def within(ratings: Ratings, judge: int, sampling: Sampling) -> Estimate:
    """√ of the mean variance of a judge's scores of one and the same argument."""
    found = _variances(ratings, judge)
    rows = np.flatnonzero(np.isfinite(found))
    if not len(rows):
        return missing("no argument was asked twice")
    return sampling.estimate(lambda i: np.sqrt(found[rows][i].mean(axis=1)), rows)


def noise(ratings: Ratings, judge: int, sampling: Sampling) -> Estimate:
    """The share of chance in a judge's scores: variance within an argument over variance across arguments; may exceed 1 by chance."""
    found, plain = _variances(ratings, judge), ratings.plain[judge]
    rows = np.flatnonzero(np.isfinite(found) & np.isfinite(plain))
    if len(rows) < _ENOUGH:
        return missing(f"fewer than {_ENOUGH} arguments were asked twice", len(rows))
    if np.ptp(plain[rows]) < 1e-9:
        return missing(f"it gave every argument the same score, {plain[rows][0]:.2f}", len(rows))
    inner, x = found[rows], plain[rows]

    def statistic(i: NDArray[np.int64]) -> Vector:
        across = x[i].var(axis=1, ddof=1)
        ratio: Vector = np.divide(inner[i].mean(axis=1), across, out=np.full(len(i), np.nan), where=across > 1e-18)
        return ratio

    return sampling.estimate(statistic, rows)
