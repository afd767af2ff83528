"""A trained model that takes and returns NumPy arrays in raw units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import nn

from subcast.axes import check_axes, variable_indices
from subcast.errors import InputError
from subcast.forecasters import FORECASTERS
from subcast.forecasters.base import ForecastModule
from subcast.forecasters.one_thread import threads_for
from subcast.forecasters.protocol import Abilities
from subcast.scaling import Scaler
from subcast.storage.state import State

_AT_ONCE = 512


@dataclass(eq=False, repr=False)
class TrainedForecaster:
    """A trained model with the scaler it was trained with: forecasts in raw units.

    Call it, or its `predict`, on windows [b, t, n, f]; forecasts are [b, h, n]. A missing reading is NaN and is
    replaced by its variable's mean. A single window is computed on one processor thread, a batch on all of them.

    Parameters
    ----------
    module
        the network, on normalized values
    model
        its name
    scaler
        scaler of the first feature, the reading
    means
        [n] raw: each variable's mean over the training inputs
    variables
        the n names
    lookback, horizon, n_features
        sizes of the axes t, h and f
    time_features
        names of the features after the reading
    graph_source
        where the graph came from, for models that use one
    training
        how it was trained: settings, protocol, dataset, hours
    history
        a row for each epoch
    versions
        versions of the libraries it was trained with
    """

    module: nn.Module
    model: str
    scaler: Scaler
    means: NDArray[np.float64]
    variables: tuple[str, ...]
    lookback: int
    horizon: int
    n_features: int = 1
    time_features: tuple[str, ...] = ()
    graph_source: str | None = None
    training: dict[str, Any] = field(default_factory=dict)
    history: tuple[dict[str, float], ...] = ()
    versions: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.module.eval()

    @property
    def n_variables(self) -> int:
        """The number of variables."""
        return len(self.variables)

    def __repr__(self) -> str:
        """Return a text with the model and its sizes."""
        return (
            f"TrainedForecaster {self.model!r}: {self.lookback} + {self.horizon} steps of {self.n_variables} variables"
        )

    @property
    def abilities(self) -> Abilities:
        """Networks of subcast take absent variables and can be stored; every network takes missing readings."""
        ours = isinstance(self.module, ForecastModule)
        return Abilities(partial=ours, missing=True, storable=type(self.module) is FORECASTERS.get(self.model))

    def __call__(
        self, inputs: NDArray[np.floating[Any]], wanted: ArrayLike | Sequence[str] | None = None
    ) -> NDArray[np.float32]:
        """Forecast windows [b, t, n, f]: [b, h, n] in raw units, or [b, h, s] for the wanted variables only."""
        return self.predict(inputs, wanted=wanted)

    def forecast_partial(
        self,
        inputs: NDArray[np.floating[Any]],
        present: ArrayLike | Sequence[str],
        wanted: ArrayLike | Sequence[str] | None = None,
    ) -> NDArray[np.float32]:
        """Forecast with only some variables present: the paper's Partial setting."""
        return self.predict(inputs, present=present, wanted=wanted)

    def predict(
        self,
        inputs: NDArray[np.floating[Any]],
        present: ArrayLike | Sequence[str] | None = None,
        wanted: ArrayLike | Sequence[str] | None = None,
        batch_size: int = _AT_ONCE,
    ) -> NDArray[np.float32]:
        """Forecast windows in raw units.

        Parameters
        ----------
        inputs
            [b, t, n, f] (or [b, t, n] when there are no time features), NaN where a reading is missing
        present
            names, numbers or a mask of the variables that are present, all by default: the inputs of the others are set
            to the scaler's mean, and edges to and from them are removed (the paper's Partial setting); not for a module
            of your own
        wanted
            names, numbers or a mask of the variables to forecast, all by default
        batch_size
            number of windows in one pass

        Returns
        -------
        NDArray
            [b, h, n], or [b, h, s] when only some are wanted, float32
        """
        windows = np.asarray(inputs)
        if windows.ndim == 3 and self.n_features == 1:
            windows = windows[..., None]
        check_axes("inputs", windows, "btnf", t=self.lookback, n=self.n_variables, f=self.n_features)
        if batch_size < 1:
            raise InputError(f"batch_size must be 1 or more windows, got {batch_size}")
        device = next((parameter.device for parameter in self.module.parameters()), torch.device("cpu"))
        with torch.inference_mode(), threads_for(len(windows), device.type):
            forecasts = self._forecast(windows, present, wanted, batch_size, device)
        if not np.isfinite(forecasts).all():
            raise InputError(
                f"the {self.model} model gave forecasts that are NaN or infinite: its readings or its weights are too "
                "large to compute with; check the inputs, or train it again"
            )
        return forecasts

    def _forecast(
        self,
        windows: NDArray[np.floating[Any]],
        present: ArrayLike | Sequence[str] | None,
        wanted: ArrayLike | Sequence[str] | None,
        batch_size: int,
        device: torch.device,
    ) -> NDArray[np.float32]:
        """Forecast checked windows [b, t, n, f] in raw units: [b, h, s]."""
        ours = isinstance(self.module, ForecastModule)
        options = {}
        if present is not None:
            if not ours:
                raise InputError(
                    f"present goes with the package's own models, and {self.model} is another module: "
                    "set the inputs of absent variables to NaN, which counts as their mean"
                )
            mask = torch.zeros(self.n_variables, dtype=torch.bool)
            mask[self._indices(present, "present")] = True
            options["present"] = mask.to(device)
        wanted_indices = None if wanted is None else self._indices(wanted, "wanted")
        if wanted_indices is not None and ours:
            options["wanted"] = torch.as_tensor(wanted_indices, device=device)
        scaler = self.scaler if wanted_indices is None else self.scaler.select(wanted_indices)
        size = self.n_variables if wanted_indices is None else len(wanted_indices)
        forecasts = np.empty((len(windows), self.horizon, size), dtype=np.float32)
        self.module.eval()
        for first in range(0, len(windows), batch_size):
            x = torch.from_numpy(self._normalized(windows[first : first + batch_size])).to(device)
            y = self.module(x, **options).cpu().numpy()
            if wanted_indices is not None and not ours:
                y = y[:, :, wanted_indices]  # [b, h, s]
            forecasts[first : first + batch_size] = scaler.inverse(y)
        return forecasts

    def save(self, folder: str | Path) -> None:
        """Save weights and settings to a folder, from which `load` reads them."""
        from subcast.forecasters.checkpoint import save_forecaster

        save_forecaster(self, folder)

    @classmethod
    def load(cls, folder: str | Path) -> TrainedForecaster:
        """Load a model that `save` wrote; no code from the folder is executed."""
        from subcast.forecasters.checkpoint import load_forecaster

        return load_forecaster(folder)

    def state(self) -> State:
        """Return the state to save: the weights as safetensors, everything else as plain facts."""
        from subcast.forecasters.checkpoint import forecaster_state

        return forecaster_state(self)

    def graph(self) -> NDArray[np.float32] | None:
        """Return the graph [n, n] that the model uses, learned or given; None for models without one."""
        if not isinstance(self.module, ForecastModule) or not (self.module.needs_graph or self.module.learns_graph):
            return None
        with torch.inference_mode():
            adjacency: NDArray[np.float32] = self.module.adjacency().cpu().numpy()
        return adjacency

    def _indices(self, which: ArrayLike | Sequence[str], argument: str) -> NDArray[np.int64]:
        return variable_indices(which, self.n_variables, self.variables, argument)

    def _normalized(self, windows: NDArray[np.floating[Any]]) -> NDArray[np.float32]:
        """Return a normalized copy without NaN."""
        x = np.array(windows, dtype=np.float32)
        readings = np.where(np.isnan(x[..., 0]), self.means, x[..., 0])  # [b, t, n]
        x[..., 0] = self.scaler.transform(readings)
        if self.n_features > 1:
            np.nan_to_num(x[..., 1:], copy=False, nan=0.0)
        if np.isinf(x).any():
            raise InputError("inputs holds infinities: mark missing readings as NaN")
        return x
