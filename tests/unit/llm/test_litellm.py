"""The litellm provider, over the wire, where the extra is installed; and what it says where it is not."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import logging
from typing import Any

import pytest

from fake_server import FakeServer, Faults
from maci.errors import (
    ContentRefused,
    ContextOverflow,
    Interrupted,
    MissingExtra,
    ModelError,
    Overloaded,
    RateLimited,
    UnknownModel,
    Unreachable,
    WrongKey,
)
from maci.llm.keys import Key
from maci.llm.providers import Http, LiteLLM
from maci.llm.providers.litellm import _bounded
from provider_helpers import ASK, SECRET

pytestmark = pytest.mark.filterwarnings("ignore:.*ReadOnly:UserWarning")
installed = pytest.mark.skipif(importlib.util.find_spec("litellm") is None, reason="needs the extra `litellm`")


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"pip install .*\[litellm\]"):
        LiteLLM(model="groq/x")


def ask(total: float = 20, url: str | None = None, **settings: Any) -> tuple[Any, FakeServer]:
    async def run() -> tuple[Any, FakeServer]:
        async with FakeServer(**settings) as server:
            provider = LiteLLM(
                model="openai/m-1", base_url=url or server.url + "/v1", key=Key(SECRET), http=Http(total=total)
            )
            assert SECRET not in repr(provider)
            try:
                return await provider.send(ASK), server
            except ModelError as error:
                return error, server
            finally:
                await provider.aclose()

    return asyncio.run(run())


@installed
def test_a_request_goes_through_and_comes_back(caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]):
    caplog.set_level(logging.DEBUG)
    reply, server = ask()
    assert 0 <= json.loads(reply.text)["evidence"] <= 100
    count = server.counts[SECRET]
    assert (reply.usage.prompt, reply.usage.generated) == (count.prompt, count.generated)
    body = server.seen[-1][2]
    assert body["max_tokens"] == 500 and body["response_format"]["json_schema"]["strict"] is True
    out = capsys.readouterr()
    assert SECRET not in caplog.text + out.out + out.err and not out.out


@installed
@pytest.mark.parametrize(
    ("settings", "kind"),
    [
        ({"keys": {"another"}, "echo": True}, WrongKey),
        ({"models": ["m-2"]}, UnknownModel),
        ({"context": 100}, ContextOverflow),
        ({"url": "http://127.0.0.1:9/v1"}, Unreachable),
        ({"faults": Faults(refused=1.0)}, ContentRefused),
        ({"faults": Faults(limited_wait=1.0)}, RateLimited),
        ({"faults": Faults(broken=1.0)}, Overloaded),
        ({"faults": Faults(unavailable=1.0)}, Overloaded),
        ({"faults": Faults(hang=1.0), "total": 0.3}, Interrupted),
        ({"faults": Faults(cut=1.0)}, Interrupted),
        ({"faults": Faults(reset=1.0)}, Interrupted),
        ({"faults": Faults(bad_body=1.0)}, Interrupted),
    ],
)
def test_its_errors_become_ours_after_one_attempt(settings: dict[str, Any], kind: type[ModelError]):
    error, server = ask(**settings)
    assert type(error) is kind
    assert SECRET[:12] not in str(error) and "litellm/openai/m-1" in str(error)
    assert sum(count.requests for count in server.counts.values()) <= 1
    assert error.retry_after == (0.05 if kind is RateLimited else None)


@installed
def test_a_parameter_the_server_does_not_know_is_left_out():
    reply, server = ask(refuses={"seed"})
    assert reply.text and server.counts[SECRET].requests == 2


def test_a_reply_that_is_longer_than_it_may_be_is_cut_and_keeps_its_count() -> None:
    body = {
        "choices": [{"message": {"content": "yes " * 100_000}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 100_000, "total_tokens": 100_009},
    }
    short = {**body, "choices": [{"message": {"content": "yes"}}]}
    assert _bounded(short, 10_000) == (200, {}, short, False)
    cut = _bounded(body, 10_000)
    assert cut.cut and len(cut.body["choices"][0]["message"]["content"]) <= 10_000
    assert cut.body["usage"] == body["usage"]
