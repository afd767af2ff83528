"""Append later readings to the bank of a wrapper, and update its moments and intervals; nothing is trained."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subcast.data_protocol import PROTOCOLS, get_protocol
from subcast.errors import InputError
from subcast.names import listed, plural
from subcast.retrieval import ShardedBank, WindowBank
from subcast.retrieval.layout import draw_fraction
from subcast.series import Series
from subcast.subset.conformal import RESIDUALS, Calibration, Sample, calibrate, windows_needed
from subcast.subset.fitted import Fitted
from subcast.subset.metadata import TrainingMetadata
from subcast.subset.usefulness import judge_model
from subcast.tables.rates import time_texts
from subcast.windows import Windows, inputs_and_targets

if TYPE_CHECKING:
    from subcast.subset.forecaster import SubsetForecaster

LEAST_CALIBRATION = 40  # with fewer new windows the intervals stay as they are
_MOST_REMEMBERED = 4 * RESIDUALS  # windows by which earlier calibrations count at most, so that intervals follow drift
_MOST_REFRESHES = 100  # of which the wrapper keeps a record


class _Later(NamedTuple):
    """Later readings as the wrapper takes them.

    Attributes
    ----------
    series
        all variables of the wrapper, in its units and on its clock; NaN beyond the limits
    targets
        [t, n], what counts as a reading to forecast
    apart
        whether steps are left out between the bank and the readings
    beyond
        number of readings beyond the limits
    """

    series: Series
    targets: NDArray[np.float32]
    apart: bool
    beyond: int


def refreshed(wrapper: SubsetForecaster, series: Series) -> SubsetForecaster:
    """Return the wrapper with later readings in its bank (see `SubsetForecaster.refresh`)."""
    fitted, metadata = wrapper.fitted_, wrapper.metadata_
    if not isinstance(fitted.bank, WindowBank | ShardedBank):
        raise InputError(
            f"the bank of this wrapper is a {type(fitted.bank).__name__}, which cannot be extended: fit again with a "
            "bank that has the new readings"
        )
    later = _take(wrapper, series)
    calibration, used = _recalibrated(wrapper, later)
    other = copy.copy(wrapper)
    other._fitted = _extended(fitted, fitted.bank, later, wrapper.settings_.bank_share)
    windows = len(other._fitted.bank) - len(fitted.bank)
    other._metadata = _joined_metadata(metadata, later.series)
    other.calibration_, other._own_stream = calibration, None
    other.report_ = {**wrapper.report_, "refreshes": _remembered(wrapper, later, windows, used)}
    return other


# Reading


def _take(wrapper: SubsetForecaster, series: Series) -> _Later:
    """Return the readings as the wrapper takes them; raise unless they follow the bank at its rate."""
    metadata = wrapper.metadata_
    if not isinstance(series, Series):
        raise InputError(
            f"series must be a Series, got {type(series).__name__}: read a table with Series.read or Series.from_frame"
        )
    values = _in_order(series, metadata.variables)
    if not len(values):
        raise InputError("series has no steps: give readings that follow those of the bank")
    times, apart = _follow(metadata, series)
    needed = metadata.lookback + metadata.horizon
    if apart and len(values) < needed:
        raise InputError(
            f"series has {plural(len(values), 'step')} and does not follow the bank directly, so it needs at least "
            f"{needed} for a window: give more steps"
        )
    beyond = 0
    if wrapper.limits_ is not None:
        values, causes = wrapper.limits_.screen(values)
        beyond = 0 if causes is None else int(np.count_nonzero(causes))
    aligned = Series(
        values,
        metadata.variables,
        times,
        freq=metadata.freq,
        time_features=metadata.time_features,
        name=series.name,
        missing_code=series.missing_code,
        zone=metadata.zone,
    )
    protocol = get_protocol(metadata.protocol if metadata.protocol in PROTOCOLS else "default")
    inputs, targets = inputs_and_targets(aligned, protocol)
    return _Later(inputs, targets, apart, beyond)


def _in_order(series: Series, variables: tuple[str, ...]) -> NDArray[np.float32]:
    """Return the readings of all variables of the wrapper, [t, n]; NaN for one that is absent."""
    unknown = [name for name in series.variables if name not in variables]
    if unknown:
        raise InputError(
            f"series has {listed(unknown)}, which the wrapper does not know: leave out such sensors, or fit a new "
            "wrapper with them"
        )
    values = np.full((len(series), len(variables)), np.nan, dtype=np.float32)
    values[:, [variables.index(name) for name in series.variables]] = series.values
    if not np.isfinite(values).any():
        raise InputError("series has no reading at all: give readings that follow those of the bank")
    return values


def _follow(metadata: TrainingMetadata, series: Series) -> tuple[NDArray[np.datetime64] | None, bool]:
    """Return the times on the wrapper's clock, and whether steps are left out before the first of them."""
    if metadata.times is None:
        if series.times is not None:
            raise InputError("series has times and the wrapper has none: leave the times out")
        return None, False
    if series.times is None:
        raise InputError("series has no times, and those of the wrapper are known: give the times of the readings")
    if (series.zone is None) != (metadata.zone is None):
        own, given = metadata.zone or "no zone", series.zone or "no zone"
        raise InputError(f"series has times with {given} and the wrapper with {own}: read the table with zone={own!r}")
    times = np.asarray(series.times).astype("datetime64[ns]")
    last = metadata.times[-1].astype("datetime64[ns]")
    if times[0] <= last:
        first, known = (time_texts(np.array([time]), metadata.zone)[0] for time in (times[0], last))
        raise InputError(
            f"series begins at {first}, and the bank holds readings up to {known}: give only what came after that"
        )
    if metadata.steps.freq is None:
        return times, True
    stamps = np.concatenate([[last], times]).view(np.int64)
    placed = metadata.steps.place(stamps)
    numbers = np.diff(placed.offsets)
    if placed.off.any() or (numbers[1:] != 1).any():
        raise InputError(
            f"series must have the steps of the bank, one every {metadata.steps.freq}, got "
            f"{'other times' if series.freq in (None, metadata.freq) else f'one every {series.freq}'}: bring it to "
            "this rate"
        )
    return stamps[1:].view("datetime64[ns]") + placed.moved[1:].view("timedelta64[ns]"), bool(numbers[0] != 1)


# The bank and what is computed from it


def _new_starts(fitted: Fitted, bank: WindowBank, later: _Later, bank_share: float) -> NDArray[np.int64]:
    """Return the first steps of the windows that end among the new steps."""
    known, needed = bank.n_steps, fitted.lookback + fitted.horizon
    first = known
    if not later.apart:
        first = max(int(bank.offsets[-2]), known - needed + 1, int(bank.starts.max()) + 1)
    starts = np.arange(first, known + len(later.series) - needed + 1, dtype=np.int64)
    if bank_share < 1 and int(bank_share * len(starts)):
        return draw_fraction(starts, bank_share, 0)
    return starts


def _extended(fitted: Fitted, bank: WindowBank | ShardedBank, later: _Later, bank_share: float) -> Fitted:
    """Return the fitted parts with the new steps; the normalizer, the experts and the model stay."""
    series, normalizer = later.series, fitted.normalizer
    slots = np.zeros(len(series), dtype=np.int64)
    if normalizer.slots > 1 and series.wall_times is not None:
        slots = normalizer.cycle.positions(series.wall_times)
    shared, same = fitted.shared_at(series.features, slots), later.targets is series.values
    longer: WindowBank | ShardedBank
    if isinstance(bank, ShardedBank):
        longer = bank.extended(
            series.values, slots=slots, shared=shared, targets=None if same else later.targets, apart=later.apart
        )
    else:
        longer = bank.extended(
            normalizer.normalize(series.values, slots),
            _new_starts(fitted, bank, later, bank_share),
            shared=shared,
            targets=None if same else normalizer.normalize(later.targets, slots),
            apart=later.apart,
        )
    moments = fitted.moments
    if moments is not None:
        lags = fitted.lookback + fitted.horizon
        moments = longer.moments(lags, int(longer.starts.min()), int(longer.starts.max()) + lags)
    return replace(
        fitted,
        bank=longer,
        moments=moments,
        neighbor_forecasts=fitted.neighbor_forecasts.extended(len(longer) - len(bank)),
        bank_slots=np.concatenate([fitted.bank_slots, slots]),
        features=None if fitted.features is None else np.concatenate([fitted.features, _features_of(series)]),
    )


def _features_of(series: Series) -> NDArray[np.float32]:
    if series.features is None:
        raise AssertionError("a wrapper with time features has times")
    return series.features


def _joined_metadata(metadata: TrainingMetadata, series: Series) -> TrainingMetadata:
    if metadata.times is None or series.times is None:
        return metadata
    return replace(metadata, times=np.concatenate([metadata.times.astype("datetime64[ns]"), series.times]))


# The intervals


def _recalibrated(wrapper: SubsetForecaster, later: _Later) -> tuple[Calibration | None, int]:
    """Return the intervals calibrated on the new windows too, and how many of these were used.

    The wrapper that forecasts them does not know them yet, so that none is its own neighbor.
    """
    fitted, old = wrapper.fitted_, wrapper.calibration_
    if old is None or len(later.series) < fitted.lookback + fitted.horizon + LEAST_CALIBRATION - 1:
        return old, 0
    windows = Windows(later.series, fitted.lookback, fitted.horizon, target_values=later.targets)
    sample = Sample.take(fitted, windows, np.arange(len(windows)), wrapper.settings_, windows_needed(fitted.horizon))
    verdict = judge_model(
        fitted,
        wrapper.settings_,
        sample.arrived,
        sample.targets,
        sample.plain,
        sample.neighbors,
        metric=wrapper.metric,
        variables=wrapper.variables,
    )
    new = calibrate(
        fitted,
        sample,
        verdict.reference,
        wrapper.settings_,
        metric=wrapper.metric,
        seed=wrapper.seed,
        progress=wrapper.progress,
    )
    used = len(sample.arrived)
    return mixed(old, new, used / (used + _windows_before(wrapper))), used


def _windows_before(wrapper: SubsetForecaster) -> int:
    """Return by how many windows the present calibration counts."""
    usefulness = wrapper.usefulness_
    first = RESIDUALS if usefulness is None else usefulness.windows
    since = sum(int(refresh["calibrated"]) for refresh in wrapper.report_.get("refreshes", ()))
    return min(first + since, _MOST_REMEMBERED)


def mixed(old: Calibration, new: Calibration, weight: float) -> Calibration:
    """Return the weighted mean of two calibrations of the same variables; `weight` is that of the new one."""

    def between(name: str) -> NDArray[Any]:
        ends = getattr(old, name), getattr(new, name)
        return np.asarray((1 - weight) * ends[0] + weight * ends[1], dtype=ends[0].dtype)

    return Calibration(old.counts, *(between(name) for name in ("present", "absent", "gaps", "strangeness")))


def _remembered(wrapper: SubsetForecaster, later: _Later, windows: int, used: int) -> list[dict[str, Any]]:
    """Return the record of all refreshes, with this one at the end."""
    series = later.series
    ends = [None, None] if series.times is None else time_texts(np.array(series.times)[[0, -1]], series.zone)
    record = {
        "first": ends[0],
        "last": ends[1],
        "steps": len(series),
        "windows": windows,
        "beyond_limits": later.beyond,
        "calibrated": used,
    }
    return [*wrapper.report_.get("refreshes", ()), record][-_MOST_REFRESHES:]
