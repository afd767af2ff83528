"""Save a fitted wrapper to a folder and load it by memory map; nothing is unpickled."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from subcast import __version__
from subcast.adapters import adapt
from subcast.adapters.onnx import from_onnx_content
from subcast.errors import DataError, DataNotFoundError, InputError
from subcast.forecasters.checkpoint import forecaster_from_state, is_saved_forecaster
from subcast.forecasters.protocol import AbleForecaster
from subcast.retrieval import LagMoments, WindowBank
from subcast.storage import folders
from subcast.storage.state import State
from subcast.subset.experts import EXPERTS
from subcast.subset.fitted import Fitted
from subcast.subset.metadata import TrainingMetadata
from subcast.subset.neighbor_forecasts import NeighborForecasts
from subcast.subset.normalizer import Normalizer

if TYPE_CHECKING:
    from subcast.subset.forecaster import SubsetForecaster

KIND = "wrapper"
_NOT_STORED = "other"
_LOGGER = logging.getLogger(__name__)


def load(folder: str | Path, model: Any = None) -> SubsetForecaster:
    """Load a wrapper that `SubsetForecaster.save` wrote; its arrays are memory-mapped and shared between processes.

    Parameters
    ----------
    folder
        the folder it was saved to
    model
        the model, when it is neither one of subcast's nor an ONNX file; it is checked against forecasts stored with
        the wrapper

    Returns
    -------
    SubsetForecaster
    """
    from subcast.subset.forecaster import SubsetForecaster

    folder = Path(folder)
    if not folders.is_saved(folder, KIND):
        _refuse(folder)
    state = folders.open_state(folder, KIND)
    try:
        wrapper = SubsetForecaster.from_state(state, model, str(folder))
    except (KeyError, TypeError, AttributeError) as error:
        raise DataError(f"{folder} is incomplete ({error} is missing or invalid): copy it again") from None
    wrapper.check_model()
    _LOGGER.info("loaded %s", folder)
    return wrapper


def save(wrapper: SubsetForecaster, folder: str | Path) -> None:
    """Write a fitted wrapper to a folder; a wrapper already there is replaced in one step."""
    folders.check_folder(Path(folder), KIND)
    folders.save_state(folder, KIND, wrapper.state())
    _LOGGER.info("saved %s", folder)


def _refuse(folder: Path) -> None:
    if is_saved_forecaster(folder):
        raise DataError(
            f"{folder} holds a trained model, not a wrapper: read it with TrainedForecaster.load, "
            "or wrap it with `subcast fit`"
        )
    problem = "does not exist" if not folder.exists() else f"has no {KIND}.json"
    raise DataNotFoundError(f"{folder} {problem}: give a folder that `subcast fit` or `save` wrote")


def fitted_state(fitted: Fitted, keep_neighbor_forecasts: bool) -> State:
    """Return the state of everything that was fitted.

    If `keep_neighbor_forecasts` is True, the forecasts of all training windows are computed first, so that a process
    that loads the wrapper need not compute them again.
    """
    if keep_neighbor_forecasts:
        shape = (len(fitted.bank), fitted.horizon, fitted.n)
        fitted.neighbor_forecasts.fill(shape, fitted.forecast_candidates)
    facts = {
        "subcast": __version__,
        "lookback": fitted.lookback,
        "horizon": fitted.horizon,
        "n_features": fitted.n_features,
        "time_of_day_weight": fitted.time_of_day_weight,
        "features_in_distance": fitted.features_in_distance,
        "experts": list(fitted.experts),
        "bank_fingerprint": fitted.bank.fingerprint(),
    }
    arrays: dict[str, NDArray[Any]] = {"bank_slots": fitted.bank_slots}
    if fitted.features is not None:
        arrays["features"] = fitted.features
    state = State.join(
        facts,
        model=model_state(fitted.model),
        normalizer=fitted.normalizer.state(),
        bank=fitted.bank.state(),
        moments=None if fitted.moments is None else fitted.moments.state(),
        neighbor_forecasts=fitted.neighbor_forecasts.state(),
        **{f"expert_{name}": expert.state() for name, expert in fitted.experts.items()},
    )
    state.arrays.update(arrays)
    return state


def fitted_from_state(
    state: State, metadata: TrainingMetadata, model: Any, source: str, *, progress: bool = False
) -> Fitted:
    """Return the fitted parts saved by `fitted_state`; `model` replaces a model that was not stored."""
    facts = state.facts
    moments = state.part("moments")
    unknown = [name for name in facts["experts"] if name not in EXPERTS]
    if unknown:
        raise DataError(
            f"{source} was saved with the expert {unknown[0]!r}, which is not in EXPERTS: put its class into "
            "subcast.subset.experts.EXPERTS before loading"
        )
    bank_kind = facts["bank"].get("kind")
    if bank_kind not in BANKS:
        raise DataError(
            f"{source} was saved with a bank of kind {bank_kind!r}, which has no reader here: put one into "
            "subcast.subset.saving.BANKS before loading"
        )
    bank = BANKS[bank_kind](state.needed_part("bank"))
    if bank.fingerprint() != facts["bank_fingerprint"]:
        raise DataError(
            f"{source} was saved with another bank (fingerprint {facts['bank_fingerprint']}, found "
            f"{bank.fingerprint()}): copy the folder again, or give the bank it was saved with"
        )
    return Fitted(
        model=_load_model(state.needed_part("model"), metadata, facts["n_features"], model, source),
        normalizer=Normalizer.from_state(state.needed_part("normalizer")),
        bank=bank,
        moments=None if moments is None else LagMoments.from_state(moments),
        neighbor_forecasts=NeighborForecasts.from_state(state.part("neighbor_forecasts"), progress=progress),
        bank_slots=state.arrays["bank_slots"],
        features=state.arrays.get("features"),
        time_of_day_weight=facts["time_of_day_weight"],
        features_in_distance=facts["features_in_distance"],
        lookback=facts["lookback"],
        horizon=facts["horizon"],
        n_features=facts["n_features"],
        experts={name: EXPERTS[name].from_state(state.needed_part(f"expert_{name}")) for name in facts["experts"]},
    )


def model_state(model: AbleForecaster) -> State:
    """Return the model's state if it can be stored safely, else only its description."""
    if not model.abilities.storable:
        return State({"kind": _NOT_STORED, "repr": repr(model)})
    state = model.state()
    state.facts["repr"] = repr(model)
    return state


def _load_model(
    state: State, metadata: TrainingMetadata, n_features: int, user_model: Any, source: str
) -> AbleForecaster:
    kind = str(state.facts.get("kind"))
    if user_model is None and kind == _NOT_STORED:
        raise InputError(
            f"{source} was saved without its model ({state.facts['repr']}), which cannot be stored "
            "safely: pass it as subcast.load(folder, model=...)"
        )
    if user_model is None and kind not in MODELS:
        raise DataError(
            f"{source} holds a model of kind {kind!r}, which has no reader here: pass the model as "
            "subcast.load(folder, model=...), or put a reader into subcast.subset.saving.MODELS"
        )
    model = MODELS[kind](state, metadata, source) if user_model is None else user_model
    return adapt(
        model,
        lookback=metadata.lookback,
        horizon=metadata.horizon,
        variables=metadata.variables,
        n_features=n_features,
    )


def _read_forecaster(state: State, metadata: TrainingMetadata, source: str) -> Any:
    return forecaster_from_state(state, source)


def _read_onnx(state: State, metadata: TrainingMetadata, source: str) -> Any:
    return from_onnx_content(
        state.blobs["model.onnx"],
        lookback=metadata.lookback,
        horizon=metadata.horizon,
        variables=metadata.variables,
        name=f"the ONNX model in {source}",
    )


MODELS: dict[str, Callable[[State, TrainingMetadata, str], Any]] = {
    "forecaster": _read_forecaster,
    "onnx": _read_onnx,
}
"""Readers of stored models by the kind that their state names."""

BANKS: dict[str, Callable[[State], Any]] = {"windows": WindowBank.from_state}
"""Readers of stored banks by the kind that their state names."""
