"""Signatures: who vouches for a transcript.

The chain of a transcript proves that it is consistent, not who wrote it: anybody can write another one. A signature is the HMAC-SHA256,
under a key that only those who sign and check have, of the hash that the chain ends with; so it covers every line before it. It is
appended after the result, with the name of who signed, and itself part of the chain.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from pathlib import Path

from maci.errors import InputError, one_line
from maci.files.parse import opened
from maci.record.transcript import Recording, append_signature, read

_ALGORITHM = "hmac-sha256"
_SHORTEST, _LONGEST = 32, 4096
"""Bytes of a key."""


@dataclass(frozen=True, slots=True)
class Signature:
    """A signature of a transcript, and whether the key made it."""

    by: str
    valid: bool


def read_key(path: Path) -> bytes:
    """The key in a file, without the line break at its end."""
    with opened(path, "the key ") as file:
        key = file.read(_LONGEST + 1).strip()
    if not _SHORTEST <= len(key) <= _LONGEST:
        raise InputError(
            f"{path} holds {len(key):,} bytes: a key has {_SHORTEST} to {_LONGEST:,}; make one with: openssl rand -hex 32 > FILE"
        )
    return key


def sign(path: Path, key: bytes, by: str) -> None:
    """Append a signature to a finished transcript."""
    recording = read(path)
    if not recording.finished or recording.torn:
        raise InputError(f"{path} has no result yet: finish the debate (--resume), then sign it")
    append_signature(
        path, recording, {"type": "signature", "algorithm": _ALGORITHM, "by": by, "value": _mac(recording, key, by)}
    )


def signatures(path: Path, key: bytes) -> tuple[Signature, ...]:
    """Every signature of a transcript, checked with a key; reading it has checked the chain."""
    recording = read(path)
    return tuple(
        Signature(
            one_line(by := str(found.get("by", ""))),
            found.get("algorithm") == _ALGORITHM
            and hmac.compare_digest(one_line(str(found.get("value", ""))).encode(), _mac(recording, key, by).encode()),
        )
        for found in recording.signatures
    )


def _mac(recording: Recording, key: bytes, by: str) -> str:
    signed = f"maci transcript\0{by}\0{recording.hashes[-1]}".encode("utf-8", "surrogatepass")
    return hmac.digest(key, signed, "sha256").hex()
