"""The light encoder: the mean of static token vectors (WordLlama, 256 dimensions), as in

    φ(text) = v / ‖v‖,   v = mean over tokens of table[token]

Word order plays no part, so it is fast and never needs a GPU, a download or a second thread.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maci.errors import ModelError
from maci.evidence.encode import unit


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
