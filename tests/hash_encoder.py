"""A fake encoder for tests: hashed bags of words, no weights, the same everywhere."""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_WORD = re.compile(r"\w+")


class HashEncoder:
    """A fake encoder: each word adds 1 to one of 64 places.

    >>> HashEncoder().encode(["high fever", "fever, high"]).std(axis=0).max().item()
    0.0
    """

    name = "fake-hash/64"

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One unit row per text."""
        rows = np.zeros((len(texts), 64), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in _WORD.findall(text.casefold()):
                row[zlib.crc32(word.encode()) % 64] += 1
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        return np.asarray(rows / np.where(lengths > 0, lengths, 1), dtype=np.float32)
