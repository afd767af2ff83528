"""Going on with an interrupted training: what must be equal, and the state it left."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import torch
from torch import nn

from subcast.errors import DataError, InputError
from subcast.forecasters.checkpoint import is_saved_forecaster
from subcast.storage.files import whole_file
from subcast.training.config import TrainConfig
from subcast.training.data import checksum, fingerprint
from subcast.windows import Windows

STATE_FILE = "state.ckpt"
_NOT_PART_OF_THE_RESULT = ("progress",)


def describe_run(
    name: str, module: nn.Module, source: str | None, train: Windows, val: Windows, config: TrainConfig
) -> dict[str, Any]:
    """What must be equal for an interrupted training to go on."""
    graph = getattr(module, "graph", None)
    return {
        "model": name,
        "settings": json.loads(json.dumps(getattr(module, "settings", {}))),
        "graph": source,
        "graph weights": checksum(graph if isinstance(graph, torch.Tensor) else None),
        "train windows": fingerprint(train),
        "val windows": fingerprint(val),
        "time features": [checksum(windows.series.features) for windows in (train, val)],
        "processor threads": torch.get_num_threads(),
        **{key: value for key, value in config.to_dict().items() if key not in _NOT_PART_OF_THE_RESULT},
    }


def prepare_folder(folder: Path, run: dict[str, Any]) -> Path:
    """Make the folder and write down the run, or say why the training in it cannot go on."""
    if is_saved_forecaster(folder):
        raise InputError(f"{folder} holds a finished model: give another folder, or remove that one")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "run.json"
    if (folder / STATE_FILE).is_file():
        try:
            before = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            before = None
        if not isinstance(before, dict):
            raise DataError(f"{folder} holds a state without its {path.name}: remove the folder to start anew")
        for key in run:  # what an earlier version did not write down cannot be compared
            if key in before and before[key] != run[key]:
                raise InputError(
                    f"{folder} holds an interrupted training with another {key} "
                    f"({before[key]!r}, now {run[key]!r}): start it as before to go on, or give another folder"
                )
    with whole_file(path) as temporary:
        temporary.write_text(json.dumps(run, indent=1), encoding="utf-8")
    return folder


def read_state(path: Path) -> dict[str, Any]:
    """The state of an interrupted training; tensors and plain values only, nothing in it is executed."""
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
        history, weights = state["progress"]["history"], state["progress"]["best_weights"]
    except (OSError, EOFError, RuntimeError, ValueError, KeyError, TypeError, pickle.UnpicklingError):
        history = weights = None
    if not history or not weights:
        raise DataError(f"{path} is cut short or is not the state of a training: remove it to start anew")
    return dict(state)
