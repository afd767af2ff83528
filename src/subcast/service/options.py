"""The options of the service, checked once; `subcast serve` and `create_app` fill them in."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from subcast.errors import InputError

CLOCKS = ("auto", "wall", "feed")
LOOPBACK = ("127.0.0.1", "::1", "localhost")


@dataclass(frozen=True)
class Options:
    """How the service runs.

    Parameters
    ----------
    folder
        of the wrapper
    database
        URL of SQLAlchemy; by default SQLite in a file beside the folder
    clock
        "wall": steps end by the clock of this machine; "feed": the newest reading says what time it is (to replay the
        past); "auto": the wall clock as soon as readings are recent
    deadline
        seconds after the time of a step at which its forecast is made whoever has reported; by default half a step,
        at most 10 minutes
    late_steps
        how many steps late a reading may come; by default a day, at least twice the lookback
    catch_up
        how many missed steps are forecast after a pause; earlier ones are only screened
    silent_steps
        steps without a reading after which nobody waits for a sensor
    keep_readings, keep_forecasts
        days after which readings and forecasts are removed; None keeps them
    keep_versions
        number of earlier versions of the wrapper that are kept for `as_of`
    body_bytes, batch
        largest body, unpacked, and largest number of readings in a request
    rate
        requests a second that a client may send on average; None for no limit
    webhook
        URL to which alerts are sent
    keys
        file with hashed keys; without, everyone who reaches the address has all roles
    score_steps
        number of past steps over which running errors and coverage are computed
    adapt
        whether the width of intervals follows past coverage
    workers
        number of processes
    """

    folder: Path
    database: str | None = None
    clock: str = "auto"
    deadline: float | None = None
    late_steps: int | None = None
    catch_up: int = 288
    silent_steps: int = 2
    keep_readings: float | None = None
    keep_forecasts: float | None = None
    keep_versions: int = 8
    body_bytes: int = 16_000_000
    batch: int = 100_000
    rate: float | None = 500.0
    webhook: str | None = None
    keys: Path | None = None
    score_steps: int = 2016
    adapt: bool = True
    workers: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "folder", Path(self.folder))
        if self.keys is not None:
            object.__setattr__(self, "keys", Path(self.keys))
        if self.clock not in CLOCKS:
            raise InputError(f"clock must be one of {', '.join(CLOCKS)}, got {self.clock!r}")
        for name in ("deadline", "keep_readings", "keep_forecasts", "rate"):
            value = getattr(self, name)
            if value is not None and not (isinstance(value, int | float) and value > 0):
                raise InputError(f"{name} must be a number above 0, got {value!r}")
        for name in ("late_steps", "catch_up", "silent_steps", "keep_versions", "body_bytes", "batch", "score_steps"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
                raise InputError(f"{name} must be a whole number of at least 1, got {value!r}")
        if self.webhook is not None and not self.webhook.startswith(("http://", "https://")):
            raise InputError("webhook must be a URL that begins with http:// or https://")
        self._check_workers()

    def _check_workers(self) -> None:
        if not isinstance(self.workers, int) or self.workers < 1:
            raise InputError(f"workers must be a whole number of at least 1, got {self.workers!r}")
        if self.workers > 1 and not self.is_postgres:
            raise InputError(
                f"{self.workers} workers need PostgreSQL, since SQLite is for one process: give "
                "--database postgresql://..., or leave --workers out"
            )

    @property
    def is_postgres(self) -> bool:
        """Whether the database is PostgreSQL."""
        return self.database is not None and self.database.startswith(("postgresql", "postgres:"))

    @property
    def url(self) -> str:
        """The URL of the database."""
        if self.database is None:
            return f"sqlite:///{self.beside('.sqlite3')}"
        return self.database

    def beside(self, suffix: str) -> Path:
        """Return a path beside the folder of the wrapper, with its name and a suffix."""
        folder = self.folder.resolve()
        return folder.parent / f"{folder.name}{suffix}"

    def to_json(self) -> str:
        """Return the options as text, for the processes of several workers."""
        values = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return json.dumps({name: str(value) if isinstance(value, Path) else value for name, value in values.items()})

    @classmethod
    def from_json(cls, text: str) -> Options:
        """Return the options from the result of `to_json`."""
        values: dict[str, Any] = json.loads(text)
        return cls(**values)


def check_address(host: str, keys: Path | None) -> None:
    """Raise if the service would listen on another address than loopback without keys."""
    if host not in LOOPBACK and keys is None:
        raise InputError(
            f"--host {host} can be reached by others, and there are no keys: make some with "
            "`subcast serve --new-key NAME:ROLE --keys keys.toml` and give --keys keys.toml, or leave --host out"
        )
