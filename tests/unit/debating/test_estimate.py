"""What a debate would cost, in all."""

from __future__ import annotations

import asyncio
import logging

import pytest

from maci.config.sections import Budget
from maci.debating.estimate import Cost, CostEstimate, RoundCost, StandIns, totals
from maci.llm.fake import FakeModel
from maci.llm.model import Message, Request
from maci.web import Limits
from maci.web.guard import Visit
from maci.web.pages.new import new_page


class _House:
    def model(self, name: str) -> FakeModel:
        return FakeModel(name)


FOUND = CostEstimate(
    agents=[], judges=[], min_rounds=1, max_rounds=2, ceiling=Cost(10_000, None), recommendation=Cost(7, 0.5),
    rounds=[RoundCost(n, so_far=Cost(100 * (n + 1), 1.0 * (n + 1))) for n in range(3)],
)  # fmt: skip


def test_in_all_counts_the_recommendation_once_wherever_the_debate_ends() -> None:
    assert [(row.round, row.so_far) for row in totals(FOUND)] == [(1, Cost(207, 2.5)), (2, Cost(307, 3.5))]
    assert [row.so_far.tokens for row in FOUND.rounds] == [100, 200, 300]


def test_the_page_says_the_same_price_as_the_terminal() -> None:
    page = new_page({}, {}, (), (), Limits(), Visit("session"), budget=Budget(), found=FOUND)
    assert "207 tokens, $2.50 if it ends after 1 round, 307 tokens, $3.50 after 2." in page


def test_a_stand_in_that_may_write_one_token_writes_no_more(caplog: pytest.LogCaptureFixture) -> None:
    model = StandIns(_House(), ["a penalty of two months' rent is due"]).model("local/any")
    asked = Request(messages=(Message("user", "Which one?"),), max_tokens=1, top_logprobs=5)
    with caplog.at_level(logging.WARNING):
        reply = asyncio.run(model.prepare(asked).within())
    assert reply.text == "a pe" and reply.usage.generated == 1
    assert caplog.text == ""  # nothing is sent, so no bound is raised
