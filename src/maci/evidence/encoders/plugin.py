"""Encoders MACI does not ship: sentence-transformers models and the user's own."""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from maci.errors import ConfigError, EnvironmentError_, ModelError, said
from maci.evidence.encode import unit


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
