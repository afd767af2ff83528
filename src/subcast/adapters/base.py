"""The object that every adapter returns: a forecaster with checked inputs and outputs, for a model of any library."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from subcast.axes import check_axes, check_whole, describe_axes
from subcast.errors import InputError, missing_extra
from subcast.forecasters.protocol import Abilities
from subcast.names import plural, refuse_repeated_names
from subcast.storage.state import State


@runtime_checkable
class StorableRun(Protocol):
    """A model that can be written to a file and read back without running any code of its own."""

    def content(self) -> bytes:
        """Return the content of the file."""
        ...

    def __call__(self, x: NDArray[np.float32]) -> Any:
        """Forecast windows."""
        ...


@dataclass(frozen=True, eq=False, repr=False)
class AdaptedForecaster:
    """A fitted model of any library as a function of windows, in raw units.

    Call it on windows [b, t, n, f]; forecasts are [b, h, n]. Inputs and forecasts are checked, and the model gets
    copies, so that it cannot change the caller's windows.

    Parameters
    ----------
    run
        the model: [b, t, n, f] float32, finite, raw units -> [b, h, n]
    lookback, horizon
        sizes of the axes t and h
    kind
        where the model comes from: "callable", "torch", "scikit-learn", "onnx", "darts" or "neuralforecast"
    variables
        the n names, in the model's order; () when the model does not know them
    n_features
        size of the axis f; None if the model takes any
    path
        the file of an ONNX model, when it was read from one
    batch_size
        number of windows in one call of the model
    n_variables
        size of the axis n; None if the model takes any
    takes_wanted
        whether `run` takes the wanted variables as its second argument and forecasts only those

    Examples
    --------
    >>> import numpy as np
    >>> def last_reading(x):
    ...     return np.repeat(x[:, -1:, :, 0], 2, axis=1)
    >>> last = AdaptedForecaster(last_reading, lookback=3, horizon=2, kind="callable")
    >>> last
    AdaptedForecaster 'callable': 3 + 2 steps of any number of variables
    >>> last(np.arange(6.0).reshape(1, 3, 2))
    array([[[4., 5.],
            [4., 5.]]], dtype=float32)
    """

    run: Callable[..., Any]
    lookback: int
    horizon: int
    kind: str
    variables: tuple[str, ...] = ()
    n_features: int | None = None
    path: Path | None = None
    batch_size: int = 512
    n_variables: int | None = None
    takes_wanted: bool = False

    def __post_init__(self) -> None:
        for argument in ("lookback", "horizon", "batch_size", "n_features", "n_variables"):
            value = getattr(self, argument)
            if value is not None:
                object.__setattr__(self, argument, check_whole(argument, value))
        names = checked_names(self.variables)
        object.__setattr__(self, "variables", names)
        if names:
            if self.n_variables is not None and self.n_variables != len(names):
                raise InputError(
                    f"the {self.kind} model has {plural(self.n_variables, 'variable')}, "
                    f"but variables names {len(names)}: name each variable once, in the model's order"
                )
            object.__setattr__(self, "n_variables", len(names))

    def __repr__(self) -> str:
        """Return a text with kind and sizes."""
        count = "any number of variables" if self.n_variables is None else plural(self.n_variables, "variable")
        return f"AdaptedForecaster {self.kind!r}: {self.lookback} + {self.horizon} steps of {count}"

    @property
    def abilities(self) -> Abilities:
        """What the model can do: only an ONNX file can be stored with a wrapper."""
        return Abilities(storable=isinstance(self.run, StorableRun))

    def forecast_partial(
        self, inputs: NDArray[Any], present: NDArray[np.int64], wanted: NDArray[np.int64] | None = None
    ) -> NDArray[np.float32]:
        """Raise: a model of another library cannot be run with absent variables."""
        raise InputError(f"a {self.kind} model cannot be run with absent variables: fill them first")

    def state(self) -> State:
        """Return the ONNX file and its sizes, to be saved with a wrapper."""
        if not isinstance(self.run, StorableRun):
            raise InputError(f"a {self.kind} model cannot be stored safely: keep it yourself and give it to `load`")
        facts = {"kind": self.kind, "lookback": self.lookback, "horizon": self.horizon}
        return State(facts, blobs={"model.onnx": self.run.content()})

    def __call__(self, inputs: NDArray[Any], wanted: NDArray[np.int64] | None = None) -> NDArray[np.float32]:
        """Forecast windows [b, t, n, f] (or [b, t, n] without time features): [b, h, n] or, of `wanted`, [b, h, s]."""
        windows = np.asarray(inputs)
        if windows.dtype.kind not in "fiub":
            raise InputError(f"inputs must be numbers, got values of type {windows.dtype}")
        if windows.ndim == 3 and self.n_features in (None, 1):
            windows = windows[..., None]  # [b, t, n, 1]
        known = {"t": self.lookback, "n": self.n_variables, "f": self.n_features}
        check_axes("inputs", windows, "btnf", **{axis: size for axis, size in known.items() if size is not None})
        count = windows.shape[2] if wanted is None else len(wanted)
        forecasts = np.empty((len(windows), self.horizon, count), dtype=np.float32)
        for first in range(0, len(windows), self.batch_size):
            batch = np.array(windows[first : first + self.batch_size], dtype=np.float32, order="C")
            if not np.isfinite(batch).all():
                raise InputError(
                    f"inputs holds NaN or infinities in window {first + _first_bad(batch)}, and a {self.kind} model is "
                    "run on complete windows only: fill them first"
                )
            if self.takes_wanted:
                result = self.run(batch, wanted=wanted)
                forecasts[first : first + len(batch)] = self._checked(result, batch.shape, count)
            else:
                all_forecasts = self._checked(self.run(batch), batch.shape, windows.shape[2])
                forecasts[first : first + len(batch)] = all_forecasts if wanted is None else all_forecasts[:, :, wanted]
        return forecasts

    def _checked(self, result: Any, shape: tuple[int, ...], count: int) -> NDArray[np.float32]:
        """Return the model's forecasts as an array of the right shape, or raise."""
        expected = (shape[0], self.horizon, count)
        begin = f"the {self.kind} model must turn inputs of shape {shape} into {describe_axes('bhn')} = {expected}, but"
        try:
            with np.errstate(over="ignore"):
                forecasts = _numbers(result)
        except (TypeError, ValueError):
            raise InputError(f"{begin} gave a {type(result).__name__} that is not an array of numbers") from None
        if forecasts.shape != expected:
            raise InputError(f"{begin} gave shape {forecasts.shape}")
        bad = forecasts.size - int(np.isfinite(forecasts).sum())
        if bad:
            raise InputError(f"{begin} {bad} of its {forecasts.size} numbers are NaN or infinite: forecasts are finite")
        return forecasts


def checked_names(variables: Any) -> tuple[str, ...]:
    """Return the variables' names as a tuple; raise if a name is repeated."""
    if isinstance(variables, str):
        raise InputError(f"variables must be a list of names, got the text {variables!r}")
    names = tuple(str(name) for name in variables)
    refuse_repeated_names(names, "variables")
    return names


def load_library(name: str, wanted: str) -> Any:
    """Import a library that only one adapter needs; if it is missing, raise an error that says how to install it.

    >>> load_library("no_such_library", "from_nothing")
    Traceback (most recent call last):
        ...
    ModuleNotFoundError: from_nothing needs no_such_library: install it with pip install no_such_library
    """
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        plain = f"{wanted} needs {error.name}: install it with pip install {(error.name or name).partition('.')[0]}"
        raise ModuleNotFoundError(missing_extra(error, wanted) or plain, name=error.name) from None


def _numbers(result: Any) -> NDArray[np.float32]:
    if hasattr(result, "detach"):
        result = result.detach().cpu().float()  # NumPy has no bfloat16
    array = np.asarray(result)
    if array.dtype.kind not in "fiub":
        raise TypeError(array.dtype)
    return array.astype(np.float32)


def _first_bad(windows: NDArray[np.float32]) -> int:
    """Return the number of the first window with a value that is not finite."""
    return int(np.argmin(np.isfinite(windows).all(axis=(1, 2, 3))))
