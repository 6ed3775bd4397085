"""A debate's story in sentences: how sure it is, why it stopped, what it cost, why an argument was not admitted, what was watched."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from textwrap import shorten

from maci.acquisition.gain import Favoured
from maci.acquisition.plan import Shift
from maci.agents.argument import Kind
from maci.config.sections import Budget
from maci.controller.caution import Watched
from maci.controller.decisions import Finished, Gained
from maci.controller.dials import RoundDials
from maci.controller.inputs import Acquired, Seat
from maci.controller.stop import StopReason
from maci.controller.triage import Stage, Triaged
from maci.llm.usage import dollars
from maci.render.markup import fixed, percent, typeset
from maci.story.model import Round, Statement
from maci.story.story import Story

STOPS: Mapping[StopReason, str] = {
    "consensus": "The agents agree.",
    "plateau": "Nothing new is being said, and disagreement is low enough to end.",
    "crit_stable": "The judges' scores have settled, and nothing new is being said.",
    "impasse": "Progress has ended without agreement.",
    "stalemate": "No argument was good enough any more.",
    "max_rounds": "The last allowed round was played.",
    "budget": "The budget did not reach further.",
    "triage": "No debate was held: it was not expected to be worth its tokens.",
    "stopped_by_user": "A person stopped it.",
    "error": "It ended with an error.",
}
"""What a stop means to somebody who does not know the rules."""

_APART: Mapping[StopReason, str] = {
    "plateau": "No agreement: nothing new is being said, and the agents lead with different outcomes.",
    "crit_stable": "No agreement: the judges' scores have settled, and the agents lead with different outcomes.",
}
"""What a stop means where the agents are not of one mind (D19)."""
_UNSUPPORTED = (
    "Progress has ended. All agents lead with the same outcome, but too little evidence for it is shared or admitted."
)
"""What an impasse means where they are."""

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


STEPS: Mapping[Kind, str] = {
    "question": "Ask",
    "history": "Ask about",
    "test": "Test",
    "monitoring": "Monitor",
    "retrieval": "Look up",
}
"""What is done about an item of the plan."""
ALL = "all agents"
"""What the mixture is called everywhere."""
_TIE = 1e-6
"""Leads that are nearer than this are equal (D19)."""
_LONGEST = 11
"""Outcomes of a scale that are all shown: -5 to +5."""


def figure(value: float | None, digits: int = 3) -> str:
    """A number, or a dash where it is undefined.

    >>> figure(0.12345), figure(None), figure(-0.5, 2)
    ('0.123', '–', '−0.50')
    """
    return "–" if value is None else fixed(value, digits)


def round_name(number: int) -> str:
    """What a round is called, everywhere.

    >>> round_name(0), round_name(2)
    ('openings', 'round 2')
    """
    return f"round {number}" if number else "openings"


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


_CLOSE = 0.1
"""Leads below a half that are smaller than this decide nothing where the agents are not of one mind."""


def nobody_leads(
    answer: str | None, belief: Mapping[str, float], *, agreed: bool | None, tied: Sequence[str] = ()
) -> str:
    """The outcomes that are about as probable as the answer; empty where the answer is one.

    >>> nobody_leads("c", {"c": 0.31, "a": 0.29, "o": 0.17}, agreed=False).replace("\N{NO-BREAK SPACE}", " ")
    'c 31 %, a 29 %'
    >>> nobody_leads("c", {"c": 0.31, "a": 0.29}, agreed=True), nobody_leads("c", {"c": 0.55, "a": 0.45}, agreed=False)
    ('', '')
    """
    p = 0.0 if answer is None else belief.get(answer, 0.0)
    rest = leading({label: q for label, q in belief.items() if label != answer}, len(belief))
    near = [label for label, q in rest if label in tied] or [
        label for label, q in rest[:1] if agreed is not True and p < 0.5 and p - q < _CLOSE
    ]
    if answer is None or not near:
        return ""
    return ", ".join(f"{label} {percent(belief[label])}" for label in (answer, *near[:2]))


def unclear(result: Finished | None) -> str:
    """The outcomes between which a finished debate does not decide; empty where it does, and where no answer is given."""
    if result is None or result.abstained is not None:
        return ""
    return nobody_leads(result.given, result.distribution, agreed=result.agreed, tied=result.tied)


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
    return f"after {_STAGES[event.stage]}: {'continues' if event.escalate else 'stops here'}"


def triage_why(event: Triaged) -> tuple[str, ...]:
    """Why triage stopped or went on, in sentences."""
    if event.answer is None or event.confidence is None or not event.steps:
        return tuple(map(as_sentence, event.why))
    best = max([step for step in event.steps if step.pays] or event.steps, key=lambda step: step.worth - step.tokens)
    tied = ", tied with another outcome" if event.margin is not None and event.margin < _TIE else ""
    who = "One agent answers" if event.stage == "single" else "The openings together favour"
    points = f"by {abs(100 * best.gain):.1f} percentage points"
    more = f"A {best.to} is expected to lower it {points}"
    if best.gain > 0:
        worth = f"such a gain is worth {plural(round(best.worth), 'token')}"
        more = f"A {best.to} is expected to raise it {points} for about {plural(best.tokens, 'token')}; {worth}"
    if event.escalate and not best.pays:
        more += ", but at the risk asked for no answer could be given"
    end = "so MACI continues" if event.escalate else "so MACI stops here"
    return (
        f"{who} {event.answer}{tied}; by the agents' own estimate it is right with a chance of about {percent(event.confidence)}.",
        f"{more}, {end}.",
    )


def stop_of(result: Finished) -> str:
    """What the stop of a debate means, in words."""
    if result.stop_reason == "impasse" and result.agreed:
        return _UNSUPPORTED
    return _APART[result.stop_reason] if unlike(result.stop_reason, result.agreed) else STOPS[result.stop_reason]


def _enough(story: Story) -> str:
    """What to do where the ceiling did not reach to a first round."""
    budget, usual = story.opened.config.budget, Budget().tokens
    if budget.usd is None and budget.tokens < usual:
        return f" Start it again with a higher ceiling; the default is {usual:,} tokens."
    return " Start it again with a higher ceiling."


def unlike(reason: str, agreed: bool | None) -> bool:
    """Whether a debate ended as one that settles does, and yet without agreement (D19)."""
    return agreed is False and reason in _APART


def stopped(story: Story) -> str:
    """Why it stopped, said once: the rule in words with the figures behind it, or what came from outside."""
    result = story.result
    if result is None:
        return ""
    said = stop_of(result)
    if result.stop_reason == "triage" and result.unfit:
        return said  # why triage stopped would name the guess that is withheld
    if result.stop_reason == "triage" and (looked := story.rounds[0].triaged):
        return " ".join((said, *triage_why(looked[-1])))
    if result.stop_reason in ("budget", "error", "triage"):
        advice = _enough(story) if result.stop_reason == "budget" and not result.rounds else ""
        return f"{said} {as_sentence(result.detail)}{advice}" if result.detail else said
    if result.stop_reason == "stopped_by_user":
        return as_sentence(result.detail) if result.detail else said
    last = story.closed[-1] if story.closed else None
    if last is None:
        return said
    return f"{said[:-1]} (disagreement D {figure(last.signal('d'))}, shared evidence O {figure(last.signal('o'), 2)})."


def rejection_words(item: Statement, dials: RoundDials | None) -> str:
    """Why an argument was not admitted, in plain words; nothing where it was."""
    a = item.admission
    if a is None or a.admitted:
        return ""
    if a.fact:
        return "Counts as a fact of the case, not as evidence: it cites nothing else."
    parts = []
    if "no verified citation" in a.reason:
        parts.append("no citation could be verified" if item.citations else "it cites nothing")
    if "τ_Q" in a.reason and dials is not None:
        parts.append(
            f"the cited text has little to do with this case (fit {figure(a.q, 2)}, needs {figure(dials.tau_q, 2)})"
        )
    if "every judge abstained" in a.reason:
        parts.append("no judge could grade it")
    if "τ_CRIT" in a.reason and dials is not None:
        needs = f"{figure(a.crit, 2)}, needs {figure(dials.tau_crit, 2)}"
        parts.append(f"the judges graded it too low ({needs}){_weakest(item)}")
    return f"Not admitted: {'; '.join(parts) or typeset(a.reason)}."


_WEAK = {
    "evidence": "the citations do not support the claim",
    "logic": "the claim does not follow from the reasons",
    "relevance": "it does little to answer the question",
}


def _weakest(item: Statement) -> str:
    """The criterion on which the judges graded an argument lowest, where one stands out."""
    given = [score.score for score in item.scores if score.score is not None]
    means = {name: sum(getattr(score, name) for score in given) for name in _WEAK} if given else {}
    low = min(means.values(), default=0.0)
    worst = [name for name, value in means.items() if value < low + 0.05 * len(given)]
    return f", mainly because {_WEAK[worst[0]]}" if len(worst) == 1 else ""


def favoured_words(best: Favoured) -> str:
    """What the utilities say to do.

    >>> favoured_words(Favoured(action="wait", expected=-1.0, actions={"treat": -1.3, "wait": -1.0}))
    'By the utilities: wait (expected utility -1.00; treat -1.30)'
    """
    rest = ", ".join(f"{name} {u:.2f}" for name, u in best.actions.items() if name != best.action)
    return f"By the utilities: {best.action} (expected utility {best.expected:.2f}; {rest})"


_VERDICTS = {
    "present": "yes",
    "absent": "no",
    "told": "in words",
    "unknown": "unknown",
    "off_question": "not about the question",
    "failed": "no answer",
    "stopped": "no more questions",
}


def acquired_words(event: Acquired, most: int = 120) -> str:
    """What a source answered, and how it was read.

    >>> acquired_words(Acquired(round=1, item="q", verdict="absent", text="no joint pain", source="ask"))
    'Answer (ask): no joint pain. Read as: no.'
    >>> acquired_words(Acquired(round=1, item="q", verdict="present", text="yes", source="ask"))
    'Answer (ask): yes.'
    """
    return f"Answer ({event.source or 'the source'}): {_reply(event, most)}"


def _reply(event: Acquired, most: int) -> str:
    said, verdict = shorten(event.text, most, placeholder=" …").rstrip("."), _VERDICTS[event.verdict]
    by = f" by {event.by}" if event.by else ""
    plain = said.casefold() in ("", verdict) or (event.verdict == "told" and not by)
    read = "" if plain else f" Read{by} as: {verdict}."
    return f"{said or verdict}.{read}"


def found_words(question: str, event: Acquired) -> str:
    """A question and what came back.

    >>> found_words("Any joint pain?", Acquired(round=1, item="q", verdict="absent", text="no", source="ask"))
    'Any joint pain? Answer: no.'
    >>> found_words("What is the pressure?", Acquired(round=1, item="q", verdict="told", text="Pressure: 3.8 bar", source="ask"))
    'What is the pressure? Answer: 3.8 bar.'
    """
    remarks = "".join(f" ({remark})" for remark in event.remarks)
    return f"{as_sentence(question)} Answer: {_reply(_unlabelled(event, question), 240)}{remarks}"


def _unlabelled(event: Acquired, question: str) -> Acquired:
    """An answer without a label that only repeats the question."""
    label, colon, rest = event.text.partition(": ")
    asked = set(re.findall(r"\w+", question.casefold()))
    return replace(event, text=rest) if colon and set(re.findall(r"\w+", label.casefold())) <= asked else event


def gained_words(event: Gained) -> str:
    """What answers did to the uncertainty, beside what was expected of them."""
    less = event.realised >= 0
    turned = "" if event.before == event.after else f" {event.after} now leads instead of {event.before}."
    many = "answer" if len(event.items) == 1 else f"{len(event.items)} answers"
    way, expected = ("reduced", "{:.2f} expected") if less else ("increased", "a reduction of {:.2f} was expected")
    if abs(event.realised) < 0.005:
        return f"The {many} did not change the uncertainty (a reduction of {event.predicted:.2f} bits was expected).{turned}"
    bits = f"{abs(event.realised):.2f} bits ({expected.format(event.predicted)})"
    return f"The {many} {way} the uncertainty by {bits}.{turned}"


def shift_words(shift: Shift) -> str:
    """What an answer would do to the decision."""
    verdict = "takes the lead" if shift.changes else "keeps the lead"
    course = f"{percent(shift.before)} → {percent(shift.after)}"
    return f"{answer_words(shift)}: {shift.leader} {verdict} ({course})"


def answer_words(shift: Shift) -> str:
    """An answer that may come, with its chance; in quotes only where it has several words."""
    return f"{quoted(shift.answer)} (a {percent(shift.probability)} chance)"


def quoted(answer: str) -> str:
    """An answer in a sentence: in quotes only where it has several words.

    >>> quoted("yes"), quoted("high fever")
    ('yes', '“high fever”')
    """
    return f"“{answer}”" if " " in answer else answer


def less_uncertain(bits: float, of: float) -> str:
    """What is expected of a question, as a share of the uncertainty (``of``, in bits) that is left.

    >>> less_uncertain(0.001, 0.5), less_uncertain(0.7, 0.5)
    ('little of the uncertainty that is left', 'all of the uncertainty that is left')
    """
    share = bits / of if of > 0 else 0.0
    many = "little" if share < 0.01 else "all" if share >= 0.995 else f"about {percent(share)}"
    return f"{many} of the uncertainty that is left"


ADMITTED = "admitted (strong enough to count)"
"""What being admitted means, where the word stands first."""


def admitted_words(rounds: Iterable[Round]) -> str:
    """How many different arguments of these rounds were admitted, and how many more only repeat one."""
    said = dict[str, bool]()
    every = [item for r in rounds if r.number for item in r.said]
    for item in every:
        key = item.repeats if item.repeats in said else item.id
        said[key] = said.get(key, False) or item.fate == "admitted"
    inside, many = sum(said.values()), len(said)
    verb = "was" if inside == 1 else "were"
    return f"{inside} of {plural(many, 'argument')} {verb} {ADMITTED}{repeat_words(len(every) - many, ' more ')}"


def repeat_words(n: int, more: str = " ") -> str:
    """How many arguments repeat earlier ones, after a count; nothing where none does.

    >>> repeat_words(0), repeat_words(1), repeat_words(2, " more ")
    ('', ', 1 repeats an earlier one', ', 2 more repeat earlier ones')
    """
    return f", {n}{more}{'repeats an earlier one' if n == 1 else 'repeat earlier ones'}" if n else ""


def seats_words(seats: Sequence[Seat], models: Mapping[str, str]) -> str:
    """Seats with their models, where the name of the seat does not say it.

    >>> seats_words([Seat("ada", "x"), Seat("x/small#2", "x")], {"ada": "x/small", "x/small#2": "x/small"})
    'ada (x/small), x/small#2'
    """
    named = ((seat.name, models.get(seat.name, "")) for seat in seats)
    return ", ".join(name if name.startswith(model) else f"{name} ({model})" for name, model in named)


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
        yield f"watch: {ALL} grew much surer as one, and no new evidence was admitted"
    if event.hollow:
        yield "watch: disagreement fell while neither shared evidence (O) nor its quality (Q) rose"
    if event.repeated:
        pairs = [f"{r.argument} as {r.of}" for r in event.repeated]
        yield f"watch: {plural(len(pairs), 'argument')} said before: {_some(pairs)}"
    if event.mixture in ("harmed", "mended"):
        yield f"watch: the joint answer went {_flip(event.mixture == 'harmed')}"
    for agents, harmed in ((event.harmed, True), (event.mended, False)):
        if agents:
            yield f"watch: {', '.join(agents)} went {_flip(harmed)}"


def _some(names: Sequence[str], most: int = 3) -> str:
    """The first few of them."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def _flip(harmed: bool) -> str:
    return "from right to wrong" if harmed else "from wrong to right"


def narrower_words(result: Finished) -> str:
    """What part of the answer's probability was given to narrower names."""
    parts = sorted(result.narrower.items(), key=lambda item: -item[1])
    named = ", ".join(f"{name} ({100 * share:.0f} %)" for name, share in parts[:5])
    return f"More narrowly, of the probability of {result.answer}: {named}"


def known_words(story: Story, gold: str) -> str:
    """The truth, and whether the answer is it, exactly or at the level at which names are compared."""
    if unclear(story.result) and story.result is not None:
        return f"{gold}, {'the first of these' if gold == story.result.answer else 'not the first of these'}"
    if story.result is None or gold != story.result.answer:
        return f"{gold}, so this is wrong"
    return gold if story.exact else f"{story.opened.case.gold}, so this is right, but not as narrow or wide"


def besides(result: Finished) -> Iterator[tuple[str, str]]:
    """(sentence, style): narrower names, what the debate itself said, the prediction set, what to do."""
    if result.narrower:
        yield narrower_words(result), ""
    if (back := result.rolled_back) is not None:
        p = back.distribution[back.answer]
        yield f"This is the vote of the openings; the debate itself came to {back.answer} (p = {p:.2f})", "yellow"
    if (held := result.prediction_set) is not None:
        yield (
            f"Prediction set: {{{', '.join(held.outcomes)}}}: holds the truth in {100 * held.coverage:g} % of cases like the "
            f"{held.n} calibrated on, on average, not surely in this one",
            "",
        )
    if result.favoured is not None:
        yield favoured_words(result.favoured), "bold"
