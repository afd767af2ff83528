"""Sensors: their health, flags set by hand, and planned maintenance."""

from __future__ import annotations

import json
import time
from collections import Counter
from typing import Annotated, Any

import numpy as np
import sqlalchemy as sa
from fastapi import APIRouter, Query, Request

from subcast.service import models, truth
from subcast.service.alerts import light_of
from subcast.service.feed import last_step
from subcast.service.grid import moment_text
from subcast.service.planning import in_maintenance
from subcast.service.problems import ProblemError
from subcast.service.requests import service_of
from subcast.service.runtime import Service
from subcast.service.schema import health, maintenance, overrides

router = APIRouter(prefix="/v1", tags=["sensors"])
_LONGEST = 2 * 366 * 86_400 * 10**9  # nanoseconds that maintenance may last


@router.get("/sensors", response_model=models.SensorList)
def get_sensors(
    request: Request,
    sensor: Annotated[list[models.SensorName] | None, Query(description="Sensors to answer; all by default")] = None,
    state: Annotated[models.Health | None, Query(description="Only sensors of this health")] = None,
) -> Any:
    """Return the health of the sensors: flags, reasons, since when."""
    return sensor_list(service_of(request), sensor, state)


def sensor_list(service: Service, sensor: list[str] | None = None, state: str | None = None) -> dict[str, Any]:
    """Return the sensors that are asked for, by name or by health, and how many there are of each health."""
    chosen = None if sensor is None else {service.intake.column(name) for name in sensor}
    with service.database.read() as connection:
        last = last_step(connection)
        states = sensor_states(service, connection, last)
    counts = Counter(each["health"] for each in states)
    shown = [
        each
        for place, each in enumerate(states)
        if (chosen is None or place in chosen) and (state is None or each["health"] == state)
    ]
    return {
        "step": None if last is None else service.grid.text(last),
        "sensors": shown,
        "counts": dict(counts),
        "screening": service.versions.present.screening,
    }


def sensor_states(service: Service, connection: sa.Connection, last: int | None) -> list[dict[str, Any]]:
    """Return what is known about each sensor, in their order."""
    feed, grid, unit = service.feed, service.grid, service.wrapper.metadata_.unit
    service.replaced.look(connection)
    rows = {row.sensor: row for row in connection.execute(sa.select(health))}
    flags = {row.sensor: row for row in connection.execute(sa.select(overrides))}
    now = np.array([last if last is not None else grid.step_at(service.clock.now())])
    serviced = in_maintenance(connection, feed, now)[0]
    sums = truth.summary(service.scored(connection, 288), len(feed.ids), service.wrapper.horizon)["sensors"]
    found = []
    for place, (name, number) in enumerate(zip(feed.variables, feed.ids.tolist(), strict=True)):
        row = rows.get(number)
        state = "maintenance" if serviced[place] else "unknown" if row is None else row.health
        found.append({
            "sensor": name,
            "health": light_of(state, 2 if row is None else row.flag),
            "state": state,
            "since": None if row is None or row.since is None else grid.text(row.since),
            "flag": 2 if row is None else row.flag,
            "reasons": [] if row is None else json.loads(row.reasons),
            "last_time": None if row is None or row.last_time is None else grid.text(row.last_time),
            "last_value": None if row is None else row.last_value,
            "waited_for": not serviced[place] and (row is None or bool(row.waited_for)),
            "override": flags[number].flag if number in flags else None,
            "maintenance": bool(serviced[place]),
            "device": service.replaced.device(place),
            "mae": truth.ratio(float(sums[0, place]), float(sums[1, place])),
            "unit": unit,
        })  # fmt: skip
    return found


# Flags set by hand


@router.get("/overrides", response_model=models.OverrideList)
def get_overrides(request: Request) -> Any:
    """Return the flags that were set by hand."""
    service = service_of(request)
    names = dict(zip(service.feed.ids.tolist(), service.feed.variables, strict=True))
    with service.database.read() as connection:
        rows = connection.execute(sa.select(overrides).order_by(overrides.c.sensor)).all()
    return {"overrides": [_override(service, row, names[row.sensor]) for row in rows if row.sensor in names]}


def _override(service: Service, row: Any, name: str) -> dict[str, Any]:
    return {
        "sensor": name,
        "flag": row.flag,
        "until": None if row.until is None else service.grid.text(row.until),
        "reason": row.reason,
        "set_at": moment_text(row.set_at),
    }


@router.put("/overrides", response_model=models.Override)
def put_override(request: Request, body: models.OverrideRequest) -> Any:
    """Set the flag of a sensor by hand, from the next step on: 1 uses its readings, 4 leaves them out."""
    service = service_of(request)
    number = int(service.feed.ids[service.intake.column(body.sensor)])
    until = None if body.until is None else service.grid.parse(body.until)
    values = {"flag": body.flag, "until": until, "reason": body.reason, "set_at": time.time_ns()}
    with service.database.write() as connection:
        if not connection.execute(overrides.update().where(overrides.c.sensor == number).values(**values)).rowcount:
            connection.execute(overrides.insert().values(sensor=number, **values))
        row = connection.execute(sa.select(overrides).where(overrides.c.sensor == number)).one()
    return _override(service, row, body.sensor)


@router.delete("/overrides", status_code=204)
def delete_override(request: Request, sensor: Annotated[models.SensorName, Query()]) -> None:
    """Take back the flag that was set by hand."""
    service = service_of(request)
    number = int(service.feed.ids[service.intake.column(sensor)])
    with service.database.write() as connection:
        if not connection.execute(overrides.delete().where(overrides.c.sensor == number)).rowcount:
            raise ProblemError("not-found", "no flag of this sensor was set by hand")


# Maintenance


@router.get("/maintenance", response_model=models.MaintenanceList)
def get_maintenance(request: Request) -> Any:
    """Return planned maintenance that has not ended."""
    service = service_of(request)
    names = dict(zip(service.feed.ids.tolist(), service.feed.variables, strict=True))
    with service.database.read() as connection:
        query = sa.select(maintenance).where(maintenance.c.end >= service.now(connection))
        rows = connection.execute(query.order_by(maintenance.c.start).limit(10_000)).all()
    return {"maintenance": [_maintenance(service, row, names[row.sensor]) for row in rows if row.sensor in names]}


def _maintenance(service: Service, row: Any, name: str) -> dict[str, Any]:
    start, end = service.grid.text(row.start), service.grid.text(row.end)
    return {"id": row.id, "sensor": name, "start": start, "end": end, "reason": row.reason}


@router.post("/maintenance", response_model=models.Maintenance, status_code=201)
def post_maintenance(request: Request, body: models.MaintenanceRequest) -> Any:
    """Plan maintenance of a sensor: its readings are left out, nothing waits for it and nobody is alerted."""
    return plan_maintenance(service_of(request), body)


def plan_maintenance(service: Service, body: models.MaintenanceRequest) -> dict[str, Any]:
    """Store planned maintenance and return it."""
    number = int(service.feed.ids[service.intake.column(body.sensor)])
    start, end = service.grid.parse(body.start), service.grid.parse(body.end)
    if not start <= end or end - start > _LONGEST:
        raise ProblemError("invalid", "end must not be before start, and at most two years after it")
    values = {"sensor": number, "start": start, "end": end, "reason": body.reason}
    with service.database.write() as connection:
        result = connection.execute(maintenance.insert().values(**values))
        made = int(result.inserted_primary_key[0])  # type: ignore[index]
        row = connection.execute(sa.select(maintenance).where(maintenance.c.id == made)).one()
    service.engine.wake()
    return _maintenance(service, row, body.sensor)


@router.delete("/maintenance/{id}", status_code=204)
def delete_maintenance(request: Request, id: int) -> None:
    """End or cancel maintenance: steps that were processed keep what they have."""
    service = service_of(request)
    with service.database.write() as connection:
        known = -(2**63) < id < 2**63
        if not known or not connection.execute(maintenance.delete().where(maintenance.c.id == id)).rowcount:
            raise ProblemError("not-found", "there is no maintenance of this number")
