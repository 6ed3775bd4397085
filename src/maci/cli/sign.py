"""``maci sign`` and ``maci verify-signature``."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from maci.cli.options import Json, KeyFile, TranscriptPath
from maci.cli.output import publish
from maci.cli.show import locate
from maci.errors import TranscriptError


def sign(
    transcript: TranscriptPath,
    key: KeyFile,
    by: Annotated[str, typer.Option(help="Who signs; part of what is signed.", metavar="NAME")],
    json: Json = False,
) -> None:
    """Sign a finished transcript with a secret key: who has the key can check that nobody else wrote it."""
    from maci.record.transcript import read_key
    from maci.record.transcript import sign as append

    path = locate(transcript)
    append(path, read_key(key), by)
    publish({"transcript": str(path), "by": by}, [f"{path}: signed by {by}"], json=json)


def verify_signature(transcript: TranscriptPath, key: KeyFile, json: Json = False) -> None:
    """Check who signed a transcript; exits 1 if nobody did with this key."""
    from maci.record.transcript import read_key, signatures

    path = locate(transcript)
    found = signatures(path, read_key(key))
    valid = any(each.valid for each in found)
    says = [f"{each.by}: {'valid' if each.valid else 'not made with this key'}" for each in found]
    publish({"valid": valid, "signatures": [asdict(each) for each in found]}, says, json=json)
    if not valid:
        raise TranscriptError(f"{path} has no signature that was made with this key")
