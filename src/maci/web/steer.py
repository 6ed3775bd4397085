"""Addresses that change something: only from our own pages, with the word that only they know."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from starlette.datastructures import UploadFile

from maci.controller.inputs import Intervened
from maci.debating.estimate import estimate
from maci.errors import InputError, MaciError
from maci.web import forms
from maci.web.forms import Upload, together
from maci.web.guard import Guard
from maci.web.pages.layout import sign_in_page
from maci.web.pages.panels import REHEARSING
from maci.web.routes import RecordRoute, address_of, desk_of, form_page, link, visit_of

router = APIRouter(default_response_class=HTMLResponse, route_class=RecordRoute)


def _fields(*names: str) -> dict[str, Any]:
    """A form as the published description of the server (/openapi.json) has it; all but ``word`` may be left out."""
    form = {
        "type": "object",
        "properties": {name: {"type": "string"} for name in ("word", *names)},
        "required": ["word"],
    }
    return {"requestBody": {"content": {"application/x-www-form-urlencoded": {"schema": form}}, "required": True}}


_NEW = (
    "question", "context", "outcomes", "builtin", "from", "keep_evidence", "panel", "agents", "judges", "profile", "settings", "seed",
    "budget_tokens", "budget_usd", "max_rounds", "questions", "utilities", "estimate", "scale", "risk", "kept",
)  # fmt: skip
_DIALS = ("action", "by", "cl", "cl_on", "tau_q", "tau_q_on", "tau_crit", "tau_crit_on")


class Stale(InputError):
    """A form that is not one of ours, or no longer."""


async def _form(request: Request, *, ours: bool = True) -> tuple[dict[str, str], dict[str, list[Upload]]]:
    """The fields and files of a form of ours."""
    limits = desk_of(request).settings.limits
    async with request.form(max_files=limits.files + 2, max_fields=60, max_part_size=limits.text) as form:
        fields: dict[str, str] = {}
        files: dict[str, list[Upload]] = {}
        for name, value in form.multi_items():
            if isinstance(value, UploadFile):
                if value.filename:
                    files.setdefault(name, []).append(Upload(value.filename, await value.read()))
            else:
                fields[name] = value.replace("\r\n", "\n")
    if ours and not visit_of(request).knows(fields.get("word", "")):
        raise Stale("this form is not from a page of this visit: go back, load the page again and send it once more")
    return fields, files


@router.post("/debates", openapi_extra=_fields(*_NEW))
async def start(request: Request) -> Response:
    """Begin a debate, and show it; or the form again, with what is wrong."""
    fields, sent = await _form(request)
    desk, session, files = desk_of(request), visit_of(request).session, sent
    try:
        files = together(sent, desk.kept.files(session, fields))
        before = (await desk.run(fields["from"])).story.opened.case if fields.get("from") else None
        choice = forms.choice_of(fields, any_model=desk.settings.any_model)
        case = await asyncio.to_thread(forms.case_of, fields, files, desk.settings.limits, before)
        if not fields.get("estimate"):
            return RedirectResponse(link((await desk.start(case, choice, address_of(request))).id), 303)
        async with REHEARSING:
            found = await asyncio.to_thread(lambda: asyncio.run(estimate(case, choice)))
        wrong = None
    except MaciError as error:
        found, wrong = None, error
    again = {**fields, "kept": desk.kept.keep(session, files) if files else ""}
    return HTMLResponse(await form_page(request, again, wrong, files=files, found=found), 422 if wrong else 200)


@router.post("/debates/{id}/hand", openapi_extra=_fields(*_DIALS))
async def hand(request: Request, id: str) -> Response:
    """A person's hand: dials, pause, go on, stop."""
    fields, _ = await _form(request)
    action, by = fields.get("action", ""), forms.person(fields)
    match action:
        case "dials":
            cl, tau_q, tau_crit = (_dial(fields, name) for name in ("cl", "tau_q", "tau_crit"))
            if cl is None and tau_q is None and tau_crit is None:
                return RedirectResponse(link(id, "nothing"), 303)
            item = Intervened(cl=cl, tau_q=tau_q, tau_crit=tau_crit, by=by, hold=True)
        case "release":
            item = Intervened(by=by, release=True)
        case "pause" | "go":
            item = Intervened(pause=action == "pause", by=by)
        case "stop":
            item = Intervened(stop=True, by=by)
        case _:
            raise InputError(f"{action!r} is nothing that can be done with a debate")
    desk = desk_of(request)
    run = await desk.run(id)
    if run.live is None and run.finished is not None:
        return RedirectResponse(link(id, "late"), 303)
    before = len(run.events)
    desk.intervene(id, item)
    await _until(lambda: run.live is None or (item in run.events[before:] and not item.stop))
    return RedirectResponse(link(id, action), 303)


async def _until(seen: Callable[[], bool]) -> None:
    """Wait a while for the debate to take note, so that the next page shows it."""
    for _ in range(100):
        if seen():
            return
        await asyncio.sleep(0.05)


def _dial(fields: Mapping[str, str], name: str) -> float | None:
    if not fields.get(f"{name}_on"):
        return None
    try:
        return float(fields.get(name, ""))
    except ValueError as error:
        raise InputError(f"{name} is {fields.get(name)!r}: give a number between 0 and 1") from error


@router.post("/debates/{id}/answer", openapi_extra=_fields("answer", "quick"))
async def answer(request: Request, id: str) -> Response:
    """Answer what a debate asks: by one of the buttons, or in words; nothing is no answer."""
    fields, _ = await _form(request)
    desk = desk_of(request)
    run = await desk.run(id)
    said = fields.get("quick") or fields.get("answer", "").strip()[:2000]
    if not said:
        return RedirectResponse(link(id, "empty"), 303)
    asked = run.asking
    desk.answer(id, said)
    await _until(lambda: run.live is None or run.asking is not asked)
    return RedirectResponse(link(id, "answer"), 303)


@router.post("/debates/{id}/label", openapi_extra=_fields("name", "tags"))
async def label(request: Request, id: str) -> Response:
    """Give a debate a name and tags."""
    fields, _ = await _form(request)
    await asyncio.to_thread(desk_of(request).history.label, id, fields.get("name", ""), fields.get("tags", ""))
    return RedirectResponse(link(id, "label"), 303)


@router.post("/debates/{id}/resume", openapi_extra=_fields())
async def resume(request: Request, id: str) -> Response:
    """Go on with a debate that broke off."""
    await _form(request)
    run = await desk_of(request).resume(id, address_of(request))
    return RedirectResponse(link(run.id), 303)


@router.get("/sign-in")
async def door(request: Request, next: str = "/") -> Response:
    """Where the token is asked for."""
    if desk_of(request).settings.token is None:
        return RedirectResponse("/", 303)
    return HTMLResponse(sign_in_page(_inside(next)))


@router.post("/sign-in", openapi_extra=_fields("token", "next"))
async def sign_in(request: Request) -> Response:
    """Let in who has the token."""
    fields, _ = await _form(request, ours=False)
    guard: Guard = request.app.state.guard
    visit, target = guard.admit(fields.get("token", "")), _inside(fields.get("next", "/"))
    if visit is None:
        await asyncio.sleep(0.5)
        return HTMLResponse(sign_in_page(target, wrong=True), 403)
    return RedirectResponse(target, 303, headers={"set-cookie": guard.cookie(visit, request.scope)})


def _inside(target: str) -> str:
    """A place of this server; anything else is its first page."""
    return target if target.startswith("/") and not target.startswith(("//", "/\\")) else "/"
