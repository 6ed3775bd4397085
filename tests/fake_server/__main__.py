"""``python -m fake_server``: the fake server as a process of its own."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import signal
import sys

from fake_server import FakeServer, Faults
from fake_server.server import Delay


def main() -> None:
    """Serve until the time is over or somebody stops it; the first line of output says where."""
    parser = argparse.ArgumentParser(prog="python -m fake_server", description="A fake of three model APIs.")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--delay", type=float, default=0.0, help="seconds before each answer")
    parser.add_argument("--jitter", type=float, default=0.0, help="seconds that may come on top of the delay")
    parser.add_argument(
        "--heavy",
        type=float,
        default=0.0,
        help="seconds before each answer, times a Pareto variate up to 20",
    )
    parser.add_argument("--fault-rate", type=float, default=0.0, help="share of requests with a fault, all kinds alike")
    parser.add_argument("--key", action="append", help="a key it accepts, several if repeated; any, if left out")
    parser.add_argument(
        "--model", action="append", default=[], help="a model it has, several if repeated; any, if left out"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--for", type=float, default=600.0, dest="seconds", help="seconds after which it ends by itself"
    )
    asked = parser.parse_args()
    asyncio.run(_run(asked))


async def _run(asked: argparse.Namespace) -> None:
    delay: Delay = (asked.delay, asked.delay + asked.jitter) if asked.jitter else asked.delay
    if asked.heavy:
        delay = lambda rng: asked.heavy * min(20.0, rng.paretovariate(1.5))  # noqa: E731
    over = asyncio.Event()
    with contextlib.suppress(NotImplementedError):  # Windows has no signal handlers in its loop
        for sign in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(sign, over.set)
    faults = Faults.every(asked.fault_rate)
    own = {"keys": asked.key, "models": asked.model, "quotes": True}
    async with FakeServer(faults=faults, seed=asked.seed, delay=delay, port=asked.port, **own) as server:
        sys.stdout.write(f"listening on {server.url}\n")
        sys.stdout.flush()
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(over.wait(), asked.seconds)


if __name__ == "__main__":
    main()
