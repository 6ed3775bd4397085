"""Requests to the server, written as JSON."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import httpx

from fuzz.records import chained, records
from hash_encoder import HashEncoder
from helpers import judge, script, seat, turn
from maci.cases.case import Case
from maci.seating.tables import Tables
from maci.web import ServerSettings
from maci.web.server import create_app

RUN, WORD = "run", "the word of this visit"
"""A debate that is there, and what stands for the word that forms of ours carry."""


def http(data: bytes) -> None:
    """A request to the server, as JSON: method, path, query, headers, form or body."""
    try:
        asked = json.loads(data)
        asked["method"], asked["path"] = str(asked["method"]), str(asked["path"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return
    with tempfile.TemporaryDirectory(prefix="maci-fuzz-") as folder, _small_tables():
        (Path(folder) / RUN).mkdir()
        (Path(folder) / RUN / "transcript.jsonl").write_bytes(chained(records()[0]))
        asyncio.run(_asked(Path(folder), asked))


@contextmanager
def _small_tables() -> Iterator[None]:
    """Every debate is held between two who speak once."""

    def made(self: Any, given: Case, seed: int) -> Any:
        labels = given.outcomes.labels or ("a thing",)
        return seat([script(name, turn(1.0, labels=labels)) for name in ("ada", "bob")], [judge()], case=given)

    with (
        patch("maci.seating.seating.load_encoder", lambda *_, **__: HashEncoder()),
        patch.object(Tables, "_seat", made),
    ):
        yield


async def _asked(runs: Path, asked: dict[str, Any]) -> None:
    guard = create_app(ServerSettings(runs=runs, studies=runs / "none"))
    transport = httpx.ASGITransport(app=guard, raise_app_exceptions=True)
    try:
        async with (
            asyncio.timeout(10),
            httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8642") as client,
        ):
            page = (await client.get("/new")).text
            word = page.partition('name="word" value="')[2].partition('"')[0]
            try:
                if (form := asked.get("form")) is not None:
                    form = {str(k): word if v == WORD else str(v) for k, v in dict(form).items()}
                request = client.build_request(
                    asked["method"], asked["path"], params=asked.get("query"), headers=asked.get("headers"),
                    data=form, content=asked.get("body") if form is None else None,
                )  # fmt: skip
            except (httpx.InvalidURL, LookupError, ValueError, TypeError, AttributeError):  # no client can send it
                return
            if not request.url.path.endswith("/events"):  # it would never end
                answer = await client.send(request)
                assert answer.status_code != 500, answer.text[:200]
    finally:
        await guard._app.state.desk.close()  # type: ignore[attr-defined]


def requests() -> list[bytes]:
    form = {"word": WORD, "question": "Is it so?", "outcomes": "yes, no", "panel": "readers"}
    chat = {"model": "readers", "messages": [{"role": "user", "content": "Is it so?"}], "outcomes": ["yes", "no"]}
    asked: tuple[dict[str, Any], ...] = (
        {"method": "GET", "path": f"/debates/{RUN}/replay", "query": {"tau_q": "0.1"}},
        {"method": "POST", "path": "/debates", "form": form},
        {
            "method": "POST",
            "path": f"/debates/{RUN}/hand",
            "form": {"word": WORD, "action": "dials", "cl": "0.5", "cl_on": "on"},
        },
        {
            "method": "POST",
            "path": "/v1/chat/completions",
            "headers": {"content-type": "application/json"},
            "body": json.dumps(chat),
        },
    )
    return [json.dumps(each).encode() for each in asked]
