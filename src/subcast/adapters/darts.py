"""A fitted darts model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subcast.adapters.base import AdaptedForecaster, checked_names, load_library
from subcast.axes import check_whole
from subcast.errors import InputError
from subcast.names import listed, plural

_Run = Callable[[NDArray[np.float32]], Any]


def from_darts(
    model: Any, *, variables: Sequence[str] = (), horizon: int | None = None, scaler: Any = None
) -> AdaptedForecaster:
    """Adapt a global model of darts, fitted on one multivariate TimeSeries without covariates.

    A torch model (TiDE, NLinear, TSMixer, TFT, ...) runs as one forward pass of its module for each batch; a
    scikit-learn-like one (LinearRegressionModel, RandomForestModel, LightGBMModel, ...) through its own `predict`, on
    many windows at once. Of a likelihood the mean is taken, of quantiles the median.

    Parameters
    ----------
    model
        fitted
    variables
        the n names; those of the series the model was fitted on by default
    horizon
        steps to forecast, `output_chunk_length` by default; for more than that the model feeds its forecasts back
    scaler
        the darts `Scaler` that was fitted on the series, when the model was fitted on what it gave
    """
    darts_base = load_library("darts.models.forecasting.forecasting_model", "from_darts")
    if not isinstance(model, darts_base.GlobalForecastingModel):
        raise InputError(
            f"model must be a global model of darts, such as TiDEModel or LinearRegressionModel, "
            f"got {type(model).__name__}: local models are fitted anew for each series"
        )
    name = type(model).__name__
    if not getattr(model, "_fit_called", False):
        raise InputError(f"the {name} is not fitted: call fit before from_darts")
    _refuse_what_windows_lack(model, name)
    names, n = _variables_of(model, name, checked_names(variables))
    wanted = check_whole("horizon", model.output_chunk_length if horizon is None else horizon)
    torch_model = hasattr(model, "input_chunk_length")
    module_input = _module_input() if torch_model and wanted <= model.output_chunk_length else None
    if torch_model and module_input is None and model.likelihood is not None:
        raise InputError(
            f"the {name} draws at random what it feeds back, so that its forecasts of {wanted} steps would differ from "
            f"call to call: fit it with output_chunk_length={wanted} or without likelihood"
            if wanted > model.output_chunk_length
            else f"this version of darts only draws at random from the likelihood of the {name}: "
            "install a newer one, or fit the model without likelihood"
        )
    lookback = model.input_chunk_length if torch_model else _lags_of(model, name)
    run: _Run = _ByPredict(model, wanted) if module_input is None else _ByForward(model, module_input, wanted)
    if scaler is not None:
        if not hasattr(scaler, "inverse_transform"):
            raise InputError(f"scaler must be a fitted darts Scaler, got {type(scaler).__name__}")
        run = _Scaled(run, scaler)
    return AdaptedForecaster(run, lookback, wanted, "darts", names, n_features=1, n_variables=n)


@dataclass(frozen=True, eq=False)
class _ByForward:
    """A torch model of darts: one forward pass of its module."""

    model: Any
    module_input: Any
    horizon: int

    def __call__(self, x: NDArray[np.float32]) -> NDArray[Any]:
        torch = load_library("torch", "from_darts")
        module, likelihood = self.model.model, self.model.likelihood
        module.eval()
        weight = next(module.parameters(), torch.zeros(()))
        with torch.inference_mode():
            past = torch.from_numpy(x[..., 0]).to(device=weight.device, dtype=weight.dtype)  # [b, t, n]
            y = module(self.module_input(past_target=past)).prediction[:, : self.horizon]  # [b, h, n, parameters]
            if likelihood is None:
                y = y[..., 0]
            elif hasattr(likelihood, "quantiles"):
                y = y[..., likelihood.quantiles.index(0.5)]
            else:
                y = likelihood._distr_from_params(likelihood._params_from_output(y)).mean
        return np.asarray(y.cpu().float().numpy())  # [b, h, n]


@dataclass(frozen=True, eq=False)
class _ByPredict:
    """A model of darts through its own `predict`, on many windows at once."""

    model: Any
    horizon: int

    def __call__(self, x: NDArray[np.float32]) -> NDArray[Any]:
        time_series = load_library("darts", "from_darts").TimeSeries
        pandas = load_library("pandas", "from_darts")
        fitted_on = self.model.training_series
        if fitted_on is None or not fitted_on.has_datetime_index:
            times = pandas.RangeIndex(x.shape[1])
        else:
            times = pandas.date_range(fitted_on.start_time(), periods=x.shape[1], freq=fitted_on.freq)
        columns = None if fitted_on is None else fitted_on.components
        windows = [time_series.from_times_and_values(times, window, columns=columns) for window in x[..., 0]]
        forecasts = self.model.predict(self.horizon, series=windows, verbose=False, show_warnings=False)
        return np.stack([forecast.values() for forecast in forecasts])


@dataclass(frozen=True, eq=False)
class _Scaled:
    """A model that runs between a darts scaler and its inverse, both applied to each variable separately."""

    run: _Run
    scaler: Any

    def __call__(self, x: NDArray[np.float32]) -> NDArray[np.float32]:
        normal = _change(self.scaler.transform, x[..., 0])[..., None]  # [b, t, n, 1]
        return _change(self.scaler.inverse_transform, np.asarray(self.run(normal)))


def _change(by: Callable[[Any], Any], values: NDArray[Any]) -> NDArray[np.float32]:
    """Apply a scaler of darts to [b, t, n], all windows as one series."""
    from_values = load_library("darts", "from_darts").TimeSeries.from_values
    scaled = by(from_values(values.reshape(-1, values.shape[2]))).values()  # [b t, n]
    return np.asarray(scaled.reshape(values.shape).astype(np.float32))


def _refuse_what_windows_lack(model: Any, name: str) -> None:
    kinds = [kind for kind in ("past", "future", "static") if getattr(model, f"uses_{kind}_covariates", False)]
    if kinds:
        raise InputError(
            f"the {name} was fitted with {' and '.join(kinds)} covariates or encoders, which a window of readings does "
            "not hold: fit it without them (add_encoders=None, use_static_covariates=False)"
        )
    if getattr(model, "output_chunk_shift", 0):
        raise InputError(
            f"the {name} has output_chunk_shift={model.output_chunk_shift}, so that its forecasts do not begin right "
            "after the window: fit it with output_chunk_shift=0"
        )


def _variables_of(model: Any, name: str, given: tuple[str, ...]) -> tuple[tuple[str, ...], int | None]:
    """Return names and number of the variables the model was fitted on, as far as they are known."""
    fitted_on = model.training_series
    known = () if fitted_on is None else tuple(str(component) for component in fitted_on.components)
    n = len(known) or getattr(getattr(model, "model", None), "n_targets", None)
    if given and n is not None and n != len(given):
        advice = ": stack them into one multivariate TimeSeries and fit on that" if n == 1 else ""
        raise InputError(
            f"the {name} was fitted on series of {plural(n, 'component')}, but there are {len(given)} variables{advice}"
        )
    if given and known and given != known:
        raise InputError(
            f"the {name} was fitted on the components {listed(known)}, but variables are {listed(given)}: "
            "they must be the same, in the same order"
        )
    return known or given, n


def _lags_of(model: Any, name: str) -> int:
    """Return the number of past steps that a regression model uses."""
    first = model.extreme_lags[0]
    if first is None:
        raise InputError(f"the {name} does not look at past readings: fit it with lags=")
    shift = 0 if getattr(model, "multi_models", True) else model.output_chunk_length - 1
    return int(-first + shift)


def _module_input() -> Any:
    """Return the class of the input of a module's forward; None in versions of darts without it."""
    try:
        from darts.utils.data.torch_datasets.utils import PLModuleInput  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        return None
    return PLModuleInput if hasattr(PLModuleInput, "__dataclass_fields__") else None
