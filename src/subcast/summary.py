"""What a user wants to know of a series before anything else."""

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
    """One variable of a series."""

    name: str
    missing: float  # share of the steps
    longest_gap: int  # steps
    low: float
    mean: float
    high: float
    trace: str  # its course over the whole period, drawn in text


@dataclass(frozen=True)
class SeriesSummary:
    """A series at a glance: shape, period, rate, what is missing and what was repaired."""

    name: str
    steps: int
    n_variables: int
    start: str | None
    end: str | None
    rate: str | None
    missing: float
    complete_steps: float  # share of the steps at which every variable was read
    unit: str
    time_features: tuple[str, ...]
    edges: int | None  # of the graph, without loops
    has_positions: bool
    repairs: tuple[str, ...]
    copies: tuple[tuple[str, str], ...]  # pairs of variables that say the same
    windows: tuple[int, int, int] | None  # training, validation, test windows of 12 + 12 steps
    variables: tuple[VariableSummary, ...]

    def to_dict(self) -> dict[str, Any]:
        """Give it all as plain data, for JSON (a figure that does not exist is None)."""
        return {name: _plain(value) for name, value in asdict(self).items()}


def summarize(series: Series) -> SeriesSummary:
    """Summarise a series.

    Examples
    --------
    >>> import numpy as np
    >>> summary = summarize(Series(np.array([[1.0, 4.0], [2.0, np.nan], [3.0, np.nan]]), ["a", "b"]))
    >>> round(summary.missing, 3), summary.variables[1].longest_gap, summary.variables[0].trace
    (0.333, 2, '▁▅█')
    """
    if len(series) == 0:
        raise InputError(f"series {series.name!r} has no steps: there is nothing to summarize")
    absent = np.isnan(series.values)
    times = series.times
    return SeriesSummary(
        name=series.name,
        steps=len(series),
        n_variables=series.n_variables,
        start=None if times is None else _moment(times[0]),
        end=None if times is None else _moment(times[-1]),
        rate=series.freq,
        missing=series.missing_share,
        complete_steps=float((~absent.any(axis=1)).mean()),
        unit=series.unit,
        time_features=series.time_features,
        edges=None if series.graph is None else int(np.count_nonzero(series.graph - np.diag(np.diag(series.graph)))),
        has_positions=series.positions is not None,
        repairs=series.repairs,
        copies=_copies(series),
        windows=_window_counts(series),
        variables=tuple(
            _summarize_variable(name, series.values[:, place], absent[:, place])
            for place, name in enumerate(series.variables)
        ),
    )


def _summarize_variable(name: str, values: NDArray[np.float32], absent: NDArray[np.bool_]) -> VariableSummary:
    there = values[~absent].astype(np.float64)
    low, mean, high = (there.min(), there.mean(), there.max()) if there.size else (np.nan,) * 3
    return VariableSummary(
        name, float(absent.mean()), longest_run(absent), float(low), float(mean), float(high), trace(values)
    )


def longest_run(flags: NDArray[np.bool_]) -> int:
    """The length of the longest run of true.

    >>> longest_run(np.array([True, False, True, True]))
    2
    """
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8)))
    return int((edges[1::2] - edges[::2]).max(initial=0))


def trace(values: NDArray[np.float32], width: int = 18) -> str:
    """Draw a variable's course in text, each sign the mean of a stretch; a stretch without a reading is a dot.

    >>> trace(np.array([0.0, 1.0, np.nan, 2.0], dtype=np.float32))
    '▁▅·█'
    """
    bounds = np.linspace(0, values.size, min(width, values.size) + 1).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # stretches without a reading
        means = np.array([np.nanmean(values[a:b], dtype=np.float64) for a, b in pairwise(bounds)])
        low, high = np.nanmin(means), np.nanmax(means)
    if np.isnan(low):
        return "·" * means.size
    heights = (means - low) / (high - low) if high > low else np.where(np.isnan(means), np.nan, 0.0)
    return "".join("·" if np.isnan(h) else _BARS[min(int(h * len(_BARS)), len(_BARS) - 1)] for h in heights)


def _copies(series: Series) -> tuple[tuple[str, str], ...]:
    """Pairs of variables that agree at 99 % of (a sample of) the steps at which both were read and one moved."""
    rows = np.unique(np.linspace(0, len(series) - 1, min(len(series), _COPY_SAMPLE)).astype(int))
    sample = series.values[rows]  # [sample, n]
    pairs: list[tuple[str, str]] = []
    for place in range(series.n_variables - 1):
        own, others = sample[:, [place]], sample[:, place + 1 :]
        both = ~np.isnan(own) & ~np.isnan(others)
        both &= (own != own[0]) | (others != others[0])
        count = both.sum(axis=0)
        equal = ((own == others) & both).sum(axis=0)
        same = np.flatnonzero((count >= 20) & (equal >= _COPY_SHARE * count))
        pairs.extend((series.variables[place], series.variables[place + 1 + other]) for other in same)
    return tuple(pairs)


def _window_counts(series: Series) -> tuple[int, int, int] | None:
    try:
        train, val, test = series.split(12, 12)
    except InputError:
        return None
    return len(train), len(val), len(test)


def _moment(time: np.datetime64) -> str:
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
