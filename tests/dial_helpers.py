"""Planted models for the audit of the dial: one that hears the tone it is told, one that does not."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

from fake_house import FakeHouse
from hash_encoder import HashEncoder
from maci.agents.contentiousness import STANCES
from maci.cases.case import Case, Document
from maci.cases.outcomes import OutcomeSpace
from maci.config import load
from maci.controller.inputs import Opened
from maci.lab.audit.contentiousness.debates import DialPlan, HeldDebate, Seating, Sitting, held, play, recorded
from maci.llm.model import Request
from maci.seating.spec import AgentSpec, PanelSpec, agents_of
from maci.seating.table import Table, opening
from maci.seating.tables import Tables
from maci.story import Story

PLACES = ("garden", "harbour", "library", "bakery", "orchard")
SPEC = PanelSpec(agents=agents_of([AgentSpec(model="planted/a"), AgentSpec(model="planted/b")]), judges=())


def place_case(place: str) -> Case:
    """A case that shares hardly a word with the others."""
    texts = [f"{place} note {n}: the {animal} was seen there." for n, animal in enumerate(("cat", "dog", "fox") * 2)]
    documents = tuple(Document(text, "notes", f"{place}-{n}") for n, text in enumerate(texts))
    return Case(
        question=f"Who walked through the {place}?",
        outcomes=OutcomeSpace(labels=("cat", "dog", "fox")),
        evidence=documents,
        id=place,
    )


def planned(**changes: Any) -> DialPlan:
    """Five topics, two seeds, two rounds."""
    fields: dict[str, Any] = {"topics": {p: place_case(p) for p in PLACES}, "seeds": 2, "rounds": 2}
    return DialPlan(**{**fields, **changes})


def told(request: Request) -> float | None:
    """The level whose stance stands in a prompt; ``None`` in an opening and under the placebo."""
    said = request.messages[-1].content
    return next((stance.cl for stance in STANCES if f"Tone: {stance.tone}" in said), None)


def _reply(name: str, request: Request, level: float | None) -> str:
    """A turn at a level: the louder, the blunter, the farther apart, the fewer shared pieces."""
    whole = "\n".join(message.content for message in request.messages)
    tone = next((line for line in whole.splitlines() if line.startswith("Tone: ")), "")
    place = next(place for place in PLACES if f"the {place}?" in whole)
    rng = Random(f"{name}/{place}/{tone}/{request.seed}")  # whatever else a prompt says, the same draw
    loud = 0.5 if level is None else level
    blunt = ("Stop. That is wrong and must be rejected!", "Prove it. The others ignore the risk!", "Never accept that!")
    mild = ("It may perhaps fit, though this is unclear.", "It could possibly be so.", "On balance it seems likely.")
    reasons = [rng.choice(blunt if rng.random() < loud else mild) for _ in range(3)]
    own = "cat" if name.endswith("a") else "fox"
    mine = round(100 * (0.34 + 0.6 * loud * rng.uniform(0.8, 1.0)))
    belief = dict.fromkeys(("cat", "dog", "fox"), (100 - mine) // 2) | {own: mine}
    piece = "E3" if rng.random() > loud else ("E2" if name.endswith("a") else "E4")
    argument = {
        "outcome": own, "claim": f"The {own} was there.", "citations": [{"quote": "", "span": piece}],
        "reasons": reasons, "opposing": [], "effect": "supports",
    }  # fmt: skip
    return json.dumps({"arguments": [argument], "belief": belief})


def hears(name: str, request: Request) -> str:
    """A model that does as it is told."""
    return _reply(name, request, told(request))


def deaf(name: str, request: Request) -> str:
    """A model that talks the same way whatever it is told."""
    return _reply(name, request, None)


def stone(name: str, request: Request) -> str:
    """A model that says the same at every level, word for word."""
    own, seed = ("cat", request.seed) if name.endswith("a") else ("fox", request.seed)
    mine = 60 + (seed or 0) % 20
    belief = dict.fromkeys(("cat", "dog", "fox"), (100 - mine) // 2) | {own: mine}
    cited = [{"quote": "", "span": f"E{2 + (seed or 0) % 3}"}]
    argument = {
        "outcome": own,
        "claim": f"The {own} was there.",
        "citations": cited,
        "reasons": ["It was seen."],
        "opposing": [],
        "effect": "supports",
    }
    return json.dumps({"arguments": [argument], "belief": belief})


def seating(plan: DialPlan, house: FakeHouse) -> Seating:
    """Tables of planted models."""

    def table(sitting: Sitting) -> tuple[Opened, Table]:
        case = plan.topics[sitting.topic]
        config = load(sets=["crit.enabled=false", "gate.q_gate=false"], given=plan.settings(sitting), environ={})
        found = Tables(SPEC, HashEncoder(), config, house).table(case, seed=sitting.seed)
        return opening(case, found, config, seed=sitting.seed), found

    return table


def audited(plan: DialPlan, folder: Path, answer: Callable[[str, Request], Any]) -> Sequence[HeldDebate]:
    """All debates of a plan, held by planted models."""
    asyncio.run(play(plan.sittings, seating(plan, FakeHouse(answer)), folder))
    return [held(sitting, Story.of(events)) for sitting, events in recorded(folder, plan.sittings)]
