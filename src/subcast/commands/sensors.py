"""`subcast sensors`: the health of the sensors, planned maintenance, and replaced sensors.

A running service is asked; what a stopped one has stored is read and changed in its database.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from subcast.commands.service_client import KEY_VARIABLE, ServiceClient
from subcast.errors import InputError
from subcast.names import plural

if TYPE_CHECKING:
    from subcast.service.runtime import Service

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


class Stopped(NamedTuple):
    """A service that does not run.

    Attributes
    ----------
    folder
        of the wrapper
    database
        URL; None for the file beside the folder
    """

    folder: Path
    database: str | None = None


Where = str | Stopped
"""The address of a running service, or a stopped one."""


def service_of(url: str, folder: Path | None, database: str | None) -> Where:
    """Return the service that the options of the command line mean."""
    if folder is None:
        if database is not None:
            raise InputError("--database goes with --folder, the folder of the wrapper: give both, or neither")
        return url
    if not (folder / "wrapper.json").exists():
        raise InputError(f"--folder {folder} holds no wrapper (wrapper.json is missing): give the folder of serve")
    return Stopped(folder, database)


@contextmanager
def stopped_service(where: Stopped) -> Iterator[Service]:
    """The service of a folder without its server; what is stored is on disk at the end."""
    from subcast.service.options import Options
    from subcast.service.problems import ProblemError
    from subcast.service.runtime import Service

    if where.database is None and not Options(where.folder).beside(".sqlite3").exists():
        raise InputError(f"no service has run on {where.folder} yet: there is no database beside it; give --database")
    try:
        service = Service(Options(where.folder, where.database))
        try:
            yield service
        finally:
            service.close()
    except ProblemError as error:
        raise InputError(error.detail) from error


def list_sensors(where: Where) -> dict[str, Any]:
    """Return the sensors of a service, the ill ones first."""
    found: dict[str, Any]
    if isinstance(where, Stopped):
        from subcast.service.routes_sensors import sensor_list

        with stopped_service(where) as service:
            found = sensor_list(service)
    else:
        with service_at(where) as client:
            found = client.get("/v1/sensors")
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


def maintain(where: Where, sensor: str, start: str, end: str, reason: str) -> dict[str, Any]:
    """Plan maintenance of a sensor."""
    body = {"sensor": sensor, "start": start, "end": end, "reason": reason}
    if isinstance(where, Stopped):
        from subcast.service.models import MaintenanceRequest
        from subcast.service.routes_sensors import plan_maintenance

        with stopped_service(where) as service:
            return plan_maintenance(service, _checked(MaintenanceRequest, body))
    with service_at(where) as client:
        planned: dict[str, Any] = client.post("/v1/maintenance", body)
    return planned


def replace_sensor(where: Where, sensor: str, name: str, at: str | None, reason: str) -> dict[str, Any]:
    """Say that another device has taken the place of a sensor: what the old one sent becomes holes."""
    body = {"sensor": sensor, "name": name, "at": at, "reason": reason}
    if isinstance(where, Stopped):
        from subcast.service import routes_replacements
        from subcast.service.models import ReplacementRequest

        with stopped_service(where) as service:
            return routes_replacements.replace_sensor(service, _checked(ReplacementRequest, body))
    with service_at(where) as client:
        replaced: dict[str, Any] = client.post("/v1/replacements", body)
    return replaced


def _checked(model: Any, body: dict[str, Any]) -> Any:
    """Return the body of a request if it is valid."""
    from pydantic import ValidationError

    try:
        return model.model_validate(body)
    except ValidationError as error:
        first = error.errors()[0]
        raise InputError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None
