"""SubsetForecaster: any trained forecaster, made to survive missing variables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from subcast.adapters import adapt
from subcast.axes import check_axes, check_whole, variable_indices
from subcast.calendar import slot_of_day, slot_of_share
from subcast.errors import InputError
from subcast.forecast import Forecast
from subcast.names import plural
from subcast.retrieval import Neighbors
from subcast.subset.checks import Frame, check_model, refuse_overlap, refuse_unfitted
from subcast.subset.conformal import Calibration, calibrate
from subcast.subset.engine import Arrived, Engine
from subcast.subset.neighbor_forecasts import NeighborForecasts
from subcast.subset.settings import METRICS, Settings
from subcast.subset.stream import Live
from subcast.subset.tuning import tune
from subcast.subset.validation import split_validation
from subcast.tables.live import Recent, read_recent
from subcast.windows import Windows

_GOOD, _FAIR = 2.0, 10.0  # per cent of expected gap up to which a forecast is called good, and fair
_MOST_SURE = 0.99  # the widest interval that validation windows can tell of
_FIELDS = {field.name for field in fields(Settings)}


class SubsetForecaster:
    """Forecast whatever arrives, with a model that was trained on everything.

    Parameters
    ----------
    model
        what is wrapped: a model of subcast or a folder with one, a callable [b, t, n, f] -> [b, h, n], a torch
        module, a fitted scikit-learn regressor, an .onnx file, or what one of `subcast.adapters` gives
    metric
        what to tune for: "mae" or "rmse"
    levels
        of the intervals
    seconds
        about how long tuning may take
    seed
        of the draws of S in tuning and calibration
    progress
        whether to show bars for whatever takes more than two seconds
    settings
        all settings by hand: nothing is tuned then
    given
        any field of `Settings` by hand (`neighbors=20`, `correction=0`, ...); the others are tuned

    Examples
    --------
    >>> import subcast as sc
    >>> series = sc.load_dataset("clouds", n_plants=8, n_steps=1500)
    >>> train, val, test = series.split(lookback=6, horizon=3)
    >>> def last_reading(x):
    ...     return np.repeat(x[:, -1:, :, 0], 3, axis=1)
    >>> robust = sc.SubsetForecaster(last_reading, progress=False).fit(train, val)
    >>> recent = test.series.to_frame().iloc[60:66, [2, 5]]         # two of the eight plants arrive
    >>> forecast = robust.predict(recent)
    >>> forecast.mean.shape, forecast.variables
    ((3, 2), ('plant-002', 'plant-005'))
    """

    def __init__(
        self,
        model: Any,
        *,
        metric: str = "mae",
        levels: Sequence[float] = (0.9,),
        seconds: float = 60.0,
        seed: int = 0,
        progress: bool = True,
        settings: Settings | None = None,
        **given: Any,
    ) -> None:
        if metric not in METRICS:
            raise InputError(f"metric must be one of {', '.join(METRICS)}, got {metric!r}")
        unknown = sorted(set(given) - _FIELDS)
        if unknown:
            raise InputError(f"there is no setting {unknown[0]!r}; the settings are {', '.join(sorted(_FIELDS))}")
        if settings is not None and given:
            raise InputError(f"settings holds all of them: change {next(iter(given))!r} there, or leave settings out")
        if not isinstance(seconds, int | float) or not seconds > 0:
            raise InputError(f"seconds must be a number above 0, got {seconds!r}")
        check_whole("seed", seed, low=0)
        self.model = model
        self.metric = metric
        self.levels = _checked_levels(levels)
        self.seconds = seconds
        self.seed = seed
        self.progress = progress
        self._begin = settings if settings is not None else replace(Settings(), **given)
        self.settings = self._begin
        self.report: dict[str, Any] = {}
        self._given = tuple(_FIELDS) if settings is not None else tuple(given)
        self._engine: Engine | None = None
        self._frame: Frame | None = None
        self._calibration: Calibration | None = None
        self._probe: tuple[NDArray[np.float32], NDArray[np.float32]] | None = None
        self._live: Live | None = None

    @classmethod
    def paper(cls, model: Any, **options: Any) -> SubsetForecaster:
        """Give the published method with its defaults: borrow from 5 neighbors (b = 0.5), FDW with tau = 0.1.

        `options` may hold settings (`neighbors=10`, `weighting="uniform"`) and the arguments of the constructor.
        """
        changes = {name: options.pop(name) for name in list(options) if name in _FIELDS}
        return cls(model, settings=Settings.paper(**changes), **options)

    # Fitting

    def fit(self, train: Windows, val: Windows | None = None) -> SubsetForecaster:
        """Learn from the training windows, and tune and calibrate on validation windows.

        Nothing of the model is trained. From `train` come the bank and the second moments; on one half of `val`
        (in blocks that share no step with the other half) the settings not given by hand are tuned under random S;
        on the other half the intervals are calibrated. Without `val` the defaults serve, and there are no intervals.

        Returns
        -------
        SubsetForecaster
            itself
        """
        for argument, windows in (("train", train), ("val", val)):
            if not isinstance(windows, Windows) and (argument == "train" or windows is not None):
                raise InputError(
                    f"{argument} must be windows, such as those of series.split(lookback=12, horizon=12), "
                    f"got {type(windows).__name__}"
                )
        if not len(train):
            raise InputError("train has no windows: give at least one")
        if val is not None and (val.lookback, val.horizon) != (train.lookback, train.horizon):
            raise InputError(
                f"val has windows of {val.lookback} + {val.horizon} steps and train of {train.lookback} + "
                f"{train.horizon}: cut both with the same split"
            )
        if val is not None and val.series.variables != train.series.variables:
            raise InputError("val and train have different variables: cut both with the same split")
        if val is not None and len(val):
            refuse_overlap(train, val)
        series = train.series
        model = adapt(
            self.model,
            lookback=train.lookback,
            horizon=train.horizon,
            variables=series.variables,
            n_features=series.n_features,
        )
        self.settings = self._begin  # what an earlier fit found is found anew
        self._check_blend(train.horizon)
        seen = NeighborForecasts(series.features, progress=self.progress)
        engine = Engine.fit(model, train, self.settings, seen)
        probe = check_model(engine)  # a model that is refused leaves the wrapper as it was
        self._frame, self._engine, self._probe = Frame.of(train), engine, probe
        self.report = {}
        self._calibration = None
        self._live = None
        if val is not None and len(val):
            for_tuning, for_intervals = split_validation(val)
            if not set(self._given) >= _FIELDS and len(for_tuning):
                self.settings, self.report = tune(
                    engine,
                    val,
                    for_tuning,
                    self.settings,
                    self._given,
                    metric=self.metric,
                    seconds=self.seconds,
                    seed=self.seed,
                    progress=self.progress,
                )
            if self.settings.pool and len(for_intervals):  # ten passes a window are too many to calibrate with
                self._calibration = calibrate(
                    engine,
                    val,
                    for_intervals,
                    self.settings,
                    metric=self.metric,
                    seed=self.seed,
                    progress=self.progress,
                )
        return self

    def _check_blend(self, horizon: int) -> None:
        for name in ("blend", "blend_absent"):
            row = next((row for row in getattr(self.settings, name) if len(row) != horizon), None)
            if row is not None:
                raise InputError(
                    f"{name} must have an entry for each of the {horizon} steps ahead in every row, got {len(row)}"
                )

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables it was fitted on."""
        return self._fitted()[1].variables

    @property
    def lookback(self) -> int:
        """How many steps it looks at."""
        return self._fitted()[0].lookback

    @property
    def horizon(self) -> int:
        """How many steps it forecasts."""
        return self._fitted()[0].horizon

    def __repr__(self) -> str:
        """Show what is wrapped and what was chosen."""
        if self._engine is None or self._frame is None:
            return f"SubsetForecaster of {type(self.model).__name__}, not fitted"
        s = self.settings
        way = "pooled" if s.pool else f"one forecast each, weighted by {s.weighting}"
        lines = [
            f"SubsetForecaster of {self._engine.model!r}",
            f"  {len(self._engine.bank):,} training windows of {plural(len(self._frame.variables), 'variable')}"
            + (f", {self._engine.space.slots} slots a day" if self._engine.space.slots > 1 else ""),
            f"  {plural(s.neighbors, 'neighbor')}, {way}, exponent {s.exponent:g}, correction {s.correction:g}, "
            f"ridge {s.ridge:g}",
        ]
        if s.uses_specialist:
            ends = ", ".join(
                f"{row[-1]:.0%} at {share:.0%} present" for share, row in zip(s.shares, s.blend, strict=True)
            )
            lines.append(f"  specialist's part of the last step: {ends}")
        if self._calibration is not None:
            pairs = zip(self._calibration.shares, self._calibration.gaps, strict=True)
            gaps = ", ".join(f"{gap:+.1f} % at {share:.0%}" for share, gap in pairs if share < 1)
            lines.append(f"  expected gap to all variables: {gaps}" if gaps else "  intervals are calibrated")
        return "\n".join(lines)

    # Forecasting

    def predict(
        self,
        recent: Any,
        *,
        names: Sequence[str] | None = None,
        times: ArrayLike | None = None,
        absent: bool = False,
        levels: Sequence[float] | None = None,
    ) -> Forecast:
        """Forecast one window from whatever arrived.

        Parameters
        ----------
        recent
            a wide or long frame, a `Series`, or an array [t, n]: the last `lookback` steps (more are fine) of the
            variables that are there. An absent column and a column of NaN mean the same; columns in any order.
        names
            the variables of an array [t, s]
        times
            [t], of an array
        absent
            forecast the absent variables too (virtual sensors)
        levels
            of the intervals, those of the wrapper by default

        Returns
        -------
        Forecast
        """
        engine, frame = self._fitted()
        window = read_recent(
            recent,
            variables=frame.variables,
            lookback=engine.lookback,
            time_features=frame.time_features,
            freq=frame.freq,
            names=names,
            times=times,
        )
        return self._one(window, None, absent=absent, levels=levels)

    def predict_many(
        self,
        windows: Windows | ArrayLike,
        present: ArrayLike | Sequence[str] | None = None,
        *,
        times: ArrayLike | None = None,
        absent: bool = False,
        levels: Sequence[float] | None = None,
    ) -> Forecast:
        """Forecast many windows, all with the same variables present.

        Parameters
        ----------
        windows
            `Windows`, or an array [b, t, n] or [b, t, n, f] over all variables, NaN where there is no reading
        present
            names, numbers or a mask of the variables that are there; by default those that have a reading. What the
            windows hold of others is not looked at.
        times
            [b], when each window of an array begins; without, the time of day comes from the features, or is guessed
            from the readings where the wrapper looks at it
        absent, levels
            as in `predict`

        Returns
        -------
        Forecast
            a batch: `mean` is [b, h, s]
        """
        engine, frame = self._fitted()
        arrived, begins = self._arrived(windows, times)
        if present is None and not len(arrived):
            chosen = np.arange(engine.n)
        elif present is None:
            seen = ~np.isnan(arrived.values).all(axis=(0, 1))
            if not seen.any():
                raise InputError("windows holds no reading at all: at least one variable must be there")
            chosen = np.flatnonzero(seen)
        else:
            chosen = np.sort(variable_indices(present, engine.n, frame.variables, "present"))
        if arrived.slots.size and (arrived.slots < 0).any():
            guess = engine.space.guess_slots(arrived.values[:, :, chosen], chosen)
            arrived = replace(arrived, slots=np.where(arrived.slots < 0, guess, arrived.slots))
        return self._batch(arrived, chosen, frame.steps_after(begins, engine), absent=absent, levels=levels)

    def update(self, step: Any, time: Any = None, *, absent: bool = False) -> Forecast | None:
        """Take in one step of a live stream and forecast from the last `lookback` of them.

        Parameters
        ----------
        step
            a mapping or Series of names to readings, or an array [n] in the variables' order; what is not there is
            absent
        time
            when it was; needed when the wrapper looks at times, given once or at every step
        absent
            as in `predict`

        Returns
        -------
        Forecast, or None until `lookback` steps have come
        """
        engine, frame = self._fitted()
        if self._live is None:
            self._live = Live(engine, frame)
        ready = self._live.push(step, time, self.settings)
        if ready is None:
            return None
        window, neighbors = ready
        return self._one(window, neighbors, absent=absent, levels=None)

    def reset(self) -> None:
        """Forget the stream: the next `update` begins a new one."""
        self._live = None

    # Saving

    def save(self, folder: str | Path) -> None:
        """Write the wrapper to a folder, which `subcast.load` reads back; a wrapper there is replaced in one step.

        Our own models and ONNX files go with it; any other model is given again to `load`, which checks it against
        stored forecasts.
        """
        from subcast.subset.saving import save_wrapper

        self._fitted()
        save_wrapper(self, Path(folder))

    @classmethod
    def load(cls, folder: str | Path, model: Any = None) -> SubsetForecaster:
        """Read what `save` wrote (see `subcast.load`)."""
        from subcast.subset.saving import load_wrapper

        return load_wrapper(Path(folder), model)

    # Inside

    @property
    def engine(self) -> Engine:
        """What was learned from the training windows, for experiments that look inside."""
        return self._fitted()[0]

    def with_settings(self, settings: Settings) -> SubsetForecaster:
        """The same fitted wrapper with other settings; those that shape its bank and space must stay.

        Nothing is fitted again, so there are no intervals.
        """
        engine, frame = self._fitted()
        for name in ("daily_profile", "time_of_day_weight", "features_in_distance", "per_variable", "bank_share"):
            if getattr(settings, name) != getattr(self.settings, name):
                raise InputError(
                    f"{name} shapes what is fitted: fit a new wrapper with {name}={getattr(settings, name)}"
                )
        if settings.uses_regression and engine.moments is None:
            raise InputError(
                "correction and regression_share need moments, which this wrapper has none of: fit a new one with them"
            )
        other = SubsetForecaster(self.model, metric=self.metric, settings=settings, progress=self.progress)
        other._engine, other._frame, other._probe = engine, frame, self._probe
        return other

    def _fitted(self) -> tuple[Engine, Frame]:
        if self._engine is None or self._frame is None:
            refuse_unfitted()
        return self._engine, self._frame

    def _arrived(
        self, windows: Windows | ArrayLike, times: ArrayLike | None
    ) -> tuple[Arrived, NDArray[np.datetime64] | None]:
        """The windows as the engine takes them, slots of -1 where the hour is not known, and when each begins."""
        engine, frame = self._fitted()
        if isinstance(windows, Windows):
            if windows.lookback != engine.lookback:
                raise InputError(f"windows have {windows.lookback} steps, and the wrapper looks at {engine.lookback}")
            if windows.series.variables != frame.variables:
                raise InputError("windows have other variables than the wrapper was fitted on: select them first")
            if windows.series.time_features != frame.time_features:
                came, wanted = list(windows.series.time_features), list(frame.time_features)
                raise InputError(
                    f"windows have the time features {came}, and the wrapper was fitted on {wanted}: "
                    "choose them with series.with_features(...)"
                )
            moments = windows.series.times
            begins = None if moments is None else moments[np.asarray(windows.starts, dtype=np.int64)]
            return engine.arrive(windows), begins
        values, features = _split_features(windows, engine)
        try:
            begins = None if times is None else np.asarray(times, dtype="datetime64[ns]")
        except (TypeError, ValueError):
            raise InputError(f"times must be moments such as '2024-01-01 12:00', got {times!r}") from None
        if begins is not None and begins.shape != (len(values),):
            raise InputError(f"times must tell when each of the {len(values)} windows begins, got shape {begins.shape}")
        slots = np.full(len(values), -1, dtype=np.int64)
        if engine.space.slots == 1:
            slots[:] = 0
        elif begins is not None:
            slots = slot_of_day(begins, engine.space.slots)
        elif features is not None and "time_of_day" in frame.time_features:
            slots = slot_of_share(features[:, 0, frame.time_features.index("time_of_day")], engine.space.slots)
        return Arrived(values, features, slots), begins

    def _one(
        self, window: Recent, neighbors: Neighbors | None, *, absent: bool, levels: Sequence[float] | None
    ) -> Forecast:
        engine, frame = self._fitted()
        features = None if window.features is None else window.features[None]
        present = np.flatnonzero(~np.isnan(window.values).all(axis=0))
        if window.times is not None and engine.space.slots > 1:
            slots = slot_of_day(window.times[:1], engine.space.slots)
        else:
            slots = engine.space.guess_slots(window.values[None][:, :, present], present)
        arrived = Arrived(window.values[None], features, slots)
        begins = None if window.times is None else window.times[:1]
        batch = self._batch(
            arrived,
            present,
            frame.steps_after(begins, engine),
            absent=absent,
            levels=levels,
            neighbors=neighbors,
        )
        order = engine.order(present, absent)
        index = batch.neighbor_index[0]
        starts = index[index >= 0]
        single = batch[0]
        return replace(
            single,
            history=window.values[:, order],
            history_times=window.times,
            paths=(lambda: engine.paths_from(starts, order)) if starts.size else None,
        )

    def _batch(
        self,
        arrived: Arrived,
        present: NDArray[np.int64],
        times: NDArray[np.datetime64] | None,
        *,
        absent: bool,
        levels: Sequence[float] | None,
        neighbors: Neighbors | None = None,
    ) -> Forecast:
        engine, frame = self._fitted()
        order = engine.order(present, absent)
        chosen = self.levels if levels is None else _checked_levels(levels)
        there = ~np.isnan(arrived.values[:, :, present])  # [b, t, s]
        whole = len(present) == engine.n and bool(there.all())
        if whole:  # the plain forecast; neighbors only tell how sure it is
            mean = engine.plain(arrived)
            sure = self._calibration is not None and bool(chosen)
            near = engine.find(arrived, present, self.settings) if sure and neighbors is None else neighbors
            if near is None:
                near = Neighbors(np.zeros((len(mean), 0), dtype=np.int64), np.zeros((len(mean), 0), dtype=np.float32))
            weights = engine.weigh(near, self.settings)
        else:
            mean, near, weights = engine.forecast(arrived, present, self.settings, absent=absent, neighbors=neighbors)
        observed = np.zeros((len(mean), len(order)), dtype=np.float32)
        observed[:, : len(present)] = there.mean(axis=1)
        share = len(present) / engine.n
        seen = float(there.mean()) * share if there.size else share  # holes count as what is not there
        gap = None if self._calibration is None else self._calibration.gap_at(seen)
        least = 0.0 if self._calibration is None else float(self._calibration.shares[0])
        starts = engine.starts_of(near)
        return Forecast(
            variables=tuple(frame.variables[i] for i in order),
            mean=mean,
            levels=chosen if self._calibration is not None else (),
            bounds=self._bounds(arrived, near, mean, present, order, chosen),
            observed=observed,
            observed_share=there.mean(axis=(1, 2)) * share,
            times=times,
            neighbor_index=starts,
            neighbor_distance=near.distance,
            weights=weights,
            neighbor_times=frame.last_times(starts, engine.lookback),
            quality=_quality(whole, gap, seen, least),
            expected_gap=0.0 if whole else gap,
            freq=frame.freq,
            unit=frame.unit,
        )

    def _bounds(
        self,
        arrived: Arrived,
        near: Neighbors,
        mean: NDArray[np.float32],
        present: NDArray[np.int64],
        order: NDArray[np.int64],
        levels: tuple[float, ...],
    ) -> NDArray[np.float32] | None:
        engine, _ = self._fitted()
        if self._calibration is None or not levels:
            return None
        share = len(present) / engine.n
        unit = engine.uncertainty_scale(arrived, near, order)  # [b, h, s]
        bounds = np.empty((len(levels), 2, *mean.shape), dtype=np.float32)
        for place, level in enumerate(levels):
            parts = [self._calibration.bounds(level, share, present, absent=False)]
            if len(order) > len(present):
                parts.append(self._calibration.bounds(level, share, order[len(present) :], absent=True))
            off = np.concatenate(parts, axis=2)  # [2, h, s]
            bounds[place] = mean + off[:, None] * unit
        return bounds


def _split_features(windows: ArrayLike, engine: Engine) -> tuple[NDArray[np.float32], NDArray[np.float32] | None]:
    """Readings [b, t, n] and time features [b, t, f - 1] of an array of windows."""
    try:
        array = np.asarray(windows)
    except ValueError:
        raise InputError("windows must be one array [b, t, n] or [b, t, n, f], got rows of different lengths") from None
    if array.dtype.kind not in "fiub":
        raise InputError(f"windows must be numbers, NaN where there is no reading, got values of type {array.dtype}")
    if array.ndim == 3 and engine.n_features == 1:
        array = array[..., None]
    check_axes("windows", array, "btnf", t=engine.lookback, n=engine.n, f=engine.n_features)
    array = array.astype(np.float32, copy=False)
    if np.isinf(array).any():
        raise InputError("windows holds infinities: mark missing readings as NaN")
    values = array[..., 0]
    if engine.n_features == 1:
        return values, None
    features = array[:, :, 0, 1:]
    if np.isnan(features).any():  # they may be given for the variables that are there only
        known = ~np.isnan(array[..., 1:]).all(axis=2)
        features = np.where(known, np.nanmax(np.nan_to_num(array[..., 1:], nan=-np.inf), axis=2), np.nan)
        if not known.all():
            raise InputError("windows must have its time features at every step, the same for every variable")
    return values, np.ascontiguousarray(features)


def _checked_levels(levels: Sequence[float]) -> tuple[float, ...]:
    given: tuple[Any, ...] = (levels,) if np.ndim(levels) == 0 else tuple(levels)
    for level in given:
        if not isinstance(level, int | float | np.floating) or not 0 < level <= _MOST_SURE:
            raise InputError(f"levels must be above 0 and at most {_MOST_SURE}, such as 0.9, got {level!r}")
    return tuple(float(level) for level in given)


def _quality(whole: bool, gap: float | None, share: float, least: float) -> str:
    """A word for a dashboard; never "good" from less than half of what was measured in validation."""
    if whole:
        return "full"
    if gap is None:  # nothing was measured: go by how much is there
        return "good" if share >= 0.85 else "fair" if share >= 0.5 else "poor"
    if gap > _FAIR:
        return "poor"
    return "good" if gap <= _GOOD and share >= 0.5 * least else "fair"
