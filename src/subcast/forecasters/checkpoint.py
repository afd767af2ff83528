"""Checkpoints of trained models: weights as safetensors and the rest as JSON; nothing is unpickled."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from subcast.errors import DataError, DataNotFoundError, InputError
from subcast.scaling import Scaler
from subcast.storage import fields, folders
from subcast.storage.state import State

if TYPE_CHECKING:
    from torch import Tensor

    from subcast.forecasters.base import ForecastModule
    from subcast.forecasters.trained import TrainedForecaster

KIND = "forecaster"
WEIGHTS = "weights.safetensors"
_SIZES = ("n_variables", "lookback", "horizon", "n_features")
# What a network raises that is made with wrong settings or given wrong weights.
_UNFIT = (TypeError, ValueError, ArithmeticError, AttributeError, LookupError, RuntimeError)
_LEAST_LIMIT = 1 << 16  # a whole number among the settings may be this large, whatever the size of the weights


def save_forecaster(forecaster: TrainedForecaster, folder: str | Path) -> None:
    """Save a trained model to a folder; an existing model is replaced in one step.

    Other files in the folder, such as training logs, are not changed.
    """
    folders.save_state(folder, KIND, forecaster_state(forecaster), beside=".*")


def load_forecaster(folder: str | Path) -> TrainedForecaster:
    """Load a trained model from a folder; raise if it cannot be read."""
    folder = Path(folder)
    if not is_saved_forecaster(folder):
        problem = "does not exist" if not folder.exists() else f"has no {KIND}.json"
        raise DataNotFoundError(f"{folder} {problem}: give a folder that `subcast train` or `save` wrote")
    return forecaster_from_state(folders.open_state(folder, KIND), str(folder))


def is_saved_forecaster(folder: str | Path) -> bool:
    """Return whether a folder holds a saved model."""
    return folders.is_saved(folder, KIND)


def forecaster_state(forecaster: TrainedForecaster) -> State:
    """Return the state of a trained model to save."""
    from safetensors.torch import save

    from subcast.forecasters import FORECASTERS

    if not forecaster.abilities.storable:
        raise InputError(
            f"only the package's own models ({', '.join(FORECASTERS)}) can be saved to a folder, got {forecaster.model}"
        )
    weights = {name: value.detach().cpu().contiguous() for name, value in forecaster.module.state_dict().items()}
    facts = {
        "kind": KIND,
        "model": forecaster.model,
        "settings": forecaster.module.settings,
        "lookback": forecaster.lookback,
        "horizon": forecaster.horizon,
        "n_features": forecaster.n_features,
        "time_features": list(forecaster.time_features),
        "graph_source": forecaster.graph_source,
        "training": forecaster.training,
        "versions": forecaster.versions,
        "scaler": forecaster.scaler.to_dict(),
        "means": forecaster.means.tolist(),
        "variables": list(forecaster.variables),
        "history": list(forecaster.history),
    }
    return State(facts, blobs={WEIGHTS: save(weights)})


def forecaster_from_state(state: State, source: str) -> TrainedForecaster:
    """Return the trained model saved by `forecaster_state`; `source` names it in errors.

    Raises a DataError unless every field is what it must be, before a network of the stored sizes is made.
    """
    from subcast.forecasters import FORECASTERS
    from subcast.forecasters.trained import TrainedForecaster

    model = fields.text(state, "model")
    if model not in FORECASTERS:
        raise DataError(
            f"{source} holds a {model[:40]!r}, and this version of subcast knows {', '.join(FORECASTERS)}: "
            "use the version that wrote it"
        )
    variables = fields.texts(state, "variables")
    n = len(variables)
    sizes = {name: fields.whole(state, name, 1) for name in ("lookback", "horizon", "n_features")}
    history = fields.sequence(state, "history")
    if not all(isinstance(row, dict) for row in history):
        raise fields.wrong(state, "history", "a list of rows", history)
    graph_source = fields.optional_text(state, "graph_source") if "graph_source" in state.facts else None
    return TrainedForecaster(
        module=_module(state, model, {"n_variables": n, **sizes}),
        model=model,
        scaler=_scaler(state, n),
        means=np.array(fields.numbers(state, "means", n), dtype=np.float64),
        variables=variables,
        **sizes,
        time_features=fields.texts(state, "time_features"),
        graph_source=graph_source,
        training=fields.mapping(state, "training"),
        history=tuple(history),
        versions=fields.mapping(state, "versions"),
    )


def _scaler(state: State, n: int) -> Scaler:
    """Return the scaler, of all variables together or of each."""
    stored = State(fields.mapping(state, "scaler"), source=state.source)
    mean, scale = (np.array(fields.numbers(stored, name), dtype=np.float64) for name in ("mean", "scale"))
    if mean.shape != scale.shape or mean.size not in (1, n) or not (scale > 0).all():
        raise state.damaged(f"its scaler must have 1 or {n} means and as many scales above 0")
    return Scaler(mean, scale)


def _module(state: State, model: str, sizes: dict[str, int]) -> Any:
    """Return the network with its weights."""
    import torch
    from safetensors import SafetensorError
    from safetensors.torch import load

    from subcast.forecasters import FORECASTERS

    settings = dict(fields.mapping(state, "settings"))
    for name, size in sizes.items():
        if settings.get(name) != size:
            raise state.damaged(f"its settings have {fields.short(settings.get(name))} as {name} instead of {size}")
    if WEIGHTS not in state.blobs:
        raise state.damaged(f"it has no {WEIGHTS}")
    graph_given = settings.get("graph") == "given"  # the graph itself is among the weights
    arguments = {**settings, **({"graph": "identity"} if graph_given else {})}
    with torch.random.fork_rng(devices=[]):
        try:
            weights = load(state.blobs[WEIGHTS])
            _check_weights(FORECASTERS[model], arguments, weights)
            module = FORECASTERS[model](**arguments)
            module.load_state_dict(weights)
        except (*_UNFIT, SafetensorError) as error:
            raise _misfit(state, error) from None
    if graph_given:
        module.settings["graph"] = "given"
    return module


def _misfit(state: State, error: Exception) -> DataError:
    reason = _last_line(error)
    return DataError(f"the weights in {state.source} do not fit its settings ({reason}): copy or save it again")


def _check_weights(kind: type[ForecastModule], settings: dict[str, Any], weights: dict[str, Tensor]) -> None:
    """Raise a ValueError unless a network with these settings has weights of these names, shapes and types.

    The network is made without memory for its weights (on torch's device "meta"), and only as far as the stored
    weights reach, so that no setting can take more memory or time than the honest network.
    """
    import torch

    cells = sum(value.numel() for value in weights.values())
    for name, value in settings.items():
        longest = len(value) if isinstance(value, list) else 0
        largest = value if type(value) is int and name not in _SIZES else 0
        if longest > max(len(weights), 64) or abs(largest) > max(cells, _LEAST_LIMIT):
            raise ValueError(f"{name} is {fields.short(value)}")
    with torch.device("meta"), _at_most(len(weights), cells):
        try:
            expected = {name: (value.shape, value.dtype) for name, value in kind(**settings).state_dict().items()}
        except NotImplementedError:  # a network of the user that needs numbers when it is made
            return
    for name in expected.keys() | weights.keys():
        value = weights.get(name)
        if value is None or expected.get(name) != (value.shape, value.dtype):
            raise ValueError(f"{name} is {'missing' if value is None else tuple(value.shape)}")
        if not bool(torch.isfinite(value).all()):
            raise ValueError(f"{name} is not finite")


@contextmanager
def _at_most(tensors: int, cells: int) -> Iterator[None]:
    """Stop the making of a network in this thread when it has many more weights than are stored.

    A layer may register a weight more than once, so the exact comparison comes later.
    """
    from torch.nn.modules import module as hooks

    counted = [0, 0]
    thread = threading.get_ident()

    def count(_module: Any, name: str, weight: Any) -> None:
        if weight is not None and threading.get_ident() == thread:
            counted[0] += 1
            counted[1] += weight.numel()
            if counted[0] > 4 * tensors + 64 or counted[1] > 4 * cells + _LEAST_LIMIT:
                raise ValueError(f"the settings need more weights than are stored, beginning with {name}")

    handles = [
        hooks.register_module_parameter_registration_hook(count),
        hooks.register_module_buffer_registration_hook(count),
    ]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _last_line(error: Exception) -> str:
    """Return the last line of an error, where torch puts the detail."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1][:200] if lines else type(error).__name__
