r"""The light encoder, and the adaptation of any encoder φ to a corpus.

:class:`WordLlamaEncoder` takes the mean of static token vectors (WordLlama, 256 dimensions):

    φ(text) = v / ‖v‖,   v = mean over tokens of table[token]

Word order plays no part, so it is fast and never needs a GPU, a download or a second thread.

:class:`AdaptedEncoder` removes from φ what all texts of a corpus have in common:

.. math:: \varphi'(x) = \mathrm{unit}\big((I - VV^\top)(\varphi(x) - \mu)\big)

with μ the corpus mean (shrunk for small corpora) and V its main directions (Mu & Viswanath 2018, *All-but-the-top*). Texts of one
task share most of their embedding; without that share, a cosine says how well two texts fit, not that both are complaints.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from maci.errors import ModelError
from maci.evidence.encode import unit

if TYPE_CHECKING:
    from maci.evidence.encode import Encoder


class WordLlamaEncoder:
    """WordLlama's bundled table: its own package folder is its cache and downloads are off."""

    def __init__(self) -> None:
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        try:
            with _quiet_root_logger():
                wordllama: Any = importlib.import_module("wordllama")
                model = wordllama.WordLlama.load(
                    config="l2_supercat",
                    dim=256,
                    cache_dir=Path(wordllama.__file__).parent,
                    disable_download=True,
                )
            version = importlib.metadata.version("wordllama")
        except (ImportError, OSError) as error:
            raise ModelError(
                f"the encoder 'wordllama' cannot be loaded ({error}): run `pip install --force-reinstall wordllama`"
            ) from error
        self.name = f"wordllama-l2-supercat-256/{'.'.join(version.split('.')[:2])}"
        self._table: NDArray[np.float32] = model.embedding
        self._tokenizer = model.tokenizer
        self._tokenizer.no_padding()

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One unit row per text. A row depends on its own text only, to the last bit."""
        rows = np.zeros((len(texts), self._table.shape[1]), dtype=np.float32)
        last = len(self._table) - 1
        for row, encoding in enumerate(self._tokenizer.encode_batch(list(texts), add_special_tokens=False)):
            if encoding.ids and texts[row].strip():
                self._table[np.minimum(encoding.ids, last)].mean(axis=0, out=rows[row])
        return unit(rows)


@contextmanager
def _quiet_root_logger() -> Iterator[None]:
    """Importing wordllama configures the root logger of the whole process; put it back as it was."""
    root = logging.getLogger()
    level, handlers = root.level, root.handlers[:]
    try:
        yield
    finally:
        root.setLevel(level)
        root.handlers[:] = handlers


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
        self.query_prefix = str(getattr(encoder, "query_prefix", ""))
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
