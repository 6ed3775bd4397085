"""A house of fake models, each answering by the schema it is asked for."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any, Self

from maci.debating.estimate import fill
from maci.llm.catalogue import FREE, Price, family
from maci.llm.fake import FakeModel
from maci.llm.model import Request


class FakeHouse:
    """Opens a :class:`FakeModel` for every name."""

    def __init__(self, answer: Callable[[str, Request], Any] | None = None, price: Price | None = FREE) -> None:
        self.opened: dict[str, FakeModel] = {}
        self.closed = False
        self._answer, self._price = answer or sound, price

    def model(self, name: str) -> FakeModel:
        if name not in self.opened:
            answer = self._answer
            self.opened[name] = FakeModel(name, family(name), lambda request: answer(name, request), price=self._price)
        return self.opened[name]

    async def aclose(self) -> None:
        self.closed = True

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    @property
    def calls(self) -> int:
        return sum(len(model.history) for model in self.opened.values())


def sound(name: str, request: Request) -> str:
    """A reply as the schema wants it."""
    if request.schema is None:
        return "yes"
    return json.dumps(fill(request.schema.json, Random(f"{name}/{request.seed}/{request.sample}")))
