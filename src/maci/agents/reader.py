"""A reader: a debater that reads evidence and reasons statistically, without a language model.

Readers are what they are: counts of words, similarities of meaning and a naive Bayes rule over labelled spans, argued in templated
English. They know nothing beyond the spans they can see. What makes them debaters is that each holds other spans (``library``), weighs
them by another rule (:class:`Family`), and changes its belief only when an admitted argument shows it a span it had not seen.

Belief. p is read from the reader's own hand and every span that admitted arguments have shown (ψ). At high contentiousness the
reader resists: it keeps a share of its last belief. At low contentiousness it integrates: another reader's lead pulls, in
proportion to what *this* reader's evidence gives it, and only if an admitted argument backs it (an opening does not: nobody has
judged it); in round 1, when nothing can have been admitted yet, a cooperative reader (CL < 0.5) gives it the benefit of the doubt.

Arguments. For its leading outcome, from its best spans. Against the others' leads, at high contentiousness, by setting their
best evidence beside its own; at low contentiousness it names what speaks for them.

Families. Three ways to weigh the same evidence, with different blind spots:

=========  ===========================================================================================
lexical    BM25 of the case against each visible span; an outcome is as strong as its two best spans
semantic   cosine of meanings; an outcome is as strong as its best span
bayesian   multinomial naive Bayes, Dirichlet prior centred on the visible spans' word frequencies
=========  ===========================================================================================

Each returns a belief over the outcomes and how much each visible span supports its own outcome. The constants were
chosen on development splits (``benchmarks/bench_readers.py --tune`` repeats it).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from maci.agents.agent import Agent
from maci.agents.anchor import Finding, TurnRequest
from maci.agents.argument import Argument, Turn
from maci.agents.contentiousness import stance
from maci.agents.library import Library, View, phrases, weigh
from maci.evidence.knowledge import names_finding
from maci.evidence.lexical import terms
from maci.evidence.orders import without_orders
from maci.evidence.span import ACQUIRED, Citation, estimate_tokens
from maci.llm.usage import Usage
from maci.moderator.belief import Vector, softmax

Rows = NDArray[np.intp]
_LONGEST = 400
"""Tokens no single argument of a reader exceeds."""
_NAMED, _MOST = 8, 5
"""Terms that an argument looks for in the case, and findings that it names."""
_COUNTS = ("No", "One", "Two", "Three", "Four", "Five")
_COOPERATIVE = 0.5
"""Below this CL a reader takes others' leads up before they are backed."""


class Family(Protocol):
    """A way to weigh evidence."""

    @property
    def name(self) -> str:
        """One word."""

    def read(self, library: Library, view: View, visible: Rows) -> tuple[Vector, Vector]:
        """(belief over the library's outcomes, support of each visible span for its outcome)."""


def _best_mean(scores: Vector, subject: Rows, outcomes: int, best: int) -> Vector:
    """Mean of the ``best`` highest scores of each outcome; 0 where it has none.

    >>> _best_mean(np.array([3.0, 1.0, 2.0]), np.array([0, 0, 1]), 3, 2).tolist()
    [2.0, 2.0, 0.0]
    """
    order = np.lexsort((-scores, subject))
    owner = subject[order]
    starts = np.searchsorted(owner, np.arange(outcomes))
    rank = np.arange(len(order)) - starts[owner]
    taken = rank < best
    total = np.bincount(owner[taken], weights=scores[order][taken], minlength=outcomes)
    count = np.bincount(owner[taken], minlength=outcomes)
    return np.asarray(total / np.maximum(count, 1), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class LexicalFamily:
    """Shared words, the rarer the better (Robertson & Zaragoza 2009, *The Probabilistic Relevance Framework*)."""

    name: str = "lexical"
    k1: float = 1.5
    b: float = 0.75
    best: int = 2
    temperature: float = 1.2

    def read(self, library: Library, view: View, visible: Rows) -> tuple[Vector, Vector]:
        """BM25, with document frequencies from what is visible."""
        counts, length = view.counts[visible], library.length[visible]
        seen = (counts > 0).sum(axis=0)
        idf = np.log(1 + (len(visible) - seen + 0.5) / (seen + 0.5))
        damp = self.k1 * (1 - self.b + self.b * length / max(1.0, length.mean()))
        scores = (idf * counts * (self.k1 + 1) / (counts + damp[:, None])).sum(axis=1)
        strength = _best_mean(scores, library.subject[visible], len(library.outcomes), self.best)
        return softmax(strength / self.temperature), scores


@dataclass(frozen=True, slots=True)
class SemanticFamily:
    """Likeness of meaning, whatever the words."""

    name: str = "semantic"
    temperature: float = 0.065

    def read(self, library: Library, view: View, visible: Rows) -> tuple[Vector, Vector]:
        """Cosine to the case, what all spans share taken out."""
        scores = view.likeness[visible]
        strength = _best_mean(scores, library.subject[visible], len(library.outcomes), 1)
        return softmax(strength / self.temperature), scores


@dataclass(frozen=True, slots=True)
class BayesianFamily:
    """Every word of the case is a weight of evidence (naive Bayes), tempered since words are not independent.

    An outcome of which much is visible must not speak louder for it (Rennie et al. 2003, *Tackling the Poor Assumptions of Naive
    Bayes*), least of all in a debate, where more and more is shown of the outcomes that lead: against the prior, every outcome's
    words count as those of its average span times what is visible of an outcome on average. One of which nothing is visible is neutral.
    """

    name: str = "bayesian"
    prior: float = 100.0
    """Strength of the prior, in words."""
    temperature: float = 1.5

    def read(self, library: Library, view: View, visible: Rows) -> tuple[Vector, Vector]:
        """Log P(word | outcome) / P(word), summed over the words of the case."""
        counts, length, subject = view.counts[visible], library.length[visible], library.subject[visible]
        member = np.zeros((len(library.outcomes), len(visible)))
        member[subject, np.arange(len(visible))] = 1.0
        base = (counts.sum(axis=0) + 1) / (length.sum() + max(1, library.vocabulary))  # of texts without a word
        said, spans = member @ length, member.sum(axis=1)
        seen = said > 0
        share = np.where(seen[:, None], (member @ counts) / np.maximum(said, 1)[:, None], base)
        span = np.where(seen, said / np.maximum(spans, 1), said[seen].sum() / max(1.0, spans[seen].sum()))
        size = (span * spans[seen].mean() if seen.any() else span)[:, None]
        weight = np.log((size * share + self.prior * base) / (size + self.prior) / base)
        support = ((counts > 0) * weight[subject]).sum(axis=1)
        return softmax(weight.sum(axis=1) / self.temperature), support


FAMILIES: tuple[Family, ...] = (LexicalFamily(), SemanticFamily(), BayesianFamily())


@dataclass(frozen=True, slots=True, kw_only=True)
class Conduct:
    """How readers behave; chosen on development splits."""

    cite: int = 3
    """Spans under a supporting argument."""
    cite_rival: int = 2
    """Spans shown for a rival or an alternative."""
    resist: float = 0.15
    """Share of the last belief kept at CL 1; none at CL ≤ 0.5."""
    integrate: float = 0.3
    """Pull of others' backed leads at CL 0."""
    alternative: float = 0.2
    """A runner-up with at least this share of the lead's probability is argued for too."""
    confront: float = 0.6
    """From this CL on rivals are countered; below they are conceded what is theirs."""
    present: float = 1.0
    """How much of the likelihood of a finding that is there counts, beside its words in the case."""
    absent: float = 1.0
    """The same of one that is not there."""
    smoothing: float = 0.3
    """How many texts the shared rate of a finding is worth."""


class Reader(Agent):
    """A debater that reads."""

    def __init__(self, family: Family, library: Library, hand: Rows, conduct: Conduct | None = None) -> None:
        self.name, self.family = family.name, f"reader-{family.name}"
        self._rule, self._library, self._hand, self._conduct = family, library, hand, conduct or Conduct()

    free = True

    def redrawn(self, seed: int) -> Reader:
        """The reader had chance dealt it other evidence: its hand drawn anew from itself, with replacement."""
        rng = np.random.default_rng(seed)
        return self._holding(self._rule, np.sort(rng.choice(self._hand, len(self._hand))))

    def as_copy_of(self, other: Reader) -> Reader:
        """The other's way of weighing with this one's name and hand: two copies of one model, as it were."""
        return self._holding(other._rule, self._hand)

    def _holding(self, rule: Family, hand: Rows) -> Reader:
        copy = Reader(rule, self._library, hand, self._conduct)
        copy.name = self.name
        return copy

    def ceiling(self, request: TurnRequest) -> int:
        """What is new to read, and the longest turn it could write."""
        return self._reading(request).new_tokens() + 3 * _LONGEST

    async def turn(self, request: TurnRequest) -> Turn:
        """Read, change one's mind where evidence says so, argue."""
        return self._reading(request).turn()

    def _reading(self, request: TurnRequest) -> _Reading:
        return _Reading(self._rule, self._library, self._hand, self._conduct, request)


class _Reading:
    """One turn in the making."""

    def __init__(self, rule: Family, library: Library, hand: Rows, conduct: Conduct, request: TurnRequest) -> None:
        self.rule, self.library, self.conduct, self.request = rule, library, conduct, request
        given = request.question.findings
        rows = library.row
        found = {i for finding in given for i in finding.spans}
        labels = request.question.labels
        more = (
            without_orders(s.text, labels)
            for s in request.evidence
            if s.id in found and s.id not in rows and s.source != ACQUIRED
        )
        self.text = "\n".join((request.question.told, *more))
        self.view: View = library.view(self.text)
        self.findings = (*given, *(Finding(denied, "", False, 0) for denied in self.view.denied))
        self.hand = set(hand.tolist())
        shown = {row for round in range(1, request.round) for row in self.shown_in(round)}
        shown |= {rows[i] for i in found if i in rows}
        self.visible = np.array(sorted([*hand.tolist(), *(shown - self.hand)]), dtype=np.intp)

    def shown_in(self, round: int) -> set[int]:
        """Rows that arguments admitted in a round have cited."""
        rows, record = self.library.row, self.request.anchor.record
        return {rows[c.span] for e in record if e.round == round for c in e.argument.citations if c.span in rows}

    def new_tokens(self) -> int:
        """Tokens of what is read for the first time: case and hand at the opening, then what the last round has shown."""
        if self.request.round == 0:
            return self.view.tokens + int(self.library.tokens[np.unique(self.visible)].sum())
        before = {row for round in range(1, self.request.round - 1) for row in self.shown_in(round)} | self.hand
        return int(self.library.tokens[sorted(self.shown_in(self.request.round - 1) - before)].sum())

    @cached_property
    def read(self) -> tuple[Vector, Vector]:
        """What the visible evidence says, and the support of each visible span."""
        if not len(self.visible):
            n = len(self.library.outcomes)
            return np.full(n, 1 / n), np.zeros(0)
        return self.rule.read(self.library, self.view, self.visible)

    @cached_property
    def belief(self) -> Vector:
        """p_u: the reading, with resistance and integration."""
        p, request, conduct = self.read[0], self.request, self.conduct
        p = weigh(
            p,
            self.findings,
            self.library,
            self.visible,
            present=conduct.present,
            absent=conduct.absent,
            smoothing=conduct.smoothing,
        )
        if request.belief is None or request.round < 1:
            return p
        for lead in self.heard_leads():
            if lead != int(p.argmax()):
                pull = conduct.integrate * (1 - request.anchor.cl) * p[lead] / p.max() / max(1, len(request.leading))
                p = p * (1 - pull)
                p[lead] += pull
        kept = conduct.resist * max(0.0, request.anchor.cl - 0.5) * 2
        last = np.array([request.belief.get(outcome, 0.0) for outcome in self.library.outcomes])
        if kept and last.sum() > 0:
            p = (1 - kept) * p + kept * last / last.sum()
        return p

    def heard_leads(self) -> list[int]:
        """Leads of the others that an argument admitted in the last round speaks for; before there can be one, see above."""
        place = self.library.place
        admitted = [entry for entry in self.request.anchor.record if entry.round > 0]
        if self.request.round == 1 and not admitted and self.request.anchor.cl < _COOPERATIVE:
            return [place[lead] for lead in self.request.leading.values() if lead in place]
        recent = {(e.seat, e.argument.outcome) for e in admitted if e.round == self.request.round - 1}
        return [place[lead] for seat, lead in self.request.leading.items() if (seat, lead) in recent and lead in place]

    def best(self, outcome: int, most: int) -> list[int]:
        """Rows of the visible spans that support an outcome best."""
        support = self.read[1]
        own = np.flatnonzero(self.library.subject[self.visible] == outcome)
        return [int(self.visible[i]) for i in own[np.argsort(-support[own], kind="stable")][:most]]

    def turn(self) -> Turn:
        """The finished turn."""
        arguments = tuple(self.arguments()) if len(self.visible) else ()
        written = sum(min(_LONGEST, estimate_tokens(" ".join((a.claim, *a.reasons, *a.opposing)))) for a in arguments)
        belief: Mapping[str, float] = dict(zip(self.library.outcomes, self.belief.tolist(), strict=True))
        return Turn(
            belief=belief, arguments=arguments, usage=Usage(prompt=self.new_tokens(), generated=written, free=True)
        )

    def arguments(self) -> list[Argument]:
        """One to three arguments."""
        conduct, cl, p, place = self.conduct, self.request.anchor.cl, self.belief, self.library.place
        order = np.argsort(-p, kind="stable")
        lead = int(order[0])
        rivals = sorted(
            {place[y] for y in self.request.leading.values() if y in place} - {lead}, key=lambda y: (-p[y], y)
        )
        said = [self.support(lead, rivals)]
        names, words = self.library.outcomes, stance(cl)
        for rival in rivals[:2]:
            if not (theirs := self.best(rival, conduct.cite_rival)):
                continue
            if cl >= conduct.confront:
                said.append(self.counter(lead, rival, theirs))
            else:
                said.append(self.speak_for(rival, words.concede.format(other=names[rival]), theirs))
        second = int(order[1])
        close = second not in rivals and p[second] >= conduct.alternative * p[lead]
        if close and len(said) < 3 and cl >= conduct.confront and (mine := self.best(second, conduct.cite_rival)):
            said.append(self.speak_for(second, f"{names[second]} should not be ruled out yet.", mine))
        return said

    def support(self, lead: int, rivals: Sequence[int]) -> Argument:
        mine = self.best(lead, self.conduct.cite)
        name = self.library.outcomes[lead]
        opposing = tuple(f"Others lead with {self.library.outcomes[y]}." for y in rivals[:2])
        return self._argument(
            lead,
            stance(self.request.anchor.cl).support.format(mine=name),
            (self.matching(mine, f"the description of {name}"),),
            opposing,
            mine,
        )

    def counter(self, lead: int, rival: int, theirs: Sequence[int]) -> Argument:
        mine, other = self.library.outcomes[lead], self.library.outcomes[rival]
        own = self.best(lead, 1)
        return self._argument(
            lead,
            stance(self.request.anchor.cl).counter.format(mine=mine, other=other),
            (
                self.matching(theirs, f"the description of {other}"),
                self.matching(own, f"that of {mine}"),
            ),
            (),
            [*own, *theirs],
            answers=self.request.argued_for(other),
        )

    def speak_for(self, outcome: int, claim: str, rows: Sequence[int]) -> Argument:
        """What there is for an outcome other than the lead."""
        answers = self.request.argued_for(self.library.outcomes[outcome])
        return self._argument(outcome, claim, (self.matching(rows, "its description"),), (), rows, answers=answers)

    def matching(self, rows: Sequence[int], description: str) -> str:
        """What of the case these spans describe, in the case's own words; the rarest terms decide what is named.

        Words that the texts about every outcome have are not named: they speak for none. Nor are words of the outcomes' names, numbers
        and units.
        """
        library = self.library
        shared = {word for row in rows for word in library.terms[row]} & set(self.view.words)
        names = {word for name in library.outcomes for word in terms(name)}
        rarest = sorted(shared - names - library.common, key=lambda word: (library.frequency(word), word))
        found = phrases(self.view.text, shared, set(rarest[:_NAMED]))[:_MOST]
        what = "finding" if names_finding(self.view.text) else "term"
        if not found and shared & library.common:
            return f"Nothing in this case matches {description} alone: the words they share are in the texts about every outcome."
        if not found:
            return f"The case as a whole is close to {description}, though no single {what} matches."
        if len(found) == 1:
            return f"One {what} in this case matches {description}: {found[0]}."
        return f"{_COUNTS[len(found)]} {what}s in this case match {description}: {', '.join(found)}."

    def _argument(
        self,
        outcome: int,
        claim: str,
        reasons: tuple[str, ...],
        opposing: tuple[str, ...],
        rows: Sequence[int],
        answers: tuple[str, ...] = (),
    ) -> Argument:
        cited = dict.fromkeys(self.library.spans[row].id for row in rows)
        first = claim.split()[0]
        plain = (
            len(first) > 1 and first.isalpha() and first.islower()
        )  # an outcome's name such as "tenant", and not "pH"
        return Argument(
            claim=claim[0].upper() + claim[1:] if plain else claim,
            reasons=reasons,
            opposing=opposing,
            citations=tuple(Citation(i) for i in cited),
            outcome=self.library.outcomes[outcome],
            answers=answers,
        )
