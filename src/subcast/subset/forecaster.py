"""SubsetForecaster: wraps a trained forecaster so that it can forecast when variables are missing."""

from __future__ import annotations

import copy
import dataclasses
import logging
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from subcast.adapters import adapt
from subcast.axes import check_whole, variable_indices
from subcast.blas_threads import one_blas_thread
from subcast.errors import DataWarning, FitWarning, InputError
from subcast.forecast import Forecast
from subcast.limits import Limits
from subcast.names import plural
from subcast.progress import progress_bar
from subcast.retrieval import Bank, Neighbors
from subcast.series import Series
from subcast.storage import fields
from subcast.storage.state import State
from subcast.subset import saving
from subcast.subset.arrived import arrive_window, read_windows
from subcast.subset.blend import SPECIALIST
from subcast.subset.checks import (
    check_blend,
    check_fit_windows,
    check_model,
    check_probe,
    refuse_unfitted,
    stored_probe,
)
from subcast.subset.conformal import Calibration, Sample, calibrate, checked_levels, windows_needed
from subcast.subset.experts import OWN_EXPERTS, Boosted, Expert, OwnLinear, OwnTrees, all_experts
from subcast.subset.experts.practice import Practice, Rows, choose_ridge
from subcast.subset.fitted import Fitted
from subcast.subset.metadata import TrainingMetadata
from subcast.subset.refreshing import refreshed
from subcast.subset.result import Ahead, ForecastMaker
from subcast.subset.screened import (
    LEARNED,
    LimitsChoice,
    batch_notes,
    check_limits_choice,
    check_variables,
    fit_limits,
    given_limits_facts,
    saved_limits,
    screen_arrived,
    screen_recent,
)
from subcast.subset.settings import METRICS, Settings
from subcast.subset.shares import parts_of_rows
from subcast.subset.spread import choose_bounds
from subcast.subset.stream import ForecastStream
from subcast.subset.tuning import RIDGES, WITHOUT_MODEL, tune
from subcast.subset.usefulness import Usefulness, judge_model
from subcast.subset.validation import split_validation
from subcast.tables.convention import NumberFormat
from subcast.tables.live import Recent, read_recent
from subcast.windows import Windows

_FIELDS = {field.name for field in dataclasses.fields(Settings)}
_FITTED_SETTINGS = (
    "daily_profile", "holidays", "time_of_day_weight", "features_in_distance", "per_variable", "bank_share",
    "follow_levels",
)  # fmt: skip
_FADES_FROM = 0.95  # share of the variables present from which the tuned parts of the experts fade
_COMPARED = 256  # validation windows on which the model of a wrapper without intervals is compared
_LOGGER = logging.getLogger(__name__)


class SubsetForecaster:
    """Forecast from any subset of the variables, with a model that was trained on all of them.

    Parameters
    ----------
    model
        the model to wrap: a model of subcast or a folder with one, a callable [b, t, n, f] -> [b, h, n], a torch
        module, a fitted scikit-learn regressor, an .onnx file, or what one of `subcast.adapters` returns
    metric
        the error that tuning minimizes: "mae" or "rmse"
    levels
        levels of the prediction intervals
    effort
        how much data tuning and the boosted expert use: 1 is about 160 validation windows for each of 9 draws of S, and
        600,000 training rows; 0.5 half as many. The settings found do not depend on the speed of the machine.
    seconds
        stop tuning after this time, with a warning; None for no limit
    seed
        random seed for drawing S in tuning and calibration
    progress
        whether to show progress bars for work that takes more than two seconds
    bank
        the past windows to search, in raw units; made of the training windows by default
    experts
        further experts to blend in, besides the model and the specialist
    limits
        which readings are possible: "learned" from the training windows; None for no limits; a dict of names and
        (low, high) to change some of the learned ranges, with None for a bound to be learned; or `Limits`
    settings
        all settings; nothing is tuned then
    given
        values for single fields of `Settings` (`neighbors=20`, `correction=0`, ...); the others are tuned

    Attributes
    ----------
    settings_
        the settings in use
    report_
        the settings that tuning tried, with their errors
    calibration_
        the quantiles behind the prediction intervals; None without validation windows
    metadata_
        names, times and units of the training data
    limits_
        the limits of the readings, which can be replaced (`robust.limits_.with_range("inflow", high=80)`); None for no
        limits
    fitted_
        the model, the bank and what was learned from the training windows

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
        effort: float = 1.0,
        seconds: float | None = None,
        seed: int = 0,
        progress: bool = True,
        bank: Bank | None = None,
        experts: Sequence[Expert] = (),
        limits: LimitsChoice = LEARNED,
        settings: Settings | None = None,
        **given: Any,
    ) -> None:
        if metric not in METRICS:
            raise InputError(f"metric must be one of {', '.join(METRICS)}, got {metric!r}")
        unknown = sorted(set(given) - _FIELDS)
        if unknown:
            raise InputError(f"there is no setting {unknown[0]!r}; the settings are {', '.join(sorted(_FIELDS))}")
        if settings is not None and given:
            name = next(iter(given))
            raise InputError(
                f"settings and {name!r} cannot both be given: set {name} in settings, or leave settings out"
            )
        _check_positive("effort", effort)
        if seconds is not None:
            _check_positive("seconds", seconds)
        check_whole("seed", seed, low=0)
        checked_levels(levels)
        check_limits_choice(limits)
        replace(Settings(), **given)  # raises if a value is invalid
        self.model = model
        self.metric = metric
        self.levels = levels
        self.effort = effort
        self.seconds = seconds
        self.seed = seed
        self.progress = progress
        self.bank = bank
        self.experts = experts
        self.limits = limits
        self.settings = settings
        self.given = given
        self.settings_ = self._initial_settings()
        self.report_: dict[str, Any] = {}
        self._fitted: Fitted | None = None
        self._metadata: TrainingMetadata | None = None
        self._limits: Limits | None = None
        self.calibration_: Calibration | None = None
        self._probe: tuple[NDArray[np.float32], NDArray[np.float32]] | None = None
        self._own_stream: ForecastStream | None = None
        self._said: set[str] = set()

    @classmethod
    def paper(cls, model: Any, **options: Any) -> SubsetForecaster:
        """Return the published method with its defaults: borrow from 5 neighbors (b = 0.5), FDW with tau = 0.1.

        `options` may hold settings (`neighbors=10`, `weighting="uniform"`) and the arguments of the constructor.
        """
        changes = {name: options.pop(name) for name in list(options) if name in _FIELDS}
        return cls(model, settings=Settings.paper(**changes), **options)

    def _initial_settings(self) -> Settings:
        if self.settings is not None:
            return self.settings
        settings = replace(Settings(), **self.given)
        if settings.assist == "always" and not {"shares", "blend", "blend_absent"} & set(self.given):
            settings = replace(settings, shares=(*settings.shares, 1.0))
        return settings

    # Fitting

    @one_blas_thread()
    def fit(self, train: Windows, val: Windows | None = None) -> SubsetForecaster:
        """Learn from the training windows, and tune and calibrate on validation windows.

        Nothing of the model is trained. The bank and the second moments come from `train`; on one half of `val` (in
        blocks that share no step with the other half) the settings that were not given are tuned under random S; on
        the other half the intervals are calibrated. Without `val` the defaults are used, and there are no intervals.

        Returns
        -------
        SubsetForecaster
            itself
        """
        check_fit_windows(train, val)
        series = train.series
        settings = self._initial_settings()  # not those that an earlier fit tuned
        experts = all_experts(self.experts, self.metric, self.seed, effort=self.effort, pool=settings.pool)
        check_blend(settings, train.horizon, experts)
        model = adapt(
            self.model,
            lookback=train.lookback,
            horizon=train.horizon,
            variables=series.variables,
            n_features=series.n_features,
        )
        fixed = _FIELDS if self.settings is not None else set(self.given)
        with progress_bar("Learning from the training windows", 5 + len(experts), self.progress) as advance:
            limits = fit_limits(self.limits, train)
            advance(1)
            fitted = Fitted.fit(model, train, settings, self.bank)
            advance(1)
            fitted.neighbor_forecasts.progress = self.progress
            fitted.experts = experts
            probe = check_model(fitted)  # if this raises, the wrapper stays unchanged
            for expert in fitted.experts.values():
                expert.fit(train, fitted)
            advance(1)
            if settings.pool and val is not None and len(val):
                settings, learned = self._practise(train, fitted, settings, fixed, advance)
                fixed = fixed | learned
        self._metadata, self._fitted, self._probe, self._limits = TrainingMetadata.of(train), fitted, probe, limits
        self.settings_, self.report_, self.calibration_, self._own_stream = settings, {}, None, None
        _LOGGER.info("fitted %d training windows of %d variables", len(fitted.bank), fitted.n)
        if val is not None and len(val):
            self._tune_and_calibrate(fitted, val, fixed)
        return self

    def _practise(
        self,
        train: Windows,
        fitted: Fitted,
        settings: Settings,
        fixed: set[str],
        advance: Callable[[int], None],
    ) -> tuple[Settings, set[str]]:
        """Choose the ridge and train the experts that learn; one steps aside if the training windows are few.

        Returns the settings, and the names of those that were chosen here.
        """
        practice, chosen = Practice.of(train, fitted), set()
        advance(1)
        if practice is not None and "ridge" not in fixed:
            settings = replace(settings, ridge=choose_ridge(practice, RIDGES, self.metric, self.seed))
            chosen = {"ridge"}
        advance(1)
        named, untrained = {*settings.blend, *settings.blend_absent}, set()
        rows: Rows | None = None
        for name, expert in fitted.experts.items():
            wanted = "blend" not in fixed or name in settings.blend
            if isinstance(expert, OwnLinear):
                if wanted:
                    fitted.follow_also(train, expert.train(train, fitted))
                untrained |= {name} if expert.coefficients is None else set()
            elif isinstance(expert, Boosted):
                if practice is not None and (wanted or OwnTrees.name in settings.blend):
                    rows = expert.rows(practice, fitted, settings.ridge)
                if wanted and rows is not None:
                    expert.train(rows)
                untrained |= {name} if expert.models is None else set()
            elif isinstance(expert, OwnTrees):  # after the expert whose rows it shares
                if wanted and rows is not None:
                    expert.train(rows, fitted)
                untrained |= {name} if expert.models is None else set()
            advance(1)
        fitted.experts = {
            name: expert for name, expert in fitted.experts.items() if name not in untrained or name in named
        }
        return settings, chosen

    def _tune_and_calibrate(self, fitted: Fitted, val: Windows, fixed: set[str]) -> None:
        for_tuning, for_intervals = split_validation(val)
        if not fixed >= _FIELDS and len(for_tuning):
            self.settings_, self.report_ = tune(
                fitted,
                val,
                for_tuning,
                self.settings_,
                sorted(fixed),
                metric=self.metric,
                effort=self.effort,
                seconds=self.seconds,
                seed=self.seed,
                progress=self.progress,
            )
            if not {"fades_from", "shares", "blend"} & fixed:
                self.settings_ = replace(self.settings_, fades_from=_FADES_FROM)
        if self.settings_.pool:
            choose_bounds(fitted, self.settings_, val, for_tuning, self.seed)
        if len(for_intervals):
            self._judge_and_calibrate(fitted, val, for_intervals)

    def _judge_and_calibrate(self, fitted: Fitted, val: Windows, index: NDArray[np.int64]) -> None:
        """Compare the model with forecasts that need no model, and calibrate."""
        settings = self.settings_
        most = windows_needed(fitted.horizon) if settings.pool else _COMPARED
        with progress_bar("Comparing the model with simpler forecasts", 2, self.progress) as advance:
            sample = Sample.take(fitted, val, index, settings, most)
            advance(1)
            verdict = judge_model(
                fitted,
                settings,
                sample.arrived,
                sample.targets,
                sample.plain,
                sample.neighbors,
                metric=self.metric,
                variables=val.series.variables,
            )
            advance(1)
        self.report_ = {**self.report_, "model": verdict.usefulness.to_dict()}
        if verdict.usefulness.problem:
            warnings.warn(verdict.usefulness.problem, FitWarning, stacklevel=5)
        if settings.pool:  # without pooling, calibration would need too many model passes
            self.calibration_ = calibrate(
                fitted,
                sample,
                verdict.reference,
                settings,
                metric=self.metric,
                seed=self.seed,
                progress=self.progress,
            )

    @property
    def fitted_(self) -> Fitted:
        """The model, the bank and what was learned from the training windows; an error before `fit`."""
        if self._fitted is None:
            refuse_unfitted()
        return self._fitted

    @property
    def metadata_(self) -> TrainingMetadata:
        """Names, times and units of the training data; an error before `fit`."""
        if self._metadata is None:
            refuse_unfitted()
        return self._metadata

    @property
    def limits_(self) -> Limits | None:
        """The limits of the readings; None for no limits. A stream keeps those that it was started with."""
        return self._limits

    @limits_.setter
    def limits_(self, limits: Limits | None) -> None:
        if limits is not None and not isinstance(limits, Limits):
            raise InputError(f"limits_ must be Limits, or None for no limits, got {type(limits).__name__}")
        self._limits = limits if limits is None else check_variables(limits, self.variables)
        if self._own_stream is not None and len(self._own_stream):
            values, times = self._own_stream.readings()
            self._own_stream = self.stream(values, times=times)

    @property
    def usefulness_(self) -> Usefulness | None:
        """The comparison of the model with forecasts that need no model; None without validation windows."""
        return Usefulness.from_dict(self.report_["model"]) if "model" in self.report_ else None

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables it was fitted on."""
        return self.metadata_.variables

    @property
    def lookback(self) -> int:
        """Number of steps in a window."""
        return self.fitted_.lookback

    @property
    def horizon(self) -> int:
        """Number of steps ahead that are forecast."""
        return self.fitted_.horizon

    def __repr__(self) -> str:
        """Return a text with the wrapped model and the settings in use."""
        if self._fitted is None:
            return f"SubsetForecaster of {type(self.model).__name__}, not fitted"
        s = self.settings_
        method = "pooled" if s.pool else f"one forecast each, weighted by {s.weighting}"
        cycle = self.fitted_.normalizer.cycle
        lines = [
            f"SubsetForecaster of {self.fitted_.model!r}",
            f"  {len(self.fitted_.bank):,} training windows of {plural(self.fitted_.n, 'variable')}" + cycle.words,
            f"  {plural(s.neighbors, 'neighbor')}, {method}, exponent {s.exponent:g}, correction {s.correction:g}, "
            f"ridge {s.ridge:g}",
        ]
        for number, share in enumerate(s.shares if s.uses_experts else ()):
            parts = parts_of_rows(s.blend, number, -1)
            text = ", ".join(f"{name} {part:.0%}" for name, part in parts.items() if part > 0)
            lines.append(f"  forecast of the last step with {share:.0%} present: {text}")
        if self.calibration_ is not None:
            pairs = zip(self.calibration_.shares, self.calibration_.gaps, strict=True)
            gaps = ", ".join(f"{gap:+.1f} % at {share:.0%}" for share, gap in pairs if share < 1)
            lines.append(f"  expected gap to all variables: {gaps}" if gaps else "  intervals are calibrated")
        usefulness = self.usefulness_
        if usefulness is not None:
            lines.append(f"  {usefulness.line}")
            lines += [f"  warning: {usefulness.problem}"] if usefulness.problem else []
        return "\n".join(lines)

    # Forecasting

    def predict(
        self,
        recent: Any,
        *,
        names: Sequence[str] | None = None,
        times: ArrayLike | None = None,
        decimal: str | None = None,
        thousands: str | None = None,
        absent: bool = False,
        levels: Sequence[float] | None = None,
        strict: bool = False,
    ) -> Forecast:
        """Forecast one window from the variables that are present.

        Parameters
        ----------
        recent
            a wide or long frame, a `Series`, or an array [t, n]: the last `lookback` steps (more are fine) of the
            variables that are present. An absent column and a column of NaN mean the same; columns in any order.
        names
            the names of the variables of an array [t, s]
        times
            [t], the times of the steps of an array
        decimal, thousands
            how numbers are written as text, as in `Series.from_frame`
        absent
            forecast the absent variables too (virtual sensors)
        levels
            levels of the intervals; those of the wrapper by default
        strict
            refuse readings beyond the limits; by default they are left out, and the forecast has a note

        Returns
        -------
        Forecast
        """
        metadata = self.metadata_
        window = read_recent(
            recent,
            variables=metadata.variables,
            lookback=self.fitted_.lookback,
            time_features=metadata.time_features,
            steps=metadata.steps,
            names=names,
            times=times,
            numbers=NumberFormat(decimal, thousands),
        )
        self._say(window.clock.note)
        window = screen_recent(window, self._limits, strict=strict)
        return self._forecast_one(window, None, absent=absent, levels=levels)

    def predict_many(
        self,
        windows: Windows | ArrayLike,
        present: ArrayLike | Sequence[str] | None = None,
        *,
        times: ArrayLike | None = None,
        absent: bool = False,
        levels: Sequence[float] | None = None,
        strict: bool = False,
    ) -> Forecast:
        """Forecast many windows, all with the same variables present.

        Parameters
        ----------
        windows
            `Windows`, or an array [b, t, n] or [b, t, n, f] over all variables, NaN where there is no reading
        present
            names, numbers or a mask of the variables that are present; by default those that have a reading. Readings
            of other variables are not used. A window in which all readings of a present variable are beyond the limits
            is forecast as if the variable were absent.
        times
            [b], when each window of an array begins; without, the time of day comes from the features, or is guessed
            from the readings where the wrapper needs it
        absent, levels, strict
            as in `predict`

        Returns
        -------
        Forecast
            a batch: `mean` is [b, h, s]
        """
        fitted, metadata = self.fitted_, self.metadata_
        read = read_windows(windows, times, fitted, metadata)
        arrived = read.arrived
        self._say(read.clock.note if read.times is not None else "")
        subset = np.arange(fitted.n)
        if present is not None:
            subset = np.sort(variable_indices(present, fitted.n, metadata.variables, "present"))
        arrived, notes, silenced = screen_arrived(arrived, subset, read.window_times, self._limits, strict=strict)
        if present is None and len(arrived):
            subset = np.flatnonzero(~np.isnan(arrived.values).all(axis=(0, 1)))
            if not subset.size:
                raise InputError("windows holds no reading at all: at least one variable must be present")
        if arrived.slots.size and (arrived.slots < 0).any():
            guess = fitted.normalizer.guess_slots(arrived.values[:, :, subset], subset, read.possible)
            arrived = replace(arrived, slots=np.where(arrived.slots < 0, guess, arrived.slots))
        forecast = self._maker().batch(
            arrived,
            subset,
            Ahead(read.times, read.clock, read.notes),
            absent=absent,
            levels=self._levels(levels),
            silenced=None if silenced is None else silenced[:, subset],
        )
        if not notes:
            return forecast
        all_notes = (*forecast.notes, *batch_notes(notes, len(arrived)))
        return replace(forecast, notes=all_notes, window_notes=notes)

    def stream(
        self,
        readings: Any = None,
        *,
        names: Sequence[str] | None = None,
        times: Any = None,
        strict: bool = False,
        adapt: bool | Sequence[float] = False,
    ) -> ForecastStream:
        """Start a live stream, independent of all other streams of this wrapper.

        Parameters
        ----------
        readings, names, times
            the last steps of the feed, as `predict` takes them (at most `lookback` of them are kept), to start from;
            an empty stream by default
        strict
            refuse steps with readings beyond the limits; by default such readings are left out, and forecasts have a
            note
        adapt
            let the width of intervals follow the coverage of earlier forecasts of the stream; give the
            `interval_factors` of an earlier stream to go on with them

        Examples
        --------
        >>> import subcast as sc
        >>> series = sc.load_dataset("clouds", n_plants=8, n_steps=1500)
        >>> train, val, test = series.split(lookback=6, horizon=3)
        >>> def last_reading(x):
        ...     return np.repeat(x[:, -1:, :, 0], 3, axis=1)
        >>> robust = sc.SubsetForecaster(last_reading, progress=False).fit(train)
        >>> feed = robust.stream()
        >>> for time, row in test.series.to_frame().iloc[60:66, [2, 5]].iterrows():
        ...     forecast = feed.push(row, time)
        >>> forecast.variables
        ('plant-002', 'plant-005')
        """
        stream = ForecastStream(self._maker(), checked_levels(self.levels), strict=strict, adapt=adapt)
        if readings is not None:
            stream.add(readings, names=names, times=times)
        return stream

    def update(self, step: Any, time: Any = None, *, absent: bool = False, strict: bool = False) -> Forecast | None:
        """Add one step to the wrapper's built-in stream and forecast: a shortcut for `stream().push(step, time)`.

        Arguments as in `ForecastStream.push`.

        Returns
        -------
        Forecast, or None until `lookback` steps have been added
        """
        if self._own_stream is None:
            self._own_stream = self.stream()
        return self._own_stream.push(step, time, absent=absent, strict=strict)

    def reset(self) -> None:
        """Drop the wrapper's built-in stream: the next `update` starts a new one."""
        self._own_stream = None

    # Saving

    def save(self, folder: str | Path) -> None:
        """Write the wrapper to a folder, which `subcast.load` reads back; a wrapper there is replaced in one step.

        Models of subcast and ONNX files are saved with it; any other model must be given to `load` again, which
        checks it against stored forecasts.
        """
        saving.save(self, folder)

    @classmethod
    def load(cls, folder: str | Path, model: Any = None, *, verify: bool = True) -> SubsetForecaster:
        """Load a wrapper that `save` wrote (see `subcast.load`)."""
        return saving.load(folder, model, verify=verify)

    def state(self) -> State:
        """Return the state to save."""
        fitted, metadata = self.fitted_, self.metadata_
        if self._probe is None:
            refuse_unfitted()
        inputs, forecasts = self._probe
        settings = self.settings_.to_dict()
        facts = {
            "metric": self.metric,
            "levels": list(checked_levels(self.levels)),
            "effort": self.effort,
            "seconds": self.seconds,
            "seed": self.seed,
            "given": self._given_facts(),
            "all_given": self.settings is not None,
            "settings": settings,
            "report": self.report_,
            "has_limits": self._limits is not None,
            "given_limits": given_limits_facts(self.limits),
        }
        return State.join(
            facts,
            metadata=metadata.state(),
            limits=None if self._limits is None else self._limits.state(),
            fitted=saving.fitted_state(fitted, self.settings_.needs_neighbor_forecasts),
            calibration=None if self.calibration_ is None else self.calibration_.state(),
            probe=State({}, {"inputs": inputs, "forecasts": forecasts}),
        )

    def _given_facts(self) -> dict[str, Any]:
        """Return the settings that the user gave as plain values."""
        initial = self._initial_settings().to_dict()
        return initial if self.settings is not None else {name: initial[name] for name in self.given}

    @classmethod
    def from_state(cls, state: State, model: Any = None, source: str = "the folder") -> SubsetForecaster:
        """Return the wrapper saved in `state`; `model` replaces a model that was not stored."""
        metadata = TrainingMetadata.from_state(state.needed_part("metadata"))
        fitted = saving.fitted_from_state(state.needed_part("fitted"), metadata, model, source, progress=True)
        limits, given_limits = saved_limits(state, metadata.variables)
        given, all_given = fields.mapping(state, "given"), fields.flag(state, "all_given")
        with fields.restoring(state):
            initial = Settings.from_dict(given)
            wrapper = cls(
                fitted.model,
                metric=fields.text(state, "metric"),
                levels=fields.numbers(state, "levels"),
                effort=fields.number(state, "effort"),
                seconds=None if fields.fact(state, "seconds") is None else fields.number(state, "seconds"),
                seed=fields.whole(state, "seed"),
                experts=tuple(expert for name, expert in fitted.experts.items() if name not in OWN_EXPERTS),
                limits=given_limits,
                settings=initial if all_given else None,
                **({} if all_given else {name: getattr(initial, name) for name in given}),
            )
            wrapper.settings_ = Settings.from_dict(fields.mapping(state, "settings"))
            check_blend(wrapper.settings_, fitted.horizon, fitted.experts)
        if wrapper.settings_.uses_regression and fitted.moments is None:
            raise state.damaged("it has no moments")
        wrapper.report_ = dict(fields.mapping(state, "report"))
        wrapper._metadata, wrapper._fitted, wrapper._limits = metadata, fitted, limits
        with fields.restoring(state):
            _ = wrapper.usefulness_  # raises if the stored comparison is not one
        calibration = state.part("calibration")
        if calibration is not None:
            wrapper.calibration_ = Calibration.from_state(calibration, fitted.horizon, fitted.n)
        wrapper._probe = stored_probe(state.needed_part("probe"), fitted)
        return wrapper

    def check_model(self) -> None:
        """Raise unless the model still gives the forecasts that were stored when the wrapper was fitted."""
        if self._probe is None:
            refuse_unfitted()
        check_probe(self.fitted_, *self._probe)

    def with_settings(self, settings: Settings) -> SubsetForecaster:
        """Return the same fitted wrapper with other settings.

        Settings that the bank and the normalized units depend on must stay the same. Nothing is fitted again, so there
        are no intervals.
        """
        fitted = self.fitted_
        for name in _FITTED_SETTINGS:
            if getattr(settings, name) != getattr(self.settings_, name):
                raise InputError(
                    f"{name} cannot be changed after fit: fit a new wrapper with {name}={getattr(settings, name)}"
                )
        if settings.uses_regression and fitted.moments is None:
            raise InputError(
                "correction and regression_share need moments, and this wrapper was fitted without them: fit a new one"
            )
        check_blend(settings, fitted.horizon, fitted.experts)
        other = copy.copy(self)
        other.settings, other.given, other.settings_ = settings, {}, settings
        other.report_ = {name: part for name, part in self.report_.items() if name == "model"}
        other.calibration_, other._own_stream = None, None
        return other

    def without_model(self) -> SubsetForecaster:
        """Return the same wrapper with the model left out of every forecast: what there would be without it.

        The other experts have the shares that tuning chose for them alone; a wrapper that was not tuned uses the
        specialist. With all variables present too, the forecast is theirs.
        """
        settings, horizon = self.settings_, self.fitted_.horizon
        rows: dict[str, Any] = {SPECIALIST: ((1.0,) * horizon,) * len(settings.shares)}
        for part in self.report_.get("tried", ()):
            if part["part"] == WITHOUT_MODEL:
                rows = {**rows, **part["rows"]}
        changes: dict[str, Any] = {"blend": rows, "blend_absent": {}, "assist": "always"}
        if not settings.pool:  # the published method runs the model for every neighbor
            changes |= {"pool": True, "weighting": "uniform"}
        return self.with_settings(replace(settings, **changes))

    @one_blas_thread()
    def refresh(self, series: Series) -> SubsetForecaster:
        """Return a wrapper that also knows later readings: nothing is trained, and the model and settings stay.

        The readings become further candidates of the bank and enter the second moments. The intervals are calibrated
        on them too, by the wrapper as it was before it knew them. This wrapper is left as it is.

        Parameters
        ----------
        series
            readings that follow those of the bank, at the same rate; a variable that is absent has holes. Steps may be
            left out in between.
        """
        return refreshed(self, series)

    # Private helpers

    def _say(self, note: str) -> None:
        """Warn about what was assumed, once for each wrapper; every forecast has the note too."""
        if note and note not in self._said:
            self._said.add(note)
            warnings.warn(note, DataWarning, stacklevel=3)

    def _levels(self, levels: Sequence[float] | None) -> tuple[float, ...]:
        return checked_levels(self.levels if levels is None else levels)

    def _maker(self) -> ForecastMaker:
        return ForecastMaker(
            self.fitted_, self.metadata_, self.settings_, self.calibration_, self._limits, self.usefulness_
        )

    def _forecast_one(
        self,
        window: Recent,
        neighbors: Neighbors | None,
        *,
        absent: bool = False,
        levels: Sequence[float] | None = None,
    ) -> Forecast:
        arrived = arrive_window(window, self.fitted_, self.metadata_)
        return self._maker().single(window, arrived, neighbors, absent=absent, levels=self._levels(levels))


def _check_positive(argument: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        raise InputError(f"{argument} must be a number above 0, got {value!r}")
