"""The blend: the share of each expert in the forecast, by step ahead and by the share of variables present."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from subcast.errors import InputError
from subcast.subset.wandering import moved_part

if TYPE_CHECKING:
    from subcast.subset.completion import Completed

Rows = tuple[tuple[float, ...], ...]
SPECIALIST = "specialist"
"""The expert into which the others are mixed where a variable has left the levels of its training."""


@dataclass(frozen=True)
class Blend:
    """Shares of the experts; each expert is mixed in turn into the blend of the experts before it.

    Parameters
    ----------
    shares
        the values of |S| / N for which there is a row, in increasing order
    rows
        by expert, [shares, h]: the expert's share of the forecast, interpolated linearly in |S| / N
    fades
        whether the experts' shares tend to 0 as S approaches all variables
    fades_from
        the |S| / N from which they do; the last of `shares` if that is larger

    Examples
    --------
    >>> blend = Blend((0.2, 0.6), {"specialist": ((0.4, 0.6), (0.2, 0.2))})
    >>> blend.share_of("specialist", 0.4).round(3), blend.share_of("specialist", 0.8).round(3)
    (array([0.3, 0.4]), array([0.1, 0.1]))
    >>> blend.share_of("specialist", 1.0)
    array([0., 0.])
    >>> Blend((0.2, 0.6), {"specialist": ((0.4, 0.6), (0.2, 0.2))}, fades_from=0.8).share_of("specialist", 0.9).round(3)
    array([0.1, 0.1])
    """

    shares: tuple[float, ...]
    rows: Mapping[str, Rows]
    fades: bool = True
    fades_from: float = 0.0

    def share_of(self, expert: str, present_share: float) -> NDArray[np.float64]:
        """Return an expert's share at each step ahead, [h], for |S| / N = `present_share`."""
        table = np.asarray(self.rows[expert], dtype=np.float64)  # [shares, h]
        knots = np.asarray(self.shares)
        if self.fades and self.fades_from > knots[-1]:
            knots, table = np.append(knots, self.fades_from), np.vstack([table, table[-1]])
        if self.fades:
            knots, table = np.append(knots, 1.0), np.vstack([table, np.zeros(table.shape[1])])
        place = int(np.clip(np.searchsorted(knots, present_share, side="right") - 1, 0, len(knots) - 1))
        beyond = np.clip(present_share, knots[0], knots[-1]) - knots[place]
        if not beyond:  # at a knot, or outside of them
            return np.array(table[place])
        slope = (table[place + 1] - table[place]) / (knots[place + 1] - knots[place])
        return np.asarray(slope * beyond + table[place])

    def rest(self, present_share: float) -> NDArray[np.float64]:
        """Return what the experts leave to the first one at each step ahead; [1] if they leave everything."""
        left: NDArray[np.float64] = np.ones(1)
        for expert in self.rows:
            left = left * (1 - self.share_of(expert, present_share))
        return left

    def combine(
        self,
        first: NDArray[np.float32],
        others: Mapping[str, Callable[[], NDArray[np.float32]]],
        present_share: float,
    ) -> NDArray[np.float32]:
        """Return the blended forecast, [b, h, s].

        Parameters
        ----------
        first
            the forecast of the first expert
        others
            by expert, a function that computes its forecast; called only if the expert has a share above 0
        present_share
            |S| / N
        """
        mean = first
        for expert in self.rows:
            share = self.share_of(expert, present_share).astype(np.float32)[:, None]  # [h, 1]
            if share.any():
                forecast = others[expert]()
                if forecast.shape != mean.shape:
                    raise InputError(
                        f"the expert {expert!r} must return forecasts [b, h, s] = {mean.shape}, got {forecast.shape}"
                    )
                mean = (1 - share) * mean + share * forecast
        return mean


def blend_experts(done: Completed, first: NDArray[np.float32]) -> NDArray[np.float32]:
    """Blend the first expert's forecast with those of the other experts.

    Parameters
    ----------
    done
        the completed windows
    first
        [b, h, s], the first expert's forecast of S, followed by that of the absent variables if they are wanted

    Returns
    -------
    NDArray
        [b, h, s], the blended forecast of the same variables
    """
    fitted, settings, n_present = done.fitted, done.settings, len(done.present)
    blended = []
    for absent, first_forecast in ((False, first[:, :, :n_present]), (True, first[:, :, n_present:])):
        if first_forecast.shape[2]:  # the absent variables are not always wanted
            variables = fitted.others(done.present) if absent else done.present
            forecasts = {name: partial(expert.forecast, done, variables) for name, expert in fitted.experts.items()}
            blend = settings.blend_of(absent=absent)
            mean = blend.combine(first_forecast, forecasts, n_present / fitted.n)
            blended.append(mean if absent else _blend_beyond(done, mean, forecasts))
    return np.concatenate(blended, axis=2)


def _blend_beyond(
    done: Completed, mean: NDArray[np.float32], forecasts: Mapping[str, Callable[[], NDArray[np.float32]]]
) -> NDArray[np.float32]:
    """Return the forecast of S [b, h, s], where levels are unknown that of the experts which need not know them."""
    settings, known, offsets = done.settings, done.fitted.known_levels, done.moved.arrived.offsets
    if not settings.blend_beyond or known is None or offsets is None:
        return mean
    share = len(done.present) / done.fitted.n
    part = known.strangeness(offsets)[:, None, done.present]
    if settings.assist == "missing":
        part = np.float32(moved_part(share)) * part
    blend = Blend(settings.shares, settings.blend_beyond, fades=False)
    steady = blend.combine(forecasts[SPECIALIST](), forecasts, share)
    return np.asarray((1 - part) * mean + part * steady, dtype=np.float32)
