"""Health of the sensors after each step, the events that it causes, and the webhook to which they are sent."""

from __future__ import annotations

import json
import logging
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from subcast.screening import Health
from subcast.service.database import Database
from subcast.service.grid import Grid, moment_text
from subcast.service.schema import events, health, sensors

_LOGGER = logging.getLogger(__name__)
KINDS = {"dead": "dead", "stuck": "stuck", "biased": "drift", "drifting": "drift", "noisy": "noisy"}
_TIMEOUT, _MOST_ATTEMPTS = 5.0, 10


def health_rows(
    found: Mapping[str, Health],
    ids: NDArray[np.int64],
    flags: NDArray[np.int8],
    raw: NDArray[Any],
    before: Mapping[int, Any],
    at: int,
    grid: Grid,
    serviced: NDArray[np.bool_],
    silent_steps: int,
) -> list[dict[str, Any]]:
    """Return the row of each sensor after a step.

    Parameters
    ----------
    found
        health by name, in the order of the sensors
    ids, flags, raw, serviced
        [n], numbers of the sensors, flags, readings, and whether in maintenance
    before
        rows after the step before, by number
    at
        the step
    grid, silent_steps
        the steps, and how many of them without a reading make a sensor one that nobody waits for
    """
    rows = []
    for place, (number, each) in enumerate(zip(ids.tolist(), found.values(), strict=True)):
        old = before.get(number)
        state = "maintenance" if serviced[place] else each.state
        arrived = not np.isnan(raw[place])
        last_time = at if arrived else old.last_time if old is not None else None
        missed = silent_steps if last_time is None else grid.count(last_time, at)
        if last_time is None and old is None:
            missed = 1
        since = _since(each) if state != "maintenance" else None
        if since is None:
            since = old.since if old is not None and old.health == state else at
        rows.append({
            "sensor": number,
            "health": state,
            "since": since,
            "flag": int(flags[place]),
            "reasons": json.dumps([each.reason] if each.reason else []),
            "last_time": last_time,
            "last_value": float(raw[place]) if arrived else old.last_value if old is not None else None,
            "waited_for": int(missed < silent_steps and state not in ("dead", "maintenance")),
            "alerted": int(state in KINDS),
        })  # fmt: skip
    return rows


def light_of(state: str, flag: int) -> str:
    """Return the health that a state of the screening counts as.

    >>> light_of("stuck", 4), light_of("dead", 9), light_of("asleep", 1)
    ('bad', 'missing', 'good')
    """
    if state in KINDS:
        return "missing" if state == "dead" and flag == 9 else "bad"
    return {"asleep": "good"}.get(state, state)


def _since(found: Health) -> int | None:
    since = found.since
    return int(since.astype("datetime64[ns]").astype(np.int64)) if isinstance(since, np.datetime64) else None


def store_health(connection: sa.Connection, rows: list[dict[str, Any]], before: Mapping[int, Any]) -> None:
    """Write the rows of all sensors."""
    new = [row for row in rows if row["sensor"] not in before]
    if new:
        connection.execute(health.insert(), new)
    known = [{**row, "number": row["sensor"]} for row in rows if row["sensor"] in before]
    if known:
        columns = [name for name in rows[0] if name != "sensor"]
        change = health.update().where(health.c.sensor == sa.bindparam("number"))
        connection.execute(change.values({name: sa.bindparam(f"new_{name}") for name in columns}), [
            {"number": row["number"], **{f"new_{name}": row[name] for name in columns}} for row in known
        ])  # fmt: skip


def health_events(
    rows: list[dict[str, Any]], before: Mapping[int, Any], names: Mapping[int, str], at: int, grid: Grid
) -> list[dict[str, Any]]:
    """Return what changed: sensors that died, stick, drift or recovered."""
    found = []
    for row in rows:
        old = before.get(row["sensor"])
        was = old.health if old is not None else "good"
        name = names[row["sensor"]]
        if row["health"] in KINDS and (was not in KINDS or KINDS[was] != KINDS[row["health"]]):
            reason = "; ".join(json.loads(row["reasons"])) or "no reading"
            text = f"{name} is {row['health']} since {grid.text(row['since'])}: {reason}"
            found.append(event(KINDS[row["health"]], text, at, row["sensor"]))
        elif was in KINDS and row["health"] not in (*KINDS, "maintenance"):
            found.append(event("recovered", f"{name} has recovered", at, row["sensor"]))
    return found


def event(kind: str, text: str, at: int | None = None, sensor: int | None = None) -> dict[str, Any]:
    """Return an event as a row of the table."""
    return {"at": time.time_ns(), "time": at, "kind": kind, "sensor": sensor, "text": text, "attempts": 0}


def store_events(connection: sa.Connection, rows: list[dict[str, Any]]) -> None:
    """Write events and log them."""
    if rows:
        connection.execute(events.insert(), rows)
        for row in rows:
            _LOGGER.warning("event", extra={"event_kind": row["kind"], "text": row["text"]})


def send_events(database: Database, url: str, grid: Grid) -> int:
    """Send the events that were not sent yet to the webhook, the oldest first; return how many were sent."""
    waiting = sa.select(events).where(events.c.sent_at.is_(None), events.c.attempts < _MOST_ATTEMPTS)
    with database.read() as connection:
        rows = connection.execute(waiting.order_by(events.c.id).limit(20)).all()
        names = {row.id: row.name for row in connection.execute(sa.select(sensors))} if rows else {}
    sent = 0
    for row in rows:
        success = _post(url, {
            "id": row.id, "at": moment_text(row.at), "kind": row.kind, "sensor": names.get(row.sensor),
            "step": None if row.time is None else grid.text(row.time), "text": row.text,
        })  # fmt: skip
        values: dict[str, Any] = {"attempts": row.attempts + 1}
        if success:
            values["sent_at"] = time.time_ns()
            sent += 1
        with database.write() as connection:
            connection.execute(events.update().where(events.c.id == row.id).values(**values))
        if not success:
            break
    return sent


def _post(url: str, content: dict[str, Any]) -> bool:
    body = json.dumps(content).encode()
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"}, method="POST")
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT) as answer:
            return 200 <= int(answer.status) < 300
    except (urllib.error.URLError, OSError, ValueError):
        _LOGGER.warning("the webhook did not take an event")
        return False
