"""What models were asked and what they replied."""

from __future__ import annotations

import json
from typing import get_args

import pytest

from maci.agents.argument import Turn
from maci.agents.judges.crit import CritScore
from maci.controller.inputs import (
    Acquired,
    Compared,
    JudgeAbstention,
    Recommended,
    Requested,
    Scored,
    TurnFailed,
    TurnTaken,
)
from maci.llm.model import Exchange, Message
from maci.llm.usage import Usage
from maci.record.prompts import store
from maci.story.log import CallEnd, requests_of

ASKED = Exchange(model="openai/x", messages=(Message("user", "It's the case."),), at="2026-01-01T00:00:00Z", limit=50)


def requests(*exchanges):
    packed = store(exchanges, frozenset())
    asked = Requested(
        round=1, kind="turn", who="x", requests=packed.requests, prompts=packed.prompts, texts=packed.texts
    )
    return list(requests_of([asked, TurnTaken(round=1, agent="x", turn=Turn(belief={"a": 1.0}, raw="the reply"))]))


def test_the_reply_stands_beside_the_last_request_of_a_call():
    first, second = requests(ASKED, ASKED)
    assert (first.reply, second.reply) == ("", "the reply")
    assert second.tree()["reply"] == "the reply"


def test_a_request_as_curl_is_the_prompt_with_quotes_a_shell_can_read():
    (asked,) = requests(ASKED)
    assert asked.curl().startswith('curl "$BASE_URL/chat/completions"') and r"It'\''s the case." in asked.curl()
    body = json.loads(asked.curl().partition("-d '")[2][:-1].replace(r"'\''", "'"))
    assert body == {"model": "x", "messages": [{"role": "user", "content": "It's the case."}], "max_tokens": 50}


PAID, RAW = Usage(prompt=5, usd=0.25), "word for word"
ENDS = [
    (TurnTaken(round=1, agent="x", turn=Turn(belief={"a": 1.0}, raw=RAW, usage=PAID)), ("turn", "x", ""), RAW),
    (TurnFailed(round=1, agent="x", error="no key", usage=PAID), ("turn", "x", ""), ""),
    (
        Scored(
            round=1, argument="1A1", slot="j#1", score=CritScore(evidence=1, logic=1, relevance=1, raw=RAW), usage=PAID
        ),
        ("score", "j#1", "1A1"),
        RAW,
    ),
    (JudgeAbstention(round=1, argument="1A1", slot="j#1", reason="no key", usage=PAID), ("score", "j#1", "1A1"), ""),
    (
        Compared(round=1, first="a", second="b", relation="same", by="x", raw=RAW, usage=PAID),
        ("compare", "x", "a | b"),
        RAW,
    ),
    (
        Acquired(round=1, item="q-1", verdict="present", text="Yes.", by="x", raw=RAW, usage=PAID),
        ("acquire", "q-1", ""),
        RAW,
    ),
    (Recommended(round=1, by="x", raw=RAW, usage=PAID), ("recommend", "x", ""), RAW),
]


@pytest.mark.parametrize(("end", "call", "reply"), ENDS)
def test_every_kind_of_call_shows_its_raw_reply_and_its_price(end, call, reply):
    packed = store([ASKED], frozenset())
    kind, who, argument = call
    asked = Requested(
        round=1,
        kind=kind,
        who=who,
        argument=argument,
        requests=packed.requests,
        prompts=packed.prompts,
        texts=packed.texts,
    )
    (found,) = requests_of([asked, end])
    assert (found.reply, found.usd) == (reply, 0.25)


def test_every_end_of_a_call_is_among_them():
    assert {type(end) for end, _, _ in ENDS} == set(get_args(CallEnd))
