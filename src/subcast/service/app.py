"""The application: `create_app(folder)` returns what uvicorn serves."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI

from subcast import __version__
from subcast.service import problems, routes_forecasts, routes_readings, routes_sensors
from subcast.service.options import Options
from subcast.service.page import routes as page_routes
from subcast.service.runtime import Service


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
    service = Service(Options(Path(folder), database, **options), model)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        service.close()

    app = FastAPI(title="subcast", version=__version__, docs_url=None, redoc_url=None, lifespan=lifespan)
    app.state.service = service
    problems.install(app)
    for routes in (routes_readings, routes_sensors, routes_forecasts):
        app.include_router(routes.router)
    page_routes.install(app)
    return app
