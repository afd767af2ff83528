"""FDW with b, tau and m tuned on validation windows, from the paper's search grids."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subcast.evaluation import Method
from subcast.experiments.study import SEED, SHARE, STEP, Context
from subcast.subset.methods.paper import PaperMethod
from subcast.subsets import draw_subsets
from subcast.windows import Windows

GRIDS: dict[str, tuple[float, ...]] = {
    "exponent": (0.33, 0.5, 1.0, 2.0),
    "temperature": (0.01, 0.1, 1.0, 10.0),
    "neighbors": (1, 5, 10, 20, 50),
}
"""The paper's search grids of b, tau and m."""
TUNING_SEED = SEED + 1
"""Of the draws of S for tuning: other ones than those of the test."""


@dataclass(frozen=True, eq=False)
class TunedMethod:
    """A method with the settings that were chosen for it.

    Parameters
    ----------
    forecast
        the method
    chosen
        plain values for the record: the settings, their error on validation windows, and how they were chosen
    """

    forecast: Method
    chosen: Mapping[str, Any]

    def __call__(self, windows: Windows, present: NDArray[np.int64]) -> NDArray[np.floating[Any]]:
        """Forecast windows from the variables in S."""
        return self.forecast(windows, present)


def tune_fdw(context: Context, windows: int, draws: int) -> dict[str, Any]:
    """Return the settings of FDW with the smallest MAE at the last step on validation windows.

    Parameters
    ----------
    context
        the cell
    windows, draws
        number of validation windows, evenly spread, and of draws of S
    """
    validation = context.study.validation_windows(windows)
    subsets = [np.sort(draw) for draw in draw_subsets(context.study.n, share=SHARE, draws=draws, seed=TUNING_SEED)]
    errors: dict[tuple[float, ...], list[float]] = {}
    for present in subsets:
        for settings, error in _errors(context, validation, present).items():
            errors.setdefault(settings, []).append(error)
    means = {settings: float(np.mean(each)) for settings, each in errors.items()}
    best = min(means, key=lambda settings: means[settings])
    fixed = context.study.paper.settings_
    usual = tuple(float(getattr(fixed, name)) for name in GRIDS)
    return {
        "settings": dict(zip(GRIDS, best, strict=True)),
        "validation_mae": means[best],
        "validation_mae_of_fixed": means.get(usual),
        "validation_windows": len(validation),
        "validation_draws": draws,
        "tried": len(means),
    }


def _errors(context: Context, windows: Windows, present: NDArray[np.int64]) -> dict[tuple[float, ...], float]:
    """Return the MAE at the last step of every combination of settings under one draw of S."""
    truth = windows.targets[:, STEP - 1][:, present]
    errors: dict[tuple[float, ...], float] = {}
    most = int(max(GRIDS["neighbors"]))
    for exponent in GRIDS["exponent"]:
        widest = context.study.paper_with(exponent=exponent, neighbors=most)
        completed = context.completions(widest, windows, present)
        for temperature, m in product(GRIDS["temperature"], GRIDS["neighbors"]):
            robust = context.study.paper_with(exponent=exponent, temperature=temperature, neighbors=int(m))
            nearest = completed.nearest(int(m))
            method = PaperMethod(robust.fitted_, robust.settings_)
            forecast = method.weighted_sum(nearest.each, nearest.neighbors, present)[0]
            errors[exponent, temperature, m] = float(np.nanmean(np.abs(forecast[:, STEP - 1] - truth)))
    return errors


def chosen_settings(chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that `tune_fdw` chose as options of the wrapper.

    >>> chosen_settings({"settings": {"exponent": 1.0, "temperature": 0.1, "neighbors": 10.0}})
    {'exponent': 1.0, 'temperature': 0.1, 'neighbors': 10}
    """
    settings = dict(chosen["settings"])
    return settings | {"neighbors": int(settings["neighbors"])}
