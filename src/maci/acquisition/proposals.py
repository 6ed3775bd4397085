"""Where proposals come from: labelled texts, the built-in knowledge, agents' requests, the menu of a source, and what the debate left
unresolved.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from typing import Protocol

import numpy as np

from maci.acquisition.answers import ALIKE, apart, offered, on_menu, set_aside
from maci.acquisition.features import Features, Mentioned, contrast
from maci.acquisition.finding import as_question, is_sensible, kind_of, subkind_of
from maci.acquisition.gain import gain_each, gains
from maci.acquisition.plan import (
    AGENTS,
    COSTS,
    LISTED,
    MENU,
    NONE_OF_THESE,
    Proposal,
    Residual,
    Survey,
    proposal_id,
    tables_of,
)
from maci.agents.argument import Kind
from maci.agents.library import Library
from maci.cases.outcomes import normal
from maci.evidence.encode import Encoder, cosines
from maci.evidence.knowledge import Condition, conditions
from maci.evidence.lexical import term_set
from maci.evidence.orders import order

_MOST = 24
"""Candidates that go on record."""
_TELLING, _GUESS = 0.75, 0.5
"""What is assumed of an answer nobody has counted: it fits the outcome it is expected under this often; elsewhere it is open."""
_UNLISTED = 0.05
"""Assumed rate of a symptom under a condition that does not list it."""


class Proposer(Protocol):
    """Looks for what could be found out."""

    def survey(self, residual: Residual) -> Survey:
        """Candidates for what is still open."""


class Surveyor:
    """The proposer of a table: a library where there is one, and an encoder to tell what is the same."""

    def __init__(
        self, library: Library | None = None, encoder: Encoder | None = None, aliases: Mapping[str, str] | None = None
    ) -> None:
        self._encoder, self._aliases, self._library = encoder, aliases or {}, library
        self.features: Features | None = None
        self._known, self._own = False, list[int]()
        if library is not None:
            own = [i for i, span in enumerate(library.spans) if not span.source.startswith("built-in")]
            self._known = len(own) < len(library.spans)
            # nothing to ask a person about
            self._own = own = [i for i in own if not order(library.spans[i].text, library.outcomes)]
            if own:
                spans = [library.spans[i] for i in own]
                self.features = Features(spans, library.subject[own], library.outcomes, names=self._aliases)

    def survey(self, residual: Residual) -> Survey:
        """Everything proposed, each meaning once, the most informative first."""
        found: list[Proposal] = []
        considered = len(residual.requests)
        if self.features is not None:
            considered += len(self.features.all)
            found += counted(self.features, residual)
        if self._known:
            found += (listed := known(residual, self._aliases))
            considered += len(listed)
        found += requested(residual)
        found += self._contrasts(residual)
        lookups = unresolved(residual)
        found += lookups
        p = np.array(residual.p)
        found = self._unasked(on_menu(found, residual.menu, self._encoder), residual)
        bits = gain_each(p, tables_of(found, residual.labels))
        worth = {c.id: bit / (c.cost or COSTS[c.kind]) for c, bit in zip(found, bits, strict=True)}
        ranked = sorted(found, key=lambda c: (-worth[c.id], c.id))
        telling = [c for c in ranked if worth[c.id] > 0]
        pool = telling[: 2 * _MOST] + [c for c in telling[2 * _MOST :] if _kept(c)]
        told_apart = distinct(pool, self._encoder)
        chosen = told_apart[:_MOST] + tuple(c for c in told_apart[_MOST:] if _kept(c))
        # Who can only look things up must find something to look up, however many questions would tell more.
        chosen += tuple(c for c in lookups if c in found and worth[c.id] > 0 and c.id not in {d.id for d in chosen})
        sections = offered(set_aside(residual.menu, chosen), residual, self._library)
        chosen = (*sections, *chosen)
        return Survey(candidates=tuple(map(self._grounded, chosen)), considered=considered + len(residual.menu))

    def _contrasts(self, residual: Residual) -> list[Proposal]:
        """Which of two quoted sentences is closer to the case, for the outcomes that are left open."""
        if self._library is None or not self._own:
            return []
        pairs, _ = open_pairs(residual)
        made = (contrast(a, b, self._library, residual, self._own) for a, b in pairs)
        return [proposal for proposal in made if proposal is not None]

    def _unasked(self, candidates: Iterable[Proposal], residual: Residual) -> list[Proposal]:
        """Without what was asked before, and without what stayed unanswered in other words."""
        asked = {term_set(subject) for subject in residual.asked}
        left = [
            c
            for c in candidates
            if (c.subject not in residual.asked if c.kind == "retrieval" else term_set(c.subject) not in asked)
        ]
        silent = residual.unanswered
        if self._encoder is None or not silent or not left:
            return left
        near = cosines(self._encoder.encode([c.subject for c in left]), self._encoder.encode(list(silent))) >= ALIKE

        def again(row: int, candidate: Proposal) -> bool:
            rivals = (subject for subject, alike in zip(silent, near[row], strict=True) if alike)
            return candidate.kind != "retrieval" and any(not apart(candidate.subject, subject) for subject in rivals)

        return [candidate for row, candidate in enumerate(left) if not again(row, candidate)]

    def _grounded(self, candidate: Proposal) -> Proposal:
        """With the spans that speak of it, where the proposal came without."""
        if self._library is None or candidate.evidence or candidate.kind == "retrieval":
            return candidate
        spans = self._library.speaking_of(candidate.subject)
        return replace(candidate, evidence=spans) if spans else candidate


def _kept(candidate: Proposal) -> bool:
    """Whether it stays on the list however much others tell: an agent asked for it, or the source has it."""
    return AGENTS in candidate.origin or MENU in candidate.origin


def distinct(candidates: Sequence[Proposal], encoder: Encoder | None) -> tuple[Proposal, ...]:
    """Candidates in their order, each meaning once; of two, the one whose table was counted stays, in an agent's words if one asked.

    Equal terms in any order are the same; else the encoder decides, never across words that make a difference.
    """
    order = sorted(range(len(candidates)), key=lambda i: (candidates[i].assumed, i))
    named = [term_set(c.subject) for c in candidates]
    near = _near(candidates, encoder)
    kept: list[int] = []
    joined: dict[int, Proposal] = {}

    def same(i: int, k: int) -> bool:
        if (candidates[i].kind == "retrieval") != (candidates[k].kind == "retrieval"):
            return False
        return named[i] == named[k] or not apart(candidates[i].subject, candidates[k].subject)

    for i in order:
        alike = (k for k in kept if k in near[i] or named[k] == named[i])
        other = next((k for k in alike if same(i, k)), None)
        if other is None:
            kept.append(i)
            joined[i] = candidates[i]
        else:
            one, more = joined[other], candidates[i]
            words = one if AGENTS in one.origin or AGENTS not in more.origin else more
            joined[other] = replace(
                one,
                text=words.text,
                weight=1.0 if AGENTS in words.origin else one.weight,
                origin=tuple(dict.fromkeys((*one.origin, *more.origin))),
                requests=tuple(dict.fromkeys((*one.requests, *more.requests))),
                evidence=tuple(dict.fromkeys((*one.evidence, *more.evidence)))[:6],
            )
    return tuple(joined[i] for i in sorted(kept))


def _near(candidates: Sequence[Proposal], encoder: Encoder | None) -> Sequence[Collection[int]]:
    """Those that the encoder takes for the same as each; none without an encoder."""
    if encoder is None or not candidates:
        return [()] * len(candidates)
    vectors = encoder.encode([c.subject for c in candidates])
    near: list[set[int]] = [set() for _ in candidates]
    for i, k in np.argwhere(cosines(vectors, vectors) >= ALIKE).tolist():
        near[i].add(k)
    return near


def counted(features: Features, residual: Residual) -> list[Proposal]:
    """Findings of labelled lists that tell the leading outcomes apart; none where fewer than two possible outcomes have lists."""
    place = {label: i for i, label in enumerate(features.outcomes) if label in features.listed}
    p = np.array(residual.p)
    rows = features.base[:, None].repeat(len(residual.labels), axis=1)
    inside = [i for i, label in enumerate(residual.labels) if label in place]
    if sum(p[i] >= LISTED for i in inside) < 2:
        return []
    rows[:, inside] = features.present[:, [place[residual.labels[i]] for i in inside]]
    bits = np.where(features.open(residual.text, residual.asked), gains(p, rows), 0.0)
    best = np.argsort(-bits, kind="stable")[: 2 * _MOST]
    found = []
    for f in best.tolist():
        if bits[f] <= 0:
            break
        feature = features.all[f]
        listed = {residual.labels[i]: (float(rows[f, i]), 1 - float(rows[f, i])) for i in inside if p[i] >= LISTED}
        base = float(features.base[f])
        found.append(
            Proposal(
                id=proposal_id(feature.words),
                kind=kind_of(feature.words),
                text=f"Any sign of {feature.words}?",
                subject=feature.words,
                table=listed,
                otherwise=(base, 1 - base),
                origin=("corpus",),
                evidence=tuple(features.spans[row].id for row in feature.rows[:3].tolist()),
            )
        )
    return found


@cache
def _by_name() -> Mapping[str, Condition]:
    """The built-in knowledge by every name that it has for something."""
    return {normal(name): c for c in conditions() for name in (c.name, *c.aliases)}


def known(residual: Residual, aliases: Mapping[str, str]) -> list[Proposal]:
    """Symptoms, tests and questions of the built-in knowledge about outcomes that are still possible."""
    likely = frozenset(label for label, p in zip(residual.labels, residual.p, strict=True) if p >= LISTED)
    return list(_unsaid(residual.text, residual.labels, likely, tuple(aliases.items())))


@lru_cache(maxsize=32)  # a study debates a case many times
def _unsaid(
    text: str, labels: tuple[str, ...], likely: frozenset[str], aliases: tuple[tuple[str, str], ...]
) -> tuple[Proposal, ...]:
    """What the built-in knowledge proposes, without what a case says already."""
    case = Mentioned(text)
    return tuple(proposal for said, proposal in _about(labels, likely, aliases) if said is None or not case.says(said))


@lru_cache(maxsize=32)
def _about(
    labels: tuple[str, ...], likely: frozenset[str], aliases: tuple[tuple[str, str], ...]
) -> tuple[tuple[str | None, Proposal], ...]:
    """What the built-in knowledge proposes for the ``likely`` labels; each with the words that a case has if it answers it already."""
    to_label = {normal(alias): label for alias, label in aliases}
    to_label |= {normal(label): label for label in reversed(labels)}
    about: dict[str, Condition] = {}
    for name, condition in _by_name().items():
        label = to_label.get(name)
        if label is not None and label in likely:
            about.setdefault(label, condition)
    rates: dict[str, dict[str, float]] = defaultdict(dict)
    tests: dict[tuple[str, Kind], dict[str, str]] = defaultdict(dict)
    for label, condition in about.items():
        for symptom, share in condition.symptoms.items():
            rates[symptom][label] = share
        for test in condition.tests:
            tests[test.ask, test.kind][label] = test.expect
    return (
        *((symptom, _symptom(symptom, listed, about)) for symptom, listed in rates.items()),
        *(
            (None if kind == "test" else ask, _test(ask, expects, about, kind))
            for (ask, kind), expects in tests.items()
        ),
    )


def _symptom(symptom: str, listed: Mapping[str, float], about: Iterable[str]) -> Proposal:
    rows = {label: listed.get(label, _UNLISTED) for label in about}
    return Proposal(
        id=proposal_id(symptom),
        kind=kind_of(symptom),
        text=f"Any sign of {symptom}?",
        subject=symptom,
        table={label: (share, 1 - share) for label, share in rows.items()},
        otherwise=(_UNLISTED, 1 - _UNLISTED),
        origin=("knowledge",),
        assumed=True,
    )


def _test(ask: str, expects: Mapping[str, str], about: Iterable[str], kind: Kind) -> Proposal:
    """A test with what it shows under each outcome; those that expect the same share an answer."""
    answers = tuple(dict.fromkeys(expects.values()))
    n = len(answers)
    table = {}
    for label in about:
        row = [(1 - _TELLING) / n] * n + [(1 - _TELLING) / n]
        row[answers.index(expects[label]) if label in expects else n] = _TELLING
        total = sum(row)
        table[label] = tuple(x / total for x in row)
    none = tuple([(1 - _TELLING) / n] * n + [_TELLING])
    return Proposal(
        id=proposal_id(ask, kind),
        kind=kind,
        text=ask if ask.endswith("?") else f"{ask}: what does it show?",
        subject=ask.rstrip("?"),
        answers=(*answers, NONE_OF_THESE),
        table=table,
        otherwise=none,
        expected=dict(expects),
        origin=("knowledge",),
        assumed=True,
        subkind=subkind_of(ask) if kind == "test" else None,
    )


def requested(residual: Residual) -> list[Proposal]:
    """What agents asked for. How telling the answer is has to be assumed, and counts in full: unlike a template, they know the case."""
    found = []
    for asked in residual.requests:
        request = asked.request
        yes = [label for label in request.expected if label in residual.labels]
        if not yes or not is_sensible(request.text):
            continue
        fits = (_TELLING, 1 - _TELLING)
        table = {label: fits if request.expected[label] else fits[::-1] for label in yes}
        kind = request.kind or kind_of(request.text)
        found.append(
            Proposal(
                id=proposal_id(request.text, "asked"),
                kind=kind,
                text=as_question(request.text) if kind == "question" else request.text,
                subject=request.text.rstrip("? "),
                answers=("yes", "no"),
                table=table,
                otherwise=(_GUESS, 1 - _GUESS),
                origin=(AGENTS,),
                assumed=True,
                requests=(asked.turn,),
                subkind=(request.subkind or subkind_of(request.text)) if kind == "test" else None,
                query=request.text if kind == "retrieval" else "",
                weight=1.0,
            )
        )
    return found


def open_pairs(residual: Residual) -> tuple[list[tuple[str, str]], str]:
    """The outcomes to tell apart, two at a time, and why: agents disagree about them, or they lead the mixture."""
    order = sorted(range(len(residual.labels)), key=lambda i: (-residual.p[i], i))
    leads = [label for label in dict.fromkeys(residual.leads) if label in residual.labels]
    pairs = [(a, b) for n, a in enumerate(leads) for b in leads[n + 1 :]]
    if pairs:
        return pairs[:3], "disagreement"
    if len(order) > 1 and residual.p[order[1]] >= 0.05:
        return [(residual.labels[order[0]], residual.labels[order[1]])], "mixture"
    return [], ""


def unresolved(residual: Residual) -> list[Proposal]:
    """What to look up: what tells the two sides of a disagreement apart, or else the two leading outcomes."""
    pairs, origin = open_pairs(residual)
    return [_lookup(a, b, residual, origin) for a, b in pairs]


def _lookup(a: str, b: str, residual: Residual, origin: str) -> Proposal:
    rest, neither = (1 - _TELLING) / 2, 2 * (1 - _TELLING)
    sides = (f"fits {a} better", f"fits {b} better", "fits neither better")
    words = " ".join(" ".join(residual.text.split())[:240].split())
    return Proposal(
        id=proposal_id(f"{a}/{b}", "retrieval"),
        kind="retrieval",
        text=f"What tells {a} from {b} in a case like this?",
        subject=f"{a} or {b}",
        answers=sides,
        table={a: (1 - rest - neither, rest, neither), b: (rest, 1 - rest - neither, neither)},
        otherwise=(rest, rest, 1 - 2 * rest),
        origin=(origin,),
        assumed=True,
        query=f"{a} versus {b}: distinguishing findings. {words}",
        filters={"outcomes": (a, b)},
    )
