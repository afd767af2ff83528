"""Readings: POST /v1/readings takes them in, GET /v1/readings gives them back."""

from __future__ import annotations

import asyncio
import hashlib
from typing import Annotated, Any

import sqlalchemy as sa
from fastapi import APIRouter, Query, Request
from starlette.concurrency import run_in_threadpool

from subcast.service import models
from subcast.service.bodies import parse_readings
from subcast.service.feed import IdempotencyKey
from subcast.service.grid import moment_text
from subcast.service.intake import Batch, Intake
from subcast.service.problems import ProblemError
from subcast.service.requests import Cursor, Limit, body_of, body_schema, cursor_number, page, service_of
from subcast.service.runtime import Service
from subcast.service.schema import readings, receipts, sensors, steps, superseded

router = APIRouter(prefix="/v1", tags=["readings"])
_CSV = "sensor,time,value\na,2026-11-18T12:05:00Z,61.5\n"
_BODY = body_schema(
    models.Readings,
    **{
        "application/x-ndjson": {"schema": {"type": "string", "description": "One reading a line"}},
        "text/csv": {"schema": {"type": "string"}, "example": _CSV},
    },
)
_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "schema": {"type": "string", "maxLength": 200},
    "description": "A key of your choice: the same key and content give the same answer, other content is refused",
}
SensorsQuery = Annotated[list[models.SensorName] | None, Query(description="Sensors to answer; all by default")]


@router.post("/readings", response_model=models.ReadingsAnswer, openapi_extra={**_BODY, "parameters": [_KEY]})
async def post_readings(request: Request) -> Any:
    """Store readings: JSON, NDJSON or CSV, any sensors and steps in any order; all of them or none.

    What is answered with 200 is on disk. With the header `Idempotency-Key` a request can be repeated: the same key and
    content give the same answer, and other content is refused.
    """
    service = service_of(request)
    body = await body_of(request, service.options.body_bytes)
    key = _key(request, body)
    feed, intake = service.pair
    kind = request.headers.get("content-type", "application/json")
    batch = await run_in_threadpool(_batch, service, intake, body, kind)
    stored = service.writer.submit(lambda connection: service.store(connection, feed, batch, key))
    answer = await asyncio.wrap_future(stored)
    service.metrics.count_readings(answer)
    return answer


def _batch(service: Service, intake: Intake, body: bytes, kind: str) -> Batch:
    return intake.batch(parse_readings(body, kind, service.options.batch), service.newest_allowed())


def _key(request: Request, body: bytes) -> IdempotencyKey | None:
    key = request.headers.get("idempotency-key")
    if key is None:
        return None
    if not 0 < len(key) <= 200 or not key.isprintable():
        raise ProblemError("invalid", "Idempotency-Key must have 1 to 200 printable characters")
    kind = request.headers.get("content-type", "")
    return IdempotencyKey(key, hashlib.sha256(kind.encode("latin-1") + b"\n" + body).hexdigest())


@router.get("/readings", response_model=models.ReadingsPage)
def get_readings(
    request: Request,
    sensor: SensorsQuery = None,
    start: models.TimeText | None = None,
    end: models.TimeText | None = None,
    limit: Limit = 1000,
    cursor: Cursor = None,
) -> Any:
    """Return stored readings with their flags, the newest first."""
    service = service_of(request)
    columns = (readings.c.time, readings.c.sensor, readings.c.value, receipts.c.received_at, steps.c.flags)
    joined = readings.outerjoin(receipts, receipts.c.id == readings.c.receipt)
    everything: sa.Select[Any] = sa.select(*columns)
    everything = everything.select_from(joined.outerjoin(steps, steps.c.time == readings.c.time))
    query = _between(service, everything, readings, sensor, start, end)
    if cursor is not None:
        at, number = _cursor(cursor)
        before = sa.and_(readings.c.time == at, readings.c.sensor < number)
        query = query.where(sa.or_(readings.c.time < at, before))
    query = query.order_by(readings.c.time.desc(), readings.c.sensor.desc()).limit(limit + 1)
    with service.database.read() as connection:
        rows = list(connection.execute(query).all())
        names = {row.id: row.name for row in connection.execute(sa.select(sensors))}
    following = f"{rows[limit - 1].time}.{rows[limit - 1].sensor}" if len(rows) > limit else None
    found = [
        {
            "sensor": names[row.sensor],
            "time": service.grid.text(row.time),
            "value": row.value,
            "flag": flag_of(service, row.flags, row.sensor),
            "received_at": moment_text(row.received_at),
        }
        for row in rows[:limit]
    ]
    return {"readings": found, "next": following}


def flag_of(service: Service, flags: bytes | None, sensor: int) -> int | None:
    """Return the flag of a sensor among those of a step; None if the step was not processed with this sensor."""
    known = None if flags is None else service.flags_at(flags)
    column = service.feed.columns.get(sensor)
    return None if known is None or column is None else int(known[column])


def _between(
    service: Service,
    query: sa.Select[Any],
    table: sa.Table,
    sensor: list[str] | None,
    start: str | None,
    end: str | None,
) -> sa.Select[Any]:
    """Restrict a query to sensors and a stretch of time."""
    if sensor is not None:
        chosen = {int(service.feed.ids[service.intake.column(name)]) for name in sensor}
        query = query.where(table.c.sensor.in_(sorted(chosen)))
    if start is not None:
        query = query.where(table.c.time >= service.grid.parse(start))
    if end is not None:
        query = query.where(table.c.time <= service.grid.parse(end))
    return query


def _cursor(cursor: str) -> tuple[int, int]:
    at, _, sensor = cursor.partition(".")
    return cursor_number(at), cursor_number(sensor)


@router.get("/readings/superseded", response_model=models.SupersededPage)
def get_superseded(
    request: Request,
    sensor: SensorsQuery = None,
    start: models.TimeText | None = None,
    end: models.TimeText | None = None,
    limit: Limit = 1000,
    cursor: Cursor = None,
) -> Any:
    """Return values that a later request replaced, the last replaced first."""
    service = service_of(request)
    first, second = receipts.alias("first"), receipts.alias("second")
    joined = superseded.outerjoin(first, first.c.id == superseded.c.receipt)
    joined = joined.outerjoin(second, second.c.id == superseded.c.replaced_by)
    columns = (first.c.received_at.label("received"), second.c.received_at.label("replaced"))
    query = _between(service, sa.select(superseded, *columns).select_from(joined), superseded, sensor, start, end)
    with service.database.read() as connection:
        rows, following = page(connection, query, superseded.c.id, limit, cursor)
        names = {row.id: row.name for row in connection.execute(sa.select(sensors))}
    found = [
        {
            "sensor": names[row.sensor],
            "time": service.grid.text(row.time),
            "value": row.value,
            "received_at": moment_text(row.received),
            "superseded_at": moment_text(row.replaced),
        }
        for row in rows
    ]
    return {"readings": found, "next": following}
