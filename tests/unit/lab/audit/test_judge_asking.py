"""Asking judges within a ceiling; replies that reached the disk are not bought again."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace

import pytest

from maci.agents.agent import Judge
from maci.agents.judges.crit import CritScore
from maci.agents.judges.llm import LlmJudge
from maci.errors import InputError, WrongKey
from maci.lab.audit.judges.asking import JudgeCall, ask_all
from maci.lab.audit.judges.audit import ProbePlan, audit
from maci.lab.audit.judges.items import again, padded, signed, turned
from maci.llm.budget import Ledger
from maci.llm.cache import ResponseCache
from maci.llm.client import Client
from maci.llm.fake import FakeModel, FakeProvider
from maci.llm.usage import Usage
from planted_judges import PlantedJudge, arguments


def graded(request):
    """Grades as the schema wants them, by what was asked."""
    reasons = request.schema.json["properties"]["links"]["minItems"]
    grade = sum(map(ord, request.messages[-1].content)) % 101
    return json.dumps(
        {"evidence": grade, "logic": grade, "relevance": grade, "links": [grade] * reasons, "justification": "E1."}
    )


def test_what_is_on_disk_is_never_bought_again(tmp_path):
    """A ceiling ends the first run half way, as a kill would; the second asks only for what is missing."""
    batches, plan = arguments(6), ProbePlan(probed=4, repeats=1, resamples=50)

    async def go(provider, tokens):
        cache = ResponseCache(tmp_path / "replies.sqlite")
        judge = LlmJudge("judge", Client(provider, family="fake", cache=cache))
        try:
            return await audit(batches, lambda batch: [judge], plan, ledger=Ledger(tokens))
        finally:
            await cache.aclose()

    first, second, third = (FakeProvider(replies=graded) for _ in range(3))
    cut = asyncio.run(go(first, 8_000))
    assert not cut.audit.complete and 0 < len(first.history) < len(cut.asks)
    assert any("ceiling came first" in note for note in cut.audit.notes)
    assert cut.asked.usage.tokens <= 8_000
    whole = asyncio.run(go(second, None))
    assert whole.audit.complete and len(whole.asked.answers) == len(whole.asks)
    prompts = [[(r.messages[-1].content, r.sample) for r in provider.history] for provider in (first, second)]
    assert not set(prompts[0]) & set(prompts[1])
    assert len(prompts[0]) + len(prompts[1]) == len(whole.asks)
    asyncio.run(go(third, None))
    assert third.history == []


def test_plain_scores_come_before_everything_else():
    batches = arguments(6)
    judge = LlmJudge("judge", FakeModel(replies=graded))
    done = asyncio.run(audit(batches, lambda batch: [judge], ProbePlan(probed=3, repeats=1, resamples=20)))
    kinds = [ask.probe for ask in done.asks]
    assert kinds[:18] == ["plain"] * 18 and "plain" not in kinds[18:]
    assert "batch" not in kinds  # every argument is a call of its own: there is no order to turn
    assert not done.audit.judges[0].position.defined and "call of its own" in done.audit.judges[0].position.how


def test_a_wrong_key_ends_the_audit_at_once():
    model = FakeModel(replies=lambda request: WrongKey("no such key"))
    judge = LlmJudge("judge", model)
    with pytest.raises(WrongKey, match="no such key"):
        asyncio.run(audit(arguments(20), lambda batch: [judge], ProbePlan()))
    assert len(model.history) <= 32


def test_a_broken_judge_abstains_with_its_reason():
    class Broken(Judge):
        name, family = "broken", "x"

        def ceiling(self, request):
            return 0

        async def score(self, request):
            raise ZeroDivisionError("oops")

    (batch,) = arguments(1)
    asks = [JudgeCall(judge=0, item=0, probe="plain", seat=Broken(), request=batch.items[0].request)]
    (answer,) = asyncio.run(ask_all(asks, Ledger())).answers.values()
    assert answer.score is None and answer.why == "ZeroDivisionError: oops"


def test_judges_with_a_memory_are_asked_one_after_the_other_and_backwards():
    asked = []

    class Listening(Judge):
        name, family = "listening", "x"

        def ceiling(self, request):
            return 0

        async def score(self, request):
            asked.append(request)
            await asyncio.sleep(0)
            return CritScore(evidence=0.5, logic=0.5, relevance=0.5), Usage()

    batches = arguments(3)
    asyncio.run(audit(batches, lambda batch: [Listening()], ProbePlan(probes=("batch",), repeats=0, resamples=20)))
    forward, back = asked[:9], asked[9:]
    for d in range(3):
        assert forward[3 * d : 3 * d + 3] == back[3 * d : 3 * d + 3][::-1]


def test_probes_change_one_thing_only():
    item = arguments(1)[0].items[0]
    plain = item.request
    other = turned(item)
    assert other.spans == plain.spans[::-1] and other.argument.reasons == plain.argument.reasons[::-1]
    assert replace(other, spans=plain.spans, argument=plain.argument) == plain
    longer = padded(item)
    assert longer.argument.reasons[0].startswith(plain.argument.reasons[0])
    assert longer.argument.reasons[1:] == plain.argument.reasons[1:]
    assert len(longer.argument.reasons[0].split()) >= len(plain.argument.reasons[0].split()) + 30
    assert longer.argument.claim == plain.argument.claim and longer.spans == plain.spans
    named = signed(item)
    assert "agent-alpha" in named.argument.claim and named.argument.claim.endswith(plain.argument.claim)
    assert signed(replace(item, agent="")) is None
    assert again(item, 1).sample == 1 and again(item, 1).seed != plain.seed != again(item, 2).seed
    single = replace(
        item, request=replace(plain, spans=plain.spans[:1], argument=replace(plain.argument, reasons=("one",)))
    )
    assert turned(single) is None  # nothing to turn round
    bare = replace(item, request=replace(plain, argument=replace(plain.argument, reasons=())))
    assert (
        padded(bare).argument.claim.startswith(plain.argument.claim)
        and padded(bare).argument.claim != plain.argument.claim
    )


def test_two_judges_of_one_name_are_refused():
    judges = [PlantedJudge("same", "x"), PlantedJudge("same", "y")]
    with pytest.raises(InputError, match="two judges are named 'same'"):
        asyncio.run(audit(arguments(4), lambda batch: judges, ProbePlan(resamples=50)))
