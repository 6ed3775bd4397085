"""A debate to take away: result and transcript."""

from __future__ import annotations

from pathlib import Path

from fastapi import APIRouter, Request
from fastapi.responses import FileResponse, Response

from maci.errors import InputError
from maci.panel.seating import unpriced
from maci.record.result import Result
from maci.web.desk import Run
from maci.web.history import FILE
from maci.web.routes import desk_of

__all__ = ["router"]

router = APIRouter()


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


def _result(run: Run) -> Result:
    if run.finished is None:
        raise InputError("this debate has no result yet")
    return Result.of(run.finished, Path(run.id) / FILE, priced=not unpriced(run.opened))


def _named(id: str, kind: str) -> dict[str, str]:
    name = "".join(letter if letter.isascii() and (letter.isalnum() or letter in "-_.") else "_" for letter in id)
    return {"content-disposition": f'attachment; filename="{name}.{kind}"'}
