"""The training windows in normalized units, with nearest-neighbor search: shared by the neighbor baselines."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from subcast.baselines.base import check_train, training_steps
from subcast.retrieval import Neighbors, WindowBank
from subcast.scaling import Scaler
from subcast.windows import Windows


@dataclass(frozen=True, eq=False)
class Past:
    """The training windows (or steps) and the scaler of their protocol.

    Parameters
    ----------
    scaler
        as the protocol of the training windows defines it: one mean and deviation for all variables in `paper`
    bank
        the training windows, normalized; time features, if any, are compared too
    """

    scaler: Scaler
    bank: WindowBank

    @classmethod
    def fit(cls, train: Windows, *, single_steps: bool = False) -> Past:
        """Normalize the training readings and build the bank, of windows or of their single steps."""
        check_train(train)
        scaler = Scaler.fit(train)
        starts = training_steps(train) if single_steps else np.sort(np.asarray(train.starts, dtype=np.int64))
        bank = WindowBank(
            scaler.transform(train.series.values),
            1 if single_steps else train.lookback,
            starts=starts,
            shared=train.series.features,
            names=train.series.variables,
        )
        return cls(scaler, bank)

    def find(self, windows: Windows, variables: NDArray[np.int64], k: int, exponent: float) -> Neighbors:
        """Return the k nearest training windows of each window by the given variables."""
        scaler = self.scaler.select(variables)
        features = windows.series.features
        if windows.starts.step == 1 and len(windows) > 1:
            steps = slice(windows.starts[0], windows.starts[-1] + windows.lookback)
            normal = scaler.transform(windows.series.values[steps][:, variables])  # [t, s]
            shared = None if features is None else features[steps]
            return self.bank.nearest_sliding(normal, variables, k, exponent, shared=shared)
        normal = scaler.transform(windows.readings[:, :, variables])  # [b, t, s]
        return self.bank.nearest(normal, variables, k, exponent, shared=windows.features)

    def starts_of(self, neighbors: Neighbors) -> NDArray[np.int64]:
        """Return the first step of each neighbor in the training series, [b, k]; -1 for no neighbor."""
        return np.where(neighbors.found, self.bank.starts[np.maximum(neighbors.index, 0)], -1)
