"""The process that holds a model: llama.cpp's own HTTP server on a free loopback port, until standard input closes.

Run as a script by :mod:`maci.llm.local.engine`, with nothing of MACI imported. One line of JSON comes in on standard input: what to
load, and the API key, which this way no list of processes shows. One line goes out on standard output: the address, or that it
failed. Whatever llama.cpp says goes to standard error, which the parent keeps to itself. When the parent closes its end, or dies in
whatever way, reading standard input returns and this process is gone at once, in the middle of a prompt or not.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import urllib.request
from typing import Any

_ERRORS_ONLY = 1
"""llama.cpp's level of verbosity."""
_BATCH = 512
"""Prompt tokens per step. The server looks at cancelled calls and lets other sequences go on between steps only."""


def main() -> None:
    """Load, say where, wait."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, who closes our standard input
    say = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # llama.cpp writes to both
    plan = json.loads(sys.stdin.buffer.readline())
    try:
        server = _load(plan)
        _await(server.listening_address, plan["key"])
        answer = {"address": server.listening_address, "guided": _guided()}
    except Exception as error:  # whatever it is, it is the parent's to tell
        answer = {"error": f"{type(error).__name__}: {error}"}
    say.write(json.dumps(answer) + "\n")
    say.flush()
    if "error" not in answer:
        sys.stdin.buffer.read()
    os._exit("error" in answer)  # not by letting go of the server: that waits for calls nobody reads any more


def _load(plan: dict[str, Any]) -> Any:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = plan["path"]
    params.model_alias = {plan["alias"]}
    params.api_keys = [plan["key"]]
    params.hostnames, params.port = ["127.0.0.1"], 0
    params.n_parallel = plan["parallel"]
    params.n_ctx = plan["context"] * plan["parallel"]
    params.kv_unified = False  # each sequence looks at its own past alone
    params.n_batch = params.n_ubatch = _BATCH
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = plan["threads"]
    params.cache_prompt, params.cache_ram_mib = True, plan["cache_mib"]
    params.endpoint_metrics, params.ui, params.warmup = True, False, False
    params.offline, params.verbosity = True, _ERRORS_ONLY
    return xllamacpp.Server(params)


def _guided() -> bool:
    """Whether this build of llama.cpp has LLGuidance in it."""
    import xllamacpp

    return bool(xllamacpp.json_schema_to_grammar({"type": "object"}).startswith("%llguidance"))


def _await(address: str, key: str) -> None:
    """Until the server's own loop has answered once; only then are requests taken up."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    request = urllib.request.Request(f"{address}/metrics", headers={"Authorization": f"Bearer {key}"})  # noqa: S310
    for attempt in range(100):
        try:
            with opener.open(request, timeout=60) as response:
                response.read()
            return
        except OSError:
            if attempt == 99:
                raise
            time.sleep(0.05)


if __name__ == "__main__":
    main()
