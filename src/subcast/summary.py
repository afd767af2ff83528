"""`summarize`: the main facts about a series and each of its variables."""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subcast.errors import InputError
from subcast.series import Series

_BARS = "▁▂▃▄▅▆▇█"
_COPY_SAMPLE = 500
_COPY_SHARE = 0.99


@dataclass(frozen=True)
class VariableSummary:
    """Summary of one variable of a series."""

    name: str
    missing: float  # share of the steps
    longest_gap: int  # steps
    low: float
    mean: float
    high: float
    sparkline: str  # its values over the whole period, as a line of text


@dataclass(frozen=True)
class SeriesSummary:
    """Summary of a series: size, period, rate, missing readings and repairs."""

    name: str
    steps: int
    n_variables: int
    start: str | None
    end: str | None
    zone: str | None
    rate: str | None
    missing: float
    complete_steps: float  # share of the steps without a missing reading
    unit: str
    time_features: tuple[str, ...]
    edges: int | None  # number of edges of the graph, without self-loops
    has_positions: bool
    repairs: tuple[str, ...]
    copies: tuple[tuple[str, str], ...]  # pairs of variables with equal readings
    windows: tuple[int, int, int] | None  # training, validation, test windows of 12 + 12 steps
    variables: tuple[VariableSummary, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as plain values for JSON; NaN becomes None."""
        return {name: _plain(value) for name, value in asdict(self).items()}


def summarize(series: Series) -> SeriesSummary:
    """Summarize a series.

    Examples
    --------
    >>> import numpy as np
    >>> summary = summarize(Series(np.array([[1.0, 4.0], [2.0, np.nan], [3.0, np.nan]]), ["a", "b"]))
    >>> round(summary.missing, 3), summary.variables[1].longest_gap, summary.variables[0].sparkline
    (0.333, 2, '▁▅█')
    """
    if len(series) == 0:
        raise InputError(f"series {series.name!r} has no steps: there is nothing to summarize")
    missing = np.isnan(series.values)
    times = series.wall_times
    return SeriesSummary(
        name=series.name,
        steps=len(series),
        n_variables=series.n_variables,
        start=None if times is None else _time_text(times[0]),
        end=None if times is None else _time_text(times[-1]),
        zone=series.zone,
        rate=series.freq,
        missing=series.missing_share,
        complete_steps=float((~missing.any(axis=1)).mean()),
        unit=series.unit,
        time_features=series.time_features,
        edges=None if series.graph is None else int(np.count_nonzero(series.graph - np.diag(np.diag(series.graph)))),
        has_positions=series.positions is not None,
        repairs=series.repairs,
        copies=_copies(series),
        windows=_window_counts(series),
        variables=tuple(
            _summarize_variable(name, series.values[:, column], missing[:, column])
            for column, name in enumerate(series.variables)
        ),
    )


def _summarize_variable(name: str, values: NDArray[np.float32], missing: NDArray[np.bool_]) -> VariableSummary:
    readings = values[~missing].astype(np.float64)
    low, mean, high = (readings.min(), readings.mean(), readings.max()) if readings.size else (np.nan,) * 3
    return VariableSummary(
        name, float(missing.mean()), longest_run(missing), float(low), float(mean), float(high), sparkline(values)
    )


def longest_run(flags: NDArray[np.bool_]) -> int:
    """Return the length of the longest run of True.

    >>> longest_run(np.array([True, False, True, True]))
    2
    """
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8)))
    return int((edges[1::2] - edges[::2]).max(initial=0))


def sparkline(values: NDArray[np.float32], width: int = 18) -> str:
    """Draw values as a line of text: each character is the mean of some steps, a dot if they have no reading.

    >>> sparkline(np.array([0.0, 1.0, np.nan, 2.0], dtype=np.float32))
    '▁▅·█'
    """
    bounds = np.linspace(0, values.size, min(width, values.size) + 1).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # steps without a reading
        means = np.array([np.nanmean(values[a:b], dtype=np.float64) for a, b in pairwise(bounds)])
        low, high = np.nanmin(means), np.nanmax(means)
    if np.isnan(low):
        return "·" * means.size
    heights = (means - low) / (high - low) if high > low else np.where(np.isnan(means), np.nan, 0.0)
    return "".join("·" if np.isnan(h) else _BARS[min(int(h * len(_BARS)), len(_BARS) - 1)] for h in heights)


def _copies(series: Series) -> tuple[tuple[str, str], ...]:
    """Return pairs of variables with equal readings at 99 % of the steps.

    Counted on a sample of the steps, where both have a reading and at least one differs from its first reading.
    """
    rows = np.unique(np.linspace(0, len(series) - 1, min(len(series), _COPY_SAMPLE)).astype(int))
    sample = series.values[rows]  # [sample, n]
    pairs: list[tuple[str, str]] = []
    for column in range(series.n_variables - 1):
        own, others = sample[:, [column]], sample[:, column + 1 :]
        both = ~np.isnan(own) & ~np.isnan(others)
        both &= (own != own[0]) | (others != others[0])
        count = both.sum(axis=0)
        equal = ((own == others) & both).sum(axis=0)
        same = np.flatnonzero((count >= 20) & (equal >= _COPY_SHARE * count))
        pairs.extend((series.variables[column], series.variables[column + 1 + other]) for other in same)
    return tuple(pairs)


def _window_counts(series: Series) -> tuple[int, int, int] | None:
    try:
        train, val, test = series.split(12, 12)
    except InputError:
        return None
    return len(train), len(val), len(test)


def _time_text(time: np.datetime64) -> str:
    text = str(time.astype("datetime64[s]")).replace("T", " ")
    return text.removesuffix(":00") if text.endswith(":00") else text


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not np.isfinite(value):
        return None
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
