"""Runs a local model in a separate process, shared by every agent and judge that names it.

:class:`Engine` is the process. In this process, loading and unloading a model would hold Python's global lock for seconds,
unloading would wait forever for a call under way, an exit in the middle of a prompt would crash, and running out of memory would
end everything (docs/decisions/006-local-models.md has the measurements). A separate process can be waited for without blocking,
and ended at any time.

:class:`Lease` is one user's share of it: there is one process for each file with its settings, and the last lease to be released
ends it. Loading happens in a thread, so a caller that gives up does not have to wait; giving up releases the lease as well.

:class:`Counters` are the token counts from llama.cpp's ``/metrics`` page.
"""

from __future__ import annotations

import atexit
import http.client
import json
import os
import re
import secrets
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

from maci.errors import ModelError


@dataclass(frozen=True, slots=True, kw_only=True)
class Counters:
    """Since the model was loaded, all who share it together."""

    processed: int = 0
    """Prompt tokens the model had to read."""
    cached: int = 0
    """Prompt tokens it had read before: the prefix cache."""
    generated: int = 0
    prompt_seconds: float = 0.0
    """Time spent reading prompts."""
    generated_seconds: float = 0.0

    @classmethod
    def read(cls, page: str) -> Counters:
        r"""From the text of the page.

        >>> Counters.read("# TYPE x counter\nllamacpp:prompt_tokens_total 39\nllamacpp:prompt_tokens_cached_total 345")
        Counters(processed=39, cached=345, generated=0, prompt_seconds=0.0, generated_seconds=0.0)
        """
        found = {name: float(value) for name, value in re.findall(r"^llamacpp:(\w+) (\S+)$", page, re.MULTILINE)}
        return cls(
            processed=int(found.get("prompt_tokens_total", 0)),
            cached=int(found.get("prompt_tokens_cached_total", 0)),
            generated=int(found.get("tokens_predicted_total", 0)),
            prompt_seconds=found.get("prompt_seconds_total", 0.0),
            generated_seconds=found.get("tokens_predicted_seconds_total", 0.0),
        )

    @property
    def share(self) -> float | None:
        """The share of prompt tokens that came from the prefix cache; ``None`` before the first prompt.

        >>> Counters(processed=40, cached=60).share
        0.6
        """
        prompt = self.processed + self.cached
        return self.cached / prompt if prompt else None

    def __sub__(self, earlier: Counters) -> Counters:
        return Counters(
            processed=self.processed - earlier.processed,
            cached=self.cached - earlier.cached,
            generated=self.generated - earlier.generated,
            prompt_seconds=self.prompt_seconds - earlier.prompt_seconds,
            generated_seconds=self.generated_seconds - earlier.generated_seconds,
        )


_HOST = Path(__file__).with_name("host.py")
_SHORT_SPIN = {"GOMP_SPINCOUNT": "1000"}
"""How long llama.cpp's threads spin before they sleep, waiting for each other after every step. By default for milliseconds: where
another program has one of the cores they spin their time away, and generate a tenth of the tokens. A user's own setting goes before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSettings:
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

    def __init__(self, settings: EngineSettings) -> None:
        """Start it; :meth:`await_ready` is next."""
        self.settings, self.key = settings, secrets.token_urlsafe(32)
        self.address, self.guided = "", False
        """Where it listens; whether LLGuidance can hold its replies to a schema."""
        self._log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  # closed by stop
        self._saved = tempfile.TemporaryDirectory(prefix="maci-", ignore_cleanup_errors=True)
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
            self._saved.cleanup()
            raise ModelError(f"{settings.alias}: Python ({sys.executable}) could not be started: {error}") from error

    @property
    def folder(self) -> Path:
        """Where it saves what a place has read."""
        return Path(self._saved.name)

    def await_ready(self) -> None:
        """Block until the model is loaded; raises :class:`~maci.errors.ModelError` with llama.cpp's reason where it is not."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None and stdout is not None
        line = b""
        with suppress(OSError, ValueError):  # it is gone, or was stopped
            stdin.write(
                json.dumps({**asdict(self.settings), "key": self.key, "folder": self._saved.name}).encode() + b"\n"
            )
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
            raise ModelError(f"{self.settings.alias}: llama.cpp does not say its counters ({error})") from error
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
        self._saved.cleanup()

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
        given, said = self.settings, self._said()
        cause = _cause(said) or error or _ending(self._process.returncode, said)
        wrong = ModelError(
            f"{given.alias}: llama.cpp cannot load {given.path} for {given.parallel} sequences of {given.context} tokens ({cause}): "
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


Find = Callable[[threading.Event], EngineSettings]
"""Called in another thread with an event that is set once nobody wants the engine any more."""


class Lease:
    """A share of an engine that is loading, or is loaded."""

    def __init__(self, key: Hashable) -> None:
        self.key, self.users = key, 0
        self.engine: Future[Engine] = Future()
        self.engine.set_running_or_notify_cancel()  # who stops waiting for it does not cancel it for others
        self._unwanted = threading.Event()
        self._begun: Engine | None = None

    def load(self, find: Find) -> None:
        """Find the file and load it."""
        try:
            engine = self._begun = Engine(find(self._unwanted))
            try:
                if self._unwanted.is_set():
                    engine.stop()
                engine.await_ready()
            except BaseException:
                engine.stop()
                raise
            self.engine.set_result(engine)
        except BaseException as error:
            self.forget()
            self.engine.set_exception(error)

    def release(self) -> None:
        """Give a share back; the last one ends the process, which takes a moment."""
        with _lock:
            self.users -= 1
            last = self.users == 0
            if last and _leases.get(self.key) is self:
                del _leases[self.key]
        if last:
            self.end()

    def forget(self) -> None:
        """Give it to nobody else: it has failed."""
        with _lock:
            if _leases.get(self.key) is self:
                del _leases[self.key]

    def end(self) -> None:
        """End the process, loaded or not."""
        self._unwanted.set()
        if self._begun is not None:
            self._begun.stop()


_lock = threading.Lock()
_leases: dict[Hashable, Lease] = {}


def lease(key: Hashable, find: Find) -> Lease:
    """A share of the engine known by ``key``; where there is none, the one that ``find`` describes is begun."""
    with _lock:
        held = _leases.get(key)
        if held is None:
            held = _leases[key] = Lease(key)
            threading.Thread(target=held.load, args=(find,), name="maci-load", daemon=True).start()
        held.users += 1
    return held


@atexit.register
def _end_all() -> None:
    for held in list(_leases.values()):
        held.end()
