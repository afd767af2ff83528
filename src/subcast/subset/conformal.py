"""Prediction intervals from residuals on validation windows (split conformal), by the number of variables present."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subcast.errors import InputError
from subcast.progress import progress_bar
from subcast.retrieval import Neighbors
from subcast.storage import fields
from subcast.storage.state import State
from subcast.subset.arrived import Arrived
from subcast.subset.familiarity import strangeness_of
from subcast.subset.fitted import Fitted
from subcast.subset.methods import forecast_windows
from subcast.subset.settings import Settings
from subcast.subset.spread import in_units, residual_units
from subcast.subsets import draw_subsets, subset_size
from subcast.windows import Windows

PROBABILITIES = np.array([0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45,
                          0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.975, 0.99, 0.995])  # fmt: skip
DRAWS = {0.15: 24, 0.5: 12, 0.85: 8, 1.0: 1}  # number of draws of S for each |S| / N; small subsets vary more
FEW_SHARE, FEW_DRAWS, FEW_RESIDUALS = 0.05, 24, 768  # the same for few variables, between one and 15 % of them
SINGLES = 48  # largest number of variables that are each present alone
RESIDUALS = 1152  # validation windows for each share, divided among its draws
LEAST_RESIDUALS, LONG_HORIZON = 288, 24  # fewer for longer horizons, whose windows overlap, but not fewer than this
_HIGHEST_LEVEL = 0.99  # higher levels would need more validation windows
_ARRAYS = ("counts", "present", "absent", "gaps", "strangeness")
_USUAL = 0.995  # share of the validation windows whose strangeness is usual
_UNKNOWN_STRANGENESS = 1e30  # no window is stranger
_LARGEST_GAP = 1e6  # percent
_ENOUGH = 40  # a variable with fewer residuals gets the quantiles over all variables


@dataclass(frozen=True, eq=False)
class Calibration:
    """Quantiles of the residuals, in units of the deviation of the neighbors' futures.

    Between the numbers of variables at which residuals were taken, everything is interpolated in the logarithm of the
    number; missing readings count as absent variables, so that a number need not be whole. Below the smallest number
    the values of the smallest are used.

    Parameters
    ----------
    counts
        [c], the numbers of variables present at which residuals were taken, in increasing order from 1 to n
    present, absent
        [c, probabilities, h, n]: quantiles for variables in S, and for absent variables
    gaps
        [c], how much larger the error was than with all variables, in percent, over all steps
    strangeness
        [c], the strangeness (see `familiarity.strangeness_of`) that 99.5 % of the validation windows did not exceed
    """

    counts: NDArray[np.int64]
    present: NDArray[np.float32]
    absent: NDArray[np.float32]
    gaps: NDArray[np.float64]
    strangeness: NDArray[np.float64]

    @property
    def shares(self) -> NDArray[np.float64]:
        """[c], the values of |S| / N at which residuals were taken."""
        return np.asarray(self.counts / self.counts[-1])

    def extrapolates(self, count: float) -> bool:
        """Return whether fewer readings arrived than at any number of variables that was tried."""
        return count < float(self.counts[0]) - 1e-9

    def bounds(self, level: float, count: float, variables: NDArray[np.int64], *, absent: bool) -> NDArray[np.float32]:
        """Return the lower and upper quantiles of the residuals at a level, [2, h, s], for `count` variables."""
        table = self.absent if absent else self.present  # [c, probabilities, h, n]
        position = float(self._between(np.float64(count), np.arange(len(self.counts), dtype=np.float64)))
        low = int(position)
        high = min(low + 1, len(self.counts) - 1)
        weight = position - low

        def mixed(probability: int) -> NDArray[np.float32]:
            """Return the quantiles between two numbers of variables, [h, s]."""
            lower, upper = table[low, probability][:, variables], table[high, probability][:, variables]
            return np.asarray((1 - weight) * lower + weight * upper)

        ends = [(1 - level) / 2, (1 + level) / 2]
        return np.stack([_at_probability(mixed, end) for end in ends])

    def gaps_at(self, counts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the expected gaps in percent, [b], for windows with the readings of so many variables."""
        return self._between(counts, self.gaps)

    def usual_strangeness(self, counts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the strangeness that is usual, [b], for windows with the readings of so many variables."""
        return self._between(counts, self.strangeness)

    def _between(self, counts: Any, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Interpolate in the logarithm of the number of variables."""
        return np.asarray(np.interp(np.log(np.maximum(counts, 1e-9)), np.log(self.counts), values))

    def state(self) -> State:
        """Return the state to save."""
        return State({}, {name: getattr(self, name) for name in _ARRAYS})

    @classmethod
    def from_state(cls, state: State, horizon: int | None = None, n: int | None = None) -> Calibration:
        """Return the calibration saved in `state`, of `n` variables and `horizon` steps ahead."""
        counts = fields.array(state, "counts", np.int64, [None], low=1, high=np.inf if n is None else n)
        if not counts.size or (np.diff(counts) <= 0).any() or (n is not None and counts[-1] != n):
            raise state.damaged("its counts must increase to the number of variables")
        size = len(counts)
        table = [size, len(PROBABILITIES), horizon, n]
        present, absent = (fields.array(state, name, np.float32, table) for name in ("present", "absent"))
        gaps = fields.array(state, "gaps", np.float64, [size])
        strangeness = fields.array(state, "strangeness", np.float64, [size], low=0)
        return cls(counts, present, absent, gaps, strangeness)


@dataclass(frozen=True, eq=False)
class Sample:
    """Validation windows that tuning did not use, with the model's forecasts of them when all variables are present.

    Parameters
    ----------
    arrived, targets
        the windows, and their targets [b, h, n]
    plain
        [b, h, n], the model's forecasts
    neighbors
        the nearest training windows, by all variables
    """

    arrived: Arrived
    targets: NDArray[np.float32]
    plain: NDArray[np.float32]
    neighbors: Neighbors

    @classmethod
    def take(cls, fitted: Fitted, windows: Windows, index: NDArray[np.int64], settings: Settings, most: int) -> Sample:
        """Forecast at most `most` of the validation windows with the numbers `index`, with all variables present."""
        used = index[:: max(1, -(-len(index) // most))]
        arrived = fitted.arrive(windows)[used]
        plain = np.concatenate([fitted.plain_forecast(arrived[i : i + 256]) for i in range(0, len(arrived), 256)])
        neighbors = fitted.retrieve(arrived, np.arange(fitted.n), settings.neighbors, settings.exponent)
        return cls(arrived, windows.targets[used], plain, neighbors)


def calibrate(
    fitted: Fitted,
    sample: Sample,
    reference: NDArray[np.float32],
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
    sample
        the validation windows
    reference
        [b, h, n], the forecasts of these windows to which the error is compared: the model's with all variables
        present, or others if the model is no reference
    metric
        "mae" or "rmse", for the expected gaps
    seed
        random seed for drawing subsets and windows
    progress
        whether to show a progress bar
    """
    trials = _trials(fitted.n, seed, fitted.horizon)
    tables: dict[bool, list[NDArray[np.float32]]] = {False: [], True: []}  # by whether absent
    gaps, strangeness = [], []
    with progress_bar("Calibrating prediction intervals", sum(len(t.draws) for t in trials), progress) as advance:
        for trial in trials:
            residuals = _Residuals(fitted, sample, reference, settings, metric)
            size = min(trial.residuals // len(trial.draws), len(sample.arrived))
            for draw, present in enumerate(trial.draws):
                rng = np.random.default_rng([seed, trial.number, draw])
                residuals.add(np.sort(present), _drawn_windows(rng, len(sample.arrived), size, fitted.horizon))
                advance(1)
            for absent, table in tables.items():
                table.append(residuals.quantiles(absent=absent))
            gaps.append(residuals.gap())
            strangeness.append(residuals.usual_strangeness())
    if len(trials) > 1:  # with all variables present there is no residual of an absent one: use the next lower number
        tables[True][-1] = tables[True][-2]
    counts = np.array([trial.draws.shape[1] for trial in trials], dtype=np.int64)
    return Calibration(counts, np.stack(tables[False]), np.stack(tables[True]), np.array(gaps), np.array(strangeness))


@dataclass(frozen=True, eq=False)
class _Trial:
    """Draws of S of one size, [draws, s], a number for seeds, and the number of validation windows to use."""

    draws: NDArray[np.int64]
    number: int
    residuals: int


def windows_needed(horizon: int, most: int = RESIDUALS, least: int = LEAST_RESIDUALS) -> int:
    """Return how many validation windows to use: fewer for long horizons, whose windows say much the same.

    >>> windows_needed(12), windows_needed(96)
    (1152, 288)
    """
    return min(most, max(least, most * LONG_HORIZON // horizon)) if horizon > LONG_HORIZON else most


def _drawn_windows(rng: np.random.Generator, count: int, size: int, horizon: int) -> NDArray[np.int64]:
    """Return the numbers of windows of one draw: at random, or for long horizons a run, whose search shares steps."""
    if horizon <= LONG_HORIZON:
        return np.sort(rng.choice(count, size=size, replace=False))
    return rng.integers(count - size + 1) + np.arange(size)


def _trials(n: int, seed: int, horizon: int = 1) -> list[_Trial]:
    """Return the draws for each size of S, in increasing order of the size: one variable, 5, 15, 50, 85 and 100 %."""
    shares = [share for share in DRAWS if share == 1.0 or subset_size(n, share) < n]
    trials: dict[int, _Trial] = {}
    for number, share in enumerate(shares):
        draws = draw_subsets(n, share=share, draws=DRAWS[share], seed=seed + 1000 + number)
        trials.setdefault(draws.shape[1], _Trial(draws, number, windows_needed(horizon)))
    few = draw_subsets(n, share=FEW_SHARE, draws=FEW_DRAWS, seed=seed + 1000 + len(DRAWS))
    trials.setdefault(few.shape[1], _Trial(few, len(DRAWS), windows_needed(horizon, FEW_RESIDUALS)))
    order = np.random.default_rng([seed, n]).permutation(n)
    if 1 not in trials or few.shape[1] == 1 < n:
        trials[1] = _Trial(order[:SINGLES, None], len(DRAWS) + 1, windows_needed(horizon))
    return [trials[size] for size in sorted(trials)]


class _Residuals:
    """Residuals for one number of variables present, collected over draws of S."""

    def __init__(
        self, fitted: Fitted, sample: Sample, reference: NDArray[np.float32], settings: Settings, metric: str
    ) -> None:
        self.fitted, self.sample, self.reference, self.settings = fitted, sample, reference, settings
        self.power = 1 if metric == "mae" else 2
        self.residuals: dict[bool, list[NDArray[np.float32]]] = {False: [], True: []}  # by whether absent
        self.strangeness: list[NDArray[np.float64]] = []
        self.errors = np.zeros(2)  # sums with S present, and of the reference

    def add(self, present: NDArray[np.int64], rows: NDArray[np.int64]) -> None:
        """Forecast some of the windows from S and keep the residuals of present and of absent variables."""
        fitted, settings, arrived = self.fitted, self.settings, self.sample.arrived[rows]
        truth = self.sample.targets[rows]  # [b, h, n]
        order = fitted.order(present, True)
        if len(present) == fitted.n and settings.assist == "missing":
            known = self.sample.neighbors
            neighbors, mean = Neighbors(known.index[rows], known.distance[rows]), self.sample.plain[rows]
            completed = None
        else:
            neighbors = fitted.retrieve(arrived, present, settings.neighbors, settings.exponent)
            forecast = forecast_windows(fitted, settings, arrived, present, absent=True, neighbors=neighbors)
            mean, completed = forecast.mean, forecast.completed
        residual = np.full(truth.shape, np.nan, dtype=np.float32)
        residual[:, :, order] = truth[:, :, order] - mean
        units = residual_units(fitted, settings, arrived, present, neighbors, mean, completed)
        scaled = np.full(truth.shape, np.nan, dtype=np.float32)
        scaled[:, :, order] = in_units(residual[:, :, order], units)
        is_present = np.isin(np.arange(fitted.n), present)
        self.residuals[False].append(np.where(is_present, scaled, np.nan))
        self.residuals[True].append(np.where(is_present, np.nan, scaled))
        self.strangeness.append(strangeness_of(neighbors))
        spread = fitted.normalizer.spread_of(present)
        subset_error = residual[:, :, present] / spread
        plain_error = (truth[:, :, present] - self.reference[rows][:, :, present]) / spread
        known_errors = np.isfinite(subset_error) & np.isfinite(plain_error)
        for place, error in enumerate((subset_error, plain_error)):
            self.errors[place] += (np.abs(error[known_errors].astype(np.float64)) ** self.power).sum()

    def gap(self) -> float:
        """Return how much larger the error is than that of the reference, in percent."""
        subset_error, plain_error = self.errors ** (1 / self.power)
        return float(min(100 * (subset_error / plain_error - 1), _LARGEST_GAP)) if plain_error > 0 else 0.0

    def usual_strangeness(self) -> float:
        """Return the strangeness that 99.5 % of the windows do not exceed."""
        known = np.concatenate(self.strangeness)
        known = known[np.isfinite(known)]
        return float(np.quantile(known, _USUAL, method="higher")) if known.size else _UNKNOWN_STRANGENESS

    def quantiles(self, *, absent: bool) -> NDArray[np.float32]:
        """Return the quantiles, [probabilities, h, n]: the mean of a variable's own and those over all variables.

        A variable's own quantiles alone would depend on a few days.
        """
        residuals = np.concatenate(self.residuals[absent])  # [b, h, n]
        _, horizon, n = residuals.shape
        table = np.zeros((len(PROBABILITIES), horizon, n), dtype=np.float32)
        for step in range(horizon):
            own = np.sort(residuals[:, step], axis=0)  # [b, n], missing ones last
            counts = (~np.isnan(own)).sum(axis=0)
            known = own[~np.isnan(own)]
            common = conformal_quantiles(known) if known.size else np.zeros(len(PROBABILITIES))
            table[:, step] = common[:, None]
            enough = np.flatnonzero(counts >= _ENOUGH)
            if enough.size:
                places = conformal_places(counts[enough])  # [probabilities, variables]
                table[:, step, enough] = (own[places, enough].astype(np.float64) + common[:, None]) / 2
        return table


def conformal_quantiles(residuals: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    """Return quantiles with the finite-sample correction of conformal prediction.

    An upper quantile p is the ceil((n + 1) p)-th smallest of n residuals, a lower one the floor((n + 1) p)-th.

    >>> conformal_quantiles(np.arange(1.0, 100.0))[PROBABILITIES == 0.95].item()
    95.0
    """
    ordered = np.sort(residuals)
    return np.asarray(ordered[conformal_places(np.array([len(ordered)]))[:, 0]], dtype=np.float64)


def conformal_places(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where the quantiles stand among each number of sorted residuals, [probabilities, counts]."""
    ranks = np.round((counts + 1) * PROBABILITIES[:, None], 9)  # [probabilities, counts]
    upper, lower = np.clip(np.ceil(ranks), 1, counts), np.clip(np.floor(ranks), 1, counts)
    return np.asarray(np.where(PROBABILITIES[:, None] >= 0.5, upper, lower), dtype=np.int64) - 1


def _at_probability(quantiles: Callable[[int], NDArray[np.float32]], probability: float) -> NDArray[np.float32]:
    """Return the quantile at a probability, from those at the numbers of probabilities on both sides of it."""
    position = float(np.interp(probability, PROBABILITIES, np.arange(len(PROBABILITIES))))
    low = int(position)
    high = min(low + 1, len(PROBABILITIES) - 1)
    share = position - low
    return np.asarray((1 - share) * quantiles(low) + share * quantiles(high), dtype=np.float32)


def checked_levels(levels: Sequence[float] | float) -> tuple[float, ...]:
    """Return the interval levels as a tuple; raise if one is out of range."""
    values: tuple[Any, ...] = (levels,) if np.ndim(levels) == 0 else tuple(levels)  # type: ignore[arg-type]
    for level in values:
        if not isinstance(level, int | float | np.floating) or not 0 < level <= _HIGHEST_LEVEL:
            raise InputError(f"levels must be above 0 and at most {_HIGHEST_LEVEL}, such as 0.9, got {level!r}")
    return tuple(float(level) for level in values)
