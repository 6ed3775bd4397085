r"""How a reader takes what was found out: present findings join the case it reads, and both present and absent ones weigh outcomes.

.. math:: \log w_y = \sum_{f\,\text{present}} a\,\log P(f \mid y) + \sum_{f\,\text{absent}} b\,\log (1 - P(f \mid y)),\qquad
   P(f \mid y) = \frac{k_y + m\,\bar k}{n_y + m}

with k_y of the n_y texts about y that this reader can see mentioning f, and k̄ the share of all of them. Readers cannot read a "not"; a
finding that is known to be absent speaks against outcomes whose texts mention it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from maci.agents.anchor import Finding
from maci.agents.reader.library import Library
from maci.belief import Vector

__all__ = ["rate", "weigh"]


def rate(counts: Vector, sizes: Vector, base: Vector | float, smoothing: float = 1.0) -> Vector:
    """P(present | y), smoothed towards the shared rate.

    >>> rate(np.array([3.0, 0.0]), np.array([3.0, 3.0]), 0.5).tolist()
    [0.875, 0.125]
    """
    return np.asarray((counts + smoothing * np.asarray(base)) / (sizes + smoothing), dtype=np.float64)


def weigh(
    p: Vector,
    findings: Sequence[Finding],
    library: Library,
    visible: NDArray[np.intp],
    *,
    present: float,
    absent: float,
    smoothing: float,
) -> Vector:
    """A reading weighed by findings; one that no visible text mentions says nothing."""
    told = [f for f in findings if f.present is not None]
    if not told or not len(visible):
        return p
    subject = library.subject[visible]
    n = len(library.outcomes)
    sizes = np.bincount(subject, minlength=n).astype(np.float64)
    logs = np.zeros(n)
    for finding in told:
        here = library.mentions(finding.subject)[visible]
        if not here.any():
            continue
        counts = np.bincount(subject[here], minlength=n).astype(np.float64)
        share = rate(counts, sizes, (float(here.sum()) + 0.5) / (len(visible) + 1), smoothing)
        logs += present * np.log(share) if finding.present else absent * np.log1p(-share)
    weight = p * np.exp(logs - logs.max())
    return np.asarray(weight / weight.sum(), dtype=np.float64)
