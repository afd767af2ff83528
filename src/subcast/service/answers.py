"""Answers about forecasts: stored or just made, of all sensors or of some."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from subcast.service.forecasting import Made
from subcast.service.grid import SECOND, Grid, moment_text
from subcast.service.schema import revisions
from subcast.service.stored import StoredForecast

_STALE_STEPS = 2


def plain(values: NDArray[Any]) -> list[Any]:
    """Return numbers as a list, None for NaN."""
    return [None if value != value else value for value in np.asarray(values, dtype=np.float64).tolist()]


def forecast_answer(
    made: Made,
    variables: Sequence[str],
    grid: Grid,
    *,
    step: int,
    made_at: int,
    now: int,
    stale_after: float,
    reason: str,
    fingerprints: dict[str, str],
    factor: float,
    flags: NDArray[np.int8],
    used: NDArray[np.bool_],
    unit: str,
    sensors: Sequence[str] | None = None,
    history: NDArray[Any] | None = None,
    revised: list[dict[str, Any]] | None = None,
) -> dict[str, Any]:
    """Return a forecast as the API answers it.

    Parameters
    ----------
    made, variables
        the forecast and the names of its sensors
    step, made_at, now, stale_after
        the last step of its window, when it was made, the present by the clock of the feed, and the seconds after the
        step from which it is stale
    flags, used
        [n] flags of the last step and [t, n] the readings that were used
    sensors
        names of those to answer; all by default
    history
        [t, n] readings of the window
    """
    chosen = list(variables if sensors is None else sensors)
    places = {name: place for place, name in enumerate(variables)}
    age = (now - step) / SECOND
    ahead = grid.ahead(step, len(made.mean))
    return {
        "step": grid.text(step),
        "made_at": moment_text(made_at),
        "age_seconds": age,
        "stale": age > stale_after,
        "reason": reason,
        "quality": made.quality,
        "expected_gap": made.expected_gap,
        "observed_share": made.observed_share,
        "present": [name for name, place in places.items() if used[:, place].any()],
        "silent": [name for name, place in places.items() if not used[-1, place]],
        "times": grid.texts(ahead),
        "levels": list(made.levels),
        "forecasts": [_sensor(made, name, places[name], flags, used, history) for name in chosen],
        "unit": unit,
        "zone": grid.zone,
        "freq": grid.steps.freq,
        "notes": list(made.notes) + ([f"this forecast is {_age(age)} old"] if age > stale_after else []),
        "neighbors": neighbors(made, grid),
        "fingerprints": fingerprints,
        "interval_factor": factor,
        "revisions": revised or [],
    }


def _age(seconds: float) -> str:
    for size, unit in ((86_400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} seconds"


def _sensor(
    made: Made, name: str, place: int, flags: NDArray[np.int8], used: NDArray[np.bool_], history: NDArray[Any] | None
) -> dict[str, Any]:
    intervals = [
        {"level": level, "lower": plain(bounds[0, :, place]), "upper": plain(bounds[1, :, place])}
        for level, bounds in zip(made.levels, made.bounds, strict=True)
    ]
    return {
        "sensor": name,
        "present": bool(used[:, place].any()),
        "observed": float(used[:, place].mean()),
        "flag": int(flags[place]),
        "mean": plain(made.mean[:, place]),
        "intervals": intervals,
        "history": None if history is None else plain(history[:, place]),
    }


def neighbors(made: Made, grid: Grid) -> list[dict[str, Any]]:
    """Return the past windows that a forecast leaned on, the heaviest first."""
    found = made.neighbors
    ends: list[Any] = list(found["end"]) or [None] * len(found["start"])
    texts = [None if end is None else grid.text(end) for end in ends]
    rows = [
        {"end": end, "weight": weight, "distance": distance if np.isfinite(distance) else 0.0}
        for end, weight, distance in zip(texts, found["weight"], found["distance"], strict=True)
    ]
    return sorted(rows, key=lambda row: -float(row["weight"] or 0))


def revisions_of(connection: sa.Connection, grid: Grid, step: int) -> list[dict[str, Any]]:
    """Return how late readings would change a stored forecast."""
    query = sa.select(revisions).where(revisions.c.time == step).order_by(revisions.c.id.desc()).limit(20)
    return [row for row in (revision(each, grid) for each in connection.execute(query)) if row is not None]


def revision(row: Any, grid: Grid) -> dict[str, Any] | None:
    """Return a row of the table as the API answers it; None for a forecast that was compared and cannot be."""
    facts = json.loads(row.facts)
    return None if facts is None else {"step": grid.text(row.time), "noticed_at": moment_text(row.noticed_at), **facts}


def stored_answer(
    forecast: StoredForecast,
    grid: Grid,
    *,
    now: int,
    deadline: float,
    unit: str,
    sensors: Sequence[str] | None = None,
    history: NDArray[Any] | None = None,
    revised: list[dict[str, Any]] | None = None,
) -> dict[str, Any]:
    """Return a stored forecast as the API answers it."""
    row = forecast.row
    names = {name: getattr(row, name) for name in ("version", "model", "bank", "settings")}
    return forecast_answer(
        forecast.made, forecast.variables, grid, step=forecast.time, made_at=row.made_at, now=now,
        stale_after=_STALE_STEPS * grid.length / SECOND + deadline, reason=row.reason, fingerprints=names,
        factor=row.factor, flags=forecast.flags, used=forecast.used, unit=unit, sensors=sensors, history=history,
        revised=revised,
    )  # fmt: skip
