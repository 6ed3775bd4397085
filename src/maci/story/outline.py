"""What one look tells of a debate: the answer and how sure it is, who agrees, what happened, why, what speaks against it.

Terminal, web page, report and note are all written from this :class:`Outline`. Its lines are sentences; ids of arguments in them
become links where there are links.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from textwrap import shorten
from typing import Literal

from maci.acquisition.plan import Item, Shift
from maci.controller.acquiring import USED
from maci.controller.caution import Dissent
from maci.controller.decisions import Finished, Minority
from maci.render.markup import listed, percent
from maci.story.model import Belief, Round, Statement
from maci.story.story import Story
from maci.story.words import (
    ALL,
    STEPS,
    admitted_words,
    as_sentence,
    found_words,
    how_sure,
    leading,
    leads,
    less_uncertain,
    plural,
    quoted,
    rival_of,
    stop_of,
    unclear,
)

Tone = Literal["good", "agreed", "warn", "bad", "soft"]
_LONGEST, _CONTEXT, _ROOM = 300, 190, 560
"""Characters of a line, of the context, and of the lines of a column together."""
_QUOTED = 60
"""Characters of an answer that would turn a debate."""
_WORTH = 0.05
"""A runner-up below this is not worth a line."""
_LIKELY, _TRACE, _NAMED = 0.1, 0.005, 9
"""Outcomes from the first on are named beside the answer, a runner-up from the second on; how many at most."""
_TELLS = 0.05
"""Bits below which a question is not worth a line."""
_COUNTS = ("No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """The first screen."""

    question: str
    context: str
    """What is known, in one line."""
    answer: str | None
    """The answer that is given; ``None`` where none is."""
    guess: str | None
    """The most probable outcome, given or not."""
    p: float | None
    """Its probability."""
    sure: str
    """The probability in words."""
    withheld: str
    """Why there is no answer although there is a best guess."""
    unclear: str
    """Where nobody leads: the outcomes that are about equally probable, such as "Hepatitis C 31 %, Hepatitis B 29 %"."""
    agreement: str
    """Such as "3 of 3 agree", "split 2–1" or "1 of 2 agree, tied with measles"."""
    tone: Tone
    """Good only where all agents agree on an answer that is known to be right, agreed where nothing proves it; bad where there is none,
    or it is known to be wrong."""
    course: str
    """What happened, in a sentence or two."""
    found: tuple[str, ...]
    """What was asked on the way, each with its answer."""
    why: tuple[str, ...]
    against: tuple[str, ...]
    changes: tuple[str, ...]
    """What would change the answer."""
    grave: tuple[str, ...]
    """Warnings that nobody may miss, the gravest first."""
    notes: tuple[str, ...]
    """All other warnings, as the record has them."""


def outline(story: Story, differs: str = "") -> Outline:
    """The outline of a debate, finished or not. ``differs``: where its record contradicts itself."""
    result, last = story.result, story.closed[-1] if story.closed else None
    belief: Belief = result.distribution if result else last.mixture if last else {}
    guess = result.given if result else last.answer if last else None
    p = None if guess is None else belief.get(guess)
    held = _withheld(story, p)
    case = story.opened.case
    grave, notes = _warnings(result, differs)
    grave += _misfit(story) if result is not None else _so_far(story, guess)
    known = last if guess is not None else None
    return Outline(
        question=case.question,
        context=shorten(case.context, _CONTEXT, placeholder=" …"),
        answer=None if held else guess,
        guess=guess,
        p=p,
        sure="" if p is None or guess is None else how_sure(p, rival_of(guess, belief)),
        withheld=held,
        unclear="" if held else unclear(result),
        agreement="" if known is None else agreement(known.beliefs, guess) + _tie(result, guess),
        tone=_tone(story, known, guess, held=bool(held)),
        course="" if result and result.unfit else " ".join(_course(story)),
        found=tuple(_found(story)),
        why=_few(map(_line, best(story))) or _unsupported(story),
        against=_opposed(story),
        changes=_few(would_change(story)),
        grave=grave,
        notes=notes,
    )


def camps(beliefs: Mapping[str, Belief]) -> dict[str, list[str]]:
    """Outcome → the agents that lead with it, the larger camp first; agents that lead with none stand in none.

    >>> camps({"x": {"a": 0.4, "b": 0.6}, "y": {"a": 1.0}, "z": {"b": 0.9, "a": 0.1}, "w": {"a": 0.5, "b": 0.5}})
    {'b': ['x', 'z'], 'a': ['y']}
    """
    found: dict[str, list[str]] = {}
    for agent, belief in beliefs.items():
        for label in belief:
            if belief[label] > 0 and leads(label, belief):
                found.setdefault(label, []).append(agent)
    return dict(sorted(found.items(), key=lambda item: -len(item[1])))


def agreement(beliefs: Mapping[str, Belief], answer: str | None) -> str:
    """How many agents lead with the answer; where not all do, the size of each camp, the answer's first.

    >>> agreement({"x": {"a": 1.0}, "y": {"a": 1.0}}, "a")
    '2 of 2 agree'
    >>> agreement({"x": {"a": 1.0}, "y": {"b": 1.0}, "z": {"b": 1.0}}, "b")
    'split 2–1'
    >>> agreement({"x": {"a": 1.0}, "y": {"b": 1.0}, "z": {"b": 1.0}}, "a")
    '1 of 3 agree'
    """
    sides, every = camps(beliefs), len(beliefs)
    own = len(sides.pop(answer or "", ()))
    if every < 2:
        return "one agent alone" if every else ""
    if own == every or len(sides) > 3 or own < max(map(len, sides.values()), default=1):
        return f"{own} of {every} agree"
    undecided = every - own - sum(map(len, sides.values()))
    others = [len(agents) for agents in sides.values()] + [1] * undecided
    return "split " + "–".join(map(str, (own, *others)))


def _tie(result: Finished | None, answer: str | None) -> str:
    """The outcomes that share the lead with the answer."""
    others = [label for label in result.tied if label != answer] if result is not None else []
    return f", tied with {' and '.join(others)}" if others else ""


def _withheld(story: Story, p: float | None) -> str:
    """Why no answer is given, where one is not."""
    result, asked = story.result, story.opened.config.answer
    if result is None or result.abstained is None:
        return ""
    if not result.abstained.startswith("p of ") or p is None:
        return as_sentence(result.abstained)
    risk = None if asked.risk is None else 1 - asked.risk
    least = max(x for x in (asked.min_confidence, risk, 0.0) if x is not None)
    why = f"at an accepted risk of {percent(asked.risk)} " if least == risk else ""
    return as_sentence(f"{why}an answer must be at least {percent(least)} likely; the best guess is {percent(p)}")


def _tone(story: Story, last: Round | None, answer: str | None, *, held: bool) -> Tone:
    result = story.result
    if result is None:
        return "soft"
    if result.stop_reason == "error" or (answer is None and not held) or known_wrong(story):
        return "bad"
    whole = last is not None and len(camps(last.beliefs).get(answer or "", ())) == len(last.beliefs)
    if not whole or held or result.tied:
        return "warn"
    return "agreed" if story.gold_among(result.raw) is None else "good"


def _course(story: Story) -> list[str]:
    """What happened."""
    result, rounds = story.result, story.closed
    if not rounds:
        return [] if result is None else ["The debate ended before the first answer."]
    first, last = rounds[0], rounds[-1]
    agents = plural(len(first.beliefs), "agent").replace(str(len(first.beliefs)), _count(len(first.beliefs)), 1)
    if not last.number:
        held = " No debate was held." if result is not None and len(first.beliefs) > 1 else ""
        failed = [why for why in first.abstained.values() if not why.startswith("not asked")]
        lost = f" of {len(story.agents)}" if failed and len(first.beliefs) == 1 else ""
        verb = "was asked" if len(first.beliefs) == 1 and not lost else f"gave an opening, {_stand(first.beliefs)}"
        return [f"{agents}{lost} {verb}.{held}"]
    end = f"After {plural(last.number, 'round')} {_lead(last.beliefs, first.beliefs)}"
    parts = [end, admitted_words(rounds), *_moves(rounds)]
    lines = [f"{agents} began {_stand(first.beliefs)}.", f"{'; '.join(parts)}."]
    if hands := sorted({r.number for r in rounds if r.by_hand}):
        lines.append(f"A person set the dials in {_rounds(hands)}.")
    return lines


def _count(n: int) -> str:
    return _COUNTS[n] if n < len(_COUNTS) else f"{n:,}"


def _stand(beliefs: Mapping[str, Belief]) -> str:
    """How agents stand to each other."""
    sides = camps(beliefs)
    if len(sides) == 1 and len(next(iter(sides.values()))) == len(beliefs):
        return f"with {next(iter(sides))}"
    if len(sides) < 2:
        led = [f"{_count(len(agents)).lower()} with {outcome}" for outcome, agents in sides.items()]
        free = _count(len(beliefs) - sum(map(len, sides.values()))).lower()
        return f"apart: {', '.join(led)}, {free} undecided" if led else "undecided"
    named = listed(sides) if len(sides) < 4 else plural(len(sides), "outcome")
    return f"{agreement(beliefs, next(iter(sides)))} between {named}"


def _lead(beliefs: Mapping[str, Belief], before: Mapping[str, Belief]) -> str:
    """Who leads with what in the end."""
    sides, was = camps(beliefs), camps(before)
    if len(sides) == 1 and len(next(iter(sides.values()))) == len(beliefs):
        outcome = next(iter(sides))
        still = "still " if len(was.get(outcome, ())) == len(before) else ""
        return f"all {still}lead with {outcome}"
    parts = list[str]()
    for outcome, agents in list(sides.items())[:3]:
        who = agents[0] if len(agents) == 1 else f"{_count(len(agents)).lower()} agents"
        verb = "" if parts else "leads " if len(agents) == 1 else "lead "
        parts.append(f"{who} {verb}with {outcome}")
    free = [agent for agent in beliefs if not any(agent in agents for agents in sides.values())]
    who = " and ".join(free) if len(free) < 3 else f"{len(free)} agents"
    parts += [f"{who} {'is' if len(free) == 1 else 'are'} undecided"] if free else []
    return ", ".join(parts)


def _rounds(numbers: Sequence[int]) -> str:
    """Rounds in a sentence, those that follow each other as a range.

    >>> _rounds([2]), _rounds([2, 4]), _rounds([4, 5, 6, 9])
    ('round 2', 'rounds 2, 4', 'rounds 4 to 6, 9')
    """
    runs = [[n for _, n in run] for _, run in groupby(enumerate(numbers), lambda pair: pair[1] - pair[0])]
    said = (f"{run[0]} to {run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs)
    return f"{'round' if len(numbers) == 1 else 'rounds'} {', '.join(said)}"


def _moves(rounds: tuple[Round, ...], most: int = 3) -> list[str]:
    """Who changed sides, and whether new evidence was there for it."""
    moves: dict[tuple[int, bool], list[str]] = {}
    for before, now in pairwise(rounds):
        was, are = camps(before.beliefs), camps(now.beliefs)
        alone = {move.agent for move in now.watched.conformed} if now.watched is not None else set[str]()
        for outcome, agents in are.items():
            for agent in agents:
                if any(agent in held for other, held in was.items() if other != outcome):
                    moves.setdefault((now.number, agent in alone), []).append(agent)
    said, before_them = list[str](), list[str]()
    for (number, bare), agents in list(moves.items())[:most]:
        who = " and ".join(agents) if len(agents) < 3 else f"{len(agents)} agents"
        verb = f"{who} " if said else f"{who} changed sides "
        said.append(
            f"{'again ' if agents == before_them else verb}in round {number}{' without new evidence' if bare else ''}"
        )
        before_them = agents
    return [", ".join(said)] if said else []


def _found(story: Story, most: int = 3) -> list[str]:
    """What was asked on the way and what came back; of many answers the first few, and how many more there are."""
    used = [item for item in story.acquired if item.verdict in USED]
    more = [f"{plural(len(used) - most, 'more answer')} came in."] if len(used) > most else []
    return [*(found_words(story.asked.get(item.item, item.item), item) for item in used[:most]), *more]


def best(story: Story) -> list[Statement]:
    """The best arguments for the answer, where one is given or guessed."""
    return story.distinct(story.result.rationale) if story.result and story.result.given is not None else []


def known_wrong(story: Story) -> bool:
    """Whether an answer is given that is known to be wrong."""
    result = story.result
    if result is None or result.given is None or result.abstained is not None or unclear(result):
        return False
    return story.gold_among(result.raw) not in (None, result.answer)


ON_PAGE = "start again with the setting answer.force=true"
"""How a page shows a guess that readers withhold."""


def withheld_words(story: Story, look: Outline, find: str = "", force: str = "") -> str:
    """Why there is no answer. Where word statistics cannot decide the case, also what to do, as the door says it: where to ``find`` a
    language model, and how to ``force`` the readers' guess.
    """
    if story.result is None or not story.result.unfit:
        return look.withheld
    return f"{look.withheld} Use a language model{find}.{forced(force) if force else ''}"


def withheld_on_page(story: Story, look: Outline) -> str:
    """The same for pages and reports, whose readers have settings and no options."""
    return withheld_words(story, look, force=ON_PAGE)


def forced(way: str) -> str:
    """How to see a guess that readers withhold."""
    return f" To see the readers' guess all the same, {way}."


def _few(lines: Iterable[str], most: int = 3) -> tuple[str, ...]:
    """The first lines that find room, at least one."""
    some = list(lines)[:most]
    while len(some) > 1 and sum(map(len, some)) > _ROOM:
        some.pop()
    return tuple(some)


def _line(item: Statement, start: str = "") -> str:
    """An argument in a sentence or two, with who said it."""
    said = " ".join((item.argument.claim, *item.argument.reasons))
    if item.argument.against and item.argument.outcome:
        start += f"Against {item.argument.outcome}: "
    return f"{start}{shorten(said, _LONGEST, placeholder=' …')} ({item.agent}, {item.id})"


def _unsupported(story: Story) -> tuple[str, ...]:
    return ("No admitted argument speaks for it.",) if _stands(story) else ()


def _opposed(story: Story) -> tuple[str, ...]:
    """What speaks against the answer, and by name every other outcome that is worth one."""
    result, lines = story.result, _few(against(story))
    if result is None or result.given is None or not _stands(story):
        return lines
    rest = leading({label: p for label, p in result.distribution.items() if label != result.given}, _NAMED)
    named = [
        f"{label} ({percent(p)})"
        for at, (label, p) in enumerate(rest)
        if (p >= _LIKELY or (not at and p >= _TRACE)) and not any(line.startswith(f"{label} (") for line in lines)
    ]
    also = (f"Also possible: {', '.join(named)}.",) if named else ()
    return (*(lines or ("Nothing that was admitted speaks against it.",)), *also)


def _stands(story: Story) -> bool:
    """Whether there is an answer, or a guess, after at least one round."""
    return story.result is not None and story.result.given is not None and story.result.rounds > 0


def against(story: Story, *, full: bool = False) -> list[str]:
    """What speaks against the answer: a line for each other outcome that an agent leads with, the most probable first, then for the one
    that admitted arguments support best, and for the runner-up. Percentages are those of all agents, as in the answer.

    ``full``: with more arguments and every figure of the minority report.
    """
    result, said, lines = story.result, story.said, list[str]()
    if result is None or result.given is None:
        return []
    found, rival = result.dissent, rival_of(result.given, result.distribution)
    held: dict[str, list[Minority]] = {}
    for one in result.minority:
        held.setdefault(one.outcome, []).append(one)
    argued = [found.outcome] if found is not None and found.arguments else []
    runner_up = [rival[0]] if rival is not None and rival[1] >= _WORTH else []
    others = dict.fromkeys((*held, *argued, *runner_up))
    for outcome in sorted(others, key=lambda label: (label not in held, -result.distribution.get(label, 0.0))):
        by = held.get(outcome, [])
        own = [id for one in by for id in one.arguments]
        if found is not None and found.outcome == outcome:
            own = [*own, *(id for id in found.arguments if id not in own)]
        own = [item.id for item in story.distinct([id for id in own if id in said], len(own))]
        if not (by or own) and outcome not in runner_up:
            continue
        start = f"{outcome} ({percent(result.distribution.get(outcome, 0.0))} overall): {_backing(by, len(own))}"
        best_of = story.distinct(own, 3 if full else 1)
        lines += [_line(item, "" if number else f"{start} ") for number, item in enumerate(best_of)] or [start]
    if not result.minority:
        answer = result.answer
        lines += [
            _line(item)
            for item in said.values()
            if item.fate == "admitted"
            and item.argument.against
            and item.argument.outcome == answer
            and not item.repeats
        ][:2]
    if full and found is not None:
        lines += _minority_figures(story, found)
    return lines


def _backing(held: Sequence[Minority], arguments: int) -> str:
    """Who leads with another outcome, and what is admitted for it."""
    who = " and ".join(one.agent for one in held) if len(held) < 3 else f"{len(held)} agents"
    if held:
        return f"{who} {'leads' if len(held) == 1 else 'lead'} with it{'' if arguments else ', without an admitted argument'}."
    if not arguments:
        return "the runner-up, but no agent leads with it and no admitted argument speaks for it."
    many = "an admitted argument" if arguments == 1 else f"the best of {arguments} admitted arguments"
    return f"no agent leads with it; {many} for it:"


def _minority_figures(story: Story, found: Dissent) -> list[str]:
    """How well the minority is supported, what the answer leaves open, and what would decide."""
    score = "" if found.crit is None else f", judged {found.crit:.2f} on average"
    lines = [
        f"Admitted evidence for {found.outcome}: {found.support:.2f}{score}; for the answer: {found.answer_support:.2f}."
    ]
    if known := [span for span in found.unanswered if span in story.spans]:
        lines.append(f"No admitted argument for the answer deals with {', '.join(known)}.")
    return [*lines, *(f"What would decide: {line}" for line in found.decides)]


def would_change(story: Story) -> list[str]:
    """What the answer hangs on: a question that would turn it, single agents, arguments that just missed the gate, the runner-up."""
    result, rounds = story.result, story.closed
    if result is None or result.given is None or not rounds:
        return []
    said = []
    answer, last = result.given, rounds[-1]
    items = story.plan.items if story.plan is not None else ()
    turning = [(item, shift) for item in items for shift in item.shifts if shift.changes]
    said += [_turn(item, shift, answer) for item, shift in turning[:2]]
    if result.rolled_back is None:
        said += [f"Without {agent} the answer would be {other}." for agent, other in _without(last, answer)]
    missed = [
        item
        for r in rounds
        for item in r.said
        if item.fate == "rejected" and item.argument.outcome not in (None, answer) and not item.argument.against
        and not item.repeats
    ]  # fmt: skip
    if missed:  # what could be done about it, and which they are
        some = ", ".join(item.id for item in missed[:4]) + (f" and {len(missed) - 4} more" if len(missed) > 4 else "")
        named = list(dict.fromkeys(item.argument.outcome or "" for item in missed))
        whose = " or ".join(f"“{outcome}”" for outcome in named) if len(named) < 3 else "other outcomes"
        verb = "was" if len(missed) == 1 else "were"
        said.append(
            f"Find better evidence for {whose}: {plural(len(missed), 'argument')} for it {verb} not admitted ({some})."
            if len(named) == 1
            else f"Find better evidence for {whose}: {plural(len(missed), 'argument')} {verb} not admitted ({some})."
        )
    if turning:
        return said
    ask = next((f"Ask first: {item.text}" for item in items[:1] if item.added_gain >= _TELLS), "")
    if ask and story.plan is not None:
        worth = less_uncertain(items[0].added_gain, story.plan.entropy)
        return [*said, f"{as_sentence(ask)} It is expected to remove {worth}, not to change the answer."]
    none = "No single question is expected to change it" if story.plan is not None else "No question was looked for"
    if (rival := rival_of(answer, result.distribution)) is not None:
        gap = round(100 * (result.distribution[answer] - rival[1]))
        none += f": the runner-up, {rival[0]} ({percent(rival[1])}), is {plural(gap, 'percentage point')} behind"
    return [*said, f"{none}."]


def _turn(item: Item, shift: Shift, answer: str) -> str:
    """What would turn the answer: a finding, or evidence that tells two outcomes apart."""
    chance = percent(shift.probability)
    if item.kind == "retrieval" and shift.answer == f"fits {shift.leader} better":
        found = f"The chance to find it is {chance}; it would put it ahead."
        return f"Look for evidence that fits “{shift.leader}” better than “{answer}”. {found}"
    told = quoted(shorten(shift.answer, _QUOTED, placeholder=" …"))
    return f"{STEPS[item.kind]}: {as_sentence(item.text)} An answer of {told} has a {chance} chance; then {shift.leader} would lead."


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


_JOINED = re.compile("harm: went over to the majority without new admitted evidence: (.+)")
_GRAVE = (("caution", "undecided"), ("harm", "rolled back"), ("readers ",))
"""How grave warnings begin, the gravest first."""


def _warnings(result: Finished | None, differs: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Grave warnings as sentences, the gravest first; and all others. Where word statistics cannot decide a case, that says it all."""
    if result is None:
        return (as_sentence(f"this record contradicts itself: {differs}"),) if differs else (), ()
    if result.unfit:
        return (as_sentence(f"this record contradicts itself: {differs}"),) if differs else (), tuple(
            map(_named, result.warnings)
        )
    ranked = sorted((_gravity(warning), number, warning) for number, warning in enumerate(result.warnings))
    grave = [f"this record contradicts itself: {differs}"] if differs else []
    grave += [warning for rank, _, warning in ranked if rank < len(_GRAVE)]
    notes = [warning for rank, _, warning in ranked if rank == len(_GRAVE)]
    return tuple(_worded(w, result) for w in grave), tuple(map(_named, notes))


def _so_far(story: Story, guess: str | None) -> tuple[str, ...]:
    """The warnings of a debate under way, as its end would give them."""
    if guess is None or not story.closed[-1].number:
        return ()
    inside = [item for r in story.closed for item in r.said if item.fate == "admitted"]
    said = []
    if not inside:
        said.append("Nothing has been admitted so far: no argument was strong enough to count.")
    elif not any(_about(item, story) == guess and not item.argument.against for item in inside):
        said.append(f"No admitted argument speaks for {guess} so far.")
    moves = [
        f"{m.agent} to {m.after} in round {r.number}" for r in story.closed if r.watched for m in r.watched.conformed
    ]
    if moves:
        more = f"; and {len(moves) - 3} more" if len(moves) > 3 else ""
        said.append(f"Changed sides without new evidence: {'; '.join(moves[:3])}{more}.")
    return tuple(said)


def _about(item: Statement, story: Story) -> str | None:
    """The outcome that an argument is about, under the name that the debate has for it."""
    joined = story.joins.get(item.argument.outcome or "")
    return item.argument.outcome if joined is None else joined.label


def _misfit(story: Story) -> tuple[str, ...]:
    """What to do where most arguments were not admitted, and most of those for what they cite."""
    judged = [item for r in story.closed for item in r.said if item.admission is not None and not item.admission.fact]
    out = [item.admission.reason for item in judged if item.admission is not None and not item.admission.admitted]
    unlike = sum("τ_Q" in reason for reason in out)
    result = story.result
    if result is None or result.unfit or 2 * len(out) <= len(judged) or 2 * unlike <= len(out):
        return ()
    who = "the judges" if story.opened.judges and story.opened.config.gate.crit_gate else "the check of citations"
    return (
        f"{unlike} of {plural(len(judged), 'argument')} {'was' if unlike == 1 else 'were'} not admitted because the cited text has "
        "little to do with this case. Log lines and figures share few words with a question. "
        f"The setting `gate.q_gate=false` leaves admission to {who}.",
    )


def _gravity(warning: str) -> int:
    """The smaller, the graver."""
    return next((rank for rank, kinds in enumerate(_GRAVE) if warning.lower().startswith(kinds)), len(_GRAVE))


def _worded(warning: str, result: Finished) -> str:
    """A warning of the record as a sentence."""
    unheld = result.agreed is None and warning.startswith("caution: the debate ended without agreement")
    if unheld or warning.startswith("caution: no round of debate was held"):  # the former in older records
        return f"No round of debate was held. {stop_of(result)}"
    if warning.startswith("caution: the debate ended without agreement"):
        progress = result.stop_reason in ("impasse", "plateau", "crit_stable")
        return "The agents did not agree." + ("" if progress else f" {stop_of(result)}")
    if warning.startswith("caution: all agents lead with the same outcome, but"):
        why = stop_of(result)
        early = "All agents lead with the same outcome, but the debate ended before it had settled: "
        return why if result.stop_reason == "impasse" else early + why[:1].lower() + why[1:]
    if (found := result.dissent) is not None and warning.startswith("caution: the dissent is better supported"):
        shares = f"grades add up to {found.support:.2f} against {found.answer_support:.2f}"
        than = result.answer if unclear(result) else "the answer"
        return f"More admitted evidence speaks for {found.outcome} than for {than} ({shares})."
    if (moved := _JOINED.fullmatch(warning)) is not None:
        return f"Changed sides without new evidence: {moved[1]}."
    for kind in ("caution: ", "harm: "):
        warning = warning.removeprefix(kind)
    return as_sentence(_named(warning))


def _named(note: str) -> str:
    """A note of the record in the words that pages have for its things."""
    for word, said in (
        ("p is the raw mixture", f"the probabilities are those of {ALL}"),
        ("round-0 vote", "vote of the openings"),
    ):
        note = note.replace(word, said)
    return note
