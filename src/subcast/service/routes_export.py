"""Readings and forecasts as CSV, streamed step by step."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from typing import Annotated, Any

import sqlalchemy as sa
from fastapi import APIRouter, Query, Request
from fastapi.responses import StreamingResponse

from subcast.names import spreadsheet_name
from subcast.service import models, stored
from subcast.service.requests import service_of
from subcast.service.routes_readings import flag_of
from subcast.service.runtime import Service
from subcast.service.schema import forecasts, readings, sensors, steps

router = APIRouter(prefix="/v1", tags=["export"])
SensorsQuery = Annotated[list[models.SensorName] | None, Query(description="Sensors to export; all by default")]
_STEPS = 200  # steps read at a time
_CSV: dict[int | str, dict[str, Any]] = {200: {"content": {"text/csv": {"schema": {"type": "string"}}}}}
_FAR = 9 * 10**18


def _csv(rows: Iterator[list[list[Any]]], header: list[str], name: str) -> StreamingResponse:
    """Return rows, which come in groups, as a file."""

    def text() -> Iterator[str]:
        for group in _with_header(header, rows):
            buffer = io.StringIO()
            csv.writer(buffer, lineterminator="\n").writerows(group)
            yield buffer.getvalue()

    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return StreamingResponse(text(), media_type="text/csv", headers=headers)


def _with_header(header: list[str], rows: Iterator[list[list[Any]]]) -> Iterator[list[list[Any]]]:
    yield [header]
    yield from rows


def _range(service: Service, start: str | None, end: str | None) -> tuple[int, int]:
    first = -_FAR if start is None else service.grid.parse(start)
    return first, _FAR if end is None else service.grid.parse(end)


def _groups(
    service: Service, table: sa.Table, between: tuple[int, int], read: Callable[[sa.Connection, int, int], Any]
) -> Iterator[list[list[Any]]]:
    """Yield what `read` returns for a few steps at a time, each in a transaction of its own."""
    first, last = between
    while True:
        with service.database.read() as connection:
            query = sa.select(table.c.time).where(table.c.time >= first, table.c.time <= last)
            times = connection.execute(query.distinct().order_by(table.c.time).limit(_STEPS)).scalars().all()
            if not times:
                return
            yield read(connection, times[0], times[-1])
        first = times[-1] + 1


@router.get("/readings.csv", response_class=StreamingResponse, responses=_CSV)
def export_readings(
    request: Request,
    sensor: SensorsQuery = None,
    start: models.TimeText | None = None,
    end: models.TimeText | None = None,
) -> StreamingResponse:
    """Export readings with their flags, the oldest first: sensor, time, value, flag."""
    service = service_of(request)
    chosen = None if sensor is None else {int(service.feed.ids[service.intake.column(name)]) for name in sensor}
    with service.database.read() as connection:
        names = {row.id: spreadsheet_name(row.name) for row in connection.execute(sa.select(sensors))}

    def read(connection: sa.Connection, first: int, last: int) -> list[list[Any]]:
        joined = readings.outerjoin(steps, steps.c.time == readings.c.time)
        query = sa.select(readings.c.time, readings.c.sensor, readings.c.value, steps.c.flags).select_from(joined)
        query = query.where(readings.c.time >= first, readings.c.time <= last)
        if chosen is not None:
            query = query.where(readings.c.sensor.in_(sorted(chosen)))
        rows = connection.execute(query.order_by(readings.c.time, readings.c.sensor)).all()
        texts = {at: service.grid.text(at) for at in {row.time for row in rows}}
        return [
            [names[row.sensor], texts[row.time], row.value, flag_of(service, row.flags, row.sensor)] for row in rows
        ]

    between = _range(service, start, end)
    return _csv(_groups(service, readings, between, read), ["sensor", "time", "value", "flag"], "readings.csv")


@router.get("/forecasts.csv", response_class=StreamingResponse, responses=_CSV)
def export_forecasts(
    request: Request,
    sensor: SensorsQuery = None,
    start: models.TimeText | None = None,
    end: models.TimeText | None = None,
) -> StreamingResponse:
    """Export stored forecasts, the oldest first: a line for each step, sensor and step ahead."""
    service = service_of(request)
    chosen = None if sensor is None else {service.wrapper.variables[service.intake.column(name)] for name in sensor}

    def read(connection: sa.Connection, first: int, last: int) -> list[list[Any]]:
        query = sa.select(forecasts).where(forecasts.c.time >= first, forecasts.c.time <= last)
        found = stored.read(connection, query.order_by(forecasts.c.time), service.names)
        return [row for each in found for row in _forecast_rows(service, each, chosen)]

    header = ["step", "sensor", "time", "ahead", "mean", "lower", "upper", "present", "quality"]
    return _csv(_groups(service, forecasts, _range(service, start, end), read), header, "forecasts.csv")


def _forecast_rows(service: Service, forecast: stored.StoredForecast, chosen: set[str] | None) -> Iterator[list[Any]]:
    """Yield the lines of one forecast; bounds are those of the widest interval."""
    past, made = forecast.past, forecast.made
    step, ahead = (
        service.grid.text(forecast.time),
        service.grid.texts(service.grid.ahead(forecast.time, len(made.mean))),
    )
    for place, name in enumerate(forecast.variables):
        if chosen is not None and name not in chosen:
            continue
        present = int(forecast.used[:, place].any())
        for row, at in enumerate(ahead):
            bounds = ["", ""]
            if past.lower is not None and past.upper is not None:
                bounds = [f"{past.lower[row, place]:.7g}", f"{past.upper[row, place]:.7g}"]
            mean = f"{made.mean[row, place]:.7g}"
            yield [step, spreadsheet_name(name), at, row + 1, mean, *bounds, present, made.quality]
