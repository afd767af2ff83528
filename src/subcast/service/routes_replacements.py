"""Sensors that were replaced by another device."""

from __future__ import annotations

import time
from typing import Any

import sqlalchemy as sa
from fastapi import APIRouter, Request

from subcast.service import alerts, models
from subcast.service.feed import last_step
from subcast.service.grid import moment_text
from subcast.service.problems import ProblemError, shown
from subcast.service.replacements import all_rows
from subcast.service.requests import service_of
from subcast.service.runtime import Service
from subcast.service.schema import replacements

router = APIRouter(prefix="/v1", tags=["sensors"])


@router.get("/replacements", response_model=models.ReplacementList)
def get_replacements(request: Request) -> Any:
    """Return which sensors were replaced, when and why, the newest first."""
    service = service_of(request)
    names = dict(zip(service.feed.ids.tolist(), service.feed.variables, strict=True))
    with service.database.read() as connection:
        rows = all_rows(connection)
    found = [_replacement(service, row, names[row.sensor]) for row in rows if row.sensor in names]
    return {"replacements": found[::-1]}


def _replacement(service: Service, row: Any, sensor: str) -> dict[str, Any]:
    return {
        "id": row.id,
        "sensor": sensor,
        "name": row.name,
        "at": service.grid.text(row.time),
        "reason": row.reason,
        "set_at": moment_text(row.set_at),
    }


@router.post("/replacements", response_model=models.Replacement, status_code=201)
def post_replacement(request: Request, body: models.ReplacementRequest) -> Any:
    """Say that another device has taken the place of a sensor.

    Its readings are sent under the new name from then on. What the old device sent becomes holes for new forecasts and
    for the screening, which begins anew with this sensor.
    """
    return replace_sensor(service_of(request), body)


def replace_sensor(service: Service, body: models.ReplacementRequest) -> dict[str, Any]:
    """Store that a sensor was replaced and return it."""
    service.replaced.look()
    column = service.intake.column(body.sensor)
    sensor = service.feed.variables[column]
    _check_name(service, body.name, column)
    with service.database.write() as connection:
        step = _step(service, connection, body.at)
        values = {
            "sensor": int(service.feed.ids[column]),
            "name": body.name,
            "time": step,
            "reason": body.reason,
            "set_at": time.time_ns(),
        }
        result = connection.execute(replacements.insert().values(**values))
        made = int(result.inserted_primary_key[0])  # type: ignore[index]
        row = connection.execute(sa.select(replacements).where(replacements.c.id == made)).one()
        text = f"{sensor} was replaced by {body.name} at {service.grid.text(step)}"
        why = f": {body.reason}" if body.reason else ""
        alerts.store_events(connection, [alerts.event("replaced", text + why)])
    service.replaced.forget()
    service.engine.wake()
    return _replacement(service, row, sensor)


def _check_name(service: Service, name: str, column: int) -> None:
    """Refuse a name that another sensor has."""
    other = service.replaced.columns.get(name)
    if other is None and name in service.feed.variables:
        other = service.feed.variables.index(name)
    if other is not None and other != column:
        raise ProblemError("invalid", f"{shown(name)} is the name of another sensor: give the new device another name")


def _step(service: Service, connection: sa.Connection, at: str | None) -> int:
    """Return the first step of the new device: the one that is named, or the next."""
    grid, last = service.grid, last_step(connection)
    if at is None:
        return grid.step_at(service.now(connection)) if last is None else grid.after(last)
    step = grid.step_at(grid.parse(at) + grid.length - 1)
    if last is not None and step > grid.after(last, service.late_steps):
        raise ProblemError("invalid", f"at must not be later than {grid.text(grid.after(last, service.late_steps))}")
    return step
