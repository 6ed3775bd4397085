"""Reader judges: score an argument from its cited spans, the case and the claim, by surface statistics.

A family of their own (``surface``): none of the debaters weighs letters, word coverage or phrases. Three features of text, one
similarity (weighted Dice), one reading of the three criteria:

- *evidence support*: the case's likeness to the best cited span about the claimed outcome, less for citations that do not stand;
- *logical coherence*: do the cited spans speak for what is claimed, and, where a rival's spans are cited too, do they speak less;
- *query relevance*: mean likeness of everything cited.

Likeness is s / (s + s₀), where s₀ is what a span of the library usually has with its nearest fellow: ½ is "as close as records
usually get".
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache, partial
from math import fsum, log
from statistics import median

from maci.agents.agent import Judge
from maci.agents.judges.crit import CritScore, JudgeAbstained, ScoreRequest
from maci.cases.outcomes import normal
from maci.evidence.lexical import terms
from maci.evidence.span import Span, estimate_tokens
from maci.llm.usage import Usage

_LONGEST = 60
"""Tokens no justification exceeds."""
_SAMPLE = 40
"""Spans looked at to learn what is usual."""


def letters(text: str) -> frozenset[str]:
    """Runs of three letters within words."""
    grams = (f" {word} "[i : i + 3] for word in re.findall(r"[^\W\d_]+", text.casefold()) for i in range(len(word)))
    return frozenset(grams)


def words(text: str) -> frozenset[str]:
    """Content words."""
    return frozenset(terms(text))


def phrases(text: str) -> frozenset[str]:
    """Content words, and pairs of them at most two apart, in order."""
    said = terms(text)
    near = (f"{a} {b}" for i, a in enumerate(said) for b in said[i + 1 : i + 3])
    return frozenset(said).union(near)


FEATURES: Mapping[str, Callable[[str], frozenset[str]]] = {"letters": letters, "words": words, "phrases": phrases}


def _sum(features: Callable[[str], frozenset[str]], weight: Mapping[str, float], unseen: float, text: str) -> float:
    """The weights of a text's features together. Not a method: a cache of its own methods would keep a judge alive."""
    return fsum(weight.get(feature, unseen) for feature in features(text))


class ReaderJudge(Judge):
    """A judge that compares texts by one kind of feature."""

    family = "surface"

    def __init__(self, feature: str, library: Iterable[Span]) -> None:
        self.name = feature
        self._features = lru_cache(maxsize=4096)(FEATURES[feature])
        texts = [span.text for span in library]
        seen = Counter(f for text in texts for f in self._features(text))
        self._unseen = log(len(texts) + 1) + 1
        self._weight = {f: log((len(texts) + 1) / (n + 1)) + 1 for f, n in seen.items()}
        self._mass = lru_cache(maxsize=4096)(partial(_sum, self._features, self._weight, self._unseen))
        self._usual = self._learn(texts)

    def _learn(self, texts: Sequence[str]) -> float:
        """s₀: the usual similarity of a span to its nearest fellow."""
        postings: dict[str, list[int]] = {}
        for row, text in enumerate(texts):
            for f in self._features(text):
                postings.setdefault(f, []).append(row)
        nearest = []
        for row in range(0, len(texts), max(1, len(texts) // _SAMPLE)):
            hits: Counter[int] = Counter()
            for f in sorted(self._features(texts[row])):  # whatever the hash seed, the same sum
                weight = self._weight[f]
                for other in postings[f]:
                    hits[other] += weight  # type: ignore[assignment]
            mass = self._mass(texts[row])
            near = [hit / min(mass, self._mass(texts[other])) for other, hit in hits.items() if other != row]
            nearest.append(max(near, default=0.0))
        return max(median(nearest), 1e-6) if nearest else 0.2

    def likeness(self, a: str, b: str) -> float:
        """S / (s + s₀) for two texts, s the weighted Dice overlap of their features."""
        mass = min(self._mass(a), self._mass(b))
        both = self._features(a) & self._features(b)
        s = fsum(self._weight.get(f, self._unseen) for f in both) / mass if mass else 0.0
        return s / (s + self._usual)

    free = True

    def ceiling(self, request: ScoreRequest) -> int:
        """What is read, and a short justification."""
        return self._read(request) + _LONGEST

    def _read(self, request: ScoreRequest) -> int:
        argument = request.argument
        return estimate_tokens(" ".join((argument.claim, *argument.reasons, *(span.text for span in request.spans))))

    async def score(self, request: ScoreRequest) -> tuple[CritScore, Usage]:
        """Score the argument; abstains where nothing cited can be verified."""
        argument, spans = request.argument, request.spans
        if not spans:
            raise JudgeAbstained("no citation could be verified")
        case = request.question.context or request.question.question
        near = {span.id: self.likeness(case, span.text) for span in spans}
        claimed = normal(argument.outcome or "")
        rivals = [s for s in spans if s.label is not None and claimed and normal(s.label) != claimed]
        backing = [near[s.id] for s in spans if s not in rivals]
        against = max((near[s.id] for s in rivals), default=0.0)
        support = max(backing, default=0.0)
        if rivals:
            logic = support / (support + against) if support else 0.0  # nothing of the case in either: no support
        else:
            logic = min(1.0, sum(backing) / len(backing) / support) if support else 0.0  # a mean may round above
        standing = len(spans) / (len(spans) + request.unverified)
        best = max(spans, key=lambda s: near[s.id])
        score = CritScore(
            evidence=support * standing,
            logic=logic,
            relevance=sum(near.values()) / len(near),
            links=tuple(logic for _ in argument.reasons),
            justification=f"By {self.name}, {best.id} is closest to the case ({near[best.id]:.2f}).",
        )
        written = min(_LONGEST, estimate_tokens(score.justification))
        return score, Usage(prompt=self._read(request), generated=written, free=True)


def reader_judges(library: Sequence[Span]) -> tuple[ReaderJudge, ...]:
    """The three of them."""
    return tuple(ReaderJudge(feature, library) for feature in FEATURES)
