"""`subcast sensors`: the health of the sensors of a running service, planned maintenance, and replaced sensors."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from subcast.commands.service_client import KEY_VARIABLE, ServiceClient
from subcast.names import plural

_ORDER = ("dead", "stuck", "drifting", "biased", "noisy", "suspect", "maintenance", "unknown", "asleep", "good")
_PATIENCE = 5.0  # seconds for which a service that is away is asked


@contextmanager
def service_at(url: str) -> Iterator[ServiceClient]:
    """A client of a service, with the key of the environment; closed at the end."""
    client = ServiceClient(url, os.environ.get(KEY_VARIABLE), patience=_PATIENCE)
    try:
        yield client
    finally:
        client.close()


def list_sensors(url: str) -> dict[str, Any]:
    """Return the sensors of a service, the ill ones first."""
    with service_at(url) as client:
        found: dict[str, Any] = client.get("/v1/sensors")
    rank = {health: place for place, health in enumerate(_ORDER)}
    found["sensors"].sort(key=lambda sensor: rank.get(sensor["state"], 0))
    return found


def show_sensors(found: dict[str, Any], *, every: bool = False) -> None:
    """Print the sensors as a table; those that are well only if asked for."""
    console = Console(highlight=False)
    ill = [sensor for sensor in found["sensors"] if sensor["state"] not in ("good", "asleep")]
    shown = found["sensors"] if every else ill
    step = found["step"]
    console.print(escape(f"after step {step}" if step else "no step yet"), soft_wrap=True)
    if shown:
        table = Table(box=None, pad_edge=False)
        for name in ("sensor", "state", "since", "last reading"):
            table.add_column(name, no_wrap=True)
        table.add_column("why", overflow="fold")
        for sensor in shown:
            table.add_row(*(escape(cell) for cell in _cells(sensor, step or "")))
        console.print(table)
    well = len(found["sensors"]) - len(ill)
    console.print(f"{plural(len(ill), 'sensor')} not well, {plural(well, 'sensor')} well", soft_wrap=True)


def _cells(sensor: dict[str, Any], step: str) -> tuple[str, ...]:
    last = "" if sensor["last_time"] is None else f"{sensor['last_value']:g} at {_short(sensor['last_time'], step)}"
    well = sensor["state"] in ("good", "unknown")
    since = "" if well or sensor["since"] is None else _short(sensor["since"], step)
    by_hand = ["set by hand"] if sensor["override"] is not None else []
    return sensor["sensor"], sensor["state"], since, last, "; ".join([*by_hand, *sensor["reasons"]])


def _short(time: str, step: str) -> str:
    """Return a time without its day if that is the day of the step, and without seconds if there are none.

    >>> _short("2026-05-01T10:00:00", "2026-05-01T12:00:00"), _short("2026-04-30T10:00:30", "2026-05-01T12:00:00")
    ('10:00', '2026-04-30T10:00:30')
    """
    day, _, rest = time.partition("T")
    clock = rest[:5] if rest[5:8] == ":00" else rest[:8]
    return clock if step.startswith(day) else f"{day}T{clock}"


def maintain(url: str, sensor: str, start: str, end: str, reason: str) -> dict[str, Any]:
    """Plan maintenance of a sensor."""
    body = {"sensor": sensor, "start": start, "end": end, "reason": reason}
    with service_at(url) as client:
        planned: dict[str, Any] = client.post("/v1/maintenance", body)
    return planned


def replace_sensor(url: str, sensor: str, name: str, at: str | None, reason: str) -> dict[str, Any]:
    """Say that another device has taken the place of a sensor: what the old one sent becomes holes."""
    body = {"sensor": sensor, "name": name, "at": at, "reason": reason}
    with service_at(url) as client:
        replaced: dict[str, Any] = client.post("/v1/replacements", body)
    return replaced


def replacements(url: str) -> list[dict[str, Any]]:
    """Return the sensors that were replaced, with when and why."""
    with service_at(url) as client:
        found: list[dict[str, Any]] = client.get("/v1/replacements")["replacements"]
    return found
