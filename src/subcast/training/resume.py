"""Resuming an interrupted training: the description of a run, and its saved state."""

from __future__ import annotations

import json
import pickle
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch
from torch import nn

from subcast.errors import DataError, InputError, WriteError
from subcast.forecasters.base import ForecastModule
from subcast.forecasters.checkpoint import is_saved_forecaster
from subcast.storage.files import whole_file, write_error
from subcast.training.config import TrainConfig
from subcast.training.data import checksum, fingerprint
from subcast.windows import Windows

STATE_FILE = "state.ckpt"
_NO_EFFECT_ON_RESULT = ("progress",)
# What torch.load raises for a file that is not a complete state.
_DAMAGED = (OSError, EOFError, RuntimeError, ValueError, LookupError, TypeError, AttributeError, pickle.UnpicklingError)


def describe_run(
    name: str, module: nn.Module, source: str | None, train: Windows, val: Windows, config: TrainConfig
) -> dict[str, Any]:
    """Return what must be equal for an interrupted training to be resumed."""
    settings = module.settings if isinstance(module, ForecastModule) else {}
    return {
        "model": name,
        "settings": json.loads(json.dumps(settings)),
        "graph": source,
        "graph weights": checksum(dict(module.named_buffers()).get("graph")),
        "train windows": fingerprint(train),
        "val windows": fingerprint(val),
        "time features": [checksum(windows.series.features) for windows in (train, val)],
        "processor threads": torch.get_num_threads(),
        **{key: value for key, value in config.to_dict().items() if key not in _NO_EFFECT_ON_RESULT},
    }


def prepare_folder(folder: Path, run: dict[str, Any]) -> Path:
    """Create the folder and write the run to it; raise an error if the training in it cannot be resumed."""
    if is_saved_forecaster(folder):
        raise InputError(f"{folder} holds a finished model: give another folder, or remove this one")
    is_new = not folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise write_error(folder, error) from error
    path = folder / "run.json"
    if (folder / STATE_FILE).is_file():
        try:
            before = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            before = None
        if not isinstance(before, dict):
            raise DataError(
                f"{folder} holds the state of a training but no {path.name}: remove the folder to start again"
            )
        for key in run:  # an earlier version may have written fewer keys
            if key in before and before[key] != run[key]:
                raise InputError(
                    f"{folder} holds an interrupted training with another {key} "
                    f"({before[key]!r}, now {run[key]!r}): use the same settings to resume it, or give another folder"
                )
    try:
        with whole_file(path) as temporary:
            temporary.write_text(json.dumps(run, indent=1), encoding="utf-8")
    except WriteError:
        if is_new:
            with suppress(OSError):
                folder.rmdir()
        raise
    return folder


def read_state(path: Path) -> dict[str, Any]:
    """Read the state of an interrupted training; it holds tensors and plain values only, and no code is executed."""
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
        history, weights = state["progress"]["history"], state["progress"]["best_weights"]
    except _DAMAGED:
        history = weights = None
    if not history or not weights:
        raise DataError(f"{path} is cut short or is not the state of a training: remove it to start again")
    return dict(state)
