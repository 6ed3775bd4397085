"""``maci sign``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from maci.cli.options import Json, TranscriptPath
from maci.cli.output import publish
from maci.cli.show import locate

KeyFile = Annotated[
    Path, typer.Option("--key", help="A file with the key: 32 bytes or more, secret.", dir_okay=False, metavar="FILE")
]


def sign(
    transcript: TranscriptPath,
    key: KeyFile,
    by: Annotated[str, typer.Option(help="Who signs; part of what is signed.", metavar="NAME")],
    json: Json = False,
) -> None:
    """Sign a finished transcript with a secret key: who has the key can check that nobody else wrote it."""
    from maci.record.signature import read_key
    from maci.record.signature import sign as append

    path = locate(transcript)
    append(path, read_key(key), by)
    publish({"transcript": str(path), "by": by}, [f"{path}: signed by {by}"], json=json)
