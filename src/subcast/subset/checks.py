"""What is asked of a model and of validation windows before they are used."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from subcast.errors import InputError
from subcast.windows import Windows

if TYPE_CHECKING:
    from subcast.subset.fitted import Fitted

PROBES = 4
_HIGHEST_LEVEL = 0.99  # beyond it validation windows are too few
_LOOKED_AT = 64  # windows among which the liveliest are chosen
_ALIKE = 1e-3  # of a variable's spread: what a model's rounding may differ by from batch to batch


def check_model(fitted: Fitted) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Run the model on a few training windows and refuse it when its answers change; return windows and answers."""
    index = np.unique(np.linspace(0, len(fitted.bank) - 1, min(_LOOKED_AT, len(fitted.bank))).astype(np.int64))
    inputs = fitted.candidate_inputs(index)
    lively = inputs[..., 0].std(axis=1).mean(axis=1)  # nights tell no model from another
    inputs = inputs[np.sort(np.argsort(-lively, kind="stable")[:PROBES])]
    forecasts = fitted.run(inputs.copy())
    expected = (len(inputs), fitted.horizon, fitted.n)
    if forecasts.shape != expected:
        raise InputError(
            f"the model must turn windows of shape {inputs.shape} into forecasts [b, h, n] = {expected}, "
            f"got {forecasts.shape}"
        )
    if not np.isfinite(forecasts).all():
        raise InputError("the model's forecasts of complete training windows are not all finite: train it again")
    for again in (fitted.run(inputs.copy()), np.concatenate([fitted.run(x[None].copy()) for x in inputs])):
        off = difference(fitted, forecasts, again)
        if off > _ALIKE:
            raise InputError(
                f"the model is not deterministic: the same windows gave forecasts {off:.2g} deviations apart; put it "
                "in evaluation mode (no dropout, no noise, no batch statistics)"
            )
    return inputs, forecasts


def check_probe(fitted: Fitted, inputs: NDArray[np.float32], forecasts: NDArray[np.float32]) -> None:
    """Refuse a model that does not give the stored forecasts."""
    answer = fitted.run(np.array(inputs))
    if answer.shape != forecasts.shape:
        raise InputError(
            f"the model gives forecasts of shape {answer.shape}, the one this was saved with {forecasts.shape}: "
            "give the same model"
        )
    off = difference(fitted, answer, forecasts)
    if not off <= 10 * _ALIKE:
        raise InputError(
            f"the model is not the one this wrapper was fitted with: on the stored windows its forecasts are {off:.2g} "
            "deviations away; give the same model, or fit a new wrapper"
        )


def difference(fitted: Fitted, first: NDArray[np.float32], second: NDArray[np.float32]) -> float:
    """Return the largest difference of two forecasts in deviations of the variables."""
    spread = fitted.normalizer.spread_of(np.arange(fitted.n))
    return float(np.max(np.abs(first.astype(np.float64) - second) / spread, initial=0.0))


def check_fit_windows(train: Windows, val: Windows | None) -> None:
    """Raise one clear sentence unless a wrapper can be fitted on these windows."""
    for argument, windows in (("train", train), ("val", val)):
        if not isinstance(windows, Windows) and (argument == "train" or windows is not None):
            raise InputError(
                f"{argument} must be windows, such as those of series.split(lookback=12, horizon=12), "
                f"got {type(windows).__name__}"
            )
    if not len(train):
        raise InputError("train has no windows: give at least one")
    if val is None:
        return
    if (val.lookback, val.horizon) != (train.lookback, train.horizon):
        raise InputError(
            f"val has windows of {val.lookback} + {val.horizon} steps and train of {train.lookback} + "
            f"{train.horizon}: cut both with the same split"
        )
    if val.series.variables != train.series.variables:
        raise InputError("val and train have different variables: cut both with the same split")
    if val.series.time_features != train.series.time_features:
        raise InputError("val and train have different time features: cut both with the same split")
    if len(val):
        refuse_overlap(train, val)


def checked_levels(levels: Sequence[float] | float) -> tuple[float, ...]:
    """Return the levels of intervals as a tuple, or say what is wrong with one."""
    given: tuple[Any, ...] = (levels,) if np.ndim(levels) == 0 else tuple(levels)  # type: ignore[arg-type]
    for level in given:
        if not isinstance(level, int | float | np.floating) or not 0 < level <= _HIGHEST_LEVEL:
            raise InputError(f"levels must be above 0 and at most {_HIGHEST_LEVEL}, such as 0.9, got {level!r}")
    return tuple(float(level) for level in given)


def refuse_overlap(train: Windows, val: Windows) -> None:
    """Refuse validation windows that are training windows: each would find itself as its nearest neighbor."""
    ours, theirs = train.series, val.series
    if ours.times is not None and theirs.times is not None:
        last, first = ours.times[max(train.starts)], theirs.times[min(val.starts)]
        overlap = bool(first <= last) and bool(theirs.times[max(val.starts)] >= ours.times[min(train.starts)])
    elif np.shares_memory(ours.values, theirs.values):
        first_start, last_start = theirs.offset + min(val.starts), theirs.offset + max(val.starts)
        begin, end = ours.offset + min(train.starts), ours.offset + max(train.starts)
        overlap = first_start <= end and last_start >= begin
    else:
        overlap = False
    if overlap:
        raise InputError(
            "val holds windows of the time that train covers, so tuning would find each of them again: give later "
            "windows, such as those of series.split(lookback=..., horizon=...)"
        )


def refuse_unfitted() -> NoReturn:
    """Raise: the wrapper is not fitted."""
    raise InputError("the SubsetForecaster is not fitted: call fit(train, val) first, or load a saved one")
