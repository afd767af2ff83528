"""Run methods that forecast from a subset on the same windows under the same draws of S, and compare their errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from subcast.comparison import ORACLE, Comparison, Tally
from subcast.errors import InputError
from subcast.metrics import Sums, sum_by_window
from subcast.progress import progress_bar
from subcast.windows import Windows

if TYPE_CHECKING:
    from subcast.subset import SubsetForecaster
    from subcast.subset.fitted import Fitted

__all__ = [
    "ORACLE",
    "Comparison",
    "Method",
    "evaluate",
    "forecast_all",
    "oracle",
    "partial_inputs",
    "without_model",
    "wrapped",
]

_AT_ONCE = 1024

Method = Callable[[Windows, NDArray[np.int64]], NDArray[np.floating[Any]]]
"""A function of windows and S (indices in increasing order) that returns forecasts of S, [b, h, s]."""


def evaluate(
    methods: Mapping[str, Method],
    test: Windows,
    draws: Sequence[NDArray[np.int64]],
    *,
    progress: bool = True,
) -> Comparison:
    """Run every method on the same windows under the same draws of S, and return the errors.

    Parameters
    ----------
    methods
        by name; gaps are taken to the one called "oracle"
    test
        windows; targets of NaN do not count
    draws
        S of each draw, as `draw_subsets` gives them
    progress
        whether to show a progress bar

    Examples
    --------
    >>> from subcast.series import Series
    >>> rng = np.random.default_rng(0)
    >>> test = Series(rng.normal(size=(60, 4)).cumsum(axis=0)).windows(lookback=3, horizon=2)
    >>> def last_value(windows, present):
    ...     return np.repeat(windows.readings[:, -1:, present], 2, axis=1)
    >>> methods = {"oracle": last_value, "zero": lambda windows, present: 0 * last_value(windows, present)}
    >>> comparison = evaluate(methods, test, [np.array([1, 2])], progress=False)
    >>> comparison.mae["oracle"].shape, comparison.gap("oracle").gap
    ((1, 2), 0.0)
    """
    if not len(draws):
        raise InputError("draws is empty: give at least one S")
    tallies: dict[str, list[Tally]] = {name: [] for name in methods}
    with progress_bar("evaluating", len(draws) * len(methods), progress) as advance:
        for draw in draws:
            present = np.sort(np.asarray(draw))
            for name, method in methods.items():
                tallies[name].append(_tally(method, test, present))
                advance(1)
    return Comparison({name: Tally.join(own) for name, own in tallies.items()}, list(draws), test.starts)


def _tally(method: Method, test: Windows, present: NDArray[np.int64]) -> Tally:
    """Tally the errors of a method under one draw of S, some windows at a time."""
    batches = [test[first : first + _AT_ONCE] for first in range(0, len(test), _AT_ONCE)] or [test]
    by_window = [sum_by_window(method(batch, present), batch.targets[:, :, present]) for batch in batches]
    return Tally.of_windows(Sums.concatenate(by_window))


def forecast_all(model: Any, windows: Windows) -> NDArray[np.float32]:
    """Return a model's forecasts of all windows, given all variables, [b, h, n]."""
    return np.concatenate([model(batch.inputs) for batch in windows.batches(256)])


@dataclass(frozen=True, eq=False)
class _Oracle:
    """The wrapped model with all variables."""

    fitted: Fitted

    def __call__(self, windows: Windows, present: NDArray[np.int64]) -> NDArray[np.float32]:
        return self.fitted.run(_complete_inputs(self.fitted, windows), present)


@dataclass(frozen=True, eq=False)
class _Partial:
    """The wrapped model with absent inputs at the mean."""

    fitted: Fitted

    def __call__(self, windows: Windows, present: NDArray[np.int64]) -> NDArray[np.float32]:
        fitted = self.fitted
        if fitted.model.abilities.partial:
            return fitted.model.forecast_partial(windows.batch().inputs, present, present)
        inputs = _complete_inputs(fitted, windows)
        absent = fitted.others(present)
        inputs[:, :, absent, 0] = fitted.normalizer.center.mean(axis=0)[absent]
        return fitted.run(inputs, present)


@dataclass(frozen=True, eq=False)
class _Wrapped:
    """The wrapper."""

    robust: SubsetForecaster

    def __call__(self, windows: Windows, present: NDArray[np.int64]) -> NDArray[np.float32]:
        return self.robust.predict_many(windows, present=present, levels=()).mean


def oracle(robust: SubsetForecaster) -> Method:
    """Return the method that gives the wrapped model all variables."""
    return _Oracle(robust.fitted_)


def partial_inputs(robust: SubsetForecaster) -> Method:
    """Return the method that sets absent inputs to the mean; graph models also lose the edges of absent variables."""
    return _Partial(robust.fitted_)


def wrapped(robust: SubsetForecaster) -> Method:
    """Return the method that forecasts with the wrapper."""
    return _Wrapped(robust)


def without_model(robust: SubsetForecaster) -> Method:
    """Return the method that forecasts with the wrapper's other experts, with shares that were tuned without the model.

    A wrapper whose shares were not tuned forecasts with the specialist alone.
    """
    return _Wrapped(robust.without_model())


def _complete_inputs(fitted: Fitted, windows: Windows) -> NDArray[np.float32]:
    """Return windows as the model takes them; where it takes no NaN, a missing reading is filled with the mean."""
    inputs = windows.batch().inputs
    if fitted.model.abilities.missing:
        return inputs
    holes = np.isnan(inputs[..., 0])
    if holes.any():
        usual = np.broadcast_to(fitted.normalizer.center.mean(axis=0), holes.shape)
        inputs[..., 0][holes] = usual[holes]
    return inputs
