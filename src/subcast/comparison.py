"""Compare methods on the same windows and the same draws of S: sums of errors, gaps, and intervals of the gaps.

A `Tally` holds the sums of the errors of one method: for every draw of S and every step over all windows, and for
every draw of S and every stretch of consecutive windows at single steps. A `Comparison` holds the tallies of several
methods. Every interval is a bootstrap interval that resamples draws of S and stretches of windows, the same ones for
both methods: another S, and another period, would have given another gap. Windows are resampled in stretches because
neighboring windows overlap.

`Comparison.to_record` gives the tallies as plain values for JSON, and `Comparison.from_record` reads them back, so that
any interval can be computed again from a record.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from subcast import metrics
from subcast.errors import DataError, InputError
from subcast.metrics import METRICS, Sums

if TYPE_CHECKING:
    import pandas as pd

ORACLE = "oracle"
STRETCHES = 50
"""Number of stretches of consecutive windows."""
LEAST_DRAWS = 6
"""Least number of draws for an interval: with fewer, percentiles are little more than the smallest and largest draw."""
RESAMPLES = 1000
LEVEL = 0.95
DIGITS = 8
"""Significant digits of the sums in a record."""


@dataclass(frozen=True)
class Gap:
    """A gap to the oracle (or to another method) in per cent, with its bootstrap interval.

    `lower` and `upper` are NaN when there are fewer than `LEAST_DRAWS` draws of S.
    """

    gap: float
    lower: float
    upper: float
    level: float
    draws: int

    @property
    def interval(self) -> list[float] | None:
        """Both ends of the interval, None when there is none."""
        return [self.lower, self.upper] if self.lower == self.lower else None

    def __str__(self) -> str:
        """Return e.g. '2.1 % (1.4 to 2.9)'.

        >>> str(Gap(2.14, 1.42, 2.88, 0.95, 100))
        '2.1 % (1.4 to 2.9)'
        """
        ends = f" ({self.lower:.1f} to {self.upper:.1f})" if self.interval else ""
        return f"{self.gap:.1f} %{ends}"


@dataclass(frozen=True, eq=False)
class Tally:
    """Sums of the errors of one method for some draws of S.

    Attributes
    ----------
    by_step
        over all windows, [draws, h]
    by_stretch
        for some steps of the horizon (counted from 1), over each stretch of windows, [draws, stretches]
    """

    by_step: Sums
    by_stretch: Mapping[int, Sums]

    @classmethod
    def of(cls, forecast: ArrayLike, target: ArrayLike, steps: Sequence[int] | None = None) -> Tally:
        """Tally the forecasts of one draw of S.

        Parameters
        ----------
        forecast, target
            [b, h, s] in the order of time; a target of NaN does not count
        steps
            the steps that are also tallied by stretch of windows, counted from 1; all by default

        Examples
        --------
        >>> target = np.zeros((100, 2, 3))
        >>> tally = Tally.of(target + 1, target)
        >>> tally.by_step.absolute, tally.by_stretch[2].absolute.shape
        (array([[300., 300.]]), (1, 50))
        """
        return cls.of_windows(metrics.sum_by_window(forecast, target), steps)

    @classmethod
    def of_windows(cls, by_window: Sums, steps: Sequence[int] | None = None) -> Tally:
        """Tally the errors of the windows of one draw of S, [b, h]; see `of`."""
        windows, horizon = by_window.count.shape
        stretches = min(STRETCHES, max(1, windows))
        by_stretch = by_window.map(
            lambda sums: np.stack([stretch.sum(axis=0) for stretch in np.array_split(sums, stretches)])
        )  # [stretches, h]
        return cls(
            by_window.map(lambda sums: sums.sum(axis=0, keepdims=True)),
            {
                step: by_stretch.map(lambda sums, column=step - 1: sums[None, :, column])  # type: ignore[misc]
                for step in (range(1, horizon + 1) if steps is None else steps)
            },
        )

    @classmethod
    def join(cls, tallies: Sequence[Tally]) -> Tally:
        """Join the tallies of one method for several draws of S."""
        return cls(
            Sums.concatenate(tally.by_step for tally in tallies),
            {step: Sums.concatenate(tally.by_stretch[step] for tally in tallies) for step in tallies[0].by_stretch},
        )


@dataclass(frozen=True, eq=False)
class Comparison:
    """Errors of several methods on the same windows under the same draws of S.

    Attributes
    ----------
    tallies
        of each method by name
    draws
        S of each draw: indices of the variables that are present
    starts
        first step of each window in the test series
    """

    tallies: Mapping[str, Tally]
    draws: Sequence[NDArray[np.int64]]
    starts: range
    _resampled: dict[tuple[Any, ...], NDArray[np.float64]] = field(default_factory=dict, init=False, repr=False)

    @property
    def methods(self) -> list[str]:
        """Names of the methods."""
        return list(self.tallies)

    @property
    def windows(self) -> int:
        """Number of windows."""
        return len(self.starts)

    @property
    def horizon(self) -> int:
        """Number of steps of the forecasts."""
        return int(self._any.by_step.count.shape[1])

    @property
    def mae(self) -> dict[str, NDArray[np.float64]]:
        """Mean absolute errors of each method, [draws, h]."""
        return {name: tally.by_step.errors("mae") for name, tally in self.tallies.items()}

    @property
    def rmse(self) -> dict[str, NDArray[np.float64]]:
        """Roots of the mean squared errors of each method, [draws, h]."""
        return {name: tally.by_step.errors("rmse") for name, tally in self.tallies.items()}

    @property
    def _any(self) -> Tally:
        return next(iter(self.tallies.values()))

    def errors(self, method: str, metric: str, step: int) -> NDArray[np.float64]:
        """Return the error of each draw at one step (counted from 1), [draws]."""
        if method not in self.tallies:
            raise InputError(f"there is no method {method!r}; there are {', '.join(self.tallies)}")
        if step not in range(1, self.horizon + 1):
            raise InputError(f"step must be between 1 and the horizon of {self.horizon}, got {step!r}")
        return self.tallies[method].by_step.errors(metric)[:, step - 1]

    def gap(
        self,
        method: str,
        metric: str = "mae",
        step: int | None = None,
        *,
        base: str = ORACLE,
        level: float = LEVEL,
        resamples: int = RESAMPLES,
        seed: int = 0,
    ) -> Gap:
        """Return the gap of the mean errors of two methods in per cent, with its interval.

        Draws of S and stretches of windows are resampled, the same ones for both methods. The interval is that of the
        percentiles; there is none with fewer than `LEAST_DRAWS` draws.

        Parameters
        ----------
        method, base
            the gap is that of `method` to `base`
        metric
            "mae" or "rmse"
        step
            step of the horizon, counted from 1; the last by default
        level
            how often such an interval should hold the true gap, between 0 and 1
        resamples
            how many times draws and stretches are resampled
        seed
            random seed for the resampling
        """
        if not 0 < level < 1:
            raise InputError(f"level must be between 0 and 1, such as 0.95, got {level}")
        if resamples < 1:
            raise InputError(f"resamples must be at least 1, got {resamples}")
        step = self.horizon if step is None else step
        means = [self._mean_error(name, metric, step) for name in (method, base)]
        middle, draws = metrics.gap(*means), len(self.draws)
        if draws < LEAST_DRAWS:
            return Gap(middle, float("nan"), float("nan"), level, draws)
        ours, theirs = (
            self.resampled_errors(name, metric, step, resamples=resamples, seed=seed) for name in (method, base)
        )
        with np.errstate(invalid="ignore", divide="ignore"):
            gaps = 100.0 * (ours - theirs) / theirs
        lower, upper = np.nanquantile(gaps, [(1 - level) / 2, (1 + level) / 2])
        return Gap(middle, float(lower), float(upper), level, draws)

    def _mean_error(self, method: str, metric: str, step: int) -> float:
        errors = self.errors(method, metric, step)
        undefined = np.flatnonzero(np.isnan(errors))
        if undefined.size:
            raise InputError(
                f"method {method!r} has no error at step {step} under draw {undefined[0]}: none of its targets counts"
            )
        return float(errors.mean())

    def resampled_errors(
        self,
        method: str,
        metric: str = "mae",
        step: int | None = None,
        *,
        windows: bool = True,
        resamples: int = RESAMPLES,
        seed: int = 0,
    ) -> NDArray[np.float64]:
        """Return the mean error over draws for each resampling of draws of S and stretches of windows, [resamples].

        Comparisons with as many draws and stretches are resampled alike, so that errors can be compared across them.

        Parameters
        ----------
        method, metric, step, resamples, seed
            see `gap`
        windows
            whether stretches of windows are resampled too; without, the error is that on these windows
        """
        step = self.horizon if step is None else step
        key = (method, metric, step, windows, resamples, seed)
        if key not in self._resampled:
            sums = self._stretches(method, step)
            stretch_weights, draw_weights = _resample_weights(*sums.count.shape, resamples, seed)
            if not windows:
                stretch_weights = np.ones_like(stretch_weights[:1])
            errors = sums.map(lambda values: stretch_weights @ values.T).errors(metric)  # [resamples or 1, draws]
            weighted = np.where(draw_weights > 0, draw_weights * errors, 0.0)
            self._resampled[key] = weighted.sum(axis=1) / draw_weights.sum(axis=1)
        return self._resampled[key]

    def _stretches(self, method: str, step: int) -> Sums:
        by_stretch = self.tallies[method].by_stretch
        if step not in by_stretch:
            kept = ", ".join(map(str, by_stretch))
            raise InputError(f"step must be one that is tallied by stretch of windows ({kept}), got {step}")
        return by_stretch[step]

    def row(self, method: str, step: int | None = None) -> dict[str, Any]:
        """Return errors and gaps of a method at one step (the last by default) as plain values, None for no number."""
        step = self.horizon if step is None else step
        row: dict[str, Any] = {}
        for metric in METRICS:
            errors = self.errors(method, metric, step)
            row[metric] = float(errors.mean())
            row[f"{metric}_deviation"] = float(errors.std(ddof=1)) if len(errors) > 1 else None
            if ORACLE in self.tallies:
                gap = self.gap(method, metric, step)
                row |= {f"{metric}_gap": gap.gap, f"{metric}_gap_interval": gap.interval}
        return row

    def table(self, step: int | None = None) -> pd.DataFrame:
        """Return one row for each method: mean and deviation over draws and the gap to the oracle, at one step."""
        import pandas as pd

        rows = []
        for method in self.tallies:
            values = self.row(method, step)
            row: dict[str, Any] = {"method": method}
            for metric in METRICS:
                lower, upper = values.get(f"{metric}_gap_interval") or (None, None)
                row |= {name: values.get(name) for name in (metric, f"{metric}_deviation", f"{metric}_gap")}
                row |= {f"{metric}_gap_lower": lower, f"{metric}_gap_upper": upper}
            rows.append(row)
        return pd.DataFrame(rows).set_index("method").astype(np.float64)

    @classmethod
    def join(cls, comparisons: Sequence[Comparison]) -> Comparison:
        """Join comparisons of the same methods on the same windows under different draws of S."""
        first = comparisons[0]
        tallies = {name: Tally.join([each.tallies[name] for each in comparisons]) for name in first.tallies}
        return cls(tallies, [draw for each in comparisons for draw in each.draws], first.starts)

    def to_dict(self) -> dict[str, Any]:
        """Return the errors of every draw and step as plain values for JSON."""
        return {
            "windows": self.windows,
            "draws": [np.asarray(draw).tolist() for draw in self.draws],
            "mae": {name: _without_nan(errors) for name, errors in self.mae.items()},
            "rmse": {name: _without_nan(errors) for name, errors in self.rmse.items()},
        }

    def to_record(self, step: int | None = None) -> dict[str, Any]:
        """Return the tallies as plain values for JSON: `from_record` reads them back.

        Sums are rounded to 8 significant digits. Those over all windows are kept for every step, those by stretch of
        windows for one.

        Parameters
        ----------
        step
            the step that is kept by stretch, counted from 1; the last by default
        """
        step = self.horizon if step is None else step
        first = self._stretches(next(iter(self.tallies)), step)
        return {
            "step": step,
            "windows": {
                "first": self.starts[0] if self.windows else None,
                "last": self.starts[-1] if self.windows else None,
                "every": self.starts.step,
                "count": self.windows,
            },
            "stretches": first.count.shape[1],
            "draws": [np.asarray(draw).tolist() for draw in self.draws],
            "count_by_step": self._any.by_step.count.tolist(),
            "count_by_stretch": first.count.tolist(),
            "methods": {
                name: {
                    "absolute_by_step": _rounded(tally.by_step.absolute),
                    "squared_by_step": _rounded(tally.by_step.squared),
                    "absolute_by_stretch": _rounded(tally.by_stretch[step].absolute),
                    "squared_by_stretch": _rounded(tally.by_stretch[step].squared),
                }
                for name, tally in self.tallies.items()
            },
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any], group: str | None = None) -> Comparison:
        """Read the tallies of a record.

        Parameters
        ----------
        record
            what `to_record` gave, or a record of `subcast evaluate`, `subcast reproduce` or
            `benchmarks/wrapper_records.py` that holds it
        group
            which tallies, where a record holds several
        """
        tallies = _find_tallies(record, group)
        step = int(tallies["step"])
        counts = [np.array(tallies[f"count_by_{axis}"], dtype=np.int64) for axis in ("step", "stretch")]

        def read(sums: Mapping[str, Any], axis: str, count: NDArray[np.int64]) -> Sums:
            absolute, squared = (np.array(sums[f"{kind}_by_{axis}"], dtype=float) for kind in ("absolute", "squared"))
            return Sums(absolute, squared, count)

        methods = {
            name: Tally(read(sums, "step", counts[0]), {step: read(sums, "stretch", counts[1])})
            for name, sums in tallies["methods"].items()
        }
        draws = [np.array(draw, dtype=np.int64) for draw in tallies["draws"]]
        return cls(methods, draws, _starts(**tallies["windows"]))


def has_tallies(record: Mapping[str, Any]) -> bool:
    """Return whether a record holds tallies, so that `Comparison.from_record` can read it."""
    return "stretches" in record or bool(record.get("figures", record).get("tallies"))


def _find_tallies(record: Mapping[str, Any], group: str | None) -> Mapping[str, Any]:
    if "stretches" in record:
        return record
    tallies: Mapping[str, Any] | None = record.get("figures", record).get("tallies")
    if not tallies:
        raise DataError("the record has no tallies, so its intervals cannot be computed again: run its command again")
    if "stretches" in tallies:
        return tallies
    if group is None and len(tallies) == 1:
        group = next(iter(tallies))
    if group is None or group not in tallies:
        raise InputError(f"group must be one of the record's groups of tallies ({', '.join(tallies)}), got {group!r}")
    found: Mapping[str, Any] = tallies[group]
    return found


def _starts(first: int | None, last: int | None, every: int, count: int) -> range:
    if first is None or last is None:
        return range(0)
    return range(first, last + (1 if every > 0 else -1), every)


@lru_cache(maxsize=16)
def _resample_weights(
    draws: int, stretches: int, resamples: int, seed: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return how often each stretch and each draw is taken, [resamples, stretches] and [resamples, draws]."""
    rng = np.random.default_rng(seed)
    weights = [rng.multinomial(size, np.full(size, 1 / size), size=resamples) for size in (stretches, draws)]
    return weights[0], weights[1]


def _rounded(sums: NDArray[np.float64]) -> list[list[float]]:
    return [[float(f"{value:.{DIGITS}g}") for value in row] for row in sums.tolist()]


def _without_nan(errors: NDArray[np.float64]) -> list[list[float | None]]:
    """Return rows of plain numbers, None for NaN, which JSON does not have."""
    return [[None if error != error else error for error in row] for row in errors.tolist()]
