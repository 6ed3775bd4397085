"""A debate's story in sentences: how sure it is, why it stopped, what it cost, what would change it.

Also how far the result can be trusted: what was watched, the minority report, and the answer as it is given.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from textwrap import shorten
from typing import assert_never

from maci.acquisition.plan import Shift
from maci.acquisition.utilities import Favoured
from maci.controller.caution import Dissent, Watched
from maci.controller.decisions import Dialled, Finished, Gained, Gated, Initialized, Planned, Weighed
from maci.controller.dials import Measured
from maci.controller.events import Event
from maci.controller.inputs import (
    Acquired,
    Exhausted,
    Intervened,
    JudgeAbstention,
    Lost,
    Opened,
    Resolved,
    Retrieved,
    Scored,
    Sent,
    Surveyed,
    TurnFailed,
    TurnTaken,
)
from maci.controller.stop import StopReason
from maci.controller.triage import Stage, Triaged
from maci.llm.usage import dollars
from maci.render.markup import fixed, percent, typeset
from maci.story.model import Round, Statement, hand_words
from maci.story.story import Story

STOPS: Mapping[StopReason, str] = {
    "consensus": "The agents agree.",
    "plateau": "Nothing new is being said, and disagreement is low enough to end.",
    "crit_stable": "The judges' scores have settled, and nothing new is being said.",
    "impasse": "Progress has ended without agreement.",
    "stalemate": "No argument was good enough any more.",
    "max_rounds": "The last allowed round was played.",
    "budget": "The budget is spent.",
    "triage": "No debate was held: it was not expected to be worth its tokens.",
    "stopped_by_user": "A person stopped it.",
    "error": "It ended with an error.",
}
"""What a stop means to somebody who does not know the rules."""

_STAGES: Mapping[Stage, str] = {
    "single": "one agent",
    "vote": "the vote of all openings",
    "debate": "the debate",
}

_SURE = (
    (0.95, "almost certain"),
    (0.85, "very likely"),
    (0.70, "likely"),
    (0.50, "more likely than not"),
    (0.00, "ahead of the others, but less likely than not"),
)


_LONGEST = 11
"""Outcomes of a scale that are all shown: -5 to +5."""


def figure(value: float | None, digits: int = 3) -> str:
    """A number, or a dash where it is undefined.

    >>> figure(0.12345), figure(None), figure(-0.5, 2)
    ('0.123', '–', '−0.50')
    """
    return "–" if value is None else fixed(value, digits)


def how_sure(p: float, rival: tuple[str, float] | None = None) -> str:
    """A probability in words; about even with its ``rival`` where both are written alike.

    >>> how_sure(0.97), how_sure(0.67), how_sure(0.31)
    ('almost certain', 'more likely than not', 'ahead of the others, but less likely than not')
    >>> how_sure(0.502, ("gout", 0.498))
    'about even with gout'
    """
    if rival is not None and percent(p) == percent(rival[1]):
        return f"about even with {rival[0]}"
    return next(words for least, words in _SURE if p >= least)


def leading(belief: Mapping[str, float], n: int = 3) -> list[tuple[str, float]]:
    """The most probable outcomes.

    >>> leading({"a": 0.2, "b": 0.8, "c": 0.0})
    [('b', 0.8), ('a', 0.2)]
    """
    return [(label, p) for label, p in sorted(belief.items(), key=lambda item: -item[1])[:n] if p > 0]


def leads(label: str, belief: Mapping[str, float]) -> bool:
    """Whether an outcome is more probable than every other.

    >>> leads("a", {"a": 0.6, "b": 0.4}), leads("a", {"a": 0.5, "b": 0.5})
    (True, False)
    """
    return all(p < belief.get(label, 0.0) - 1e-9 for other, p in belief.items() if other != label)


def rival_of(answer: str, belief: Mapping[str, float]) -> tuple[str, float] | None:
    """The most probable of the other outcomes.

    >>> rival_of("a", {"a": 0.6, "b": 0.3, "c": 0.1})
    ('b', 0.3)
    """
    return next(iter(leading({label: p for label, p in belief.items() if label != answer}, 1)), None)


def shown(belief: Mapping[str, float], most: int = 3, scale: Sequence[str] = ()) -> list[tuple[str, float]]:
    """Outcomes worth a line: the most probable first; on a ``scale`` in its order, all of them unless it is long.

    >>> shown({"-1": 0.2, "0": 0.7, "+1": 0.1}, 2), shown({"+1": 0.3, "-1": 0.7}, 2, ("-1", "0", "+1"))
    ([('0', 0.7), ('-1', 0.2)], [('-1', 0.7), ('0', 0.0), ('+1', 0.3)])
    """
    if not scale:
        return leading(belief, most)
    kept = set(scale) if len(scale) <= _LONGEST else {label for label, _ in leading(belief, most)}
    return [(label, belief.get(label, 0.0)) for label in scale if label in kept]


def as_sentence(text: str) -> str:
    """What the record or an error says, as a sentence: names of files, models and settings keep their first letter.

    >>> as_sentence("out of tokens: 3 are left"), as_sentence("notes.csv: it is empty."), as_sentence("gate.tau_q = 7 is too much")
    ('Out of tokens: 3 are left.', 'notes.csv: it is empty.', 'gate.tau_q = 7 is too much.')
    """
    text = typeset(text.strip())
    first = text.partition(" ")[0].rstrip(":,;")
    begin = text[:1].upper() if first.isalpha() and first.islower() and len(first) > 1 else text[:1]
    return begin + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")


def triage_words(event: Triaged) -> str:
    """Where triage looked, and whether it went on."""
    return f"after {_STAGES[event.stage]}: {'goes on' if event.escalate else 'stops here'}"


def stopped(story: Story) -> str:
    """Why it stopped, said once: the rule in words with the figures behind it, or what came from outside."""
    result = story.result
    if result is None:
        return ""
    said = STOPS[result.stop_reason]
    if result.stop_reason in ("budget", "error", "triage"):
        return f"{said} {as_sentence(result.detail)}" if result.detail else said
    if result.stop_reason == "stopped_by_user":
        return as_sentence(result.detail) if result.detail else said
    last = story.closed[-1] if story.closed else None
    if last is None:
        return said
    return f"{said[:-1]} (disagreement D {figure(last.signal('d'))}, shared evidence O {figure(last.signal('o'), 2)})."


def would_change(story: Story) -> list[str]:
    """What the answer hangs on: the runner-up, single agents, and arguments that just missed the gate."""
    result, rounds = story.result, story.closed
    if result is None or result.answer is None or not rounds:
        return []
    said = []
    answer, last = result.answer, rounds[-1]
    top = leading(result.distribution, 2)
    if len(top) == 2:
        gap = 100 * (top[0][1] - top[1][1])
        said.append(f"The runner-up is {top[1][0]} (p = {top[1][1]:.2f}), {plural(round(gap), 'point')} behind.")
    if result.rolled_back is None:
        said += [f"Without {agent} the answer would be {other}." for agent, other in _without(last, answer)]
    if story.plan is not None:
        turning = ((item, shift) for item in story.plan.items for shift in item.shifts if shift.changes)
        said += [
            f"If asked “{item.text}”, the answer “{shift.answer}” ({percent(shift.probability)} likely) would put {shift.leader} first."
            for item, shift in list(turning)[:2]
        ]
    missed = [
        item
        for r in rounds
        for item in r.said
        if item.fate == "rejected" and item.argument.outcome not in (None, answer) and not item.repeats
    ]
    if missed:
        some = ", ".join(item.id for item in missed[:5]) + (f" and {len(missed) - 5} more" if len(missed) > 5 else "")
        what = (
            f"{plural(len(missed), 'argument')} for other outcomes {'was' if len(missed) == 1 else 'were'} not admitted"
        )
        said.append(f"{what} ({some}): better evidence could change that.")
    turns = [r.number for before, r in pairwise(rounds) if before.answer != r.answer]
    if turns:
        said.append(f"The leading outcome changed in round {', '.join(map(str, turns))}.")
    elif len(rounds) > 1:
        said.append("The leading outcome never changed.")
    return said


def favoured_words(best: Favoured) -> str:
    """What the utilities say to do.

    >>> favoured_words(Favoured(action="wait", expected=-1.0, actions={"treat": -1.3, "wait": -1.0}))
    'By the utilities: wait (expected utility -1.00; treat -1.30)'
    """
    rest = ", ".join(f"{name} {u:.2f}" for name, u in best.actions.items() if name != best.action)
    return f"By the utilities: {best.action} (expected utility {best.expected:.2f}; {rest})"


def shift_words(shift: Shift) -> str:
    """What an answer would do to the decision."""
    verdict = "changes the decision to" if shift.changes else "the lead stays with"
    course = f"{shift.before:.2f} → {shift.after:.2f}"
    return f"{shift.answer} ({percent(shift.probability)}): {verdict} {shift.leader}, {course}"


def _without(last: Round, answer: str) -> list[tuple[str, str]]:
    """Agents without whom another outcome would lead, and which."""
    if len(last.beliefs) < 2:
        return []
    found = []
    for left in last.beliefs:
        rest = {agent: belief for agent, belief in last.beliefs.items() if agent != left}
        weight = {agent: last.weights.get(agent, 1.0) for agent in rest}
        labels = dict.fromkeys(label for belief in rest.values() for label in belief)
        mixed = {label: sum(weight[a] * b.get(label, 0.0) for a, b in rest.items()) for label in labels}
        other = max(mixed, key=lambda label: mixed[label])
        if other != answer:
            found.append((left, other))
    return found


def plural(n: int, what: str) -> str:
    """So many of something.

    >>> plural(1, "round"), plural(0, "round"), plural(2, "entry")
    ('1 round', '0 rounds', '2 entries')
    """
    many = f"{what[:-1]}ies" if what.endswith("y") else f"{what}s"
    return f"{n:,} {what if n == 1 else many}"


def cost(result: Finished, *, priced: bool = True, kept: tuple[int, int] = (0, 0)) -> str:
    """Tokens and dollars, where the tokens went where a model was asked, and how many replies were ``kept`` (of how many)."""
    said, spent = plural(result.tokens, "token"), result.spent
    if not priced:
        said += " (price unknown)"
    elif result.usd:
        said += f" ({dollars(result.usd)})"
    if kept[0]:
        said += f", {kept[0]} of {plural(kept[1], 'reply')} from the response cache"
    if spent is None or not spent.seconds:
        return said
    shares = [(spent.prompt, "read"), (spent.cached, "of them from the provider's cache"), (spent.generated, "written")]
    shares += [(spent.judges, "by judges"), (spent.lost, "lost")]
    return said + " [" + ", ".join(f"{n:,} {what}" for n, what in shares if n) + "]"


def watched(event: Watched) -> Iterator[str]:
    """What a round's watch has found; nothing where all is well."""
    for move in event.conformed:
        yield f"watch: {move.agent} went from {move.before} to {move.after}, with which most others led, without new admitted evidence"
    for held in event.stubborn:
        yield f"watch: {held.agent} stays with {held.outcome} although new evidence for {held.against} was shown to it"
    if event.collapsed:
        yield "watch: the mixture grew much surer, and no new evidence was admitted"
    if event.hollow:
        yield "watch: disagreement fell while neither shared evidence (O) nor its quality (Q) rose"
    if event.repeated:
        pairs = [f"{r.argument} as {r.of}" for r in event.repeated]
        yield f"watch: {plural(len(pairs), 'argument')} said before: {_some(pairs)}"
    if event.mixture in ("harmed", "mended"):
        yield f"watch: the mixture's answer went {_flip(event.mixture == 'harmed')}"
    for agents, harmed in ((event.harmed, True), (event.mended, False)):
        if agents:
            yield f"watch: {', '.join(agents)} went {_flip(harmed)}"


def _some(names: Sequence[str], most: int = 3) -> str:
    """The first few of them."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def _flip(harmed: bool) -> str:
    return "from right to wrong" if harmed else "from wrong to right"


def minority(found: Dissent) -> str:
    """The minority report's first line."""
    who = f"held by {', '.join(found.holders)}" if found.holders else "which nobody leads with at the end"
    if not found.arguments:
        return f"Minority report: {found.outcome} (p = {found.probability:.2f}), {who}, with no admitted argument"
    score = "" if found.crit is None else f", CRIT {found.crit:.2f}"
    return (
        f"Minority report: {found.outcome} (p = {found.probability:.2f}), {who}, backed by {_some(found.arguments)}"
        f"{score}; support {found.support:.2f} against {found.answer_support:.2f} for the answer"
    )


def given(result: Finished) -> Iterator[tuple[str, str]]:
    """(sentence, style): the answer as it is given, or why none is, and what belongs to it."""
    assert result.answer is not None
    p = result.distribution[result.answer]
    if result.abstained is None:
        yield f"Answer: {result.answer}  (p = {p:.2f})", "bold green"
    else:
        yield f"No answer given at this risk level: {result.abstained}", "bold red"
        yield f"Best guess: {result.answer}  (p = {p:.2f})", "bold"
    yield from besides(result)


def besides(result: Finished) -> Iterator[tuple[str, str]]:
    """(sentence, style): what the debate itself said where the openings' answer is given; the prediction set; what to do."""
    if (back := result.rolled_back) is not None:
        p = back.distribution[back.answer]
        yield f"This is the round-0 vote; the debate itself came to {back.answer} (p = {p:.2f})", "yellow"
    if (held := result.prediction_set) is not None:
        yield (
            f"Prediction set: {{{', '.join(held.outcomes)}}}: holds the truth in {100 * held.coverage:g} % of cases like the "
            f"{held.n} calibrated on, on average, not surely in this one",
            "",
        )
    if result.favoured is not None:
        yield favoured_words(result.favoured), "bold"


def reason(item: Statement) -> str:
    """An argument in a line."""
    return " ".join((f"{item.id} {item.agent}: {item.argument.claim}", *item.argument.reasons))


def against(story: Story) -> list[str]:
    """The minority report: the best case for another outcome, evidence the answer leaves open, what would decide, who holds what."""
    result, lines = story.result, list[str]()
    if result is not None and (found := result.dissent) is not None:
        lines.append(minority(found).removeprefix("Minority report: "))
        lines += [reason(story.said[id]) for id in found.arguments if id in story.said][:2]
        if known := [span for span in found.unanswered if span in story.spans]:
            lines.append(f"No admitted argument for the answer deals with {', '.join(known)}")
        lines += [f"What would decide: {line}" for line in found.decides]
    for m in result.minority if result is not None else ():
        backing = f"backed by {', '.join(m.arguments)}" if m.arguments else "with no admitted argument"
        lines.append(f"{m.agent} holds {m.outcome} (p = {m.probability:.2f}), {backing}")
    return lines


def happened(event: Event) -> str:
    """One event in a line of a log."""
    match event:
        case Opened():
            return f"{len(event.agents)} agents and {len(event.judges)} judges; {event.case.question}"
        case Retrieved():
            return f"{len(event.spans)} pieces of evidence"
        case Resolved():
            lacking = f", {len(event.missing)} cited that exist nowhere" if event.missing else ""
            return f"{len(event.spans)} cited pieces looked up{lacking}"
        case Sent():
            return f"round {event.round}: {len(event.calls)} calls"
        case Lost():
            return "calls under way when it broke off count in full"
        case TurnTaken():
            lead = _lead(event.turn.belief, 1)
            return f"round {event.round}, {event.agent}: {lead}, {len(event.turn.arguments)} arguments"
        case TurnFailed():
            return f"round {event.round}, {event.agent}: {event.error}"
        case Scored():
            return f"{event.argument} by {event.slot}: {figure(event.score.composite, 2)}"
        case JudgeAbstention():
            return f"{event.argument} by {event.slot}: {event.reason}"
        case Intervened():
            return f"{event.by or 'a person'} {hand_words(event)}"
        case Exhausted():
            return f"out of {event.resource}: {event.detail}"
        case Surveyed():
            return f"{event.considered} things that could be found out, {len(event.candidates)} worth a look"
        case Acquired():
            return f"{event.source or 'a source'} on {event.item}: {shorten(event.text, 120, placeholder=' …') or event.verdict}"
        case Initialized():
            return f"openings: {_signals(event)}; {_lead(event.mixture)}"
        case Gated():
            inside = sum(admission.admitted for admission in event.admissions)
            return f"round {event.round}: {inside} of {len(event.admissions)} arguments admitted"
        case Weighed():
            return f"round {event.round}: {_lead(event.mixture)}"
        case Measured():
            more = f"CRIT {figure(event.crit, 2)}, gain {figure(event.gain, 2)}"
            return f"round {event.round}: {_signals(event)}, {more}"
        case Dialled():
            by, d = " (by hand)" if event.by_hand else "", event.dials
            return f"round {event.round}: CL {d.cl:.2f}, τ_Q {figure(d.tau_q, 2)}, τ_CRIT {d.tau_crit:.2f}{by}"
        case Finished():
            lead = "no answer" if event.answer is None else _lead({event.answer: event.distribution[event.answer]})
            return f"{lead}. {STOPS[event.stop_reason]} {plural(event.tokens, 'token')}"
        case Planned():
            now = f", {len(event.acquire)} asked now" if event.acquire else ""
            return f"{len(event.items)} things to find out, {event.joint_gain:.2f} of {event.entropy:.2f} bits{now}"
        case Gained():
            return f"expected {figure(event.predicted, 2)} bits, got {figure(event.realised, 2)}"
        case Watched():
            return f"round {event.round}: {'; '.join(watched(event)) or 'nothing that may be harm'}"
        case Triaged():
            return f"{triage_words(event)}; {'; '.join(event.why)}"
        case _:
            assert_never(event)


def _signals(event: Initialized | Measured) -> str:
    return f"Q {figure(event.q, 2)}, D {figure(event.d, 2)}, O {figure(event.o, 2)}"


def _lead(belief: Mapping[str, float], most: int = 2) -> str:
    return ", ".join(f"{label} {percent(p)}" for label, p in leading(belief, most)) or "no belief"
