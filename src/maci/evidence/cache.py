"""Embeddings kept on disk by content: encoder name and SHA-256 of the text → float32 vector.

One SQLite file (write-ahead log) that any number of processes may share. A cache is never worth a failure:
if the file cannot be used, encoding goes on in memory and one warning says so.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import threading
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from maci.errors import EnvironmentError_
from maci.evidence.encode import Encoder
from maci.files.sqlite import SqliteFile

_SCHEMA = """
CREATE TABLE IF NOT EXISTS embedding (
    encoder TEXT NOT NULL, text TEXT NOT NULL, vector BLOB NOT NULL, PRIMARY KEY (encoder, text)
) WITHOUT ROWID;
"""
_FIND = "SELECT text, vector FROM embedding WHERE encoder = ? AND text IN (SELECT value FROM json_each(?))"
_KEEP = "INSERT OR IGNORE INTO embedding VALUES (?, ?, ?)"
_ROWS_PER_WRITE = 1024


class CachedEncoder:
    """An encoder that remembers: memory first, then the file, then the encoder itself.

    ``hits`` and ``misses`` count distinct texts per call.
    """

    def __init__(self, encoder: Encoder, path: str | Path | None, *, in_memory: int = 100_000) -> None:
        self._encoder = encoder
        self._path = Path(path) if path is not None else None
        self._memory: dict[str, bytes] = {}
        self._in_memory = in_memory
        self._lock = threading.RLock()
        self._open: tuple[int, SqliteFile] | None = None
        self.hits = self.misses = 0

    @property
    def name(self) -> str:
        """The name of the encoder within: a cached vector is that encoder's vector."""
        return self._encoder.name

    @property
    def query_prefix(self) -> str:
        """What the encoder within wants before a query."""
        return str(getattr(self._encoder, "query_prefix", ""))

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One unit row per text; only texts never seen before reach the encoder, each once."""
        keys = [hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest() for text in texts]
        distinct = dict(zip(keys, texts, strict=True))
        with self._lock:
            known = {key: self._memory[key] for key in distinct if key in self._memory}
            known |= (found := self._find([key for key in distinct if key not in known]))
            new = [key for key in distinct if key not in known]
            self.hits, self.misses = self.hits + len(known), self.misses + len(new)
            self._remember(found)
            for start in range(0, len(new), _ROWS_PER_WRITE):
                batch = new[start : start + _ROWS_PER_WRITE]
                rows = self._encoder.encode([distinct[key] for key in batch]).astype("<f4", copy=False)
                made = {key: row.tobytes() for key, row in zip(batch, rows, strict=True)}
                self._keep(made)
                self._remember(made)
                known |= made
        if not keys:
            return self._encoder.encode([])
        blob = b"".join(known[key] for key in keys)
        return np.frombuffer(blob, dtype="<f4").reshape(len(keys), -1).astype(np.float32)

    def close(self) -> None:
        """Close the file; a later call opens it again."""
        with self._lock:
            if self._open:
                self._open[1].close()
                self._open = None

    def __getstate__(self) -> dict[str, object]:
        """Without lock and connection, so that it can be sent to another process."""
        return {**self.__dict__, "_open": None, "_lock": None, "_memory": {}}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state, _lock=threading.RLock())

    def _remember(self, vectors: dict[str, bytes]) -> None:
        self._memory |= vectors
        if (over := len(self._memory) - self._in_memory) > 0:
            for key in list(itertools.islice(self._memory, over)):
                del self._memory[key]

    def _find(self, keys: list[str]) -> dict[str, bytes]:
        if not keys:
            return {}
        try:
            file = self._file()
            return dict(file.do(_FIND, (self.name, json.dumps(keys)))) if file else {}
        except EnvironmentError_ as error:
            return self._give_up(error)

    def _keep(self, vectors: dict[str, bytes]) -> None:
        try:
            if file := self._file():
                with file.transaction():
                    for key, row in vectors.items():
                        file.do(_KEEP, (self.name, key, row))
        except EnvironmentError_ as error:
            self._give_up(error)

    def _file(self) -> SqliteFile | None:
        """The file as this process has it open: a connection made before a fork belongs to the parent."""
        if self._path is None:
            return None
        if self._open is None or self._open[0] != os.getpid():
            file = SqliteFile(
                self._path,
                _SCHEMA,
                0,
                name=f"the embedding cache {self._path}",
                elsewhere="point MACI_CACHE at another folder",
                steps={"damaged": "delete the file to start a new cache"},
            )
            self._open = (os.getpid(), file)
        return self._open[1]

    def _give_up(self, error: EnvironmentError_) -> dict[str, bytes]:
        warnings.warn(f"{error}; embeddings are kept in memory for this run", RuntimeWarning, stacklevel=4)
        self._path = None
        return {}
