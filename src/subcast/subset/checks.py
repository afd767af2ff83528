"""Checks of the model, of the windows passed to `fit`, and of interval levels."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, NoReturn

import numpy as np
from numpy.typing import NDArray

from subcast.errors import InputError
from subcast.storage import fields
from subcast.storage.state import State
from subcast.subset.settings import BLENDS
from subcast.windows import Windows

if TYPE_CHECKING:
    from subcast.subset.fitted import Fitted
    from subcast.subset.settings import Settings

PROBES = 4
_PROBE_CANDIDATES = 64  # training windows from which the most variable ones are taken as probes
_TOLERANCE = 1e-3  # in units of a variable's spread: allowed rounding differences between batches


def check_model(fitted: Fitted) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Run the model on a few training windows and raise unless its forecasts are valid and reproducible.

    Returns
    -------
    NDArray
        the windows, [b, t, n, f]
    NDArray
        the model's forecasts of them, [b, h, n]
    """
    index = np.unique(np.linspace(0, len(fitted.bank) - 1, min(_PROBE_CANDIDATES, len(fitted.bank))).astype(np.int64))
    inputs = fitted.candidate_inputs(index)
    variability = inputs[..., 0].std(axis=1).mean(axis=1)  # constant windows (nights) do not distinguish models
    inputs = inputs[np.sort(np.argsort(-variability, kind="stable")[:PROBES])]
    forecasts = fitted.run(inputs.copy())
    expected = (len(inputs), fitted.horizon, fitted.n)
    if forecasts.shape != expected:
        raise InputError(
            f"the model must turn windows of shape {inputs.shape} into forecasts [b, h, n] = {expected}, "
            f"got {forecasts.shape}"
        )
    if not np.isfinite(forecasts).all():
        raise InputError("the model's forecasts of complete training windows are not all finite: train it again")
    one_by_one = np.concatenate([fitted.run(x[None].copy()) for x in inputs])
    for repeated in (fitted.run(inputs.copy()), one_by_one):
        largest = difference(fitted, forecasts, repeated)
        if largest > _TOLERANCE:
            raise InputError(
                f"the model is not deterministic: the same windows gave forecasts {largest:.2g} deviations apart; put "
                "it in evaluation mode (no dropout, no noise, no batch statistics)"
            )
    return inputs, forecasts


def check_probe(fitted: Fitted, inputs: NDArray[np.float32], forecasts: NDArray[np.float32]) -> None:
    """Raise unless the model gives the stored forecasts for the stored windows."""
    answers = fitted.run(np.array(inputs))
    if answers.shape != forecasts.shape:
        raise InputError(
            f"the model gives forecasts of shape {answers.shape}, the one this was saved with {forecasts.shape}: "
            "give the same model"
        )
    largest = difference(fitted, answers, forecasts)
    if not largest <= 10 * _TOLERANCE:
        raise InputError(
            f"the model is not the one this wrapper was fitted with: on the stored windows its forecasts are "
            f"{largest:.2g} deviations away; give the same model, or fit a new wrapper"
        )


def stored_probe(state: State, fitted: Fitted) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the windows and forecasts saved in `state`, with which a loaded model is compared."""
    inputs = fields.array(
        state, "inputs", np.float32, [None, fitted.lookback, fitted.n, fitted.n_features], missing=False
    )
    if not 1 <= len(inputs) <= _PROBE_CANDIDATES:
        raise state.damaged(f"it must have 1 to {_PROBE_CANDIDATES} windows to compare the model on, got {len(inputs)}")
    return inputs, fields.array(state, "forecasts", np.float32, [len(inputs), fitted.horizon, fitted.n])


def difference(fitted: Fitted, first: NDArray[np.float32], second: NDArray[np.float32]) -> float:
    """Return the largest difference between two forecasts, in units of each variable's spread."""
    spread = fitted.normalizer.spread_of(np.arange(fitted.n))
    return float(np.max(np.abs(first.astype(np.float64) - second) / spread, initial=0.0))


def check_fit_windows(train: Windows, val: Windows | None) -> None:
    """Raise unless a wrapper can be fitted on these windows."""
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
    if val.series.zone != train.series.zone:
        raise InputError(
            f"val has times in the zone {val.series.zone} and train in {train.series.zone}: cut both with the same "
            "split"
        )
    if len(val):
        refuse_overlap(train, val)


def check_blend(settings: Settings, horizon: int, experts: Collection[str]) -> None:
    """Raise unless the blends name experts that exist and have an entry for each step ahead in every row."""
    for name in BLENDS:
        for expert, rows in getattr(settings, name).items():
            if expert not in experts:
                raise InputError(
                    f"{name} names the expert {expert!r}, and there are {', '.join(experts)}: pass it in experts="
                )
            short = next((row for row in rows if len(row) != horizon), None)
            if short is not None:
                raise InputError(
                    f"{name} must have an entry for each of the {horizon} steps ahead in every row, got {len(short)}"
                )


def refuse_overlap(train: Windows, val: Windows) -> None:
    """Raise if validation windows overlap the training windows: each would be its own nearest neighbor."""
    train_series, val_series = train.series, val.series
    if train_series.times is not None and val_series.times is not None:
        train_first, train_last = train_series.times[min(train.starts)], train_series.times[max(train.starts)]
        val_first, val_last = val_series.times[min(val.starts)], val_series.times[max(val.starts)]
        overlap = bool(val_first <= train_last) and bool(val_last >= train_first)
    elif np.shares_memory(train_series.values, val_series.values):
        train_begin, train_end = train_series.offset + min(train.starts), train_series.offset + max(train.starts)
        val_begin, val_end = val_series.offset + min(val.starts), val_series.offset + max(val.starts)
        overlap = val_begin <= train_end and val_end >= train_begin
    else:
        overlap = False
    if overlap:
        raise InputError(
            "val overlaps in time with train, so each validation window would be its own nearest neighbor: give later "
            "windows, such as those of series.split(lookback=..., horizon=...)"
        )


def refuse_unfitted() -> NoReturn:
    """Raise the error for a wrapper that is not fitted."""
    raise InputError("the SubsetForecaster is not fitted: call fit(train, val) first, or load a saved one")
