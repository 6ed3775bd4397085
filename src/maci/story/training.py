"""Debates as training data: conversations, preference pairs, and a table of arguments.

A turn of a language model is exported with the prompt it was given: the record holds the hash of every prompt, and the prompt is
made again from the recorded events and compared with it. Where that does not succeed (readers have no prompt, a template has changed
since), the case and its evidence stand in its place, and ``exact`` is false.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, cast

from maci.agents.argument import Argument
from maci.agents.prompt import BRIEF, FULL, messages
from maci.controller.events import Event, is_decision
from maci.controller.fold import start, step
from maci.controller.inputs import Input, Opened, TurnTaken
from maci.controller.requests import turn_request
from maci.errors import InputError
from maci.llm.model import fingerprint
from maci.story.model import Statement
from maci.story.story import Story

ExportRow = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Debated:
    """A finished debate that is exported."""

    run: str
    events: Sequence[Event]
    story: Story
    was: str | None = None
    """The true outcome, where it is known."""

    @property
    def right(self) -> bool | None:
        """Whether the answer was right; ``None`` where nobody knows, or none is given."""
        result = self.story.result
        return None if self.was is None or result is None or result.given is None else result.given == self.was

    @property
    def about(self) -> ExportRow:
        """What every row says of its debate."""
        case = self.story.opened.case
        return {"run": self.run, "case": case.id or case.question[:80], "right": self.right}


def conversations(debated: Debated) -> Iterator[ExportRow]:
    """Turns as chats, of which every argument was admitted."""
    prompts = _prompts(debated.events)
    story, models = debated.story, _models(debated.story.opened)
    for event in debated.events:
        if not isinstance(event, TurnTaken) or event.round == 0:
            continue
        said = [each for each in story.rounds[event.round].said if each.agent == event.agent]
        if not said or any(each.fate != "admitted" for each in said):
            continue
        prompt = prompts.get((event.round, event.agent))
        exact = prompt is not None and bool(event.turn.raw)
        reply = str(event.turn.raw) if exact else "\n\n".join(argument_text(each.argument, story) for each in said)
        asked = prompt if exact and prompt is not None else [{"role": "user", "content": case_text(story)}]
        yield {
            "messages": [*asked, {"role": "assistant", "content": reply}],
            **debated.about,
            "round": event.round,
            "agent": event.agent,
            "model": models.get(event.agent, ""),
            "exact": exact,
        }


def preferences(debated: Debated) -> Iterator[ExportRow]:
    """Pairs of an admitted and a rejected argument of one round: each rejected one against the best that was admitted."""
    story = debated.story
    prompt = [{"role": "user", "content": case_text(story)}]
    for round_ in story.rounds[1:]:
        fresh = [each for each in round_.said if not each.repeats]
        admitted = [each for each in fresh if each.fate == "admitted"]
        for worse in (each for each in fresh if each.fate == "rejected"):
            own = [each for each in admitted if each.agent == worse.agent] or admitted
            if not own:
                continue
            better = max(own, key=_merit)
            yield {
                "prompt": prompt,
                "chosen": [{"role": "assistant", "content": argument_text(better.argument, story)}],
                "rejected": [{"role": "assistant", "content": argument_text(worse.argument, story)}],
                **debated.about,
                "round": round_.number,
                "same_agent": better.agent == worse.agent,
                "chosen_crit": better.admission.crit if better.admission else None,
                "rejected_crit": worse.admission.crit if worse.admission else None,
                "why": worse.admission.reason if worse.admission else "",
            }


def arguments(debated: Debated) -> Iterator[ExportRow]:
    """Every argument that came before the gate, a row each."""
    story, models = debated.story, _models(debated.story.opened)
    result = story.result
    for each in story.said.values():
        gate = each.admission
        if gate is None:
            continue
        yield {
            **debated.about,
            "question": story.opened.case.question,
            "answer": None if result is None else result.given,
            "was": debated.was,
            "round": each.round,
            "argument": each.id,
            "agent": each.agent,
            "model": models.get(each.agent, ""),
            "outcome": each.argument.outcome,
            "against": each.argument.against,
            "claim": each.argument.claim,
            "reasons": list(each.argument.reasons),
            "evidence": [story.spans[c.span].text for c in each.argument.citations if c.span in story.spans],
            "admitted": gate.admitted,
            "q": gate.q,
            "crit": gate.crit,
            "why_rejected": gate.reason,
        }


FORMS = {"sft": conversations, "pairs": preferences, "arguments": arguments}
"""Name on the command line → what makes the rows."""


def case_text(story: Story) -> str:
    """The case with the evidence that was found for it, as one message."""
    case = story.opened.case
    labels = case.outcomes.labels
    parts = [case.context, f"Question: {case.question}"]
    if labels:
        parts.append("Outcomes: " + "; ".join(labels))
    texts = [story.spans[id].text for id in story.retrieved if id in story.spans]
    if texts:
        parts.append("Evidence:\n" + "\n".join(f"[{n}] {text}" for n, text in enumerate(texts, 1)))
    parts.append("Argue for or against one outcome. Cite the evidence.")
    return "\n\n".join(part for part in parts if part)


def argument_text(argument: Argument, story: Story) -> str:
    """An argument as somebody would write it."""
    places = {id: n for n, id in enumerate(story.retrieved, 1)}
    cited = [f"[{places[c.span]}]" for c in argument.citations if c.span in places]
    side = "" if argument.outcome is None else f"{'Against' if argument.against else 'For'} {argument.outcome}: "
    lines = [side + argument.claim, *argument.reasons]
    return "\n".join(lines) + (f"\nEvidence: {' '.join(dict.fromkeys(cited))}" if cited else "")


def _merit(said: Statement) -> float:
    return -1.0 if said.admission is None or said.admission.crit is None else said.admission.crit


def _models(opened: Opened) -> dict[str, str]:
    return {str(seat.get("name")): str(seat.get("model", "")) for seat in (opened.table or {}).get("agents", ())}


def _prompts(events: Sequence[Event]) -> dict[tuple[int, str], list[ExportRow]]:
    """Round and agent → the prompt it was given, where it can be made again and has the recorded hash."""
    opened = events[0]
    assert isinstance(opened, Opened)
    seats = {str(seat.get("name")): seat for seat in (opened.table or {}).get("agents", ())}
    own, found = opened.config.agents, dict[tuple[int, str], list[ExportRow]]()
    state = start(opened)
    for event in events[1:]:
        if is_decision(event):
            continue
        if isinstance(event, TurnTaken) and event.turn.prompt and event.agent in seats:
            seat = seats[event.agent]
            for verbalised, length in product((True, False), (FULL, BRIEF)):
                given = messages(
                    turn_request(state, event.agent),
                    persona=str(seat.get("persona", "")),
                    arguments=own.arguments,
                    verbalised=verbalised,
                    words=own.tone,
                    reasons=own.think_first,
                    length=length,
                )
                if fingerprint(given) == event.turn.prompt:
                    found[event.round, event.agent] = [{"role": each.role, "content": each.content} for each in given]
        try:
            state, _ = step(state, cast(Input, event))
        except InputError:  # a record of other rules: what was found so far stands
            break
    return found
