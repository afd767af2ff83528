"""The contract that every forecaster of the package keeps.

A module sees normalized values: inputs [b, t, n, f] in, forecasts [b, h, n] out. In evaluation it is deterministic,
it leaves its input as it is, and a window's forecast does not depend on the rest of the batch.

Inside the models, c is the axis of hidden channels and r = b n the rows (one for each window and variable).
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from subcast.axes import check_whole
from subcast.errors import InputError


class ForecastModule(nn.Module):  # type: ignore[misc]
    """What the five models share: their sizes, their settings, and the checks on what comes in.

    A model writes `_windows(x, shared, wanted)`, which gets checked input with absent variables at the mean, that is
    0 in every feature, and `_shared(present)` for what all windows of a call share, such as the graph.

    Parameters
    ----------
    n_variables, lookback, horizon, n_features
        sizes of the axes n, t, h and f
    settings
        whatever else the model was built with: kept, so that a checkpoint can build it again
    """

    needs_graph = False
    """Whether the model must be given a graph."""

    learns_graph = False
    """Whether the model learns a graph of its own."""

    rows_at_once = 1 << 11
    """How many windows x variables to work on together in evaluation, so that they stay in the processor's cache."""

    def __init__(self, *, n_variables: int, lookback: int, horizon: int, n_features: int, **settings: Any) -> None:
        super().__init__()
        sizes = {"n_variables": n_variables, "lookback": lookback, "horizon": horizon, "n_features": n_features}
        for argument, size in sizes.items():
            check_whole(argument, size)
        self.n_variables, self.lookback, self.horizon, self.n_features = n_variables, lookback, horizon, n_features
        self.settings: dict[str, Any] = {**sizes, **settings}

    def forward(self, x: Tensor, present: Tensor | None = None, wanted: Tensor | None = None) -> Tensor:
        """Forecast the next steps.

        Parameters
        ----------
        x
            normalized inputs [b, t, n, f], without NaN in the variables that are there
        present
            [n] boolean, which variables are there: the inputs of the others count as 0 in every feature, and in graph
            models every edge to or from them is removed. All by default.
        wanted
            [s] numbers of the variables whose forecasts are wanted, all by default; the output head leaves the
            others out

        Returns
        -------
        Tensor
            normalized forecasts [b, h, n], or [b, h, s] when only some are wanted
        """
        expected = (self.lookback, self.n_variables, self.n_features)
        if x.dim() != 4 or tuple(x.shape[1:]) != expected:
            raise InputError(
                f"x must be [b, t, n, f] with {expected[0]} steps, {expected[1]} variables and {expected[2]} features, "
                f"got shape {tuple(x.shape)}"
            )
        if present is not None:
            if present.dtype != torch.bool or tuple(present.shape) != (self.n_variables,):
                raise InputError(
                    f"present must be a boolean mask of the {self.n_variables} variables, "
                    f"got {present.dtype} of shape {tuple(present.shape)}"
                )
            x = torch.where(present[:, None], x, x.new_zeros(()))  # whatever stood there, NaN too
        if not len(x):
            return x.new_zeros(0, self.horizon, self.n_variables if wanted is None else len(wanted))
        shared = self._shared(present)
        if torch.is_grad_enabled():
            return self._windows(x, shared, wanted)
        chunk = max(1, self.rows_at_once // self.n_variables) if x.device.type == "cpu" else max(1, len(x))
        return torch.cat([self._windows(part, shared, wanted) for part in x.split(chunk)])

    def _shared(self, present: Tensor | None) -> Any:
        return None

    def _windows(self, x: Tensor, shared: Any, wanted: Tensor | None) -> Tensor:
        raise NotImplementedError


def check_share(argument: str, value: float) -> None:
    """Raise unless a setting lies in [0, 1)."""
    if not 0 <= value < 1:
        raise InputError(f"{argument} must be at least 0 and below 1, got {value!r}")


def take(x: Tensor, wanted: Tensor | None, axis: int) -> Tensor:
    """The wanted variables along an axis, all of them when none are named."""
    return x if wanted is None else x.index_select(axis, wanted)
