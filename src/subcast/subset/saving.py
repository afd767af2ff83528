"""A fitted wrapper in a folder: written in one step, opened by memory map, never unpickled."""

from __future__ import annotations

import os
import re
import shutil
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from subcast import __version__
from subcast.adapters import AdaptedForecaster, adapt, from_onnx
from subcast.errors import DataError, DataNotFoundError, InputError
from subcast.forecasters.checkpoint import is_saved_forecaster, load_forecaster
from subcast.retrieval import WindowBank
from subcast.retrieval.moments import LagMoments
from subcast.storage import folders
from subcast.subset.checks import Frame, check_probe
from subcast.subset.conformal import Calibration
from subcast.subset.engine import Engine
from subcast.subset.forecaster import SubsetForecaster
from subcast.subset.neighbor_forecasts import NeighborForecasts
from subcast.subset.normalizer import Normalizer
from subcast.subset.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Mapping

KIND, FORMAT = "wrapper", 1
MODEL_NAME = r"model-[0-9a-f]{16}(\.onnx)?"


def load(folder: str | Path, model: Any = None) -> SubsetForecaster:
    """Read a wrapper that `SubsetForecaster.save` wrote; its arrays are mapped, and shared between processes.

    Parameters
    ----------
    folder
        where it was saved
    model
        the model, when it is neither one of subcast's nor an ONNX file; it is checked against forecasts stored with
        the wrapper

    Returns
    -------
    SubsetForecaster
    """
    return load_wrapper(Path(folder), model)


def save_wrapper(robust: SubsetForecaster, folder: Path) -> None:
    """Write a fitted wrapper: the model first, under a name of its own, then the page that names everything."""
    engine, frame = robust._fitted()
    folders.check_folder(folder, KIND, MODEL_NAME)
    fresh = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    if robust.settings.weighting == "forecast":  # so that no process that loads it computes them again
        engine.seen.fill(engine)
    model = _save_model(engine.model, folder)
    bank_facts, bank_arrays = engine.bank.to_store()
    assert robust._probe is not None
    arrays: dict[str, NDArray[Any]] = {
        **{f"bank_{name}": array for name, array in bank_arrays.items()},
        **({} if engine.futures is engine.bank.data else {"futures": engine.futures}),
        "center": engine.space.center,
        "spread": engine.space.spread,
        "bank_slots": engine.bank_slots,
        "features": engine.seen.features,
        "probe_inputs": robust._probe[0],
        "probe_forecasts": robust._probe[1],
        **engine.seen.arrays(),
    }
    if frame.times is not None:
        arrays["times"] = frame.times.astype("datetime64[ns]").view(np.int64)
    if engine.moments is not None:
        arrays |= {f"moments_{name}": array for name, array in engine.moments.arrays().items()}
    if robust._calibration is not None:
        arrays |= robust._calibration.arrays()
    facts = {
        "wrapper_format": FORMAT,
        "subcast": __version__,
        "model": model,
        "settings": robust.settings.to_dict(),
        "metric": robust.metric,
        "levels": list(robust.levels),
        "seed": robust.seed,
        "given": list(robust._given),
        "begin": robust._begin.to_dict(),
        "report": robust.report,
        "variables": list(frame.variables),
        "time_features": list(frame.time_features),
        "freq": frame.freq,
        "unit": frame.unit,
        "name": frame.name,
        "horizon": engine.horizon,
        "n_features": engine.n_features,
        "time_of_day_weight": engine.time_of_day_weight,
        "bank": bank_facts,
    }
    try:
        folders.save_arrays(folder, KIND, facts, arrays, MODEL_NAME)
    except BaseException:
        if fresh:
            shutil.rmtree(folder, ignore_errors=True)
        else:
            _remove(folder / model["path"]) if model["path"] else None
        raise
    if model["kind"] == "onnx":  # its file may have been one of those that go now
        engine.model = replace(engine.model, path=folder / model["path"])
    for path in folder.iterdir():  # the models of earlier wrappers
        if re.fullmatch(MODEL_NAME, path.name) and path.name != model["path"]:
            _remove(path)


def load_wrapper(folder: Path, model: Any = None) -> SubsetForecaster:
    """Read a wrapper, or say in one sentence why not."""
    if not (folder / f"{KIND}.json").is_file():
        if is_saved_forecaster(folder):
            raise DataError(
                f"{folder} holds a trained model, not a wrapper: read it with TrainedForecaster.load, "
                "or wrap it with `subcast fit`"
            )
        there = "is not there" if not folder.exists() else f"has no {KIND}.json"
        raise DataNotFoundError(f"{folder} {there}: give a folder that `subcast fit` or `save` wrote")
    facts, arrays = folders.open_arrays(folder, KIND, False)
    version = facts.get("wrapper_format")
    if not isinstance(version, int) or version > FORMAT:
        raise DataError(
            f"{folder} is of wrapper format {version}, and this version of subcast reads up to {FORMAT}: "
            "install a newer subcast"
        )
    try:
        return _restore(folder, facts, arrays, model)
    except (KeyError, TypeError, AttributeError) as error:
        raise DataError(f"{folder} does not hold all of a wrapper ({error}): copy it again") from None


def _restore(
    folder: Path, facts: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], model: Any
) -> SubsetForecaster:
    bank_arrays = {name.removeprefix("bank_"): arrays[name] for name in ("bank_rows", "bank_starts") if name in arrays}
    bank = WindowBank.from_store(facts["bank"], bank_arrays)
    times = arrays["times"].view("datetime64[ns]") if "times" in arrays else None
    frame = Frame(
        tuple(facts["variables"]), tuple(facts["time_features"]), facts["freq"], facts["unit"], facts["name"], times
    )
    runs = _load_model(folder, facts, bank, frame, model)
    features = arrays["features"] if frame.time_features else None
    engine = Engine(
        runs,
        Normalizer(arrays["center"], arrays["spread"]),
        bank,
        _moments(arrays),
        NeighborForecasts(features, arrays.get("seen"), arrays.get("seen_done"), progress=True),
        futures=arrays.get("futures"),
        lookback=bank.lookback,
        horizon=facts["horizon"],
        n_features=facts["n_features"],
        bank_slots=arrays["bank_slots"],
        time_of_day_weight=facts["time_of_day_weight"],
    )
    robust = SubsetForecaster(
        runs,
        metric=facts["metric"],
        levels=facts["levels"],
        seed=facts["seed"],
        settings=Settings.from_dict(facts["settings"]),
    )
    robust.report = dict(facts["report"])
    robust._begin, robust._given = Settings.from_dict(facts["begin"]), tuple(facts["given"])
    robust._engine, robust._frame = engine, frame
    robust._probe = (arrays["probe_inputs"], arrays["probe_forecasts"])
    if "interval_shares" in arrays:
        robust._calibration = Calibration(
            *(np.asarray(arrays[f"interval_{name}"]) for name in ("shares", "present", "absent", "gaps"))
        )
    check_probe(engine, *robust._probe)
    return robust


def _moments(arrays: Mapping[str, NDArray[Any]]) -> LagMoments | None:
    if "moments_whole" not in arrays:
        return None
    return LagMoments(*(arrays[f"moments_{name}"] for name in ("whole", "loadings", "factors", "own")))


def _save_model(model: Any, folder: Path) -> dict[str, Any]:
    """Keep the model with the wrapper where that is safe; tell what it is."""
    token = os.urandom(8).hex()
    if hasattr(model, "save") and hasattr(model, "module"):  # one of subcast's own
        try:
            model.save(folder / f"model-{token}")
        except InputError:  # a module of the user's: only its weights would be known, not its code
            _remove(folder / f"model-{token}")
            return {"kind": "other", "path": None, "was": repr(model)}
        return {"kind": "subcast", "path": f"model-{token}", "was": repr(model)}
    if isinstance(model, AdaptedForecaster) and model.path is not None:
        shutil.copyfile(model.path, folder / f"model-{token}.onnx")
        try:
            from_onnx(folder / f"model-{token}.onnx", lookback=model.lookback, horizon=model.horizon)
        except Exception:
            _remove(folder / f"model-{token}.onnx")
            raise InputError(
                f"the model {model.path.name} cannot be kept alone, it has its weights in other files: export it as "
                "one file (external_data=False) and fit again"
            ) from None
        return {"kind": "onnx", "path": f"model-{token}.onnx", "was": repr(model)}
    return {"kind": "other", "path": None, "was": repr(model)}


def _load_model(folder: Path, facts: Mapping[str, Any], bank: WindowBank, frame: Frame, model: Any) -> Any:
    sizes: dict[str, Any] = {"lookback": bank.lookback, "horizon": facts["horizon"], "variables": frame.variables}
    if model is not None:
        return adapt(model, **sizes, n_features=facts["n_features"])
    kind, name = facts["model"]["kind"], facts["model"]["path"]
    if kind == "other":
        raise InputError(
            f"{folder} was saved without its model ({facts['model']['was']}), which is not one that can be stored "
            "safely: give it, subcast.load(folder, model=...)"
        )
    if not re.fullmatch(MODEL_NAME, str(name)):
        raise DataError(f"{folder} names {name!r} as its model: it is damaged; copy the folder again")
    if kind == "onnx":
        if not (folder / name).is_file():
            raise DataNotFoundError(f"{folder} has no {name}: it is not all of a saved wrapper; copy it again")
        return from_onnx(folder / name, **sizes)
    return load_forecaster(folder / name)


def _remove(path: Path) -> None:
    with suppress(OSError):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
