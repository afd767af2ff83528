"""Save a fitted wrapper to a folder and load it by memory map; nothing is unpickled."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from subcast import __version__
from subcast.adapters import adapt
from subcast.adapters.onnx import from_onnx_content
from subcast.errors import DataError, DataNotFoundError, InputError
from subcast.forecasters.checkpoint import forecaster_from_state, is_saved_forecaster
from subcast.forecasters.protocol import AbleForecaster
from subcast.retrieval import Bank, LagMoments, ShardedBank, WindowBank
from subcast.storage import fields, folders
from subcast.storage.state import State
from subcast.subset.experts import EXPERTS, OWN_EXPERTS, Boosted, Expert, OwnLinear, OwnTrees
from subcast.subset.experts.boosted import features_of
from subcast.subset.experts.own_regressions import learned_steps, n_inputs
from subcast.subset.fitted import Fitted
from subcast.subset.metadata import TrainingMetadata
from subcast.subset.neighbor_forecasts import NeighborForecasts
from subcast.subset.normalizer import Normalizer
from subcast.subset.wandering import KnownLevels

if TYPE_CHECKING:
    from subcast.subset.forecaster import SubsetForecaster

KIND = "wrapper"
_NOT_STORED = "other"
_LOGGER = logging.getLogger(__name__)


class ModelNotStoredError(InputError):
    """A wrapper was saved without its model, and no model was given; the second argument describes the model."""

    def __str__(self) -> str:
        return str(self.args[0])


def load(folder: str | Path, model: Any = None, *, verify: bool = True) -> SubsetForecaster:
    """Load a wrapper that `SubsetForecaster.save` wrote; its arrays are memory-mapped and shared between processes.

    The result is the very wrapper that was saved, or an error: every file is read once and compared with its checksum,
    and every field is checked.

    Parameters
    ----------
    folder
        the folder it was saved to
    model
        the model, when it is neither one of subcast's nor an ONNX file; it is checked against forecasts stored with
        the wrapper
    verify
        False reads only both ends of each file and does not look through the arrays: for large wrappers on a disk that
        you trust

    Returns
    -------
    SubsetForecaster
    """
    from subcast.subset.forecaster import SubsetForecaster

    state = wrapper_state(Path(folder), verify=verify)
    wrapper = SubsetForecaster.from_state(state, model, str(folder))
    with fields.restoring(state) if model is None else nullcontext():
        wrapper.check_model()
    _LOGGER.info("loaded %s", folder)
    return wrapper


def wrapper_state(folder: Path, *, verify: bool = True) -> State:
    """Return the saved state of a wrapper; raise unless the folder holds one."""
    if not folders.is_saved(folder, KIND):
        _refuse(folder)
    return folders.open_state(folder, KIND, verify=verify)


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
        known_levels=None if fitted.known_levels is None else fitted.known_levels.state(),
        neighbor_forecasts=fitted.neighbor_forecasts.state(),
        **{f"expert_{name}": expert.state() for name, expert in fitted.experts.items()},
    )
    state.arrays.update(arrays)
    return state


def fitted_from_state(
    state: State, metadata: TrainingMetadata, model: Any, source: str, *, progress: bool = False
) -> Fitted:
    """Return the fitted parts saved by `fitted_state`; `model` replaces a model that was not stored.

    Raises a DataError unless all parts fit the names, times and sizes in `metadata` and one another.
    """
    lookback, horizon = metadata.lookback, metadata.horizon
    n, n_features = len(metadata.variables), 1 + len(metadata.time_features)
    for name, size in (("lookback", lookback), ("horizon", horizon), ("n_features", n_features)):
        fields.whole(state, name, size, size)
    bank = _load_bank(state, metadata)
    normalizer = Normalizer.from_state(state.needed_part("normalizer"), n)
    features = None
    if n_features > 1:
        features = fields.array(state, "features", np.float32, [bank.n_steps, n_features - 1])
    moments = state.part("moments")
    shape = (len(bank), horizon, n)
    fitted = Fitted(
        model=_load_model(state.needed_part("model"), metadata, n_features, model, source),
        normalizer=normalizer,
        bank=bank,
        moments=None if moments is None else LagMoments.from_state(moments, lookback + horizon, n),
        neighbor_forecasts=NeighborForecasts.from_state(state.part("neighbor_forecasts"), shape, progress=progress),
        bank_slots=fields.array(state, "bank_slots", np.int64, [bank.n_steps], low=0, high=normalizer.slots - 1),
        features=features,
        time_of_day_weight=fields.number(state, "time_of_day_weight", 0),
        features_in_distance=fields.flag(state, "features_in_distance"),
        lookback=lookback,
        horizon=horizon,
        n_features=n_features,
        experts=_load_experts(state),
        known_levels=KnownLevels.from_state(state.part("known_levels"), n),
    )
    _check_compared_features(state, fitted)
    _check_trees(state, fitted)
    return fitted


def _load_bank(state: State, metadata: TrainingMetadata) -> Bank:
    """Return the saved bank, whose windows must be those of the training series."""
    part = state.needed_part("bank")
    kind = fields.text(part, "kind")
    if kind not in BANKS:
        raise DataError(
            f"{state.source} was saved with a bank of kind {kind[:40]!r}, which has no reader here: put one into "
            "subcast.subset.saving.BANKS before loading"
        )
    with fields.restoring(part):
        bank: Bank = BANKS[kind](part)
    expected = fields.text(state, "bank_fingerprint")
    if bank.fingerprint() != expected:
        raise DataError(
            f"{state.source} was saved with another bank (fingerprint {fields.short(expected)}, found "
            f"{bank.fingerprint()!r}): "
            "copy the folder again, or give the bank it was saved with"
        )
    length = metadata.lookback + metadata.horizon
    sizes, needed = (bank.lookback, bank.n), (metadata.lookback, len(metadata.variables))
    if sizes != needed or not len(bank) or int(bank.starts.max()) + length > bank.n_steps:
        raise state.damaged(f"its bank of (lookback, variables) = {sizes} must fit {needed}, with room for the horizon")
    if metadata.times is not None and len(metadata.times) != bank.n_steps:
        raise state.damaged(f"its bank has {bank.n_steps} steps, and there are {len(metadata.times)} times")
    return bank


def _load_experts(state: State) -> dict[str, Expert]:
    names = fields.texts(state, "experts")
    unknown = [name for name in names if name not in EXPERTS]
    if unknown:
        raise DataError(
            f"{state.source} was saved with the expert {unknown[0][:40]!r}, which is not in EXPERTS: put its class "
            "into subcast.subset.experts.EXPERTS before loading"
        )
    if names[:1] != OWN_EXPERTS[:1]:
        raise fields.wrong(state, "experts", f"a list that begins with {OWN_EXPERTS[0]!r}", list(names))
    experts = {}
    for name in names:
        part = state.needed_part(f"expert_{name}")
        with fields.restoring(part):
            experts[name] = EXPERTS[name].from_state(part)
    return experts


def _check_compared_features(state: State, fitted: Fitted) -> None:
    """Raise unless the bank stores exactly the features by which windows are compared besides readings."""
    if isinstance(fitted.bank, WindowBank | ShardedBank):
        shared = fitted.shared_at(None if fitted.features is None else fitted.features[:1], fitted.bank_slots[:1])
        expected = (False, *[True] * (0 if shared is None else shared.shape[-1]))
        if fitted.bank.layout.shared != expected:
            raise state.damaged(f"its bank has {fitted.bank.f} features, and {len(expected)} are compared")


def _check_trees(state: State, fitted: Fitted) -> None:
    """Raise unless the experts that learn take as many inputs as this wrapper computes."""
    boosted = fitted.experts.get(Boosted.name)
    if isinstance(boosted, Boosted):
        expected = features_of(fitted).count
        if any(trees.n_features != expected for trees in (*(boosted.models or ()), *(boosted.bounds or ()))):
            raise state.damaged(f"its boosted trees must take {expected} features")
    each = fitted.experts.get(OwnTrees.name)
    if isinstance(each, OwnTrees) and each.models is not None:
        expected, groups = features_of(fitted).count, len(each.models.baselines)
        if (each.models.trees.n_features, groups) != (expected, fitted.n):
            raise state.damaged(f"its trees of each variable must take {expected} features, for {fitted.n} variables")
    own = fitted.experts.get(OwnLinear.name)
    if isinstance(own, OwnLinear) and own.coefficients is not None:
        shape = (fitted.n, len(learned_steps(fitted)), n_inputs(fitted))
        if own.coefficients.shape != shape:
            raise state.damaged(f"its coefficients must have the shape {shape}, got {own.coefficients.shape}")


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
    sizes: dict[str, Any] = {
        "lookback": metadata.lookback,
        "horizon": metadata.horizon,
        "variables": metadata.variables,
        "n_features": n_features,
    }
    if user_model is not None:
        return adapt(user_model, **sizes)
    kind, description = fields.text(state, "kind"), fields.short(fields.text(state, "repr"))
    if kind == _NOT_STORED:
        raise ModelNotStoredError(
            f"{source} was saved without its model ({description}), which cannot be stored "
            "safely: pass it as subcast.load(folder, model=...)",
            description,
        )
    if kind not in MODELS:
        raise DataError(
            f"{source} holds a model of kind {kind[:40]!r}, which has no reader here: pass the model as "
            "subcast.load(folder, model=...), or put a reader into subcast.subset.saving.MODELS"
        )
    with fields.restoring(state):
        return adapt(MODELS[kind](state, metadata, source), **sizes)


def _read_forecaster(state: State, metadata: TrainingMetadata, source: str) -> Any:
    return forecaster_from_state(state, source)


def _read_onnx(state: State, metadata: TrainingMetadata, source: str) -> Any:
    if "model.onnx" not in state.blobs:
        raise state.damaged("it has no model.onnx")
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


def _read_sharded(state: State) -> ShardedBank:
    """Return a bank in files, in the units that it was fitted in."""
    part = state.part("normalizer")
    return ShardedBank.from_state(state, None if part is None else Normalizer.from_state(part))


BANKS: dict[str, Callable[[State], Any]] = {"windows": WindowBank.from_state, "sharded": _read_sharded}
"""Readers of stored banks by the kind that their state names."""
