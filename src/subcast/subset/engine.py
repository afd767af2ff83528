"""From what arrived to a forecast: retrieve, complete, run the model, blend with the specialist."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subcast import weighting
from subcast.calendar import circle_of_day, slot_of_day
from subcast.retrieval import Neighbors, WindowBank
from subcast.retrieval.moments import LagMoments
from subcast.retrieval.pooling import pool_deviation, pool_mean, pool_median
from subcast.subset.neighbor_forecasts import NeighborForecasts
from subcast.subset.normalizer import Normalizer
from subcast.subset.regression import Regression, RegressionCache
from subcast.subset.settings import Settings
from subcast.windows import Windows

_AT_ONCE = 256  # windows worked on together
_LEAST_SPREAD = 0.1  # of the usual spread: neighbors that agree to less than this are not that sure


@dataclass(frozen=True, eq=False)
class Arrived:
    """Windows as they arrived, in raw units.

    Parameters
    ----------
    values
        [b, t, n], NaN where there is no reading
    features
        [b, t, f - 1], the time features, or None
    slots
        [b], the slot of the day of each window's first step
    consecutive
        whether each window begins one step after the one before
    """

    values: NDArray[np.float32]
    features: NDArray[np.float32] | None
    slots: NDArray[np.int64]
    consecutive: bool = False

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, part: Any) -> Arrived:
        """Some of the windows, by a slice or by their numbers."""
        features = None if self.features is None else self.features[part]
        together = self.consecutive and isinstance(part, slice) and part.step in (None, 1)
        return replace(self, values=self.values[part], features=features, slots=self.slots[part], consecutive=together)

    @classmethod
    def of(cls, windows: Windows, slots_a_day: int) -> Arrived:
        """The windows of a series, as views."""
        times = windows.series.times
        if slots_a_day == 1:
            slots = np.zeros(len(windows), dtype=np.int64)
        elif times is None:
            slots = np.full(len(windows), -1, dtype=np.int64)  # not known
        else:
            slots = slot_of_day(times, slots_a_day)[np.asarray(windows.starts, dtype=np.int64)]
        known = slots_a_day == 1 or times is not None  # an hour that is guessed may jump from window to window
        return cls(windows.readings, windows.features, slots, windows.starts.step == 1 and known)


@dataclass(frozen=True, eq=False)
class Completed:
    """What retrieval and completion make of some windows, in the normalized space."""

    arrived: Arrived
    present: NDArray[np.int64]
    neighbors: Neighbors
    weights: NDArray[np.float32]  # [b, k]
    readings: NDArray[np.float32]  # [b, t, s]: those of S, holes filled
    pooled: NDArray[np.float32]  # [b, t, n]: the neighbors' readings, averaged
    solved: NDArray[np.float32] | None  # [b, p]: what the regressions share
    plan: Regression | None


class Engine:
    """All that was learned from the training windows, and the steps of a forecast.

    Parameters
    ----------
    model
        [b, t, n, f] to [b, h, n], raw units
    space
        the normalized coordinates
    bank
        the training windows in them
    moments
        of the same, None when no regression is wanted
    lookback, horizon, n_features
        sizes
    """

    def __init__(
        self,
        model: Any,
        space: Normalizer,
        bank: WindowBank,
        moments: LagMoments | None,
        seen: NeighborForecasts,
        *,
        futures: NDArray[np.float32] | None = None,
        lookback: int,
        horizon: int,
        n_features: int,
        bank_slots: NDArray[np.int64],
        time_of_day_weight: float,
    ) -> None:
        self.model, self.space, self.bank, self.moments, self.seen = model, space, bank, moments, seen
        self.futures = bank.data if futures is None else futures  # [rows, t]: what neighbors went on to read
        self.lookback, self.horizon, self.n_features = lookback, horizon, n_features
        self.bank_slots = bank_slots  # [t]: of the training series' steps
        self.time_of_day_weight = time_of_day_weight
        self.n = bank.n
        self.plans = None if moments is None else RegressionCache(moments, self.n, lookback, horizon)
        self.passes = 0  # windows that went through the model, for those who count

    @classmethod
    def fit(cls, model: Any, train: Windows, settings: Settings, seen: NeighborForecasts) -> Engine:
        """Compute the training moments and lay out the bank."""
        series = train.series
        space = Normalizer.fit(train, per_variable=settings.per_variable, daily_profile=settings.daily_profile)
        slots = np.zeros(len(series), dtype=np.int64)
        if space.slots > 1 and series.times is not None:
            slots = slot_of_day(series.times, space.slots)
        normal = space.normalize(series.values, slots)  # [t, n]
        time_of_day_weight = settings.time_of_day_weight if space.slots > 1 else 0.0
        shared = shared_features(series.features, slots, space.slots, settings, time_of_day_weight)
        bank = WindowBank(
            normal,
            train.lookback,
            starts=np.asarray(train.starts, dtype=np.int64),
            shared=shared,
            names=series.variables,
            fraction=settings.bank_share if settings.bank_share < 1 else None,
        )
        counted = _counted(train, space, slots)
        used = (normal if counted is None else np.where(np.isnan(counted), np.float32(np.nan), normal))[
            min(train.starts) : max(train.starts) + train.lookback + train.horizon
        ]
        needs_moments = settings.pool or settings.correction > 0 or settings.regression_share > 0
        moments = LagMoments.fit(used, train.lookback + train.horizon) if needs_moments else None
        return cls(
            model,
            space,
            bank,
            moments,
            seen,
            futures=None if counted is None else np.ascontiguousarray(counted.T),
            lookback=train.lookback,
            horizon=train.horizon,
            n_features=series.n_features,
            bank_slots=slots,
            time_of_day_weight=time_of_day_weight,
        )

    # The steps of a forecast

    def arrive(self, windows: Windows) -> Arrived:
        """The windows of a series as they would arrive."""
        return Arrived.of(windows, self.space.slots)

    def windows_in_space(self, windows: Windows, settings: Settings) -> NDArray[np.float32]:
        """Whole windows as the bank holds them, [b, t, n] or [b, t, n, f] with what it shares."""
        arrived = self.arrive(windows)
        normal = self.normal(arrived, np.arange(self.n))
        shared = self.shared(arrived, settings)
        if shared is None:
            return normal
        spread = np.broadcast_to(shared[:, :, None, :], (*normal.shape, shared.shape[-1]))
        return np.concatenate([normal[..., None], spread], axis=3)

    def slots(self, arrived: Arrived, length: int, skip: int = 0) -> NDArray[np.int64]:
        """The slots of the day of some steps of each window, [b, length]."""
        return (arrived.slots[:, None] + skip + np.arange(length)) % self.space.slots

    def normal(self, arrived: Arrived, present: NDArray[np.int64]) -> NDArray[np.float32]:
        """The readings of S in the normalized space, [b, t, s]."""
        readings = arrived.values[:, :, present]
        return self.space.normalize(readings, self.slots(arrived, self.lookback), present)

    def shared(self, arrived: Arrived, settings: Settings) -> NDArray[np.float32] | None:
        """What the bank compares besides readings, [b, t, g]."""
        slots = self.slots(arrived, self.lookback)
        return shared_features(arrived.features, slots, self.space.slots, settings, self.time_of_day_weight)

    def others(self, present: NDArray[np.int64]) -> NDArray[np.int64]:
        """The variables that are not in S."""
        return np.setdiff1d(np.arange(self.n), present)

    def find(self, arrived: Arrived, present: NDArray[np.int64], settings: Settings, k: int | None = None) -> Neighbors:
        """The nearest training windows, looking only at S."""
        k = min(settings.neighbors if k is None else k, len(self.bank))
        normal = self.normal(arrived, present)
        shared = self.shared(arrived, settings)
        if arrived.consecutive and len(arrived) > 1:
            steps = np.concatenate([normal[0], normal[1:, -1]])  # [b + t - 1, s]
            along = None if shared is None else np.concatenate([shared[0], shared[1:, -1]])
            return self.bank.nearest_sliding(steps, present, k, settings.exponent, shared=along)
        return self.bank.nearest(normal, present, k, settings.exponent, shared=shared)

    def weigh(self, neighbors: Neighbors, settings: Settings) -> NDArray[np.float32]:
        """The weights of the neighbors, [b, k], all but FDW's."""
        if settings.weighting == "distance":
            return weighting.by_distance(neighbors.distance, settings.temperature)
        if settings.weighting == "rank":
            return weighting.by_rank(neighbors.distance)
        return weighting.uniform(neighbors.distance)

    def complete(
        self, arrived: Arrived, present: NDArray[np.int64], settings: Settings, neighbors: Neighbors
    ) -> Completed:
        """Average the neighbors and find what they get wrong on S."""
        weights = self.weigh(neighbors, settings)
        everyone = np.arange(self.n)
        pooled = pool_mean(self.bank.data, self.starts_of(neighbors), weights, everyone, 0, self.lookback)
        readings = _filled(self.normal(arrived, present), pooled[:, :, present])
        plan = solved = None
        if self.plans is not None and settings.uses_regression:
            plan = self.plans.get(present, settings.ridge)
            solved = plan.solve(readings - pooled[:, :, present])
        return Completed(arrived, present, neighbors, weights, readings, pooled, solved, plan)

    def model_inputs(self, done: Completed, correction: float) -> NDArray[np.float32]:
        """The completed windows in raw units, [b, t, n, f]."""
        z = done.pooled.copy()  # [b, t, n]
        if correction > 0 and done.plan is not None and done.solved is not None and done.plan.absent.size:
            z[:, :, done.plan.absent] += np.float32(correction) * done.plan.inputs(done.solved)
        z[:, :, done.present] = done.readings
        raw = self.space.restore(z, self.slots(done.arrived, self.lookback))
        given = done.arrived.values[:, :, done.present]
        raw[:, :, done.present] = np.where(np.isnan(given), raw[:, :, done.present], given)  # what arrived stays
        return self._with_features(raw, done.arrived.features)

    def _with_features(self, raw: NDArray[np.float32], features: NDArray[np.float32] | None) -> NDArray[np.float32]:
        """Readings [b, t, n] and time features [b, t, f - 1] as the model takes them, [b, t, n, f]."""
        x = np.empty((*raw.shape, self.n_features), dtype=np.float32)
        x[..., 0] = raw
        if features is not None:
            x[..., 1:] = features[:, :, None, :]
        return x

    def plain(self, arrived: Arrived) -> NDArray[np.float32]:
        """The model's own forecast with all variables in, [b, h, n]; holes count as the usual value."""
        values = np.array(arrived.values, dtype=np.float32)
        holes = np.isnan(values)
        if holes.any():
            usual = self.space.restore(np.zeros_like(values), self.slots(arrived, self.lookback))
            values[holes] = usual[holes]
        return self.run(self._with_features(values, arrived.features), None)

    def run(self, inputs: NDArray[np.float32], wanted: NDArray[np.int64] | None) -> NDArray[np.float32]:
        """The model's forecast of the wanted variables, [b, h, s], raw."""
        self.passes += len(inputs)
        if wanted is None:
            return np.asarray(self.model(inputs), dtype=np.float32)
        if hasattr(self.model, "predict"):
            return np.asarray(self.model.predict(inputs, wanted=wanted), dtype=np.float32)
        return np.asarray(self.model(inputs), dtype=np.float32)[:, :, wanted]

    def specialist(self, done: Completed, settings: Settings, *, absent: bool = False) -> NDArray[np.float32]:
        """The forecast without the model, [b, h, s] raw: the neighbors' futures and a regression on S."""
        wanted = self.others(done.present) if absent else done.present
        starts = self.starts_of(done.neighbors)
        if settings.center == "median":
            z = pool_median(self.futures, starts, wanted, self.lookback, self.horizon)
        else:
            z = pool_mean(self.futures, starts, done.weights, wanted, self.lookback, self.horizon)
        if settings.regression_share > 0 and done.plan is not None and done.solved is not None:
            z = z + np.float32(settings.regression_share) * done.plan.future(done.solved, absent=absent)
        return self.space.restore(z, self.slots(done.arrived, self.horizon, self.lookback), wanted)

    def uncertainty_scale(
        self, arrived: Arrived, neighbors: Neighbors, wanted: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """How far the neighbors' futures lie apart, [b, h, s] raw: what residuals are measured in."""
        apart = pool_deviation(self.futures, self.starts_of(neighbors), wanted, self.lookback, self.horizon)
        slots = self.slots(arrived, self.horizon, self.lookback)
        usual = self.space.spread[:, wanted][slots]  # [b, h, s]
        return np.asarray(usual * np.sqrt(apart**2 + np.float32(_LEAST_SPREAD**2)), dtype=np.float32)

    def starts_of(self, neighbors: Neighbors) -> NDArray[np.int64]:
        """Where the neighbors begin in the bank's rows, [b, k]; -1 for none."""
        return np.where(neighbors.index >= 0, self.bank.starts[np.maximum(neighbors.index, 0)], -1)

    # The two ways to forecast

    def forecast(
        self,
        arrived: Arrived,
        present: NDArray[np.int64],
        settings: Settings,
        *,
        absent: bool = False,
        neighbors: Neighbors | None = None,
    ) -> tuple[NDArray[np.float32], Neighbors, NDArray[np.float32]]:
        """Forecast S (then, on request, the absent variables): mean [b, h, s], neighbors and weights [b, k]."""
        if not len(arrived):
            k = 0 if neighbors is None else neighbors.index.shape[1]
            nothing = Neighbors(np.zeros((0, k), dtype=np.int64), np.zeros((0, k), dtype=np.float32))
            count = self.n if absent else len(present)
            return np.zeros((0, self.horizon, count), dtype=np.float32), nothing, nothing.distance
        means, weights = [], []
        way = self._pooled if settings.pool else self._one_by_one
        if neighbors is None:
            neighbors = self.find(arrived, present, settings)
        for first in range(0, len(arrived), _AT_ONCE):
            part = slice(first, first + _AT_ONCE)
            near = Neighbors(neighbors.index[part], neighbors.distance[part])
            mean, weight = way(arrived[part], present, settings, near, absent)
            means.append(mean)
            weights.append(weight)
        return np.concatenate(means), neighbors, np.concatenate(weights)

    def _pooled(
        self, arrived: Arrived, present: NDArray[np.int64], settings: Settings, neighbors: Neighbors, absent: bool
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        done = self.complete(arrived, present, settings, neighbors)
        wanted = self.order(present, absent)
        mean = self.run(self.model_inputs(done, settings.correction), wanted)
        return self._blended(done, settings, mean), done.weights

    def order(self, present: NDArray[np.int64], absent: bool) -> NDArray[np.int64]:
        """The variables of a forecast: S, then on request the others."""
        return np.concatenate([present, self.others(present)]) if absent else present

    def _blended(self, done: Completed, settings: Settings, mean: NDArray[np.float32]) -> NDArray[np.float32]:
        """The model's forecast `mean` of S and perhaps the others, with the specialist's share in place."""
        s = len(done.present)
        for is_absent, columns in ((False, slice(0, s)), (True, slice(s, None))):
            blend = settings.blend_at(s / self.n, self.horizon, absent=is_absent).astype(np.float32)[:, None]  # [h, 1]
            if blend.any() and mean[:, :, columns].size:
                own = self.specialist(done, settings, absent=is_absent)
                mean[:, :, columns] = (1 - blend) * mean[:, :, columns] + blend * own
        return mean

    def _one_by_one(
        self, arrived: Arrived, present: NDArray[np.int64], settings: Settings, neighbors: Neighbors, absent: bool
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """One forecast for each neighbor, weighted: the paper's way (equations 5 to 7)."""
        each = self._each(arrived, present, settings, neighbors, self.order(present, absent))
        seen = self.seen.get(self, neighbors.index)[..., present] if settings.weighting == "forecast" else None
        mean, weights = self.weighted(each, seen, neighbors, present, settings)
        if settings.uses_specialist:
            mean = self._blended(self.complete(arrived, present, settings, neighbors), settings, mean)
        return mean, weights

    def weighted(
        self,
        each: NDArray[np.float32],
        seen: NDArray[np.float32] | None,
        neighbors: Neighbors,
        present: NDArray[np.int64],
        settings: Settings,
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Average the forecasts of each neighbor's completion, [b, k, h, s] with S first, and give the weights [b, k].

        `seen`, the model's forecasts of the neighbors themselves, is what FDW compares with.
        """
        if settings.weighting == "forecast" and seen is not None:
            spread = self.space.spread_of(present)
            new = each[..., : len(present)]
            weights = weighting.by_forecast(new / spread, seen / spread, settings.temperature)
            weights = np.where(neighbors.index >= 0, weights, np.float32(0))
        else:
            weights = self.weigh(neighbors, settings)
        # Without a reading there is no neighbor: every completion is the usual window, and so is its forecast.
        none = weights.sum(axis=1, keepdims=True) == 0
        mean = np.einsum("bk,bkhs->bhs", np.where(none, 1 / weights.shape[1], weights), each).astype(np.float32)
        return mean, weights

    def _each(
        self,
        arrived: Arrived,
        present: NDArray[np.int64],
        settings: Settings,
        neighbors: Neighbors,
        wanted: NDArray[np.int64],
    ) -> NDArray[np.float32]:
        """The forecast of the window completed by each neighbor alone, [b, k, h, s]."""
        b, k = neighbors.index.shape
        each = np.empty((b, k, self.horizon, len(wanted)), dtype=np.float32)
        for place in range(k):
            one = Neighbors(neighbors.index[:, place : place + 1], neighbors.distance[:, place : place + 1])
            alone = self.complete(arrived, present, replace(settings, weighting="uniform"), one)
            inputs = self.model_inputs(alone, settings.correction)
            if settings.features_in_distance and arrived.features is not None:
                self._borrow_features(inputs, present, one)
            each[:, place] = self.run(inputs, wanted)
        return each

    def each_forecast(
        self, arrived: Arrived, present: NDArray[np.int64], settings: Settings
    ) -> tuple[NDArray[np.float32], NDArray[np.float32], Neighbors]:
        """What FDW compares: the completed windows' forecasts and the neighbors' own, [b, k, h, s] each."""
        neighbors = self.find(arrived, present, settings)
        each = self._each(arrived, present, settings, neighbors, present)
        return each, self.seen.get(self, neighbors.index)[..., present], neighbors

    def _borrow_features(self, inputs: NDArray[np.float32], present: NDArray[np.int64], one: Neighbors) -> None:
        """Give absent variables the neighbor's time features too, as the paper's borrowing does (in place)."""
        absent = self.others(present)
        borrowed = self.bank.windows(one.index[:, 0])[..., 1 : self.n_features]  # [b, t, n, f - 1]
        inputs[:, :, absent, 1:] = np.where(np.isnan(borrowed), inputs[..., 1:], borrowed)[:, :, absent]

    def bank_inputs(self, index: NDArray[np.int64]) -> NDArray[np.float32]:
        """The training windows of these places in the bank as the model takes them, [b, t, n, f], raw."""
        starts = self.bank.starts[index]
        weights = np.ones((len(index), 1), dtype=np.float32)
        z = pool_mean(self.bank.data, starts[:, None], weights, np.arange(self.n), 0, self.lookback)
        steps = starts[:, None] + np.arange(self.lookback)  # [b, t]
        features = self.seen.features[steps] if self.n_features > 1 else None
        return self._with_features(self.space.restore(z, self.bank_slots[steps]), features)

    def paths_from(self, starts: NDArray[np.int64], variables: NDArray[np.int64]) -> NDArray[np.float32]:
        """What windows that begin at these steps read and went on to read, [k, t + h, s], raw, NaN where missing."""
        steps = starts[:, None] + np.arange(self.lookback + self.horizon)  # [k, t + h]
        z = self.bank.data[variables[:, None, None], steps]  # [s, k, t + h]
        return self.space.restore(np.moveaxis(z, 0, -1), self.bank_slots[steps], variables)


def shared_features(
    features: NDArray[np.float32] | None,
    slots: NDArray[np.int64],
    per_day: int,
    settings: Settings,
    time_of_day_weight: float,
) -> NDArray[np.float32] | None:
    """What windows are compared by besides readings, [..., g]: the input features and the time of day, as told."""
    parts = []
    if settings.features_in_distance and features is not None:
        parts.append(features)
    if time_of_day_weight > 0:
        parts.append(circle_of_day(slots, per_day, time_of_day_weight))
    return np.concatenate(parts, axis=-1) if parts else None


def _counted(train: Windows, space: Normalizer, slots: NDArray[np.int64]) -> NDArray[np.float32] | None:
    """What counts as a target, [t, n] in the space, where that is not every reading (nights, codes); else None."""
    targets = train.target_values
    if targets is train.series.values or np.array_equal(targets, train.series.values, equal_nan=True):
        return None
    return space.normalize(targets, slots)


def _filled(readings: NDArray[np.float32], pooled: NDArray[np.float32]) -> NDArray[np.float32]:
    """Readings [b, t, s] without holes: the neighbors' course, moved by the offset before and after each hole."""
    holes = np.isnan(readings)
    if not holes.any():
        return readings
    filled = readings.copy()
    steps = np.arange(readings.shape[1])
    for window, variable in np.argwhere(holes.any(axis=1)):
        known = ~holes[window, :, variable]
        path = pooled[window, :, variable]
        if known.any():
            offset = np.interp(steps, steps[known], (readings[window, :, variable] - path)[known])
            filled[window, ~known, variable] = (path + offset)[~known]
        else:
            filled[window, :, variable] = path
    return filled
