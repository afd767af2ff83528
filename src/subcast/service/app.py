"""The application: `create_app(folder)` returns what uvicorn serves."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI

from subcast import __version__
from subcast.service import (
    problems,
    routes_export,
    routes_forecasts,
    routes_readings,
    routes_replacements,
    routes_sensors,
    routes_system,
    routes_truth,
)
from subcast.service.guard import Guard
from subcast.service.logs import configure
from subcast.service.models import Problem
from subcast.service.options import Options
from subcast.service.page import routes as page_routes
from subcast.service.runtime import Service
from subcast.service.security import Keys, RateLimit

ENVIRONMENT, LEVEL = "SUBCAST_SERVE_OPTIONS", "SUBCAST_SERVE_LOG"
_ROUTES = (
    routes_export,
    routes_readings,
    routes_sensors,
    routes_replacements,
    routes_forecasts,
    routes_truth,
    routes_system,
)
_FAILURES: dict[int | str, dict[str, Any]] = {
    status: {"model": Problem, "content": {problems.MEDIA_TYPE: {}}, "description": title}
    for status, title in {
        400: "The body cannot be read",
        401: "A key is needed",
        403: "The key has another role",
        404: "There is no such thing",
        410: "It was removed",
        413: "The request is too large",
        415: "The type of the body is not supported",
        422: "The request is not valid",
        429: "Too many requests",
        503: "The database cannot be reached",
    }.items()
}


def create_app(folder: str | Path, database: str | None = None, *, model: Any = None, **options: Any) -> FastAPI:
    """Return the service of a wrapper as an ASGI application.

    Parameters
    ----------
    folder
        of the wrapper
    database
        URL; by default SQLite in a file beside the folder
    model
        the model, if it is not stored in the folder
    options
        fields of `subcast.service.options.Options`
    """
    return app_of(Options(Path(folder), database, **options), model)


def app_of(options: Options, model: Any = None) -> FastAPI:
    """Return the application for options."""
    keys = None if options.keys is None else Keys(options.keys)
    service = Service(options, model)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        service.start()
        yield
        service.close()

    app = FastAPI(title="subcast", version=__version__, docs_url=None, redoc_url=None, lifespan=lifespan)
    app.state.service = service
    problems.install(app)
    for routes in _ROUTES:
        app.include_router(routes.router, responses=_FAILURES)
    page_routes.install(app)
    app.add_middleware(
        Guard, keys=keys, limit=RateLimit(options.rate), metrics=service.metrics, routes=app.router.routes
    )
    return app


def from_environment() -> FastAPI:
    """Return the application for the options that `subcast serve` left for its workers."""
    configure(os.environ.get(LEVEL, "info"))
    return app_of(Options.from_json(os.environ[ENVIRONMENT]))
