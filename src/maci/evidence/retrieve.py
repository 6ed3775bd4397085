"""Retrieval: BM25 picks candidates, the encoder ranks them by cosine with the query.

    candidates = the depth·k spans of highest BM25, all spans where BM25 finds fewer than k
    score(e)   = cos(φ(e), φ(query))

Equal and nearly equal texts (same words in the same order) are retrieved once. The result depends on the
spans, the query and the encoder alone: not on the order of the corpus, and ties go by span id.

Embeddings are kept on disk by content (:class:`CachedEncoder`): encoder name and SHA-256 of the text → float32 vector, in one SQLite
file (write-ahead log) that any number of processes may share. A cache is never worth a failure: if the file cannot be used, encoding
continues in memory and one warning says so.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import os
import threading
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from maci.errors import EnvironmentError_, EvidenceError, InputError
from maci.evidence.corpus import Corpus
from maci.evidence.encode import Encoder, as_query, cosines
from maci.evidence.lexical import Lexical, normal_text
from maci.evidence.span import Span, estimate_tokens
from maci.files.sqlite import SqliteFile
from maci.paths import EMBEDDINGS

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


_CORE = 0.9
"""Share of the best BM25 score from which a span belongs to the core; chosen on development splits (docs/decisions/004)."""
_ROUND = 6
"""Decimals at which two scores are a tie: below this lies the noise of summing in another order."""


class Retriever:
    """Hybrid search over a fixed set of spans.

    ``depth``: candidates per result asked for. ``folder``: where the lexical index is kept between runs.
    Embeddings are computed when first needed; :meth:`warm` computes all of them. Give a
    :class:`~maci.evidence.retrieve.CachedEncoder` to keep them.
    """

    def __init__(
        self,
        spans: Iterable[Span],
        encoder: Encoder,
        *,
        depth: int = 4,
        folder: Path | None = None,
    ) -> None:
        if depth < 1:
            raise InputError(f"depth is {depth}: it must be at least 1 candidate per result")
        self.spans = _distinct(spans)
        """What can be retrieved: near-duplicates collapsed, sorted by id."""
        if not self.spans:
            raise EvidenceError("there are no spans to retrieve from: index some evidence with `maci index PATH…`")
        self.encoder = encoder
        self._depth = depth
        self._tokens = [estimate_tokens(span.text) for span in self.spans]
        self._lexical = _lexical(self.spans, folder)
        self._vectors: NDArray[np.float32] | None = None
        self._known = np.zeros(len(self.spans), dtype=bool)
        self._lock = threading.Lock()

    @classmethod
    def for_corpus(cls, corpus: Corpus, encoder: Encoder, *, depth: int = 4) -> Retriever:
        """A retriever over a corpus that keeps BM25 and embeddings in the corpus's index folder, if it has one."""
        if corpus.home is None:
            return cls(corpus, encoder, depth=depth)
        cached = CachedEncoder(encoder, corpus.home / EMBEDDINGS)
        return cls(corpus, cached, depth=depth, folder=corpus.home / "bm25")

    def retrieve(self, query: str, k: int = 32, max_tokens: int = 4000) -> list[tuple[Span, float]]:
        """The best ``k`` spans with their cosine, best first, as far as ``max_tokens`` reach.

        A span that does not fit is passed over for the next one that does.
        """
        if k < 1:
            raise InputError(f"k is {k}: ask for at least 1 span")
        rows = self._candidates(query, k)
        similarity = self._similarity(query, rows)
        best = np.argsort(-similarity, kind="stable")
        found: list[tuple[Span, float]] = []
        left = max_tokens
        for row, score in zip(rows[best].tolist(), similarity[best].tolist(), strict=True):
            if self._tokens[row] <= left:
                left -= self._tokens[row]
                found.append((self.spans[row], score))
                if len(found) == k:
                    break
        return found

    def core(self, query: str, among: Iterable[Span]) -> tuple[str, ...]:
        """Ids of the spans that match the query's words nearly as well as the best one does: what Q₀ is measured on."""
        scores = dict(zip((span.id for span in self.spans), self._lexical.scores(query).tolist(), strict=True))
        found = {span.id: scores.get(span.id, 0.0) for span in among}
        best = max(found.values(), default=0.0)
        return tuple(i for i, score in found.items() if score >= _CORE * best) if best > 0 else tuple(found)

    def warm(self, progress: Callable[[int, int], None] | None = None) -> None:
        """Embed every span now rather than when it is first needed."""
        step = 1024
        for start in range(0, len(self.spans), step):
            self._embed(np.arange(start, min(start + step, len(self.spans))))
            if progress:
                progress(min(start + step, len(self.spans)), len(self.spans))

    def _candidates(self, query: str, k: int) -> NDArray[np.intp]:
        """Rows worth encoding, ascending (that is, by id)."""
        scores = self._lexical.scores(query)
        hits = int(np.count_nonzero(scores))
        if hits < min(k, len(scores)):
            return np.arange(len(scores))
        if hits <= (wanted := self._depth * k):
            return np.flatnonzero(scores)
        least = np.partition(scores, len(scores) - wanted)[len(scores) - wanted]
        above = np.flatnonzero(scores > least)
        return np.sort(np.concatenate([above, np.flatnonzero(scores == least)[: wanted - len(above)]]))

    def _similarity(self, query: str, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        vector = self.encoder.encode([as_query(self.encoder, query)])
        cosine = cosines(self._embed(rows)[rows], vector)[:, 0].astype(np.float64)
        return np.asarray(np.round(np.clip(cosine, -1.0, 1.0), _ROUND), dtype=np.float64)

    def _embed(self, rows: NDArray[np.intp]) -> NDArray[np.float32]:
        """The matrix of vectors, those of ``rows`` filled in."""
        with self._lock:
            new = rows[~self._known[rows]]
            if len(new):
                vectors = self.encoder.encode([self.spans[row].text for row in new])
                if self._vectors is None:
                    self._vectors = np.zeros((len(self.spans), vectors.shape[1]), dtype=np.float32)
                self._vectors[new] = vectors
                self._known[new] = True
            assert self._vectors is not None
            return self._vectors


def _distinct(spans: Iterable[Span]) -> tuple[Span, ...]:
    by_id = sorted({span.id: span for span in spans}.values(), key=lambda span: span.id)
    return tuple({normal_text(span.text) or span.id: span for span in reversed(by_id)}.values())[::-1]


def _lexical(spans: tuple[Span, ...], folder: Path | None) -> Lexical:
    if folder is None:
        return Lexical.build(span.text for span in spans)
    key = Lexical.key([span.id for span in spans])
    if (saved := Lexical.load(folder, key)) is not None:
        return saved
    built = Lexical.build(span.text for span in spans)
    with contextlib.suppress(OSError):  # a read-only folder: nothing is lost, the next run builds again
        built.save(folder, key)
    return built
