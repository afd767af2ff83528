"""The protocol of a bank of past windows; any class that implements it can replace `WindowBank`."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from subcast.retrieval.moments import LagMoments
from subcast.retrieval.neighbors import Neighbors
from subcast.storage.state import State

CENTERS = ("median", "mean")


class Normalizes(Protocol):
    """Converts readings to normalized units."""

    def normalize(
        self, values: NDArray[Any], slots: NDArray[np.int64], variables: NDArray[np.int64] | None = None
    ) -> NDArray[np.float32]:
        """Return readings [..., t, s] at slots of the day [..., t] in normalized units."""
        ...

    def state(self) -> State:
        """Return the state to save."""
        ...


class BankStream(Protocol):
    """A search that follows consecutive steps."""

    def push(self, step: NDArray[np.float32], *, shared: NDArray[np.float32] | None = None) -> Neighbors | None:
        """Add one step [s] (with its shared features [g]); return the neighbors, None until a window is complete."""
        ...


@runtime_checkable
class Bank(Protocol):
    """Past windows, searched by any subset of the variables.

    Candidates are numbered from 0 in the order of time; -1 in an index means that there is no such neighbor.
    """

    @property
    def lookback(self) -> int:
        """Number of steps in a window."""
        ...

    @property
    def n(self) -> int:
        """Number of variables."""
        ...

    @property
    def n_steps(self) -> int:
        """Number of steps of the training series."""
        ...

    @property
    def starts(self) -> NDArray[np.int64]:
        """[candidates], the step of the training series at which each candidate starts."""
        ...

    def __len__(self) -> int:
        """Return the number of candidates."""
        ...

    def normalized(
        self, normalizer: Normalizes, slots: NDArray[np.int64], shared: NDArray[np.float32] | None = None
    ) -> Bank:
        """Return the same windows in normalized units, with shared features [t, g] to compare besides the readings."""
        ...

    def nearest(
        self,
        windows: NDArray[np.float32],
        variables: NDArray[np.int64],
        k: int,
        exponent: float = 0.5,
        *,
        shared: NDArray[np.float32] | None = None,
    ) -> Neighbors:
        """Return the k nearest candidates of independent windows [b, t, s], shared features [b, t, g]."""
        ...

    def nearest_sliding(
        self,
        steps: NDArray[np.float32],
        variables: NDArray[np.int64],
        k: int,
        exponent: float = 0.5,
        *,
        shared: NDArray[np.float32] | None = None,
    ) -> Neighbors:
        """Return the same as `nearest`, to the bit, for every window of consecutive steps [t, s]."""
        ...

    def stream(self, variables: NDArray[np.int64], k: int, exponent: float = 0.5) -> BankStream:
        """Return a search that is given one step at a time."""
        ...

    def windows(self, index: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return candidates as they are stored, [..., t, n] or [..., t, n, f] with shared features; NaN for -1."""
        ...

    def paths(self, index: NDArray[np.int64], variables: NDArray[np.int64], length: int) -> NDArray[np.float32]:
        """Return the first `length` readings from the start of candidates on, [..., length, s], NaN where missing."""
        ...

    def pool_windows(
        self, index: NDArray[np.int64], weights: NDArray[np.float32], variables: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """Return the weighted mean of the windows, [b, t, s], without missing readings; 0 where all are missing."""
        ...

    def pool_futures(
        self,
        index: NDArray[np.int64],
        weights: NDArray[np.float32],
        variables: NDArray[np.int64],
        horizon: int,
        center: str = "median",
    ) -> NDArray[np.float32]:
        """Return the median (or weighted mean) of the candidates' futures, [b, h, s]; 0 where there is no reading."""
        ...

    def future_deviation(
        self, index: NDArray[np.int64], variables: NDArray[np.int64], horizon: int
    ) -> NDArray[np.float32]:
        """Return the standard deviation of the candidates' futures, [b, h, s]; 1 with fewer than 3 readings."""
        ...

    def moments(self, lags: int, first: int, last: int) -> LagMoments:
        """Return second moments at the lags 0 .. lags - 1 over the steps first .. last - 1 of the training series."""
        ...

    def state(self) -> State:
        """Return the state to save with the wrapper."""
        ...

    def fingerprint(self) -> str:
        """Return a text that differs for banks with other windows."""
        ...
