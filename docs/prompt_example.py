"""A small debate with scripted replies, to show what a model is asked: the prompt of docs/prompts.md is taken from it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from maci.agents.agent import FunctionJudge
from maci.agents.debater import Debater
from maci.agents.judges.crit import CritScore, ScoreRequest
from maci.agents.judges.interpreter import Comparer
from maci.cases.case import Case, Document
from maci.cases.labels import NameQuestion
from maci.cases.outcomes import OutcomeSpace
from maci.config import build
from maci.debating.loop import debate
from maci.evidence.encode import load_encoder
from maci.evidence.span import CaseEvidence
from maci.llm.fake import FakeModel
from maci.llm.model import Request
from maci.seating.table import Table, opening

CASE = Case(
    id="pumps",
    question="What caused the outage of the pump station?",
    context="The pumps stopped at 02:10 during a storm. The log shows a voltage dip one second before. The breaker had not tripped.",
    outcomes=OutcomeSpace(labels=("Power dip", "Pump failure", "Operator error")),
    evidence=(
        Document(
            "A dip below 80 % of the nominal voltage makes the contactors of these pumps drop out.", "manual", "m1"
        ),
        Document("After a mechanical failure the breaker trips within a second.", "manual", "m2"),
        Document("The night shift stopped the pumps by hand twice last year.", "shift book", "s1"),
    ),
)


def _argument(outcome: str, claim: str, reason: str, *cited: str, **more: Any) -> dict[str, Any]:
    citations = [{"span": span, "quote": ""} for span in cited]
    return {"outcome": outcome, "claim": claim, "reasons": [reason], "citations": citations, **more}


def _reply(belief: tuple[int, int, int], *arguments: dict[str, Any]) -> str:
    shares = dict(zip(CASE.outcomes.labels, belief, strict=True))
    return json.dumps({"reasoning": "", "arguments": arguments, "belief": shares})


_ADA = [
    _reply((60, 30, 10), _argument("Power dip", "A voltage dip stopped the pumps.", "A dip opens the contactors.", "E2", "E4")),
    _reply(
        (70, 20, 10),
        _argument(
            "Power dip", "The dip came first and explains the stop.", "Contactors drop out below 80 %.", "E2", "E4",
            opposing=["The depth of the dip is not in the log."], answers=["0B1"],
        ),
        _argument("Operator error", "Nobody was near the pumps.", "It was night.", "E6", effect="opposes"),
    ),
    _reply((80, 15, 5), _argument("Pump failure", "The breaker would have tripped.", "It had not.", "E3", "E5", effect="opposes")),
]  # fmt: skip
_BEN = [
    _reply((30, 60, 10), _argument("Pump failure", "A worn pump stopped under load.", "The storm brought a high load.", "E1")),
    _reply(
        (35, 55, 10),
        _argument(
            "Pump failure", "The storm overloaded a worn pump.", "The load was at its peak at 02:10.", "E1", "E5",
            opposing=["The breaker had not tripped."], answers=["0A1"],
        ),
    ),
    _reply((70, 20, 10), _argument("Power dip", "The breaker speaks for a dip.", "It had not tripped.", "E3", "E5")),
]  # fmt: skip


def _grade(request: ScoreRequest) -> CritScore | float:
    unsupported = request.argument.claim.startswith("Nobody")
    return CritScore(evidence=0.1, logic=0.3, relevance=0.3) if unsupported else 0.8


def second_round() -> Request:
    """What the first agent is asked in round 2."""
    ada, ben = FakeModel("fake/ada", "ada", _ADA), FakeModel("fake/ben", "ben", _BEN)
    table = Table(
        agents=[Debater("Ada", ada), Debater("Ben", ben)],
        judges=[FunctionJudge("judge", _grade)],
        evidence=CaseEvidence(CASE),
        encoder=load_encoder("wordllama"),
    )
    config = build("default", {"stop.min_rounds": 2, "stop.max_rounds": 2, "gate.tau_q": 0.0})

    async def play() -> None:
        async for _ in debate(opening(CASE, table, config), table):
            pass

    asyncio.run(play())
    return ada.history[2]


def names_question() -> Request:
    """What a model is asked about a name that words cannot place among those in use."""
    reply = json.dumps({"name": "high pressure", "nearest": "the same", "listed": "1", "relation": "same"})
    model = FakeModel(replies=[reply])
    asked = NameQuestion("High blood pressure", ("Hypertension", "Migraine", "Panic attack"))
    asyncio.run(Comparer("names", model).prepare("Which diagnosis explains the headaches?", asked).within())
    return model.history[0]
