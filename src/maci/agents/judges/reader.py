"""Reader judges: score an argument from its cited spans, the case and the claim, without a language model.

A family of their own (``surface``): none of the debaters weighs letters, word coverage or phrases. Three features of text, one
reading of the three criteria:

- *evidence support*: the best cited span, less for citations that do not stand. What contradicts the claim, by a number, a negation or
  an opposite (:func:`bearing`), does not support it. Neither does the case itself;
- *logical coherence*: do the cited spans speak for what is claimed, and, where a rival's spans are cited too, do they speak less;
- *query relevance*: mean nearness of everything cited.

There are two kinds of spans. One that is labelled with an outcome is a record of it: it supports that outcome as far as it is like the
case (weighted Dice). One without a label is a statement: it supports a claim as far as it says the same, by features and by the
encoder's cosine, and more if its numbers bear the claim out. Both are s / (s + s₀); for records s₀ is what a span of the library
usually has with its nearest fellow: ½ is "as close as records usually get". These judges cannot tell a paraphrase without shared words
from a text about something else, nor find a contradiction that takes knowledge of the world: decisions/019 has the figures.

**What a cited text does to a claim** (:func:`bearing`), as far as numbers, negation and opposites show: it agrees, it contradicts, or
nothing can be told.

1. *Numbers* decide where there are any to compare (:mod:`maci.evidence.quantities`).
2. A claim that something *is* is contradicted by a text that says the same thing is not, or says its opposite.
3. A claim that something *is not* is contradicted by a text that speaks of it and denies nothing.

>>> bearing("Pus came from the wound.", "Day 2: wound dry, no pus or discharge.")
-1
>>> bearing("No payment arrived.", "Account search: no credit entry for this payment.")
1
>>> bearing("The wound is infected.", "Dressings arrive on Wednesdays.")
0
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from math import fsum, log
from statistics import median

from maci.agents.agent import Judge
from maci.agents.judges.crit import CritScore, JudgeAbstained, ScoreRequest
from maci.cases.outcomes import normal
from maci.evidence.encode import Encoder
from maci.evidence.lexical import terms
from maci.evidence.negation import DENIES, denies, polarity, sentences
from maci.evidence.quantities import Sign, agreement, quantities
from maci.evidence.span import CASE, Span, estimate_tokens
from maci.llm.usage import Usage

_LONGEST = 60
"""Tokens no justification exceeds."""
_GIVEN = 0.25
"""What a word of the question or the case counts, where another counts 1."""
_BY_MEANING, _USUAL = 0.7, 0.2
"""The encoder's part in how near a statement is to a claim, and what is usual there (s₀ of statements)."""
_SAMPLE = 40
"""Spans looked at to learn what is usual."""
_NOTHING = re.compile(
    r"\b(?:no|not|none|never|nothing|nowhere|nobody|neither|nor|without|nil|zero|absent|absence|missing|empty|blank|lacks?|lacking|"
    r"skipped|failed|fails|refused|rejected|denied|unable|false|disabled|off|unsigned|unpaid|only|loss|plain|closed|expired|"
    r"cancelled|negative|[a-z]+n't|cannot|(?:un|in|im)(?:paid|signed|listed|registered|tested|locked|complete|valid|available))\b"
    r"|(?<![\d.,:/-])0(?![\d.,:/-]*\d)",
    re.IGNORECASE,
)
"""Words that deny, or say that there is nothing."""
_CONCLUDES = re.compile(
    r"[,;]? (?:so|hence|therefore|thus|which|and that|and so|and this|although|but|because|;)\b|[;:](?!\d)"
)
"""Where a conclusion begins: what is said behind it is not what the cited text should say."""
_OPPOSITES = (
    "dropped removed deleted gone vanished/remain remained kept intact unchanged", "open opened/closed shut locked",
    "enabled active activated running ran/disabled inactive stopped", "alive living/dead died", "passed/failed", "empty/full",
    "positive confirmed/negative unconfirmed refuted", "accepted approved agreed granted/rejected refused denied declined",
    "rose increased grew/fell decreased dropped", "still stationary parked standing/moving reversing driving",
    "profit surplus/loss deficit", "guilty/innocent acquitted", "encrypted/plaintext unencrypted",
    "identical equal/different differing unlike", "public/private secret", "safe harmless/dangerous unsafe harmful toxic",
)  # fmt: skip
_OPPOSITE = {
    word: frozenset(other.split())
    for pair in _OPPOSITES
    for one, other in (pair.split("/"), pair.split("/")[::-1])
    for word in one.split()
}


_NO_MORE = re.compile(r"\bno (?:later|further|other|more|additional)\b", re.IGNORECASE)
"""Denies something beyond what was said, not what was said."""


def letters(text: str) -> frozenset[str]:
    """Runs of three letters within words."""
    padded = (f" {word} " for word in re.findall(r"[^\W\d_]+", text.casefold()))
    return frozenset(word[i : i + 3] for word in padded for i in range(len(word) - 2))


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


def _without(said: str, topic: str) -> str:
    """What is said, without the words of the question and the case; all of it where nothing else is left."""
    given = set(terms(topic))
    rest = [word for word in re.findall(r"[^\W_]+", said) if (stems := terms(word)) and stems[0] not in given]
    return " ".join(rest) or said


@dataclass(frozen=True, slots=True)
class _Bearing:
    """What a cited span does for an argument."""

    fit: float
    """How near it is to the case or the claim."""
    support: float
    contradicts: bool = False
    sure: float = 1.0
    """½ where nothing shows that it agrees with the claim."""


class ReaderJudge(Judge):
    """A judge that compares texts by one kind of feature."""

    family = "surface"

    def __init__(self, feature: str, library: Iterable[Span], encoder: Encoder | None = None) -> None:
        self.name, self._encoder = feature, encoder
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
        return max(median(nearest), 1e-6) if nearest else _USUAL

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
        """Score the argument; abstains where it cites only what cannot be verified."""
        argument, spans = request.argument, request.spans
        if not spans and request.unverified:
            raise JudgeAbstained("no citation could be verified")
        bears = {span.id: self._bearing(request, span) for span in spans}
        claimed = normal(argument.outcome or "")
        rivals = [s for s in spans if s.label is not None and claimed and normal(s.label) != claimed]
        backing = [bears[s.id] for s in spans if s not in rivals]
        against = max((bears[s.id].fit for s in rivals), default=0.0)
        support = max((b.support for b in backing), default=0.0)
        if rivals:
            logic = support / (support + against) if support else 0.0  # nothing of the case in either: no support
        else:
            logic = min(1.0, sum(b.support * b.sure for b in backing) / len(backing) / support) if support else 0.0
        standing = len(spans) / (len(spans) + request.unverified) if spans else 0.0
        score = CritScore(
            evidence=support * standing,
            logic=logic,
            relevance=sum(b.fit for b in bears.values()) / len(bears) if bears else 0.0,
            links=tuple(logic for _ in argument.reasons),
            justification=self._reason(spans, bears),
        )
        written = min(_LONGEST, estimate_tokens(score.justification))
        return score, Usage(prompt=self._read(request), generated=written, free=True)

    def _reason(self, spans: Sequence[Span], bears: Mapping[str, _Bearing]) -> str:
        if not spans:
            return "Nothing is cited."
        if against := next((s for s in spans if bears[s.id].contradicts), None):
            return f"{against.id} says otherwise."
        if all(s.source == CASE for s in spans):
            return "Only the case itself is cited."
        best = max(spans, key=lambda s: bears[s.id].fit)
        return f"By {self.name}, {best.id} is closest ({bears[best.id].fit:.2f})."

    def _bearing(self, request: ScoreRequest, span: Span) -> _Bearing:
        """What one cited span does for the argument."""
        question, argument = request.question, request.argument
        if span.source == CASE:
            return _Bearing(0.0, 0.0)
        said = (argument.claim, *argument.reasons)
        case = question.context or question.question
        if span.label is not None:
            fit, denied = self.likeness(case, span.text), any(denies(span.text, text, span.label) for text in said)
            return _Bearing(fit, 0.0 if denied else fit, contradicts=denied)
        signs = [sign for text in said if (sign := bearing(text, span.text))]
        stated = " ".join(map(assertion, said))
        fit = self.nearness(stated, span.text, f"{question.question} {question.context}")
        if argument.outcome and f" {normal(argument.outcome)} " in f" {normal(span.text)} ":  # a description of it
            fit = max(fit, self.likeness(case, span.text))
        if signs and signs[0] < 0:
            return _Bearing(fit, 0.0, contradicts=True)
        counted = any(agreement(assertion(text), span.text) > 0 for text in said)
        return _Bearing(fit, 0.5 + 0.5 * fit if counted else fit, sure=1.0 if signs else 0.5)

    def nearness(self, said: str, text: str, topic: str) -> float:
        """How much of what is said a text says too, by features and by meaning, as s / (s + s₀).

        Words of the question and the case are in every argument: as features they count for little, the encoder is not shown them.
        """
        given, one, other = self._features(topic), self._features(said), self._features(text)

        def mass(features: Iterable[str]) -> float:
            return fsum(_GIVEN if feature in given else 1.0 for feature in features)

        least = min(mass(one), mass(other))
        s = mass(one & other) / least if least else 0.0
        if self._encoder is not None:
            rows = self._encoder.encode([_without(said, topic), _without(text, topic)])
            s = _BY_MEANING * max(0.0, float(rows[0] @ rows[1])) + (1 - _BY_MEANING) * s
        return s / (s + _USUAL)


def reader_judges(library: Sequence[Span], encoder: Encoder | None = None) -> tuple[ReaderJudge, ...]:
    """The three of them."""
    return tuple(ReaderJudge(feature, library, encoder) for feature in FEATURES)


def assertion(claim: str) -> str:
    """The part of a claim that a text can bear out: what stands before its conclusion.

    >>> assertion("The rash came first, so the antibiotic cannot be its cause.")
    'The rash came first'
    """
    first = _CONCLUDES.split(claim, maxsplit=1)[0]
    return first if len(terms(first)) > 1 else claim


@lru_cache(maxsize=8192)
def bearing(claim: str, text: str) -> Sign:
    """1: the text agrees with the claim, −1: it contradicts it, 0: neither can be told."""
    claim, text = assertion(claim), _NO_MORE.sub("", text)
    counted = agreement(claim, text)
    if counted:
        return counted
    words = [word for word in dict.fromkeys(terms(claim)) if len(word) > 2 and not word.isdigit()]
    said = {word: kind for word in words if (kind := polarity(text, word)) is not None}
    if not said:
        return 0
    if DENIES.search(claim):
        return _of_denial(claim, text, said)
    gone = any(kind == "absent" and polarity(claim, word) != "absent" for word, kind in said.items())
    if gone or _opposed(words, text):
        return -1
    return 0 if any(_hollow(sentence, words) for sentence in sentences(text)) else 1


def _of_denial(claim: str, text: str, said: Mapping[str, str]) -> Sign:
    denied = [word for word in said if polarity(claim, word) == "absent"]
    if any(said[word] == "absent" for word in denied):
        return 1
    if _NOTHING.search(text):
        return 1 if _denies_once(text) else -1
    return -1 if denied else 0


def _denies_once(text: str) -> bool:
    """Whether some clause of a text denies something; two denials in one undo each other (*never without*)."""
    zero = any(q.value == 0 and not q.dimension for q in quantities(text))
    return zero or any(len(_NOTHING.findall(part)) % 2 for part in re.split(r"[;,.]", text))


def _hollow(sentence: str, words: list[str]) -> bool:
    """Whether a sentence about the claim denies something else: what that does to the claim cannot be told."""
    here = set(terms(sentence))
    return DENIES.search(sentence) is not None and any(word in here for word in words)


def _opposed(words: list[str], text: str) -> bool:
    there = set(re.findall(r"[a-z]+", text.casefold()))
    return any(_OPPOSITE.get(word, frozenset()) & there and word not in there for word in words)
