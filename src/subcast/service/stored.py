"""Stored forecasts: rows to forecasts and back, without losing a bit."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from subcast.service.forecasting import Made, facts_of
from subcast.service.grid import Grid
from subcast.service.schema import facts, forecasts
from subcast.service.truth import PastForecast
from subcast.service.versions import Version


@dataclass(frozen=True, eq=False)
class StoredForecast:
    """A forecast as it was stored.

    Parameters
    ----------
    row
        its row of the table
    made
        its numbers
    variables
        names of the sensors
    used
        [t, n], which readings of the window were used
    flags
        [n], flags of the last step
    """

    row: Any
    made: Made
    variables: tuple[str, ...]
    used: NDArray[np.bool_]
    flags: NDArray[np.int8]

    @property
    def time(self) -> int:
        """The last step of its window."""
        return int(self.row.time)

    @property
    def past(self) -> PastForecast:
        """What scoring needs."""
        made = self.made
        level, lower, upper = None, None, None
        if made.levels:
            widest = int(np.argmax(made.levels))
            level, (lower, upper) = made.levels[widest], made.bounds[widest]
        return PastForecast(
            self.time, made.observed_share, float(self.row.factor), level, made.mean, lower, upper, made.expected_error
        )


def to_row(
    made: Made, version: Version, used: NDArray[np.bool_], flags: NDArray[np.int8], **rest: Any
) -> dict[str, Any]:
    """Return a forecast as a row of the table; `rest` are further columns."""
    return {
        **version.names,
        "quality": made.quality,
        "expected_gap": made.expected_gap,
        "observed_share": made.observed_share,
        "facts": facts_of(made, len(used)),
        "used": np.packbits(used, axis=None).tobytes(),
        "flags": flags.astype(np.int8).tobytes(),
        "mean": made.mean.astype("<f4").tobytes(),
        "bounds": made.bounds.astype("<f4").tobytes(),
        "expected_error": made.expected_error.astype("<f4").tobytes(),
        **rest,
    }


def from_row(row: Any, variables: tuple[str, ...]) -> StoredForecast:
    """Return the forecast that a row stores."""
    stored = json.loads(row.facts)
    n, levels = len(variables), tuple(stored["levels"])
    mean = np.frombuffer(row.mean, dtype="<f4").reshape(-1, n).astype(np.float32)
    horizon = len(mean)
    bounds = np.frombuffer(row.bounds, dtype="<f4").reshape(len(levels), 2, horizon, n).astype(np.float32)
    expected = np.frombuffer(row.expected_error, dtype="<f4").astype(np.float32)
    expected = expected.reshape(horizon, n) if expected.size else expected.reshape(0, 0)
    bits = np.unpackbits(np.frombuffer(row.used, dtype=np.uint8))
    used = bits[: stored["lookback"] * n].reshape(-1, n).astype(bool)
    made = Made(
        mean,
        bounds,
        expected,
        used.mean(axis=0).astype(np.float32),
        levels,
        row.quality,
        row.expected_gap,
        row.observed_share,
        tuple(stored["notes"]),
        stored["neighbors"],
    )
    return StoredForecast(row, made, variables, used, np.frombuffer(row.flags, dtype=np.int8))


def remember_variables(connection: sa.Connection, version: Version) -> None:
    """Keep the names of the sensors of a version, so that its forecasts can be read after the sensors changed."""
    name = f"v{version.fingerprint}"
    known = connection.execute(sa.select(facts.c.name).where(facts.c.name == name)).scalar()
    if known is None:
        stored = {"variables": list(version.wrapper.variables), "lookback": version.wrapper.lookback}
        connection.execute(facts.insert().values(name=name, value=json.dumps(stored)))


def variables_of(connection: sa.Connection, fingerprint: str) -> tuple[str, ...]:
    """Return the names of the sensors of a version."""
    value = connection.execute(sa.select(facts.c.value).where(facts.c.name == f"v{fingerprint}")).scalar()
    return tuple(json.loads(value)["variables"]) if value else ()


def read(connection: sa.Connection, query: sa.Select[Any], known: dict[str, tuple[str, ...]]) -> list[StoredForecast]:
    """Return the forecasts that a query on the table finds; `known` remembers names of sensors by version."""
    found = []
    for row in connection.execute(query):
        if row.version not in known:
            known[row.version] = variables_of(connection, row.version)
        found.append(from_row(row, known[row.version]))
    return found


def forecasts_of(
    connection: sa.Connection, grid: Grid, at: int, version: Version, known: dict[str, tuple[str, ...]]
) -> list[tuple[int, PastForecast]]:
    """Return the forecasts of a step, each with the number of steps ahead at which it was made."""
    first = grid.after(at, -version.wrapper.horizon)
    query = sa.select(forecasts).where(forecasts.c.time >= first, forecasts.c.time < at)
    return [
        (grid.count(each.time, at), each.past)
        for each in read(connection, query.order_by(forecasts.c.time), known)
        if each.variables == version.wrapper.variables and len(each.made.mean) >= grid.count(each.time, at) > 0
    ]


def latest(connection: sa.Connection, known: dict[str, tuple[str, ...]]) -> StoredForecast | None:
    """Return the forecast of the last step that has one."""
    query = sa.select(forecasts).order_by(forecasts.c.time.desc()).limit(1)
    return next(iter(read(connection, query, known)), None)
