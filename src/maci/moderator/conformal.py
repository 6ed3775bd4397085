r"""Split conformal prediction: a set of outcomes that holds the truth with a stated probability.

The nonconformity s(p, y) of the true outcome is taken on n cases that taught nothing else. A set of coverage 1 − α is every outcome of
a new case whose nonconformity is at most the k-th smallest of them (Vovk et al. 2005; the finite-sample correction of Lei et al. 2018):

.. math::
   \hat q_\alpha = s_{(k)},\quad k = \lceil (n+1)(1-\alpha) \rceil,\qquad C(x) = \{y : s(p, y) \le \hat q_\alpha\}

Then P(y ∈ C) ≥ 1 − α over cases *like those calibrated on*, whatever the model. With k > n there is no such quantile: only the set
of all outcomes has that coverage. Two scores (Sadinle et al. 2019; Romano et al. 2020, without its random part):

========  ==========================================================
``lac``   1 − p_y: the smallest sets on average
``aps``   the p of all outcomes at least as probable as y, itself included: sets that adapt to the case
========  ==========================================================

The leading outcome is always in the set: a set without it could be empty, and adding it costs no coverage.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from maci.errors import InputError
from maci.moderator.belief import Vector

Score = Literal["lac", "aps"]

COVERAGES = (0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.98, 0.99)
"""Those for which a calibration keeps a threshold."""
_ROUNDING = 1e-9


def nonconformity(p: Vector, score: Score) -> Vector:
    """s(p, y) of every outcome, in [0, 1].

    >>> nonconformity(np.array([0.5, 0.3, 0.2]), "lac").round(3).tolist()
    [0.5, 0.7, 0.8]
    >>> nonconformity(np.array([0.5, 0.3, 0.2]), "aps").round(3).tolist()
    [0.5, 0.8, 1.0]
    """
    if score == "lac":
        return 1.0 - p
    order = np.argsort(-p, kind="stable")
    total = np.cumsum(p[order])
    last = np.searchsorted(-p[order], -p[order] + _ROUNDING, side="left") - 1  # of equals all count
    found = np.empty_like(p)
    found[order] = np.minimum(total[np.maximum(last, np.arange(len(p)))], 1.0)
    return found


def quantile(scores: Sequence[float] | Vector, coverage: float) -> float:
    """q̂: the ⌈(n+1)·coverage⌉-th smallest score; infinite where there are too few.

    >>> quantile([0.1, 0.2, 0.3, 0.4], 0.8), quantile([0.1, 0.2, 0.3, 0.4], 0.9)
    (0.4, inf)
    """
    if not 0 < coverage < 1:
        raise InputError(f"coverage is {coverage}: give a number above 0 and below 1, such as 0.9")
    ordered = np.sort(np.asarray(scores, dtype=float))
    k = math.ceil((len(ordered) + 1) * coverage - _ROUNDING)
    return float(ordered[k - 1]) if 1 <= k <= len(ordered) else math.inf


def prediction_set(p: Vector, limit: float, score: Score) -> list[int]:
    """The outcomes within the limit, most probable first; the leading one always.

    >>> prediction_set(np.array([0.2, 0.7, 0.1]), 0.8, "lac")
    [1, 0]
    """
    order = np.argsort(-p, kind="stable")
    near = nonconformity(p, score)[order] <= limit + _ROUNDING
    near[0] = True
    return [int(y) for y in order[near]]


def threshold(known: Mapping[str, float], coverage: float) -> tuple[float, float] | None:
    """(coverage kept, its threshold): of those that a calibration has the least one that promises enough; ``None`` without any.

    >>> threshold({"0.8": 0.3, "0.95": 0.7}, 0.9), threshold({"0.8": 0.3}, 0.9) is None
    ((0.95, 0.7), True)
    """
    enough = sorted((float(level), q) for level, q in known.items() if float(level) >= coverage - _ROUNDING)
    return enough[0] if enough else None


def sizes(beliefs: Sequence[Vector], gold: Sequence[int], coverage: float, score: Score) -> float:
    """Mean size of the sets if each case were judged by the others: what a score costs; nan for too few cases."""
    scores = np.array([nonconformity(p, score)[y] for p, y in zip(beliefs, gold, strict=True)])
    if math.isinf(quantile(scores[1:], coverage)):
        return math.nan
    kept = [len(prediction_set(p, quantile(np.delete(scores, i), coverage), score)) for i, p in enumerate(beliefs)]
    return float(np.mean(kept))


def smallest(beliefs: Sequence[Vector], gold: Sequence[int], coverage: float = 0.9) -> Score:
    """The score with the smaller sets on these cases; ``lac`` of equals, and of too few."""
    lac, aps = (sizes(beliefs, gold, coverage, score) for score in ("lac", "aps"))
    return "aps" if aps < lac else "lac"
