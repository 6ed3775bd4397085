r"""Reliability and weights.

.. math::
   \Gamma_u^{(t)} = \lambda\,\Gamma_u^{(t-1)} + (1-\lambda)\,\overline{\mathrm{CRIT}}_{u,t},\qquad
   \omega_u = \frac{\Gamma_u + \epsilon}{\sum_v (\Gamma_v + \epsilon)}

>>> round(update(0.5, 0.9, decay=0.8), 2)
0.58
>>> weights([0.58, 0.42], floor=1e-6).round(2).tolist()
[0.58, 0.42]
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from maci.moderator.belief import Vector


def update(gamma: float, crit: float | None, *, decay: float) -> float:
    """Γ after a round; unchanged where nothing of the agent's was scored."""
    return gamma if crit is None else decay * gamma + (1 - decay) * crit


def weights(gammas: Sequence[float], *, floor: float) -> Vector:
    """ω: positive, summing to 1."""
    raised = np.asarray(gammas, dtype=np.float64) + floor
    return np.asarray(raised / raised.sum(), dtype=np.float64)
