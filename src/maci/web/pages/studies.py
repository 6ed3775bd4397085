"""Studies in the results folder: a list, and each one's tables and diagrams."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from pathlib import Path

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from maci.cases.case import is_file
from maci.errors import MaciError
from maci.lab.study.report import ReportSettings, build_report, gather
from maci.lab.study.store import FILE, SqliteStore
from maci.render.html import to_html
from maci.render.markup import policy
from maci.web.desk import NotHere
from maci.web.pages.layout import studies_page
from maci.web.routes import desk_of

router = APIRouter()
_MADE: OrderedDict[tuple[str, int, int], str] = OrderedDict()
_BACK = (("/studies", "‹ All studies"), ("/", "Debates"))
_RESAMPLES = 1000
"""For a page that somebody waits for; `maci study report` takes 10,000."""


@router.get("/studies")
async def studies(request: Request) -> HTMLResponse:
    """What was studied."""
    folder = desk_of(request).settings.studies
    found = await asyncio.to_thread(_found, folder)
    return HTMLResponse(studies_page(found, folder))


@router.get("/studies/{name}")
async def study(request: Request, name: str) -> HTMLResponse:
    """One study: tables that can be sorted, reliability diagrams, what it all means."""
    folder = desk_of(request).settings.studies
    if name != Path(name).name or name.startswith(".") or not is_file(str(folder / name / FILE)):
        raise NotHere(f"there is no study {name[:80]!r} in {folder.name}")
    page = await asyncio.to_thread(_page, folder / name)
    return HTMLResponse(page, headers={"content-security-policy": policy()})


def _found(folder: Path) -> list[tuple[str, str]]:
    """Name and how far, of each study."""
    rows = []
    for path in sorted(folder.glob(f"*/{FILE}")):
        try:
            with SqliteStore(path, make=False) as store:
                meta, keys = store.meta(), store.keys()
        except MaciError as error:
            rows.append((path.parent.name, f"cannot be read: {error}"))
            continue
        if meta is not None:
            planned = list(meta.keys())
            done = sum(keys.get(key) == "done" for key in planned)
            about = f" · {meta.spec.about}" if meta.spec.about else ""
            rows.append((path.parent.name, f"{done:,} of {len(planned):,} answers{about}"))
    return rows


def _page(folder: Path) -> str:
    now = (folder / FILE).stat()
    key = (str(folder), now.st_mtime_ns, now.st_size)
    if key not in _MADE:
        _MADE[key] = to_html(build_report(gather([folder], None), ReportSettings(resamples=_RESAMPLES)), back=_BACK)
        while len(_MADE) > 4:
            _MADE.popitem(last=False)
    return _MADE[key]
