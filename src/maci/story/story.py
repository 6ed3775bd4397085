"""The story of a debate, told event by event: ``Story.of(events)`` of a record, ``story.follow(event)`` while it runs.

Pure: an event in, a new story out. Every figure in it is one of the record's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Self, assert_never

from maci.acquisition.plan import leaderless
from maci.agents.judges.crit import CritScore
from maci.cases.labels import Comparing, Join
from maci.cases.names import Kind as RelationKind
from maci.controller.caution import Watched
from maci.controller.decisions import Decision, Dialled, Finished, Gained, Gated, Initialized, Joined, Planned, Weighed
from maci.controller.dials import Measured
from maci.controller.events import Event
from maci.controller.inputs import (
    Acquired,
    Compared,
    Exhausted,
    Intervened,
    JudgeAbstention,
    Lost,
    Opened,
    Recommended,
    Requested,
    Resolved,
    Retrieved,
    Scored,
    Sent,
    Surveyed,
    TurnFailed,
    TurnTaken,
    unpack,
    usage_of,
)
from maci.controller.state import argument_id
from maci.controller.triage import Stage, Triaged
from maci.errors import InputError
from maci.evidence.span import Span, quote_places
from maci.llm.usage import Usage
from maci.story.model import (
    Cited,
    Hand,
    Judged,
    ReturnedCall,
    Round,
    Statement,
    compared_words,
    hand_words,
    joined_words,
)


@dataclass(frozen=True, kw_only=True)
class Story:
    """A debate so far."""

    opened: Opened
    rounds: tuple[Round, ...] = (Round(number=0),)
    spans: Mapping[str, Span] = field(default_factory=dict)
    retrieved: tuple[str, ...] = ()
    """Those found before anybody spoke."""
    missing: frozenset[str] = frozenset()
    """Cited ids that exist nowhere."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Names of open outcomes → their embeddings, packed."""
    joins: Mapping[str, Join] = field(default_factory=dict)
    """Names of open outcomes that are no labels of their own, and the labels that hold them."""
    compared: Mapping[tuple[str, str], RelationKind] = field(default_factory=dict)
    """What a model said of pairs of names."""
    calls: tuple[ReturnedCall, ...] = ()
    waiting: Mapping[tuple[str, str, str], Usage] = field(default_factory=dict)
    """Calls that are out (kind, who, argument), and the most each can cost."""
    hands: tuple[Hand, ...] = ()
    paused: bool = False
    held: bool = False
    """A person holds the dials until they are given back."""
    spent: Usage = field(default_factory=Usage)
    plan: Planned | None = None
    """The last one: what to find out next."""
    asked: Mapping[str, str] = field(default_factory=dict)
    """The words of what was asked on the way, by the item's id."""
    acquired: tuple[Acquired, ...] = ()
    """What was found out on the way."""
    gained: tuple[Gained, ...] = ()
    """And what it brought."""
    result: Finished | None = None
    events: int = 1

    @classmethod
    def of(cls, events: Iterable[Event]) -> Self:
        """The story of recorded events."""
        first, *rest = events
        if not isinstance(first, Opened):
            raise InputError(f"a story begins with `opened`, this one with `{first.type}`")
        return reduce(lambda story, event: story.follow(event), rest, cls(opened=first))

    def follow(self, event: Event) -> Self:
        """The story with one more event."""
        story = replace(self, events=self.events + 1)
        if isinstance(event, Decision):
            return story._decided(event)
        match event:
            case Retrieved() | Resolved():
                return story._looked_up(event)
            case Sent():
                out = dict(self.waiting)
                for call in event.calls:
                    out[call.key] = out.get(call.key, Usage()) + Usage(prompt=call.tokens, usd=call.usd)
                return replace(story, waiting=out)._at(event.round, sent=(*self._round(event.round).sent, *event.calls))
            case TurnTaken() | TurnFailed() | Scored() | JudgeAbstention() | Compared() | Recommended():
                return story._called(event)
            case Lost():
                return story._lost()
            case Exhausted():
                return replace(story, waiting={}, spent=self.spent + event.usage)
            case Acquired():
                story = replace(story._back(("acquire", event.item, ""), event.usage), acquired=(*self.acquired, event))
                return replace(story, spans={**self.spans, **{span.id: span for span in event.spans}})
            case Intervened():
                return story._touched(event)
            case (
                Opened() | Surveyed() | Requested()
            ):  # the beginning, what the plan repeats with its worth, and what calls asked
                return story
            case _:
                assert_never(event)

    # what readers ask

    @property
    def current(self) -> Round:
        """The round under way, or the last one."""
        return self.rounds[-1]

    @property
    def withholds(self) -> bool:
        """Whether no answer will be given because word statistics cannot decide the case: then nothing may say who leads."""
        found = self.opened.unfit or (self.result is not None and self.result.unfit)
        return bool(found) and not self.opened.config.answer.force

    @property
    def closed(self) -> tuple[Round, ...]:
        """The rounds whose signals are in."""
        return tuple(r for r in self.rounds if r.closed)

    @property
    def said(self) -> dict[str, Statement]:
        """Every argument by id."""
        return {item.id: item for r in self.rounds for item in r.said}

    @property
    def stage(self) -> Stage | None:
        """Where the answer comes from: one agent, the openings of several, or rounds of debate; ``None`` without one."""
        if self.result is None or self.result.answer is None:
            return None
        if self.result.rounds:
            return "debate"
        return "vote" if len(self.rounds[0].beliefs) > 1 else "single"

    @property
    def replies(self) -> tuple[int, int]:
        """Replies of models that were found in the response cache, and all replies of models."""
        usages = [call.usage for call in self.calls if call.usage.kept or call.usage.paid]
        return sum(usage.kept and usage.free for usage in usages), len(usages)

    def distinct(self, ids: Sequence[str], most: int = 3) -> list[Statement]:
        """The first few of these arguments, each claim, each reasoning and each body of evidence once."""
        seen: set[object] = set()
        chosen, said = [], self.said
        for item in (said[identity] for identity in ids if identity in said):
            body = frozenset(c.span for c in item.citations)
            parts: set[object] = {item.argument.claim, item.argument.reasons or item.id, body}
            if not parts & seen:
                seen |= parts
                chosen.append(item)
        return chosen[:most]

    @property
    def calibrated(self) -> bool:
        """Whether a calibration stands behind the probabilities of the result."""
        own = None if self.result is None else self.result.calibrated
        return bool(self.opened.config.calibration.made_for) if own is None else own

    @property
    def agents(self) -> tuple[str, ...]:
        """Names in seat order."""
        return tuple(seat.name for seat in self.opened.agents)

    @property
    def scale(self) -> tuple[str, ...]:
        """The outcomes in their order, where they have one; else nothing."""
        space = self.opened.case.outcomes
        return space.labels if space.kind == "ordered" else ()

    @property
    def title(self) -> str:
        """What the case is called."""
        return self.opened.case.title or self.opened.case.id or self.opened.case.question

    @property
    def naming(self) -> Comparing:
        """What names of outcomes were compared by; the truth is looked for by the same."""
        return Comparing(
            vectors={name: unpack(packed) for name, packed in self.names.items()},
            threshold=self.opened.config.beliefs.label_match,
            answers=self.compared,
            joins=self.joins,
        )

    def gold_among(self, labels: Iterable[str]) -> str | None:
        """The true outcome among labels of this debate; see :meth:`maci.cases.case.Case.gold_among`."""
        return self.opened.case.gold_among(labels, self.naming)

    @property
    def exact(self) -> bool | None:
        """Whether the answer is the true outcome itself, neither wider nor narrower; ``None`` where that is not known."""
        result = self.result
        if result is None or result.given is None:
            return None
        return self.opened.case.gold_is(result.given, result.narrower, self.naming)

    def citing(self) -> dict[str, list[Statement]]:
        """Span → the arguments that cite it, first said first."""
        found: dict[str, list[Statement]] = {}
        for item in self.said.values():
            for cited in dict.fromkeys(c.span for c in item.citations):
                found.setdefault(cited, []).append(item)
        return found

    # how events change it

    def _at(self, number: int, **changes: object) -> Self:
        """The story with a round changed; rounds between are made."""
        rounds = list(self.rounds)
        while len(rounds) <= number:
            rounds.append(Round(number=len(rounds)))
        rounds[number] = replace(rounds[number], **changes)  # type: ignore[arg-type]
        return replace(self, rounds=tuple(rounds))

    def _round(self, number: int) -> Round:
        return self.rounds[number] if number < len(self.rounds) else Round(number=number)

    def _back(self, call: tuple[str, str, str], usage: Usage) -> Self:
        """The story with a call that has come back, and what it cost."""
        waiting = {key: most for key, most in self.waiting.items() if key != call}
        return replace(self, waiting=waiting, spent=self.spent + usage)

    def _lost(self) -> Self:
        """The story without calls that never came back; each counts for the most it can have cost."""
        return replace(self, waiting={}, spent=sum(self.waiting.values(), self.spent))

    def _looked_up(self, event: Retrieved | Resolved) -> Self:
        missing = frozenset(event.missing) if isinstance(event, Resolved) else frozenset()
        spans = {**self.spans, **{span.id: span for span in event.spans}}
        names = {**self.names, **(event.labels if isinstance(event, Resolved) else {})}
        story = replace(self, spans=spans, missing=self.missing | missing, names=names)
        if isinstance(event, Retrieved):
            story = replace(story, retrieved=tuple(span.id for span in event.spans))
        last = self.current
        said = tuple(replace(s, citations=tuple(story._placed(c) for c in s.citations)) for s in last.said)
        return story._at(last.number, said=said)

    def _placed(self, cited: Cited) -> Cited:
        """A citation with its quote found in the span, where both are known."""
        span = self.spans.get(cited.span)
        if span is None or cited.quote is None or cited.places:
            return cited
        return replace(cited, places=quote_places(cited.quote, span.text))

    def _called(self, event: TurnTaken | TurnFailed | Scored | JudgeAbstention | Compared | Recommended) -> Self:
        now = self._round(event.round)
        call = ReturnedCall(round=event.round, kind="turn", who="", usage=usage_of(event))
        changes: dict[str, object] = {"usage": now.usage + call.usage}
        match event:
            case TurnTaken():
                call = replace(call, who=event.agent, prompt=event.turn.prompt)
                changes |= self._spoken(event, now)
            case TurnFailed():
                call = replace(call, who=event.agent, failed=event.error, fatal=event.fatal)
                changes["abstained"] = {**now.abstained, event.agent: event.error}
            case Scored():
                call = replace(call, kind="score", who=event.slot, argument=event.argument, prompt=event.score.prompt)
                changes |= _judged(now, call, event.score)
            case JudgeAbstention():
                call = replace(call, kind="score", who=event.slot, argument=event.argument)
                call = replace(call, failed=event.reason, fatal=event.fatal)
                changes |= _judged(now, call, None)
            case Compared():
                call = replace(call, kind="compare", who=event.by, argument=str(event.question), prompt=event.prompt)
                call = replace(call, failed=event.error)
                changes["notes"] = (*now.notes, compared_words(event))
            case Recommended():
                call = replace(call, kind="recommend", who=event.by, prompt=event.prompt, failed=event.error)
            case _:
                assert_never(event)
        story = self._back((call.kind, call.who, call.argument), call.usage)
        if isinstance(event, Compared):
            known = {pair: kind for pair, kind in event.answers.items() if kind is not None}
            story = replace(story, compared={**self.compared, **known})
        return replace(story, calls=(*self.calls, call))._at(event.round, **changes)

    def _spoken(self, event: TurnTaken, now: Round) -> dict[str, object]:
        """What a turn adds to its round; arguments stand in seat order whatever order they came in."""
        seat, before = self.agents.index(event.agent), self.said
        new = []
        for number, argument in enumerate(event.turn.arguments, 1):
            again = next(
                (s.repeats or s.id for s in before.values() if s.agent == event.agent and s.argument == argument), ""
            )
            cited = tuple(self._placed(Cited(span=c.span, quote=c.quote)) for c in argument.citations)
            new.append(
                Statement(
                    id=argument_id(event.round, seat, number), round=event.round, agent=event.agent,
                    argument=argument, citations=cited, repeats=again,
                )
            )  # fmt: skip
        said = sorted((*now.said, *new), key=lambda s: self.agents.index(s.agent))
        notes = (*now.notes, f"{event.agent}: {event.turn.note}") if event.turn.note else now.notes
        return {"said": tuple(said), "notes": notes, "turns": {**now.turns, event.agent: event.turn}}

    def _touched(self, event: Intervened) -> Self:
        hand = Hand(round=self.current.number, what=hand_words(event), by=event.by)
        paused = self.paused if event.pause is None else event.pause
        held = event.hold or (self.held and not event.release)
        return replace(self, hands=(*self.hands, hand), paused=paused, held=held)

    def _decided(self, event: Decision) -> Self:
        match event:
            case Initialized():
                now = self._round(0)
                opened = self._joined(event.joined)._at(
                    0, beliefs=event.beliefs, abstained=event.abstained, mixture=event.mixture, signals=event,
                    notes=(*now.notes, *event.notes, *map(joined_words, event.joined)),
                )  # fmt: skip
                return opened._at(1, dials=event.dials)
            case Gated():
                return self._gated(event)
            case Weighed():
                return self._joined(event.joined)._at(
                    event.round, beliefs=event.beliefs, reverted=event.reverted, abstained=event.abstained,
                    mixture=event.mixture, weights=event.weights,
                    notes=(*self._round(event.round).notes, *event.notes, *map(joined_words, event.joined)),
                )  # fmt: skip
            case Measured():
                return self._at(event.round, signals=event)
            case Watched():
                return self._at(event.round, watched=event)
            case Planned():
                asked = {item.id: item.text for item in event.items if item.id in event.acquire}
                told = replace(event, items=leaderless(event.items)) if self.withholds else event
                return replace(self, plan=told, asked={**self.asked, **asked})
            case Gained():
                event = replace(event, before="", after="") if self.withholds else event
                return replace(self, gained=(*self.gained, event))
            case Dialled():
                return self._at(event.round, dials=event.dials, by_hand=event.by_hand, choice=event.choice)
            case Triaged():
                return self._at(event.round, triaged=(*self._round(event.round).triaged, event))
            case Finished():
                plan = self.plan
                if event.unfit and plan is not None:  # found only now
                    plan = replace(plan, items=leaderless(plan.items))
                return replace(self._lost(), result=event, plan=plan)
            case _:
                assert_never(event)

    def _joined(self, joined: Sequence[Joined]) -> Self:
        return replace(self, joins={**self.joins, **{j.name: Join(j.label, j.kind, j.layer) for j in joined}})

    def _gated(self, event: Gated) -> Self:
        by_id = {admission.argument: admission for admission in event.admissions}
        said = []
        for item in self._round(event.round).said:
            admission = by_id.get(item.id)
            if admission is None:
                said.append(item)
                continue
            checked = admission.citations
            cited = tuple(
                replace(c, verified=k.verified, why=k.why) for c, k in zip(item.citations, checked, strict=False)
            )
            said.append(replace(item, admission=admission, citations=cited))
        return self._at(event.round, said=tuple(said), dials=event.dials)


def _judged(now: Round, call: ReturnedCall, score: CritScore | None) -> dict[str, object]:
    """What a judge's word adds to its round."""
    word = Judged(slot=call.who, score=score, reason=call.failed)
    said = (replace(s, scores=(*s.scores, word)) if s.id == call.argument else s for s in now.said)
    return {"judging": now.judging + call.usage, "said": tuple(said)}
