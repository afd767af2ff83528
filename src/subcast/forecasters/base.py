"""ForecastModule: the base class of the forecasters in this package.

A module takes normalized inputs [b, t, n, f] and returns normalized forecasts [b, h, n]. In evaluation mode it is
deterministic, it does not modify its input, and the forecast of a window does not depend on the rest of the batch.

Inside the models, c is the axis of hidden channels and r = b n is the number of rows (one per window and variable).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from subcast.axes import check_whole
from subcast.errors import InputError


class ForecastModule(nn.Module):  # type: ignore[misc]
    """Base class of the forecasters: sizes, settings and checks of the input.

    A subclass implements `_windows(x, shared, wanted)`, which receives checked input in which absent variables are 0
    in every feature (the mean), and may override `_shared(present)`, which computes once per call whatever all
    windows have in common, such as the graph. The class attributes declare what the model can do; code that uses a
    model reads them and never asks for the model's name.

    Parameters
    ----------
    n_variables, lookback, horizon, n_features
        sizes of the axes n, t, h and f
    settings
        the other constructor arguments; stored in a checkpoint, so that the model can be built again
    """

    title: ClassVar[str] = ""
    """Name of the model in tables and figures, such as "MTGNN"."""

    needs_graph: ClassVar[bool] = False
    """Whether the constructor requires a `graph`."""

    learns_graph: ClassVar[bool] = False
    """Whether the model can learn its graph (`graph="learned"`, then the default)."""

    listens_along_rows: ClassVar[bool] = False
    """Whether entry (i, j) of the graph passes information from j to i; if False, from i to j."""

    rows_at_once = 1 << 11
    """Number of windows x variables computed together in evaluation, small enough for the processor's cache."""

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
            normalized inputs [b, t, n, f], without NaN in the variables that are present
        present
            [n] boolean mask of the variables that are present, all by default. The inputs of the others are set to 0
            in every feature, and in graph models every edge to or from them is removed.
        wanted
            [s] indices of the variables to forecast, all by default; the output layer skips the others

        Returns
        -------
        Tensor
            normalized forecasts [b, h, n], or [b, h, s] with `wanted`
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
            x = torch.where(present[:, None], x, x.new_zeros(()))  # this replaces NaN too
        if not len(x):
            return x.new_zeros(0, self.horizon, self.n_variables if wanted is None else len(wanted))
        shared = self._shared(present)
        if torch.is_grad_enabled():
            return self._windows(x, shared, wanted)
        chunk = max(1, self.rows_at_once // self.n_variables) if x.device.type == "cpu" else max(1, len(x))
        return torch.cat([self._windows(windows, shared, wanted) for windows in x.split(chunk)])

    def _shared(self, present: Tensor | None) -> Any:
        """Compute what all windows of a call have in common, such as the graph."""
        return None

    def _windows(self, x: Tensor, shared: Any, wanted: Tensor | None) -> Tensor:
        """Forecast windows x [b, t, n, f]: [b, h, s]."""
        raise NotImplementedError


def check_share(argument: str, value: float) -> None:
    """Raise an InputError unless a setting lies in [0, 1)."""
    if not 0 <= value < 1:
        raise InputError(f"{argument} must be at least 0 and below 1, got {value!r}")


def feed_back(
    forecast_next: Callable[[Tensor], Tensor], x: Tensor, horizon: int, present: Tensor | None, wanted: Tensor | None
) -> Tensor:
    """Forecast one step at a time, each fed back as input: [b, h, s].

    The forecast of an absent variable is not a reading: it stays at the mean.

    Parameters
    ----------
    forecast_next
        maps windows to the next step [b, 1, n]
    x
        windows without time features [b, t, n]
    horizon
        number of steps to forecast
    present, wanted
        as in `ForecastModule.forward`
    """
    steps = []
    for _ in range(horizon):
        step = forecast_next(x)  # [b, 1, n]
        steps.append(take(step, wanted, 2))
        if present is not None:
            step = torch.where(present, step, step.new_zeros(()))
        x = torch.cat([x[:, 1:], step], dim=1)
    return torch.cat(steps, dim=1)


def check_autoregressive(autoregressive: bool, n_features: int) -> None:
    """Raise an InputError if a model is autoregressive and has time features, whose future is not part of the input."""
    if autoregressive and n_features > 1:
        raise InputError(
            f"autoregressive needs inputs without time features (n_features=1), got n_features={n_features}: "
            "leave the time features out, or forecast all steps at once"
        )


def take(x: Tensor, wanted: Tensor | None, axis: int) -> Tensor:
    """Select the wanted variables along an axis; all of them when `wanted` is None."""
    return x if wanted is None else x.index_select(axis, wanted)
