"""φ: the encoder protocol, the one place that turns a name into an encoder, and the unit rows that every encoder returns.

=====================  ======================================================================================
name                   encoder
=====================  ======================================================================================
``wordllama``          static token vectors, mean-pooled; part of every install
``minilm``             all-MiniLM-L6-v2, int8, by onnxruntime (extra ``dense``; weights on first use)
``minilm-last``        the same, but the vector of the last word piece instead of the mean of all
``arctic``             snowflake-arctic-embed-s, int8, made for retrieval (extra ``dense``; weights on first use)
``st:MODEL``           any sentence-transformers model, if that package is installed
``module:attribute``   your own: a function from a list of texts to vectors, or an object with name and encode
=====================  ======================================================================================
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from maci.errors import ConfigError
from maci.llm.local import weights

_loaded: dict[tuple[str, int], Encoder] = {}
"""The encoders of this process, by name and threads; a table of vectors takes 33 MB, so debates share one."""
_loading = threading.Lock()


def unit(rows: NDArray[np.floating[Any]]) -> NDArray[np.float32]:
    """Each row divided by its length; a zero row stays zero.

    >>> unit(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    rows = np.asarray(rows, dtype=np.float32)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    result: NDArray[np.float32] = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
    return result


class Encoder(Protocol):
    """Anything that embeds text."""

    @property
    def name(self) -> str:
        """Names model *and* version: a calibration profile made for one name is refused for another."""

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One unit-length row per text, in order; an empty text gives a zero row."""


def as_query(encoder: Encoder, text: str) -> str:
    """A text as the encoder wants it where it is what is looked for, and not what is found: some have words put before it.

    >>> as_query(load_encoder("wordllama"), "High fever.")
    'High fever.'
    """
    return f"{getattr(encoder, 'query_prefix', '')}{text}"


SHIPPED = frozenset({"wordllama", "minilm", "minilm-last", "arctic"})
"""Encoders that load no code and no weights but pinned ones."""


def load_encoder(
    name: str = "wordllama",
    *,
    offline: bool = False,
    threads: int = 1,
    progress: weights.Progress | None = None,
) -> Encoder:
    """The encoder of this name: one for the whole process, which any number of debates and threads may use at once.

    ``offline`` forbids fetching weights; ``threads`` is for encoders that compute in parallel.

    >>> load_encoder("wordllama").encode(["High fever.", ""]).shape
    (2, 256)
    >>> load_encoder("wordllama") is load_encoder("wordllama")
    True
    """
    with _loading:
        key = name, threads
        if key not in _loaded:
            _loaded[key] = _load(name, offline=offline, threads=threads, progress=progress)
        return _loaded[key]


def _load(name: str, *, offline: bool, threads: int, progress: weights.Progress | None) -> Encoder:
    if name == "wordllama":
        from maci.evidence.encoders.static import WordLlamaEncoder

        return WordLlamaEncoder()
    if name in SHIPPED:
        from maci.evidence.encoders.onnx import OnnxEncoder

        return OnnxEncoder(name, offline=offline, threads=threads, progress=progress)
    scheme, colon, rest = name.partition(":")
    if scheme == "st" and rest:
        from maci.evidence.encoders.plugin import SentenceTransformerEncoder

        return SentenceTransformerEncoder(rest, offline=offline or weights.is_offline())
    if colon and scheme and rest:
        from maci.evidence.encoders.plugin import load_plugin

        return load_plugin(scheme, rest)
    raise ConfigError(
        f"encoder {name!r} is not known: use wordllama, minilm, minilm-last, arctic, st:MODEL or module:function"
    )
