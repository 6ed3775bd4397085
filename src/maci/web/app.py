"""The application: pages and addresses put together behind the guard."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, Response
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware

from maci.controller.events import Event
from maci.errors import CheckFailed, EnvironmentError_, InputError, MaciError
from maci.render.markup import Markup
from maci.story import Story
from maci.web import exports, routes, steer, v1
from maci.web.allowance import Spent
from maci.web.connections import Room
from maci.web.desk import Desk, NotHere
from maci.web.guard import Guard, TooMuch
from maci.web.live import Asking
from maci.web.pages import studies
from maci.web.pages.layout import problem
from maci.web.pages.log import line
from maci.web.pages.panels import panels
from maci.web.server import Settings


class _Pages:
    """How events become what viewers see."""

    def line(self, seq: int, event: Event) -> Markup:
        return line(seq, event)

    def panels(self, story: Story, state: str, asking: Asking | None) -> Mapping[str, str]:
        return panels(story, state, asking)


def create_app(settings: Settings, room: Room | None = None) -> Guard:
    """The whole application of one server; ``room`` counts its connections."""
    desk = Desk(settings, _Pages())

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        await desk.close()

    app = FastAPI(title="MACI", docs_url=None, redoc_url=None, openapi_url=None, lifespan=lifespan)
    app.add_middleware(GZipMiddleware, minimum_size=1000)
    for part in (routes, steer, exports, studies, v1):
        app.include_router(part.router)
    app.add_exception_handler(MaciError, _went_wrong)
    app.add_exception_handler(TooMuch, _went_wrong)
    app.add_exception_handler(HTTPException, _went_wrong)
    app.add_exception_handler(RequestValidationError, _went_wrong)
    app.add_exception_handler(Exception, _went_wrong)  # a page for the visitor; the server's log has the rest
    guard = Guard(app, settings, room or Room(settings.limits))
    app.state.desk, app.state.guard = desk, guard
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
        return JSONResponse(v1.error_body(message, status, error.about if isinstance(error, MaciError) else ""), status)
    if isinstance(error, TooMuch):
        return HTMLResponse(problem(title, message, (("/new", "New debate"), ("/", "All debates"))), status)
    return HTMLResponse(problem(title, message), status)


def _status(error: Exception) -> tuple[int, str]:
    match error:
        case NotHere():
            return 404, "Not here"
        case steer.Stale():
            return 403, "Send it once more"
        case InputError() | RequestValidationError():
            return 422, "That cannot be done"
        case TooMuch():
            return 413, "Too much"
        case Spent():
            return 429, "Not today"
        case EnvironmentError_():
            return 503, "Not now"
        case HTTPException():
            return error.status_code, "Not here" if error.status_code == 404 else "That cannot be done"
        case CheckFailed():
            return 422, "This record cannot be shown"
        case _:
            return 500, "Something went wrong here"
