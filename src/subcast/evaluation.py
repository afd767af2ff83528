"""Compare ways to forecast from a subset: same windows, same draws of S, gaps to the oracle with paired intervals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from subcast.errors import InputError
from subcast.metrics import ErrorSums, Gap, paired_gap
from subcast.progress import progress_bar
from subcast.windows import Windows

if TYPE_CHECKING:
    import pandas as pd

    from subcast.subset import SubsetForecaster
    from subcast.subset.fitted import Fitted

ORACLE = "oracle"
_AT_ONCE = 1024

Method = Callable[[Windows, NDArray[np.int64]], NDArray[np.floating[Any]]]
"""From windows and S (indices in increasing order) to forecasts of S, [b, h, s]."""


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Errors of each method for each draw of S.

    Parameters
    ----------
    mae, rmse
        of each method by name, [draws, h]
    draws
        the draws of S
    windows
        how many test windows
    """

    mae: Mapping[str, NDArray[np.float64]]
    rmse: Mapping[str, NDArray[np.float64]]
    draws: Sequence[NDArray[np.int64]]
    windows: int

    @property
    def _horizon(self) -> int:
        return next(iter(self.mae.values())).shape[1]

    def errors(self, method: str, metric: str, step: int) -> NDArray[np.float64]:
        """The error of each draw at one step (from 1), [draws]."""
        tables = {"mae": self.mae, "rmse": self.rmse}
        if metric not in tables:
            raise InputError(f"metric must be mae or rmse, got {metric!r}")
        if method not in self.mae:
            raise InputError(f"there is no method {method!r}; there are {', '.join(self.mae)}")
        horizon = self.mae[method].shape[1]
        if step not in range(1, horizon + 1):
            raise InputError(f"step must be between 1 and the horizon of {horizon}, got {step!r}")
        return tables[metric][method][:, step - 1]

    def gap(self, method: str, metric: str = "mae", step: int | None = None, *, base: str = ORACLE) -> Gap:
        """The gap of a method to the oracle (or another), in per cent, with a paired bootstrap interval."""
        last = self._horizon if step is None else step
        return paired_gap(self.errors(method, metric, last), self.errors(base, metric, last))

    def table(self, step: int | None = None) -> pd.DataFrame:
        """One row a method: mean and deviation over draws of S, and the gap to the oracle, at one step (the last)."""
        import pandas as pd

        rows = []
        for method in self.mae:
            row: dict[str, Any] = {"method": method}
            for metric in ("mae", "rmse"):
                last = self._horizon if step is None else step
                errors = self.errors(method, metric, last)
                gap = self.gap(method, metric, last) if ORACLE in self.mae else None
                row |= {
                    metric: float(errors.mean()),
                    f"{metric}_deviation": float(errors.std(ddof=1)) if len(errors) > 1 else float("nan"),
                    f"{metric}_gap": float("nan") if gap is None else gap.gap,
                    f"{metric}_gap_lower": float("nan") if gap is None else gap.lower,
                    f"{metric}_gap_upper": float("nan") if gap is None else gap.upper,
                }
            rows.append(row)
        return pd.DataFrame(rows).set_index("method")

    def to_dict(self) -> dict[str, Any]:
        """Give all of it as plain values, for JSON."""
        return {
            "windows": self.windows,
            "draws": [draw.tolist() for draw in self.draws],
            "mae": {name: _plain(errors) for name, errors in self.mae.items()},
            "rmse": {name: _plain(errors) for name, errors in self.rmse.items()},
        }


def _plain(errors: NDArray[np.float64]) -> list[list[float | None]]:
    """Numbers for JSON, which knows no NaN."""
    return [[None if error != error else float(error) for error in row] for row in errors]


def evaluate(
    methods: Mapping[str, Method],
    test: Windows,
    draws: Sequence[NDArray[np.int64]],
    *,
    progress: bool = True,
) -> Evaluation:
    """Run every method on the same windows under the same draws of S.

    Parameters
    ----------
    methods
        by name; the one called "oracle" is what gaps are taken to
    test
        windows; targets of NaN do not count
    draws
        of S, as `draw_subsets` gives them
    progress
        whether to show a bar

    Examples
    --------
    >>> from subcast.series import Series
    >>> rng = np.random.default_rng(0)
    >>> test = Series(rng.normal(size=(60, 4)).cumsum(axis=0)).windows(lookback=3, horizon=2)
    >>> def last_value(windows, present):
    ...     return np.repeat(windows.readings[:, -1:, present], 2, axis=1)
    >>> found = evaluate({"oracle": last_value, "zero": lambda w, s: 0 * last_value(w, s)}, test, [np.array([1, 2])])
    >>> found.mae["oracle"].shape, found.gap("oracle").gap
    ((1, 2), 0.0)
    """
    if not len(draws):
        raise InputError("draws is empty: give at least one S")
    mae: dict[str, list[NDArray[np.float64]]] = {name: [] for name in methods}
    rmse: dict[str, list[NDArray[np.float64]]] = {name: [] for name in methods}
    with progress_bar("evaluating", len(draws) * len(methods), progress) as advance:
        for draw in draws:
            present = np.sort(np.asarray(draw))
            for name, method in methods.items():
                sums = ErrorSums.nothing(test.horizon)
                for first in range(0, len(test), _AT_ONCE):
                    part = test[first : first + _AT_ONCE]
                    sums += ErrorSums.of(method(part, present), part.targets[:, :, present])
                mae[name].append(sums.mae_by_step)
                rmse[name].append(sums.rmse_by_step)
                advance(1)
    return Evaluation(
        {name: np.stack(rows) for name, rows in mae.items()},
        {name: np.stack(rows) for name, rows in rmse.items()},
        list(draws),
        len(test),
    )


def forecast_all(model: Any, windows: Windows) -> NDArray[np.float32]:
    """A model's forecasts of all windows with all variables in, [b, h, n], some windows at a time."""
    return np.concatenate([model(batch.inputs) for batch in windows.batches(256)])


def oracle(robust: SubsetForecaster) -> Method:
    """The wrapped model with all variables in."""
    fitted = robust._fitted

    def method(windows: Windows, present: NDArray[np.int64]) -> NDArray[np.float32]:
        return fitted.run(_complete_inputs(fitted, windows), present)

    return method


def partial_inputs(robust: SubsetForecaster) -> Method:
    """The model with absent inputs at the mean; our graph models also lose the edges of absent variables."""
    fitted = robust._fitted
    usual = fitted.normalizer.center.mean(axis=0)  # [n]

    def method(windows: Windows, present: NDArray[np.int64]) -> NDArray[np.float32]:
        if fitted.model.abilities.partial:
            return fitted.model.forecast_partial(windows.batch().inputs, present, present)
        inputs = _complete_inputs(fitted, windows)
        absent = fitted.others(present)
        inputs[:, :, absent, 0] = usual[absent]
        return fitted.run(inputs, present)

    return method


def wrapped(robust: SubsetForecaster) -> Method:
    """The wrapper."""

    def method(windows: Windows, present: NDArray[np.int64]) -> NDArray[np.float32]:
        return robust.predict_many(windows, present=present, levels=()).mean

    return method


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
