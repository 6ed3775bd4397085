"""Whatever models do and wherever a debate breaks off: no ceiling is exceeded, nothing served goes uncounted, all of it replays."""

from __future__ import annotations

import asyncio
import json
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import LABELS, of, play, result, seat
from helpers import settings as config
from maci.agents.debater import Debater
from maci.agents.judges.llm import LlmJudge
from maci.controller.inputs import Lost, Sent
from maci.errors import ContentRefused, Interrupted, Overloaded, Unreachable
from maci.llm.catalogue import Price
from maci.llm.fake import FakeModel
from maci.llm.model import Reply, Request
from maci.llm.usage import Bound, Usage
from maci.record.replay import replay
from maci.seating.table import Table

MOST = Bound(1000, 0.01)
PRICE = Price(input=10.0, output=10.0)


class Moody:
    """A model that answers well, badly or not at all, as its seed has it; counts what a server would charge."""

    def __init__(self, name: str, seed: int, trouble: float) -> None:
        self.charged = 0
        self._random, self._trouble = Random(f"{seed}/{name}"), trouble
        self.model = FakeModel(
            f"fake/{name}",
            f"family-{name}",
            self.answer,
            bound=MOST,
            price=PRICE,
            retries=3,
            sleep=lambda s: asyncio.sleep(0),
        )

    async def answer(self, request: Request) -> Reply:
        for _ in range(self._random.randrange(3)):
            await asyncio.sleep(0)
        cost = self._random.randrange(2, MOST.tokens + 1)  # of 1, the prompt's half is 0: "nobody counted"
        if self._random.random() < self._trouble:
            match self._random.randrange(6):
                case 0:
                    raise Overloaded("busy", 0.0)
                case 1:
                    raise Unreachable("gone")
                case 2:
                    self.charged += cost
                    raise Interrupted("reset")
                case 3:
                    self.charged += cost
                    raise ContentRefused("no")
                case _:
                    self.charged += cost
                    return Reply(
                        text=self._random.choice(["", "{", "[1]", '{"a": NaN}', "x" * 5000]), usage=_usage(cost)
                    )
        self.charged += cost
        return Reply(text=self._text(request), usage=_usage(cost))

    def _text(self, request: Request) -> str:
        if request.schema is None or request.schema.name == "choice":
            return self._random.choice(LABELS)
        if request.schema.name == "grades":
            grade = self._random.randrange(101)
            said = {"pieces": ["supports"], "links": [50], "justification": "E1"}
            return json.dumps({**said, "evidence": grade, "logic": 60, "relevance": 70})
        p = self._random.randrange(101)
        argument = {"claim": "So.", "outcome": "dengue", "citations": [{"span": "E1"}], "reasons": ["It is."]}
        belief = [{"outcome": "dengue", "percent": p}, {"outcome": "zika", "percent": 100 - p}]
        return json.dumps({"arguments": [argument] * self._random.randrange(1, 3), "belief": belief})


def _usage(cost: int) -> Usage:
    return Usage(prompt=cost // 2, generated=cost - cost // 2)


def table(seed: int, trouble: float, part: int) -> tuple[Table, list[Moody]]:
    x, y, j = (Moody(name, seed + part, trouble) for name in "xyj")
    agents = [Debater("x", x.model, belief="sampled", draws=2), Debater("y", y.model)]
    return seat(agents, [LlmJudge("j", j.model)]), [x, y, j]


@settings(max_examples=300, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    trouble=st.sampled_from([0.0, 0.1, 0.3, 0.7]),
    tokens=st.integers(0, 40_000),
    usd=st.sampled_from([None, 0.0, 0.02, 0.1, 0.3]),
    cut=st.floats(0, 1),
)
def test_no_ceiling_is_exceeded_and_nothing_goes_uncounted(
    seed: int, trouble: float, tokens: int, usd: float | None, cut: float
) -> None:
    chosen = config(f"budget.tokens={tokens}", f"budget.usd={usd}", "max_rounds=4", "crit.k=2")
    first, models = table(seed, trouble, 0)
    events = play(first, chosen)
    end = result(events)
    charged = sum(model.charged for model in models)
    assert charged <= end.tokens <= tokens
    assert usd is None or end.usd <= usd + 1e-9
    assert replay(events).complete

    kept = events[
        : max(1, int(cut * len(events)))
    ]  # the process dies here: what was under way may have been charged in full
    before = replay(kept).state
    spent_then = before.usage.tokens + sum(usage.tokens for usage in before.in_flight.values())
    assert spent_then <= tokens
    again, others = table(seed, trouble, 1)
    resumed = play(again, chosen, recorded=kept)
    assert len(of(Lost, resumed)) == len(of(Lost, kept)) + bool(before.in_flight)
    assert spent_then + sum(model.charged for model in others) <= result(resumed).tokens <= tokens
    assert replay(resumed).complete
    assert all(call.tokens > 0 for event in of(Sent, resumed) for call in event.calls)
