"""The embedded panel: three readers who hold different evidence, and three reader judges.

Offline, deterministic, no key, no download: what a plain install debates with.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from maci.agents.reader.families import FAMILIES, Family
from maci.agents.reader.library import Library, subjects_of
from maci.agents.reader.reader import Conduct, Reader
from maci.calls import Table
from maci.case.case import Case
from maci.case.outcomes import normal
from maci.errors import EvidenceError
from maci.evidence.corpus import Corpus
from maci.evidence.encode import CachedEncoder, Encoder
from maci.evidence.encoders.adapted import AdaptedEncoder
from maci.evidence.knowledge import builtin_spans, builtin_tone, conditions
from maci.evidence.retrieve import EMBEDDINGS, Retriever
from maci.evidence.source import CaseEvidence, Retrieval, document_spans
from maci.evidence.span import Span
from maci.judge.reader import ReaderJudge, reader_judges
from maci.llm.weights import cache_dir

__all__ = ["ReaderPanel", "evidence_for", "remembering"]


def evidence_for(case: Case, corpus: Path | None) -> Sequence[Span]:
    """What a panel reads for a case: its documents, and the corpus given or else the built-in knowledge."""
    documents = document_spans(case)
    if corpus is None:
        return (*documents, *(builtin_tone() if case.outcomes.kind == "ordered" else builtin_spans()))
    spans = Corpus.open(corpus).spans
    labels = case.outcomes.labels
    if labels and not subjects_of(spans, labels, {**names_for(labels), **case.outcomes.aliases}):
        raise EvidenceError(
            f"no text of the corpus {corpus} names {_some(labels)}, and none is labelled with one: the readers could not use "
            "it. Index texts that name the outcomes, or JSONL/CSV with a `label` column"
        )
    return (*documents, *spans)


def _some(labels: Sequence[str]) -> str:
    return f"any of {', '.join(labels[:5])}{' …' if len(labels) > 5 else ''}"


def remembering(encoder: Encoder, corpus: Path | None) -> Encoder:
    """The encoder with its embeddings kept on disk, where computing them again would be felt."""
    if corpus is not None:
        return CachedEncoder(encoder, corpus / EMBEDDINGS)
    return encoder if encoder.name.startswith("wordllama") else CachedEncoder(encoder, cache_dir() / EMBEDDINGS)


def names_for(labels: Sequence[str]) -> Mapping[str, str]:
    """Other names of outcomes, from the built-in knowledge: every name of a condition → the case's own label for it."""
    own = {normal(label): label for label in labels}
    other: dict[str, str] = {}
    for condition in conditions():
        names = (condition.name, *condition.aliases)
        label = next((own[normal(name)] for name in names if normal(name) in own), None)
        if label is not None:
            other |= {name: label for name in names if normal(name) not in own}
    return other


@dataclass(frozen=True, slots=True)
class _Shelf:
    """What is made once for a set of outcomes."""

    library: Library
    judges: tuple[ReaderJudge, ...]
    retriever: Retriever
    encoder: Encoder

    def search(self, query: str, k: int, max_tokens: int) -> Retrieval:
        """The best spans for a case."""
        spans = tuple(span for span, _ in self.retriever.retrieve(query, k, max_tokens))
        return Retrieval(spans, self.retriever.core(query, spans))


class ReaderPanel:
    """Sets the table for many cases over the same evidence; what depends on the outcomes alone is made once."""

    def __init__(
        self,
        spans: Sequence[Span],
        encoder: Encoder,
        *,
        families: Sequence[Family] = FAMILIES,
        conduct: Conduct | None = None,
    ) -> None:
        self._spans, self._encoder = spans, CachedEncoder(encoder, None)
        self._families, self._conduct = families, conduct
        self._shelves: dict[tuple[str, ...], _Shelf] = {}

    def table(self, case: Case, *, seed: int = 0) -> Table:
        """Readers with their hands dealt, judges, and evidence to verify citations against."""
        shelf = self._shelf(case)
        library = shelf.library
        hands = library.deal(len(self._families), seed)
        return Table(
            agents=[Reader(f, library, hand, self._conduct) for f, hand in zip(self._families, hands, strict=True)],
            judges=shelf.judges,
            evidence=CaseEvidence(case, shelf.search, held=library.spans),
            encoder=shelf.encoder,
        )

    def _shelf(self, case: Case) -> _Shelf:
        labels = case.outcomes.labels
        if case.outcomes.kind == "open":
            labels = tuple(dict.fromkeys((*labels, *(span.label for span in self._spans if span.label))))
        if labels not in self._shelves:
            aliases = {**names_for(labels), **case.outcomes.aliases}
            subjects = subjects_of(self._spans, labels, aliases)
            spans = [span for span in self._spans if span.id in subjects]
            if not spans:
                given = (
                    f"none of the case's {len(case.evidence)} texts names one" if case.evidence else "the case has none"
                )
                raise EvidenceError(
                    f"the readers have no evidence about {_some(labels)} ({given}): add `evidence:` whose texts name the "
                    "outcomes or carry a `label:`, or index documents (`maci index`) and use --corpus"
                )
            encoder = CachedEncoder(AdaptedEncoder(self._encoder, [span.text for span in spans]), None)
            library = Library(spans, labels, encoder, aliases)
            self._shelves[labels] = _Shelf(library, reader_judges(spans), Retriever(spans, encoder, depth=4), encoder)
        return self._shelves[labels]
