"""φ: the encoder protocol, the one place that turns a name into an encoder, and the unit rows that every encoder returns.

=====================  ======================================================================================
name                   encoder
=====================  ======================================================================================
``wordllama``          static token vectors, mean-pooled; part of every install
``minilm``             all-MiniLM-L6-v2, int8, by onnxruntime (extra ``dense``; weights on first use)
``minilm-last``        the same, but the vector of the last word piece instead of the mean of all
``st:MODEL``           any sentence-transformers model, if that package is installed
``module:attribute``   your own: a function from a list of texts to vectors, or an object with name and encode
=====================  ======================================================================================
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from maci.errors import ConfigError
from maci.llm.local import weights

_loaded: dict[str, Encoder] = {}
"""The encoders of this process, by name; a table of vectors takes 33 MB, so debates share one."""
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


SHIPPED = frozenset({"wordllama", "minilm", "minilm-last"})
"""Encoders that load no code and no weights but pinned ones."""


def load_encoder(name: str = "wordllama", *, offline: bool = False) -> Encoder:
    """The encoder of this name: one for the whole process, which any number of debates and threads may use at once.

    ``offline`` forbids fetching weights.

    >>> load_encoder("wordllama").encode(["High fever.", ""]).shape
    (2, 256)
    >>> load_encoder("wordllama") is load_encoder("wordllama")
    True
    """
    with _loading:
        if name not in _loaded:
            _loaded[name] = _load(name, offline=offline)
        return _loaded[name]


def _load(name: str, *, offline: bool) -> Encoder:
    from maci.evidence import encoders

    if name == "wordllama":
        return encoders.WordLlamaEncoder()
    if name in ("minilm", "minilm-last"):
        pooling: Literal["mean", "last"] = "last" if name.endswith("-last") else "mean"
        return encoders.MiniLMEncoder(offline=offline, pooling=pooling)
    scheme, _, rest = name.partition(":")
    if scheme == "st" and rest:
        return encoders.SentenceTransformerEncoder(rest, offline=offline or weights.is_offline())
    if scheme and rest:
        return encoders.load_plugin(scheme, rest)
    raise ConfigError(f"encoder {name!r} is not known: use wordllama, minilm, minilm-last, st:MODEL or module:function")
