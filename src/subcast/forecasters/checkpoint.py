"""Checkpoints of trained models: weights as safetensors and the rest as JSON; nothing is unpickled."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from subcast.errors import DataError, DataNotFoundError, InputError
from subcast.scaling import Scaler
from subcast.storage import folders
from subcast.storage.state import State

if TYPE_CHECKING:
    from subcast.forecasters.trained import TrainedForecaster

KIND = "forecaster"
WEIGHTS = "weights.safetensors"
_FACTS: dict[str, type] = {
    "model": str,
    "settings": dict,
    "variables": list,
    "scaler": dict,
    "means": list,
    "lookback": int,
    "horizon": int,
    "n_features": int,
    "time_features": list,
    "training": dict,
    "history": list,
    "versions": dict,
}


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
    """Return the trained model saved by `forecaster_state`; `source` names it in errors."""
    from subcast.forecasters import FORECASTERS
    from subcast.forecasters.trained import TrainedForecaster

    facts = state.facts
    _check_facts(state, source)
    if facts["model"] not in FORECASTERS:
        raise DataError(
            f"{source} holds a {facts['model']!r}, and this version of subcast knows {', '.join(FORECASTERS)}: "
            "use the version that wrote it"
        )
    scaler, means = _check_sizes(source, facts)
    return TrainedForecaster(
        module=_module(facts, state.blobs[WEIGHTS], source),
        model=facts["model"],
        scaler=scaler,
        means=means,
        variables=tuple(facts["variables"]),
        lookback=facts["lookback"],
        horizon=facts["horizon"],
        n_features=facts["n_features"],
        time_features=tuple(facts["time_features"]),
        graph_source=facts.get("graph_source"),
        training=facts["training"],
        history=tuple(facts["history"]),
        versions=facts["versions"],
    )


def _module(facts: dict[str, Any], weights: bytes, source: str) -> Any:
    """Return the network with its weights."""
    import torch
    from safetensors import SafetensorError
    from safetensors.torch import load

    from subcast.forecasters import FORECASTERS

    settings = dict(facts["settings"])
    graph_given = settings.get("graph") == "given"  # the graph itself is among the weights
    with torch.random.fork_rng(devices=[]):
        try:
            module = FORECASTERS[facts["model"]](**{**settings, **({"graph": "identity"} if graph_given else {})})
            module.load_state_dict(load(weights))
        except (TypeError, ValueError, RuntimeError, SafetensorError) as error:
            raise DataError(f"the weights in {source} do not fit its settings ({_last_line(error)})") from None
    if graph_given:
        module.settings["graph"] = "given"
    return module


def _check_facts(state: State, source: str) -> None:
    """Raise unless every fact is present and of the right type."""
    facts = state.facts
    missing = [name for name in _FACTS if name not in facts]
    if WEIGHTS not in state.blobs:
        missing.append(WEIGHTS)
    if missing:
        raise DataError(f"{source} has no {', '.join(missing)}: it is damaged; copy the folder again")
    for name, kind in _FACTS.items():
        value = facts[name]
        if not isinstance(value, kind) or isinstance(value, bool):
            raise DataError(f"{source} has {_short(value)} as its {name}: it is damaged; copy the folder again")


def _check_sizes(source: str, facts: dict[str, Any]) -> tuple[Scaler, NDArray[np.float64]]:
    """Return the scaler and the means; raise unless all sizes agree with the settings."""
    settings, variables = facts["settings"], facts["variables"]
    try:
        scaler = Scaler.from_dict(facts["scaler"])
        means = np.asarray(facts["means"], dtype=np.float64)
    except (KeyError, TypeError, ValueError):
        raise DataError(
            f"{source} has no numbers as its scaler or means: it is damaged; copy the folder again"
        ) from None
    n = settings.get("n_variables")
    agree = {
        "variables": len(variables) == n and all(isinstance(name, str) for name in variables),
        "means": means.shape == (n,),
        "scaler": scaler.mean.shape == scaler.scale.shape and scaler.mean.shape in ((1,), (n,)),
        **{size: facts[size] == settings.get(size) for size in ("lookback", "horizon", "n_features")},
    }
    for name, fits in agree.items():
        if not fits:
            raise DataError(f"{source} is damaged, its {name} and its settings do not fit: copy the folder again")
    return scaler, means


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:40]} ..."


def _last_line(error: Exception) -> str:
    """Return the last line of an error, where torch puts the detail."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__
