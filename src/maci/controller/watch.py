r"""Watches every round for harm, and finds the minority report: the best-supported outcome other than the answer.

**Harm.** The monitor records what each round shows of conformity, stubbornness, repetition and hollow agreement, and what to warn
about. New evidence for an outcome, as an agent meets it in round t, is a span that an argument admitted in round t−1 cites for it
(in sequential order also an argument of an earlier speaker in round t), or that the agent itself cites for it in an argument
admitted now. What the agent has cited before, and what was admitted for that outcome before round t−1, is not new to it.

**Support.** The support of an outcome is its admitted evidence, each span once, at the best score of an argument that cites it
for the outcome:

.. math::
   S(y) = \sum_{e \in \mathcal{E}_y} \max_{i \in \psi_y,\; e \in i} \mathrm{CRIT}_i

A span counts 1 where nothing was judged. Arguments without verified citations support nothing. A text about one outcome supports no
other, because an agent who argues that one outcome fits and another does not cites both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from textwrap import shorten

import numpy as np

from maci.controller.caution import (
    Dissent,
    EarlierArgument,
    Flip,
    Ground,
    HarmReport,
    Held,
    Memory,
    Move,
    Repeat,
    Watched,
)
from maci.controller.decisions import Admission, CheckedCitation
from maci.controller.dials import Measured
from maci.controller.reading import gold_index, widen
from maci.controller.state import State, as_mapping, place
from maci.controller.stop import StopReason
from maci.errors import BeliefError
from maci.moderator.belief import Vector, lead, total_variation
from maci.moderator.harm import collapsed, conformed, hollow, same_words, stubborn, words

_QUOTED = 90
"""Letters of a span that is quoted in a sentence."""


def support(grounds: Iterable[Ground], outcome: str) -> float:
    """S(y).

    >>> e12, e2 = frozenset({"e1", "e2"}), frozenset({"e2"})
    >>> a = Ground(agent="x", round=1, outcome="cat", spans=e12, backing=e12, crit=0.5)
    >>> b = Ground(agent="y", round=2, outcome="cat", spans=e2, backing=e2, crit=0.8)
    >>> support([a, b], "cat"), support([a, b], "dog")
    (1.3, 0.0)
    """
    best: dict[str, float] = {}
    for ground in grounds:
        if ground.outcome == outcome:
            score = 1.0 if ground.crit is None else ground.crit
            for span in ground.backing:
                best[span] = max(best.get(span, 0.0), score)
    return sum(sorted(best.values()), 0.0)


def dissent(state: State, answer: str, p: Mapping[str, float], reason: StopReason) -> Dissent | None:
    """The best-supported outcome other than the answer: somebody leads with it, or admitted arguments speak for it.

    After an impasse there is one in any case: the most probable other outcome, if nothing better.
    """
    grounds = state.memory.grounds
    held: dict[str, list[str]] = {}
    for agent, belief in state.beliefs.items():
        if (top := lead(belief)) is not None:
            held.setdefault(state.labels[top], []).append(agent)
    spoken = {g.outcome for g in grounds.values() if g.outcome is not None}
    rivals = [y for y in p if y != answer and (y in held or y in spoken)]
    if not rivals and reason == "impasse":
        rivals = [y for y in p if y != answer and p[y] > 0]
    if not rivals:
        return None
    supports = {y: support(grounds.values(), y) for y in (*rivals, answer)}
    outcome = max(rivals, key=lambda y: (supports[y], len(held.get(y, ())), p[y]))
    own = sorted((i for i, g in grounds.items() if g.outcome == outcome), key=lambda i: state.merit[i], reverse=True)
    spans = tuple(dict.fromkeys(span for i in own for span in sorted(grounds[i].backing)))
    for_answer = {span for g in grounds.values() if g.outcome == answer for span in g.backing}
    scores = [c for i in own if (c := grounds[i].crit) is not None]
    return Dissent(
        outcome=outcome,
        probability=p[outcome],
        holders=tuple(held.get(outcome, ())),
        arguments=tuple(own),
        spans=spans,
        crit=sum(scores) / len(scores) if scores else None,
        support=supports[outcome],
        answer_support=supports[answer],
        unanswered=tuple(span for span in spans if span not in for_answer),
        contested=tuple(span for span in spans if span in for_answer),
        decides=_decides(answer, outcome, spans, for_answer, state),
    )


def _decides(answer: str, outcome: str, spans: tuple[str, ...], for_answer: set[str], state: State) -> tuple[str, ...]:
    """What evidence would decide between the two."""
    said = []
    if alone := [span for span in spans if span not in for_answer]:
        said.append(f"Whether {answer} also explains {_list(alone, state)}: no admitted argument for it does.")
    if both := [span for span in spans if span in for_answer]:
        said.append(f"Which of the two is favoured by {_list(both, state)}: both sides cite it.")
    if not spans:
        said.append(f"Any evidence for {outcome}: no admitted argument cites some.")
    if not for_answer:
        said.append(f"Any evidence for {answer}: no admitted argument cites some.")
    said.append(f"A finding to be expected under one of {answer} and {outcome} and not under the other (`maci plan`).")
    return tuple(said)


def _list(spans: list[str], state: State) -> str:
    more = f" and {len(spans) - 1} more" if len(spans) > 1 else ""
    text = shorten(state.spans[spans[0]].text, _QUOTED, placeholder=" …") if spans[0] in state.spans else ""
    return (f"“{text}” ({spans[0]})" if text else spans[0]) + more


def _among(name: str | None, labels: tuple[str, ...], state: State) -> str | None:
    """The outcome that an argument or a text is about, among the labels; ``None`` where it is about none of them."""
    if name is None:
        return None
    try:
        found = place(name, labels, state)
    except BeliefError:
        return None
    return found if found in labels else None


def remember_opening(state: State, said: Iterable[tuple[str, tuple[CheckedCitation, ...]]], o: float | None) -> Memory:
    """What later rounds are compared with: leads, mixture, overlap and citations of the openings."""
    cited: dict[str, frozenset[str]] = {}
    for agent, checked in said:
        cited[agent] = cited.get(agent, frozenset()) | {c.span for c in checked if c.verified}
    leads = {agent: state.labels[top] for agent, top in _leads(state).items() if top is not None}
    return Memory(opening=as_mapping(state.labels, state.mixed), leads=leads, o=o, cited=cited)


def watch(
    before: State, after: State, admissions: tuple[Admission, ...], measured: Measured
) -> tuple[State, tuple[Watched, ...]]:
    """The round just measured, watched; and the state that remembers it."""
    memory, labels, t = before.memory, after.labels, after.round
    said = [_said(a, before, labels) for a in admissions]
    grounds = {
        a.argument: _ground(a, s, t, before, labels) for a, s in zip(admissions, said, strict=True) if a.admitted
    }
    cited = dict(memory.cited)
    for item in said:
        cited[item.agent] = cited.get(item.agent, frozenset()) | item.spans
    kept = replace(memory, cited=cited, grounds={**memory.grounds, **grounds}, said=(*memory.said, *said))
    if not after.config.harm.enabled:
        return after.but(memory=kept), ()
    found = _watched(before, after, said, grounds, measured)
    return after.but(memory=replace(kept, watched=(*memory.watched, found))), (found,)


def _ground(a: Admission, said: EarlierArgument, t: int, state: State, labels: tuple[str, ...]) -> Ground:
    """An admitted argument as support: facts support nothing, and are new to somebody only where there is nothing else."""
    outcome = None if said.against else said.outcome
    evidence = frozenset(c.span for c in a.citations if c.counts)
    about = {span: _among(state.spans[span].label, labels, state) for span in evidence}
    backing = frozenset(span for span in evidence if about[span] in (None, outcome))
    spans = evidence if state.grounded else said.spans
    return Ground(agent=said.agent, round=t, outcome=outcome, spans=spans, backing=backing, crit=a.crit)


def _said(a: Admission, state: State, labels: tuple[str, ...]) -> EarlierArgument:
    argument = state.arguments[a.argument][1]
    return EarlierArgument(
        id=a.argument,
        agent=a.agent,
        outcome=_among(argument.outcome, labels, state),
        against=argument.against,
        words=words(argument.claim),
        spans=frozenset(c.span for c in a.citations if c.verified),
    )


def _watched(
    before: State, after: State, said: list[EarlierArgument], grounds: Mapping[str, Ground], measured: Measured
) -> Watched:
    rule, memory, labels, size = after.config.harm, before.memory, after.labels, len(after.labels)
    old = {agent: widen(p, size) for agent, p in before.beliefs.items()}
    were, are = {agent: lead(p) for agent, p in old.items()}, _leads(after)
    shown = {agent: _shown(agent, before, grounds, labels) for agent in are}
    shift = {agent: total_variation(p, old[agent]) for agent, p in after.beliefs.items() if agent in old}
    held = stubborn(were, are, shown, shift, rule.still)
    told = 0 if before.stake is None else len(before.stake.items)  # found out since the round before: new to everybody
    went = {} if told else conformed(were, are, shown)
    new = len(after.admitted_spans) - len(before.admitted_spans) + told
    lately = memory.watched[-1].new_spans if memory.watched else 0
    last = before.history[-1].signals if before.history else None
    gold = gold_index(after, labels)
    right = None if gold is None else {a: (were.get(a) == gold, are[a] == gold) for a in are if a in were}
    return Watched(
        round=after.round,
        moved=sum(were.get(a) is not None and are[a] is not None and were[a] != are[a] for a in are),
        conformed=tuple(Move(a, labels[x], labels[y]) for a, (x, y) in went.items()),
        stubborn=tuple(Held(a, labels[x], labels[y]) for a, (x, y) in held.items()),
        repeated=tuple(Repeat(s.id, of) for s in said if (of := _restates(s, memory.said, rule.same_words))),
        new_spans=new,
        collapsed=collapsed(measured.gain, new + lately, rule.collapse),
        hollow=before.grounded
        and hollow(
            (before.d, measured.d),
            (memory.o if last is None else last.o, measured.o),
            (measured.q if last is None else last.q, measured.q),
            fall=rule.fall,
            rise=rule.rise,
        ),
        harmed=None if right is None else tuple(a for a, (was, now) in right.items() if was and not now),
        mended=None if right is None else tuple(a for a, (was, now) in right.items() if now and not was),
        mixture=None if gold is None else _flip(before.mixed, after.mixed, gold),
    )


def _shown(agent: str, before: State, now: Mapping[str, Ground], labels: tuple[str, ...]) -> frozenset[int]:
    """The outcomes for which an agent has met new evidence in the round being closed."""
    memory, t, seats = before.memory, before.round, before.agents
    ahead = set(seats[: seats.index(agent)]) if before.config.agents.order == "sequential" else set[str]()
    fresh = [g for g in memory.grounds.values() if g.round == t - 1]
    fresh += [g for g in now.values() if g.agent == agent or g.agent in ahead]
    if not fresh:
        return frozenset()
    known = memory.cited.get(agent, frozenset())
    stale: dict[str | None, set[str]] = {}
    for g in memory.grounds.values():
        if g.round < t - 1:
            stale.setdefault(g.outcome, set()).update(g.spans)
    new = {g.outcome for g in fresh if g.outcome is not None and g.spans - known - stale.get(g.outcome, set())}
    return frozenset(labels.index(y) for y in new)


def _restates(new: EarlierArgument, said: Iterable[EarlierArgument], alike: float) -> str | None:
    """The earlier argument that this one says again: for the same outcome, in the same words without a new span, or the agent's own
    with the very same citations.
    """
    for old in said:
        if (old.outcome, old.against) != (new.outcome, new.against):
            continue
        if new.spans <= old.spans and same_words(new.words, old.words) >= alike:
            return old.id
        if new.spans and new.spans == old.spans and new.agent == old.agent:
            return old.id
    return None


def _leads(state: State) -> dict[str, int | None]:
    return {agent: lead(p) for agent, p in state.beliefs.items()}


def _flip(before: Vector, after: Vector, gold: int) -> Flip:
    was, now = int(before.argmax()) == gold, int(after.argmax()) == gold
    return "same" if was == now else "harmed" if was else "mended"


# --- the debate as a whole ------------------------------------------------------------------------------------------------------


def harm(state: State, answer: str) -> HarmReport | None:
    """All rounds together, once the debate's answer is known; ``None`` where nothing was watched."""
    memory, rule = state.memory, state.config.harm
    if not rule.enabled or not memory.opening:
        return None
    rounds, history = memory.watched, state.history
    silent = Counter(held.agent for w in rounds for held in w.stubborn)
    opening = max(memory.opening, key=lambda y: memory.opening[y])
    gold = gold_index(state, state.labels)
    known = gold is not None
    first, last = (history[0].signals, history[-1].signals) if history else (None, None)
    start_d = history[0].progress.d_before if history else None
    grounds = memory.grounds.values()
    return HarmReport(
        moves=sum(w.moved for w in rounds),
        conformed=sum(len(w.conformed) for w in rounds),
        stubborn=tuple(a for a in state.agents if silent[a] >= rule.stubborn_rounds),
        arguments=len(memory.said),
        repeated=sum(len(w.repeated) for w in rounds),
        collapses=tuple(w.round for w in rounds if w.collapsed),
        hollow=state.grounded
        and first is not None
        and last is not None
        and hollow((start_d, last.d), (memory.o, last.o), (first.q, last.q), fall=rule.fall, rise=rule.rise),
        openings=memory.leads,
        opening_answer=opening,
        support=support(grounds, answer),
        opening_support=support(grounds, opening),
        harmed=sum(len(w.harmed or ()) for w in rounds) if known else None,
        mended=sum(len(w.mended or ()) for w in rounds) if known else None,
        mixture=None
        if gold is None
        else _flip(widen(np.array(list(memory.opening.values())), len(state.mixed)), state.mixed, gold),
    )


def warnings(state: State, found: HarmReport) -> list[str]:
    """What to tell the user, in plain words."""
    said = []
    if found.conformed:
        moves = [f"{m.agent} to {m.after} in round {w.round}" for w in state.memory.watched for m in w.conformed]
        who = "; ".join(moves[:3]) + (f"; and {len(moves) - 3} more" if len(moves) > 3 else "")
        said.append(f"harm: went over to the majority without new admitted evidence: {who}")
    if found.collapses:
        rounds = ", ".join(map(str, found.collapses))
        said.append(f"harm: grew much surer in round {rounds} although no new evidence was admitted")
    if found.hollow:
        said.append(
            "harm: hollow consensus: disagreement fell, but neither the shared evidence (O) nor its quality (Q) rose"
        )
    for agent in found.stubborn:
        said.append(f"harm: {agent} did not move although new evidence for what most others hold was shown to it")
    if found.arguments and found.repeated > state.config.harm.repeats * found.arguments:
        said.append(f"harm: {found.repeated} of {found.arguments} arguments only restate earlier ones")
    return said
