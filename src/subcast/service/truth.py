"""Truth: past forecasts are scored as readings come in, and the width of intervals follows their coverage.

For each step the readings that were believed are compared with all forecasts of that step, grouped by the share of
readings that those forecasts had. Intervals are widened by a factor for each group (adaptive conformal): it grows when
more readings than the level allows lie outside, and shrinks when fewer do.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subcast.subset.adaptive import GROUPS, followed, group_of

_SUMS = ("readings", "error", "expected", "inside", "inside_unadapted", "bounded")
AGED_DRIFT, AGED_COVERAGE, ENOUGH_STEPS = 25.0, 0.1, 100  # percent, share, steps


@dataclass(frozen=True, eq=False)
class PastForecast:
    """What scoring needs of a stored forecast."""

    time: int
    share: float
    factor: float
    level: float | None
    mean: NDArray[np.float32]
    lower: NDArray[np.float32] | None
    upper: NDArray[np.float32] | None
    expected_error: NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Score:
    """How the readings of one step compare with the forecasts of it.

    Parameters
    ----------
    groups
        by group: sums over readings of the absolute error, of the expected error, and of those inside their interval
    sensors
        [2, n] sum of absolute errors, and count
    ahead
        [2, h] the same by steps ahead
    """

    groups: dict[int, dict[str, float]]
    sensors: NDArray[np.float64]
    ahead: NDArray[np.float64]

    @property
    def readings(self) -> int:
        """Number of comparisons."""
        return int(self.ahead[1].sum())


def score(time: int, values: NDArray[Any], past: Iterable[tuple[int, PastForecast]], horizon: int) -> Score:
    """Compare the believed readings [n] of a step with forecasts of it, each with the number of steps ahead."""
    n = len(values)
    sensors, ahead = np.zeros((2, n)), np.zeros((2, horizon))
    groups: dict[int, dict[str, float]] = {}
    for steps, forecast in past:
        row = steps - 1
        error = np.abs(values - forecast.mean[row].astype(np.float64))
        known = ~np.isnan(error)
        if not known.any():
            continue
        sums = groups.setdefault(group_of(forecast.share), dict.fromkeys(_SUMS, 0.0))
        sums["readings"] += float(known.sum())
        sums["error"] += float(error[known].sum())
        sensors[0, known] += error[known]
        sensors[1, known] += 1
        ahead[:, row] += [error[known].sum(), known.sum()]
        _score_bounds(sums, values, known, forecast, row)
    return Score(groups, sensors, ahead)


def _score_bounds(
    sums: dict[str, float], values: NDArray[Any], known: NDArray[np.bool_], forecast: PastForecast, row: int
) -> None:
    if forecast.lower is None or forecast.upper is None:
        return
    mean, lower, upper = (each[row][known] for each in (forecast.mean, forecast.lower, forecast.upper))
    readings = values[known]
    sums["bounded"] += float(known.sum())
    sums["expected"] += float(forecast.expected_error[row][known].sum())
    sums["inside"] += float(((readings >= lower) & (readings <= upper)).sum())
    plain_lower, plain_upper = (mean + (bound - mean) / forecast.factor for bound in (lower, upper))
    sums["inside_unadapted"] += float(((readings >= plain_lower) & (readings <= plain_upper)).sum())


def adapted(factors: Sequence[float], scored: Score, level: float | None) -> tuple[float, ...]:
    """Return the factors after a step: each follows the share of its readings that lay outside.

    >>> one = Score({4: {"bounded": 10.0, "inside": 5.0}}, np.zeros((2, 1)), np.zeros((2, 1)))
    >>> adapted((1.0,) * 5, one, 0.9)[4] > 1
    True
    """
    changed = list(factors)
    for group, sums in scored.groups.items():
        if level is not None and sums["bounded"]:
            changed[group] = followed(changed[group], sums["inside"] / sums["bounded"], level)
    return tuple(changed)


def to_row(time: int, scored: Score, factors: Sequence[float], level: float | None) -> dict[str, Any]:
    """Return a score as a row of the table."""
    shares = {"factors": list(factors), "groups": scored.groups, "level": level}
    return {
        "time": time,
        "readings": scored.readings,
        "shares": json.dumps(shares),
        "sensors": scored.sensors.astype("<f8").tobytes(),
        "ahead": scored.ahead.astype("<f8").tobytes(),
    }


def factors_of(shares: str | None) -> tuple[float, ...]:
    """Return the factors that a row stores; 1 for all groups without a row."""
    if shares is None:
        return (1.0,) * len(GROUPS)
    return tuple(float(factor) for factor in json.loads(shares)["factors"])


def summary(rows: Sequence[Any], n: int, horizon: int) -> dict[str, Any]:
    """Return what the rows of the last steps say together, with sums by group, by sensor and by steps ahead."""
    groups = {group: dict.fromkeys(_SUMS, 0.0) for group in range(len(GROUPS))}
    sensors, ahead = np.zeros((2, n)), np.zeros((2, horizon))
    steps = 0
    for row in rows:
        steps += row.readings > 0
        for group, sums in json.loads(row.shares)["groups"].items():
            for name, value in sums.items():
                groups[int(group)][name] += value
        own, by_step = (np.frombuffer(blob, dtype="<f8").reshape(2, -1) for blob in (row.sensors, row.ahead))
        if own.shape == sensors.shape and by_step.shape == ahead.shape:  # of a wrapper with the same sensors
            sensors, ahead = sensors + own, ahead + by_step
    total = {name: sum(groups[group][name] for group in groups) for name in _SUMS}
    return {"steps": steps, "total": total, "groups": groups, "sensors": sensors, "ahead": ahead}


def ratio(part: float, whole: float) -> float | None:
    """Return a share; None of nothing."""
    return part / whole if whole else None


def drift_of(total: dict[str, float]) -> float | None:
    """Return by how many percent the error exceeds what validation led to expect."""
    error, expected = ratio(total["error"], total["readings"]), ratio(total["expected"], total["bounded"])
    return None if error is None or not expected else 100 * (error / expected - 1)


def aging(found: dict[str, Any], level: float | None) -> str | None:
    """Return a sentence if the model seems to have aged; None if not, or if too little is known."""
    total = found["total"]
    drift, coverage = drift_of(total), ratio(total["inside_unadapted"], total["bounded"])
    if found["steps"] < ENOUGH_STEPS or level is None or coverage is None:
        return None
    if drift is not None and drift > AGED_DRIFT:
        return (
            f"the error of the last {found['steps']:,} steps is {drift:.0f} % larger than validation led to expect: "
            "refresh the wrapper with new readings, or train again"
        )
    if coverage < level - AGED_COVERAGE:
        return (
            f"{100 * coverage:.0f} % of the readings of the last {found['steps']:,} steps lie in intervals meant for "
            f"{100 * level:.0f} % (before they are adapted): refresh the wrapper with new readings, or train again"
        )
    return None
