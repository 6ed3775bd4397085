"""Intervals and tests for studies: NumPy and the standard library, no global state, nothing undefined that reads as a number.

An estimate is an :class:`Estimate`, a test a :class:`Significance`. What a bootstrap estimates is a :data:`Statistic`: a function of
rows of case numbers, so that a mean, a ratio of sums and a calibration error are resampled in the same way.

| symbol | here |
|---|---|
| θ̂, θ̂*_b | the statistic of the cases, and of the b-th resample |
| B | ``resamples``: 10,000 (the paper's 20 can be asked for; SPEC 13, D7) |
| z₀, a | bias correction and acceleration of BCa |
| 1 − α | ``level``: 0.95 |
| q | :data:`FDR`: 0.05 |

A case that was answered under several seeds gives several rows that are not independent. ``groups`` says which rows belong to one
case; then cases are resampled, left out and flipped whole.
"""

from maci.calibration.stats.estimate import Estimate, Indices, as_json, estimate, numbered, undefined, wilson
from maci.calibration.stats.paired import (
    FDR,
    Significance,
    alpha_sums,
    benjamini_hochberg,
    correlation_sums,
    mcnemar,
    pearson_sums,
    ranks,
    wilcoxon,
)
from maci.calibration.stats.resampling import (
    RESAMPLES,
    Sampling,
    Statistic,
    bootstrap,
    bootstrap_mean,
    mean_of,
    missing,
    ratio_of,
    share,
)
from maci.calibration.stats.sums import Draws, Summed, bootstrap_all, bootstrap_sums, multiplied, ratio_sums

__all__ = [
    "FDR",
    "RESAMPLES",
    "Draws",
    "Estimate",
    "Indices",
    "Sampling",
    "Significance",
    "Statistic",
    "Summed",
    "alpha_sums",
    "as_json",
    "benjamini_hochberg",
    "bootstrap",
    "bootstrap_all",
    "bootstrap_mean",
    "bootstrap_sums",
    "correlation_sums",
    "estimate",
    "mcnemar",
    "mean_of",
    "missing",
    "multiplied",
    "numbered",
    "pearson_sums",
    "ranks",
    "ratio_of",
    "ratio_sums",
    "share",
    "undefined",
    "wilcoxon",
    "wilson",
]
