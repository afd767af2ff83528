"""Choose the adapter for a model, and check that the model fits the data."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from subcast.adapters.base import AdaptedForecaster
from subcast.adapters.darts import from_darts
from subcast.adapters.function import from_callable
from subcast.adapters.neuralforecast import from_neuralforecast
from subcast.adapters.onnx import from_onnx
from subcast.adapters.pytorch import from_torch
from subcast.adapters.sklearn import from_sklearn
from subcast.errors import DataNotFoundError, InputError, missing_extra
from subcast.forecasters.checkpoint import is_saved_forecaster, load_forecaster
from subcast.forecasters.protocol import Abilities, AbleForecaster
from subcast.names import listed, plural

_ACCEPTED = (
    "a model of subcast or a folder with one, a function of windows, a torch module, a fitted scikit-learn regressor, "
    "a path ending in .onnx, a fitted darts or neuralforecast model, or what one of subcast.adapters gives"
)


def adapt(
    model: Any, *, lookback: int, horizon: int, variables: Sequence[str], n_features: int | None = None
) -> AbleForecaster:
    """Return a forecaster for a model of any supported library; raise if it does not fit the windows.

    Parameters
    ----------
    model
        a model of subcast or a folder with one, a function of windows, a torch module, a fitted scikit-learn
        regressor, a path ending in .onnx, a fitted darts or neuralforecast model, or what an adapter gave
    lookback, horizon, n_features
        sizes of the axes t, h and f of the windows
    variables
        their n names

    Returns
    -------
    AbleForecaster
        a `Forecaster` that declares its abilities: an `AdaptedForecaster`, or the model itself when it is one already,
        such as a `TrainedForecaster`

    Examples
    --------
    >>> import numpy as np
    >>> last = adapt(lambda x: x[:, -2:, :, 0], lookback=3, horizon=2, variables=["a", "b"], n_features=1)
    >>> last
    AdaptedForecaster 'callable': 3 + 2 steps of 2 variables
    >>> adapt(last, lookback=12, horizon=2, variables=["a", "b"])
    Traceback (most recent call last):
        ...
    subcast.errors.InputError: the model is made for lookback 3, but the windows have 12: split with lookback=3
    """
    names = tuple(variables)
    forecaster = _adapted(model, lookback, horizon, names, n_features)
    _check_fit(forecaster, lookback, horizon, names, n_features)
    return forecaster


def _adapted(model: Any, lookback: int, horizon: int, variables: tuple[str, ...], n_features: int | None) -> Any:
    sizes: dict[str, Any] = {"lookback": lookback, "horizon": horizon, "variables": variables}
    if isinstance(model, str | Path):
        return _from_path(Path(model), sizes)
    if isinstance(model, type):
        raise InputError(f"model is the class {model.__name__} itself: give a fitted {model.__name__}(...)")
    if _comes_from(model, "neuralforecast"):
        return _from_neuralforecast_object(model)
    if _comes_from(model, "darts") and hasattr(model, "predict"):
        return from_darts(model, horizon=horizon)
    if _is_torch_module(model):
        return from_torch(model, **sizes, n_features=n_features)
    if isinstance(model, AbleForecaster):
        return model
    if _has_sizes(model):
        _refuse_half_declared(model)
        return _from_sized_object(model)
    if hasattr(model, "predict") and hasattr(model, "n_features_in_"):
        return from_sklearn(model, **sizes, n_features=n_features or 1)
    if hasattr(model, "predict") and hasattr(model, "get_params"):
        raise InputError(f"the {type(model).__name__} is not fitted: fit it on adapters.flatten(train) first")
    if callable(model):
        return from_callable(model, **sizes, n_features=n_features)
    raise InputError(f"model must be {_ACCEPTED}, got {type(model).__name__}")


def _from_path(path: Path, sizes: dict[str, Any]) -> Any:
    if path.suffix.lower() == ".onnx":
        return from_onnx(path, **sizes)
    if is_saved_forecaster(path):
        try:
            return load_forecaster(path)
        except ModuleNotFoundError as error:
            sentence = missing_extra(error, f"the model in {path}")
            raise (error if sentence is None else ModuleNotFoundError(sentence, name=error.name)) from None
    raise DataNotFoundError(f"{path} is neither an .onnx file nor a folder with forecaster.json: give {_ACCEPTED}")


def _from_neuralforecast_object(model: Any) -> AdaptedForecaster:
    if not hasattr(model, "models"):
        raise InputError(f"give the fitted NeuralForecast that holds the {type(model).__name__}, not the model alone")
    return from_neuralforecast(model)


def _comes_from(model: Any, library: str) -> bool:
    return any(kind.__module__.partition(".")[0] == library for kind in type(model).__mro__)


def _is_torch_module(model: Any) -> bool:
    torch = sys.modules.get("torch")  # without torch imported the model cannot be a module
    return torch is not None and isinstance(model, torch.nn.Module)


def _has_sizes(model: Any) -> bool:
    """Return whether an object has the size attributes of a `Forecaster`."""
    return all(hasattr(model, name) for name in ("lookback", "horizon", "variables")) and (
        callable(model) or callable(getattr(model, "predict", None))
    )


def _from_sized_object(model: Any) -> AdaptedForecaster:
    """Adapt an object that has lookback, horizon and variables, and is called or has a `predict`."""
    run = model if callable(model) else model.predict
    return AdaptedForecaster(
        run=run,
        lookback=model.lookback,
        horizon=model.horizon,
        kind=type(model).__name__,
        variables=tuple(model.variables or ()),
        n_features=getattr(model, "n_features", None),
        n_variables=getattr(model, "n_variables", None),
        takes_wanted=_takes(run, "wanted"),
    )


def _refuse_half_declared(model: Any) -> None:
    """Raise if an object declares abilities but lacks the members that go with them."""
    if not isinstance(getattr(model, "abilities", None), Abilities):
        return
    missing = [name for name in ("forecast_partial", "state", "__call__") if not hasattr(model, name)]
    raise InputError(
        f"the {type(model).__name__} declares abilities, so it must have forecast_partial, state and a call as "
        f"subcast.forecasters.protocol.AbleForecaster describes: {', '.join(missing)} is missing"
    )


def _takes(function: Any, argument: str) -> bool:
    """Return whether a function has an argument of that name."""
    try:
        return argument in inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False


def _check_fit(model: Any, lookback: int, horizon: int, names: tuple[str, ...], n_features: int | None) -> None:
    for argument, expected in (("lookback", lookback), ("horizon", horizon)):
        model_size = getattr(model, argument)
        if model_size != expected:
            raise InputError(
                f"the model is made for {argument} {model_size}, but the windows have {expected}: "
                f"split with {argument}={model_size}"
            )
    _check_variables(tuple(model.variables), getattr(model, "n_variables", None), names)
    features = getattr(model, "n_features", None)
    if n_features is not None and features is not None and features != n_features:
        raise InputError(
            f"the model takes {plural(features, 'feature')} (the reading and {features - 1} of time), but the windows "
            f"have {n_features}: choose them with series.with_features(...)"
        )


def _check_variables(known: tuple[str, ...], n: int | None, names: tuple[str, ...]) -> None:
    if n is not None and n != len(names):
        advice = "" if n > 1 else ": fit it on all variables together, as one multivariate series"
        raise InputError(f"the model takes {plural(n, 'variable')}, but the windows have {len(names)}{advice}")
    if not known or known == names:
        return
    if set(known) == set(names):
        position = next(position for position, (a, b) in enumerate(zip(known, names, strict=True)) if a != b)
        raise InputError(
            f"the model has the same variables in another order (at position {position} {known[position]!r}, "
            f"the windows {names[position]!r}): put them in the model's order with series.select(model.variables)"
        )
    unknown = [name for name in names if name not in set(known)]
    raise InputError(f"the model does not know the variables {listed(unknown)}: it was fitted on {listed(known)}")
