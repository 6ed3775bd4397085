r"""φ fitted to a corpus: what all its texts have in common is taken out.

.. math:: \varphi'(x) = \mathrm{unit}\big((I - VV^\top)(\varphi(x) - \mu)\big)

with μ the corpus mean (shrunk for small corpora) and V its main directions (Mu & Viswanath 2018, *All-but-the-top*). Texts of one
task share most of their embedding; without that share a cosine says how well two texts fit, not that both are complaints.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from maci.evidence.encode import unit

if TYPE_CHECKING:
    from maci.evidence.encode import Encoder


_SHRINK = 10
"""The mean of n texts is trusted n / (n + 10)."""
_DIRECTIONS = 3
_ENOUGH = 50
"""Fewer texts than this have no main directions worth taking out."""


class AdaptedEncoder:
    """An encoder fitted to the texts of a corpus."""

    def __init__(self, encoder: Encoder, corpus: Sequence[str]) -> None:
        self._encoder = encoder
        self.name = f"{encoder.name}+adapted"
        raw = encoder.encode(corpus)
        n = len(raw)
        mean = raw.mean(axis=0) if n else np.zeros(1, np.float32)
        self._mean = mean * (n / (n + _SHRINK))
        self._main = np.zeros((0, len(mean)), np.float32)
        if n >= _ENOUGH:
            self._main = np.linalg.svd(raw - mean, full_matrices=False)[2][:_DIRECTIONS]

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One unit row per text; an empty text keeps its zero row."""
        raw = self._encoder.encode(texts)
        shifted = np.where(raw.any(axis=1, keepdims=True), raw - self._mean, 0)
        return unit(shifted - (shifted @ self._main.T) @ self._main)
