"""The agent: asks its model for arguments and a belief."""

from __future__ import annotations

from typing import Literal

from maci.agents.agent import Agent
from maci.agents.anchor import TurnRequest
from maci.agents.argument import Turn
from maci.agents.contentiousness import Words
from maci.agents.debater.elicit import measured, sampled
from maci.agents.debater.prompt import PROMPTS, choice, messages, numbered
from maci.agents.debater.reply import Form
from maci.llm.budget import Call, Purse
from maci.llm.model import Message, Model, Request
from maci.llm.prompts import fingerprint
from maci.llm.structured import ask

Belief = Literal["verbalised", "sampled", "logprobs"]
_NAME = 48
"""Most tokens of an outcome's name."""
_KEPT = 20_000
"""Most characters of a reply that go into the record."""


class Debater(Agent):
    """A language model at the table. It may raise; then it sits the round out, and the mixture says so."""

    def __init__(
        self,
        name: str,
        model: Model,
        *,
        family: str | None = None,
        persona: str = "",
        belief: Belief = "verbalised",
        draws: int = 5,
        temperature: float | None = 0.7,
        max_tokens: int = 1200,
        arguments: int = 2,
        words: Words = "stance",
    ) -> None:
        self.name, self.family = name, family or model.family
        self._model, self._persona, self._belief, self._draws = model, persona, belief, draws
        self._temperature, self._max_tokens, self._arguments = temperature, max_tokens, arguments
        self._words: Words = words

    def redrawn(self, seed: int) -> Debater:
        """Another draw is another seed of the request, which whoever asks gives it."""
        return self

    def as_copy_of(self, other: Debater) -> Debater:
        """The other's model and manner under this one's name."""
        return self._like(other, other._persona)

    def styled(self, manner: str) -> Debater:
        """The same model told to reason in a given manner."""
        return self._like(self, f"{self._persona}\n{manner}".strip())

    def _like(self, other: Debater, persona: str) -> Debater:
        return Debater(
            self.name,
            other._model,
            family=other.family,
            persona=persona,
            belief=other._belief,
            draws=other._draws,
            temperature=other._temperature,
            max_tokens=other._max_tokens,
            arguments=other._arguments,
            words=other._words,
        )

    prompts = PROMPTS
    """The templates it asks with; their hashes go into the record."""

    def prepare(self, request: TurnRequest) -> Call[Turn]:
        """The turn, bounded by the first attempt at the arguments; repairs and draws ask for more when they come to it."""
        asked, form = self._request(request)
        arguing = ask(self._model, asked, form.read, limit="agents.max_tokens")

        async def make(purse: Purse) -> Turn:
            answer = await arguing.make(purse)
            said = answer.value
            belief, note = said.belief, said.note
            if belief is None:
                belief, note = await self._elicit(request, asked, answer.text, purse)
            return Turn(
                belief=belief,
                arguments=said.arguments,
                requests=said.requests,
                raw=answer.text[:_KEPT],
                prompt=fingerprint(asked.messages),
                note="; ".join(filter(None, (answer.note, note))),
            )

        return Call(arguing.bound, make)

    def _request(self, request: TurnRequest) -> tuple[Request, Form]:
        verbalised = self._belief == "verbalised"
        form = Form(
            kind=request.question.kind,
            labels=request.question.labels,
            pieces=numbered(request.evidence),
            arguments=self._arguments,
            verbalised=verbalised,
            asks=request.asks,
        )
        asked = Request(
            messages=messages(
                request,
                persona=self._persona,
                arguments=self._arguments,
                verbalised=verbalised,
                words=self._words,
            ),
            max_tokens=self._max_tokens,
            schema=form.schema(),
            temperature=self._temperature,
            seed=request.seed,
        )
        return asked, form

    async def _elicit(
        self, request: TurnRequest, asked: Request, said: str, purse: Purse
    ) -> tuple[dict[str, float], str]:
        labels = request.question.labels
        if request.question.kind == "open" or self._belief == "sampled":
            names = () if request.question.kind == "open" else labels
            return await sampled(self._model, self._choose(asked, said, self._temperature), names, self._draws, purse)
        return await measured(self._model, self._choose(asked, said, 0.0), labels).make(purse), ""

    def _choose(self, asked: Request, said: str, temperature: float | None) -> Request:
        return Request(
            messages=(*asked.messages, Message("assistant", said), choice()),
            max_tokens=_NAME,
            temperature=temperature,
            seed=asked.seed,
            top_logprobs=20 if self._belief == "logprobs" else 0,
        )
