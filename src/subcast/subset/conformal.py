"""Prediction intervals from residuals on validation windows (split conformal), by the share of variables present."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subcast.errors import InputError
from subcast.progress import progress_bar
from subcast.storage import fields
from subcast.storage.state import State
from subcast.subset.arrived import Arrived
from subcast.subset.fitted import Fitted
from subcast.subset.methods import forecast_windows
from subcast.subset.settings import Settings
from subcast.subsets import draw_subsets, subset_size
from subcast.windows import Windows

PROBABILITIES = np.array([0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45,
                          0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.975, 0.99, 0.995])  # fmt: skip
DRAWS = {0.15: 24, 0.5: 12, 0.85: 8, 1.0: 1}  # number of draws of S for each |S| / N; small subsets vary more
RESIDUALS = 1152  # validation windows for each share, divided among its draws
_HIGHEST_LEVEL = 0.99  # higher levels would need more validation windows
_ARRAYS = ("shares", "present", "absent", "gaps")
_ENOUGH = 40  # a variable with fewer residuals gets the quantiles over all variables


@dataclass(frozen=True, eq=False)
class Calibration:
    """Quantiles of the residuals, in units of the deviation of the neighbors' futures.

    Parameters
    ----------
    shares
        [c], the values of |S| / N at which residuals were taken
    present, absent
        [c, probabilities, h, n]: quantiles for variables in S, and for absent variables
    gaps
        [c], how much larger the error was than with all variables, in percent, over all steps
    """

    shares: NDArray[np.float64]
    present: NDArray[np.float32]
    absent: NDArray[np.float32]
    gaps: NDArray[np.float64]

    def bounds(self, level: float, share: float, variables: NDArray[np.int64], *, absent: bool) -> NDArray[np.float32]:
        """Return the lower and upper quantiles of the residuals at a level, [2, h, s], for |S| / N = `share`."""
        table = (self.absent if absent else self.present)[..., variables]  # [c, probabilities, h, s]
        position = float(np.interp(share, self.shares, np.arange(len(self.shares))))
        low = int(position)
        high = min(low + 1, len(self.shares) - 1)
        weight = position - low
        mixed = (1 - weight) * table[low] + weight * table[high]  # [probabilities, h, s]
        ends = [(1 - level) / 2, (1 + level) / 2]
        return np.stack([_at_probability(mixed, end) for end in ends])

    def gap_at(self, share: float) -> float:
        """Return the expected gap to the error with all variables, in percent, for |S| / N = `share`."""
        return float(np.interp(share, self.shares, self.gaps))

    def state(self) -> State:
        """Return the state to save."""
        return State({}, {name: getattr(self, name) for name in _ARRAYS})

    @classmethod
    def from_state(cls, state: State, horizon: int | None = None, n: int | None = None) -> Calibration:
        """Return the calibration saved in `state`, of `n` variables and `horizon` steps ahead."""
        shares = fields.array(state, "shares", np.float64, [None], low=0, high=1)
        if not shares.size or (np.diff(shares) <= 0).any():
            raise state.damaged("its shares must increase")
        table = [len(shares), len(PROBABILITIES), horizon, n]
        present, absent = (fields.array(state, name, np.float32, table) for name in ("present", "absent"))
        return cls(shares, present, absent, fields.array(state, "gaps", np.float64, [len(shares)]))


def calibrate(
    fitted: Fitted,
    windows: Windows,
    places: NDArray[np.int64],
    settings: Settings,
    *,
    metric: str,
    seed: int,
    progress: bool,
) -> Calibration:
    """Compute the quantiles of residuals on validation windows that tuning did not use.

    Parameters
    ----------
    fitted, settings
        the fitted model and bank, and the settings of the method
    windows, places
        validation windows, and the numbers of those to use
    metric
        "mae" or "rmse", for the expected gaps
    seed
        random seed for drawing subsets and windows
    progress
        whether to show a progress bar
    """
    used = places[:: max(1, -(-len(places) // RESIDUALS))]
    arrived, targets = fitted.arrive(windows)[used], windows.targets[used]
    plain_forecasts = np.concatenate([fitted.plain_forecast(arrived[i : i + 256]) for i in range(0, len(arrived), 256)])
    n = fitted.n
    shares = [share for share in DRAWS if share == 1.0 or subset_size(n, share) < n]
    present_tables, absent_tables, gaps = [], [], []
    with progress_bar("Calibrating prediction intervals", sum(DRAWS[share] for share in shares), progress) as advance:
        for number, share in enumerate(shares):
            residuals = _Residuals(fitted, arrived, targets, plain_forecasts, settings, metric)
            size = min(RESIDUALS // DRAWS[share], len(arrived))
            for draw, present in enumerate(draw_subsets(n, share=share, draws=DRAWS[share], seed=seed + 1000 + number)):
                rng = np.random.default_rng([seed, number, draw])
                sample = np.sort(rng.choice(len(arrived), size=size, replace=False))
                residuals.add(np.sort(present), sample)
                advance(1)
            present_tables.append(residuals.quantiles(absent=False))
            absent_tables.append(residuals.quantiles(absent=True))
            gaps.append(residuals.gap())
    gaps[-1] = 0.0
    if len(shares) > 1:  # with all variables present there is no residual of an absent one: use the next lower share
        absent_tables[-1] = absent_tables[-2]
    return Calibration(np.array(shares), np.stack(present_tables), np.stack(absent_tables), np.array(gaps))


class _Residuals:
    """Residuals for one value of |S| / N, collected over draws of S."""

    def __init__(
        self,
        fitted: Fitted,
        arrived: Arrived,
        targets: NDArray[np.float32],
        plain_forecasts: NDArray[np.float32],
        settings: Settings,
        metric: str,
    ) -> None:
        self.fitted, self.arrived, self.targets, self.settings, self.metric = fitted, arrived, targets, settings, metric
        self.plain_forecasts = plain_forecasts  # [b, h, n]: with all variables present
        self.residuals: dict[bool, list[NDArray[np.float32]]] = {False: [], True: []}  # by whether absent
        self.errors = np.zeros(2)  # sums with S present, and with all variables present

    def add(self, present: NDArray[np.int64], sample: NDArray[np.int64]) -> None:
        """Forecast a sample of the windows from S and keep the residuals of present and of absent variables."""
        fitted, arrived = self.fitted, self.arrived[sample]
        truth = self.targets[sample]  # [b, h, n]
        plain = self.plain_forecasts[sample]
        neighbors = fitted.retrieve(arrived, present, self.settings.neighbors, self.settings.exponent)
        order = fitted.order(present, True)
        if len(present) == fitted.n:
            mean = plain
        else:
            forecast = forecast_windows(fitted, self.settings, arrived, present, absent=True, neighbors=neighbors)
            mean = forecast.mean
        residual = np.full(truth.shape, np.nan, dtype=np.float32)
        residual[:, :, order] = truth[:, :, order] - mean
        scaled = residual / fitted.uncertainty_scale(arrived, neighbors, np.arange(fitted.n))  # [b, h, n]
        is_present = np.isin(np.arange(fitted.n), present)
        self.residuals[False].append(np.where(is_present, scaled, np.nan))
        self.residuals[True].append(np.where(is_present, np.nan, scaled))
        spread = fitted.normalizer.spread_of(present)
        subset_error = residual[:, :, present] / spread
        plain_error = (truth[:, :, present] - plain[:, :, present]) / spread
        power = 1 if self.metric == "mae" else 2
        self.errors += [np.nansum(np.abs(subset_error) ** power), np.nansum(np.abs(plain_error) ** power)]

    def gap(self) -> float:
        """Return how much larger the error is than with all variables, in percent."""
        subset_error, plain_error = self.errors ** (1 if self.metric == "mae" else 0.5)
        return float(100 * (subset_error / plain_error - 1)) if plain_error > 0 else 0.0

    def quantiles(self, *, absent: bool) -> NDArray[np.float32]:
        """Return the quantiles, [probabilities, h, n]: the mean of a variable's own and those over all variables.

        A variable's own quantiles alone would depend on a few days.
        """
        residuals = np.concatenate(self.residuals[absent])  # [b, h, n]
        _, horizon, n = residuals.shape
        table = np.zeros((len(PROBABILITIES), horizon, n), dtype=np.float32)
        for step in range(horizon):
            all_residuals = residuals[:, step][~np.isnan(residuals[:, step])]
            common_quantiles = (
                conformal_quantiles(all_residuals) if all_residuals.size else np.zeros(len(PROBABILITIES))
            )
            for variable in range(n):
                variable_residuals = residuals[:, step, variable]
                variable_residuals = variable_residuals[~np.isnan(variable_residuals)]
                quantiles = common_quantiles
                if variable_residuals.size >= _ENOUGH:
                    quantiles = (conformal_quantiles(variable_residuals) + common_quantiles) / 2
                table[:, step, variable] = quantiles
        return table


def conformal_quantiles(residuals: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    """Return quantiles with the finite-sample correction of conformal prediction.

    An upper quantile p is the ceil((n + 1) p)-th smallest of n residuals, a lower one the floor((n + 1) p)-th.

    >>> conformal_quantiles(np.arange(1.0, 100.0))[PROBABILITIES == 0.95].item()
    95.0
    """
    ordered = np.sort(residuals)
    count = len(ordered)
    upper = np.clip(np.ceil(np.round((count + 1) * PROBABILITIES, 9)), 1, count).astype(int) - 1
    lower = np.clip(np.floor(np.round((count + 1) * PROBABILITIES, 9)), 1, count).astype(int) - 1
    return np.asarray(np.where(PROBABILITIES >= 0.5, ordered[upper], ordered[lower]), dtype=np.float64)


def _at_probability(table: NDArray[np.float32], probability: float) -> NDArray[np.float32]:
    position = float(np.interp(probability, PROBABILITIES, np.arange(len(PROBABILITIES))))
    low = int(position)
    high = min(low + 1, len(PROBABILITIES) - 1)
    return np.asarray((1 - (position - low)) * table[low] + (position - low) * table[high], dtype=np.float32)


def checked_levels(levels: Sequence[float] | float) -> tuple[float, ...]:
    """Return the interval levels as a tuple; raise if one is out of range."""
    values: tuple[Any, ...] = (levels,) if np.ndim(levels) == 0 else tuple(levels)  # type: ignore[arg-type]
    for level in values:
        if not isinstance(level, int | float | np.floating) or not 0 < level <= _HIGHEST_LEVEL:
            raise InputError(f"levels must be above 0 and at most {_HIGHEST_LEVEL}, such as 0.9, got {level!r}")
    return tuple(float(level) for level in values)
