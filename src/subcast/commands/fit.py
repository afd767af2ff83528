"""`subcast fit`: wrap a model for a table of readings and save the wrapper to a folder."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape

from subcast.commands.bank import write_windows
from subcast.commands.datasets import check_preset, open_series
from subcast.data_protocol import PROTOCOLS
from subcast.errors import InputError
from subcast.forecasters.checkpoint import is_saved_forecaster
from subcast.limits import check_limit_names
from subcast.names import plural
from subcast.retrieval import ShardedBank
from subcast.screening import Screener
from subcast.series import Series
from subcast.storage.folders import check_folder
from subcast.subset import Settings, SubsetForecaster
from subcast.subset.saving import KIND
from subcast.windows import Split

if TYPE_CHECKING:
    from subcast.forecasters.trained import TrainedForecaster

_BOOLEANS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


@dataclass(frozen=True)
class TrainingOptions:
    """How a model given by name is trained.

    Parameters
    ----------
    folder
        where the training is written and from where it is resumed; beside the wrapper by default
    lookback, horizon
        number of past steps and of steps to forecast, 12 by default; a trained model has its own
    epochs, threads, device
        as in `TrainConfig`; the preset decides on `epochs` by default
    """

    folder: Path | None = None
    lookback: int | None = None
    horizon: int | None = None
    epochs: int | None = None
    threads: int | None = None
    device: str = "auto"

    def folder_for(self, output: Path) -> Path:
        """Return the folder of the training for a wrapper in `output`.

        >>> TrainingOptions().folder_for(Path("models/plant")).as_posix()
        'models/plant-training'
        """
        return self.folder if self.folder is not None else output.with_name(f"{output.name}-training")


def run_fit(
    data: str,
    model: str,
    output: Path,
    *,
    training: TrainingOptions | None = None,
    preset: str | None = None,
    paper: bool = False,
    seed: int = 0,
    progress: bool = True,
    table: Mapping[str, str | None] | None = None,
    bank_folder: str | None = None,
    cluster: str | None = None,
    **options: Any,
) -> SubsetForecaster:
    """Wrap a model, which is trained first if it is given by name, and save the wrapper to a folder.

    Parameters
    ----------
    data
        name of a dataset, or a file of readings
    model
        a name in `FORECASTERS` to train, a folder with a trained model, or a path ending in .onnx
    output
        the folder of the wrapper
    training
        how to train
    preset
        "default", or "paper" for the published split and training; that of the model by default
    paper
        whether to use the published method
    seed, progress
        random seed and progress bars of training, tuning and calibration
    table
        how the file of readings is read, as in `open_series`
    bank_folder
        folder that `subcast bank write` wrote for the same data; with `cluster` alone the shards are written to a
        folder beside the wrapper
    cluster
        address of a Dask scheduler whose workers search the bank
    options
        other arguments of `SubsetForecaster`: `metric`, `levels`, `effort`, `seconds`, and any setting
    """
    training = training or TrainingOptions()
    if preset is not None:
        check_preset(preset)
    check_folder(output, KIND)
    kind = SubsetForecaster.paper if paper else SubsetForecaster
    robust = kind(None, seed=seed, progress=progress, **options)  # reports bad options before the training
    with _connected(cluster) as client:
        bank = None if bank_folder is None else ShardedBank(bank_folder, client)
        series = open_series(data, **(table or {}))
        forecaster, split = _model_and_split(robust, series, model, output, training, preset, seed, progress)
        robust.model = forecaster
        if cluster is not None and bank is None:
            own = output.with_name(f"{output.name}-bank")
            write_windows(split.train, own)
            bank = ShardedBank(own, client)
        robust.bank = bank
        robust.fit(split.train, split.val)
        robust.save(output)
        Screener.fit(robust, split.train).save(output)
    return robust


@contextmanager
def _connected(cluster: str | None) -> Iterator[Any]:
    """Yield a client of the cluster, None without one."""
    if cluster is None:
        yield None
        return
    from subcast.retrieval.sharding.connecting import cluster_client

    with cluster_client(cluster) as client:
        yield client


def _model_and_split(
    robust: SubsetForecaster,
    series: Series,
    model: str,
    output: Path,
    training: TrainingOptions,
    preset: str | None,
    seed: int,
    progress: bool,
) -> tuple[Any, Split]:
    """Return the model, trained first if it is given by name, and the split of the series that belongs to it."""
    if isinstance(robust.limits, Mapping):
        check_limit_names(robust.limits, series.variables)
    if is_saved_forecaster(model):
        return _open_trained(Path(model), series, training, preset)
    if model.lower().endswith(".onnx"):
        return _open_onnx(Path(model), series, training, preset or "default")
    return _train(series, model, output, training, preset or "default", seed, progress)


def read_settings(texts: Sequence[str]) -> dict[str, Any]:
    """Parse settings as they are given on the command line.

    >>> read_settings(["neighbors=20", "correction=0", "pool=yes", "weighting=rank", "shares=[0.2, 0.6]"])
    {'neighbors': 20, 'correction': 0.0, 'pool': True, 'weighting': 'rank', 'shares': (0.2, 0.6)}
    """
    return dict(_parse_setting(text) for text in texts)


def fit_record(robust: SubsetForecaster, output: Path) -> dict[str, Any]:
    """Return the wrapped model, the options and the tuned settings as plain values."""
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
    """Print the wrapper with its settings, and the commands to run next."""
    console = Console(highlight=False, soft_wrap=True)
    console.print(escape(repr(robust)))
    if "tried" in robust.report_:
        tried = plural(len(robust.report_["tried"]), "choice")
        windows = plural(robust.report_["windows"], "validation window")
        console.print(
            f"  tuned for {robust.metric.upper()}: {tried} of settings tried on {windows} "
            f"in {robust.report_['seconds']:g} s"
        )
    folder = shlex.quote(str(output))
    console.print(f"written to {escape(str(output))}\n\n[bold]next[/]")
    console.print(escape(f"  subcast forecast {folder} recent.csv -o forecast.csv --plot forecast.png"))
    console.print(escape(f"  subcast screen {folder} readings.csv"))
    console.print(escape(f"  subcast evaluate {folder} {shlex.quote(data)} --present 15% --draws 20"))


# Where the model comes from


def _open_trained(folder: Path, series: Series, training: TrainingOptions, preset: str | None) -> tuple[Any, Split]:
    from subcast.forecasters.trained import TrainedForecaster

    model = TrainedForecaster.load(folder)
    for option, given in (("lookback", training.lookback), ("horizon", training.horizon)):
        own = getattr(model, option)
        if given is not None and given != own:
            raise InputError(f"--{option} is {given}, but the model in {folder} has {own}: leave --{option} out")
    protocol = preset or str(model.training.get("protocol", "default"))
    protocol = protocol if protocol in PROTOCOLS else "default"
    return model, series.with_features(*model.time_features).split(model.lookback, model.horizon, protocol=protocol)


def _open_onnx(path: Path, series: Series, training: TrainingOptions, protocol: str) -> tuple[Any, Split]:
    from subcast.adapters import from_onnx

    model = from_onnx(path, lookback=training.lookback, horizon=training.horizon, variables=series.variables)
    return model, series.split(model.lookback, model.horizon, protocol=protocol)


def _train(
    series: Series,
    name: str,
    output: Path,
    training: TrainingOptions,
    protocol: str,
    seed: int,
    progress: bool,
) -> tuple[Any, Split]:
    """Train a model by name, or load it if its training is finished."""
    from subcast.commands.train import run_training
    from subcast.forecasters import FORECASTERS
    from subcast.forecasters.trained import TrainedForecaster

    if name not in FORECASTERS:
        raise InputError(
            f"--model must be one of {', '.join(FORECASTERS)} to train, a folder that `subcast train` wrote, or a path "
            f"ending in .onnx, got {name!r}"
        )
    folder = training.folder_for(output)
    sizes: dict[str, Any] = {"lookback": training.lookback or 12, "horizon": training.horizon or 12}
    split = series.split(**sizes, protocol=protocol)
    if is_saved_forecaster(folder):
        model = TrainedForecaster.load(folder)
        epochs = {} if training.epochs is None else {"epochs": training.epochs}
        _check_finished(folder, model, split, {"model": name, **sizes, "protocol": protocol, "seed": seed, **epochs})
        Console(highlight=False).print(f"the training in {folder} is finished: using its model")
        return model, split
    config: dict[str, Any] = {
        "seed": seed,
        "threads": training.threads,
        "device": training.device,
        "progress": progress,
    }
    run_training(series, name, folder, preset=protocol, **sizes, epochs=training.epochs, **config)
    return TrainedForecaster.load(folder), split


def _check_finished(folder: Path, model: TrainedForecaster, split: Split, expected: Mapping[str, Any]) -> None:
    """Raise an InputError if a finished training differs from the one that is needed."""
    stored = {
        **model.training.get("config", {}),
        "model": model.model,
        "lookback": model.lookback,
        "horizon": model.horizon,
        "protocol": model.training.get("protocol"),
    }
    differing = [key for key in expected if stored.get(key) != expected[key]]
    if differing:
        key = differing[0]
        difference = f"another {key} ({stored.get(key)}, now {expected[key]})"
    elif not _trained_on(folder, split):
        difference = "other readings"
    else:
        return
    raise InputError(
        f"{folder} holds a finished training with {difference}: remove this folder, give another one with --training, "
        f"or wrap its model with --model {folder}"
    )


def _trained_on(folder: Path, split: Split) -> bool:
    """Return whether the training in a folder used these training windows."""
    from subcast.training.data import fingerprint

    try:
        run = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(run, dict) and run.get("train windows") == fingerprint(split.train)


# Settings given with --set


def _parse_setting(text: str) -> tuple[str, Any]:
    name, equals, typed = text.partition("=")
    defaults = {field.name: getattr(Settings(), field.name) for field in fields(Settings)}
    if not equals or name not in defaults:
        raise InputError(f"--set must be name=value with one of {', '.join(defaults)}, got {text!r}")
    default = defaults[name]
    try:
        if isinstance(default, bool):
            return name, _BOOLEANS[typed.lower()]
        if isinstance(default, tuple):
            return name, _as_tuple(json.loads(typed))
        return name, type(default)(typed)
    except (ValueError, KeyError):
        formats = {bool: "yes or no", tuple: "a list such as [0.2, 0.6]", int: "a whole number"}
        raise InputError(f"--set {name} must be {formats.get(type(default), 'a number')}, got {typed!r}") from None


def _as_tuple(value: Any) -> Any:
    return tuple(_as_tuple(item) for item in value) if isinstance(value, list) else value
