"""An ONNX file, run by onnxruntime on the processor."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subcast.adapters.base import AdaptedForecaster, checked_names, load_library
from subcast.adapters.onnx_content import refers_to_other_files
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
    load_library("onnxruntime", "from_onnx")
    file = Path(path)
    if not file.is_file():
        raise DataNotFoundError(f"there is no ONNX file at {file}: check the path")
    return _adapted(OnnxModel(file), str(file), lookback, horizon, variables, file)


def from_onnx_content(
    content: bytes, *, lookback: int, horizon: int, variables: Sequence[str] = (), name: str = "the stored model"
) -> AdaptedForecaster:
    """Adapt the content of an ONNX file; as `from_onnx`. `name` is what errors call it.

    A content that refers to other files is refused.
    """
    load_library("onnxruntime", "from_onnx")
    try:
        refers = refers_to_other_files(content)
    except ValueError as error:
        raise DataError(f"{name} cannot be read as an ONNX model ({error}): export the model again") from None
    if refers:
        raise DataError(f"{name} has its weights in other files: export the model again, as one file")
    return _adapted(OnnxModel(content, name), name, lookback, horizon, variables, None)


def _adapted(
    run: OnnxModel,
    file: str,
    lookback: int | None,
    horizon: int | None,
    variables: Sequence[str],
    path: Path | None,
) -> AdaptedForecaster:
    source, target = run.source, run.target
    if len(source.shape) not in (3, 4) or len(target.shape) not in (0, 3):
        raise DataError(
            f"{file} must map [b, t, n, f] or [b, t, n] to [b, h, n], "
            f"but its input has shape {source.shape} and its output {target.shape}"
        )
    if source.type not in _NUMBERS:
        raise DataError(f"{file} must take an array of floats, but its input is a {source.type}")
    t, n = (_static(size) for size in source.shape[1:3])
    f = 1 if len(source.shape) == 3 else _static(source.shape[3])
    h, m = (_static(size) for size in target.shape[1:]) if target.shape else (None, None)
    if n is not None and m is not None and n != m:
        raise DataError(f"{file} takes {n} variables but forecasts {m}: subcast needs a forecast of each variable")
    return AdaptedForecaster(
        run=run,
        lookback=_agreed("lookback", t, lookback, file),
        horizon=_agreed("horizon", h, horizon, file),
        kind="onnx",
        variables=checked_names(variables),
        n_features=f,
        path=path,
        n_variables=n if n is not None else m,
    )


class OnnxModel:
    """An ONNX model in a session of onnxruntime, as a function of windows.

    Parameters
    ----------
    file
        the path of the file, or its content
    name
        what errors call it
    """

    def __init__(self, file: Path | bytes, name: str | None = None) -> None:
        self.file = file
        self.name = str(file) if name is None and isinstance(file, Path) else str(name)
        self._open()

    def _open(self) -> None:
        runtime = load_library("onnxruntime", "from_onnx")
        given = str(self.file) if isinstance(self.file, Path) else self.file
        try:
            self._session = runtime.InferenceSession(given, providers=["CPUExecutionProvider"])
        except Exception as error:  # onnxruntime has a class for each way to fail, none of them public
            reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
            raise DataError(f"{self.name} cannot be read as an ONNX model ({reason}): export the model again") from None
        self.source = _only(self._session.get_inputs(), "input", self.name)
        self.target = _only(self._session.get_outputs(), "output", self.name)

    def __getstate__(self) -> dict[str, Any]:
        """Leave the session out: it is opened again."""
        return {"file": self.file, "name": self.name}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.file, self.name = state["file"], state["name"]
        self._open()

    def __call__(self, x: NDArray[np.float32]) -> NDArray[Any]:
        """Forecast windows [b, t, n, f]: [b, h, n]."""
        source = self.source
        windows = np.ascontiguousarray(x if len(source.shape) == 4 else x[..., 0], dtype=_NUMBERS[source.type])
        batches = _batches(windows, _static(source.shape[0]))
        run = self._session.run
        return np.concatenate([run([self.target.name], {source.name: batch})[0][:count] for batch, count in batches])

    def content(self) -> bytes:
        """Return the content of the file; raise if its weights are in other files."""
        if isinstance(self.file, bytes):
            return self.file
        content = self.file.read_bytes()
        if refers_to_other_files(content):
            raise InputError(
                f"the model {self.file.name} cannot be stored, since it has its weights in other files: export it as "
                "one file (external_data=False) and fit again"
            )
        return content


def _only(found: Sequence[Any], what: str, file: str) -> Any:
    if len(found) != 1:
        names = ", ".join(item.name for item in found)
        raise DataError(f"{file} must have one {what}, but has {len(found)} ({names}): export the forecaster alone")
    return found[0]


def _static(size: Any) -> int | None:
    """Return the size of an axis; None where the file leaves it open."""
    return size if isinstance(size, int) else None


def _agreed(argument: str, stored: int | None, given: int | None, file: str) -> int:
    if stored is None and given is None:
        raise InputError(f"{file} leaves its {argument} open: give {argument}=")
    if stored is not None and given is not None and stored != given:
        raise InputError(f"{file} was exported for {argument} {stored}, not {given}: use {argument}={stored}")
    return stored if stored is not None else given  # type: ignore[return-value]


def _batches(windows: NDArray[Any], size: int | None) -> list[tuple[NDArray[Any], int]]:
    """Return batches of the size that the file fixes, if any, each with its number of windows; the last is padded."""
    if size is None:
        return [(windows, len(windows))]
    batches = []
    for first in range(0, len(windows), size):
        batch = windows[first : first + size]
        padding = np.repeat(batch[-1:], size - len(batch), axis=0)
        batches.append((np.concatenate([batch, padding]), len(batch)))
    return batches
