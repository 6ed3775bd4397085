"""Debates as training data: conversations, preference pairs, and a table of arguments.

A turn of a language model is exported with the prompt it was given: the record holds the hash of every prompt, and the prompt is
made again from the recorded events and compared with it. Where that does not succeed (readers have no prompt, a template has changed
since), the case and its evidence stand in its place, and ``exact`` is false.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from json import dumps
from types import MappingProxyType
from typing import Any, Literal, cast

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
    story, models = debated.story, debated.story.opened.models
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
    story, models = debated.story, debated.story.opened.models
    result = story.result
    for each in story.said.values():
        gate = each.admission
        if gate is None:
            continue
        yield {
            **debated.about,
            "question": story.opened.case.question,
            "answer": None if result is None else result.answered,
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


COLUMNS: Mapping[str, tuple[Literal["text", "texts", "messages", "flag", "whole", "number"], str]] = MappingProxyType(
    {
        "messages": ("messages", "the chat, the last message is the agent's turn"),
        "prompt": ("messages", "the case and its evidence"),
        "chosen": ("messages", "an argument that was admitted"),
        "rejected": ("messages", "an argument of the same round that was not admitted"),
        "run": ("text", "folder of the record"),
        "case": ("text", "id of the case, or the beginning of its question"),
        "question": ("text", "what was asked"),
        "answer": ("text", "the answer of the debate; null where it is withheld"),
        "was": ("text", "the true outcome; null where it is not known"),
        "right": ("flag", "whether the answer was right; null where that is not known"),
        "round": ("whole", "round of the debate, from 1"),
        "argument": ("text", "id of the argument in its debate"),
        "agent": ("text", "who spoke, by its name at the table"),
        "model": ("text", "the model behind the agent; empty for readers and code"),
        "exact": (
            "flag",
            "the prompt is the one that was sent, word for word; else the case and its evidence stand for it",
        ),
        "outcome": ("text", "what the argument is about"),
        "against": ("flag", "whether it speaks against that outcome"),
        "claim": ("text", "the claim"),
        "reasons": ("texts", "the reasons given for it"),
        "evidence": ("texts", "the passages it cites"),
        "admitted": ("flag", "whether it passed the gate"),
        "same_agent": ("flag", "whether both arguments are of one agent"),
        "q": ("number", "evidence quality, from -1 to 1; null where it is undefined"),
        "crit": ("number", "the judges' score, from 0 to 1; null where nobody scored it"),
        "chosen_crit": ("number", "the judges' score of the admitted argument"),
        "rejected_crit": ("number", "the judges' score of the other"),
        "why": ("text", "why it was not admitted"),
        "why_rejected": ("text", "why it was not admitted; empty where it was"),
    }
)
"""Every column of every form: what kind of values it has, and what they mean."""


def card(form: str, file: str, rows: Sequence[ExportRow], debates: Sequence[Debated], left_out: int) -> str:
    """A data card for a file of rows, with the header that the Hugging Face Hub reads."""
    known = [each.right for each in debates if each.right is not None]
    sizes = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
    size = next((name for most, name in sizes if len(rows) < most), "n>1M")
    openings = [each.story.opened for each in debates]
    models = sorted(
        {opened.models[seat.name] for opened in openings for seat in opened.agents if seat.name in opened.models}
    )
    header = [
        "---",
        "configs:",
        f"- config_name: {form}",
        f"  data_files: {dumps(file)}",
        "size_categories:",
        f"- {size}",
    ]
    lines = [
        *header,
        "tags:",
        "- debate",
        "- maci",
        "---",
        f"# Debates recorded by MACI: {form}",
        "",
        f"{cast(str, FORMS[form].__doc__).strip()} Written by `maci export --format {form}`.",
        "",
        "| | |",
        "|---|---|",
        f"| rows | {len(rows):,} |",
        f"| debates | {len(debates):,} |",
        f"| cases | {len({(case.question, case.context) for case in (each.story.opened.case for each in debates)}):,} |",
        f"| debates with a known answer, and right | {len(known):,}, {sum(known):,} |",
        f"| debates left out: unfinished, or their record cannot be read or recomputed | {left_out:,} |",
        f"| models that spoke | {', '.join(f'`{name}`' for name in models) or 'none: readers or code'} |",
        "",
        "| column | values | meaning |",
        "|---|---|---|",
        *(f"| `{name}` | {COLUMNS[name][0]} | {COLUMNS[name][1]} |" for name in rows[0]),
        "",
        "## Before you publish it",
        "- **Licence.** None is set, because only you can: cases and evidence are yours or others', and the terms of the models above",
        "  may restrict what their words are used for. Add `license:` to the header once you know.",
        "- **People.** Cases and evidence are copied as they were given. Read them before you publish: "
        "`maci debate --redact` takes out the context, sources and ids of a case, not its question or the words of its evidence.",
        "- **Truth.** An admitted argument passed a gate of evidence and judges. That does not make it true: see `right` and `was`.",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


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
