"""Forecasts: the latest, by sensor, by time, as of a moment; stateless ones, and what would change without sensors."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

import anyio
import numpy as np
import sqlalchemy as sa
from fastapi import APIRouter, Query, Request

from subcast.service import models, stored
from subcast.service.answers import forecast_answer, neighbors, plain, revision, revisions_of, stored_answer
from subcast.service.bodies import Columns, parse_object
from subcast.service.costs import cost_of, cost_with
from subcast.service.forecasting import make
from subcast.service.grid import moment_text
from subcast.service.intake import Newest, unknown_sensor
from subcast.service.late import difference
from subcast.service.problems import ProblemError
from subcast.service.replaying import replay, window_of
from subcast.service.requests import Cursor, Limit, body_of, body_schema, page, service_of
from subcast.service.runtime import Service
from subcast.service.schema import forecasts, health, revisions
from subcast.service.screens import GOOD, MISSING
from subcast.service.stored import StoredForecast

router = APIRouter(prefix="/v1", tags=["forecasts"])
SensorQuery = Annotated[list[models.SensorName] | None, Query(description="Sensors to answer; all by default")]
_FAR = 9 * 10**18
_DAY = 86_400 * 10**9


@router.get("/forecasts/latest", response_model=models.ForecastAnswer)
def get_latest(
    request: Request,
    sensor: SensorQuery = None,
    as_of: models.TimeText | None = None,
    history: bool = False,
) -> Any:
    """Return the last forecast, of all sensors or of some.

    With `as_of` it is the last one that had been made at that moment, made again from what was known then.
    """
    service = service_of(request)
    before = _FAR if as_of is None else service.grid.parse(as_of)
    query = sa.select(forecasts).where(forecasts.c.made_at <= before).order_by(forecasts.c.time.desc()).limit(1)
    with service.database.read() as connection:
        found = next(iter(stored.read(connection, query, service.names)), None)
        if found is not None:
            return _answer(service, connection, found, sensor, again=as_of is not None, history=history)
        if as_of is not None:
            raise ProblemError("not-found", "no forecast had been made at that moment")
        now = service.now(connection)
    return _nothing_yet(service, sensor, now)


def _nothing_yet(service: Service, sensor: list[str] | None, now: int) -> dict[str, Any]:
    """Return the usual forecast of the present step, before any reading came."""
    wrapper, version = service.wrapper, service.versions.present
    at = service.grid.step_at(now)
    times = service.grid.window(at, wrapper.lookback)
    nothing = np.full((wrapper.lookback, len(wrapper.variables)), np.nan)
    made = make(wrapper, service.grid, times, nothing).scaled(1.0, wrapper)
    return forecast_answer(
        made, wrapper.variables, service.grid, step=at, made_at=now, now=now, stale_after=_FAR,
        reason="nothing arrived", fingerprints=version.names, factor=1.0,
        flags=np.full(len(wrapper.variables), MISSING, dtype=np.int8), used=~np.isnan(nothing),
        unit=wrapper.metadata_.unit, sensors=_checked(service.wrapper.variables, sensor),
    )  # fmt: skip


def _checked(variables: tuple[str, ...], sensors: list[str] | None) -> list[str] | None:
    """Return names of sensors without repeats; refuse one that does not exist."""
    if sensors is None:
        return None
    known = set(variables)
    for name in sensors:
        if name not in known:
            raise unknown_sensor(name, variables)
    return list(dict.fromkeys(sensors))


def _answer(
    service: Service,
    connection: sa.Connection,
    found: StoredForecast,
    sensor: list[str] | None,
    *,
    again: bool = False,
    history: bool = False,
) -> dict[str, Any]:
    """Return a stored forecast, made again if asked."""
    chosen = _checked(found.variables, sensor)
    repeated = replay(service, connection, found) if again else None
    if repeated is not None and repeated.made is not None:
        found = replace(found, made=replace(repeated.made, observed=found.made.observed))
    window = window_of(service, connection, found) if history else None
    answer = stored_answer(
        found,
        service.grid,
        now=service.now(connection),
        deadline=service.deadline,
        unit=service.wrapper.metadata_.unit,
        sensors=chosen,
        history=window,
        revised=revisions_of(connection, service.grid, found.time),
    )
    return answer if repeated is None else {**answer, "replay": repeated.answer}


@router.get("/forecasts", response_model=models.ForecastPage)
def list_forecasts(
    request: Request,
    start: models.TimeText | None = None,
    end: models.TimeText | None = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Any:
    """List stored forecasts without their numbers, the newest first."""
    service = service_of(request)
    names = ("time", "made_at", "reason", "quality", "expected_gap", "observed_share", "version", "seconds", "used")
    query: sa.Select[Any] = sa.select(*(forecasts.c[name] for name in names))
    if start is not None:
        query = query.where(forecasts.c.time >= service.grid.parse(start))
    if end is not None:
        query = query.where(forecasts.c.time <= service.grid.parse(end))
    with service.database.read() as connection:
        rows, following = page(connection, query, forecasts.c.time, limit, cursor)
        found = [_summary(service, connection, row) for row in rows]
    return {"forecasts": found, "next": following}


def _summary(service: Service, connection: sa.Connection, row: Any) -> dict[str, Any]:
    if row.version not in service.names:
        service.names[row.version] = stored.variables_of(connection, row.version)
    n = len(service.names[row.version])
    bits = np.unpackbits(np.frombuffer(row.used, dtype=np.uint8))
    same = ("reason", "quality", "expected_gap", "observed_share", "version", "seconds")
    return {
        **{name: getattr(row, name) for name in same},
        "step": service.grid.text(row.time),
        "made_at": moment_text(row.made_at),
        "present": int(bits[: len(bits) // n * n].reshape(-1, n).any(axis=0).sum()) if n else 0,
    }


def _at(service: Service, connection: sa.Connection, time: str) -> StoredForecast:
    """Return the forecast whose window ended at a time."""
    stamp = service.grid.parse(time)
    step = int(service.grid.snap(np.array([stamp]), [time])[0][0])
    found = stored.read(connection, sa.select(forecasts).where(forecasts.c.time == step), service.names)
    if not found:
        raise ProblemError("not-found", f"there is no forecast of step {service.grid.text(step)}")
    return found[0]


@router.get("/forecasts/{time}", response_model=models.ForecastAnswer)
def get_forecast(
    request: Request, time: models.TimeText, sensor: SensorQuery = None, replayed: bool = False, history: bool = False
) -> Any:
    """Return the forecast whose window ended at a step; with `replayed` it is made again from what was known then."""
    service = service_of(request)
    with service.database.read() as connection:
        found = _at(service, connection, time)
        return _answer(service, connection, found, sensor, again=replayed, history=history)


@router.get("/forecasts/{time}/neighbors", response_model=models.NeighborList)
def get_neighbors(request: Request, time: models.TimeText, sensor: models.SensorName) -> Any:
    """Return the past windows that the forecast of a step leaned on, with the readings of one sensor in them."""
    service = service_of(request)
    with service.database.read() as connection:
        latest = time == "latest"
        found = stored.latest(connection, service.names) if latest else _at(service, connection, time)
    if found is None:
        raise ProblemError("not-found", "there is no forecast yet")
    _checked(found.variables, [sensor])
    rows = neighbors(found.made, service.grid)
    wrapper = service.versions.wrapper(found.row.version)
    starts = np.array(found.made.neighbors["start"], dtype=np.int64)
    if wrapper is not None and len(starts):
        weights = np.array(found.made.neighbors["weight"])
        order = np.argsort(-weights, kind="stable")
        index = np.searchsorted(wrapper.fitted_.bank.starts, starts[order])
        column = np.array([found.variables.index(sensor)])
        paths = np.asarray(wrapper.fitted_.paths_of(index, column))[:, :, 0]
        for row, path in zip(rows, paths, strict=True):
            row["past"], row["future"] = plain(path[: wrapper.lookback]), plain(path[wrapper.lookback :])
    return {"step": service.grid.text(found.time), "sensor": sensor, "neighbors": rows}


@router.get("/revisions", response_model=models.RevisionPage)
def get_revisions(request: Request, limit: Limit = 100, cursor: Cursor = None) -> Any:
    """List how late readings would change stored forecasts, the newest first."""
    service = service_of(request)
    with service.database.read() as connection:
        rows, following = page(
            connection, sa.select(revisions).where(revisions.c.facts != "null"), revisions.c.id, limit, cursor
        )
    found = [revision(row, service.grid) for row in rows]
    return {"revisions": [row for row in found if row is not None], "next": following}


# Made for one request


@router.post("/forecast", response_model=models.ForecastAnswer, openapi_extra=body_schema(models.StatelessRequest))
async def post_forecast(request: Request) -> Any:
    """Forecast from the readings of the last steps in the body; nothing is stored, and no database is needed."""
    service = service_of(request)
    body = await body_of(request, service.options.body_bytes)
    return await anyio.to_thread.run_sync(_stateless, service, body, limiter=service.calculations)


def _stateless(service: Service, body: bytes) -> dict[str, Any]:
    columns = parse_object(body, service.options.batch, {"sensors", "levels"})
    version, intake = service.versions.present, service.intake
    wrapper = version.wrapper
    batch = intake.batch(columns, Newest(_FAR))
    at = int(batch.times.max())
    times = service.grid.window(at, wrapper.lookback)
    window = np.full((len(times), len(wrapper.variables)), np.nan)
    rows = np.searchsorted(times, batch.times)
    inside = (batch.times >= times[0]) & (times[np.minimum(rows, len(times) - 1)] == batch.times)
    window[rows[inside], batch.sensors[inside]] = batch.values[inside]
    made = make(wrapper, service.grid, times, window, _levels(columns)).scaled(1.0, wrapper)
    ignored = int((~inside).sum())
    notes = [*batch.warnings, *([f"{ignored} readings are older than the window: not used"] if ignored else [])]
    now = service.clock.now()
    return forecast_answer(
        replace(made, notes=(*made.notes, *notes)), wrapper.variables, service.grid, step=at, made_at=now, now=now,
        stale_after=_FAR, reason="stateless", fingerprints=version.names, factor=1.0,
        flags=np.where(np.isnan(window[-1]), MISSING, GOOD).astype(np.int8), used=~np.isnan(window),
        unit=wrapper.metadata_.unit, sensors=_checked(wrapper.variables, _sensors(columns)),
    )  # fmt: skip


def _levels(columns: Columns) -> list[float] | None:
    levels = columns.options.get("levels")
    if levels is None:
        return None
    numbers = isinstance(levels, list) and all(type(level) in (int, float) for level in levels)
    if not numbers or not 0 < len(levels) <= 5 or not all(0 < level <= 0.99 for level in levels):
        raise ProblemError("invalid", "levels must be a list of 1 to 5 numbers above 0 and at most 0.99")
    return [float(level) for level in dict.fromkeys(levels)]


def _sensors(columns: Columns) -> list[str] | None:
    sensors = columns.options.get("sensors")
    if sensors is None:
        return None
    if not isinstance(sensors, list) or not all(isinstance(name, str) for name in sensors):
        raise ProblemError("invalid", "sensors must be a list of names")
    return sensors


@router.post("/what-if", response_model=models.WhatIfAnswer)
def post_what_if(request: Request, body: models.WhatIfRequest) -> Any:
    """Forecast from the window of the last forecast without some sensors, and say what would change."""
    service = service_of(request)
    with service.database.read() as connection:
        found = stored.latest(connection, service.names)
        if found is None:
            raise ProblemError("not-found", "there is no forecast yet: send readings first")
        window = window_of(service, connection, found)
        now = service.now(connection)
    wrapper = service.versions.wrapper(found.row.version)
    if wrapper is None:
        raise ProblemError("gone", "the version of the wrapper that made the last forecast was pruned")
    without = [found.variables.index(name) for name in _checked(found.variables, body.without) or []]
    window[:, without] = np.nan
    times = service.grid.window(found.time, len(window))
    made = make(wrapper, service.grid, times, window, found.made.levels or None).scaled(found.row.factor, wrapper)
    used = ~np.isnan(window)
    answer = stored_answer(
        replace(found, made=made, used=used), service.grid, now=now, deadline=service.deadline,
        unit=wrapper.metadata_.unit, sensors=_checked(found.variables, body.sensors),
    )  # fmt: skip
    others = np.setdiff1d(np.arange(len(found.variables)), without)
    costs = {f"cost_{when}": cost_of(wrapper.calibration_, each.expected_gap) for when, each in
             (("now", found.made), ("then", made))}  # fmt: skip
    return {"forecast": {**answer, "reason": "what-if"}, **costs, **_changes(found, made, others)}


def _changes(found: StoredForecast, made: Any, others: np.ndarray[Any, Any]) -> dict[str, Any]:
    """Return how the forecasts of the other sensors change."""
    gaps = {"expected_gap_now": found.made.expected_gap, "expected_gap_then": made.expected_gap}
    if not len(others):
        return {**gaps, "mean_change": 0.0, "relative_change": None, "width_change": None}
    before, after = (
        replace(each, mean=each.mean[:, others], bounds=each.bounds[..., others]) for each in (found.made, made)
    )
    change = difference(before, after, found.variables)
    widths = [float(_width(each)) for each in (before, after)] if made.levels else [0.0, 0.0]
    return {
        **gaps,
        "mean_change": change["mean_change"],
        "relative_change": change["relative_change"],
        "width_change": widths[1] / widths[0] - 1 if widths[0] > 0 else None,
    }


def _width(made: Any) -> np.floating[Any]:
    lower, upper = made.bounds[int(np.argmax(made.levels))]
    return np.mean(upper.astype(np.float64) - lower)


@router.get("/cost", response_model=models.Cost)
def get_cost(request: Request) -> Any:
    """Return what the silent sensors cost now."""
    service = service_of(request)
    with service.database.read() as connection:
        found = stored.latest(connection, service.names)
        if found is None:
            raise ProblemError("not-found", "there is no forecast yet: send readings first")
        silent = [name for place, name in enumerate(found.variables) if not found.used[-1, place]]
        before = _days_before(service, connection, found.time) if silent and found.made.levels else []
        own = [_own_cost(service, connection, found, name, before) for name in silent]
    calibration, count = service.wrapper.calibration_, found.made.observed_share * len(found.variables)
    return {
        "step": service.grid.text(found.time),
        "silent": silent,
        "expected_gap": found.made.expected_gap,
        "cost": cost_of(calibration, found.made.expected_gap),
        "cost_one_more": cost_with(calibration, count - 1),
        "width_now": float(_width(found.made)) if found.made.levels else None,
        "own": own,
    }


def _days_before(service: Service, connection: sa.Connection, time: int) -> list[StoredForecast]:
    """Return the forecasts of the same time of day in the week before, the newest first."""
    times = [time - days * _DAY for days in range(1, 8)]
    query = sa.select(forecasts).where(forecasts.c.time.in_(times)).order_by(forecasts.c.time.desc())
    return stored.read(connection, query, service.names)


def _own_cost(
    service: Service, connection: sa.Connection, found: StoredForecast, name: str, before: list[StoredForecast]
) -> dict[str, Any]:
    """Return how the forecast of a silent sensor suffers itself, beside `before`, when it may have reported."""
    answer: dict[str, Any] = {"sensor": name, "since": None, "width": None, "width_before": None}
    number = service.feed.ids[service.feed.variables.index(name)] if name in service.feed.variables else -1
    row = connection.execute(sa.select(health).where(health.c.sensor == int(number))).one_or_none()
    if row is not None:
        since = row.last_time if row.health in ("good", "suspect", "asleep") else row.since
        answer["since"] = None if since is None else service.grid.text(since)
    if found.made.levels:
        answer["width"] = _own_width(found, found.variables.index(name))
    for each in before:
        place = each.variables.index(name) if name in each.variables else None
        if place is not None and each.used[-1, place] and each.made.levels:
            answer["width_before"] = _own_width(each, place)
            break
    return answer


def _own_width(found: StoredForecast, place: int) -> float:
    one = replace(found.made, mean=found.made.mean[:, [place]], bounds=found.made.bounds[..., [place]])
    return float(_width(one))
