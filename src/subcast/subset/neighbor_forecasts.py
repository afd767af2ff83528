"""The model's forecasts of the training windows for FDW, each computed at most once."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subcast.progress import progress_bar
from subcast.storage import fields
from subcast.storage.state import State

_WINDOWS_AT_ONCE = 512

Compute = Callable[[NDArray[np.int64]], NDArray[np.float32]]
"""Maps numbers of training windows [b] to the model's forecasts of them, [b, h, n]."""


class NeighborForecasts:
    """The forecasts f(X^NN) of the windows of a bank, computed when they are first needed.

    They depend on the model and the bank, not on S. They are kept in a memory-mapped file and saved with the wrapper.

    Parameters
    ----------
    forecasts, known
        [windows, h, n] and [windows], forecasts that are known already and which ones they are
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
        """Return the known forecasts for a pickle, without the lock."""
        forecasts, known = self._arrays()
        return {"progress": self.progress, "_stored": forecasts, "_stored_known": known}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._opened = None
        self._lock = threading.Lock()

    @property
    def count(self) -> int:
        """Number of windows with a known forecast."""
        known = self._arrays()[1]
        return 0 if known is None else int(known.sum())

    def get(self, index: NDArray[np.int64], shape: tuple[int, int, int], compute: Compute) -> NDArray[np.float32]:
        """Return the forecasts of training windows, [..., h, n] raw, NaN where the index is -1.

        Parameters
        ----------
        index
            numbers of training windows, of any shape [...]
        shape
            (windows, h, n), the shape of the array of all forecasts
        compute
            computes the forecasts that are not known yet
        """
        with self._lock:
            forecasts, known = self._open(shape)
            needed = np.unique(index[index >= 0])
            self._compute(needed[~known[needed]], forecasts, known, compute)
            selected = np.array(forecasts[np.maximum(index, 0)])
        selected[index < 0] = np.nan
        return selected

    def fill(self, shape: tuple[int, int, int], compute: Compute) -> None:
        """Compute all forecasts that are not known yet; arguments as in `get`."""
        with self._lock:
            forecasts, known = self._open(shape)
            self._compute(np.flatnonzero(~known), forecasts, known, compute)

    def extended(self, count: int) -> NeighborForecasts:
        """Return the same forecasts with room for `count` further windows, whose forecasts are not known."""
        with self._lock:
            forecasts, known = self._arrays()
            if forecasts is None or known is None:
                return NeighborForecasts(progress=self.progress)
            more = np.zeros((count, *forecasts.shape[1:]), dtype=np.float32)
            return NeighborForecasts(
                np.concatenate([forecasts, more]), np.concatenate([known, np.zeros(count, dtype=bool)]),
                progress=self.progress,
            )  # fmt: skip

    def state(self) -> State | None:
        """Return the state to save; None if no forecast is known."""
        forecasts, known = self._arrays()
        if forecasts is None or known is None or not known.any():
            return None
        return State({}, {"forecasts": forecasts, "known": known})

    @classmethod
    def from_state(
        cls,
        state: State | None,
        shape: tuple[int | None, int | None, int | None] = (None, None, None),
        *,
        progress: bool = False,
    ) -> NeighborForecasts:
        """Return the forecasts saved in `state`, which must be of the shape (windows, h, n) if it is given."""
        if state is None:
            return cls(progress=progress)
        forecasts = fields.array(state, "forecasts", np.float32, shape)
        return cls(forecasts, fields.array(state, "known", np.bool_, [len(forecasts)]), progress=progress)

    def _arrays(self) -> tuple[NDArray[np.float32] | None, NDArray[np.bool_] | None]:
        return (self._stored, self._stored_known) if self._opened is None else self._opened

    def _open(self, shape: tuple[int, int, int]) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """Return the stored forecasts if complete, else a writable copy in a temporary file."""
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
    """Return a zeroed array that is memory-mapped from an unnamed temporary file."""
    with tempfile.TemporaryFile() as file:
        file.truncate(int(np.prod(shape)) * 4)
        return np.memmap(file, dtype=np.float32, mode="r+", shape=shape)
