"""Addresses of pages that are only looked at."""

from __future__ import annotations

import asyncio
from urllib.parse import quote

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from fastapi.sse import EventSourceResponse

from maci.cases.case import builtin_cases
from maci.errors import InputError, MaciError
from maci.story.whatif import other_rules, otherwise
from maci.seating.table import unnamed
from maci.web import forms
from maci.web.desk import Desk, NotHere
from maci.web.forms import fields_of
from maci.web.guard import Visit
from maci.web.pages.compare import Side, compare_page, replay_page
from maci.web.pages.debate import controls, debate_page, replay_form
from maci.web.pages.home import home_page
from maci.web.pages.layout import STATIC, static, title_of
from maci.web.pages.new import new_page

router = APIRouter()


def desk_of(request: Request) -> Desk:
    """The desk of the server."""
    desk: Desk = request.app.state.desk
    return desk


def visit_of(request: Request) -> Visit:
    """Who asks."""
    visit: Visit = request.scope["visit"]
    return visit


def address_of(request: Request) -> str:
    """Where the request comes from; behind a proxy on this machine, what that says."""
    return "" if request.client is None else request.client.host


@router.get("/static/{name}")
async def static_file(name: str) -> Response:
    """Style and scripts."""
    if name not in STATIC:
        raise NotHere(f"there is no file {name!r}")
    return Response(
        static(name), media_type=STATIC[name], headers={"cache-control": "public, max-age=31536000, immutable"}
    )


@router.get("/favicon.ico")
async def icon() -> Response:
    """There is none."""
    return Response(status_code=204)


@router.get("/")
async def home(request: Request, q: str = "", page: int = 1) -> HTMLResponse:
    """The debates there are."""
    desk = desk_of(request)
    every = await asyncio.to_thread(desk.summaries)
    found = [summary for summary in every if summary.fits(q)]
    return HTMLResponse(home_page(found, len(every), q[:200], max(1, page), visit_of(request)))


@router.get("/new")
async def new(request: Request) -> HTMLResponse:
    """The form that starts a debate."""
    given = {name: value[:5000] for name, value in request.query_params.items()}
    if id := given.get("from"):
        opened = (await desk_of(request).run(id)).story.opened
        given = fields_of(id, opened, [name for name, _ in forms.panels()])
    limits = desk_of(request).settings.limits
    return HTMLResponse(
        new_page(
            given,
            builtin_cases(),
            forms.panels(),
            forms.evidence_kinds(),
            limits,
            visit_of(request),
            models=forms.models(),
        )
    )


@router.get("/debates/{id}")
async def debate(request: Request, id: str, said: str = "") -> HTMLResponse:
    """One debate."""
    run = await desk_of(request).run(id)
    notice = _SAID.get(said, "")
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
    "late": "It was over before that could be done.",
}


@router.get("/debates/{id}/controls")
async def control_buttons(request: Request, id: str) -> HTMLResponse:
    """What can be done with it now, as a part of its page."""
    run = await desk_of(request).run(id)
    answered = run.finished is None or run.finished.answer is not None
    buttons = controls(id, run.state, visit_of(request), elsewhere=run.elsewhere, asking=run.asking, answered=answered)
    return HTMLResponse(buttons)


@router.get("/debates/{id}/events")
async def events(request: Request, id: str, after: int = 0) -> EventSourceResponse:
    """Everything that happens, in order; goes on after the last event a viewer has seen."""
    desk = desk_of(request)
    run = await desk.run(id)
    seen = request.headers.get("last-event-id", "")
    place = int(seen) if seen.isdecimal() and len(seen) < 10 else after
    return EventSourceResponse(desk.frames(run).follow(place), headers={"x-accel-buffering": "no"})


@router.get("/debates/{id}/replay")
async def replay(request: Request, id: str, profile: str = "", settings: str = "") -> HTMLResponse:
    """What other rules would have made of it."""
    run = await desk_of(request).run(id)
    case = run.story.opened.case
    title = title_of(case.title, case.question)
    form = replay_form(id, profile, settings[:5000], "Ask again")
    try:
        sets = forms.settings_of(settings[:5000])
        config = other_rules(run.story.opened.config, profile or None, sets=sets)
        if config == run.story.opened.config:
            return HTMLResponse(replay_page(id, title, None, "", form, same=True))
        found = await asyncio.to_thread(otherwise, run.events, config)
    except MaciError as error:
        return HTMLResponse(replay_page(id, title, None, "", form, wrong=str(error)), 422)
    asked = f"the profile {config.profile}" + (f" with {', '.join(sets)}" if sets else "")
    return HTMLResponse(replay_page(id, title, found, asked, form))


@router.get("/compare")
async def compare(request: Request, a: str = "", b: str = "", round: int | None = None) -> HTMLResponse:
    """Two debates side by side."""
    desk = desk_of(request)
    every = [s for s in await asyncio.to_thread(desk.summaries) if s.state != "unreadable"]
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


def link(id: str, said: str = "") -> str:
    """The address of a debate's page."""
    if "/" in id:
        raise InputError(f"{id!r} is no debate of this folder")
    return f"/debates/{quote(id)}" + (f"?said={said}" if said else "")
