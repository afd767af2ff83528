"""The settings of a forecast from a subset: given by the user or tuned on validation windows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subcast.axes import check_whole
from subcast.cycle import as_days
from subcast.errors import InputError
from subcast.retrieval.protocol import CENTERS
from subcast.subset.blend import SPECIALIST, Blend, Rows
from subcast.weighting import Evidence, get_weighting

REGRESSION_EXPERTS = ("linear", "boosted", "own_trees")
METRICS = ("mae", "rmse")
ASSISTS = ("missing", "always")
BLENDS = ("blend", "blend_absent", "blend_beyond")


@dataclass(frozen=True)
class Settings:
    """How absent variables are completed and forecasts combined.

    Parameters
    ----------
    neighbors
        m, the number of past windows that a forecast is based on
    exponent
        b of the distance |difference|^b
    weighting
        a name in `subcast.weighting.WEIGHTINGS`: "uniform", "distance" (DDW), "rank" (rank-order centroid) or, without
        pooling, "forecast" (FDW); or a function of `subcast.weighting.Evidence`
    temperature
        tau of DDW and FDW
    pool
        whether the neighbors are averaged into one completion that is forecast once, or each neighbor's completion is
        forecast and the forecasts are averaged
    correction
        alpha: 0 borrows the neighbors' readings unchanged; 1 adds the full correction, which a regression predicts
        from the differences between the window and its neighbors on S
    ridge
        lambda of that regression, and of the specialist's, in units of a variable's variance
    regression_share
        share of the same regression that the specialist adds to the neighbors' futures, 0 to 1
    center
        how the specialist combines the neighbors' futures: "median" (for absolute errors) or "mean"
    shares
        the values of |S| / N for which the blend has a row, in increasing order
    blend
        by expert, rows [shares, h]: the expert's share of the forecast of a variable in S; between shares it is
        interpolated, and it tends to 0 as S approaches all variables. Rows without a name are the specialist's.
    fades_from
        the |S| / N from which they tend to 0; the last of `shares` if that is larger
    blend_absent
        the same for variables that are absent (virtual sensors); `blend` when empty
    blend_beyond
        the same for a variable that has left the levels of its training, in which the model and the trees have no part:
        its share grows with the distance from the known levels. Empty: no such blend
    assist
        "missing": with all variables present the forecast is the model's own; "always": the experts help then too
    daily_profile
        whether readings are compared as deviations from each variable's usual value at that time: the time of day and
        class of day, or the day of the year for daily steps; after two years of shorter steps also the season
    holidays
        days such as "2024-12-25" that count as a Sunday in that profile, also those to come
    follow_levels
        whether variables that wander or grow are followed beyond the levels of their training: the model and the trees
        see them moved back to the nearest known level, and their forecasts are moved forward again
    time_of_day_weight
        weight of the time of day in the distance, with a daily profile
    features_in_distance
        whether the input features (time of day) count in the distance and are borrowed, as in the paper
    per_variable
        whether each variable has its own mean and deviation in the bank
    bank_share
        share of the training windows in the bank; one is drawn at random from each of equally long chunks
    """

    neighbors: int = 20
    exponent: float = 0.5
    weighting: str | Callable[[Evidence], NDArray[np.float32]] = "uniform"
    temperature: float = 0.1
    pool: bool = True
    correction: float = 0.5
    ridge: float = 0.1
    regression_share: float = 1.0
    center: str = "median"
    shares: tuple[float, ...] = (0.15, 0.5, 0.85)
    blend: Mapping[str, Rows] = field(default_factory=dict)
    blend_absent: Mapping[str, Rows] = field(default_factory=dict)
    blend_beyond: Mapping[str, Rows] = field(default_factory=dict)
    assist: str = "missing"
    daily_profile: bool = True
    holidays: tuple[str, ...] = ()
    time_of_day_weight: float = 0.05
    features_in_distance: bool = False
    per_variable: bool = True
    bank_share: float = 1.0
    follow_levels: bool = True
    fades_from: float = 0.0

    def __post_init__(self) -> None:
        check_whole("neighbors", self.neighbors)
        _check_range("exponent", self.exponent, 0, None, open_low=True)
        _check_range("temperature", self.temperature, 0, None, open_low=True)
        _check_range("correction", self.correction, 0, 1)
        _check_range("ridge", self.ridge, 0, None)
        _check_range("regression_share", self.regression_share, 0, 1)
        _check_range("time_of_day_weight", self.time_of_day_weight, 0, None)
        _check_range("fades_from", self.fades_from, 0, 0.999)
        _check_range("bank_share", self.bank_share, 0, 1, open_low=True)
        if get_weighting(self.weighting).needs_forecasts and self.pool:
            raise InputError(
                f"weighting {self.weighting!r} needs the forecast of each completed window: set pool=False, or weigh "
                "by 'uniform', 'distance' or 'rank'"
            )
        if self.center not in CENTERS:
            raise InputError(f"center must be one of {', '.join(CENTERS)}, got {self.center!r}")
        if self.assist not in ASSISTS:
            raise InputError(f"assist must be one of {', '.join(ASSISTS)}, got {self.assist!r}")
        object.__setattr__(self, "holidays", tuple(str(day) for day in as_days(self.holidays)))
        for name in ("pool", "daily_profile", "features_in_distance", "per_variable", "follow_levels"):
            if not isinstance(getattr(self, name), bool):
                raise InputError(f"{name} must be True or False, got {getattr(self, name)!r}")
        shares = _numbers("shares", self.shares, 1)
        if not shares.size or (np.diff(shares) <= 0).any() or shares[0] <= 0 or shares[-1] > 1:
            raise InputError(f"shares must be numbers above 0 and at most 1 in increasing order, got {self.shares!r}")
        for name in BLENDS:
            object.__setattr__(self, name, self._checked_blend(name))

    def _checked_blend(self, name: str) -> dict[str, Rows]:
        """Return the rows of a blend by expert; rows without a name are the specialist's."""
        blend = getattr(self, name)
        if not isinstance(blend, Mapping):
            empty = isinstance(blend, tuple | list) and not len(blend)
            blend = {} if empty else {SPECIALIST: blend}
        return {str(expert): self._checked_rows(name, rows) for expert, rows in blend.items()}

    def _checked_rows(self, name: str, table: Any) -> Rows:
        rows = _numbers(name, table, 2)
        if len(rows) != len(self.shares):
            raise InputError(f"{name} must have one row for each of the {len(self.shares)} shares, got {table!r}")
        if (rows < 0).any() or (rows > 1).any():
            raise InputError(f"{name} must hold shares from 0 to 1, got {table!r}")
        return tuple(tuple(float(value) for value in row) for row in rows)

    @classmethod
    def paper(cls, **changes: Any) -> Settings:
        """Return the settings of the published method: borrow from five neighbors, one forecast each, FDW."""
        published = cls(
            neighbors=5,
            weighting="forecast",
            pool=False,
            correction=0.0,
            regression_share=0.0,
            center="mean",
            daily_profile=False,
            time_of_day_weight=0.0,
            features_in_distance=True,
            per_variable=False,
        )
        return replace(published, **changes)

    @property
    def uses_specialist(self) -> bool:
        """Whether the specialist has any share."""
        return bool(self.blend_beyond) or any(any(row) for blend in self._blends for row in blend.get(SPECIALIST, ()))

    @property
    def uses_experts(self) -> bool:
        """Whether any expert besides the model has a share."""
        return any(any(row) for blend in self._blends for rows in blend.values() for row in rows)

    @property
    def needs_neighbor_forecasts(self) -> bool:
        """Whether the weighting needs the model's forecasts of training windows."""
        return get_weighting(self.weighting).needs_forecasts

    @property
    def uses_regression(self) -> bool:
        """Whether a regression is used, which needs moments."""
        is_linear = any(
            any(row) for blend in self._blends for name in REGRESSION_EXPERTS for row in blend.get(name, ())
        )
        return is_linear or self.correction > 0 or (self.uses_specialist and self.regression_share > 0)

    def blend_of(self, *, absent: bool) -> Blend:
        """Return the blend of variables that are present, or of those that are absent (virtual sensors)."""
        if absent:  # with all variables present there is no absent one, so no fading is needed
            return Blend(self.shares, self.blend_absent or self.blend, fades=False)
        return Blend(self.shares, self.blend, self.assist == "missing", self.fades_from)

    @property
    def _blends(self) -> tuple[Mapping[str, Rows], ...]:
        return self.blend, self.blend_absent, self.blend_beyond

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain values, for JSON."""
        if not isinstance(self.weighting, str):
            raise InputError(
                "a weighting given as a function cannot be stored: put it into subcast.weighting.WEIGHTINGS and give "
                "its name"
            )
        return asdict(self)

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Settings:
        """Return the settings from the result of `to_dict`, also after a round trip through JSON."""
        known = {field.name for field in fields(cls)}
        unknown = set(stored) - known
        if unknown:
            raise InputError(f"settings has no {', '.join(sorted(unknown))}; it has {', '.join(sorted(known))}")
        tuples = {name: tuple(stored[name]) for name in ("shares", "holidays") if name in stored}
        return cls(**{**stored, **tuples})


def _numbers(argument: str, value: object, axes: int) -> NDArray[np.float64]:
    """Return a tuple of numbers, or of rows of numbers, as an array."""
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        array = np.empty(())
    if array.ndim != axes or np.isnan(array).any():
        kind = "a tuple of numbers" if axes == 1 else "a tuple of rows of numbers, one a share, an entry for each step"
        raise InputError(f"{argument} must be {kind}, got {value!r}")
    return array


def _check_range(argument: str, value: object, low: float, high: float | None, *, open_low: bool = False) -> None:
    is_number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    converted = float(value) if isinstance(value, int | float | np.integer | np.floating) else float("nan")
    fits = is_number and np.isfinite(converted) and (converted > low if open_low else converted >= low)
    if not fits or (high is not None and converted > high):
        expected_range = f"above {low}" if open_low else f"at least {low}"
        expected_range += f" and at most {high}" if high is not None else ""
        raise InputError(f"{argument} must be a number {expected_range}, got {value!r}")
