"""Many viewers of one debate: does everybody get every event in order, and what does that cost the server?

    python benchmarks/bench_viewers.py                 # 200 viewers, about 20 events a second, 20 seconds, on this machine only
    python benchmarks/bench_viewers.py --debates 100000      # how long the pages of a list of so many stored debates take
    python benchmarks/bench_viewers.py --weight              # what the first load of a debate's page sends, and its elements

``--src DIR``: measure the package of another tree, such as an older commit that was unpacked there.

A real debate of five agents and three judges that a clock holds back runs behind the real server, a process of its own; the viewers are
another process with a connection each. The server's CPU time and memory are read from /proc. It ends by itself.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from random import Random
from time import monotonic, sleep
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

LABELS = ("dengue", "chikungunya", "zika")


class Clock:
    """Lets one call through at a time, so many a second."""

    def __init__(self, rate: float) -> None:
        self._step, self._next = 1 / rate, 0.0

    async def tick(self) -> None:
        self._next = max(monotonic(), self._next + self._step)
        await asyncio.sleep(self._next - monotonic())


def table(case: Any, rate: float) -> Any:
    """Five agents who keep changing their minds, three judges who differ."""
    from helpers import arg, seat, turn
    from maci.agents.agent import Agent, Judge
    from maci.agents.judges.crit import CritScore

    clock, rng = Clock(rate), Random(0)

    class Speaker(Agent):
        def __init__(self, name: str) -> None:
            self.name = self.family = name

        async def turn(self, request: Any) -> Any:
            await clock.tick()
            p = [rng.random() + 0.1 for _ in LABELS]
            said = [arg(f"{self.name} says {n} in round {request.round}.", "e4", "e1") for n in range(2)]
            return turn(*(x / sum(p) for x in p), args=said)

    class Critic(Judge):
        family = "critic"

        def __init__(self, name: str) -> None:
            self.name = name

        async def score(self, request: Any) -> Any:
            from maci.llm.usage import Usage

            await clock.tick()
            return CritScore(evidence=rng.random(), logic=rng.random(), relevance=1.0), Usage()

    speakers = [Speaker(name) for name in ("ada", "bob", "cyd", "dan", "eve")]
    return seat(speakers, [Critic(f"judge {n}") for n in range(3)], case=case)


def serve(rate: float, seconds: float) -> None:
    """The server: prints its address, and ends when its input does."""
    import threading

    from hash_encoder import HashEncoder
    from helpers import make_case
    from maci.controller.inputs import Intervened
    from maci.seating import seating
    from maci.seating.seating import PanelChoice
    from maci.web import ServerSettings
    from maci.web.server import create_app

    seating.load_encoder = lambda *args, **more: HashEncoder()  # type: ignore[assignment]
    seating.Tables._seat = lambda self, case, seed: table(case, rate)  # type: ignore[method-assign]

    async def main(folder: Path) -> None:
        import uvicorn

        settings = ServerSettings(runs=folder, port=0)
        guard = create_app(settings)
        server = uvicorn.Server(
            uvicorn.Config(guard, port=0, log_level="warning", timeout_graceful_shutdown=1, ws="none")
        )
        running = asyncio.ensure_future(server.serve())
        while not server.started:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        desk = guard._app.state.desk  # type: ignore[attr-defined]
        sets = ("min_rounds=500", "max_rounds=500", "dispersion.gate=off", "q_gate=false", "crit_gate=false")
        run = await desk.start(make_case(LABELS), PanelChoice(panel="readers", sets=sets))
        port = server.servers[0].sockets[0].getsockname()[1]
        print(json.dumps({"port": port, "id": run.id, "pid": os.getpid()}), flush=True)
        loop, asked = asyncio.get_running_loop(), asyncio.Event()
        threading.Thread(
            target=lambda: (sys.stdin.readline(), loop.call_soon_threadsafe(asked.set)), daemon=True
        ).start()
        try:
            await asyncio.wait_for(asked.wait(), seconds + 120)
        finally:
            if run.live is not None:
                desk.intervene(run.id, Intervened(stop=True, by="the benchmark"))
                await asyncio.wait_for(run.over.wait(), 30)
            await asyncio.sleep(2)  # the last frames go out
            print(json.dumps({"events": len(run.events), "reason": run.finished.stop_reason}), flush=True)
            server.should_exit = True
            await running

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(main(Path(folder)))


async def view(port: int, id: str, seen: list[int], times: dict[int, list[float]]) -> bool:
    """One viewer: notes every event it gets; whether it saw the end."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 22)
    writer.write(f"GET /debates/{id}/events HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
    try:
        while line := await reader.readline():
            if line.startswith(b"id: "):
                seen.append(int(line[4:]))
                times.setdefault(seen[-1], []).append(monotonic())
            elif line == b"event: end\n":
                return True
    finally:
        writer.close()
    return False


def usage(pid: int) -> tuple[float, float]:
    """CPU seconds and megabytes of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    seconds = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    peak = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmHWM"))
    return seconds, int(peak.split()[1]) / 1024


async def watch(viewers: int, rate: float, seconds: float) -> dict[str, Any]:
    """Start the server, watch for a while, and say what came and what it cost."""
    call = [sys.executable, __file__, "--serve", "--rate", str(rate), "--seconds", str(seconds)]
    process = await asyncio.create_subprocess_exec(*call, stdin=-1, stdout=-1)
    assert process.stdin is not None and process.stdout is not None
    at = json.loads(await process.stdout.readline())
    alone = usage(at["pid"])
    await asyncio.sleep(3)
    before = usage(at["pid"])
    idle = (before[0] - alone[0]) / 3
    seen: list[list[int]] = [[] for _ in range(viewers)]
    times: dict[int, list[float]] = {}
    tasks = [asyncio.ensure_future(view(at["port"], at["id"], one, times)) for one in seen]
    await asyncio.sleep(2)  # everybody is there
    began, first, start = monotonic(), usage(at["pid"]), max((one[-1] for one in seen if one), default=0)
    await asyncio.sleep(seconds)
    last, wall, sent = usage(at["pid"]), monotonic() - began, max(one[-1] for one in seen if one) - start
    process.stdin.write(b"\n")
    await process.stdin.drain()
    ends = await asyncio.wait_for(asyncio.gather(*tasks), 60)
    said = json.loads(await process.stdout.readline())
    await process.wait()
    whole = list(range(1, said["events"] + 1))
    spread = sorted(max(at) - min(at) for seq, at in times.items() if start < seq <= start + sent)
    return {
        "viewers": viewers, "events_in_all": said["events"], "events_per_second": round(sent / wall, 1),
        "viewers_with_every_event_in_order": sum(one == whole for one in seen), "viewers_told_of_the_end": sum(ends),
        "server_cpu_share": round((last[0] - first[0]) / wall, 3), "server_cpu_share_without_viewers": round(idle, 3),
        "server_peak_mb": round(last[1], 1), "server_peak_mb_without_viewers": round(before[1], 1),
        "first_to_last_viewer_ms_median": round(1000 * spread[len(spread) // 2], 1),
        "first_to_last_viewer_ms_p99": round(1000 * spread[int(len(spread) * 0.99)], 1),
    }  # fmt: skip


def weight() -> dict[str, Any]:
    """The page of a finished debate of the readers, and its report: bytes, compressed bytes, and elements."""
    from stage import serving, slow_panel, weigh

    found = dict[str, Any]()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for case in ("dengue", "hepatitis"):
            out = str(folder / "runs" / case)
            call = [sys.executable, "-m", "maci", "debate", case, "--panel", "readers", "--out", out, "--quiet"]
            subprocess.run(call, check=True, stdout=subprocess.DEVNULL)
        with serving(folder / "runs", slow_panel(folder, "http://127.0.0.1:9")) as stage:
            for case in ("dengue", "hepatitis"):
                for kind, path in (("page", f"/debates/{case}"), ("report", f"/debates/{case}/report.html")):
                    one = weigh(stage.url, path)
                    found[f"{case}_{kind}_kb"] = round(one.bytes / 1000, 1)
                    found[f"{case}_{kind}_compressed_kb"] = round(one.compressed / 1000, 1)
                    found[f"{case}_{kind}_elements"] = one.nodes
    return found


PAGES = {
    "first": "/",
    "middle": "/?page={middle}",
    "search": "/?q=bridge+lorries",
    "search_nothing": "/?q=zeppelin",
    "badge": "/?only=wrong",
    "tag": "/?only=%23benchmark",
    "compare": "/compare",
}
"""Pages of a list, by what is asked of it."""


def shelve(folder: Path, debates: int) -> None:
    """So many records of scripted debates: copies on different days, and links to these."""
    import stories

    texts = [stories.write(name, folder / "base").read_bytes() for name in stories.NAMES]
    for number in range(debates):
        own = folder / "runs" / f"debate-{number:06}"
        own.mkdir(parents=True)
        if number % 500 == 0:
            day = b"%d-%02d-%02d" % (2020 + number // 500 // 336, 1 + number // 500 // 28 % 12, 1 + number // 500 % 28)
            copy = own / "transcript.jsonl"
            copy.write_bytes(texts[number // 500 % len(texts)].replace(b"2026-11-16T", day + b"T", 1))
        else:
            os.link(copy, own / "transcript.jsonl")
        if number % 1000 == 0:
            (own / "label.json").write_text('{"name": "", "tags": ["benchmark"]}', encoding="utf-8")


def history(debates: int) -> dict[str, Any]:
    """A list of so many stored debates: how long until all are in the index, and how long its pages take then."""
    import httpx

    from stage import serving, slow_panel

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shelve(folder, debates)
        with (
            serving(folder / "runs", slow_panel(folder, "http://127.0.0.1:9")) as stage,
            httpx.Client(base_url=stage.url, timeout=60) as client,
        ):
            began, waits, text = monotonic(), list[float](), ""
            while f">{debates:,} debates<" not in text and monotonic() - began < 3600:
                asked = monotonic()
                text = client.get("/").text
                waits.append(monotonic() - asked)
                sleep(0.5)
            found: dict[str, Any] = {
                "debates": debates, "seconds_until_all_are_listed": round(monotonic() - began, 1),
                "slowest_page_meanwhile_ms": round(1000 * max(waits)),
            }  # fmt: skip
            for kind, path in PAGES.items():
                times = []
                for _ in range(9):
                    asked = monotonic()
                    client.get(path.format(middle=debates // 100)).raise_for_status()
                    times.append(1000 * (monotonic() - asked))
                found[f"{kind}_ms_median"], found[f"{kind}_ms_worst"] = round(sorted(times)[4]), round(max(times))
            found["server_peak_mb"] = round(usage(stage.process.pid)[1], 1)
            return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--viewers", type=int, default=200)
    parser.add_argument("--rate", type=float, default=20.0, help="calls a second that the debate is let; events follow")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--debates", type=int, default=0, help="measure the list of so many stored debates instead")
    parser.add_argument("--weight", action="store_true", help="measure what the page of a debate weighs instead")
    parser.add_argument("--src", type=Path, help="the folder `src` of another tree")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.src is not None:  # servers and debates are processes of their own
        os.environ["PYTHONPATH"] = os.pathsep.join((str(asked.src.resolve()), os.environ.get("PYTHONPATH", "")))
    if asked.serve:
        serve(asked.rate, asked.seconds)
        return
    if asked.weight:
        found = weight()
    else:
        found = (
            history(asked.debates) if asked.debates else asyncio.run(watch(asked.viewers, asked.rate, asked.seconds))
        )
    if asked.json:
        print(json.dumps(found))
    else:
        for name, value in found.items():
            print(f"{name:<36} {value}")
    if not asked.debates and not asked.weight and found["viewers_with_every_event_in_order"] != asked.viewers:
        sys.exit("some viewers missed events")


if __name__ == "__main__":
    main()
