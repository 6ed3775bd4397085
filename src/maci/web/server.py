"""What a server is told when it starts.

Serving: a socket, uvicorn, and the lines that say where.
"""

from __future__ import annotations

import logging
import secrets
import socket
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from maci.errors import EnvironmentError_, InputError, MissingExtra
from maci.llm.keys import is_loopback_host
from maci.web.allowance import Ceilings

_SHORTEST_TOKEN = 16
_BACKLOG = 128
"""Connections that are accepted at once, before they are counted; far fewer than there are file descriptors to spare."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What strangers' input may be at most."""

    body: int = 12 << 20
    """Bytes of a request."""
    files: int = 20
    file: int = 8 << 20
    """Bytes of one file of evidence."""
    seconds: int = 20
    """Of computing that reading one of them may take."""
    case_file: int = 1 << 20
    text: int = 2_000_000
    """Characters of all evidence together."""
    kept: int = 48 << 20
    """Bytes of files, of all visitors, that are kept while a form is filled in again."""
    kept_seconds: float = 1800.0
    debates: int = 8
    """Debates under way at once."""
    queue: int = 32
    """Debates for programs that wait for one of these to end."""
    connections: int = 1000
    per_client: int = 400
    """Connections from one address; streams may take half of these and of all."""
    header_seconds: float = 10.0
    """From the start of a connection, or the last answer, to a whole request without its body."""
    body_seconds: float = 60.0
    unread_seconds: float = 60.0
    """How long a client may read nothing of its answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """Where debates and studies are kept, and who may come in."""

    runs: Path
    studies: Path = Path("studies-out")
    host: str = "127.0.0.1"
    port: int = 8642
    token: str | None = None
    """Needed by every visitor if given; a server that others can reach has one."""
    limits: Limits = field(default_factory=Limits)
    any_model: bool = False
    """Visitors may name any provider's models, not only those of the panels files."""
    ceilings: Ceilings = field(default_factory=Ceilings)

    def __post_init__(self) -> None:
        if self.token is not None and len(self.token) < _SHORTEST_TOKEN:
            raise InputError(
                f"--token has {len(self.token)} characters, and at least {_SHORTEST_TOKEN} are needed: leave it out and one is made"
            )
        if self.token is None and not is_loopback_host(self.host):
            raise InputError(f"--host {self.host} can be reached by others: a token is needed")

    @property
    def cookie(self) -> str:
        """The cookie's name; browsers share cookies between the ports of a machine."""
        return f"maci_{self.port}"


def with_token(settings: dict[str, object], host: str, token: str | None) -> ServerSettings:
    """The settings of a server; one that others can reach gets a token if it has none."""
    if token is None and not is_loopback_host(host):
        token = secrets.token_urlsafe(24)
    return ServerSettings(host=host, token=token, **settings)  # type: ignore[arg-type]


def address(settings: ServerSettings) -> str:
    """Where a browser finds it; with a token, the link that signs in."""
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    token = f"?token={settings.token}" if settings.token else ""
    return f"http://{host}:{settings.port}/{token}"


def serve(settings: ServerSettings, ready: Callable[[ServerSettings], None]) -> None:
    """Serve until somebody ends it; ``ready`` is told where, once the socket is open."""
    try:
        import uvicorn

        from maci.web.app import create_app
        from maci.web.connections import Connection, Room, Sparing
    except ImportError as error:
        raise MissingExtra(error.name or "fastapi", "web", "maci serve") from error
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    door = socket.socket(family, socket.SOCK_STREAM)
    door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        door.bind((settings.host, settings.port))
    except OSError as error:
        door.close()
        raise EnvironmentError_(
            f"cannot listen at {settings.host}:{settings.port}: {error.strerror}; choose another --port, or 0 for a free one"
        ) from error
    settings = replace(settings, port=door.getsockname()[1])
    room = Room(settings.limits, _descriptors(settings.limits))
    door.listen(_BACKLOG)
    ready(settings)
    config = uvicorn.Config(
        create_app(settings, room),
        http=partial(Connection, room),  # type: ignore[arg-type]
        backlog=_BACKLOG,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=2,
        lifespan="on",
        ws="none",
    )
    for name in ("uvicorn.error", "asyncio", "maci.web"):
        logging.getLogger(name).addFilter(Sparing())
    uvicorn.Server(config).run(sockets=[door])


def _descriptors(limits: Limits) -> int:
    """The files this process may have open, as many as connections need where the system allows it."""
    try:
        import resource
    except ImportError:  # a system without such a limit
        return 1 << 20
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = hard if hard != resource.RLIM_INFINITY else 1 << 20
    if soft == resource.RLIM_INFINITY:
        return most
    wanted = min(most, max(soft, limits.connections + 1024))
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return wanted
