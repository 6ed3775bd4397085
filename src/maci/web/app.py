"""The application: pages and addresses put together behind the guard."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, Response
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware

from maci import __version__
from maci.errors import BudgetError, CheckFailed, EnvironmentError_, InputError, MaciError
from maci.web import replies, routes, steer, v1
from maci.web.allowance import AllowanceSpent
from maci.web.connections import Room
from maci.web.desk import Busy, Desk, NotHere
from maci.web.guard import Guard, TooMuch
from maci.web.pages.layout import problem
from maci.web.server import ServerSettings


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
