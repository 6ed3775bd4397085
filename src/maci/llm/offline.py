"""Offline: nothing is reached but this machine, whoever asks.

``--offline``, or ``MACI_OFFLINE`` in the environment, is enforced at one place, where Python opens connections: an audit hook sees
every look-up of a name and every connection of this process, whichever library makes it (aiohttp, urllib, the hub's), and refuses those
that leave the machine. A proxy on this machine is not used. llama.cpp downloads nothing in any case, and pip is not started at all.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from maci.errors import ModelError

_asked = _watching = False
_CONNECTS = frozenset({"socket.connect", "socket.sendto", "socket.sendmsg"})
_LOOKS_UP = frozenset({"socket.getaddrinfo", "socket.gethostbyname"})


def is_offline(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether nothing outside may be reached: it was asked for, or ``MACI_OFFLINE`` is set, and not to 0."""
    return _asked or environ.get("MACI_OFFLINE", "0") not in ("", "0")


def stay_offline(asked: bool) -> bool:
    """Keep this process offline from now on, if that was asked for or the environment says so; returns what was asked."""
    global _asked, _watching
    _asked = _asked or asked
    if is_offline() and not _watching:
        sys.addaudithook(_watch)
        _watching = True
    return asked


def _watch(event: str, given: tuple[object, ...]) -> None:
    if event in _CONNECTS:
        _refuse(given[1])
    elif event in _LOOKS_UP:
        _refuse(given[0])


def _refuse(where: object) -> None:
    """Raise unless an address is of this machine: a path, no name at all, or a loopback host."""
    host = where[0] if isinstance(where, tuple) and where else where
    if isinstance(host, bytes):
        host = host.decode("ascii", "replace")
    if not isinstance(host, str) or not host or (host is where and host.startswith(("/", "\0"))):
        return
    from maci.llm.keys import is_loopback_host  # when it is needed: every command imports this file

    if is_offline() and not is_loopback_host(host):
        error = ModelError(
            f"offline: {host} is not on this machine; leave out --offline (MACI_OFFLINE), or use local models"
        )
        error.fatal = True
        raise error
