"""A local model: tokens a second, and how much of a debate's prompts comes from the prefix cache, by llama.cpp's own counters.

    python benchmarks/bench_local.py [--model smollm2-135m] [--rounds 4] [--evidence 600] [--json]

Two agents with different evidence take turns at the same time, as in a debate: task, evidence and earlier rounds first, what changes
last. Between the rounds three judges of the same model score each argument with short prompts of their own, which is the worst
case: they compete with the agents for places. Target: from round 2 on, at least 60 % of the prompt tokens come from the cache.
Then one form is filled several times in each of the two ways a reply can be held to a schema.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import time
from dataclasses import dataclass, field

from maci.llm.local import Counters, LocalProvider, open_local
from maci.llm.model import Message, Request, Schema

TEXT = (
    "fever rash platelets count mosquito travel headache joint pain blood test low high patient reports after days swelling liver "
    "enzyme raised malaria dengue virus antibody sample hospital nausea vomiting eye cough night sweats water contact"
)
TURN = Schema(
    "turn",
    {
        "type": "object",
        "properties": {
            "claim": {"type": "string", "maxLength": 120},
            "reason": {"type": "string", "maxLength": 120},
            "dengue": {"type": "integer", "minimum": 0, "maximum": 100},
        },
        "required": ["claim", "reason", "dengue"],
        "additionalProperties": False,
    },
)
SCORE = Schema(
    "score",
    {
        "type": "object",
        "properties": {"score": {"type": "integer", "minimum": 0, "maximum": 100}},
        "required": ["score"],
        "additionalProperties": False,
    },
)


def prose(rng: random.Random, words: int) -> str:
    return " ".join(rng.choice(TEXT.split()) for _ in range(words))


@dataclass
class Seen:
    """What the agents' replies said of each round, and the server's counters at its end."""

    prompt: list[int] = field(default_factory=list)
    cached: list[int] = field(default_factory=list)
    counters: list[Counters] = field(default_factory=list)


async def debate(model: LocalProvider, *, rounds: int, evidence: int, judges: int, rng: random.Random) -> Seen:
    seen, history = Seen(counters=[await model.counters()]), ""
    task = "You debate which condition explains the findings. " + prose(rng, 60)
    shown = [prose(rng, evidence) for _ in range(2)]

    async def turn(agent: int, tail: str) -> str:
        messages = (Message("system", task), Message("user", shown[agent] + history + tail))
        request = Request(messages=messages, max_tokens=120, schema=TURN, temperature=0.7, seed=agent)
        reply = await model.send(request)
        seen.prompt[-1] += reply.usage.prompt
        seen.cached[-1] += reply.usage.cached
        return reply.text

    async def score(argument: str, seed: int) -> None:
        messages = (
            Message("system", "You judge one argument. " + prose(random.Random(1), 80)),
            Message("user", argument),
        )
        await model.send(Request(messages=messages, max_tokens=30, schema=SCORE, temperature=0.3, seed=seed))

    for number in range(rounds):
        seen.prompt.append(0)
        seen.cached.append(0)
        tail = f"\n\nRound {number}. Contentiousness {0.9 - 0.2 * number:.1f}. " + prose(rng, 40)
        turns = await asyncio.gather(*(turn(agent, tail) for agent in range(2)))
        await asyncio.gather(*(score(text, seed) for text in turns for seed in range(judges)))
        history += f"\n\nRound {number}, admitted:\n" + "\n".join(turns)
        seen.counters.append(await model.counters())
    return seen


async def forms(model: LocalProvider, draws: int) -> dict[bool, tuple[float, float]]:
    """Generated tokens for one filled form, and their rate: held by LLGuidance without free spaces, and by ``response_format``."""
    await model.counters()
    chat, found = model._chat, {}
    assert chat is not None
    messages = (Message("system", "You diagnose."), Message("user", "Fever, rash, pain behind the eyes. Is it dengue?"))
    for guided in (True, False):
        chat.engine.guided, before = guided, await model.counters()
        for seed in range(draws):
            await model.send(Request(messages=messages, max_tokens=200, schema=TURN, temperature=0.7, seed=seed))
        used = await model.counters() - before
        found[guided] = used.generated / draws, used.generated / used.generated_seconds
    chat.engine.guided = True
    return found


async def measure(options: argparse.Namespace) -> dict[str, object]:
    model = open_local(options.model, parallel=options.parallel, threads=options.threads)
    try:
        start = time.perf_counter()
        await model.counters()
        loaded = time.perf_counter() - start
        start = time.perf_counter()
        seen = await debate(
            model,
            rounds=options.rounds,
            evidence=options.evidence,
            judges=options.judges,
            rng=random.Random(options.seed),
        )
        wall = time.perf_counter() - start
        form = await forms(model, options.draws)
    finally:
        await model.aclose()
    whole = seen.counters[-1] - seen.counters[0]
    later = seen.counters[-1] - seen.counters[1]
    agents = sum(seen.cached[1:]) / max(1, sum(seen.prompt[1:]))
    return {
        "model": options.model,
        "parallel": model.parallel,
        "load_s": round(loaded, 2),
        "debate_s": round(wall, 1),
        "prompt_tokens_per_s": round(whole.processed / whole.prompt_seconds, 1) if whole.prompt_seconds else None,
        "generated_tokens_per_s": round(whole.generated / whole.generated_seconds, 1)
        if whole.generated_seconds
        else None,
        "prompt_tokens": whole.processed + whole.cached,
        "generated_tokens": whole.generated,
        "cached_share_from_round_2": None if later.share is None else round(later.share, 3),
        "cached_share_from_round_2_agents": round(agents, 3),
        "tokens_a_form": round(form[True][0], 1),
        "tokens_a_form_response_format": round(form[False][0], 1),
        "form_tokens_per_s": round(form[True][1], 1),
        "form_tokens_per_s_response_format": round(form[False][1], 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="smollm2-135m", help="what follows local/ in its name")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--evidence", type=int, default=600, help="words of evidence each agent is shown")
    parser.add_argument("--judges", type=int, default=3)
    parser.add_argument("--draws", type=int, default=8, help="forms filled in each way")
    parser.add_argument("--parallel", type=int, default=None)
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    figures = asyncio.run(measure(options))
    print(json.dumps(figures) if options.json else "\n".join(f"{name:34} {value}" for name, value in figures.items()))


if __name__ == "__main__":
    main()
