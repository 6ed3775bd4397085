"""Addresses of what is only looked at or taken away: pages, reports, records, studies."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote

from fastapi import APIRouter, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse
from fastapi.routing import APIRoute
from fastapi.sse import EventSourceResponse
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from maci.cases.case import builtin_cases, is_file
from maci.debating.estimate import CostEstimate
from maci.errors import InputError, MaciError
from maci.lab.study import store
from maci.lab.study.report import ReportSettings, build_report, for_page, gather
from maci.record.replay import replay as replay_record
from maci.record.transcript import read
from maci.render.html import to_html as study_html
from maci.render.markup import policy
from maci.seating.seating import unpriced
from maci.seating.table import unnamed
from maci.story import Story
from maci.story.log import requests_of
from maci.story.report.page import to_html, to_markdown
from maci.story.report.sources import Provenance
from maci.story.result import result_of
from maci.story.whatif import other_rules, otherwise
from maci.web import forms
from maci.web.desk import Desk, NotHere
from maci.web.forms import Files
from maci.web.guard import TooMuch, Visit
from maci.web.history import FILE, read_label
from maci.web.pages.calls import calls_page
from maci.web.pages.compare import Side, compare_page
from maci.web.pages.debate import controls, debate_page
from maci.web.pages.home import PER_PAGE, RESUMED, home_page
from maci.web.pages.layout import STATIC, static, studies_page
from maci.web.pages.new import new_page
from maci.web.pages.panels import listed, panels_page
from maci.web.pages.whatif import start_of, whatif_page, whatif_result


class RecordRoute(APIRoute):
    """An address that shows debates: where that fails, a record that cannot be recomputed is refused for it."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler of the address, with that around it."""
        handle = super().get_route_handler()

        async def handled(request: Request) -> Response:
            try:
                return await handle(request)
            except (MaciError, TooMuch, HTTPException, RequestValidationError, ClientDisconnect):
                raise
            except Exception:
                query = request.query_params
                named = (
                    request.path_params.get("id"),
                    *(query.get(name) for name in ("a", "b", "from")),
                    *query.getlist("pick"),
                )
                for id in filter(None, named):
                    await asyncio.to_thread(_check_record, desk_of(request).history.path(id))
                raise

        return handled


def _check_record(path: Path) -> None:
    replay_record(read(path).events)


router = APIRouter(default_response_class=HTMLResponse, route_class=RecordRoute)
_BACK = (("/studies", "‹ All studies"), ("/", "Debates"))
_RESAMPLES = 1000
"""For a study's page that somebody waits for; `maci study report` takes 10,000."""


def desk_of(request: Request) -> Desk:
    """The desk of the server."""
    return cast(Desk, request.app.state.desk)


def visit_of(request: Request) -> Visit:
    """Who asks."""
    return cast(Visit, request.scope["visit"])


def address_of(request: Request) -> str:
    """Where the request comes from; behind a proxy on this machine, what that says."""
    return "" if request.client is None else request.client.host


def link(id: str, said: str = "") -> str:
    """The address of a debate's page."""
    if "/" in id:
        raise InputError(f"{id!r} is no debate of this folder")
    return f"/debates/{quote(id)}" + (f"?said={said}" if said else "")


@router.get("/static/{name}", include_in_schema=False)
async def static_file(name: str) -> Response:
    """Style and scripts."""
    if name not in STATIC:
        raise NotHere(f"there is no file {name!r}")
    return Response(
        static(name), media_type=STATIC[name], headers={"cache-control": "public, max-age=31536000, immutable"}
    )


@router.get("/favicon.ico", include_in_schema=False)
async def icon() -> Response:
    """There is none."""
    return Response(status_code=204)


@router.get("/")
async def home(request: Request, q: str = "", page: int = 1, only: str = "") -> HTMLResponse:
    """The debates there are."""
    start = (min(max(1, page), _PAGES) - 1) * PER_PAGE
    desk, query, only = desk_of(request), q[:200], only[:40]
    found = await asyncio.to_thread(partial(desk.search, query, only, start=start, most=PER_PAGE))
    broken = None
    if not query and not only and page <= 1:  # those of later pages too
        broken = await asyncio.to_thread(partial(desk.search, "", "broken", most=RESUMED))
    return HTMLResponse(home_page(found, visit_of(request), query, only, max(1, page), broken))


_PAGES = 1_000_000
"""More than any list has."""


@router.get("/new")
async def new(request: Request) -> HTMLResponse:
    """The form that starts a debate."""
    given = {**forms.usual_fields(), **{name: value[:5000] for name, value in request.query_params.items()}}
    if id := given.get("from"):
        opened = (await desk_of(request).run(id)).story.opened
        given = forms.fields_of(id, opened, [name for name, _ in forms.panels()])
    return HTMLResponse(await form_page(request, given))


async def form_page(
    request: Request,
    given: Mapping[str, str],
    wrong: MaciError | None = None,
    *,
    files: Files | None = None,
    found: CostEstimate | None = None,
) -> str:
    """The form as it was ``given``; see :func:`~maci.web.pages.new.new_page`."""
    desk = desk_of(request)
    prices = await desk.prices.of(await asyncio.to_thread(listed), patience=0.0)
    choice = [(name, f"{about} · {prices[name]}" if name in prices else about) for name, about in forms.panels()]
    return new_page(
        given,
        builtin_cases(),
        choice,
        forms.evidence_kinds(),
        desk.settings.limits,
        visit_of(request),
        models=forms.models(),
        budget=forms.usual_config().budget,
        wrong=wrong,
        kept=files or {},
        found=found,
    )


@router.get("/panels")
async def panels(request: Request) -> HTMLResponse:
    """Who can debate."""
    every = await asyncio.to_thread(listed)
    return HTMLResponse(panels_page(every, await desk_of(request).prices.of(every, patience=5.0)))


@router.get("/debates/{id}")
async def debate(request: Request, id: str, said: str = "") -> HTMLResponse:
    """One debate."""
    run = await desk_of(request).run(id)
    notice = _SAID.get(said, "")
    if said == "dials" and run.story.current.by_hand:
        notice = f"The dials were set for round {run.story.current.number} and stay so until they are given back."
    html = debate_page(
        id,
        run.story,
        run.events,
        run.state,
        visit_of(request),
        error=run.error,
        notice=notice,
        elsewhere=run.elsewhere,
        asking=run.asking,
        remark=unnamed(run.story.opened),
        label=await asyncio.to_thread(read_label, desk_of(request).history.path(id)),
    )
    return HTMLResponse(html)


_SAID = {
    "dials": "The dials will be set when the next round begins, and stay so until they are given back.",
    "release": "The schedule has the dials again when the next round begins.",
    "pause": "A pause was asked for.",
    "go": "It goes on.",
    "stop": "A stop was asked for.",
    "nothing": "No dial was ticked, so nothing was changed.",
    "answer": "Thank you: the debate goes on with that.",
    "empty": "Write an answer, or press one of the buttons.",
    "label": "The name and tags were kept.",
    "late": "It was over before that could be done.",
}


@router.get("/debates/{id}/controls")
async def control_buttons(request: Request, id: str) -> HTMLResponse:
    """What can be done with it now, as a part of its page."""
    run = await desk_of(request).run(id)
    answered = run.finished is None or run.finished.answer is not None
    buttons = controls(id, run.state, visit_of(request), elsewhere=run.elsewhere, asking=run.asking, answered=answered)
    return HTMLResponse(buttons)


@router.get("/debates/{id}/events", responses={200: {"content": {"text/event-stream": {}}}})
async def events(request: Request, id: str, after: int = 0) -> EventSourceResponse:
    """Everything that happens, in order; goes on after the last event a viewer has seen."""
    desk = desk_of(request)
    run = await desk.run(id)
    seen = request.headers.get("last-event-id", "")
    place = int(seen) if seen.isdecimal() and len(seen) < 10 else after
    return EventSourceResponse(desk.frames(run).follow(place), headers={"x-accel-buffering": "no"})


@router.get("/debates/{id}/calls")
async def calls(request: Request, id: str) -> HTMLResponse:
    """What models were asked, and what they replied."""
    run = await desk_of(request).run(id)
    return HTMLResponse(await asyncio.to_thread(lambda: calls_page(id, run.story, list(requests_of(run.events)))))


@router.get("/debates/{id}/replay")
async def replay(
    request: Request,
    id: str,
    profile: str = "",
    settings: str = "",
    tau_q: str = "",
    tau_crit: str = "",
    part: str = "",
) -> HTMLResponse:
    """What other rules would have made of it; ``part``: only what came of it, for a page that is open."""
    run = await desk_of(request).run(id)
    gate, status, asked = start_of(run.story), 200, settings[:5000]
    try:
        sets = list(forms.settings_of(asked))
        if gate is not None:
            turned = (("tau_q", tau_q, gate[0]), ("tau_crit", tau_crit, gate[1]))
            sets = [*(f"{name}={_number(value, was):.2f}" for name, value, was in turned if _turned(value, was)), *sets]
            gate = (_number(tau_q, gate[0]), _number(tau_crit, gate[1]))
        config = other_rules(run.story.opened.config, profile or None, sets=sets)
        if config == run.story.opened.config:
            result = whatif_result(None, "", (), same=True)
        else:
            found = await asyncio.to_thread(otherwise, run.events, config)
            under = f"the profile {config.profile}" + (f" with {', '.join(sets)}" if sets else "")
            result = whatif_result(found, under, sets)
    except MaciError as error:
        result, status = whatif_result(None, "", (), wrong=str(error)), 422
    if part:
        return HTMLResponse(result, status)
    return HTMLResponse(whatif_page(id, run.story, result, gate, profile, asked), status)


def _number(text: str, default: float) -> float:
    """A place on a slider, within its bounds."""
    try:
        return min(1.0, max(0.0, float(text)))
    except ValueError:
        return default


def _turned(text: str, was: float) -> bool:
    """Whether a slider was moved from where it stood."""
    return abs(_number(text, was) - round(was, 2)) > 0.004


@router.get("/debates/{id}/report.html")
async def report(request: Request, id: str) -> HTMLResponse:
    """The report: one file that needs nothing else. It brings its own style, so it has a policy of its own."""
    path = desk_of(request).history.path(id)
    back = ((f"/debates/{quote(id)}", "‹ Back to the debate"), ("/", "All debates"))
    page = await asyncio.to_thread(_report, path, partial(to_html, back=back))
    return HTMLResponse(page, headers={"content-security-policy": policy()})


@router.get("/debates/{id}/report.md", response_class=PlainTextResponse)
async def markdown(request: Request, id: str) -> Response:
    """The report for tickets and papers."""
    text = await asyncio.to_thread(_report, desk_of(request).history.path(id), to_markdown)
    return Response(text, media_type="text/markdown", headers=_named(id, "md"))


@router.get("/debates/{id}/result.json", response_class=JSONResponse)
async def result(request: Request, id: str) -> Response:
    """The result as ``maci debate --json`` prints it."""
    run = await desk_of(request).run(id)
    if run.finished is None:
        raise InputError("this debate has no result yet")
    page = result_of(run.story, Path(run.id) / FILE, priced=not unpriced(run.story.opened))
    return Response(page.model_dump_json(), media_type="application/json")


@router.get("/debates/{id}/transcript.jsonl", response_class=FileResponse)
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


def _named(id: str, kind: str) -> dict[str, str]:
    name = "".join(letter if letter.isascii() and (letter.isalnum() or letter in "-_.") else "_" for letter in id)
    return {"content-disposition": f'attachment; filename="{name}.{kind}"'}


_CHOICE = 200
"""Debates that are offered by name; older ones are ticked in the list."""


@router.get("/compare")
async def compare(request: Request, a: str = "", b: str = "", round: int | None = None) -> HTMLResponse:
    """Two debates side by side; the list of debates names them as ``pick``."""
    a, b = [*request.query_params.getlist("pick"), a, b][:2]
    desk = desk_of(request)
    newest = await asyncio.to_thread(lambda: desk.search(most=_CHOICE).rows)
    chosen = await asyncio.to_thread(desk.history.named, {a, b} - {s.id for s in newest} - {""})
    every = [s for s in (*newest, *chosen) if s.state != "unreadable"]
    sides = []
    for id in (a, b):
        if id:
            run = await desk.run(id)
            sides.append(Side(id, run.story, run.state))
    return HTMLResponse(compare_page(every, sides, (a, b), round))


@router.get("/debates")
async def debates() -> RedirectResponse:
    """An address people guess."""
    return RedirectResponse("/", 303)


@router.get("/studies")
async def studies(request: Request) -> HTMLResponse:
    """What was studied."""
    folder = desk_of(request).settings.studies
    return HTMLResponse(studies_page(await asyncio.to_thread(_found, folder), folder))


@router.get("/studies/{name}")
async def study(request: Request, name: str) -> HTMLResponse:
    """One study: tables that can be sorted, reliability diagrams, what it all means."""
    folder = desk_of(request).settings.studies
    if name != Path(name).name or name.startswith(".") or not is_file(str(folder / name / store.FILE)):
        raise NotHere(f"there is no study {name[:80]!r} in {folder.name}")
    now = (folder / name / store.FILE).stat()
    page = await asyncio.to_thread(_study, folder / name, now.st_mtime_ns, now.st_size)
    return HTMLResponse(page, headers={"content-security-policy": policy()})


def _found(folder: Path) -> list[tuple[str, str]]:
    """Name and how far, of each study."""
    rows = []
    for path in sorted(folder.glob(f"*/{store.FILE}")):
        try:
            with store.SqliteStore(path, make=False) as results:
                meta, keys = results.meta(), results.keys()
        except MaciError as error:
            rows.append((path.parent.name, f"cannot be read: {error}"))
            continue
        if meta is not None:
            planned = list(meta.keys())
            done = sum(keys.get(key) == "done" for key in planned)
            about = f" · {meta.spec.about}" if meta.spec.about else ""
            rows.append((path.parent.name, f"{done:,} of {len(planned):,} answers{about}"))
    return rows


@lru_cache(maxsize=4)
def _study(folder: Path, _changed: int, _size: int) -> str:
    """The report of a study; made again when its results have changed."""
    report = build_report(gather([folder], None), ReportSettings(resamples=_RESAMPLES))
    return study_html(for_page(report), back=_BACK)
