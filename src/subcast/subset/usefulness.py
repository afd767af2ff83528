"""Is the model worth wrapping? Its errors on validation windows beside those of forecasts that need no model.

All variables are present in this comparison, so it says nothing about subsets: a model that loses against the last
value here is broken (not trained, other units, constants), and no gap to it means anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subcast.errors import InputError
from subcast.names import listed
from subcast.retrieval import Neighbors
from subcast.subset.arrived import Arrived
from subcast.subset.completion import complete, weigh_by_distance
from subcast.subset.fitted import Fitted
from subcast.subset.settings import Settings

LAST_VALUE, USUAL_VALUE = "the last value", "the usual value"
_FAR_WORSE = 4 / 3  # the model is called a problem if its error exceeds the best one without it by this factor
_WORSE_FOR_ONE = 2.0  # a single variable is named if its error exceeds that of the simplest forecasts by this factor
_MOST = 0.5  # share of the variables above which a property holds for the whole model
_OTHER_UNITS = 0.5  # other units are suspected if a change of units would reduce the error to less than this share
_STILL = 1e-3  # in units of a variable's spread: forecasts that change less from window to window are constant
_MOST_AT_ONCE, _CELLS_AT_ONCE = 128, 1 << 21  # windows that are forecast together, and cells of their forecasts
_TOLERANCE = 1e-6
_HUGE = 1e30  # the error of a forecast that is not a number


@dataclass(frozen=True)
class Usefulness:
    """Errors of the model and of forecasts that need no model, with all variables present.

    Parameters
    ----------
    metric
        "mae" or "rmse"; errors are in units of each variable's spread, over all steps
    windows
        number of validation windows
    model
        the error of the model
    others
        the errors of the other forecasts by name: the last value, the usual value, and each expert without the model
    problem
        what is wrong with the model, a sentence; "" if nothing is
    bad
        the variables for which the model is not used as a reference, in increasing order
    reference
        the forecast that replaces the model as a reference for those variables

    Examples
    --------
    >>> useless = Usefulness("mae", 40, 9.1, {"the last value": 0.3, "the specialist": 0.2}, "", (), "")
    >>> useless.best_other
    'the specialist'
    >>> useless.line
    "error with all variables, in each variable's spread: model 9.1, the specialist 0.2, the last value 0.3"
    """

    metric: str
    windows: int
    model: float
    others: dict[str, float]
    problem: str
    bad: tuple[int, ...]
    reference: str

    @property
    def best_other(self) -> str:
        """The name of the best forecast that needs no model."""
        return min(self.others, key=lambda name: self.others[name])

    @property
    def line(self) -> str:
        """All errors in one line, those without the model in increasing order."""
        ordered = sorted(self.others, key=lambda name: self.others[name])
        errors = ", ".join(f"{name} {self.others[name]:.3g}" for name in ordered)
        return f"error with all variables, in each variable's spread: model {self.model:.3g}, {errors}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for the report and for JSON."""
        return {
            "metric": self.metric,
            "windows": self.windows,
            "error": self.model,
            "error_without_the_model": dict(self.others),
            "problem": self.problem,
            "variables_with_a_problem": list(self.bad),
            "reference": self.reference,
        }

    @classmethod
    def from_dict(cls, stored: dict[str, Any]) -> Usefulness:
        """Return what `to_dict` gave, also after a round trip through JSON."""
        others = {str(name): float(error) for name, error in stored["error_without_the_model"].items()}
        if stored["reference"] and stored["reference"] not in others:
            raise InputError(f"the reference must be one of {', '.join(others)}, got {stored['reference']!r}")
        return cls(
            str(stored["metric"]),
            int(stored["windows"]),
            float(stored["error"]),
            others,
            str(stored["problem"]),
            tuple(int(variable) for variable in stored["variables_with_a_problem"]),
            str(stored["reference"]),
        )


@dataclass(frozen=True, eq=False)
class Verdict:
    """The comparison, and the forecasts to which subsets are compared.

    Parameters
    ----------
    usefulness
        the comparison
    reference
        [b, h, n]: the model's forecasts, except of variables for which it has a problem
    """

    usefulness: Usefulness
    reference: NDArray[np.float32]


def judge_model(
    fitted: Fitted,
    settings: Settings,
    arrived: Arrived,
    targets: NDArray[np.float32],
    plain: NDArray[np.float32],
    neighbors: Neighbors,
    *,
    metric: str,
    variables: Sequence[str],
) -> Verdict:
    """Compare the model with forecasts that need no model.

    Parameters
    ----------
    fitted, settings
        the fitted model and bank, and the settings of the method
    arrived, targets
        validation windows and their targets [b, h, n]
    plain
        [b, h, n], the model's forecasts of the windows with all variables
    neighbors
        the nearest training windows of each, by all variables
    metric
        "mae" or "rmse"
    variables
        their names
    """
    comparison = _Comparison(fitted, targets, plain, metric)
    others = {
        **simple_forecasts(fitted, arrived),
        **experts_alone(fitted, settings, arrived, neighbors),
    }
    errors = {name: comparison.errors(forecast) for name, forecast in others.items()}  # [n] each
    totals = {name: comparison.total(each) for name, each in errors.items()}
    model = comparison.errors(plain)
    bad = _bad_variables(comparison, model, errors, totals)
    best = min(errors, key=lambda name: comparison.total(errors[name][bad])) if bad.any() else ""
    usefulness = Usefulness(
        metric, len(plain), comparison.total(model), totals, "", tuple(np.flatnonzero(bad).tolist()), best
    )
    if not bad.any():
        return Verdict(usefulness, plain)
    means = [comparison.total(each[bad]) for each in (model, errors[best])]
    problem = _sentence(usefulness, variables, *means, hint=_hint(comparison, model, errors[USUAL_VALUE], bad))
    return Verdict(replace(usefulness, problem=problem), np.where(bad, others[best], plain))


def simple_forecasts(fitted: Fitted, arrived: Arrived) -> dict[str, NDArray[np.float32]]:
    """Return the last value and the usual value, [b, h, n] each; a variable without a reading gets the usual value."""
    future = fitted.slots(arrived, fitted.horizon, fitted.lookback)  # [b, h]
    usual = fitted.normalizer.restore(np.zeros((*future.shape, fitted.n), dtype=np.float32), future)
    last = np.full((len(arrived), fitted.n), np.nan, dtype=np.float32)
    for step in range(fitted.lookback):
        reading = arrived.values[:, step]
        last = np.where(np.isnan(reading), last, reading)
    repeated = np.broadcast_to(last[:, None], usual.shape)
    return {LAST_VALUE: np.where(np.isnan(repeated), usual, repeated), USUAL_VALUE: usual}


def experts_alone(
    fitted: Fitted, settings: Settings, arrived: Arrived, neighbors: Neighbors
) -> dict[str, NDArray[np.float32]]:
    """Return the forecasts of the experts other than the model, by name, [b, h, n] each: no pass of the model."""
    everything, names = np.arange(fitted.n), list(fitted.experts)[1:]
    settings = replace(settings, correction=settings.correction or 1.0)  # so that the regression is solved
    batches: dict[str, list[NDArray[np.float32]]] = {name: [] for name in names}
    at_once = int(np.clip(_CELLS_AT_ONCE // (fitted.horizon * fitted.n), 16, _MOST_AT_ONCE))
    for first in range(0, len(arrived), at_once):
        rows = slice(first, first + at_once)
        nearest = Neighbors(neighbors.index[rows], neighbors.distance[rows])
        weights = weigh_by_distance(nearest, settings)
        completed = complete(fitted, settings, arrived[rows], everything, nearest, weights)
        for name in names:
            batches[name].append(fitted.experts[name].forecast(completed, everything))
    return {f"the {name} alone": np.concatenate(each) for name, each in batches.items() if each}


class _Comparison:
    """Errors in units of each variable's spread, at the points where target and model forecast exist."""

    def __init__(self, fitted: Fitted, targets: NDArray[np.float32], plain: NDArray[np.float32], metric: str) -> None:
        self.spread = fitted.normalizer.spread_of(np.arange(fitted.n))
        self.targets, self.plain = targets.astype(np.float64), plain.astype(np.float64)
        self.power = 1 if metric == "mae" else 2
        self.usable = np.isfinite(targets) & np.isfinite(plain)

    def errors(self, forecast: NDArray[Any]) -> NDArray[np.float64]:
        """Return the mean error of each variable, [n] (squared for rmse); 0 without a target."""
        with np.errstate(invalid="ignore", over="ignore"):
            error = np.abs((forecast - self.targets) / self.spread) ** self.power
        total = np.where(self.usable, np.nan_to_num(error, nan=_HUGE, posinf=_HUGE), 0).sum(axis=(0, 1))
        return np.asarray(total / np.maximum(self.usable.sum(axis=(0, 1)), 1))

    def total(self, errors: NDArray[np.float64]) -> float:
        """Return the error over variables, not squared."""
        return float(errors.mean() ** (1 / self.power)) if errors.size else 0.0

    @property
    def broken(self) -> NDArray[np.bool_]:
        """Whether the model's forecast of a variable is ever not a number, [n]."""
        return np.asarray(~np.isfinite(self.plain).all(axis=(0, 1)))


def _bad_variables(
    comparison: _Comparison,
    model: NDArray[np.float64],
    errors: dict[str, NDArray[np.float64]],
    totals: dict[str, float],
) -> NDArray[np.bool_]:
    """Return for which variables the model cannot be a reference, [n]: all if it loses as a whole."""
    simple = {name: errors[name] for name in (LAST_VALUE, USUAL_VALUE)}
    simplest = np.minimum(*simple.values())
    best = errors[min(totals, key=lambda name: totals[name])]
    power = comparison.power
    loses = model >= simplest * (1 - _TOLERANCE) - _TOLERANCE
    far_worse = model > _FAR_WORSE**power * best + _TOLERANCE
    total = comparison.total(model)
    as_a_whole = (
        (total >= min(totals[name] for name in simple) * (1 - _TOLERANCE), loses),
        (
            total > _FAR_WORSE * min(totals.values()) + _TOLERANCE,
            far_worse,
        ),
    )
    if any(worse and by_variable.mean() > _MOST for worse, by_variable in as_a_whole):
        return np.ones(len(model), dtype=bool)
    return comparison.broken | (model > _WORSE_FOR_ONE**power * simplest + _TOLERANCE)


def _hint(
    comparison: _Comparison, model: NDArray[np.float64], usual: NDArray[np.float64], bad: NDArray[np.bool_]
) -> str:
    """Return what seems to be wrong with the model's forecasts of the bad variables; "" if nothing is obvious."""
    plain, targets, usable = comparison.plain, comparison.targets, comparison.usable
    if comparison.broken.any():
        count = int((~np.isfinite(plain)).sum())
        return f"; {count:,} of its {plain.size:,} forecasts are not numbers"
    if (plain.std(axis=0).max(axis=0) < _STILL * comparison.spread)[bad].mean() > _MOST:
        return "; its forecasts do not change from window to window"
    rescaled = np.full(plain.shape, np.nan)
    for variable in np.flatnonzero(bad):
        points = usable[:, :, variable]
        x, y = plain[:, :, variable][points], targets[:, :, variable][points]
        slope = np.cov(x, y, ddof=0)[0, 1] / x.var() if x.size > 1 and x.var() > 0 else 0.0
        rescaled[:, :, variable] = y.mean() + slope * (plain[:, :, variable] - x.mean()) if x.size else 0.0
    after = comparison.errors(np.where(np.isnan(rescaled), plain, rescaled))[bad]
    if ((after < _OTHER_UNITS * model[bad]) & (after < usual[bad])).mean() > _MOST:
        return f"; in other units its error would be {comparison.total(after):.3g}, so check what units it expects"
    return ""


def _sentence(usefulness: Usefulness, variables: Sequence[str], model: float, other: float, *, hint: str) -> str:
    """Return the problem in one sentence: what is worse than what, in numbers, and what to do."""
    bad, best = usefulness.bad, usefulness.reference
    names = [variables[i] for i in bad]
    whole = len(bad) == len(variables)
    subject = "the model" if whole else f"the model's forecast of {listed(names)}"
    verdict = "adds nothing to" if model <= other * (1 + 0.05) else "is worse than"
    others = sorted(usefulness.others, key=lambda name: usefulness.others[name])
    more = ", ".join(f"{name} {usefulness.others[name]:.3g}" for name in others if name != best)
    more = f" ({more})" if whole and more else ""
    return (
        f"{subject} {verdict} what needs no model: with all variables its {usefulness.metric.upper()} on "
        f"{usefulness.windows:,} validation windows is {model:.3g} in units of each variable's spread, without it "
        f"{other:.3g} by {best}{more}{hint}; train the model again, or wrap another one"
    )
