"""What a server is told when it starts."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from pathlib import Path

from maci.errors import InputError

__all__ = ["Limits", "Settings", "is_loopback_host"]

_SHORTEST_TOKEN = 16


def is_loopback_host(host: str) -> bool:
    """Whether only this machine can reach a server at this address.

    >>> [is_loopback_host(host) for host in ("localhost", "127.0.0.1", "::1", "0.0.0.0", "192.168.1.5", "example.org")]
    [True, True, True, False, False, False]
    """
    if host.casefold() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What strangers' input may be at most."""

    body: int = 12 << 20
    """Bytes of a request."""
    files: int = 20
    file: int = 8 << 20
    """Bytes of one file of evidence."""
    case_file: int = 1 << 20
    text: int = 2_000_000
    """Characters of all evidence together."""
    debates: int = 8
    """Debates under way at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Where debates and studies are kept, and who may come in."""

    runs: Path
    studies: Path = Path("studies-out")
    host: str = "127.0.0.1"
    port: int = 8642
    token: str | None = None
    """Needed by every visitor if given; a server that others can reach has one."""
    limits: Limits = field(default_factory=Limits)

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
