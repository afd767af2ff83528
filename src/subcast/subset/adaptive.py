"""Intervals whose width follows the coverage that they had: adaptive conformal prediction.

Forecasts are grouped by the share of readings that they had. Each group has a factor by which its intervals are
widened. With every step the factor grows if more readings than the level allows lie outside of the forecasts of that
step, and shrinks if fewer do.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subcast.data_protocol import PROTOCOLS
from subcast.errors import InputError
from subcast.limits import Limits

EDGES = (0.15, 0.5, 0.85, 0.999)
GROUPS = ("0-15 %", "15-50 %", "50-85 %", "85-99 %", "all")
RATE = 0.06
"""How fast the logarithm of a factor follows the share of readings outside."""

_SMALLEST, _LARGEST = 0.25, 8.0


def group_of(share: float) -> int:
    """Return the group of a share of readings present.

    >>> [GROUPS[group_of(share)] for share in (0.1, 0.5, 1.0)]
    ['0-15 %', '50-85 %', 'all']
    """
    return int(np.searchsorted(EDGES, share, side="right"))


def followed(factor: float, inside: float, level: float) -> float:
    """Return the factor after a step of which a share of the readings lay inside.

    >>> followed(1.0, 0.5, 0.9) > 1, followed(1.0, 1.0, 0.9) < 1
    (True, True)
    """
    moved = np.log(factor) + RATE * ((1 - inside) - (1 - level))
    return float(np.clip(np.exp(moved), _SMALLEST, _LARGEST))


def widened(mean: NDArray[Any], bounds: NDArray[np.float32], factor: float) -> NDArray[np.float32]:
    """Return bounds that are `factor` times as far from the mean; a copy."""
    return np.array(bounds if factor == 1 else mean + np.float32(factor) * (bounds - mean), dtype=np.float32)


def widened_within(
    mean: NDArray[Any], bounds: NDArray[np.float32], factor: float, limits: Limits | None, variables: Any
) -> NDArray[np.float32]:
    """Return widened bounds [..., 2, h, s] that reach beyond the limits of the `variables` no further than before."""
    wide = widened(mean, bounds, factor)
    if limits is not None:
        lower, upper = np.moveaxis(bounds, -3, 0)
        wide[..., 0, :, :] = np.maximum(wide[..., 0, :, :], np.minimum(lower, limits.low[variables]))
        wide[..., 1, :, :] = np.minimum(wide[..., 1, :, :], np.maximum(upper, limits.high[variables]))
    return wide


def counted(values: NDArray[Any], protocol: str) -> NDArray[Any]:
    """Return the readings that count for the coverage; zeros become NaN if the protocol has them as missing in targets.

    >>> counted(np.array([0.0, 2.0]), "paper"), counted(np.array([0.0, 2.0]), "default")
    (array([nan,  2.]), array([0., 2.]))
    """
    rules = PROTOCOLS.get(protocol)
    return np.where(values == 0, np.nan, values) if rules is not None and rules.zeros_missing_in_targets else values


@dataclass(frozen=True, eq=False)
class _Bounds:
    """The bounds [2, h, n] of a forecast made at a step, NaN where nothing was forecast, and its group."""

    step: int
    group: int
    bounds: NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class AdaptiveWidths:
    """The factors of the groups, and the forecasts whose readings have not all come yet.

    Parameters
    ----------
    level
        of the intervals whose coverage is followed
    factors
        by group
    made
        forecasts whose readings have not all come yet

    Examples
    --------
    >>> widths = AdaptiveWidths(0.9).remembering(0, 1.0, np.array([[[9.0]], [[11.0]]]))  # step 1 will be in 9 to 11
    >>> widths.scored(1, np.array([12.0])).factor(1.0) > 1
    True
    """

    level: float
    factors: tuple[float, ...] = (1.0,) * len(GROUPS)
    made: tuple[_Bounds, ...] = ()

    def factor(self, share: float) -> float:
        """Return the factor for forecasts from a share of the readings."""
        return self.factors[group_of(share)]

    def remembering(self, step: int, share: float, bounds: NDArray[Any]) -> AdaptiveWidths:
        """Return the same with the widened bounds [2, h, n] of a forecast that was made at `step`."""
        others = (made for made in self.made if made.step != step)
        return replace(self, made=(*others, _Bounds(step, group_of(share), bounds)))

    def scored(self, step: int, values: NDArray[Any]) -> AdaptiveWidths:
        """Return the factors after the readings [n] of a step, compared with all forecasts of it."""
        counts = np.zeros((len(self.factors), 2))  # of each group: readings that have a forecast, and those inside
        for made in self.made:
            ahead = step - made.step - 1
            if 0 <= ahead < made.bounds.shape[1]:
                lower, upper = made.bounds[:, ahead]
                compared = ~np.isnan(values) & ~np.isnan(lower)
                inside = compared & (values >= lower) & (values <= upper)
                counts[made.group] += compared.sum(), inside.sum()
        factors = tuple(
            followed(factor, inside / compared, self.level) if compared else factor
            for factor, (compared, inside) in zip(self.factors, counts.tolist(), strict=True)
        )
        return AdaptiveWidths(
            self.level, factors, tuple(made for made in self.made if step - made.step < made.bounds.shape[1])
        )


def checked_factors(adapt: Any) -> tuple[float, ...] | None:
    """Return the factors to begin with: those given, 1 for all groups if `adapt` is True, None if it is False.

    >>> checked_factors(True)
    (1.0, 1.0, 1.0, 1.0, 1.0)
    """
    if isinstance(adapt, bool | np.bool_):
        return (1.0,) * len(GROUPS) if adapt else None
    factors: tuple[float, ...] = ()
    if isinstance(adapt, Sequence | np.ndarray) and not isinstance(adapt, str | bytes):
        with suppress(TypeError, ValueError):
            factors = tuple(float(factor) for factor in adapt)
    if len(factors) != len(GROUPS) or not all(_SMALLEST <= factor <= _LARGEST for factor in factors):
        raise InputError(
            f"adapt must be True, False or the interval_factors of an earlier stream ({len(GROUPS)} numbers from "
            f"{_SMALLEST:g} to {_LARGEST:g}), got {adapt!r}"
        )
    return factors
