"""Transcripts, as others may have written them, at every door that shows or uses one."""

from __future__ import annotations

import asyncio
import io
import json
import tempfile
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress
from functools import cache
from pathlib import Path
from typing import Any

import httpx

from hash_encoder import HashEncoder
from helpers import arg, make_case, open_debate, play, script, seat, settings, turn
from maci.cases.case import Case, load_case
from maci.cases.outcomes import OutcomeSpace
from maci.errors import MaciError
from maci.record.transcript import _GENESIS, Transcript, _chain, read
from maci.seating.tables import Tables
from maci.web import ServerSettings
from maci.web.server import create_app

ROOT = Path(__file__).parents[2]
SHORT = ("min_rounds=1", "max_rounds=1")


@cache
def records() -> tuple[bytes, ...]:
    """Small debates of every kind, as the lines of their events; and the frozen one."""
    cited = arg("It fits.", "e4", outcome="dengue")
    closed = seat(
        [script("ada", *[turn(0.8, 0.1, 0.1, args=(cited,), tokens=30)] * 3), script("bob", *[turn(0.2, 0.7, 0.1)] * 3)]
    )
    free, late = make_case(OutcomeSpace(kind="open")), TimeoutError("late")
    scale = make_case(OutcomeSpace(kind="ordered", labels=("mild", "moderate", "severe"), positions=(0.0, 1.0, 2.0)))
    names = ("mild", "moderate", "severe")
    found = [
        _recorded(closed, None, "max_rounds=2"),
        _recorded(
            seat([script("a", turn(0.9, labels=names)), script("b", turn(0.1, 0.9, labels=names))], case=scale),
            scale,
            *SHORT,
        ),
        _recorded(
            seat([script("a", turn(1.0, labels=("flu",))), script("b", turn(1.0, labels=("gout",)))], case=free),
            free,
            *SHORT,
        ),
        _recorded(
            seat([script("ada", late, turn(0.5, 0.5)), script("bob", turn(1.0), turn(1.0))], []),
            None,
            *SHORT,
            "crit.enabled=false",
        ),
    ]
    for debate in ("the-pump", "dengue"):
        with suppress(MaciError):
            given = load_case(debate)
            found.append(
                _recorded(Tables("readers", HashEncoder()).table(given), given, "min_rounds=1", "max_rounds=1")
            )
    return (*found, _unchained((ROOT / "tests/transcripts/format-6.jsonl").read_bytes()))


def _recorded(table: Any, given: Case | None, *sets: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "transcript.jsonl"
        with Transcript.create(path) as record:
            play(table, settings(*sets), given, record=record, opened=open_debate(table, settings(*sets), given))
        return _unchained(path.read_bytes())


def _unchained(transcript: bytes) -> bytes:
    """The events alone, one a line."""
    lines = [json.loads(line) for line in transcript.splitlines()]
    return b"\n".join(
        json.dumps({k: v for k, v in line.items() if k not in ("hash", "seq")}).encode() for line in lines
    )


def chained(events: bytes) -> bytes:
    """Lines that follow from each other, as a forger would write them."""
    before, lines = _GENESIS, []
    for number, line in enumerate(filter(None, events.split(b"\n")), 1):
        rest = b'seq":%d,' % number + line.lstrip(b" {")
        before = _chain(before, rest)
        lines.append(b'{"hash":"%s","%s\n' % (before.encode(), rest))
    return b"".join(lines)


def rechained(data: bytes) -> None:
    """A forged record whose chain holds."""
    transcript(chained(data))


def transcript(data: bytes) -> None:
    """A record at every door that shows or uses one."""
    with tempfile.TemporaryDirectory(prefix="maci-fuzz-") as folder:
        run = Path(folder) / "run"
        run.mkdir()
        path = run / "transcript.jsonl"
        path.write_bytes(data)
        try:
            read(path)
            commands, pages = _COMMANDS, _PAGES
        except MaciError:  # no door gets further than to say so
            commands, pages = _COMMANDS[:1], _PAGES[:1]
        for words in commands:
            maci(*(word.replace("RUN", str(run)) for word in words))
        asyncio.run(_visited(run.parent, pages))


_COMMANDS = (
    ("show", "RUN", "--plain"), ("show", "RUN", "--json"), ("show", "RUN", "--calls"), ("show", "RUN", "--round", "1", "--plain"),
    ("report", "RUN", "--quiet"), ("report", "RUN", "--format", "md"), ("replay", "RUN", "--plain"),
    ("replay", "RUN", "--json", "--set", "tau_q=0.1"), ("plan", "RUN", "--plain"), ("plan", "RUN", "--json"),
    ("outcome", "RUN", "--was", "dengue"), ("export", "RUN", "--out", "RUN/out.jsonl"),
    ("debate", "--resume", "--out", "RUN", "--plain", "--offline"),
)  # fmt: skip
_PARTS = (
    "",
    "/calls",
    "/replay?tau_q=0.3",
    "/report.html",
    "/report.md",
    "/result.json",
    "/controls",
    "/transcript.jsonl",
)
_PAGES = (*(f"/debates/run{part}" for part in _PARTS), "/new?from=run", "/compare?a=run&b=run")


def maci(*words: str) -> None:
    """A command in this process: raises what would be a traceback."""
    from maci.cli.app import app

    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()), suppress(MaciError, SystemExit):
        app(list(words), standalone_mode=True)


async def _visited(runs: Path, pages: Sequence[str]) -> None:
    transport = httpx.ASGITransport(app=create_app(ServerSettings(runs=runs)), raise_app_exceptions=True)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8642") as client:
        for path in ("/", *pages):
            answer = await client.get(path)
            assert answer.status_code != 500, path
