"""`make_app`: the routes, the web page and the error handlers."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from .. import __version__
from . import docs_page
from .annif import make_annif_router
from .http_errors import INTERNAL_ERROR, HttpError, error_response
from .middleware import ServerMiddleware
from .routes import PREDICT, make_predict, make_router
from .services import Services

log = logging.getLogger("treetop.serve")
PAGE = Path(__file__).parent / "page"
DESCRIPTION = "Finds the few relevant labels of a text among thousands to millions."


def make_app(services: Services) -> ASGIApp:
    """The whole server as an ASGI app, which closes the services at shutdown."""
    app = FastAPI(
        title="treetop",
        version=__version__,
        description=DESCRIPTION,
        lifespan=lambda app: _lifespan(services),
        docs_url=None,
        redirect_slashes=False,
        redoc_url=None,
        separate_input_output_schemas=False,
    )
    app.include_router(make_router(services))
    app.include_router(make_annif_router(services))
    _add_pages(app)
    app.add_exception_handler(HttpError, _on_http_error)
    app.add_exception_handler(HTTPException, _on_routing_error)
    app.add_exception_handler(RequestValidationError, _on_invalid_parameters)
    app.add_exception_handler(Exception, _on_internal_error)
    guarded = ServerMiddleware(app, services.config, services.metrics, {PREDICT: make_predict(services)})
    if not services.config.cors_origin:
        return guarded
    return CORSMiddleware(
        guarded,  # inside: other sites may read its errors, too
        allow_origins=list(services.config.cors_origin),
        allow_methods=["GET", "POST"],
        allow_headers=["Authorization", "Content-Type", "X-API-Key"],
        expose_headers=["Retry-After"],
    )


@contextlib.asynccontextmanager
async def _lifespan(services: Services) -> AsyncIterator[None]:
    loop = asyncio.get_running_loop()
    tasks: set[asyncio.Task[None]] = set()

    def refresh() -> None:
        task = loop.create_task(services.models.refresh(always=True))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    if services.config.watch:
        tasks.add(loop.create_task(services.models.watch(services.config.watch)))
    with contextlib.suppress(NotImplementedError, RuntimeError, ValueError, AttributeError):
        # Neither on Windows nor where a test runs the server on a thread.
        loop.add_signal_handler(signal.SIGHUP, refresh)
    try:
        yield
    finally:
        for task in tuple(tasks):
            task.cancel()
        await asyncio.to_thread(services.close)


class _PageFiles(StaticFiles):
    """Revalidated on every request (mostly 304), so that no page mixes files of two versions."""

    def file_response(self, *arguments: Any, **options: Any) -> Response:
        response = super().file_response(*arguments, **options)
        response.headers["Cache-Control"] = "no-cache"
        return response


def _add_pages(app: FastAPI) -> None:
    app.mount("/static", _PageFiles(directory=PAGE, check_dir=False), name="static")

    @app.get("/", include_in_schema=False)
    async def index() -> Response:
        if not (PAGE / "index.html").is_file():
            return HTMLResponse(docs_page.render(app.openapi()))
        return FileResponse(PAGE / "index.html", headers={"Cache-Control": "no-cache"})

    @app.get("/docs", include_in_schema=False)
    async def docs() -> Response:
        return HTMLResponse(docs_page.render(app.openapi()))

    @app.get("/docs.css", include_in_schema=False)
    async def docs_style() -> Response:
        return Response(docs_page.STYLE, media_type="text/css")


async def _on_http_error(request: Request, error: Any) -> Response:
    return error_response(error.status, error.message, error.headers, request.url.path)


async def _on_routing_error(request: Request, error: Any) -> Response:
    path = request.url.path
    messages = {
        404: f"not found: {path[:200]}; /docs lists the routes",
        405: f"{request.method} is not allowed on {path[:200]}; /docs lists the routes",
    }
    message = messages.get(error.status_code, str(error.detail))
    return error_response(error.status_code, message, error.headers, path)


async def _on_invalid_parameters(request: Request, error: Any) -> Response:
    first = error.errors()[0]
    reason = str(first["msg"])
    message = f"{first['loc'][-1]}: {reason[:1].lower()}{reason[1:]}"
    return error_response(422, message[:300], path=request.url.path)


async def _on_internal_error(request: Request, error: Exception) -> Response:
    """The stack trace goes to the log, never to the client."""
    return error_response(500, INTERNAL_ERROR, path=request.url.path)
