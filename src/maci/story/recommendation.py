"""The joint recommendation as people read it (D20): the answer and how sure, what decides, what speaks against it, what to do next.

The first sentence is always the template's. The rest is what a model of the panel wrote and the record supports; where there is none,
the template takes the best admitted arguments and the first items of the plan.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from maci.agents.argument import Part, Sentence
from maci.controller.decisions import Finished
from maci.render.markup import percent
from maci.story.story import Story
from maci.story.words import STEPS, as_sentence, how_sure, plural, rival_of, stop_of, unclear

TEMPLATE = "template"
_MOST = 2
"""Sentences of each part."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JointText:
    """A recommendation, with who wrote it."""

    verdict: str
    """The answer and how sure, or what keeps one from being given."""
    sentences: tuple[Sentence, ...]
    by: str
    """The model that wrote the sentences, or ``template``."""
    dropped: int = 0
    """Sentences of the model's that the record does not support."""
    note: str = ""
    """Why the template stands in for the model, and how many sentences were dropped."""
    given: bool = True
    """Whether an answer is given."""

    def part(self, part: Part) -> tuple[Sentence, ...]:
        """The sentences of one part."""
        return tuple(sentence for sentence in self.sentences if sentence.part == part)

    @property
    def parts(self) -> Iterator[tuple[str, tuple[Sentence, ...]]]:
        """Each part that has sentences, under its title."""
        titles: Mapping[Part, str] = {
            "evidence": "What decides it" if self.given else "What is known",
            "against": "What speaks against it",
            "next": "What to do next" if self.given else "What is missing",
        }
        yield from ((title, found) for part, title in titles.items() if (found := self.part(part)))

    @property
    def text(self) -> str:
        """All of it, with the ids that each sentence rests on."""
        return "\n".join((self.verdict, *(f"{title}: {' '.join(map(cited, said))}" for title, said in self.parts)))


def cited(sentence: Sentence) -> str:
    """A sentence with its ids.

    >>> cited(Sentence(part="evidence", text="The rash fits.", cites=("1A1", "2B1")))
    'The rash fits. [1A1, 2B1]'
    """
    return f"{sentence.text} [{', '.join(sentence.cites)}]" if sentence.cites else sentence.text


def recommendation(story: Story) -> JointText | None:
    """The recommendation of a debate that is over; ``None`` before, and where it is switched off."""
    result = story.result
    if result is None or story.opened.config.answer.recommendation == "off":
        return None
    wrote = result.recommendation
    own = () if wrote is None else wrote.sentences
    dropped = 0 if wrote is None else len(wrote.dropped)
    asked = {item.id for item in story.plan.items} if story.plan is not None else set[str]()
    empty = [
        s for s in own if s.part == "evidence" and s.cites and asked.issuperset(s.cites)
    ]  # a question decides nothing
    own, dropped = tuple(s for s in own if s not in empty), dropped + len(empty)
    if own and result.given is not None and result.rounds and not result.rationale:
        own = (Sentence(part="evidence", text=f"No admitted argument speaks for {result.answer}."), *own)
    note = f"{plural(dropped, 'unsupported sentence')} dropped" if dropped else ""
    if wrote is not None and not own:
        note = f"written from the template: {wrote.detail or 'what it wrote cites no evidence'}" + (
            f" ({note})" if note else ""
        )
    return JointText(
        verdict=_verdict(story, result),
        sentences=own or tuple(_template(story, result)),
        by=wrote.by.removeprefix("recommendation:") if wrote is not None and own else TEMPLATE,
        dropped=dropped,
        note=note,
        given=result.answer is not None and result.abstained is None,
    )


def _verdict(story: Story, result: Finished) -> str:
    """The answer and how sure it is, or why there is none."""
    if result.answer is None:
        return f"There is no answer. {as_sentence(result.detail) if result.detail else stop_of(result)}"
    if result.abstained is not None:
        return f"No answer is given: {as_sentence(result.abstained)}"
    p = result.distribution[result.answer]
    sure = how_sure(p, rival_of(result.answer, result.distribution))
    raw = "" if story.calibrated else ", not calibrated"
    if near := unclear(result):
        shared = " They share the lead, so this is no decision." if result.tied else ""
        return f"No clear answer: {near}{raw}.{shared or ' The agents did not agree.' * (result.agreed is False)}"
    said = f"{result.answer}: {sure} ({percent(p)}{raw})."
    if result.agreed is None:
        return f"{said} No round of debate was held."
    return f"{said} {'All agents agree.' if result.agreed else 'The agents did not agree.'}"


def _template(story: Story, result: Finished) -> Iterator[Sentence]:
    """What the record says without a model: its best arguments, and the first items of the plan."""
    if result.given is not None and result.rounds:
        best = story.distinct(result.rationale, _MOST)
        for item in best:
            said = (item.argument.claim, *item.argument.reasons[:1])
            yield Sentence(part="evidence", text=" ".join(map(as_sentence, said)), cites=(item.id,))
        if not best:
            yield Sentence(part="evidence", text=f"No admitted argument speaks for {result.answer}.")
        yield from _against(story, result)
    for step in story.plan.items[:_MOST] if story.plan is not None else ():
        named = any(label.casefold() in step.text.casefold() for label in step.separates)
        telling = len(step.separates) > 1 and result.answer in step.separates and not named
        between = f" It separates {' from '.join(step.separates[:2])}." if telling else ""
        text = f"{STEPS[step.kind]}: {as_sentence(step.text)}{between}"
        yield Sentence(part="next", text=text, cites=(step.id,))


def _against(story: Story, result: Finished) -> Iterator[Sentence]:
    found = result.dissent
    best = [] if found is None else story.distinct(found.arguments, 1)
    for item in best:
        text = f"For {found.outcome if found else ''}: {as_sentence(item.argument.claim)}"
        yield Sentence(part="against", text=text, cites=(item.id,))
    if best:
        return
    if result.minority:
        named = " and ".join(dict.fromkeys(m.outcome for m in result.minority))
        text = f"{plural(len(result.minority), 'agent')} of {len(story.agents)} would answer {named}, with no admitted argument."
        yield Sentence(part="against", text=text)
    else:
        yield Sentence(part="against", text="No admitted argument speaks for another outcome.")
