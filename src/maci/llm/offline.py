"""Offline: nothing is reached but this machine, whoever asks.

It is asked for in two ways.

- *The process*: ``--offline`` at the command line, or ``MACI_OFFLINE`` in the environment, which counts from where the first model or
  connection of MACI's is made, in whatever program. :func:`stay_offline` and :func:`heed_environment` make it so.
- *One debate*: ``offline=True`` in Python, of a debate or a :class:`~maci.llm.models.House`. Only what is done within
  :func:`staying_here` is refused; the program around it keeps its own connections, before, beside and after.

Two things enforce it. :func:`check_here` refuses an address by its name, before anything is looked up: whatever of MACI's sends
anything asks it (HTTP, litellm, a source, PostgreSQL, Ray), and nothing else can stop a C library. Behind it stands an audit hook,
which sees every look-up of a name and every connection that Python makes, whichever library asks (aiohttp, urllib, the hub's). A
look-up of another library in a thread of its own is not seen to belong to one debate; the connection is, and is refused. A name
that is handed to a bare socket (``connect``, ``bind``, ``sendto``) is looked up in C before the hook is called: the hook refuses what
follows, not that look-up. MACI hands no socket a name.
A proxy on this machine is not used. llama.cpp downloads nothing in any case, and pip is not started at all.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from ipaddress import ip_address
from urllib.parse import urlsplit

from maci.errors import ModelError

_asked = _watching = False
_here: ContextVar[bool] = ContextVar("maci_offline", default=False)
"""Whether what is done now is part of something that stays on this machine."""
_CONNECTS = frozenset({"socket.connect", "socket.sendto", "socket.sendmsg"})
_LOOKS_UP = frozenset({"socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr", "socket.getnameinfo"})


def is_offline(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether nothing outside may be reached: it was asked for, here or for all, or ``MACI_OFFLINE`` is set, and not to 0."""
    return _asked or _here.get() or environ.get("MACI_OFFLINE", "0") not in ("", "0")


def heed_environment() -> None:
    """Keep this process offline from now on, if the environment says so."""
    if is_offline():
        _watch_sockets()


def stay_offline(asked: bool) -> bool:
    """Keep this process offline from now on, if that was asked for or the environment says so; returns what was asked."""
    global _asked
    _asked = _asked or asked
    heed_environment()
    return asked


@contextmanager
def staying_here(asked: bool = True) -> Iterator[None]:
    """Keep what is done within on this machine, if that was asked for: this task, and the tasks and threads begun from it."""
    if not asked:
        yield
        return
    _watch_sockets()
    before = _here.set(True)
    try:
        yield
    finally:
        _here.reset(before)


def check_here(where: str, asked: bool = False) -> None:
    """Raise where a host, a host with its port, or an address is not of this machine, and nothing else may be reached.

    >>> check_here("http://127.0.0.1:8000/v1", asked=True)
    >>> check_here("https://api.openai.com/v1", asked=True)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    maci.errors.ModelError: offline: api.openai.com is not on this machine; use what is, or leave out --offline ...
    """
    if not asked and not is_offline():
        return
    from maci.llm.keys import is_loopback_host  # when it is needed: every command imports this file

    host = urlsplit(where if "//" in where else f"//{where}").hostname or where
    if not is_loopback_host(host):
        raise _refused(host if "//" in where else where)


def _refused(host: str) -> ModelError:
    error = ModelError(
        f"offline: {host} is not on this machine; use what is, or leave out --offline (in Python offline=True, in the environment "
        "MACI_OFFLINE)"
    )
    error.fatal = True
    return error


def _watch_sockets() -> None:
    """Let the audit hook see what this process connects to. It cannot be taken out again, and does nothing while nobody is offline."""
    global _watching
    if not _watching:
        sys.addaudithook(_watch)
        _watching = True


def _watch(event: str, given: tuple[object, ...]) -> None:
    if event in _CONNECTS:
        _check(given[1])
    elif event in _LOOKS_UP:
        _check(given[0])
    elif event == "socket.bind" and isinstance(given[1], tuple) and not _is_number(given[1][0]):
        _check(given[1])


def _is_number(host: object) -> bool:
    """Whether it is an IP address, which nobody looks up: a server may wait at any of this machine's."""
    try:
        ip_address(host.decode() if isinstance(host, (bytes, bytearray)) else str(host))
    except ValueError:
        return False
    return True


def _check(where: object) -> None:
    """Raise unless an address is of this machine: a path, no name at all, or a loopback host."""
    host = where[0] if isinstance(where, tuple) and where else where
    if isinstance(host, (bytes, bytearray)):
        host = host.decode("ascii", "replace")
    if not isinstance(host, str) or not host or (host is where and host.startswith(("/", "\0"))):
        return
    from maci.llm.keys import is_loopback_host

    if is_offline() and not is_loopback_host(host):
        raise _refused(host)
