"""The process that holds a model: llama.cpp's own HTTP server on a free loopback port, until standard input closes.

Run as a script by :mod:`maci.llm.local.engine`, with nothing of MACI imported. One line of JSON comes in on standard input: what to
load, and the API key, which this way no list of processes shows. One line goes out on standard output: the address, or that it
failed. Whatever llama.cpp says goes to standard error, which the parent keeps to itself. When the parent closes its end, or dies in
whatever way, reading standard input returns and this process is gone at once, in the middle of a prompt or not.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import time
import urllib.request
from collections.abc import Callable
from functools import partial
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
    settings = json.loads(sys.stdin.buffer.readline())
    try:
        server = _load(settings)
        ask = partial(_ask, server.listening_address, settings["key"])
        _await(ask)
        answer = {"address": server.listening_address, "guided": _guided(ask)}
    except Exception as error:  # whatever it is, it is the parent's to tell
        answer = {"error": f"{type(error).__name__}: {error}"}
    say.write(json.dumps(answer) + "\n")
    say.flush()
    if "error" not in answer:
        sys.stdin.buffer.read()
    shutil.rmtree(settings["folder"], ignore_errors=True)  # the parent does so too, if it can
    os._exit("error" in answer)  # not by letting go of the server: that waits for calls nobody reads any more


def _load(settings: dict[str, Any]) -> Any:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = settings["path"]
    params.model_alias = {settings["alias"]}
    params.api_keys = [settings["key"]]
    params.hostnames, params.port = ["127.0.0.1"], 0
    params.n_parallel = settings["parallel"]
    params.n_ctx = settings["context"] * settings["parallel"]
    params.kv_unified = False  # each sequence looks at its own past alone
    params.n_batch = params.n_ubatch = _BATCH
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = settings["threads"]
    params.cache_prompt, params.cache_ram_mib = True, settings["cache_mib"]
    params.endpoint_metrics, params.ui, params.warmup = True, False, False
    params.endpoint_slots, params.slot_save_path = True, os.path.join(settings["folder"], "")  # noqa: PTH118  # it must end in a slash
    params.offline, params.verbosity = True, _ERRORS_ONLY
    return xllamacpp.Server(params)


def _guided(ask: Callable[..., Any]) -> bool:
    """Whether LLGuidance can hold this model to a schema: it is in this build, and the tokenizer puts no space before a text.

    llama.cpp tells LLGuidance the text of each token as if it began a reply. A tokenizer that puts a space there (SentencePiece, as of
    Llama 2) then has two tokens for one text, with and without that space, and replies come out as ``{"d ise ase ": …``.
    """
    import xllamacpp

    if not xllamacpp.json_schema_to_grammar({"type": "object"}).startswith("%llguidance"):
        return False
    first = json.loads(ask("/tokenize", {"content": "x", "with_pieces": True}))["tokens"][0]["piece"]
    return not (isinstance(first, str) and first.startswith(" "))


def _await(ask: Callable[..., Any]) -> None:
    """Until the server's own loop has answered once; only then are requests taken up."""
    for attempt in range(100):
        try:
            ask("/metrics")
            return
        except OSError:
            if attempt == 99:
                raise
            time.sleep(0.05)


def _ask(address: str, key: str, path: str, body: object = None) -> bytes:
    """What the server says."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{address}{path}", data, headers)  # noqa: S310
    with opener.open(request, timeout=60) as response:
        said: bytes = response.read()
    return said


if __name__ == "__main__":
    main()
