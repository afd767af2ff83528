"""Windows as tensors: one normalized series in memory, from which batches are gathered by indexing."""

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
    """Batches of windows by index: normalized inputs without NaN, and raw targets with NaN where they are missing.

    Parameters
    ----------
    windows
        the windows
    scaler
        normalizes the readings
    means
        [n] raw, the values used for missing readings
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
        self._past = torch.arange(windows.lookback)
        self._future = torch.arange(windows.lookback, windows.lookback + windows.horizon)

    def __len__(self) -> int:
        """Return the number of windows."""
        return len(self.starts)

    def __getitem__(self, indices: Tensor) -> tuple[Tensor, Tensor]:
        """Return the inputs [b, t, n, f] and targets [b, h, n] of the windows with these indices [b]."""
        starts = self.starts[indices][:, None]  # [b, 1]
        return self.inputs[starts + self._past], self.targets[starts + self._future]


class EpochBatches:
    """Indices of windows in batches: shuffled by (seed, epoch), or in order if seed is None.

    `epoch` is called at the start of each epoch, so that the order is also right after an interruption.
    """

    def __init__(self, count: int, batch_size: int, seed: int | None = None) -> None:
        self.count, self.batch_size, self.seed = count, batch_size, seed
        self.epoch: Callable[[], int] = lambda: 0

    def __len__(self) -> int:
        """Return the number of batches in an epoch."""
        return -(-self.count // self.batch_size)

    def __iter__(self) -> Iterator[Tensor]:
        """Yield the indices [b] of each batch."""
        if self.seed is None:
            order = torch.arange(self.count)
        else:
            order = torch.from_numpy(np.random.default_rng((self.seed, self.epoch())).permutation(self.count))
        yield from order.split(self.batch_size)


def epoch_seed(seed: int, epoch: int) -> int:
    """Combine a seed and an epoch into one seed for torch."""
    return int(np.random.SeedSequence((seed, epoch)).generate_state(1, np.uint64)[0] >> np.uint64(1))


def fingerprint(windows: Windows) -> str:
    """Return a short checksum of windows, with which a resumed training checks that its data are the same."""
    series = windows.series
    description = f"{series.values.shape} {series.variables} {series.time_features} "
    description += f"{windows.lookback} {windows.horizon} {windows.starts} {windows.protocol.name}"
    checksum = zlib.crc32(description.encode())
    for array in (series.values, windows.target_values):
        checksum = zlib.crc32(np.ascontiguousarray(array).data, checksum)
    return f"{checksum:08x}"


def checksum(array: NDArray[Any] | Tensor | None) -> str | None:
    """Return a short checksum of an array; None for None."""
    if array is None:
        return None
    values = array.detach().cpu().numpy() if isinstance(array, Tensor) else np.asarray(array)
    return f"{zlib.crc32(np.ascontiguousarray(values).data, zlib.crc32(str(values.shape).encode())):08x}"
