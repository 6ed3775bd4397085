"""Many debates at once on a slow server: MACI, a bare aiohttp script, LangGraph, AutoGen and Inspect (`peers.py`).

    python benchmarks/bench_throughput.py [--json] [--quick] [--who bare,maci] [--debates 200] [--delays 1,0.1,heavy] [--times 10]

A debate has 2 agents, 3 rounds, 3 judges and 1 argument a turn, and a recommendation at the end: 27 calls, of which a round's scores
wait for their turn, and a round for all scores of the one before. MACI runs its whole stack: panel, prompts, budget, limits, response
cache on disk, transcript on disk. Each runs in a process of its own, in turn, against one server process, so that whatever else the
machine does falls on all of them. Time has the best of its turns, and its ratio is that of the best to the bare script's best; the
median and its spread stand beside it, with ratios to the bare script of the same turn, as all other ratios are. At 1 s an answer the
time tells, at 100 ms the CPU a call costs; `heavy` replies take 0.1 s times a Pareto variate (α = 1.5), 2 s at most. Memory is the
most of the whole process. Each turn is printed as soon as it is over, with ``--json`` as a line of JSON. Who fails is named, and the
others go on without it to the end of that row; the program then ends with 1.

Two measures do not depend on what else the machine does, each for a call of 10 debates at once: ``--count`` has the function calls,
Python's and C's, and ``--instructions`` (needs valgrind, takes minutes) the machine's instructions outside the system, beside the bare
script's. Few debates at once repeat little, so that what is kept for the next debate of a case shows less in them. ``--profile`` has
both by the part of MACI that they are spent in: CPU time by a sampler over 200 debates, function calls of 10.

MACI_PEERS names the Python that has the frameworks (requirements/peers.txt); a row says so where one is not installed there.
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from time import process_time, sleep, thread_time
from typing import Any
from urllib.request import urlopen

from peers import IMPORTS, instructed, measured

HERE = Path(__file__).resolve().parent
TESTS = HERE.parent / "tests"  # the fake server

AGENTS = ("openai/gpt-fake", "mistral/fake")
JUDGES = ("xai/fake-1", "deepseek/fake-2", "together/qwen-fake")
ROUNDS = 3
CALLS = len(AGENTS) * (1 + ROUNDS * (1 + len(JUDGES))) + 1
WHO = ("bare", "maci", "langgraph", "autogen", "inspect")
Figures = dict[str, Any]
"""Seconds, CPU seconds and MB of one run, or why it ``failed``."""


# --- MACI -------------------------------------------------------------------------------------------------------------------


class Maci:
    """All of the stack. Weights and evidence are loaded here, before the clock starts."""

    def __init__(self) -> None:
        from maci.cases.case import load_case
        from maci.config import load
        from maci.evidence.encode import load_encoder
        from maci.seating.shelf import Sources, evidence_for

        # everything is admitted, so that prompts grow from round to round, and no rule ends a debate early
        sets = ["gate.q_gate=false", "gate.crit_gate=false", "agents.arguments=1"]
        self.config = load(None, sets=[*sets, f"max_rounds={ROUNDS}", f"min_rounds={ROUNDS}"], environ={})
        self.case, self.encoder = load_case("dengue"), load_encoder()
        self.sources = evidence_for(self.case, Sources())

    async def run(self, url: str, debates: int, folder: Path, tap: list[bytes] | None = None) -> None:
        """So many debates at once; ``tap`` gets the bodies of the requests."""
        from maci.llm.cache import ResponseCache
        from maci.llm.models import House, ModelOptions
        from maci.seating.models import ModelPanel
        from maci.seating.spec import AgentSpec, JudgeSpec, PanelSpec

        names = (*AGENTS, *JUDGES)
        options = {name: ModelOptions(base_url=f"{url}/v1", key_env="KEY", concurrency=10_000) for name in names}
        cache = ResponseCache(folder / "replies.sqlite")
        async with House(cache=cache, options=options, environ={"KEY": "sk-bench"}) as house:
            spec = PanelSpec(
                agents=tuple(AgentSpec(model=name) for name in AGENTS),
                judges=tuple(JudgeSpec(model=name) for name in JUDGES),
            )
            panel = ModelPanel(spec, self.sources, self.encoder, house, self.config)
            if tap is not None:
                listen(house.model(AGENTS[0]).provider._http, tap)  # type: ignore[attr-defined]
            async with asyncio.TaskGroup() as tasks:
                for seed in range(debates):
                    tasks.create_task(self._debate(panel, folder, seed))
                    await asyncio.sleep(0)  # the first calls of a debate go out before the next debate is begun
                    await asyncio.sleep(0)

    async def _debate(self, panel: Any, folder: Path, seed: int) -> None:
        from maci.controller.decisions import Finished
        from maci.debating.loop import debate
        from maci.record.transcript import Transcript
        from maci.seating.table import opening

        table, last = panel.table(self.case, seed=seed), None
        opened = opening(self.case, table, self.config, seed=seed)
        async with Transcript.create(folder / f"{seed}" / "transcript.jsonl") as record:
            async for event in debate(opened, table, record=record):
                last = event
        assert isinstance(last, Finished) and last.rounds == ROUNDS and last.tokens > 0, last


def listen(http: Any, tap: list[bytes]) -> None:
    post = http.post

    async def tapped(url: str, headers: Mapping[str, str], body: object, *more: Any) -> Any:
        tap.append(json.dumps(body).encode())
        return await post(url, headers, body, *more)

    http.post = tapped


def sorted_bodies(tap: list[bytes]) -> dict[str, Any]:
    """The calls of one debate by their place in it."""
    bodies = [json.loads(raw) for raw in tap]
    turns = [body for body in bodies if body["response_format"]["json_schema"]["name"] == "turn"]
    scores = [body for body in bodies if body["response_format"]["json_schema"]["name"] == "grades"]
    m, k = len(AGENTS), len(JUDGES)
    counts = len(turns), len(scores), len(bodies)
    assert counts == (m * (ROUNDS + 1), m * k * ROUNDS, CALLS), counts
    return {
        "turns": [turns[t * m : (t + 1) * m] for t in range(ROUNDS + 1)],
        "scores": [
            [scores[(t * m + agent) * k : (t * m + agent + 1) * k] for agent in range(m)] for t in range(ROUNDS)
        ],
        "last": bodies[-1],
    }


# --- where it goes ----------------------------------------------------------------------------------------------------------

PARTS = {
    "aiohttp and sockets": "aiohttp/ multidict/ yarl/ asyncio/selector_events.py socket.py selectors.py",
    "event loop and tasks": "asyncio/ bench_throughput.py",
    "preparing calls: prompts, bounds, cache keys": "maci/agents/prompt.py maci/agents/debater.py maci/agents/judges/ "
    "maci/llm/tokens.py maci/llm/structured.py:prepare maci/llm/client.py:prepare maci/llm/request.py maci/debating/calls.py:_prepare",
    "writing requests and reading replies as JSON, with their bounds": "maci/llm/providers/",
    "attempts, limits, ledger": "maci/llm/",
    "response cache: looking up, handing over": "maci/llm/cache.py maci/files/",
    "reading replies: schema, citations, beliefs": "maci/agents/debater.py:read maci/agents/judges/llm.py:make "
    "maci/agents/elicit.py maci/controller/reading.py maci/llm/structured.py",
    "the loop of the debate and its calls under way": "maci/debating/ maci/controller/requests.py",
    "checking that a reply can be recorded and read back": "maci/debating/replies.py:recordable",
    "prompts in the record, cut and hashed": "maci/record/prompts.py",
    "transcript: JSON, hash chain, writing": "maci/record/",
    "taking inputs into the state": "maci/controller/",
    "closing the opening and the rounds: gate, weights, signals, harm": "maci/controller/rounds.py maci/controller/opening.py "
    "maci/controller/measuring.py maci/moderator/",
    "the plan": "maci/acquisition/ maci/controller/acquiring.py",
    "the survey of what to ask": "maci/acquisition/proposals.py maci/seating/shelf.py",
    "result and recommendation, its check against the record": "maci/controller/ending.py maci/controller/recommending.py "
    "maci/agents/writer.py",
    "setting the table": "maci/seating/",
    "": "maci/controller/events.py",  # writes and reads JSON for others
}
"""Parts of a call's cost, by the ends of folders and files, or by a function of a file. What has no part of its own is its caller's."""
ELSEWHERE = "threads: writing the response cache, closing transcripts"

_RULES = sorted(
    ((*(*rule.partition(":")[::2],), part) for part, rules in PARTS.items() for rule in rules.split()),
    key=lambda rule: (bool(rule[1]), len(rule[0])),
    reverse=True,  # a function before its file, a file before its folder
)
_parts: dict[Any, str | None] = {}


def part_of(frame: Any) -> str:
    """The part that the innermost frame of a stack with one has."""
    while frame is not None:
        code = frame.f_code
        if code not in _parts:
            file = code.co_filename.replace("/site-packages/", "/").replace("/src/", "/")
            own = (part for path, name, part in _RULES if f"/{path}" in file and name in ("", code.co_name))
            _parts[code] = next(own, "") or None
        if (part := _parts[code]) is not None:
            return part
        frame = frame.f_back
    return "event loop and tasks"


def counted(run: Callable[[], Any]) -> dict[str, float]:
    """Function calls, Python's and C's, of each part."""
    found = Counter[str]()

    def count(frame: Any, event: str, _: object) -> None:
        if event in ("call", "c_call"):
            found[part_of(frame)] += 1

    sys.setprofile(count)
    try:
        run()
    finally:
        sys.setprofile(None)
    return dict(found)


def sampled(run: Callable[[], Any]) -> dict[str, float]:
    """CPU seconds of each part: of the time since the last sample, all goes to where this one finds the program."""
    found, last = Counter[str](), thread_time()

    def sample(_: int, frame: Any) -> None:
        nonlocal last
        now = thread_time()
        found[part_of(frame)] += now - last  # type: ignore[assignment]
        last = thread_time()

    before = process_time() - last
    signal.signal(signal.SIGPROF, sample)
    signal.setitimer(signal.ITIMER_PROF, 0.001, 0.001)
    try:
        run()
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    found[ELSEWHERE] = process_time() - thread_time() - before  # type: ignore[assignment]
    return dict(found)


def profile_lines(cpu: Mapping[str, float], called: Mapping[str, float]) -> Iterator[str]:
    """The parts, dearest first, in Markdown."""
    yield from ("| part | µs a call | function calls |", "|---|---|---|")
    for part, took in sorted(cpu.items(), key=lambda item: -item[1]):
        yield f"| {part} | {took:.0f} | {called.get(part, 0):,.0f} |"
    yield f"| **all** | **{sum(cpu.values()):,.0f}** | **{sum(called.values()):,.0f}** |"


# --- measuring --------------------------------------------------------------------------------------------------------------


def work(kind: str, url: str, warm: str, debates: int) -> Any:
    """What a process of its own does: one measurement of MACI, or the bodies of one debate's requests."""
    maci, tap = Maci(), list[bytes]()
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(maci.run(warm, 1, Path(folder) / "warm", tap))
        if kind == "bodies":
            return sorted_bodies(tap)
        if kind == "count":
            profile = cProfile.Profile()
            profile.runcall(asyncio.run, maci.run(url, debates, Path(folder) / "run"))
            return sum(entry.callcount for entry in profile.getstats()) / (debates * CALLS)
        if kind in ("sampled", "counted"):
            take, unit = (sampled, 1e6) if kind == "sampled" else (counted, 1.0)
            found = take(lambda: asyncio.run(maci.run(url, debates, Path(folder) / "run")))
            return {part: unit * value / (debates * CALLS) for part, value in found.items()}
        if kind == "instructions":
            return instructed(lambda: asyncio.run(maci.run(url, debates, Path(folder) / "run")))
        return measured(lambda: asyncio.run(maci.run(url, debates, Path(folder) / "run")))


@contextmanager
def serving(delay: str) -> Iterator[str]:
    """The fake server in a process of its own; its address."""
    slow = ("--heavy", "0.1") if delay == "heavy" else ("--delay", delay)
    command = [sys.executable, "-m", "fake_server", *slow, "--for", "7200"]
    environ = {**os.environ, "PYTHONPATH": str(TESTS)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environ) as server:
        try:
            assert server.stdout is not None
            yield server.stdout.readline().split()[-1]
        finally:
            server.terminate()


class Failed(Exception):
    """A process that did not do what it was started for; what it said last."""


def _child(*command: str) -> Any:
    """The last line that a process prints, which is JSON."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1800)
    except subprocess.TimeoutExpired as late:
        raise Failed(f"{Path(command[1]).name} took longer than {late.timeout:.0f} s") from None
    if done.returncode:
        raise Failed(f"{Path(command[1]).name} ended with {done.returncode}: {done.stderr.strip()[-2000:]}")
    sleep(0.2)
    try:
        return json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        raise Failed(f"{Path(command[1]).name} printed no figures: {done.stdout[-200:]!r}") from None


def requests(url: str) -> int:
    """How many the server has counted."""
    with urlopen(f"{url}/count") as reply:
        return sum(each["requests"] for each in json.load(reply).values())


def instructions(who: str, url: str, warm: str) -> float:
    """Those of one call, in thousands, by valgrind: it counts between two calls of :func:`peers.instructed`."""
    with tempfile.TemporaryDirectory() as folder:
        common = "--url", url, "--warm", warm, "--debates", "10", "--work"
        command = [sys.executable, __file__, *common, "instructions"]
        if who == "bare":
            file = Path(folder) / "bodies.json"
            file.write_text(json.dumps(_child(sys.executable, __file__, *common, "bodies")), encoding="utf-8")
            command = [sys.executable, str(HERE / "peers.py"), "bare", url, warm, "10", str(file), "instructions"]
        valgrind = ["valgrind", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={folder}/out"]
        done = subprocess.run(valgrind + command, capture_output=True, text=True, check=True)
    return int(done.stderr.rpartition("Collected : ")[2].split()[0]) / (10 * CALLS) / 1e3


def python_of(who: str) -> str:
    """The Python that measures it."""
    return sys.executable if who in ("bare", "maci") else os.environ.get("MACI_PEERS", sys.executable)


def import_cpu(who: str) -> float | None:
    """CPU seconds of a Python that imports what the job needs; ``None`` where it is not installed."""
    before = os.times()
    done = subprocess.run([python_of(who), "-c", IMPORTS[who]], capture_output=True, check=False)
    after = os.times()
    if done.returncode:
        return None
    return after.children_user - before.children_user + after.children_system - before.children_system


def in_turn(delay: str, debates: int, times: int, who: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Each once, one after the other, several times, against one server: the figures of every turn as soon as it is over."""
    fit = list(who)
    with serving(delay) as url, serving("0") as warm, tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "bodies.json"
        maci = sys.executable, __file__, "--url", url, "--warm", warm, "--debates", str(debates)
        file.write_text(json.dumps(_child(*maci, "--work", "bodies")), encoding="utf-8")
        for turn in range(times):
            ran = dict[str, Figures]()
            for each in list(fit):
                peer = python_of(each), str(HERE / "peers.py"), each, url, warm, str(debates), str(file)
                try:
                    before = requests(url)
                    ran[each] = _child(*maci, "--work", "maci") if each == "maci" else _child(*peer)
                    made = requests(url) - before
                    if made != debates * CALLS:
                        raise Failed(f"it made {made} calls instead of {debates * CALLS}")
                except (Failed, OSError) as failure:
                    ran[each] = {"failed": str(failure)}
                    fit.remove(each)
            yield {"debates": debates, "replies": delay, "turn": turn, "ran": ran}


def rows_of(turns: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """For each number of debates, kind of replies and contender: all figures, and the ratios to the bare script of the same turn."""
    groups: dict[tuple[int, str], list[Mapping[str, Figures]]] = {}
    for turn in turns:
        groups.setdefault((turn["debates"], turn["replies"]), []).append(turn["ran"])
    for (debates, replies), runs in groups.items():
        for who in dict.fromkeys(each for run in runs for each in run):
            failed = next((run[who]["failed"] for run in runs if "failed" in run.get(who, {})), None)
            row: dict[str, Any] = {"debates": debates, "replies": replies, "who": who, "failed": failed}
            good = [run for run in runs if "seconds" in run.get(who, {})]
            beside = [run for run in good if "seconds" in run.get("bare", {})]
            for name, unit in (("seconds", 1.0), ("cpu", 1e3 / (debates * CALLS)), ("peak_mb", 1.0)):
                row[name] = [unit * run[who][name] for run in good]
                row[f"{name}_ratio"] = [run[who][name] / run["bare"][name] for run in beside]
            best = min((run["bare"]["seconds"] for run in beside), default=None)
            row["best_ratio"] = best and min(row["seconds"]) / best
            yield row


def spread(values: list[float], form: str) -> str:
    """The median, and the least and the greatest."""
    return f"{median(values):{form}} [{min(values):{form}}, {max(values):{form}}]" if values else "–"


_SPEED = "| debates | replies | | time, s: best | × bare | median | × bare | CPU per call, ms | × bare | peak, MB | × bare | n |"


def lines(turns: Iterable[Mapping[str, Any]], imports: Mapping[str, list[float] | None]) -> Iterator[str]:
    """The tables, in Markdown."""
    yield from (_SPEED, "|---" * (_SPEED.count("|") - 1) + "|")
    failed = []
    for r in rows_of(turns):
        replies = "heavy" if r["replies"] == "heavy" else f"{float(r['replies']):g} s"
        best = f"{min(r['seconds']):.2f}" if r["seconds"] else "failed"
        times = [best, "–" if r["best_ratio"] is None else f"{r['best_ratio']:.2f}"]
        times += [spread(r["seconds"], ".2f"), spread(r["seconds_ratio"], ".2f")]
        cpu = [spread(r["cpu"], ".2f"), spread(r["cpu_ratio"], ".1f")]
        memory = [f"{median(r['peak_mb']):.0f}" if r["peak_mb"] else "–", spread(r["peak_mb_ratio"], ".1f")]
        figures = " | ".join([*times, *cpu, *memory, str(len(r["seconds"]))])
        yield f"| {r['debates']:,} | {replies} | {r['who']} | {figures} |"
        if r["failed"]:
            failed.append(f"{r['who']} failed with {r['debates']:,} debates, replies {replies}: {r['failed']}")
    yield from ("", *failed, *[""] * bool(failed))
    yield from ("| | CPU to import, s | × bare |", "|---|---|---|")
    bare = imports.get("bare") or []
    for who, found in imports.items():
        if found is None:
            yield f"| {who} | not installed | |"
        else:
            yield f"| {who} | {spread(found, '.2f')} | {spread([a / b for a, b in zip(found, bare, strict=False)], '.1f')} |"


def shown(turn: Mapping[str, Any]) -> str:
    """What came of one turn, in a line."""
    said = (
        f"{who} failed" if "failed" in ran else f"{who} {ran['seconds']:.2f} s, {ran['cpu']:.2f} s CPU"
        for who, ran in turn["ran"].items()
    )  # fmt: skip
    return f"{turn['debates']} debates, replies {turn['replies']}, turn {turn['turn'] + 1}: {'; '.join(said)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--quick", action="store_true", help="1 and 20 debates, replies after 0.1 s, each twice")
    parser.add_argument("--who", default=",".join(WHO), help="of bare (always), maci, langgraph, autogen, inspect")
    parser.add_argument("--debates", default="1,20,200,1000", help="at once")
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--delays", default="0.1,1,heavy", help="seconds the server takes")
    parser.add_argument("--more", default="", metavar="1000/1/2", help="further rows: debates, delay and times of each")
    parser.add_argument(
        "--work", choices=("maci", "bodies", "count", "sampled", "counted", "instructions"), help=argparse.SUPPRESS
    )
    parser.add_argument("--count", action="store_true", help="only count the function calls that a call costs MACI")
    parser.add_argument("--profile", action="store_true", help="only show where the CPU time of a call goes")
    parser.add_argument("--instructions", action="store_true", help="only count the machine's instructions of a call")
    parser.add_argument("--url", help=argparse.SUPPRESS)
    parser.add_argument("--warm", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        print(json.dumps(work(options.work, options.url, options.warm, int(options.debates))))
        return
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the servers end with it
    if options.quick:
        options.debates, options.delays, options.times = "1,20", "0.1", 2
    if options.count:
        with serving("0.1") as url, serving("0") as warm:
            rest = "--work", "count", "--url", url, "--warm", warm, "--debates", "10"
            print(f"{_child(sys.executable, __file__, *rest):,.0f} function calls per call")
        return
    if options.profile:
        with serving("0.1") as url, serving("0") as warm:
            common = sys.executable, __file__, "--url", url, "--warm", warm, "--work"
            cpu = _child(*common, "sampled", "--debates", "200")
            print("\n".join(profile_lines(cpu, _child(*common, "counted", "--debates", "10"))))
        return
    if options.instructions:
        with serving("0.1") as url, serving("0") as warm:
            bare, own = (instructions(who, url, warm) for who in ("bare", "maci"))
        print(f"{own:,.0f} thousand instructions per call, {own / bare:.2f} times the bare script's {bare:,.0f}")
        return
    who = ("bare", *(each for each in options.who.split(",") if each != "bare"))
    tries = [[import_cpu(each) for each in who] for _ in range(options.times + 1)][1:]  # the first writes byte code
    imports = {
        each: None if column[0] is None else list(column)
        for each, column in zip(who, zip(*tries, strict=True), strict=True)
    }
    here = [each for each in who if imports[each] is not None]
    turns, fine = list[dict[str, Any]](), True
    if options.json:
        print(json.dumps({"imports": imports}), flush=True)
    each_delay = options.delays.split(",")
    asked = [(int(debates), delay, options.times) for debates in options.debates.split(",") for delay in each_delay]
    more = (row.split("/") for row in options.more.split(",") if row)
    for debates, delay, times in [*asked, *((int(debates), delay, int(times)) for debates, delay, times in more)]:
        try:
            for turn in in_turn(delay, debates, times, here):
                turns.append(turn)
                fine = fine and not any("failed" in ran for ran in turn["ran"].values())
                print(shown(turn), file=sys.stderr, flush=True)
                if options.json:
                    print(json.dumps(turn), flush=True)
        except (Failed, OSError) as failure:  # before anybody's turn
            print(f"{debates} debates, replies {delay}: not measured: {failure}", file=sys.stderr, flush=True)
            fine = False
    if not options.json:
        print("\n".join(lines(turns, imports)))
    sys.exit(not fine)


if __name__ == "__main__":
    main()
