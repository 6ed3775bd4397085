"""What a panel reads for a case: spans, an encoder fitted to them, and search. Readers and models use the same, so that Q₀, θ
and τ_Q mean the same whoever debates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from maci.acquisition.plan import Residual, Survey
from maci.acquisition.proposals import Surveyor
from maci.agents.competence import Competence, asks, examine, relies, resembles, tells
from maci.agents.judges.reader import ReaderJudge, reader_judges
from maci.agents.library import Latest, Library, subjects_of
from maci.cases.case import REDACTED, Case
from maci.cases.outcomes import normal
from maci.errors import EvidenceError, Undecidable
from maci.evidence.corpus import Corpus
from maci.evidence.encode import AdaptedEncoder, Encoder, as_query
from maci.evidence.knowledge import BUILT_IN, builtin_spans, builtin_tone, conditions, names_finding
from maci.evidence.retrieve import CachedEncoder, Retriever
from maci.evidence.span import CaseEvidence, Retrieval, Span, document_spans
from maci.paths import EMBEDDINGS, embeddings_file

_REMEDY = (
    "give the readers texts that are labelled with the outcomes, at least three for each, in the case or in a corpus, or use a "
    "language model"
)


_SHELVES = 128
"""Sets of outcomes whose shelves are kept."""


@dataclass(frozen=True, slots=True)
class Sources:
    """All there is to read."""

    documents: tuple[Span, ...] = ()
    """What came with the case."""
    corpus: tuple[Span, ...] = ()
    background: tuple[Span, ...] = ()
    """The built-in knowledge, most of which is about something else."""
    where: Path | None = None
    """The folder of the corpus."""
    remedy: str = ""
    """What a person can do where there is nothing about any outcome, other than the usual."""

    @property
    def given(self) -> tuple[Span, ...]:
        """What the user chose."""
        return (*self.documents, *self.corpus)

    @classmethod
    def of_corpus(cls, folder: Path | None) -> Sources:
        """What all cases may read: the corpus in a folder, if one is given."""
        return cls() if folder is None else cls(corpus=tuple(Corpus.open(folder).spans), where=folder)


def evidence_for(case: Case, shared: Sources) -> Sources:
    """What there is for a case: its own documents, and the corpus that all cases share or else the built-in knowledge."""
    background: tuple[Span, ...] = ()
    if not shared.corpus and shared.where is None:
        background = builtin_tone() if case.outcomes.kind == "ordered" else builtin_spans()
    corpus = shared.corpus
    if "sources" in case.redacted:
        corpus = tuple(replace(span, source=REDACTED) for span in corpus)
    return replace(shared, documents=document_spans(case), corpus=corpus, background=background)


def remembering(encoder: Encoder, corpus: Path | None) -> Encoder:
    """The encoder with its embeddings kept on disk, where computing them again would be felt."""
    if corpus is not None:
        return CachedEncoder(encoder, corpus / EMBEDDINGS)
    return encoder if encoder.name.startswith("wordllama") else CachedEncoder(encoder, embeddings_file())


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


def lacking(case: Case, sources: Sources) -> tuple[str, ...]:
    """The outcomes of a case that nothing to read speaks of; of an open case nobody can tell."""
    if case.outcomes.kind == "open":
        return ()
    labels = case.outcomes.labels
    spans = (*sources.given, *sources.background)
    known = set(subjects_of(spans, labels, {**names_for(labels), **case.outcomes.aliases}).values())
    return tuple(label for label in labels if label not in known)


class Shelf:
    """Spans for one set of outcomes, with what is made of them; each part is made when first needed."""

    def __init__(
        self, spans: Sequence[Span], labels: Sequence[str], encoder: Encoder, aliases: Mapping[str, str], *, adapt: bool
    ) -> None:
        """``adapt``: φ is fitted to the spans. Readers always read with the fitted one: how they read is not the moderator's."""
        self.spans, self.labels, self._aliases, self._plain = tuple(spans), tuple(labels), aliases, encoder
        self._found: dict[tuple[str, int, int], Retrieval] = {}
        """The last searches: a case is often debated more than once."""
        texts = [span.text for span in spans]
        self._fitted: Encoder = CachedEncoder(AdaptedEncoder(encoder, texts), None) if texts else encoder
        self.encoder = self._fitted if adapt else encoder
        """φ: by which Q, θ and what is retrieved are measured."""

    @cached_property
    def library(self) -> Library:
        """The spans that speak of an outcome, laid out for readers."""
        return Library(self.spans, self.labels, self._fitted, self._aliases)

    @cached_property
    def _vectors(self) -> NDArray[np.float32]:
        """The library's texts as the encoder has them before it is fitted."""
        return self._plain.encode([span.text for span in self.library.spans])

    @cached_property
    def _competence(self) -> Competence:
        return examine(self.library, self._vectors)

    def unfit(self, case: Case) -> str:
        """Why word statistics over these texts cannot decide a case (D21); nothing where they can."""
        text, unnamed = case.context or case.question, case.outcomes.kind == "open" and not case.outcomes.labels
        if unnamed and not (names_finding(text) or any(not span.source.startswith(BUILT_IN) for span in self.spans)):
            return "no outcomes are named, and it is not about the built-in medical knowledge"
        known = self._competence
        if known.doubt:
            return known.doubt
        if words := asks(case.question):
            return f"its question asks for more than what the case is like: “{words}”"
        if not tells(text, self.library, named=bool(case.context)):
            return (
                f"it says nothing by which the {known.texts} texts about its outcomes could be told apart; describe the case: "
                "what was found, said or measured"
            )
        if not self._like(text):
            return f"it has little in common with the {known.texts} texts about its outcomes"
        return relies(text, self.library, self._like)

    def _like(self, text: str) -> bool:
        """Whether a text resembles those of the library."""
        nearest = float((self._vectors @ self._plain.encode([as_query(self._plain, text)])[0]).max())
        return resembles(self.library.view(text), self.library, nearest / self._competence.near)

    @cached_property
    def _surveyor(self) -> Surveyor:
        return Surveyor(self.library, self._fitted, self._aliases)

    def survey(self, residual: Residual) -> Survey:
        """What would tell the outcomes apart that are still open; the surveyor is made when first asked, many debates never do."""
        return self._surveyor.survey(residual)

    @cached_property
    def judges(self) -> tuple[ReaderJudge, ...]:
        """The reader judges who know these spans."""
        return reader_judges(self.library.spans or self.spans, self._plain)

    @cached_property
    def _retriever(self) -> Retriever:
        return Retriever(self.spans, self.encoder, depth=4)

    def search(self, query: str, k: int, max_tokens: int) -> Retrieval:
        """The best spans for a case."""
        asked = query, k, max_tokens
        if asked not in self._found:
            if len(self._found) >= 64:
                self._found.clear()
            spans = tuple(span for span, _ in self._retriever.retrieve(query, k, max_tokens))
            self._found[asked] = Retrieval(spans, self._retriever.core(query, spans))
        return self._found[asked]

    def evidence(self, case: Case, held: Sequence[Span] = ()) -> CaseEvidence:
        """The case's own text and documents, and what this shelf adds; ``held`` is what only some agents know."""
        return CaseEvidence(case, self.search if self.spans else None, held)


class Bookcase:
    """Shelves for many cases over the same sources; what depends on the outcomes alone is made once."""

    def __init__(self, sources: Sources, encoder: Encoder, *, adapt: bool = True) -> None:
        self._sources, self._encoder, self._adapt = sources, CachedEncoder(encoder, None), adapt
        self._shelves: Latest[tuple[object, ...], Shelf] = Latest(_SHELVES)
        self._subjects: dict[tuple[object, ...], frozenset[str]] = {}

    def about(self, case: Case) -> Shelf:
        """Only what speaks of an outcome, which is all that readers can use; refused where there is nothing."""
        spans = (*self._sources.given, *self._sources.background)
        labels = self._labels(case, spans)
        shelf = self._shelf(case, labels, (), spans)
        corpus = self._sources.corpus
        if not shelf.spans or (corpus and not self._speaking(corpus, case, labels)):
            raise self._nothing(case, labels)
        return shelf

    def left_out(self, case: Case) -> tuple[str, ...]:
        """A sentence for the texts of the case that :meth:`about` leaves out, if there are any."""
        own = self._sources.documents
        labels = self._labels(case, (*self._sources.given, *self._sources.background))
        silent = len(own) - len(self._speaking(own, case, labels) & {span.id for span in own})
        if not silent:
            return ()
        verb, them = ("names", "it") if silent == 1 else ("name", "them")
        return (
            f"{silent} of the case's {len(own)} passages {verb} no outcome or more than one, so the readers do not use {them}",
        )

    def whole(self, case: Case, *, for_readers: bool) -> Shelf:
        """Everything given, and of the built-in knowledge what speaks of an outcome.

        An open case names no outcomes, and nothing else says whether the built-in knowledge is about its subject: there it is used
        only where a reader is seated, who could do nothing without.
        """
        given, background = self._sources.given, self._sources.background
        if for_readers:
            self.about(case)  # says what is lacking
        elif case.outcomes.kind == "open" and not case.outcomes.labels:
            background = ()
        return self._shelf(case, self._labels(case, (*given, *background)), given, background)

    def readable(self, case: Case) -> bool:
        """Whether there is anything beside the case that an argument could be compared with."""
        return bool(self._sources.given) or self.knows(case)

    def knows(self, case: Case) -> bool:
        """Whether anything speaks of the case's outcomes; of an open case's subject only what was given can be known to."""
        chosen = self._sources.given
        if case.outcomes.kind != "open" or case.outcomes.labels:
            chosen = (*chosen, *self._sources.background)
        return bool(self._speaking(chosen, case, self._labels(case, chosen)))

    def _speaking(self, spans: tuple[Span, ...], case: Case, labels: tuple[str, ...]) -> frozenset[str]:
        """The spans, by id, that speak of an outcome; looked for once for each set of outcomes and names."""
        key = _key(spans, case, labels)
        found = self._subjects.get(key)
        if found is None:
            found = self._subjects[key] = frozenset(subjects_of(spans, labels, self._aliases(case, labels)))
        return found

    def _labels(self, case: Case, spans: Sequence[Span]) -> tuple[str, ...]:
        labels = case.outcomes.labels
        if case.outcomes.kind == "open":
            labels = tuple(dict.fromkeys((*labels, *(span.label for span in spans if span.label))))
        return labels

    def _aliases(self, case: Case, labels: Sequence[str]) -> Mapping[str, str]:
        return {**names_for(labels), **case.outcomes.aliases}

    def _shelf(self, case: Case, labels: tuple[str, ...], kept: tuple[Span, ...], sifted: tuple[Span, ...]) -> Shelf:
        """The spans ``kept`` whatever they say, and of those ``sifted`` what speaks of an outcome."""
        speaking = self._speaking(sifted, case, labels)
        spans = (*kept, *(span for span in sifted if span.id in speaking))
        key = _key(spans, case, labels)
        if key not in self._shelves:
            self._shelves[key] = Shelf(spans, labels, self._encoder, self._aliases(case, labels), adapt=self._adapt)
        return self._shelves[key]

    def _nothing(self, case: Case, labels: Sequence[str]) -> EvidenceError:
        some = f"one of {', '.join(labels[:5])}{' …' if len(labels) > 5 else ''}" if labels else "an outcome"
        if self._sources.where is not None:
            return Undecidable(
                f"no text of the corpus {self._sources.where} names {some} and no other, and none is labelled with one, so the "
                "readers, which match words, cannot use it. Index texts that name the outcomes, or JSONL/CSV with a `label` column, or "
                "use a language model"
            )
        texts = f"{len(case.evidence)} text{'' if len(case.evidence) == 1 else 's'}"
        unnamed = f"the case brings {texts}: none is labelled with an outcome or has the exact name of one alone"
        given = unnamed if case.evidence else "the case brings none"
        why = f"the readers match words and have no text about {some} ({given})"
        return EvidenceError(f"{why}: {own}") if (own := self._sources.remedy) else Undecidable(f"{why}: {_REMEDY}")


def _key(spans: Sequence[Span], case: Case, labels: tuple[str, ...]) -> tuple[object, ...]:
    """All that a search for the outcomes depends on: the texts, the outcomes, and the case's other names for them."""
    return tuple(map(id, spans)), labels, tuple(case.outcomes.aliases.items())
