"""The application, pages and addresses put together behind the guard; and serving it: a socket, uvicorn, and the address it says."""

from __future__ import annotations

import logging
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, nullcontext
from dataclasses import replace
from functools import partial

import uvicorn
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, Response
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware

from maci import __version__
from maci.debating.batch import owning
from maci.errors import BudgetError, CheckFailed, EnvironmentError_, InputError, MaciError
from maci.web import Limits, ServerSettings, replies, routes, steer, v1
from maci.web.allowance import AllowanceSpent
from maci.web.connections import Connection, Room, Sparing
from maci.web.desk import Busy, Desk, NotHere
from maci.web.forms import panels
from maci.web.guard import Guard, TooMuch
from maci.web.pages.layout import problem

_BACKLOG = 128
"""Connections that are accepted at once, before they are counted; far fewer than there are file descriptors to spare."""


def create_app(settings: ServerSettings, room: Room | None = None) -> Guard:
    """The whole application of one server; ``room`` counts its connections."""
    desk = Desk(settings)
    sharing = v1.Sharing(desk)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        sharing.close()
        await desk.close()

    app = FastAPI(title="MACI", version=__version__, docs_url=None, redoc_url=None, lifespan=lifespan)
    app.add_middleware(GZipMiddleware, minimum_size=1000)
    for part in (routes, steer, v1):
        app.include_router(part.router)
    for error in (MaciError, TooMuch, HTTPException, RequestValidationError, Exception):
        app.add_exception_handler(error, _went_wrong)  # a page for the visitor; the server's log has the rest
    guard = Guard(app, settings, room or Room(settings.limits))
    app.state.desk, app.state.sharing, app.state.guard = desk, sharing, guard
    return guard


async def _went_wrong(request: Request, error: Exception) -> Response:
    """Every error as a page that says what to do; for programs as JSON."""
    if isinstance(error.__cause__, TooMuch):
        error = error.__cause__  # FastAPI calls it a body that cannot be read
    status, title = _status(error)
    message = str(error) if isinstance(error, MaciError | TooMuch) else "The log of the server says more."
    if isinstance(error, HTTPException):
        message = "There is no such page." if error.status_code == 404 else str(error.detail)
    if isinstance(error, RequestValidationError):
        message = "; ".join(f"{item['loc'][-1]}: {item['msg']}" for item in error.errors())
    if request.url.path.startswith("/v1/"):
        status = 400 if status == 422 else status  # as OpenAI's API has it
        return JSONResponse(replies.error_body(error, message, status), status, replies.error_headers(error, status))
    if isinstance(error, TooMuch):
        return HTMLResponse(problem(title, message, (("/new", "New debate"), ("/", "All debates"))), status)
    return HTMLResponse(problem(title, message), status)


_STATUS: tuple[tuple[type[Exception], int, str], ...] = (
    (NotHere, 404, "Not here"),
    (steer.Stale, 403, "Send it once more"),
    (InputError, 422, "That cannot be done"),
    (RequestValidationError, 422, "That cannot be done"),
    (TooMuch, 413, "Too much"),
    (AllowanceSpent, 429, "Not today"),
    (BudgetError, 429, "The budget is spent"),
    (Busy, 429, "Not now"),
    (replies.Failed, 502, "No answer"),
    (EnvironmentError_, 503, "Not now"),
    (CheckFailed, 422, "This record cannot be shown"),
)
"""What an error means to a visitor; the first that fits."""


def _status(error: Exception) -> tuple[int, str]:
    if isinstance(error, HTTPException):
        return error.status_code, "Not here" if error.status_code == 404 else "That cannot be done"
    found = ((status, title) for kind, status, title in _STATUS if isinstance(error, kind))
    return next(found, (500, "Something went wrong here"))


def serve(settings: ServerSettings, ready: Callable[[ServerSettings], None]) -> None:
    """Serve until somebody ends it; ``ready`` is told where, once the socket is open.

    Servers that share a folder would each spend the ceilings of a day: there is one of those that have any. A project file or
    panels file that cannot be read is the server's mistake: it is said before a visitor comes.
    """
    panels()
    with owning(settings.runs, "--dir") if settings.ceilings else nullcontext():
        _serve(settings, ready)


def _serve(settings: ServerSettings, ready: Callable[[ServerSettings], None]) -> None:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    door = socket.socket(family, socket.SOCK_STREAM)
    door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        door.bind((settings.host, settings.port))
    except OSError as error:
        door.close()
        raise EnvironmentError_(
            f"cannot listen at {settings.host}:{settings.port}: {error.strerror}; choose another --port, or 0 for a free one"
        ) from error
    settings = replace(settings, port=door.getsockname()[1])
    room = Room(settings.limits, _descriptors(settings.limits))
    door.listen(_BACKLOG)
    ready(settings)
    config = uvicorn.Config(
        create_app(settings, room),
        http=partial(Connection, room),  # type: ignore[arg-type]
        backlog=_BACKLOG,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=2,
        lifespan="on",
        ws="none",
    )
    for name in ("uvicorn.error", "asyncio", "maci.web"):
        logging.getLogger(name).addFilter(Sparing())
    uvicorn.Server(config).run(sockets=[door])


def _descriptors(limits: Limits) -> int:
    """The files this process may have open, as many as connections need where the system allows it."""
    try:
        import resource
    except ImportError:  # a system without such a limit
        return 1 << 20
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = hard if hard != resource.RLIM_INFINITY else 1 << 20
    if soft == resource.RLIM_INFINITY:
        return most
    wanted = min(most, max(soft, limits.connections + 1024))
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return wanted
