"""The nearest-neighbor forecast: the futures of the nearest training windows, without any model.

Tajmouati, El Wahbi, Bedoui, Abarda and Dakkoun, Applying k-nearest neighbors to time series forecasting: two new
approaches, 2021; the baseline of table 6.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from subcast import weighting
from subcast.axes import check_whole
from subcast.baselines.base import Shape, check_positive
from subcast.baselines.past import Past
from subcast.errors import InputError
from subcast.windows import Windows

FUTURES = ("targets", "readings")


@dataclass(frozen=True, eq=False)
class NeighborForecast:
    """Forecast S by the futures of the k nearest training windows, with rank-order-centroid weights.

    Five neighbors have the weights 0.457, 0.257, 0.157, 0.090 and 0.040. Neighbors are those the paper's method
    retrieves: the same distance on the same normalized readings and time features.

    Where the papers leave a choice open: futures are averaged as they are, without moving them to the level of the
    last reading; a future value that does not count as a target (a zero, in `paper`) is left out and the other
    neighbors' weights grow in proportion, unless `futures` is "readings"; where no neighbor has a value, the
    forecast is the scaler's mean.

    Parameters
    ----------
    past
        the training windows
    shape
        their sizes
    futures
        [n, t], normalized: the values that futures are taken from
    neighbors
        k
    exponent
        b of the distance

    Examples
    --------
    >>> from subcast.series import Series
    >>> wave = np.sin(np.arange(400)[:, None] * 2 * np.pi / 20 + np.arange(3))
    >>> train, _, test = Series(wave).split(lookback=5, horizon=3)
    >>> forecast = NeighborForecast.fit(train)(test, np.array([0, 2]))
    >>> bool(np.abs(forecast - test.targets[:, :, [0, 2]]).max() < 1e-3)
    True
    """

    past: Past
    shape: Shape
    futures: NDArray[np.float32]
    neighbors: int = 5
    exponent: float = 0.5

    @classmethod
    def fit(
        cls, train: Windows, *, neighbors: int = 5, exponent: float = 0.5, futures: str = "targets"
    ) -> NeighborForecast:
        """Store the training windows and their futures.

        Parameters
        ----------
        train
            the training windows
        neighbors, exponent
            k, and b of the distance
        futures
            "targets": values that count as targets; "readings": every reading, as in the inputs
        """
        check_whole("neighbors", neighbors)
        check_positive("exponent", exponent)
        if futures not in FUTURES:
            raise InputError(f"futures must be one of {', '.join(FUTURES)}, got {futures!r}")
        past = Past.fit(train)
        values = train.target_values if futures == "targets" else train.series.values
        rows = np.ascontiguousarray(past.scaler.transform(values).T)  # [n, t]
        return cls(past, Shape.of(train), rows, neighbors, exponent)

    def __call__(self, windows: Windows, present: NDArray[np.int64]) -> NDArray[np.float32]:
        """Forecast S: [b, h, s], raw units."""
        from subcast.retrieval.pooling import pool_mean

        present = self.shape.check(windows, present)
        neighbors = self.past.find(windows, present, self.neighbors, self.exponent)
        weights = weighting.by_rank(neighbors.distance)
        starts = self.past.starts_of(neighbors)
        normal = pool_mean(self.futures, starts, weights, present, self.shape.lookback, self.shape.horizon)
        return self.past.scaler.select(present).inverse(normal)  # [b, h, s]
