"""Language models with known habits, scripted: what debates between models are tested on.

A habit reads the prompt as a model would — the outcomes, the numbered pieces, the ids of others' arguments, what others hold — and
writes a reply. The same habit answers in this process (:func:`model`) and behind a fake server (:func:`answers`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from maci.llm.fake import FakeModel
from maci.llm.model import Reply, Request

Habit = Callable[["Read"], str]

_PIECE = re.compile(r"^\[(E\d+)\] (?:\(([^()]*)\) )?(.+)$", re.MULTILINE)
_ARGUMENT = re.compile(r"^\[(\d+[A-Z]\d+)\] Analyst", re.MULTILINE)
_HOLDS = re.compile(r"^Analyst \w+: (.+?) \d+ %", re.MULTILINE)
_OUTCOMES = re.compile(r"^# Outcomes\n.*\n<data>\n((?:- .*\n)+)</data>", re.MULTILINE)


@dataclass(frozen=True)
class Read:
    """What a model can read in its prompt."""

    prompt: str

    @property
    def outcomes(self) -> list[str]:
        listed = _OUTCOMES.search(self.prompt)
        return [line.removeprefix("- ") for line in listed[1].splitlines()] if listed else []

    @property
    def pieces(self) -> list[tuple[str, str, str]]:
        """(number, source, text)."""
        return _PIECE.findall(self.prompt)

    @property
    def answerable(self) -> list[str]:
        """Ids of the others' arguments; its own read like theirs."""
        own = re.search(r"You are analyst (\w+)", self.prompt)
        return [found for found in _ARGUMENT.findall(self.prompt) if own is None or own[1] not in found]

    @property
    def others_lead_with(self) -> list[str]:
        return _HOLDS.findall(self.prompt)

    def turn(
        self, outcome: str, *, claim: str = "", source: str | None = None, percent: int = 80, reasoning: str = ""
    ) -> str:
        """A turn for an outcome, with the last argument of another answered, citing the first piece of a source."""
        cited = [number for number, where, _ in self.pieces if source is None or where == source]
        names = self.outcomes or [outcome, "something else"]
        outcome = next((name for name in names if name.casefold() == outcome.casefold()), outcome)  # as it is shown
        rest = [name for name in names if name != outcome]
        argument = {
            "answers": self.answerable[-1:],
            "outcome": outcome,
            "claim": claim or f"The evidence speaks for {outcome}.",
            "citations": [{"quote": "", "span": cited[0]}] if cited else [],
            "reasons": ["The cited piece says so."],
            "opposing": [],
            "effect": "supports",
        }
        belief = {outcome: percent, **{name: (100 - percent) // len(rest) for name in rest}}
        shares = [{"outcome": name, "percent": p} for name, p in belief.items()]
        return json.dumps({"reasoning": reasoning, "arguments": [argument], "belief": shares, "requests": []})


def stubborn(outcome: str) -> Habit:
    """Says the same whatever it hears."""
    return lambda read: read.turn(outcome)


def obliging(outcome: str) -> Habit:
    """Begins with an outcome and then goes over to whatever another one leads with."""
    return lambda read: read.turn((read.others_lead_with or [outcome])[0])


def synonym_user(*names: str) -> Habit:
    """Calls the same outcome by another name in every round."""
    return lambda read: read.turn(names[min(_round(read), len(names) - 1)])


def case_quoter(outcome: str) -> Habit:
    """Gives the case's own sentences back as evidence."""
    return lambda read: read.turn(outcome, source="the case")


def identity_leaker(outcome: str) -> Habit:
    """Says which model it is and flatters the reader."""
    return lambda read: read.turn(
        outcome, claim=f"As GPT-6 by OpenAI I assure you, dear judge, that it is {outcome}.", reasoning="I am GPT-6."
    )


def thinker(outcome: str) -> Habit:
    """Thinks aloud before its answer, and again within it."""
    return lambda read: (
        "<think>Let me see. It may be another one.</think>\n" + read.turn(outcome, reasoning="PRIVATE THOUGHT")
    )


def truncated(outcome: str) -> Habit:
    """Thinks for so long that its answer never comes."""
    return lambda read: read.turn(outcome, reasoning="and then again " * 20_000)


def summing_up(*sentences: tuple[str, str, tuple[str, ...]], otherwise: Habit | None = None) -> Habit:
    """Writes these sentences (part, text, cites) when it is asked for the recommendation, and debates as ``otherwise`` before."""

    def habit(read: Read) -> str:
        if "Write the recommendation." not in read.prompt:
            return (otherwise or stubborn("dengue"))(read)
        parts: dict[str, list[Any]] = {"evidence": [], "against": [], "next": []}
        for part, text, cites in sentences:
            parts[part].append({"text": text, "cites": list(cites)})
        return json.dumps(parts)

    return habit


def _round(read: Read) -> int:
    said = re.findall(r"This is round (\d+)\.", read.prompt)
    return int(said[-1]) if said else 0


def model(name: str, habit: Habit, **more: Any) -> FakeModel:
    """A model with a habit in this process; a reply longer than its limit is cut off, a token being four characters."""

    def reply(request: Request) -> Reply:
        text = habit(Read("\n\n".join(message.content for message in request.messages)))
        most = 4 * request.max_tokens
        return Reply(text=text[:most], truncated=len(text) > most)

    return FakeModel(name, f"family-{name}", replies=reply, **more)


def answers(habits: Mapping[str, Habit]) -> Callable[[dict[str, Any]], str | None]:
    """What a fake server writes for models by these names, asked as OpenAI's API is."""

    def answer(body: dict[str, Any]) -> str | None:
        return habits[body["model"]](Read("\n\n".join(message["content"] for message in body["messages"])))

    return answer
