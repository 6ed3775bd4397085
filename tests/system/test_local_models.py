"""Real weights through the real server path: SmolLM2, pulled first if it is not here.

tests/system/test_model_debate.py has a whole debate.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from maci.errors import ContextOverflow
from maci.llm.local.provider import LocalProvider
from maci.llm.local.weights import pull
from maci.llm.model import Message, Reply, Request, Schema

pytestmark = pytest.mark.system
MODEL = "smollm2-135m"
FORM = Schema(
    "answer",
    {
        "type": "object",
        "properties": {
            "why": {"type": "string", "maxLength": 60},
            "colour": {"type": "string", "enum": ["blue", "green"]},
            "percent": {"type": "integer", "minimum": 0, "maximum": 100},
        },
        "required": ["why", "colour", "percent"],
        "additionalProperties": False,
    },
)
FINDINGS = "The patient has had a high fever for five days, with pain behind the eyes and a rash that came late. " * 25


@pytest.fixture(scope="module", autouse=True)
def weights() -> None:
    pull(MODEL)


@asynccontextmanager
async def opened(**options: Any) -> AsyncIterator[LocalProvider]:
    local = LocalProvider(MODEL, **options)
    try:
        yield local
    finally:
        await local.aclose()


def ask(*texts: str, tokens: int = 60, **more: Any) -> Request:
    messages = tuple(Message("user" if i else "system", text) for i, text in enumerate(("You answer.", *texts)))
    return Request(messages=messages, max_tokens=tokens, temperature=0.7, seed=1, **more)


def test_a_reply_follows_the_schema_in_its_order_without_stray_space() -> None:
    async def main() -> list[Reply]:
        async with opened() as local:
            return [
                await local.send(ask(f"What colour is {what}?", schema=FORM)) for what in ("the sky", "grass", "sea")
            ]

    for reply in asyncio.run(main()):
        said = json.loads(reply.text)
        assert list(said) == ["why", "colour", "percent"]
        assert said["colour"] in ("blue", "green")
        assert 0 <= said["percent"] <= 100
        assert len(said["why"]) <= 60
        assert reply.text == json.dumps(said, ensure_ascii=False)
        assert not reply.truncated
        assert reply.usage.prompt > 0 < reply.usage.generated <= 60


def test_the_same_seed_gives_the_same_reply_and_logprobs_are_there() -> None:
    async def main() -> tuple[Reply, Reply]:
        async with opened() as local:
            request = ask("Name a colour.", tokens=8, top_logprobs=5)
            return await local.send(request), await local.send(request)

    first, second = asyncio.run(main())
    assert first.text == second.text
    assert first.logprobs is not None
    assert len(first.logprobs[0].top) == 5
    assert all(token.logprob <= 0 for token in first.logprobs)


def test_two_sequences_run_at_once_and_a_third_waits_for_its_turn() -> None:
    async def main() -> tuple[list[Reply], float]:
        async with opened(parallel=2) as local:
            await local.send(ask("Hello."))
            replies = await asyncio.gather(*(local.send(ask(f"Say {n}.", tokens=40)) for n in range(3)))
            page = await asyncio.to_thread(local._chat.engine.metrics)  # type: ignore[union-attr]
            busy = next(line for line in page.splitlines() if line.startswith("llamacpp:n_busy_slots_per_decode "))
            return replies, float(busy.split()[1])

    replies, busy = asyncio.run(main())
    assert all(reply.text for reply in replies)
    assert busy > 1.05


def test_from_the_second_round_on_most_of_the_prompts_come_from_the_prefix_cache() -> None:
    """Two agents with different evidence, and judges with prompts of their own between the rounds, on two places."""

    async def main() -> float:
        async with opened(parallel=2) as local:
            history, before = "", None
            for number in range(3):
                asked = [f"Analyst {a}. {FINDINGS}{history}\nRound {number}. Argue." for a in (1, 2)]
                turns = await asyncio.gather(*(local.send(ask(text, tokens=30)) for text in asked))
                for turn in turns:
                    await local.send(ask(f"You judge one argument: {turn.text} Is it sound?", tokens=4))
                history += "".join(f"\nAdmitted: {turn.text}" for turn in turns)
                before = before or await local.counters()
            share = (await local.counters() - before).share
            assert share is not None
            return share

    assert asyncio.run(main()) >= 0.6


def test_the_beginning_that_prompts_sent_together_share_is_read_once() -> None:
    """And what is answered is the same, up to the rounding that any other batch brings."""
    requests = [ask(f"{FINDINGS}\nYou are analyst {a}. Argue.", tokens=1, top_logprobs=1) for a in "AB"]

    async def together() -> tuple[int, list[Reply]]:
        async with opened(parallel=2) as local:
            before = await local.counters()
            replies = await asyncio.gather(*map(local.send, requests))
            read = (await local.counters() - before).processed
            assert local._chat is not None
            assert not list(local._chat.engine.folder.iterdir())
            return read, replies

    async def alone() -> list[Reply]:
        async with opened(parallel=1) as local:
            return [await local.send(request) for request in requests]

    (read, replies), others = asyncio.run(together()), asyncio.run(alone())
    prompt = replies[0].usage.prompt
    assert prompt > 500
    assert read < prompt + 60  # not twice
    assert all(reply.usage.cached > prompt - 60 for reply in replies)
    for reply, other in zip(replies, others, strict=True):
        assert reply.logprobs is not None and other.logprobs is not None
        (token, logprob), (expected, close) = reply.logprobs[0].top[0], other.logprobs[0].top[0]
        assert token == expected
        assert logprob == pytest.approx(close, abs=0.1)


def test_a_prompt_that_does_not_fit_is_refused_with_its_length() -> None:
    async def main() -> None:
        async with opened(context=512) as local:
            with pytest.raises(ContextOverflow, match=r"room for 512 tokens.* has \d{4}: set a larger `context`"):
                await local.send(ask("fever " * 3000))
            assert (await local.send(ask("Hello."))).text

    asyncio.run(main())


def test_a_cancelled_call_frees_its_place() -> None:
    async def main() -> float:
        async with opened(parallel=1) as local:
            await local.send(ask("Hello.", tokens=2))
            long = asyncio.create_task(local.send(ask("Tell a story without end.", tokens=7000)))
            await asyncio.sleep(1.0)
            long.cancel()
            await asyncio.wait((long,))
            start = time.monotonic()
            await local.send(ask("Hello.", tokens=2))
            return time.monotonic() - start

    assert asyncio.run(main()) < 20  # the story would take minutes


SCRIPT = f"""
import asyncio, sys
from maci.llm.local.provider import LocalProvider
from maci.llm.model import Message, Request

async def main():
    local = LocalProvider("{MODEL}")
    ask = lambda tokens: Request(messages=(Message("user", "Tell a story."),), max_tokens=tokens)
    try:
        await local.send(ask(2))
        print(local._chat.engine._process.pid, flush=True)
        if sys.argv[1] == "busy":
            await local.send(ask(7000))
    finally:
        if sys.argv[1] != "forgetful":
            await local.aclose()

try:
    asyncio.run(main())
except KeyboardInterrupt:
    sys.exit(130)
"""


def start(mode: str) -> tuple[subprocess.Popen[str], int]:
    """A program that uses a model, and the process that holds the model."""
    program = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, mode],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert program.stdout is not None
    return program, int(program.stdout.readline())


def gone(pid: int) -> bool:
    """Whether a process ends soon."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as stat:  # noqa: PTH123
            if stat.read().rpartition(")")[2].split()[0] == "Z":
                return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize("mode", ["tidy", "forgetful"])
def test_a_program_ends_by_itself_without_a_word_of_llama_cpp(mode: str) -> None:
    program, held = start(mode)
    out, err = program.communicate(timeout=60)
    assert (program.returncode, out) == (0, "")
    assert "llama" not in err
    assert err == "" or mode == "forgetful"  # an unclosed session may be complained of
    assert gone(held)


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("ends", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda ends: ends.name)
def test_a_program_that_is_stopped_in_the_middle_of_a_call_leaves_no_process(ends: signal.Signals) -> None:
    program, held = start("busy")
    time.sleep(0.5)
    if ends is signal.SIGINT:
        os.killpg(program.pid, ends)  # as a terminal does
    else:
        program.send_signal(ends)
    begun = time.monotonic()
    _, err = program.communicate(timeout=60)
    assert time.monotonic() - begun < 30  # the story would take minutes
    assert program.returncode == (130 if ends is signal.SIGINT else -ends)
    assert err == ""
    assert gone(held)
