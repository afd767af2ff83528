"""The model's forecasts of the training windows, each computed at most once: what FDW compares with."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subcast.progress import progress_bar
from subcast.storage.state import State

_WINDOWS_AT_ONCE = 512

Compute = Callable[[NDArray[np.int64]], NDArray[np.float32]]
"""From numbers of training windows to the model's forecasts of them, [b, h, n]."""


class NeighborForecasts:
    """f(X_NN) for the windows of a bank, filled in when they are asked for.

    They depend on the model and the bank alone, not on S. They are kept in a file that is mapped into memory, and are
    saved with the wrapper.

    Parameters
    ----------
    forecasts, known
        [windows, h, n] and [windows], what is known already
    progress
        whether to show a progress bar
    """

    def __init__(
        self,
        forecasts: NDArray[np.float32] | None = None,
        known: NDArray[np.bool_] | None = None,
        *,
        progress: bool = False,
    ) -> None:
        self.progress = progress
        self._stored, self._stored_known = forecasts, known
        self._opened: tuple[NDArray[np.float32], NDArray[np.bool_]] | None = None
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        """Leave the lock out of a pickle, and take along what is known."""
        forecasts, known = self._arrays()
        return {"progress": self.progress, "_stored": forecasts, "_stored_known": known}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._opened = None
        self._lock = threading.Lock()

    @property
    def count(self) -> int:
        """How many windows' forecasts are known."""
        known = self._arrays()[1]
        return 0 if known is None else int(known.sum())

    def get(self, index: NDArray[np.int64], shape: tuple[int, int, int], compute: Compute) -> NDArray[np.float32]:
        """Return the forecasts of training windows, [..., h, n] raw, NaN where the index is -1.

        Parameters
        ----------
        index
            numbers of training windows, of any shape [...]
        shape
            (windows, h, n), sizes of all forecasts together
        compute
            what makes those that are not known yet
        """
        with self._lock:
            forecasts, known = self._open(shape)
            asked = np.unique(index[index >= 0])
            self._compute(asked[~known[asked]], forecasts, known, compute)
            answer = np.array(forecasts[np.maximum(index, 0)])
        answer[index < 0] = np.nan
        return answer

    def fill(self, shape: tuple[int, int, int], compute: Compute) -> None:
        """Compute all that are not known yet; arguments as in `get`."""
        with self._lock:
            forecasts, known = self._open(shape)
            self._compute(np.flatnonzero(~known), forecasts, known, compute)

    def state(self) -> State | None:
        """Return what is kept on disk; None before the first is computed."""
        forecasts, known = self._arrays()
        if forecasts is None or known is None or not known.any():
            return None
        return State({}, {"forecasts": forecasts, "known": known})

    @classmethod
    def from_state(cls, state: State | None, *, progress: bool = False) -> NeighborForecasts:
        """Return what `state` described."""
        arrays = {} if state is None else state.arrays
        return cls(arrays.get("forecasts"), arrays.get("known"), progress=progress)

    def _arrays(self) -> tuple[NDArray[np.float32] | None, NDArray[np.bool_] | None]:
        return (self._stored, self._stored_known) if self._opened is None else self._opened

    def _open(self, shape: tuple[int, int, int]) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """Return the stored forecasts, or a copy of them in a new file that goes when the process ends."""
        if self._opened is None:
            stored, known = self._stored, self._stored_known
            if stored is not None and known is not None and known.all():
                self._opened = stored, known
            else:
                forecasts, now_known = _scratch(shape), np.zeros(shape[0], dtype=bool)
                if stored is not None and known is not None:
                    now_known[:] = known
                    forecasts[now_known] = stored[now_known]
                self._opened = forecasts, now_known
        return self._opened

    def _compute(
        self, missing: NDArray[np.int64], forecasts: NDArray[np.float32], known: NDArray[np.bool_], compute: Compute
    ) -> None:
        if not missing.size:
            return
        with progress_bar("Forecasting the training windows", missing.size, self.progress) as advance:
            for first in range(0, missing.size, _WINDOWS_AT_ONCE):
                batch = missing[first : first + _WINDOWS_AT_ONCE]
                forecasts[batch] = compute(batch)
                known[batch] = True
                advance(batch.size)


def _scratch(shape: tuple[int, ...]) -> NDArray[np.float32]:
    """Return a zeroed array in an unnamed file, which the system pages out and in as memory allows."""
    with tempfile.TemporaryFile() as file:
        file.truncate(int(np.prod(shape)) * 4)
        return np.memmap(file, dtype=np.float32, mode="r+", shape=shape)
