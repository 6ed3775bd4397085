"""The web app of ``maci serve``: server-rendered pages over the same events as the terminal and the report.

::

    guard      who may come in                     desk       what is under way, what is on record
    forms      what people fill in                 live       a debate in a thread of its own
    pages/     values in, markup out               allowance  what may be spent in a day
    routes     addresses                           v1         the same as an OpenAI-compatible endpoint
    server     the application, and serving it

The settings of a server, which most of these look at, are here.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from pathlib import Path

from maci.cases.case import check_redactable
from maci.errors import InputError
from maci.llm.keys import is_loopback_host
from maci.web.allowance import DailyCeilings

_SHORTEST_TOKEN = 16


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
    ceilings: DailyCeilings = field(default_factory=DailyCeilings)
    redact: tuple[str, ...] = ()
    """Fields taken out of every case before anything is sent or recorded."""

    def __post_init__(self) -> None:
        check_redactable(self.redact)
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
