"""`subcast fit`: from a table of readings and a model to a wrapper in a folder."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape

from subcast.commands.datasets import open_series
from subcast.data_protocol import PROTOCOLS
from subcast.errors import InputError
from subcast.forecasters.checkpoint import is_saved_forecaster
from subcast.names import plural
from subcast.series import Series
from subcast.storage.folders import check_folder
from subcast.subset import Settings, SubsetForecaster
from subcast.subset.saving import KIND
from subcast.windows import Split

if TYPE_CHECKING:
    from subcast.forecasters.trained import TrainedForecaster

_WORDS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


@dataclass(frozen=True)
class Training:
    """How a model given by name is trained; what is None comes from the preset, or is 12 steps.

    Parameters
    ----------
    folder
        where the training goes, and goes on after an interruption; beside the wrapper by default
    lookback, horizon
        steps seen and forecast; a finished model brings its own
    epochs, threads, device
        as in `TrainConfig`
    """

    folder: Path | None = None
    lookback: int | None = None
    horizon: int | None = None
    epochs: int | None = None
    threads: int | None = None
    device: str = "auto"

    def folder_for(self, output: Path) -> Path:
        """The folder of the training of what will be wrapped in `output`.

        >>> Training().folder_for(Path("models/plant")).as_posix()
        'models/plant-training'
        """
        return self.folder if self.folder is not None else output.with_name(f"{output.name}-training")


def run_fit(
    data: str,
    model: str,
    output: Path,
    *,
    training: Training | None = None,
    preset: str | None = None,
    paper: bool = False,
    seed: int = 0,
    progress: bool = True,
    **options: Any,
) -> SubsetForecaster:
    """Wrap a model (trained first, if it is given by name) and leave the wrapper in a folder.

    Parameters
    ----------
    data
        a dataset by name, or a file of readings
    model
        one of `FORECASTERS` to train, a folder with a trained one, or a path ending in .onnx
    output
        the folder of the wrapper
    training
        how to train
    preset
        "default", or "paper" for the published split and training; that of the model by default
    paper
        whether to wrap by the published method
    seed, progress
        of training, tuning and calibration
    options
        of `SubsetForecaster`: `metric`, `levels`, `seconds`, and any setting by hand
    """
    how = training or Training()
    if preset is not None and preset not in PROTOCOLS:
        raise InputError(f"preset must be one of {', '.join(PROTOCOLS)}, got {preset!r}")
    check_folder(output, KIND)
    kind = SubsetForecaster.paper if paper else SubsetForecaster
    robust = kind(None, seed=seed, progress=progress, **options)  # a mistake is told now, not after the training
    series = open_series(data)
    if is_saved_forecaster(model):
        found, split, protocol = _open_trained(Path(model), series, how, preset)
    elif model.lower().endswith(".onnx"):
        found, split, protocol = _open_onnx(Path(model), series, how, preset or "default")
    else:
        protocol = preset or "default"
        found, split = _train(data, series, model, output, how, protocol, seed, progress)
    robust.model = found
    robust.fit(split.train, split.val)
    robust.save(output)
    return robust


def read_settings(given: Sequence[str]) -> dict[str, Any]:
    """Read settings as a user types them.

    >>> read_settings(["neighbors=20", "correction=0", "pool=yes", "weighting=rank", "shares=[0.2, 0.6]"])
    {'neighbors': 20, 'correction': 0.0, 'pool': True, 'weighting': 'rank', 'shares': (0.2, 0.6)}
    """
    return dict(_setting(text) for text in given)


def fit_record(robust: SubsetForecaster, output: Path) -> dict[str, Any]:
    """What was wrapped and what was chosen, as plain values."""
    return {
        "folder": str(output),
        "model": repr(robust.model),
        "variables": len(robust.variables),
        "lookback": robust.lookback,
        "horizon": robust.horizon,
        "metric": robust.metric,
        "levels": list(robust.levels),
        "settings": robust.settings_.to_dict(),
        "report": robust.report_,
    }


def show_fit(robust: SubsetForecaster, data: str, output: Path) -> None:
    """Print what was chosen, and what to do next."""
    console = Console(highlight=False, soft_wrap=True)
    console.print(escape(repr(robust)))
    if "tried" in robust.report_:
        tried = plural(len(robust.report_["tried"]), "choice")
        console.print(
            f"  tuned for {robust.metric.upper()}: {tried} tried on {plural(robust.report_['windows'], 'window')} "
            f"of validation in {robust.report_['seconds']:g} s"
        )
    folder = shlex.quote(str(output))
    console.print(f"written to {escape(str(output))}\n\n[bold]next[/]")
    console.print(escape(f"  subcast forecast {folder} recent.csv -o forecast.csv --plot forecast.png"))
    console.print(escape(f"  subcast evaluate {folder} {shlex.quote(data)} --present 15% --draws 20"))


# Where the model comes from


def _open_trained(folder: Path, series: Series, how: Training, preset: str | None) -> tuple[Any, Split, str]:
    from subcast.forecasters.trained import TrainedForecaster

    model = TrainedForecaster.load(folder)
    for option, given in (("lookback", how.lookback), ("horizon", how.horizon)):
        own = getattr(model, option)
        if given is not None and given != own:
            raise InputError(f"--{option} is {given}, and the model in {folder} has {own}: leave --{option} out")
    protocol = preset or str(model.training.get("protocol", "default"))
    protocol = protocol if protocol in PROTOCOLS else "default"
    fitting = series.with_features(*model.time_features)
    return model, fitting.split(model.lookback, model.horizon, protocol=protocol), protocol


def _open_onnx(path: Path, series: Series, how: Training, protocol: str) -> tuple[Any, Split, str]:
    from subcast.adapters import from_onnx

    model = from_onnx(path, lookback=how.lookback, horizon=how.horizon, variables=series.variables)
    return model, series.split(model.lookback, model.horizon, protocol=protocol), protocol


def _train(
    data: str, series: Series, name: str, output: Path, how: Training, protocol: str, seed: int, progress: bool
) -> tuple[Any, Split]:
    from subcast.commands.train import run_training
    from subcast.forecasters import FORECASTERS
    from subcast.forecasters.trained import TrainedForecaster

    if name not in FORECASTERS:
        raise InputError(
            f"--model must be one of {', '.join(FORECASTERS)} to train, a folder that `subcast train` wrote, or a path "
            f"ending in .onnx, got {name!r}"
        )
    lookback, horizon = how.lookback or 12, how.horizon or 12
    split = series.split(lookback, horizon, protocol=protocol)
    folder = how.folder_for(output)
    if is_saved_forecaster(folder):
        model = TrainedForecaster.load(folder)
        wanted = {"model": name, "lookback": lookback, "horizon": horizon, "protocol": protocol, "seed": seed}
        if how.epochs is not None:
            wanted["epochs"] = how.epochs
        _check_finished(folder, model, split, wanted)
        Console(highlight=False).print(f"the training in {folder} is finished: taking its model")
        return model, split
    run_training(
        data,
        name,
        folder,
        preset=protocol,
        lookback=lookback,
        horizon=horizon,
        epochs=how.epochs,
        seed=seed,
        threads=how.threads,
        device=how.device,
        progress=progress,
    )
    return TrainedForecaster.load(folder), split


def _check_finished(folder: Path, model: TrainedForecaster, split: Split, wanted: Mapping[str, Any]) -> None:
    """Refuse a finished training that is not the one asked for."""
    from subcast.training.data import fingerprint

    try:
        run = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        run = {}
    there = {
        **model.training.get("config", {}),
        "model": model.model,
        "lookback": model.lookback,
        "horizon": model.horizon,
        "protocol": model.training.get("protocol"),
    }
    differ = [key for key in wanted if there.get(key) != wanted[key]]
    other = f"another {differ[0]} ({there.get(differ[0])}, now {wanted[differ[0]]})" if differ else None
    if other is None and run.get("train windows") != fingerprint(split.train):
        other = "other readings"
    if other is not None:
        raise InputError(
            f"{folder} holds a finished training with {other}: remove that folder, name another with --training, or "
            f"wrap its model as it is with --model {folder}"
        )


# Settings by hand


def _setting(text: str) -> tuple[str, Any]:
    name, equals, typed = text.partition("=")
    known = {field.name: getattr(Settings(), field.name) for field in fields(Settings)}
    if not equals or name not in known:
        raise InputError(f"--set must be name=value with one of {', '.join(known)}, got {text!r}")
    usual = known[name]
    try:
        if isinstance(usual, bool):
            return name, _WORDS[typed.lower()]
        if isinstance(usual, tuple):
            return name, _as_tuple(json.loads(typed))
        return name, type(usual)(typed)
    except (ValueError, KeyError):
        wanted = {bool: "yes or no", tuple: "a list such as [0.2, 0.6]", int: "a whole number"}
        raise InputError(f"--set {name} must be {wanted.get(type(usual), 'a number')}, got {typed!r}") from None


def _as_tuple(value: Any) -> Any:
    return tuple(_as_tuple(part) for part in value) if isinstance(value, list) else value
