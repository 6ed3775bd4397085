"""The joint recommendation (D20): what a model of the panel is given to write it from, and which of its sentences stand.

It is written when everything else is settled: the answer, the plan, the reason to stop. The model decides nothing. Each of its
sentences must cite admitted arguments or items of the plan, have a word of what they cite, say nothing that this denies, use no
number that is not in it, and name no other outcome as the answer; what does not is dropped and counted. Where nothing remains, or
there was no reply, the template (:mod:`maci.story.recommendation`) says it.

A call that was lost is not made again: it may have been paid for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from itertools import chain

from maci.agents.anchor import Admitted, WritingRequest
from maci.agents.argument import Argument, Sentence
from maci.cases.outcomes import OTHER
from maci.controller.decisions import Decision, DroppedSentence, Finished, Recommendation
from maci.controller.ending import Step, concluded, finish, forfeit, speaks_for
from maci.controller.inputs import Recommended
from maci.controller.state import Closing, State, check_citations
from maci.controller.stop import StopReason
from maci.evidence.lexical import term_set, terms
from maci.evidence.negation import denies

_UNASKED = frozenset({"error", "stopped_by_user"})
"""Ends after which nothing more is bought."""


def end(state: State, reason: StopReason, detail: str, decisions: tuple[Decision, ...] = ()) -> Step:
    """End the debate; where a model writes the recommendation and has something to cite, once that is written."""
    if state.opened.writer and reason not in _UNASKED and state.history and any(_citable(state)):
        return forfeit(state).but(closing=Closing(reason, detail), acquiring=(), recommending=True), decisions
    return finish(state, reason, detail, decisions)


def take_up(state: State, written: Recommended) -> Step:
    """End the debate with what of a recommendation stands the check."""
    if written.error:
        return stand_in(state, written.error)
    state = forfeit(state)
    result = concluded(state, *_closing(state))
    names, citable = _names(state), _citable(state)
    kept, dropped = [], []
    for sentence in written.sentences:
        why = unsupported(sentence, citable, names, None if result.abstained else result.answer)
        if why:
            dropped.append(DroppedSentence(sentence.text, why))
        else:
            kept.append(sentence)
    missing = "" if kept else "nothing it wrote is supported by the record"
    made = Recommendation(by=written.by, sentences=tuple(kept), dropped=tuple(dropped), detail=missing)
    result = replace(result, recommendation=made)
    return state.but(finished=result), (result,)


def stand_in(state: State, why: str) -> Step:
    """End the debate without a model's recommendation, and say why."""
    made = Recommendation(by=state.opened.writer, sentences=(), detail=why)
    return finish(state, *_closing(state), recommendation=made)


def _closing(state: State) -> Closing:
    assert state.closing is not None
    return state.closing


# --- what it is written from -------------------------------------------------------------------------------------------------


def writing_request(state: State, seed: int) -> WritingRequest:
    """What the writer is given: the result, admitted arguments for and against it, best first, and the plan."""
    result = concluded(state, *_closing(state))
    entries = {entry.id: entry for entry in _admitted(state)}
    ranked = sorted(entries.values(), key=lambda entry: state.merit[entry.id], reverse=True)
    against = [entry for entry in ranked if _opposes(entry.argument, result, state)]
    rest = [entry for entry in ranked if entry not in against and entry.id not in result.rationale]
    support = [*(entries[i] for i in result.rationale if i in entries), *rest]
    return WritingRequest(
        question=state.opened.case.question,
        answer=None if result.abstained else result.answer,
        confidence=0.0 if result.answer is None else result.distribution[result.answer],
        withheld=result.abstained or "",
        outcomes=tuple(label for label in state.labels if label != OTHER),
        support=tuple((entry.id, entry.argument) for entry in support),
        against=tuple((entry.id, entry.argument) for entry in against),
        steps=tuple((item.id, item.text) for item in (state.planned.items if state.planned else ())),
        seed=seed,
    )


def _admitted(state: State) -> Iterable[Admitted]:
    return (entry for entry in state.record if not entry.fact)


def _opposes(argument: Argument, result: Finished, state: State) -> bool:
    """Whether an argument speaks for another outcome than the answer, or against the answer."""
    if argument.outcome is None or result.answer is None:
        return False
    plain = argument if not argument.against else Argument(claim=argument.claim, outcome=argument.outcome)
    return speaks_for(plain, result.answer, state) == argument.against


# --- which sentences stand ---------------------------------------------------------------------------------------------------


def _citable(state: State) -> dict[str, str]:
    """Everything a sentence may rest on, by id, with its words: an argument's own and those of the evidence that it cites."""
    found = {}
    for entry in _admitted(state):
        said = entry.argument
        spans = [state.spans[c.span].text for c in check_citations(said, state) if c.verified]
        found[entry.id] = " ".join((said.claim, *said.reasons, *said.opposing, *spans))
    for item in state.planned.items if state.planned else ():
        found[item.id] = " ".join((item.text, item.subject, *item.expected.values()))
    return found


def _names(state: State) -> dict[str, str]:
    """Every name of an outcome → its label."""
    named = {label: label for label in state.labels if label != OTHER}
    return named | {name: join.label for name, join in state.joins.items()}


def unsupported(
    sentence: Sentence, citable: Mapping[str, str], names: Mapping[str, str], answer: str | None
) -> str | None:
    """Why a sentence does not stand, or ``None``; ``answer`` is ``None`` where none is given.

    >>> citable, names = {"1A1": "Fever of 39 degrees for 3 days."}, {"dengue": "dengue", "measles": "measles"}
    >>> said = Sentence(part="evidence", text="The fever lasted three days.", cites=("1A1",))
    >>> unsupported(said, citable, names, "dengue") is None
    True
    >>> said = Sentence(part="evidence", text="The fever lasted 5 days.", cites=("1A1",))
    >>> unsupported(said, citable, names, "dengue")
    'the number 5 is not in what it cites'
    >>> said = Sentence(part="against", text="A rash was seen.", cites=("1A1",))
    >>> unsupported(said, {"1A1": "Fever for 3 days without a rash."}, names, "dengue")
    'what it cites denies it'
    """
    if not sentence.cites:
        return "it cites nothing"
    if unknown := [i for i in sentence.cites if i not in citable]:
        return f"{', '.join(unknown)} is no admitted argument and no item of the plan"
    material = {n for text in (*(citable[i] for i in sentence.cites), *names) for n in _numbers(text)}
    if made_up := [n for n in _numbers(sentence.text) if n not in material]:
        return f"the number {made_up[0]:g} is not in what it cites"
    cited = [citable[i] for i in sentence.cites]
    if sentence.part != "next" and term_set(sentence.text).isdisjoint(
        chain.from_iterable(map(terms, (*cited, *names)))
    ):
        return "it has no word of what it cites"
    if all(denies(text, sentence.text) for text in cited):
        return "what it cites denies it"
    other = _answers(sentence.text, names)
    if other is not None and other != answer:
        return f"it names {other} as the answer" if answer else f"it names {other} as the answer, and none is given"
    return None


_COUNTED = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_NUMBER = re.compile(rf"\d+(?:[.,]\d+)*|\b(?:{'|'.join(_COUNTED)})\b", re.IGNORECASE)


@lru_cache(maxsize=256)  # several sentences cite the same
def _numbers(text: str) -> tuple[float, ...]:
    """The numbers in a text, in figures or words.

    >>> _numbers("Two of 1,200 patients, 0,5 % or 12.50, version 1.2.3")
    (2.0, 1200.0, 0.5, 12.5, 1.0, 2.0, 3.0)
    """
    found: list[float] = []
    for word in map(str.lower, _NUMBER.findall(text)):
        if word in _COUNTED:
            found.append(_COUNTED.index(word) + 2.0)
            continue
        plain = word.replace(",", "") if re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", word) else word.replace(",", ".")
        found += [float(plain)] if plain.count(".") < 2 else map(float, plain.split("."))
    return tuple(found)


_CUE = re.compile(
    r"\b(?:answer|diagnosis|verdict|conclusion|most (?:likely|probable|plausible)|likeliest|best (?:fit|explanation)"
    r"|(?:we|panel|agents|analysts) (?:conclude|recommend|agree on)|should be (?:treated|regarded|taken) as)\b",
    re.IGNORECASE,
)
_DENIED = re.compile(
    r"\b(?:not|no|nor|never|neither|cannot|less|unlikely|against|rather than|instead of|other than|ruled? out|excludes?)\b|n['’]t\b",
    re.IGNORECASE,
)


def _answers(text: str, names: Mapping[str, str]) -> str | None:
    """The outcome that a sentence calls the answer, if it does: the one named nearest to such a word, unless that is denied.

    >>> names = {"dengue": "dengue", "measles": "measles"}
    >>> _answers("Measles is the most likely diagnosis, not dengue.", names), _answers("The rash also fits measles.", names)
    ('measles', None)
    >>> _answers("The answer is not measles.", names)
    """
    known = sorted(names, key=len, reverse=True)
    if not known:
        return None
    places = list(re.finditer(rf"(?<!\w)(?:{'|'.join(map(re.escape, known))})(?!\w)", text, re.IGNORECASE))
    for cue in _CUE.finditer(text):
        near = sorted(places, key=lambda place: max(place.start() - cue.end(), cue.start() - place.end()))
        for place in near[:1]:
            first, last = min(place.start(), cue.start()), max(place.end(), cue.end())
            if not _DENIED.search(text[max(0, first - 12) : last]):
                return next(names[name] for name in known if re.fullmatch(re.escape(name), place[0], re.IGNORECASE))
    return None
