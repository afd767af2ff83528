"""The model's forecasts of the training windows, each computed at most once: what FDW compares with."""

from __future__ import annotations

import tempfile
import threading
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from subcast.progress import progress_bar

if TYPE_CHECKING:
    from subcast.subset.engine import Engine

_AT_ONCE = 512


class NeighborForecasts:
    """f(X_NN) for the windows of a bank, filled in as they are asked for.

    They depend on the model and the bank alone, not on S, so each is computed at most once. They are kept in a file
    that is mapped into memory, and go with the wrapper when it is saved.

    Parameters
    ----------
    features
        [t, f - 1], the time features of the training series' steps; empty without
    forecasts, done
        [windows, h, n] and [windows], what is known already
    """

    def __init__(
        self,
        features: NDArray[np.float32] | None = None,
        forecasts: NDArray[np.float32] | None = None,
        done: NDArray[np.bool_] | None = None,
        *,
        progress: bool = False,
    ) -> None:
        self.features = np.zeros((0, 0), dtype=np.float32) if features is None else features
        self.progress = progress
        self._stored, self._stored_done = forecasts, done
        self._opened: tuple[NDArray[np.float32], NDArray[np.bool_]] | None = None
        self._lock = threading.Lock()

    @property
    def known(self) -> int:
        """How many windows' forecasts are known."""
        done = self._stored_done if self._opened is None else self._opened[1]
        return 0 if done is None else int(done.sum())

    def get(self, engine: Engine, index: NDArray[np.int64]) -> NDArray[np.float32]:
        """The forecasts of windows of the bank, [..., h, n] raw, NaN where the index is -1."""
        with self._lock:
            if self._opened is None:
                self._opened = self._open(engine)
            known, done = self._opened
            wanted = np.unique(index[index >= 0])
            missing = wanted[~done[wanted]]
            if missing.size:
                self._compute(engine, missing, known, done)
            forecasts = np.array(known[np.maximum(index, 0)])
        forecasts[index < 0] = np.nan
        return forecasts

    def fill(self, engine: Engine) -> None:
        """Compute all that are not known yet."""
        with self._lock:
            if self._opened is None:
                self._opened = self._open(engine)
            known, done = self._opened
            missing = np.flatnonzero(~done)
            if missing.size:
                self._compute(engine, missing, known, done)

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """What to keep on disk: nothing before the first is computed."""
        forecasts, done = (self._stored, self._stored_done) if self._opened is None else self._opened
        if forecasts is None or done is None or not done.any():
            return {}
        return {"seen": forecasts, "seen_done": done}

    def _open(self, engine: Engine) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """The stored forecasts, or what there is of them in a new file that goes when the process ends."""
        stored, done = self._stored, self._stored_done
        if stored is not None and done is not None and done.all():
            return stored, done
        shape = (len(engine.bank), engine.horizon, engine.n)
        forecasts, known = _scratch(shape), np.zeros(shape[0], dtype=bool)
        if stored is not None and done is not None:
            known[:] = done
            forecasts[known] = stored[known]
        return forecasts, known

    def _compute(
        self,
        engine: Engine,
        missing: NDArray[np.int64],
        forecasts: NDArray[np.float32],
        done: NDArray[np.bool_],
    ) -> None:
        with progress_bar("forecasting the training windows", missing.size, self.progress) as advance:
            for first in range(0, missing.size, _AT_ONCE):
                part = missing[first : first + _AT_ONCE]
                forecasts[part] = engine.run(engine.bank_inputs(part), None)
                done[part] = True
                advance(part.size)


def _scratch(shape: tuple[int, ...]) -> NDArray[np.float32]:
    """A zeroed array in an unnamed file, paged out and in by the system as memory allows."""
    with tempfile.TemporaryFile() as file:
        file.truncate(int(np.prod(shape)) * 4)
        return np.memmap(file, dtype=np.float32, mode="r+", shape=shape)
