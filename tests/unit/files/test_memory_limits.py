"""Files somebody hands in, under a limit of memory and time: a clear error, never a traceback, never the machine."""

from __future__ import annotations

import gzip
import hashlib
import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest

MEMORY = 3 << 30
"""Bytes of address space; what a debate of readers needs, and a little."""


def _transcript() -> bytes:
    """A sound chain over an event of round 10⁹."""
    frozen = Path(__file__).parents[2] / "transcripts" / "format-6.jsonl"
    last, out = hashlib.sha256(b"maci transcript").hexdigest(), b""
    for number, line in enumerate(frozen.read_text(encoding="utf-8").splitlines(), 1):
        data = {key: value for key, value in json.loads(line).items() if key not in ("hash", "seq")}
        data |= {"round": 10**9} if data.get("round") else {}
        rest = json.dumps({"seq": number, **data}, separators=(",", ":"))[2:].encode()
        last = hashlib.sha256(last.encode() + rest).hexdigest()
        out += b'{"hash":"%s","%s\n' % (last.encode(), rest)
    return out


FILES = {
    "deep.yaml": b"[" * 25_000,
    "aliases.yaml": b"a: &a [x,x,x,x,x,x,x,x,x]\n"
    + b"".join(b"%c: &%c [%s]\n" % (c, c, b",".join([b"*%c" % (c - 1)] * 9)) for c in range(98, 110)),
    "deep.toml": b".".join([b"a"] * 20_000) + b" = 1",
    "deep.json": b"[" * 200_000 + b"]" * 200_000,
    "wide.json": b'{"question": "x", "evidence": [' + b'"a",' * 2_000_000 + b'"a"]}',
    "packed.json": gzip.compress(b"0" * 300_000_000),
    "round.jsonl": _transcript(),
    "line.jsonl": b'{"hash":"' + b"0" * 80_000_000,
}


@pytest.mark.skipif(not hasattr(resource, "RLIMIT_AS"), reason="no limit of memory here")
@pytest.mark.parametrize("name", FILES)
def test_a_hostile_file_is_refused_within_limits(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(FILES[name])
    command = ["show", name] if name.endswith(".jsonl") else ["debate", name, "--out", "o"]
    ran = subprocess.run(
        [sys.executable, "-c", "from maci.cli import main; main()", *command],
        cwd=tmp_path, capture_output=True, text=True, timeout=100,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY)),
    )  # fmt: skip
    assert ran.returncode in (1, 2), ran.stderr[-500:]
    assert ran.stderr.startswith("maci: ") and "Traceback" not in ran.stderr
    assert len(ran.stderr) < 1500
