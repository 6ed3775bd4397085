"""The calls of one debate made by others: a bare aiohttp script, LangGraph, AutoGen and Inspect, each in its ordinary way.

    python benchmarks/peers.py WHO URL WARM DEBATES BODIES     (`bench_throughput.py` starts it)

BODIES is a file with the requests of one debate by their place in it: `turns[t][agent]`, `scores[t - 1][agent]` and `last`. Everybody
sends the same messages with the same parameters, in the same order of waiting, as many debates at once, with no limit on connections,
and parses the JSON of each reply. WARM is a server without delay for one debate before the clock starts. Inspect keeps a log of every
call on disk, as MACI does; LangGraph and AutoGen keep nothing.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable
from operator import add
from pathlib import Path
from time import perf_counter, process_time
from typing import Annotated, Any, TypedDict

Body = dict[str, Any]
KEY = "sk-bench"


async def debate(call: Callable[[str, Body], Awaitable[None]], bodies: Any) -> None:
    """Openings; then in each round the turns, and the scores of each as soon as it is there; then the recommendation."""

    async def turn(t: int, agent: int) -> None:
        await call(f"agent{agent}", bodies["turns"][t][agent])
        if t:
            scores = bodies["scores"][t - 1][agent]
            await asyncio.gather(*(call(f"judge{judge}", body) for judge, body in enumerate(scores)))

    for t, turns in enumerate(bodies["turns"]):
        await asyncio.gather(*(turn(t, agent) for agent in range(len(turns))))
    await call("agent0", bodies["last"])


def apart(body: Body) -> tuple[list[dict[str, str]], Body]:
    """The messages of a request, and its parameters as the OpenAI SDK takes them: one that only another service has goes apart."""
    rest = {name: value for name, value in body.items() if name not in ("messages", "thinking")}
    return body["messages"], rest | ({"extra_body": {"thinking": body["thinking"]}} if "thinking" in body else {})


def client() -> Any:
    """What the OpenAI SDK, which all three frameworks use, sends with; as many connections as are asked for."""
    import httpx

    return httpx.AsyncClient(limits=httpx.Limits(max_connections=None, max_keepalive_connections=None), timeout=1800)


async def bare(url: str, debates: int, bodies: Any) -> None:
    import aiohttp

    async def call(_: str, body: Body) -> None:
        async with session.post(f"{url}/v1/chat/completions", json=body, headers=headers) as response:
            answer = await response.json()
            json.loads(answer["choices"][0]["message"]["content"])

    headers = {"Authorization": f"Bearer {KEY}"}
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        await asyncio.gather(*(debate(call, bodies) for _ in range(debates)))


async def langgraph(url: str, debates: int, bodies: Any) -> None:
    """A graph with a node for each call, compiled once; no checkpoints."""
    from langchain_openai import ChatOpenAI
    from langgraph.graph import END, START, StateGraph

    class Said(TypedDict):
        said: Annotated[list[Any], add]

    graph = StateGraph(Said)
    async with client() as http:
        model = ChatOpenAI(
            model="any",
            base_url=f"{url}/v1",
            api_key=KEY,
            http_async_client=http,
            max_retries=0,
            use_responses_api=False,
        )

        def node(name: str, body: Body, after: list[str]) -> str:
            messages, parameters = apart(body)
            bound = model.bind(**parameters)

            async def ask(_: Said) -> dict[str, Any]:
                return {"said": [json.loads((await bound.ainvoke(messages)).content)]}

            graph.add_node(name, ask)
            graph.add_edge(after if after != [START] else START, name)
            return name

        before = [START]
        for t, turns in enumerate(bodies["turns"]):
            done = [node(f"turn{t}-{agent}", body, before) for agent, body in enumerate(turns)]
            if t:
                scores = enumerate(bodies["scores"][t - 1])
                done = [
                    node(f"score{t}-{a}-{j}", body, [done[a]]) for a, panel in scores for j, body in enumerate(panel)
                ]
            before = done
        graph.add_edge(node("last", bodies["last"], before), END)
        made = graph.compile()
        found = await asyncio.gather(*(made.ainvoke({"said": []}, {"recursion_limit": 100}) for _ in range(debates)))
    assert all(len(each["said"]) == len(graph.nodes) for each in found)


async def autogen(url: str, debates: int, bodies: Any) -> None:
    """Agents of autogen-core that answer messages, five of them for each debate, in one runtime."""
    from dataclasses import dataclass

    from autogen_core import AgentId, MessageContext, RoutedAgent, SingleThreadedAgentRuntime, message_handler
    from autogen_core.models import SystemMessage, UserMessage
    from autogen_ext.models.openai import OpenAIChatCompletionClient

    @dataclass
    class Ask:
        body: Body

    @dataclass
    class Said:
        content: Body

    class Speaker(RoutedAgent):
        async def ask(self, message: Any, ctx: Any) -> Any:
            messages, parameters = apart(message.body)
            of = {"system": SystemMessage, "user": lambda content: UserMessage(content=content, source="user")}
            told = [of[each["role"]](content=each["content"]) for each in messages]
            reply = await model.create(told, extra_create_args={k: v for k, v in parameters.items() if k != "model"})
            return Said(json.loads(reply.content))

        ask.__annotations__ = {"message": Ask, "ctx": MessageContext, "return": Said}  # noqa: RUF012
        ask = message_handler(ask)

    traits = {
        "vision": False,
        "function_calling": False,
        "json_output": True,
        "structured_output": True,
        "family": "unknown",
    }
    async with client() as http:
        model = OpenAIChatCompletionClient(
            model="any", base_url=f"{url}/v1", api_key=KEY, http_client=http, max_retries=0, model_info=traits
        )
        runtime = SingleThreadedAgentRuntime()
        await Speaker.register(runtime, "speaker", lambda: Speaker("speaks"))
        runtime.start()

        def calling(number: int) -> Callable[[str, Body], Awaitable[None]]:
            async def call(who: str, body: Body) -> None:
                await runtime.send_message(Ask(body), AgentId("speaker", f"{number}-{who}"))

            return call

        await asyncio.gather(*(debate(calling(number), bodies) for number in range(debates)))
        await runtime.stop_when_idle()


async def inspect(url: str, debates: int, bodies: Any) -> None:
    """A task with a sample for each debate, whose solver makes the calls."""
    from inspect_ai import Task, eval_async
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ChatMessageSystem, ChatMessageUser, GenerateConfig, get_model
    from inspect_ai.solver import solver

    of = {"system": ChatMessageSystem, "user": ChatMessageUser}

    async def call(_: str, body: Body) -> None:
        told = [of[each["role"]](content=each["content"]) for each in body["messages"]]
        rest = {name: value for name, value in body.items() if name != "messages"}
        reply = await model.generate(told, config=GenerateConfig(extra_body=rest))
        json.loads(reply.completion)

    @solver
    def debating() -> Any:
        async def solve(state: Any, _: Any) -> Any:
            await debate(call, bodies)
            return state

        return solve

    async with client() as http:
        many = GenerateConfig(max_connections=100_000)
        at = {"base_url": f"{url}/v1", "api_key": KEY, "http_client": http}
        model = get_model("openai/any", config=many, memoize=False, responses_api=False, **at)
        task = Task(dataset=[Sample(input="debate", id=n) for n in range(1, debates + 1)], solver=debating())
        with tempfile.TemporaryDirectory() as folder:
            (log,) = await eval_async(task, model=model, max_samples=debates, log_dir=folder, score=False)
    assert log.status == "success", log.error


PEERS = {"bare": bare, "langgraph": langgraph, "autogen": autogen, "inspect": inspect}
IMPORTS = {
    "bare": "import aiohttp",
    "maci": "import maci.debating.loop, maci.seating.models, maci.llm.models, maci.record.transcript",
    "langgraph": "import langgraph.graph, langchain_openai",
    "autogen": "import autogen_core.models, autogen_ext.models.openai",
    "inspect": "import inspect_ai.model, inspect_ai.solver",
}


def measured(run: Callable[[], Any]) -> dict[str, float]:
    """Seconds, CPU seconds and the most memory of this process, in MB."""
    gc.collect()
    gc.set_threshold(50_000, 20, 20)  # as `maci` does
    cpu, began = process_time(), perf_counter()
    run()
    seconds, cpu = perf_counter() - began, process_time() - cpu
    return {"seconds": seconds, "cpu": cpu, "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def instructed(run: Callable[[], Any]) -> None:
    """Run under valgrind, whose callgrind counts instructions meanwhile."""
    gc.collect()
    gc.set_threshold(50_000, 20, 20)  # as `maci` does
    for switch in ("on", "off"):
        subprocess.run(["callgrind_control", "-i", switch, str(os.getpid())], check=True, stdout=subprocess.DEVNULL)
        if switch == "on":
            run()


def main() -> None:
    who, url, warm, debates, file, *instructions = sys.argv[1:]
    bodies = json.loads(Path(file).read_text(encoding="utf-8"))
    os.environ.setdefault("INSPECT_DISPLAY", "none")
    asyncio.run(PEERS[who](warm, 1, bodies))
    measure = instructed if instructions else measured
    print(json.dumps(measure(lambda: asyncio.run(PEERS[who](url, int(debates), bodies)))))


if __name__ == "__main__":
    main()
