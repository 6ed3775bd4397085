"""Paired tests of two methods on the same cases, and the adjustment for many tests."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from maci.calibration.stats.correlation import ranks
from maci.calibration.stats.estimate import Groups, Indices, difference_of, per_group
from maci.errors import InputError
from maci.moderator.belief import Vector

FDR = 0.05
"""q of Benjamini–Hochberg."""
_EXACT_FLIPS = 1000
"""Above so many discordant cases McNemar's test is approximate unless asked otherwise."""
_EXACT_RANKS = 50
"""Up to so many differences Wilcoxon's test is exact where it can be."""


@dataclass(frozen=True, slots=True)
class Significance:
    """A two-sided test.

    >>> Significance(3.0, 0.25, 8, "exact").p
    0.25
    """

    statistic: float
    p: float
    """nan where there was nothing to test; not adjusted for other tests."""
    n: int
    """Cases compared."""
    how: str


def mcnemar(
    a: ArrayLike,
    b: ArrayLike,
    *,
    groups: Groups | None = None,
    method: Literal["auto", "exact", "mid-p", "continuity"] = "auto",
) -> Significance:
    """Whether two methods are right on the same cases equally often.

    Only cases that one got right and the other wrong count: n₁₀ and n₀₁ of them. ``exact``: p = min(1, 2 P(X ≤ min(n₁₀, n₀₁))),
    X ~ Bin(n₁₀ + n₀₁, ½). ``mid-p``: that less P(X = min) (Fagerland, Lydersen & Laake 2013, *BMC Med. Res. Methodol.* 13:91).
    ``continuity``: χ² = (|n₁₀ − n₀₁| − 1)² / (n₁₀ + n₀₁) (McNemar 1947, *Psychometrika* 12; Edwards 1948). ``auto`` is exact up to
    1,000 discordant cases, then with continuity. No discordant case: p = 1. The statistic is n₁₀ − n₀₁.

    With ``groups`` a case's difference d = n₁₀ − n₀₁ over its rows keeps its size and, if the methods are alike, has either sign
    with equal chance (Fisher's randomisation): exact is P(|Σ ±dₖ| ≥ |Σ dₖ|), χ² has Σ dₖ² below. One row per case is McNemar's test.

    >>> mcnemar([1, 1, 1, 1, 1, 0, 1], [0, 0, 0, 0, 0, 1, 1])
    Significance(statistic=4.0, p=0.21875, n=7, how='McNemar exact')
    >>> mcnemar([1, 1, 1, 1, 1, 0, 1], [0, 0, 0, 0, 0, 1, 1], method="mid-p").p
    0.125
    """
    if method not in ("auto", "exact", "mid-p", "continuity"):
        raise InputError(f"method is {method!r}: choose auto, exact, mid-p or continuity")
    for name, x in (("a", np.asarray(a)), ("b", np.asarray(b))):
        if not np.isin(x, (0, 1)).all():
            raise InputError(f"{name} holds values other than right (1) and wrong (0): McNemar's test compares those")
    rows = difference_of(a, b)
    d = per_group(rows, groups, np.sum).astype(np.int64)
    if not len(d):
        return Significance(math.nan, math.nan, 0, "no cases")
    d = d[d != 0]
    statistic, clusters = int(d.sum()), "" if groups is None else ", by clusters"
    if method == "auto":
        method = "exact" if len(d) <= _EXACT_FLIPS else "continuity"
    how = f"McNemar {method}{clusters}"
    if not len(d):
        return Significance(0.0, 1.0, len(rows), how)
    if method == "continuity":
        z = max(0, abs(statistic) - 1) / math.sqrt(float((d * d).sum()))
        return Significance(float(statistic), math.erfc(z / math.sqrt(2)), len(rows), how)
    chance, reach = _signed_sums(np.abs(d))
    sums = np.arange(-reach, reach + 1)
    p = float(chance[np.abs(sums) >= abs(statistic)].sum())
    if method == "mid-p":
        p -= float(chance[np.abs(sums) == abs(statistic)].sum()) / 2
    return Significance(float(statistic), min(1.0, p), len(rows), how)


def wilcoxon(
    a: ArrayLike,
    b: ArrayLike,
    *,
    groups: Groups | None = None,
    zeros: Literal["pratt", "wilcox"] = "pratt",
    method: Literal["auto", "exact", "normal"] = "auto",
) -> Significance:
    """The paired signed-rank test: whether the differences a − b lie evenly about 0.

    |aᵢ − bᵢ| are ranked, ties by their mean rank; W⁺ = Σ ranks of positive differences. Without ties and zeros and up to 50
    differences p is exact: 2 min(P(W ≤ W⁺), P(W ≥ W⁺)), every sign having chance ½ (Wilcoxon 1945, *Biometrics Bull.* 1). Else
    z = (W⁺ − μ)/σ with μ = (n(n+1) − m(m+1))/4, σ² = (n(n+1)(2n+1) − m(m+1)(2m+1) − ½ Σ (t³ − t))/24, ties of t, no
    continuity correction. Zeros: ``pratt`` ranks the m zeros and then drops their ranks (Pratt 1959, *JASA* 54), so that cases on
    which methods agree still weigh; ``wilcox`` drops them first (m = 0). No difference at all: p = 1.

    With ``groups`` the mean difference of each group is one difference. Differences count to 12 decimals: what rounding leaves
    between two equal beliefs is no difference, and breaks no tie.

    >>> wilcoxon([1.1, 2.2, 3.3, 4.4, 5.5], [1.0, 2.0, 3.0, 4.0, 5.0])
    Significance(statistic=15.0, p=0.0625, n=5, how='Wilcoxon exact')
    """
    if zeros not in ("pratt", "wilcox"):
        raise InputError(f"zeros is {zeros!r}: choose pratt or wilcox")
    if method not in ("auto", "exact", "normal"):
        raise InputError(f"method is {method!r}: choose auto, exact or normal")
    d = np.round(per_group(difference_of(a, b), groups, np.mean), 12)
    cases, m = len(d), int((d == 0).sum())
    if not cases:
        return Significance(math.nan, math.nan, 0, "no cases")
    if zeros == "wilcox":
        d, m = d[d != 0], 0
    if m == len(d):
        return Significance(0.0, 1.0, cases, "Wilcoxon: no differences")
    plus = float(ranks(np.abs(d)[None])[0][d > 0].sum())
    _, ties = np.unique(np.abs(d[d != 0]), return_counts=True)
    n, plain = len(d), m == 0 and bool((ties == 1).all())
    if method == "exact" and not plain:
        raise InputError("method is exact, but there are ties or zeros among the differences: use auto or normal")
    if method == "exact" or (method == "auto" and plain and n <= _EXACT_RANKS):
        chance, reach = _signed_sums(np.arange(1, n + 1))
        signed = 2 * round(plus) - reach  # W⁺ − W⁻, symmetric about 0
        p = float(chance[np.abs(np.arange(-reach, reach + 1)) >= abs(signed)].sum())
        return Significance(plus, min(1.0, p), cases, "Wilcoxon exact")
    mean = (n * (n + 1) - m * (m + 1)) / 4
    spread = n * (n + 1) * (2 * n + 1) - m * (m + 1) * (2 * m + 1) - float((ties**3 - ties).sum()) / 2
    z = (plus - mean) / math.sqrt(spread / 24)
    return Significance(plus, math.erfc(abs(z) / math.sqrt(2)), cases, f"Wilcoxon normal, zeros by {zeros}")


def benjamini_hochberg(p: ArrayLike) -> Vector:
    """Adjusted p-values, in the order given: reject those ≤ q and at most a share q of the rejections is expected to be false.

    p̃₍ᵢ₎ = min over j ≥ i of min(1, m p₍ⱼ₎ / j), for m tests that are independent or positively dependent. An undefined p (nan)
    stays so and is not counted in m. Benjamini & Hochberg (1995), *JRSS B* 57.

    >>> benjamini_hochberg([0.01, 0.04, 0.03, float("nan")]).round(3).tolist()
    [0.03, 0.04, 0.04, nan]
    """
    given = np.asarray(p, dtype=float)
    known = np.flatnonzero(~np.isnan(given))
    if len(known) and (given[known].min() < 0 or given[known].max() > 1):
        raise InputError(f"p holds {given[known].min():g} to {given[known].max():g}: p-values lie between 0 and 1")
    adjusted = np.full(given.shape, np.nan)
    order = known[np.argsort(given[known], kind="stable")]
    stepped = given[order] * len(order) / np.arange(1, len(order) + 1)
    adjusted[order] = np.minimum(np.minimum.accumulate(stepped[::-1])[::-1], 1.0)
    return adjusted


def _signed_sums(sizes: Indices) -> tuple[Vector, int]:
    """The chances of −R … R for Σ ±sizeₖ with fair independent signs, R = Σ sizeₖ."""
    reach = int(sizes.sum())
    chance = np.zeros(2 * reach + 1)
    chance[reach] = 1.0
    for size in sizes.tolist():
        moved = np.zeros_like(chance)
        moved[size:] += chance[:-size] / 2
        moved[:-size] += chance[size:] / 2
        chance = moved
    return chance, reach
