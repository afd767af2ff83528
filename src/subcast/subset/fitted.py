"""Everything that `fit` learns from the training windows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from subcast.cycle import Cycle
from subcast.errors import InputError
from subcast.forecasters.protocol import AbleForecaster
from subcast.retrieval import Bank, LagMoments, Neighbors, WindowBank
from subcast.subset.arrived import Arrived
from subcast.subset.neighbor_forecasts import NeighborForecasts
from subcast.subset.normalizer import Normalizer
from subcast.subset.regression import RegressionCache
from subcast.subset.settings import Settings
from subcast.subset.shared_steps import nearest_of_series
from subcast.subset.wandering import KnownLevels
from subcast.windows import Windows

if TYPE_CHECKING:
    from subcast.subset.experts.protocol import Expert

_LEAST_SPREAD = 0.1  # of the usual spread: lower bound on the uncertainty when the neighbors agree closely


@dataclass(eq=False)
class Fitted:
    """The model, the bank of training windows and what was learned from them.

    Parameters
    ----------
    model
        [b, t, n, f] to [b, h, n], raw units
    normalizer
        converts to the normalized units in which windows are compared and completed
    bank
        the training windows in those units
    moments
        second moments of the training series; None without a regression
    neighbor_forecasts
        the model's forecasts of training windows, computed when they are needed
    bank_slots
        [t], the position in the cycle of each step of the training series
    features
        [t, f - 1], the time features of each step, or None
    time_of_day_weight, features_in_distance
        whether the time of day and the features count in the distance (as in `Settings`)
    lookback, horizon, n_features
        sizes of the axes t, h and f
    experts
        by name, in the order in which they are blended; the first is the model on the completed window
    known_levels
        the range of each variable's level in the training; None if nothing is known
    """

    model: AbleForecaster
    normalizer: Normalizer
    bank: Bank
    moments: LagMoments | None
    neighbor_forecasts: NeighborForecasts
    bank_slots: NDArray[np.int64]
    features: NDArray[np.float32] | None
    time_of_day_weight: float
    features_in_distance: bool
    lookback: int
    horizon: int
    n_features: int
    experts: Mapping[str, Expert] = field(default_factory=dict)
    known_levels: KnownLevels | None = None
    regressions: RegressionCache | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        if self.moments is not None:
            self.regressions = RegressionCache(self.moments, self.n, self.lookback, self.horizon)

    @classmethod
    def fit(cls, model: AbleForecaster, train: Windows, settings: Settings, bank: Bank | None = None) -> Fitted:
        """Fit the normalizer, build the bank (unless one is given) and compute the moments."""
        series = train.series
        normalizer = Normalizer.fit(
            train,
            per_variable=settings.per_variable,
            daily_profile=settings.daily_profile,
            holidays=settings.holidays,
        )
        slots = np.zeros(len(series), dtype=np.int64)
        if normalizer.slots > 1 and series.wall_times is not None:
            slots = normalizer.cycle.positions(series.wall_times)
        weight = settings.time_of_day_weight if normalizer.cycle.n_rows > 1 else 0.0
        in_distance = settings.features_in_distance
        shared = compared_features(series.features if in_distance else None, slots, normalizer.cycle, weight)
        if bank is None:
            normalized: Bank = _bank_of(train, normalizer, slots, shared, settings.bank_share)
        else:
            _check_bank(bank, train, settings)
            normalized = bank.normalized(normalizer, slots, shared)
        moments = None
        if settings.pool or settings.correction > 0 or settings.regression_share > 0:
            lags = train.lookback + train.horizon
            moments = normalized.moments(lags, min(train.starts), max(train.starts) + lags)
        follows = settings.pool and settings.follow_levels
        return cls(
            model,
            normalizer,
            normalized,
            moments,
            NeighborForecasts(),
            bank_slots=slots,
            features=series.features,
            time_of_day_weight=weight,
            features_in_distance=in_distance,
            lookback=train.lookback,
            horizon=train.horizon,
            n_features=series.n_features,
            known_levels=KnownLevels.fit(train, normalizer, slots) if follows else None,
        )

    @property
    def n(self) -> int:
        """Number of variables."""
        return self.bank.n

    # Variables

    def others(self, present: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the variables that are not in S."""
        return np.setdiff1d(np.arange(self.n), present)

    def order(self, present: NDArray[np.int64], absent: bool) -> NDArray[np.int64]:
        """Return the variables of a forecast: S, followed by the other variables if `absent` is True."""
        return np.concatenate([present, self.others(present)]) if absent else present

    # Windows in normalized units

    def arrive(self, windows: Windows) -> Arrived:
        """Return the windows of a series as they would arrive."""
        return Arrived.of(windows, self.normalizer.cycle)

    def follow_also(self, train: Windows, variables: NDArray[np.int64]) -> None:
        """Follow further variables that wander beyond the levels of the training, if any are followed."""
        if self.known_levels is not None and np.setdiff1d(variables, self.known_levels.wandering).size:
            self.known_levels = KnownLevels.fit(train, self.normalizer, self.bank_slots, variables.tolist())

    def follow(self, arrived: Arrived) -> Arrived:
        """Return the windows, variables that left the levels of the training moved back to them."""
        if self.known_levels is None:
            return arrived
        return self.known_levels.follow(arrived, self.slots(arrived, self.lookback), self.normalizer)

    def slots(self, arrived: Arrived, length: int, skip: int = 0) -> NDArray[np.int64]:
        """Return the positions in the cycle of `length` steps of each window, after the first `skip`, [b, length]."""
        if arrived.step_slots is not None:
            return arrived.step_slots[:, skip : skip + length]
        return self.normalizer.cycle.after(arrived.slots, length, skip)

    def normalize(self, arrived: Arrived, present: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the readings of S in normalized units, [b, t, s]."""
        return self.normalizer.normalize(arrived.values[:, :, present], self.slots(arrived, self.lookback), present)

    def shared(self, arrived: Arrived) -> NDArray[np.float32] | None:
        """Return the features that the bank compares besides readings, [b, t, g]."""
        features = arrived.features if self.features_in_distance else None
        return self.shared_at(features, self.slots(arrived, self.lookback))

    def shared_at(self, features: NDArray[np.float32] | None, slots: NDArray[np.int64]) -> NDArray[np.float32] | None:
        """Return the features that the bank compares besides readings, for given features and slots, [..., g]."""
        compared = features if self.features_in_distance else None
        return compared_features(compared, slots, self.normalizer.cycle, self.time_of_day_weight)

    def whole_windows(self, windows: Windows) -> NDArray[np.float32]:
        """Return complete windows as the bank stores them, [b, t, n], or [b, t, n, f] with shared features."""
        arrived = self.arrive(windows)
        normal = self.normalize(arrived, np.arange(self.n))
        shared = self.shared(arrived)
        if shared is None:
            return normal
        repeated = np.broadcast_to(shared[:, :, None, :], (*normal.shape, shared.shape[-1]))
        return np.concatenate([normal[..., None], repeated], axis=3)

    def retrieve(self, arrived: Arrived, present: NDArray[np.int64], k: int, exponent: float) -> Neighbors:
        """Return the k nearest training windows, comparing S alone."""
        count = min(k, len(self.bank))
        normal = self.normalize(arrived, present)
        shared = self.shared(arrived)
        if arrived.consecutive and len(arrived) > 1:
            steps = np.concatenate([normal[0], normal[1:, -1]])  # [b + t - 1, s]
            shared_steps = None if shared is None else np.concatenate([shared[0], shared[1:, -1]])
            return self.bank.nearest_sliding(steps, present, count, exponent, shared=shared_steps)
        if isinstance(self.bank, WindowBank) and arrived.begins is not None and not self.bank.sparse:
            return nearest_of_series(self.bank, normal, shared, arrived.begins, present, count, exponent)
        return self.bank.nearest(normal, present, count, exponent, shared=shared)

    # The model

    def run(self, inputs: NDArray[np.float32], wanted: NDArray[np.int64] | None = None) -> NDArray[np.float32]:
        """Return the model's forecast of the wanted variables (all by default), [b, h, s], in raw units."""
        return np.asarray(self.model(inputs, wanted), dtype=np.float32)

    def with_features(self, raw: NDArray[np.float32], features: NDArray[np.float32] | None) -> NDArray[np.float32]:
        """Return readings [b, t, n] and time features [b, t, f - 1] as the model takes them, [b, t, n, f]."""
        x = np.empty((*raw.shape, self.n_features), dtype=np.float32)
        x[..., 0] = raw
        if features is not None:
            x[..., 1:] = features[:, :, None, :]
        return x

    def plain_forecast(self, arrived: Arrived) -> NDArray[np.float32]:
        """Return the model's forecast with all variables present, [b, h, n]; a missing reading is set to its center."""
        values = np.array(arrived.values, dtype=np.float32)
        holes = np.isnan(values)
        if holes.any():
            usual = self.normalizer.restore(np.zeros_like(values), self.slots(arrived, self.lookback))
            values[holes] = usual[holes]
        return self.run(self.with_features(values, arrived.features))

    # Training windows

    def candidate_inputs(self, index: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return training windows as the model takes them, [b, t, n, f]; a missing reading is set to its center."""
        ones = np.ones((len(index), 1), dtype=np.float32)
        normal = self.bank.pool_windows(index[:, None], ones, np.arange(self.n))
        steps = self.bank.starts[index][:, None] + np.arange(self.lookback)  # [b, t]
        features = None if self.features is None else self.features[steps]
        return self.with_features(self.normalizer.restore(normal, self.bank_slots[steps]), features)

    def forecast_candidates(self, index: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the model's forecasts of training windows, [b, h, n]."""
        return self.run(self.candidate_inputs(index))

    def forecasts_of_neighbors(self, neighbors: Neighbors) -> NDArray[np.float32]:
        """Return the model's forecasts of the neighbors, [b, k, h, n]; NaN where there is no neighbor."""
        shape = (len(self.bank), self.horizon, self.n)
        return self.neighbor_forecasts.get(neighbors.index, shape, self.forecast_candidates)

    def starts_of(self, neighbors: Neighbors) -> NDArray[np.int64]:
        """Return the steps of the training series at which the neighbors begin, [b, k]; -1 where there is none."""
        return np.where(neighbors.index >= 0, self.bank.starts[np.maximum(neighbors.index, 0)], -1)

    def paths_of(self, index: NDArray[np.int64], variables: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the readings of training windows and of the steps after them, [k, t + h, s]; NaN where missing."""
        length = self.lookback + self.horizon
        steps = self.bank.starts[index][:, None] + np.arange(length)  # [k, t + h]
        return self.normalizer.restore(self.bank.paths(index, variables, length), self.bank_slots[steps], variables)

    def uncertainty_scale(
        self, arrived: Arrived, neighbors: Neighbors, variables: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """Return the deviation of the neighbors' futures, [b, h, s] in raw units: the unit of the residuals."""
        deviation = self.bank.future_deviation(neighbors.index, variables, self.horizon)
        slots = self.slots(arrived, self.horizon, self.lookback)
        usual = self.normalizer.spread_at(slots, variables)  # [b, h, s]
        return np.asarray(usual * np.sqrt(deviation**2 + np.float32(_LEAST_SPREAD**2)), dtype=np.float32)


def compared_features(
    features: NDArray[np.float32] | None, slots: NDArray[np.int64], cycle: Cycle, time_of_day_weight: float
) -> NDArray[np.float32] | None:
    """Return the features by which windows are compared besides readings, [..., g]: input features and time of day."""
    compared = [] if features is None else [features]
    if time_of_day_weight > 0:
        compared.append(cycle.circle(slots, time_of_day_weight))
    return np.concatenate(compared, axis=-1) if compared else None


def _bank_of(
    train: Windows,
    normalizer: Normalizer,
    slots: NDArray[np.int64],
    shared: NDArray[np.float32] | None,
    bank_share: float,
) -> WindowBank:
    """Return a bank of the training windows in normalized units."""
    series, targets = train.series, train.target_values
    same_as_readings = targets is series.values or np.array_equal(targets, series.values, equal_nan=True)
    return WindowBank(
        normalizer.normalize(series.values, slots),
        train.lookback,
        starts=np.asarray(train.starts, dtype=np.int64),
        shared=shared,
        names=series.variables,
        fraction=bank_share if bank_share < 1 else None,
        targets=None if same_as_readings else normalizer.normalize(targets, slots),
    )


def _check_bank(bank: Bank, train: Windows, settings: Settings) -> None:
    """Raise unless a bank given by the user holds windows of the training series."""
    if not isinstance(bank, Bank):
        raise InputError(f"bank must implement the protocol subcast.retrieval.Bank, got {type(bank).__name__}")
    expected = (train.lookback, train.series.n_variables, len(train.series))
    sizes = (bank.lookback, bank.n, bank.n_steps)
    if sizes != expected:
        raise InputError(
            f"bank must hold windows of the training series (lookback, variables, steps = {expected}), got {sizes}"
        )
    if len(bank) and int(bank.starts.max()) + train.lookback + train.horizon > bank.n_steps:
        raise InputError(
            f"bank must leave room for the {train.horizon} steps that follow each window: give it starts=train.starts"
        )
    for place in {0, len(bank) // 2, len(bank) - 1} if len(bank) else set():
        start = int(bank.starts[place])
        readings = train.series.values[start : start + train.lookback]
        window = bank.paths(np.array([place]), np.arange(bank.n), train.lookback)[0]
        if not np.allclose(window, readings, rtol=1e-5, equal_nan=True):
            raise InputError(f"bank must hold the raw readings of train, and its window at step {start} differs")
    if settings.bank_share < 1:
        raise InputError(
            "bank_share cannot be used with a bank of your own: leave out bank_share, or give a smaller bank"
        )
