"""Models that think before every answer: does a debate with default settings end by itself, and what does it cost?

    PYTHONPATH=tests python benchmarks/bench_thinking.py [--thinks 1500] [--always]

The servers are tests/fake_server, in the protocols of OpenAI, Anthropic and Gemini, with model names that tell that they think and
names that do not. Two debaters, one judge, the default ceiling. ``--always``: they also think when they are told not to, as judges
are. The mock's texts are drawn from its prompts, so ends differ between versions that ask differently.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import tempfile
from collections import Counter
from pathlib import Path

from fake_server import FakeServer
from maci.cases.case import parse_case
from maci.controller.decisions import Finished
from maci.controller.inputs import Requested
from maci.debating.loop import debate
from maci.seating.seating import PanelChoice, Seating

CASE = {
    "question": "Is it dengue?",
    "context": "High fever and a rash.",
    "outcomes": ["dengue", "measles"],
    "evidence": ["Dengue brings high fever.", "Measles brings a rash."],
}
PANELS = (
    ("openai", ("alpha", "beta", "gamma")),
    ("openai", ("gpt-6", "gpt-6-mini", "gpt-7")),
    ("openai", ("o3", "gpt-5", "o4")),
    ("anthropic", ("alpha", "beta", "gamma")),
    ("anthropic", ("claude-opus-5", "claude-sonnet-5", "claude-haiku-5")),
    ("gemini", ("alpha", "beta", "gamma")),
    ("gemini", ("gemini-3-flash", "gemini-2.5-flash", "gemini-4-flash")),
    ("gemini", ("gemini-3-pro", "gemini-2.5-pro", "gemini-4-pro")),
)


async def held(service: str, models: tuple[str, ...], panels: Path, options: argparse.Namespace) -> str:
    """One debate in a folder of its own, told in a line."""
    async with FakeServer(thinks=options.thinks, quotes=True, agrees=True, obeys=not options.always) as server:
        address = server.url + ("/v1" if service == "openai" else "")
        names = [f"{service}/{model}" for model in models]
        entries = (
            f"{name}: {{base_url: '{address}', key_env: BENCH_KEY, family: {family}}}"
            for name, family in zip(names, "abc", strict=True)
        )
        await asyncio.to_thread(panels.write_text, f"models: {{{', '.join(entries)}}}\n", encoding="utf-8")
        seating = Seating(PanelChoice(agents=f"{names[0]},{names[1]}", judges=names[2], cache=Path("replies.sqlite")))
        seated, tokens, cut = seating.seat(parse_case(CASE, "thinking")), Counter[str](), 0
        async for event in debate(seated.opened, seated.table):
            if isinstance(event, Requested):
                tokens[event.kind] += sum(request.tokens for request in event.requests)
                cut += sum(request.truncated for request in event.requests)
            if isinstance(event, Finished):
                end = event
        assert seating.house is not None
        await seating.house.aclose()
    spent = f"{end.tokens:7,} tokens ({tokens['turn']:,} debaters, {tokens['score']:,} judge)"
    return f"{service:10}{models[0]:16}{end.stop_reason:11}{end.rounds} rounds {spent}, {cut} replies cut off"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--thinks", type=int, default=1500, help="tokens before every answer")
    parser.add_argument("--always", action="store_true", help="also where they are told not to")
    options = parser.parse_args()
    os.environ["BENCH_KEY"] = "none"
    for service, models in PANELS:
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            print(asyncio.run(held(service, models, Path("maci-panels.yaml"), options)), flush=True)


if __name__ == "__main__":
    main()
