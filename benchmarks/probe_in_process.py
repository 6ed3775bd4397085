"""Why local models have a process of their own: what xllamacpp's server does to the process that holds it.

    python benchmarks/probe_in_process.py [--model smollm2-135m] [--tries 3]

Each probe runs in a process that is ended after a while: ``load`` prints the longest time other threads stood still while the model
loaded; ``stop-early`` lets go of a server right after loading; ``stop-busy`` lets go while a call is under way; ``exit-busy`` ends
the program while a call is under way.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import threading
import time
import urllib.request
from itertools import pairwise

from maci.llm.local.weights import pull

PROBES = ("load", "stop-early", "stop-busy", "exit-busy")
PATIENCE = 30


def serve(path: str):
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path, params.port, params.verbosity = path, 0, -1
    params.n_ctx, params.n_parallel, params.warmup = 8192, 2, False
    return xllamacpp.Server(params)


def call(address: str) -> None:
    body = {"messages": [{"role": "user", "content": "Tell a story."}], "max_tokens": 4000, "ignore_eos": True}
    request = urllib.request.Request(f"{address}/v1/chat/completions", json.dumps(body).encode())
    urllib.request.urlopen(request, timeout=300).read()


def probe(name: str, path: str) -> None:
    if name == "load":
        beats, over = [time.perf_counter()], threading.Event()

        def beat() -> None:
            while not over.wait(0.01):
                beats.append(time.perf_counter())

        threading.Thread(target=beat, daemon=True).start()
        start = time.perf_counter()
        server = serve(path)
        loaded = time.perf_counter() - start
        urllib.request.urlopen(f"{server.listening_address}/health", timeout=30).read()
        beats.append(time.perf_counter())
        still = max(late - early for early, late in pairwise(beats))
        over.set()
        print(f"loaded in {loaded:.2f} s, other threads stood still for {still:.2f} s", end=" ", flush=True)
        time.sleep(1)
        return
    server = serve(path)
    if name != "stop-early":
        threading.Thread(target=call, args=(server.listening_address,), daemon=True).start()
        time.sleep(1)
    if name.startswith("stop"):
        del server


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="smollm2-135m")
    parser.add_argument("--tries", type=int, default=3)
    parser.add_argument("--probe", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.probe:
        probe(*options.probe)
        return
    path = str(next(iter(pull(options.model).values())))
    for name in PROBES:
        for _ in range(options.tries):
            print(f"{name:11}", end=" ", flush=True)
            try:
                done = subprocess.run([sys.executable, __file__, "--probe", name, path], timeout=PATIENCE, check=False)
                print(f"ended with {done.returncode}")
            except subprocess.TimeoutExpired:
                print(f"hung: killed after {PATIENCE} s")


if __name__ == "__main__":
    main()
