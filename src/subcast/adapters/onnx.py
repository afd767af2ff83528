"""An ONNX file, run by onnxruntime on the processor."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subcast.adapters.base import AdaptedForecaster, checked_names, load_library
from subcast.errors import DataError, DataNotFoundError, InputError

_NUMBERS = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(float16)": np.float16}


def from_onnx(
    path: str | Path,
    *,
    lookback: int | None = None,
    horizon: int | None = None,
    variables: Sequence[str] = (),
) -> AdaptedForecaster:
    """Adapt an ONNX file with one input [b, t, n, f] or [b, t, n] and one output [b, h, n], both in raw units.

    Parameters
    ----------
    path
        the file
    lookback, horizon
        sizes of the axes t and h; needed only where the file leaves them open
    variables
        the n names, in the file's order
    """
    runtime = load_library("onnxruntime", "from_onnx")
    file = Path(path)
    if not file.is_file():
        raise DataNotFoundError(f"there is no ONNX file at {file}: check the path")
    try:
        session = runtime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime has a class for each way to fail, none of them public
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise DataError(f"{file} cannot be read as an ONNX model ({reason}): export the model again") from None
    source = _only(session.get_inputs(), "input", file)
    target = _only(session.get_outputs(), "output", file)
    if len(source.shape) not in (3, 4) or len(target.shape) not in (0, 3):
        raise DataError(
            f"{file} must map [b, t, n, f] or [b, t, n] to [b, h, n], "
            f"but its input has shape {source.shape} and its output {target.shape}"
        )
    if source.type not in _NUMBERS:
        raise DataError(f"{file} must take an array of floats, but its input is a {source.type}")
    b, t, n = (_static(size) for size in source.shape[:3])
    f = 1 if len(source.shape) == 3 else _static(source.shape[3])
    h, m = (_static(size) for size in target.shape[1:]) if target.shape else (None, None)
    if n is not None and m is not None and n != m:
        raise DataError(f"{file} takes {n} variables but forecasts {m}: subcast needs a forecast of each variable")

    def run(x: NDArray[np.float32]) -> Any:
        windows = np.ascontiguousarray(x if len(source.shape) == 4 else x[..., 0], dtype=_NUMBERS[source.type])
        return np.concatenate(
            [session.run([target.name], {source.name: part})[0][:kept] for part, kept in _parts(windows, b)]
        )

    return AdaptedForecaster(
        run=run,
        lookback=_agreed("lookback", t, lookback, file),
        horizon=_agreed("horizon", h, horizon, file),
        kind="onnx",
        variables=checked_names(variables),
        n_features=f,
        path=file,
        n_variables=n if n is not None else m,
    )


def _only(found: Sequence[Any], what: str, file: Path) -> Any:
    if len(found) != 1:
        names = ", ".join(item.name for item in found)
        raise DataError(f"{file} must have one {what}, but has {len(found)} ({names}): export the forecaster alone")
    return found[0]


def _static(size: Any) -> int | None:
    """The size of an axis, None where the file leaves it open."""
    return size if isinstance(size, int) else None


def _agreed(argument: str, stored: int | None, given: int | None, file: Path) -> int:
    if stored is None and given is None:
        raise InputError(f"{file} leaves its {argument} open: say {argument}=")
    if stored is not None and given is not None and stored != given:
        raise InputError(f"{file} was exported for {argument} {stored}, not {given}: use {argument}={stored}")
    return stored if stored is not None else given  # type: ignore[return-value]


def _parts(windows: NDArray[Any], size: int | None) -> list[tuple[NDArray[Any], int]]:
    """The batch as the file wants it: whole, or in parts of a fixed size, the last one padded with its last window."""
    if size is None:
        return [(windows, len(windows))]
    parts = []
    for first in range(0, len(windows), size):
        part = windows[first : first + size]
        padding = np.repeat(part[-1:], size - len(part), axis=0)
        parts.append((np.concatenate([part, padding]), len(part)))
    return parts
