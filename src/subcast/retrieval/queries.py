"""From what a user passes (windows or steps, with holes, over all variables or some) to rows to compare."""

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
    """Query cells laid out as the kernels read them.

    Attributes
    ----------
    cells
        [..., r] float32, one value for each row compared, NaN where the query has none
    rows
        [r], the rows of the bank compared
    first
        how many of them, from the start, are readings
    own
        how many of them, from the start, are compared cell by cell; the rest are shared features
    counts
        [...] float32, how many cells each step brings to the mean
    """

    cells: NDArray[np.float32]
    rows: NDArray[np.int64]
    first: int
    own: int
    counts: NDArray[np.float32]


def as_queries(
    argument: str,
    values: ArrayLike,
    axes: str,
    variables: NDArray[np.int64],
    layout: Layout,
    shared: ArrayLike | None,
    mask: ArrayLike | None,
) -> Queries:
    """Check and lay out queries [*axes, n], [*axes, s], or either with features last.

    `axes` is "bt" for windows and "t" for consecutive steps ("" for one step). Variables are put in rising order,
    so that the order in which a user names them cannot change a sum.
    """
    order = np.argsort(variables)
    cells = cells_of(argument, values, axes, variables, layout, shared, mask)[..., order, :]
    present = ~np.isnan(cells[..., 0])  # [..., s]
    own = np.concatenate(
        [np.where(present, cells[..., feature], np.float32(np.nan)) for feature in layout.own_features],
        axis=-1,
    )  # [..., s * own features]
    common = [
        _the_same(argument, cells[..., feature], present, feature)[..., None] for feature in layout.shared_features
    ]
    laid_out = np.ascontiguousarray(np.concatenate([own, *common], axis=-1), dtype=np.float32)
    rows = np.concatenate([layout.own_rows(variables[order]), layout.shared_rows])
    n_common = np.sum(~np.isnan(laid_out[..., own.shape[-1] :]), axis=-1)
    counts = np.sum(~np.isnan(own), axis=-1) + np.sum(present, axis=-1) * n_common
    return Queries(laid_out, rows, variables.size, own.shape[-1], counts.astype(np.float32))


def cells_of(
    argument: str,
    values: ArrayLike,
    axes: str,
    variables: NDArray[np.int64],
    layout: Layout,
    shared: ArrayLike | None,
    mask: ArrayLike | None,
) -> NDArray[np.float32]:
    """Return the cells [*axes, s, f] of `variables`, in the order named, NaN where the mask says missing."""
    # what is not asked about is neither copied nor judged: it may be a dead sensor's garbage
    cells = _split_features(argument, _as_numbers(argument, values), axes, layout, shared is not None)
    cells = _as_float(_choose(argument, cells, axes, variables, layout))  # [..., s, f]
    if shared is not None:
        cells = _with_shared(cells, layout, shared)
    if mask is not None:
        present = _choose("mask", _as_mask(mask, argument)[..., None], axes, variables, layout)
        if present.shape[:-1] != cells.shape[:-1]:
            raise InputError(
                f"mask must have one entry for each reading of {argument} {cells.shape[:-1]}, got {present.shape[:-1]}"
            )
        cells = np.where(present, cells, np.float32(np.nan))
    if np.any(np.isinf(cells), where=~np.isnan(cells[..., :1])):
        raise InputError(f"{argument} holds infinite values: mark missing readings with NaN")
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
    with np.errstate(over="ignore"):  # what overflows is refused as infinite
        return array.astype(np.float32, copy=False)


def _as_mask(mask: ArrayLike, argument: str) -> NDArray[np.bool_]:
    array = np.asarray(mask)
    if array.dtype != bool:
        raise InputError(f"mask must be boolean, True where {argument} has a reading, got {array.dtype}")
    return array


def _split_features(argument: str, values: NDArray[Any], axes: str, layout: Layout, shared_apart: bool) -> NDArray[Any]:
    """Return `values` as [*axes, n or s, f], without the shared features if they are given apart."""
    lead = len(axes)
    wanted = len(layout.own_features) if shared_apart else layout.f
    if values.ndim == lead + 1 and wanted == 1:
        values = values[..., None]
    if values.ndim != lead + 2 or values.shape[-1] != wanted:
        expected = describe_axes(axes + "n") if wanted == 1 else describe_axes(axes + "nf")
        apart = ""
        if not shared_apart and layout.shared_features:
            apart = f"; or leave out the {len(layout.shared_features)} shared and pass them as shared="
        raise InputError(
            f"{argument} must be {expected} with {wanted} feature{'s' if wanted > 1 else ''}, "
            f"got shape {values.shape}{apart}"
        )
    return values


def _with_shared(values: NDArray[np.float32], layout: Layout, shared: ArrayLike) -> NDArray[np.float32]:
    """Give cells [..., s, own features] the shared features [..., g], to make [..., s, f]."""
    common = _as_float(_as_numbers("shared", shared))
    if np.isinf(common).any():
        raise InputError("shared holds infinite values: mark missing ones with NaN")
    expected_shape = (*values.shape[:-2], len(layout.shared_features))
    if common.shape != expected_shape:
        raise InputError(
            f"shared must hold one value for each step and shared feature, shape {expected_shape}, got {common.shape}"
        )
    cells = np.empty((*values.shape[:-1], layout.f), dtype=np.float32)
    cells[..., layout.own_features] = values
    cells[..., layout.shared_features] = common[..., None, :]
    return cells


def _choose(
    argument: str, cells: NDArray[Any], axes: str, variables: NDArray[np.int64], layout: Layout
) -> NDArray[Any]:
    """Take `variables` out of [..., n, f]; [..., s, f] is taken as it is, in the order of `variables`."""
    if cells.ndim != len(axes) + 2:
        raise InputError(f"{argument} must be {describe_axes(axes + 'n')}, got shape {cells.shape[:-1]}")
    if cells.shape[-2] == layout.n:
        return np.take(cells, variables, axis=-2)
    if cells.shape[-2] == variables.size:
        return cells
    raise InputError(
        f"{argument} must be {describe_axes(axes + 'n')} over all {layout.n} variables or over the "
        f"{variables.size} named in variables, got {cells.shape[-2]} (shape {cells.shape[:-1]})"
    )


def _the_same(
    argument: str, values: NDArray[np.float32], present: NDArray[np.bool_], feature: int
) -> NDArray[np.float32]:
    """Return the one value that a shared feature has at each step; NaN where no variable has a reading."""
    held = present & ~np.isnan(values)
    low = np.min(values, axis=-1, initial=np.inf, where=held)
    high = np.max(values, axis=-1, initial=-np.inf, where=held)
    if np.any(low < high):
        raise InputError(
            f"{argument} has different values of feature {feature} for different variables of one step, but in this "
            "bank that feature is shared by all variables: pass one value a step as shared="
        )
    return np.where(held.any(axis=-1), low, np.float32(np.nan))
