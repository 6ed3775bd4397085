"""``maci verify-signature``."""

from __future__ import annotations

from dataclasses import asdict

from maci.cli.options import Json, TranscriptPath
from maci.cli.output import publish
from maci.cli.show import locate
from maci.cli.sign import KeyFile
from maci.errors import TranscriptError


def verify_signature(transcript: TranscriptPath, key: KeyFile, json: Json = False) -> None:
    """Check who signed a transcript; exits 1 if nobody did with this key."""
    from maci.record.signature import read_key, signatures

    path = locate(transcript)
    found = signatures(path, read_key(key))
    valid = any(each.valid for each in found)
    says = [f"{each.by}: {'valid' if each.valid else 'not made with this key'}" for each in found]
    publish({"valid": valid, "signatures": [asdict(each) for each in found]}, says, json=json)
    if not valid:
        raise TranscriptError(f"{path} has no signature that was made with this key")
