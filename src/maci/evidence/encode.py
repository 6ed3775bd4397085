r"""φ: the encoder protocol, the one place that turns a name into an encoder, the encoders, and their adaptation to a corpus.

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

:mod:`maci.evidence.shipped` has the first four.

:class:`SentenceTransformerEncoder` and :class:`FunctionEncoder` are for what MACI does not ship: other models and the user's own code.

:class:`AdaptedEncoder` removes from φ what all texts of a corpus have in common:

.. math:: \varphi'(x) = \mathrm{unit}\big((I - VV^\top)(\varphi(x) - \mu)\big)

with μ the corpus mean (shrunk for small corpora) and V its main directions (Mu & Viswanath 2018, *All-but-the-top*). Texts of one
task share most of their embedding; without that share, a cosine says how well two texts fit, not that both are complaints.
"""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from maci.config import plugins
from maci.errors import ConfigError, EnvironmentError_, ModelError, said
from maci.llm.offline import is_offline

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


def cosines(rows: NDArray[np.float32], others: NDArray[np.float32]) -> NDArray[np.float32]:
    """The cosine of each row with each of the others, all of length 1.

    In one thread: OpenBLAS wakes others for it, which then wait in a busy loop a hundred times longer than the product of a
    debate's few rows takes.

    >>> cosines(unit(np.eye(2)), unit(np.array([[3.0, 4.0]]))).round(1).tolist()
    [[0.6000000238418579], [0.800000011920929]]
    """
    found: NDArray[np.float32] = np.einsum("ik,jk->ij", rows, others)
    return found


class Encoder(Protocol):
    """Anything that embeds text."""

    @property
    def name(self) -> str:
        """Names model *and* version: a calibration profile made for one name is refused for another."""

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One unit-length row per text, in order; an empty text gives a zero row."""


def as_query(encoder: Encoder, text: str) -> str:
    """The text to encode when ``text`` is a query: some encoders need fixed words before a query, and none before a passage.

    >>> as_query(load_encoder("wordllama"), "High fever.")
    'High fever.'
    """
    return f"{getattr(encoder, 'query_prefix', '')}{text}"


SHIPPED = frozenset({"wordllama", "minilm", "minilm-last", "arctic"})
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
    if name in SHIPPED:
        from maci.evidence import shipped

        return shipped.WordLlamaEncoder() if name == "wordllama" else shipped.OnnxEncoder(name, offline=offline)
    if (made := plugins.load("encoders", name)) is not None:
        found: Encoder = made()
        return found
    scheme, _, rest = name.partition(":")
    if scheme == "st" and rest:
        return SentenceTransformerEncoder(rest, offline=offline or is_offline())
    if scheme and rest:
        return load_plugin(scheme, rest)
    raise ConfigError(
        f"encoder {name!r} is not known: use wordllama, minilm, minilm-last, arctic, st:MODEL or module:function"
    )


class SentenceTransformerEncoder:
    """A sentence-transformers model by name or folder."""

    def __init__(self, model: str, *, offline: bool = False) -> None:
        try:
            library: Any = importlib.import_module("sentence_transformers")
        except ImportError as error:
            raise EnvironmentError_(
                f"the encoder 'st:{model}' needs the package 'sentence-transformers': pip install sentence-transformers"
            ) from error
        try:
            self._model = library.SentenceTransformer(model, local_files_only=offline)
        except Exception as error:  # the library passes on whatever its backends raise
            raise ModelError(
                f"the encoder 'st:{model}' cannot be loaded ({error}): check the model's name, or download "
                "it first and name its folder"
            ) from error
        self.name = f"st:{model}/{library.__version__}"
        self._one_at_a_time = threading.Lock()  # its tokenizer cannot be used by two threads at once

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One unit row per text."""
        with self._one_at_a_time:
            rows = self._model.encode(list(texts), show_progress_bar=False)
        return _checked(self.name, rows, texts)


class FunctionEncoder:
    """A function from a list of texts to one vector each, made an encoder.

    >>> FunctionEncoder("lengths/1", lambda texts: [[len(t), 1.0] for t in texts]).encode([""]).tolist()
    [[0.0, 0.0]]
    """

    def __init__(self, name: str, function: Callable[[list[str]], ArrayLike]) -> None:
        self.name = name
        self._function = function

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One unit row per text; the function's own lengths do not matter."""
        try:
            vectors = self._function(list(texts))
        except Exception as error:  # code of the user's: whatever it raises
            raise ModelError(f"the encoder {self.name!r} failed: {said(error)}; mend it or choose another") from error
        return _checked(self.name, vectors, texts)


def load_plugin(module: str, attribute: str) -> FunctionEncoder:
    """The encoder that ``module:attribute`` names, looked for in the current folder too.

    An object with ``name`` and ``encode`` goes by its own name. The version of a function is its
    ``version`` attribute, else its module's ``__version__``, else 0 — raise it whenever the vectors change.
    """
    here = str(Path.cwd())
    added = here not in sys.path
    if added:
        sys.path.append(here)
    try:
        home = importlib.import_module(module)
        found: Any = getattr(home, attribute)
    except (ImportError, AttributeError) as error:
        raise ConfigError(
            f"encoder '{module}:{attribute}' cannot be imported ({error}): name a module on the Python "
            "path and a function in it, as in mypackage.vectors:embed"
        ) from error
    except Exception as error:  # code of the user's: whatever it raises
        raise ModelError(f"encoder '{module}:{attribute}' failed while it was imported: {said(error)}") from error
    finally:
        if added:
            sys.path.remove(here)
    if hasattr(found, "encode") and isinstance(getattr(found, "name", None), str):
        return FunctionEncoder(found.name, found.encode)
    if not callable(found):
        raise ConfigError(
            f"encoder '{module}:{attribute}' is a {type(found).__name__}: name a function from a list of "
            "texts to vectors, or an object with name and encode"
        )
    version = getattr(found, "version", getattr(home, "__version__", 0))
    return FunctionEncoder(f"{module}:{attribute}/{version}", found)


def _checked(name: str, vectors: ArrayLike, texts: Sequence[str]) -> NDArray[np.float32]:
    rows = np.asarray(vectors, dtype=np.float32)
    if len(texts) and (rows.ndim != 2 or rows.shape[0] != len(texts) or not np.isfinite(rows).all()):
        raise ModelError(
            f"the encoder {name!r} gave an array of shape {rows.shape} for {len(texts)} texts, or numbers "
            "that are not finite: it must give one finite vector per text"
        )
    rows = rows.reshape(len(texts), -1) if len(texts) else rows.reshape(0, rows.shape[-1] if rows.ndim > 1 else 0)
    rows = rows * np.array([bool(text.strip()) for text in texts], dtype=np.float32)[:, None]
    return unit(rows)


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
