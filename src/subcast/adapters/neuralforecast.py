"""A fitted multivariate model of neuralforecast."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subcast.adapters.base import AdaptedForecaster, checked_names, load_library
from subcast.errors import InputError
from subcast.names import listed


def from_neuralforecast(nf: Any, *, model: int | str = 0, variables: Sequence[str] = ()) -> AdaptedForecaster:
    """Adapt a multivariate model (TSMixer, iTransformer, SOFTS, ...) of a fitted NeuralForecast.

    It runs as one forward pass of its module for each batch, with the model's own `scaler_type` and with the
    `local_scaler_type` of the NeuralForecast as fitted. Of a distribution the mean is taken, of quantiles the median.

    Parameters
    ----------
    nf
        fitted, without exogenous columns
    model
        which of its models, by place or by name
    variables
        the n names, which must be the `unique_id`s in their order; those by default
    """
    if not hasattr(nf, "models") or not hasattr(nf, "local_scaler_type"):
        raise InputError(f"nf must be a fitted NeuralForecast, got {type(nf).__name__}")
    if not getattr(nf, "_fitted", False):
        raise InputError("the NeuralForecast is not fitted: call fit before from_neuralforecast")
    fitted = _select_model(list(nf.models), model)
    name = type(fitted).__name__
    _refuse_what_windows_lack(fitted, name)
    median = _position_of_median(fitted.loss, name)
    local = (getattr(nf, "scalers_", None) or {}).get(nf.target_col)
    names, given = tuple(str(uid) for uid in nf.uids), checked_names(variables)
    if given and given != names:
        raise InputError(
            f"the {name} was fitted on the unique_ids {listed(names)}, but variables are {listed(given)}: "
            "they must be the same, in the same order (neuralforecast sorts them)"
        )
    lookback, horizon = int(fitted.input_size), int(fitted.h)
    run = _Network(fitted, local, median)
    return AdaptedForecaster(run, lookback, horizon, "neuralforecast", names, n_features=1)


@dataclass(frozen=True, eq=False)
class _Network:
    """One model of a NeuralForecast with the scaler of its series, as a function of windows."""

    model: Any
    local_scaler: Any
    median: int | None

    def __call__(self, x: NDArray[np.float32]) -> NDArray[Any]:
        torch = load_library("torch", "from_neuralforecast")
        self.model.eval()
        weight = next(self.model.parameters())
        local = self.local_scaler
        readings = x[..., 0] if local is None else _by_series(local.transform, x[..., 0])  # [b, t, n]
        with torch.inference_mode():
            past = torch.from_numpy(readings).to(device=weight.device, dtype=weight.dtype)
            y = _forecast(self.model, past, self.median)  # [b, h, n]
        forecasts = y.cpu().float().numpy()
        return np.asarray(forecasts) if local is None else _by_series(local.inverse_transform, forecasts)


def _forecast(model: Any, past: Any, median: int | None) -> Any:
    """Normalize windows [b, t, n], run the module and return its forecasts in raw units, [b, h, n]."""
    every = past.new_ones(past.shape)
    normal = model.scaler.transform(x=past[:, :, None], mask=every[:, :, None])[:, :, 0]  # by way of [b, t, 1, n]
    shift, scale = model.scaler.x_shift[:, :, 0], model.scaler.x_scale[:, :, 0]  # [b, 1, n]
    nothing = {"futr_exog": None, "hist_exog": None, "stat_exog": None}
    output = model.loss.domain_map(model({"insample_y": normal, "insample_mask": every, **nothing}))
    if model.loss.is_distribution_output:
        parameters = model.loss.scale_decouple(output=output, loc=shift, scale=scale)
        options = getattr(model.loss, "distribution_kwargs", {})
        return model.loss.get_distribution(parameters, **options).mean
    if median is not None:
        output = output[..., median]  # [b, h, n, quantiles] -> [b, h, n]
    return model.scaler.inverse_transform(z=output, x_shift=shift, x_scale=scale)


def _by_series(change: Any, values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Apply a scaler of coreforecast, which works series by series, to [b, t, n]."""
    grouped = load_library("coreforecast.grouped_array", "from_neuralforecast").GroupedArray
    b, t, n = values.shape
    flat = np.ascontiguousarray(values.transpose(2, 0, 1), dtype=np.float32).reshape(-1)  # [n b t]
    changed = change(grouped(flat, np.arange(n + 1, dtype=np.int32) * (b * t)))
    return np.ascontiguousarray(changed.reshape(n, b, t).transpose(1, 2, 0), dtype=np.float32)


def _select_model(models: list[Any], which: int | str) -> Any:
    names = [str(model) for model in models]
    if isinstance(which, str) and which in names:
        which = names.index(which)
    if isinstance(which, str) or not -len(models) <= which < len(models):
        raise InputError(
            f"model must be the place or name of one of the fitted models ({listed(names)}), got {which!r}"
        )
    model = models[which]
    return model.model if type(model).__name__.startswith("Auto") else model


def _refuse_what_windows_lack(model: Any, name: str) -> None:
    if not getattr(model, "MULTIVARIATE", False) or getattr(model, "RECURRENT", False):
        raise InputError(
            f"the {name} forecasts each series on its own, so that a missing one costs the others nothing: "
            "wrap a multivariate model such as TSMixer, iTransformer or SOFTS"
        )
    kinds = [kind for kind in ("futr", "hist", "stat") if getattr(model, f"{kind}_exog_list", None)]
    if kinds or model.exclude_insample_y:
        lists = " and ".join(f"{kind}_exog_list" for kind in kinds) or "exclude_insample_y"
        raise InputError(f"the {name} was fitted with {lists}, and a window holds readings alone: fit it without")


def _position_of_median(loss: Any, name: str) -> int | None:
    """Return the position of the median among several quantiles; None for a loss with one output or a distribution."""
    if loss.is_distribution_output:
        return None
    implicit = hasattr(loss, "update_quantile")
    quantiles = getattr(loss, "quantiles", None)
    if quantiles is None and not implicit and getattr(loss, "q", 0.5) == 0.5:
        return None
    positions = [] if quantiles is None else [i for i, q in enumerate(quantiles) if abs(float(q) - 0.5) < 1e-6]
    if not positions:
        raise InputError(
            f"the {name} was fitted with {type(loss).__name__}, which gives no median: "
            "fit it with a point loss such as MAE, or with MQLoss"
        )
    return positions[0]
