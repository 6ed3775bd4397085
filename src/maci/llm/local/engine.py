"""A model that is loaded, in a process of its own.

Why not in this process: loading a model and letting go of it hold Python's global lock for seconds, letting go waits for ever
if a call is under way, an exit in the middle of a prompt crashes, and running out of memory takes everything along
(docs/decisions/006-local-models.md has the measurements). A process can be waited for without blocking, and ended at any time.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import secrets
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

from maci.errors import ModelError

__all__ = ["Engine", "Plan"]

_HOST = Path(__file__).with_name("host.py")
_SHORT_SPIN = {"GOMP_SPINCOUNT": "1000"}
"""How long llama.cpp's threads spin before they sleep, waiting for each other after every step. By default for milliseconds: where
another program has one of the cores they spin their time away, and generate a tenth of the tokens. A user's own setting goes before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to load, and how."""

    path: str
    alias: str
    """What the server calls the model."""
    context: int
    """Tokens of each sequence."""
    parallel: int
    threads: int
    cache_mib: int
    """Memory for the beginnings of prompts whose place another took."""


class Engine:
    """One model's process."""

    def __init__(self, plan: Plan) -> None:
        """Start it; :meth:`await_ready` is next."""
        self.plan, self.key = plan, secrets.token_urlsafe(32)
        self.address, self.guided = "", False
        """Where it listens; whether it holds replies to a schema by LLGuidance."""
        self._log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  # closed by stop
        try:
            self._process = subprocess.Popen(
                [sys.executable, str(_HOST)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._log,
                env=_SHORT_SPIN | os.environ,
            )
        except OSError as error:
            self._log.close()
            raise ModelError(f"{plan.alias}: Python ({sys.executable}) could not be started: {error}") from error

    def await_ready(self) -> None:
        """Block until the model is loaded; raises :class:`~maci.errors.ModelError` with llama.cpp's reason where it is not."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None and stdout is not None
        line = b""
        with suppress(OSError, ValueError):  # it is gone, or was stopped
            stdin.write(json.dumps({**asdict(self.plan), "key": self.key}).encode() + b"\n")
            stdin.flush()
            line = stdout.readline()
        answer = json.loads(line) if line.endswith(b"\n") else {}
        if "address" not in answer:
            self._end()
            raise self._failed(answer.get("error", ""))
        self.address, self.guided = answer["address"], answer["guided"]

    def died(self) -> str | None:
        """What became of the process if it is gone. Blocks for a moment: a connection breaks before its process is quite dead."""
        try:
            return _ending(self._process.wait(0.5), self._said())
        except subprocess.TimeoutExpired:
            return None

    def metrics(self) -> str:
        """llama.cpp's own counters, as it words them."""
        connection = http.client.HTTPConnection(urlsplit(self.address).netloc, timeout=60)
        try:
            connection.request("GET", "/metrics", headers={"Authorization": f"Bearer {self.key}"})
            return connection.getresponse().read().decode()
        except (OSError, http.client.HTTPException) as error:
            raise ModelError(f"{self.plan.alias}: llama.cpp does not say its counters ({error})") from error
        finally:
            connection.close()

    def stop(self) -> None:
        """End the process: from any thread, at any time, also twice."""
        assert self._process.stdin is not None and self._process.stdout is not None
        if not self.address:  # while loading it looks at nothing else
            self._process.kill()
        with suppress(OSError):
            self._process.stdin.close()
        self._end()
        self._process.stdout.close()
        self._log.close()

    def _end(self) -> None:
        try:
            self._process.wait(2)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _said(self) -> str:
        """The end of what llama.cpp wrote."""
        with suppress(OSError, ValueError):
            self._log.seek(0)
            return self._log.read()[-20_000:].decode("utf-8", "replace")
        return ""

    def _failed(self, error: str) -> ModelError:
        plan, said = self.plan, self._said()
        cause = _cause(said) or error or _ending(self._process.returncode, said)
        wrong = ModelError(
            f"{plan.alias}: llama.cpp cannot load {plan.path} for {plan.parallel} sequences of {plan.context} tokens ({cause}): "
            "if the file is whole, lower `parallel` or `context` of this model, or update xllamacpp (pip install -U xllamacpp)"
        )
        wrong.fatal = True
        return wrong


def _cause(said: str) -> str:
    r"""Of all that llama.cpp wrote, the reason.

    >>> _cause("0.00.1 E llama_model_load: error loading model: unknown model architecture: 'x'\n0.00.2 E srv init: exiting")
    "unknown model architecture: 'x'"
    """
    found = re.search(r"error loading model: (.+)|((?:failed to allocate|out of memory|unable to allocate).*)", said)
    return (found[1] or found[2]).strip() if found else ""


def _ending(code: int, said: str) -> str:
    if code == -9:
        return "its process was killed, most likely for lack of memory"
    last = said.strip().splitlines()[-1:] or ["without a word"]
    return f"its process ended with {code}: {last[0][:300]}"
