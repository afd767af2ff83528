"""Conversion of the windows or steps that a user passes to the row layout that the kernels read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from subcast.axes import describe_axes
from subcast.errors import InputError
from subcast.retrieval.layout import Layout


@dataclass(frozen=True)
class Queries:
    """Query values in the row layout that the kernels read.

    Attributes
    ----------
    cells
        [..., r] float32, one value for each row to compare, NaN where the query has none
    rows
        [r], the rows of the bank to compare: readings, other own features, shared features
    n_readings
        number of rows that hold readings
    n_own
        number of rows that hold own features, including readings; the remaining rows hold shared features
    counts
        [...] float32, the number of cells of each step that enter the mean
    """

    cells: NDArray[np.float32]
    rows: NDArray[np.int64]
    n_readings: int
    n_own: int
    counts: NDArray[np.float32]

    def select(self, begin: int, end: int) -> Queries:
        """Return the windows `begin` to `end` (exclusive)."""
        return Queries(self.cells[begin:end], self.rows, self.n_readings, self.n_own, self.counts[begin:end])


def as_queries(
    argument: str,
    values: ArrayLike,
    axes: str,
    variables: NDArray[np.int64],
    layout: Layout,
    shared: ArrayLike | None,
    mask: ArrayLike | None,
) -> Queries:
    """Check queries [*axes, n] or [*axes, s], with features last if there are several, and return their row layout.

    `axes` is "bt" for windows, "t" for consecutive steps and "" for a single step. Variables are sorted, so that the
    order in which a user names them does not change a sum.
    """
    order = np.argsort(variables)
    cells = cells_of(argument, values, axes, variables, layout, shared, mask)[..., order, :]
    present = ~np.isnan(cells[..., 0])  # [..., s]
    own = np.concatenate(
        [np.where(present, cells[..., feature], np.float32(np.nan)) for feature in layout.own_features],
        axis=-1,
    )  # [..., s * own features]
    common = [
        _shared_value(argument, cells[..., feature], present, feature)[..., None] for feature in layout.shared_features
    ]
    row_cells = np.ascontiguousarray(np.concatenate([own, *common], axis=-1), dtype=np.float32)
    rows = np.concatenate([layout.own_rows(variables[order]), layout.shared_rows])
    n_common = np.sum(~np.isnan(row_cells[..., own.shape[-1] :]), axis=-1)
    counts = np.sum(~np.isnan(own), axis=-1) + np.sum(present, axis=-1) * n_common
    return Queries(row_cells, rows, variables.size, own.shape[-1], counts.astype(np.float32))


def cells_of(
    argument: str,
    values: ArrayLike,
    axes: str,
    variables: NDArray[np.int64],
    layout: Layout,
    shared: ArrayLike | None,
    mask: ArrayLike | None,
) -> NDArray[np.float32]:
    """Return the cells [*axes, s, f] of `variables`, in the given order, NaN where `mask` is False."""
    # Other variables are neither copied nor checked: a broken sensor may deliver infinite values.
    cells = _with_feature_axis(argument, _as_numbers(argument, values), axes, layout, shared is not None)
    cells = _as_float(_select_variables(argument, cells, axes, variables, layout))  # [..., s, f]
    if shared is not None:
        cells = _with_shared(cells, layout, shared)
    if mask is not None:
        present = _select_variables("mask", _as_mask(mask, argument)[..., None], axes, variables, layout)
        if present.shape[:-1] != cells.shape[:-1]:
            raise InputError(
                f"mask must have one entry for each reading of {argument}, shape {cells.shape[:-1]}, "
                f"got {present.shape[:-1]}"
            )
        cells = np.where(present, cells, np.float32(np.nan))
    if np.any(np.isinf(cells), where=~np.isnan(cells[..., :1])):
        raise InputError(f"{argument} contains infinite values: use NaN for missing readings")
    return cells


def _as_numbers(argument: str, values: ArrayLike) -> NDArray[Any]:
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "fiub":
            raise ValueError
    except (TypeError, ValueError):
        raise InputError(f"{argument} must be an array of numbers, got {type(values).__name__}") from None
    return array


def _as_float(array: NDArray[Any]) -> NDArray[np.float32]:
    with np.errstate(over="ignore"):  # values that overflow become infinite, which is checked later
        return array.astype(np.float32, copy=False)


def _as_mask(mask: ArrayLike, argument: str) -> NDArray[np.bool_]:
    array = np.asarray(mask)
    if array.dtype != bool:
        raise InputError(f"mask must be boolean, True where {argument} has a reading, got dtype {array.dtype}")
    return array


def _with_feature_axis(
    argument: str, values: NDArray[Any], axes: str, layout: Layout, shared_separate: bool
) -> NDArray[Any]:
    """Return `values` as [*axes, n or s, f], where f excludes the shared features if they are passed separately."""
    n_features = len(layout.own_features) if shared_separate else layout.f
    if values.ndim == len(axes) + 1 and n_features == 1:
        values = values[..., None]
    if values.ndim != len(axes) + 2 or values.shape[-1] != n_features:
        expected = describe_axes(axes + "n") if n_features == 1 else describe_axes(axes + "nf")
        advice = ""
        if not shared_separate and layout.shared_features:
            advice = f"; alternatively leave out the {len(layout.shared_features)} shared and pass them as shared="
        raise InputError(
            f"{argument} must be {expected} with {n_features} feature{'s' if n_features > 1 else ''}, "
            f"got shape {values.shape}{advice}"
        )
    return values


def _with_shared(values: NDArray[np.float32], layout: Layout, shared: ArrayLike) -> NDArray[np.float32]:
    """Add the shared features [..., g] to cells [..., s, own features] and return [..., s, f]."""
    common = _as_float(_as_numbers("shared", shared))
    if np.isinf(common).any():
        raise InputError("shared contains infinite values: use NaN for missing values")
    expected_shape = (*values.shape[:-2], len(layout.shared_features))
    if common.shape != expected_shape:
        raise InputError(
            f"shared must have one value for each step and shared feature, shape {expected_shape}, got {common.shape}"
        )
    cells = np.empty((*values.shape[:-1], layout.f), dtype=np.float32)
    cells[..., layout.own_features] = values
    cells[..., layout.shared_features] = common[..., None, :]
    return cells


def _select_variables(
    argument: str, cells: NDArray[Any], axes: str, variables: NDArray[np.int64], layout: Layout
) -> NDArray[Any]:
    """Select `variables` from cells [..., n, f]; return cells [..., s, f] that hold only them unchanged."""
    if cells.ndim != len(axes) + 2:
        raise InputError(f"{argument} must be {describe_axes(axes + 'n')}, got shape {cells.shape[:-1]}")
    if cells.shape[-2] == layout.n:
        return np.take(cells, variables, axis=-2)
    if cells.shape[-2] == variables.size:
        return cells
    raise InputError(
        f"{argument} must be {describe_axes(axes + 'n')} with all {layout.n} variables or with only the "
        f"{variables.size} of variables=, got {cells.shape[-2]} (shape {cells.shape[:-1]})"
    )


def _shared_value(
    argument: str, values: NDArray[np.float32], present: NDArray[np.bool_], feature: int
) -> NDArray[np.float32]:
    """Return the value of a shared feature at each step, NaN where no variable has a reading."""
    known = present & ~np.isnan(values)
    low = np.min(values, axis=-1, initial=np.inf, where=known)
    high = np.max(values, axis=-1, initial=-np.inf, where=known)
    if np.any(low < high):
        raise InputError(
            f"{argument} must have one value of feature {feature} for all variables of a step, because the bank stores "
            f"this feature as shared, got different values of feature {feature}: pass one value per step as shared="
        )
    return np.where(known.any(axis=-1), low, np.float32(np.nan))
