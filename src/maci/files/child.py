"""What reads strangers' files: a process of its own, with little memory and time, that can be killed.

:mod:`maci.files.worker` starts it without the parent's environment, so no key is in it. A line of JSON comes in on standard input for
each file: its kind, its text or path, and the seconds it may take. A line goes out: the value, or what is wrong, in words for the
file's owner. When the parent closes its end, or dies in whatever way, reading standard input returns nothing and this process ends.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from maci.files.bounds import Beyond
from maci.files.data import check_yaml, load, pack
from maci.files.readers import context_length, page_texts, visible_text

_NO_MEMORY = 12
"""How this process ends where a file takes more than it may; the worker knows the number too."""


def main() -> None:
    """Answer until nobody asks any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent
    say = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # a library that prints
    for line in sys.stdin.buffer:
        asked = json.loads(line)
        _limit(asked["seconds"], asked["memory"])
        try:
            answer = {"value": READERS[asked["kind"]](asked["given"])}
        except MemoryError:
            os._exit(_NO_MEMORY)
        except Beyond as error:
            answer = {"beyond": str(error)}
        except OSError as error:
            answer = {"beyond": f"cannot be read: {error.strerror or error}"}
        except Exception as error:  # a parser raises whatever a malformed file makes it trip over
            answer = {"invalid": str(error) or type(error).__name__}
        say.write(json.dumps(answer).encode() + b"\n")
        say.flush()


def _limit(seconds: int, memory: int) -> None:
    """Let the system end this process where the next file takes too much; where it cannot, the parent does."""
    try:
        import resource
    except ImportError:  # not a POSIX system
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    spent = int(used.ru_utime + used.ru_stime)
    wanted = {resource.RLIMIT_CPU: spent + seconds, resource.RLIMIT_AS: memory, resource.RLIMIT_CORE: 0}
    for which, amount in wanted.items():
        _, hard = resource.getrlimit(which)
        with suppress(ValueError, OSError):  # a system that does not limit this
            resource.setrlimit(which, (amount if hard == resource.RLIM_INFINITY else min(amount, hard), hard))


def _yaml(text: str) -> Any:
    check_yaml(text)
    return pack(load(text, "YAML"))


READERS: Mapping[str, Callable[[str], Any]] = {
    "YAML": _yaml,
    "TOML": lambda text: pack(load(text, "TOML")),
    "HTML": visible_text,
    "PDF": page_texts,
    "GGUF": context_length,
}

if __name__ == "__main__":
    main()
