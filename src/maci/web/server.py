"""Serving: a socket, uvicorn, and the lines that say where."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable
from dataclasses import replace

from maci.errors import EnvironmentError_, MissingExtra
from maci.web.settings import Settings, is_loopback_host

__all__ = ["address", "serve", "with_token"]


def with_token(settings: dict[str, object], host: str, token: str | None) -> Settings:
    """The settings of a server; one that others can reach gets a token if it has none."""
    if token is None and not is_loopback_host(host):
        token = secrets.token_urlsafe(24)
    return Settings(host=host, token=token, **settings)  # type: ignore[arg-type]


def address(settings: Settings) -> str:
    """Where a browser finds it; with a token, the link that signs in."""
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    token = f"?token={settings.token}" if settings.token else ""
    return f"http://{host}:{settings.port}/{token}"


def serve(settings: Settings, ready: Callable[[Settings], None]) -> None:
    """Serve until somebody ends it; ``ready`` is told where, once the socket is open."""
    try:
        import uvicorn

        from maci.web.app import create_app
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
    door.listen(512)
    ready(settings)
    config = uvicorn.Config(
        create_app(settings),
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=2,
        lifespan="on",
        ws="none",
    )
    uvicorn.Server(config).run(sockets=[door])
