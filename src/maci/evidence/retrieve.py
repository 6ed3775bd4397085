"""Retrieval: BM25 picks candidates, the encoder ranks them by cosine with the query.

    candidates = the depth·k spans of highest BM25, all spans where BM25 finds fewer than k
    score(e)   = cos(φ(e), φ(query))

Equal and nearly equal texts (same words in the same order) are retrieved once. The result depends on the
spans, the query and the encoder alone: not on the order of the corpus, and ties go by span id.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from maci.errors import EvidenceError, InputError
from maci.evidence.cache import CachedEncoder
from maci.evidence.corpus import Corpus
from maci.evidence.encode import Encoder, as_query
from maci.evidence.lexical import Lexical, normal_text
from maci.evidence.span import Span, estimate_tokens
from maci.paths import EMBEDDINGS

_CORE = 0.9
"""Share of the best BM25 score from which a span belongs to the core; chosen on development splits (docs/decisions/004)."""
_ROUND = 6
"""Decimals at which two scores are a tie: below this lies the noise of summing in another order."""


class Retriever:
    """Hybrid search over a fixed set of spans.

    ``depth``: candidates per result asked for. ``folder``: where the lexical index is kept between runs.
    Embeddings are computed when first needed; :meth:`warm` computes all of them. Give a
    :class:`~maci.evidence.cache.CachedEncoder` to keep them.
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
        vector = self.encoder.encode([as_query(self.encoder, query)])[0]
        cosine = (self._embed(rows)[rows] @ vector).astype(np.float64)
        rounded: NDArray[np.float64] = np.round(np.clip(cosine, -1.0, 1.0), _ROUND)
        return rounded

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
