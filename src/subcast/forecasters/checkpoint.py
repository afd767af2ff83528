"""Checkpoints: a folder with the weights as safetensors and everything else as JSON; nothing is ever unpickled."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from subcast.errors import DataError, DataNotFoundError, InputError
from subcast.scaling import Scaler
from subcast.storage.files import whole_file

if TYPE_CHECKING:
    from subcast.forecasters.trained import TrainedForecaster

FORMAT, FORMAT_VERSION = "subcast forecaster", 2
SETTINGS_FILE = "forecaster.json"
_WEIGHTS_OF_FORMAT_1 = "weights.safetensors"
_WEIGHTS_NAME = re.compile(r"weights(-[0-9a-f]{8})?\.safetensors")
_NEEDED = ("model", "settings", "variables", "scaler", "means", "lookback", "horizon", "n_features", "weights_sha256")
_KINDS: dict[str, type] = {
    "model": str,
    "settings": dict,
    "variables": list,
    "scaler": dict,
    "means": list,
    "lookback": int,
    "horizon": int,
    "n_features": int,
    "weights_sha256": str,
    "time_features": list,
    "training": dict,
    "history": list,
    "versions": dict,
}


def save_forecaster(forecaster: TrainedForecaster, folder: str | Path) -> None:
    """Write a trained model to a folder: the weights first, under a name of their own, then the JSON that names them.

    Over another model that model is whole until the new one is: its weights go last.
    """
    from safetensors.torch import save

    from subcast.forecasters import FORECASTERS

    if type(forecaster.module) is not FORECASTERS.get(forecaster.model):
        raise InputError(
            f"only the package's own models ({', '.join(FORECASTERS)}) can be saved to a folder, got {forecaster.model}"
        )
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    weights = {name: value.detach().cpu().contiguous() for name, value in forecaster.module.state_dict().items()}
    raw = save(weights)
    digest = hashlib.sha256(raw).hexdigest()
    name = f"weights-{digest[:8]}.safetensors"
    record = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "model": forecaster.model,
        "settings": forecaster.module.settings,
        "lookback": forecaster.lookback,
        "horizon": forecaster.horizon,
        "n_features": forecaster.n_features,
        "time_features": list(forecaster.time_features),
        "graph_source": forecaster.graph_source,
        "training": forecaster.training,
        "versions": forecaster.versions,
        "weights_file": name,
        "weights_sha256": digest,
        "scaler": forecaster.scaler.to_dict(),
        "means": forecaster.means.tolist(),
        "variables": list(forecaster.variables),
        "history": list(forecaster.history),
    }
    text = _json(record)
    with whole_file(folder / name) as temporary:
        temporary.write_bytes(raw)
    with whole_file(folder / SETTINGS_FILE) as temporary:
        temporary.write_text(text, encoding="utf-8")
    for path in folder.iterdir():
        if path.name != name and _WEIGHTS_NAME.fullmatch(path.name):
            path.unlink(missing_ok=True)


def load_forecaster(folder: str | Path) -> TrainedForecaster:
    """Read a trained model from a folder, or say in one sentence why not."""
    import torch
    from safetensors import SafetensorError
    from safetensors.torch import load

    from subcast.forecasters import FORECASTERS
    from subcast.forecasters.trained import TrainedForecaster

    folder = Path(folder)
    record = _read_record(folder)
    path = folder / record.get("weights_file", _WEIGHTS_OF_FORMAT_1)
    if not path.is_file():
        raise DataNotFoundError(f"{folder} has no {path.name}: it is not all of a saved forecaster; copy it again")
    raw = path.read_bytes()
    if hashlib.sha256(raw).hexdigest() != record["weights_sha256"]:
        raise DataError(f"{path} is cut short or is not the file that {SETTINGS_FILE} speaks of: copy the folder again")
    if record["model"] not in FORECASTERS:
        raise DataError(
            f"{folder} holds a {record['model']!r}, and this version of subcast knows {', '.join(FORECASTERS)}: "
            "use the version that wrote it"
        )
    scaler, means = _check_sizes(folder / SETTINGS_FILE, record)
    settings = dict(record["settings"])
    given = settings.get("graph") == "given"
    with torch.random.fork_rng(devices=[]):
        try:
            module = FORECASTERS[record["model"]](**{**settings, **({"graph": "identity"} if given else {})})
            module.load_state_dict(load(raw))
        except (TypeError, ValueError, RuntimeError, SafetensorError) as error:
            raise DataError(f"the weights in {folder} do not fit its settings ({_last_line(error)})") from None
    if given:
        module.settings["graph"] = "given"
    return TrainedForecaster(
        module=module,
        model=record["model"],
        scaler=scaler,
        means=means,
        variables=tuple(record["variables"]),
        lookback=record["lookback"],
        horizon=record["horizon"],
        n_features=record["n_features"],
        time_features=tuple(record.get("time_features", ())),
        graph_source=record.get("graph_source"),
        training=record.get("training", {}),
        history=tuple(record.get("history", ())),
        versions=record.get("versions", {}),
    )


def is_saved_forecaster(folder: str | Path) -> bool:
    """Whether a folder holds a finished model."""
    return (Path(folder) / SETTINGS_FILE).is_file()


def _read_record(folder: Path) -> dict[str, Any]:
    path = folder / SETTINGS_FILE
    if not path.is_file():
        there = "does not exist" if not folder.exists() else f"has no {SETTINGS_FILE}"
        raise DataNotFoundError(f"{folder} {there}: give a folder that `subcast train` or `save` wrote")
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise DataError(f"{path} is cut short or is not JSON: copy the folder again") from None
    if not isinstance(record, Mapping) or record.get("format") != FORMAT:
        raise DataError(f"{path} was not written by subcast: give a folder that `subcast train` or `save` wrote")
    version = record.get("format_version")
    if not isinstance(version, int) or version > FORMAT_VERSION:
        raise DataError(
            f"{folder} is of format {version}, and this version of subcast reads up to {FORMAT_VERSION}: "
            "install a newer subcast"
        )
    missing = [name for name in _NEEDED if name not in record]
    if missing:
        raise DataError(f"{path} does not tell {', '.join(missing)}: it is damaged; copy the folder again")
    name = record.get("weights_file", _WEIGHTS_OF_FORMAT_1)
    if not isinstance(name, str) or not _WEIGHTS_NAME.fullmatch(name):
        raise DataError(f"{path} names {name!r} as its weights: it is damaged; copy the folder again")
    for name, kind in _KINDS.items():
        value = record.get(name, kind())
        if not isinstance(value, kind) or isinstance(value, bool):
            raise DataError(f"{path} has {_short(value)} as its {name}: it is damaged; copy the folder again")
    return dict(record)


def _check_sizes(path: Path, record: dict[str, Any]) -> tuple[Scaler, NDArray[np.float64]]:
    """The scaler and the means, when all that the JSON tells is of the sizes in its settings."""
    settings, variables = record["settings"], record["variables"]
    try:
        scaler = Scaler.from_dict(record["scaler"])
        means = np.asarray(record["means"], dtype=np.float64)
    except (KeyError, TypeError, ValueError):
        raise DataError(f"{path} has no numbers as its scaler or means: it is damaged; copy the folder again") from None
    n = settings.get("n_variables")
    agree = {
        "variables": len(variables) == n and all(isinstance(name, str) for name in variables),
        "means": means.shape == (n,),
        "scaler": scaler.mean.shape == scaler.scale.shape and scaler.mean.shape in ((1,), (n,)),
        **{size: record[size] == settings.get(size) for size in ("lookback", "horizon", "n_features")},
    }
    for name, fits in agree.items():
        if not fits:
            raise DataError(f"{path} is damaged, its {name} and its settings do not fit: copy the folder again")
    return scaler, means


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:40]} ..."


def _json(record: dict[str, Any]) -> str:
    """JSON with one field a line, so that long lists do not fill pages."""
    lines = (f"{json.dumps(name)}: {json.dumps(value)}" for name, value in record.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _last_line(error: Exception) -> str:
    """The detail of an error: torch begins with what it was about."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__
