"""Has :mod:`maci.files.child` read a file. A child is started when one is first needed, and kept for the next file."""

from __future__ import annotations

import atexit
import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

from maci.errors import EnvironmentError_
from maci.files.bounds import Beyond
from maci.files.parse import unpack

SECONDS = 10
"""Of computing that a document may take."""
MEMORY = 1 << 30
"""Bytes of address space that a child may have."""
_NO_MEMORY = 12
"""How a child ends that needs more."""
_PATIENCE = 6
"""Times as long by the clock, where another program may have the processor."""
_KEPT = 2
"""Children that wait for the next file."""
_NEEDED = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "PYTHONHOME", "SYSTEMROOT")
"""Of the environment, what Python itself may need to start. No keys."""

_idle: list[subprocess.Popen[bytes]] = []


def ask(kind: str, *, text: str = "", path: str = "", seconds: int = SECONDS, memory: int = MEMORY) -> Any:
    """What a child makes of a text or a file; :class:`Beyond` where it met a bound, ``ValueError`` where the file is not valid."""
    child = _take()
    try:
        answer = _exchange(
            child, {"kind": kind, "seconds": seconds, "memory": memory, "given": text or path}, seconds * _PATIENCE
        )
    except BaseException:
        _end(child)
        raise
    if answer is None:
        with suppress(subprocess.TimeoutExpired):  # it has closed its end, and ends
            child.wait(1)
        raise Beyond(_ending(_end(child), seconds, memory))
    if len(_idle) >= _KEPT or memory > MEMORY:  # it would keep what it has taken
        _end(child)
    else:
        _idle.append(child)
    if "value" in answer:
        return unpack(answer["value"])
    raise Beyond(answer["beyond"]) if "beyond" in answer else ValueError(answer["invalid"])


def _take() -> subprocess.Popen[bytes]:
    with suppress(IndexError):  # another thread may take the last one
        while True:
            child = _idle.pop()
            if child.poll() is None:
                return child
            _end(child)
    home = str(Path(__file__).parents[2])
    paths = (home, *(str(Path(entry).absolute()) for entry in sys.path))
    environment = {name: os.environ[name] for name in _NEEDED if name in os.environ}
    try:
        child = subprocess.Popen(
            [sys.executable, "-S", "-P", "-m", "maci.files.child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=home,
            env={**environment, "PYTHONPATH": os.pathsep.join(paths)},
        )
    except OSError as error:
        raise _unstarted(str(error)) from error
    assert child.stdout is not None
    if child.stdout.readline() != b"\n":  # it says so once it is ready
        raise _unstarted(f"it ended at once (exit {_end(child)})")
    return child


def _unstarted(why: str) -> EnvironmentError_:
    return EnvironmentError_(
        f"Python ({sys.executable}) could not be started to read a file: {why}. The file may be fine: check that installation, "
        "and that there is memory left"
    )


def _exchange(child: subprocess.Popen[bytes], asked: dict[str, Any], patience: float) -> dict[str, Any] | None:
    """The child's answer; ``None`` where it ended without one."""
    assert child.stdin is not None and child.stdout is not None
    timer = threading.Timer(patience, child.kill)
    timer.daemon = True
    timer.start()
    try:
        child.stdin.write(json.dumps(asked).encode() + b"\n")
        child.stdin.flush()
        line = child.stdout.readline()
    except BrokenPipeError:
        return None
    finally:
        timer.cancel()
    return json.loads(line) if line.endswith(b"\n") else None


def _end(child: subprocess.Popen[bytes]) -> int:
    child.kill()
    with suppress(OSError), child:  # a pipe that broke
        pass
    return child.wait()


def _ending(code: int, seconds: int, memory: int) -> str:
    """Why there is no answer."""
    if code in (-signal.SIGKILL, -signal.SIGXCPU):
        return f"takes more than {seconds} s to read: split it, or write it more simply"
    if code == _NO_MEMORY:
        return f"takes more than {memory >> 20:,} MB to read: split it"
    return f"makes its reader crash (exit {code}): it is damaged, or made to do so"


@atexit.register
def _end_all() -> None:
    while _idle:
        _end(_idle.pop())


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_idle.clear)
