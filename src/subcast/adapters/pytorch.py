"""A PyTorch module of your own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subcast.adapters.base import AdaptedForecaster, checked_names, load_library
from subcast.errors import InputError
from subcast.forecasters.one_thread import threads_for
from subcast.scaling import Scaler


def from_torch(
    module: Any,
    *,
    lookback: int,
    horizon: int,
    scaler: Scaler | None = None,
    variables: Sequence[str] = (),
    n_features: int | None = None,
    device: Any = None,
    one_thread: bool = True,
) -> AdaptedForecaster:
    """Adapt a trained `torch.nn.Module`; it is put in evaluation mode.

    Parameters
    ----------
    module
        its forward maps a float32 tensor [b, t, n, f] to [b, h, n]
    lookback, horizon
        sizes of the axes t and h
    scaler
        of the first feature, when the module works on normalized values: its input is normalized, its output brought
        back to raw units
    variables
        the n names in the module's order
    n_features
        size of the axis f, when the module depends on it
    device
        where to move the module; where its parameters are by default
    one_thread
        whether a single window is computed on one processor thread, which keeps the times of requests even; False for
        a module so large that one window keeps several threads busy. A batch always uses all of them

    Examples
    --------
    >>> import numpy as np
    >>> from torch import nn
    >>> class Linear(nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.map = nn.Linear(12, 4)
    ...     def forward(self, x):  # [b, t, n, f]
    ...         return self.map(x[..., 0].transpose(1, 2)).transpose(1, 2)  # [b, h, n]
    >>> forecaster = from_torch(Linear(), lookback=12, horizon=4)
    >>> forecaster(np.ones((5, 12, 3, 1))).shape
    (5, 4, 3)
    """
    torch = load_library("torch", "from_torch")
    if not isinstance(module, torch.nn.Module):
        raise InputError(f"module must be a torch.nn.Module, got {type(module).__name__}")
    if device is not None:
        module.to(device)
    n = None if scaler is None or scaler.mean.size == 1 else int(scaler.mean.size)
    run = _TorchModule(module, scaler, one_thread)
    return AdaptedForecaster(run, lookback, horizon, "torch", checked_names(variables), n_features, n_variables=n)


@dataclass(frozen=True, eq=False)
class _TorchModule:
    """A module, perhaps on normalized values, as a function of windows in raw units."""

    module: Any
    scaler: Scaler | None
    one_thread: bool = True

    def __call__(self, x: NDArray[np.float32]) -> Any:
        torch = load_library("torch", "from_torch")
        self.module.eval()
        device = next((parameter.device for parameter in self.module.parameters()), torch.device("cpu"))
        normal = x if self.scaler is None else self.scaler.transform_inputs(x)
        with torch.inference_mode(), threads_for(len(x) if self.one_thread else 0, device.type):
            y = self.module(torch.from_numpy(normal).to(device))
        if self.scaler is None or not isinstance(y, torch.Tensor) or y.dim() != 3:
            return y  # the caller raises the error
        return self.scaler.inverse(y.cpu().float().numpy())
