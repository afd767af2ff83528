"""Windows as tensors: one normalized series in memory, from which a batch is gathered by one indexing."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from subcast.scaling import Scaler
from subcast.windows import Windows


class TensorWindows:
    """Batches of windows by their numbers: normalized inputs without NaN, and raw targets with NaN where none counts.

    Parameters
    ----------
    windows
        what to serve
    scaler
        of the model
    means
        [n] raw, what a missing reading counts as
    """

    def __init__(self, windows: Windows, scaler: Scaler, means: NDArray[np.float64]) -> None:
        series = windows.series
        values = series.values
        readings = scaler.transform(np.where(np.isnan(values), means, values))  # [steps, n]
        inputs = np.empty((*readings.shape, series.n_features), dtype=np.float32)
        inputs[..., 0] = readings
        if series.features is not None:
            inputs[..., 1:] = series.features[:, None, :]
        self.inputs = torch.from_numpy(inputs)  # [steps, n, f]
        self.targets = torch.from_numpy(np.array(windows.target_values))  # [steps, n]
        self.starts = torch.as_tensor(np.asarray(windows.starts, dtype=np.int64))
        self._seen = torch.arange(windows.lookback)
        self._next = torch.arange(windows.lookback, windows.lookback + windows.horizon)

    def __len__(self) -> int:
        """The number of windows."""
        return len(self.starts)

    def __getitem__(self, which: Tensor) -> tuple[Tensor, Tensor]:
        """Inputs [b, t, n, f] and targets [b, h, n] of some windows."""
        starts = self.starts[which][:, None]  # [b, 1]
        return self.inputs[starts + self._seen], self.targets[starts + self._next]


class EpochBatches:
    """Numbers of windows, batch by batch: shuffled anew from (seed, epoch), or in order when seed is None.

    The number of the epoch is asked for when the batches are, so that it is right after an interruption too.
    """

    def __init__(self, count: int, batch_size: int, seed: int | None = None) -> None:
        self.count, self.batch_size, self.seed = count, batch_size, seed
        self.epoch: Callable[[], int] = lambda: 0

    def __len__(self) -> int:
        """Batches in an epoch."""
        return -(-self.count // self.batch_size)

    def __iter__(self) -> Iterator[Tensor]:
        """Each batch's numbers [b]."""
        if self.seed is None:
            order = torch.arange(self.count)
        else:
            order = torch.from_numpy(np.random.default_rng((self.seed, self.epoch())).permutation(self.count))
        yield from order.split(self.batch_size)


def epoch_seed(seed: int, epoch: int) -> int:
    """One seed of two, for torch."""
    return int(np.random.SeedSequence((seed, epoch)).generate_state(1, np.uint64)[0] >> np.uint64(1))


def fingerprint(windows: Windows) -> str:
    """A short checksum of windows, to tell whether an interrupted training goes on with the same data."""
    series = windows.series
    parts = f"{series.values.shape} {series.variables} {series.time_features} {windows.lookback} {windows.horizon} "
    parts += f"{windows.starts} {windows.protocol.name}"
    checksum = zlib.crc32(parts.encode())
    for array in (series.values, windows.target_values):
        checksum = zlib.crc32(np.ascontiguousarray(array).data, checksum)
    return f"{checksum:08x}"


def checksum(array: NDArray[Any] | Tensor | None) -> str | None:
    """A short checksum of an array; None for none."""
    if array is None:
        return None
    values = array.detach().cpu().numpy() if isinstance(array, Tensor) else np.asarray(array)
    return f"{zlib.crc32(np.ascontiguousarray(values).data, zlib.crc32(str(values.shape).encode())):08x}"
