"""A debate to take away: report, Markdown, result, transcript."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path
from urllib.parse import quote

from fastapi import APIRouter, Request
from fastapi.responses import FileResponse, HTMLResponse, Response

from maci.errors import InputError
from maci.story.result import Result
from maci.record.transcript import read
from maci.render.markup import policy
from maci.seating.seating import unpriced
from maci.story import Story
from maci.story.report.html import to_html
from maci.story.report.markdown import to_markdown
from maci.story.report.sources import Provenance
from maci.story.result import result_of
from maci.web.desk import NotHere, Run
from maci.web.history import FILE
from maci.web.routes import desk_of

router = APIRouter()


@router.get("/debates/{id}/report.html")
async def report(request: Request, id: str) -> HTMLResponse:
    """The report: one file that needs nothing else. It brings its own style, so it has a policy of its own."""
    path = desk_of(request).history.path(id)
    back = ((f"/debates/{quote(id)}", "‹ Back to the debate"), ("/", "All debates"))
    page = await asyncio.to_thread(_report, path, partial(to_html, back=back))
    return HTMLResponse(page, headers={"content-security-policy": policy()})


@router.get("/debates/{id}/report.md")
async def markdown(request: Request, id: str) -> Response:
    """The report for tickets and papers."""
    path = desk_of(request).history.path(id)
    text = await asyncio.to_thread(_report, path, to_markdown)
    return Response(text, media_type="text/markdown", headers=_named(id, "md"))


@router.get("/debates/{id}/result.json")
async def result(request: Request, id: str) -> Response:
    """The result as ``maci debate --json`` prints it."""
    run = await desk_of(request).run(id)
    return Response(_result(run).model_dump_json(), media_type="application/json")


@router.get("/debates/{id}/transcript.jsonl")
async def transcript(request: Request, id: str) -> FileResponse:
    """The record itself."""
    desk = desk_of(request)
    await desk.run(id)
    return FileResponse(desk.history.path(id), media_type="application/jsonl", headers=_named(id, "jsonl"))


def _report(path: Path, write: Callable[[Story, Provenance], str]) -> str:
    if not path.is_file():
        raise NotHere(f"there is no debate {path.parent.name!r} in this folder")
    recording = read(path)
    priced = not unpriced(recording.opened)
    named = Path(path.parent.name) / path.name  # where the server keeps it is nobody's business
    return write(Story.of(recording.events), Provenance.of(recording, named, priced=priced))


def _result(run: Run) -> Result:
    if run.finished is None:
        raise InputError("this debate has no result yet")
    return result_of(run.story, Path(run.id) / FILE, priced=not unpriced(run.story.opened))


def _named(id: str, kind: str) -> dict[str, str]:
    name = "".join(letter if letter.isascii() and (letter.isalnum() or letter in "-_.") else "_" for letter in id)
    return {"content-disposition": f'attachment; filename="{name}.{kind}"'}
