"""Conversion of the arrays that a user passes to the rows that a bank stores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from subcast.axes import check_axes
from subcast.errors import InputError
from subcast.retrieval.layout import Layout


def join_series(
    values: ArrayLike | Sequence[ArrayLike], lengths: Sequence[int] | None
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return all series concatenated, [t, n] or [t, n, f], and the offsets at which they begin (and the last ends)."""
    joined, sizes = _concatenate("values", values)
    check_axes("values", joined, "tn" if joined.ndim != 3 else "tnf")
    if joined.size == 0:
        raise InputError(f"values must have at least one step and one variable, got shape {joined.shape}")
    if lengths is not None:
        given_sizes = np.asarray(lengths)
        if len(sizes) > 1:
            raise InputError(
                f"lengths must be None when values is a list of series, got {lengths}: it is for one concatenated array"
            )
        if given_sizes.dtype.kind not in "iu" or (given_sizes < 1).any() or given_sizes.sum() != joined.shape[0]:
            raise InputError(
                f"lengths must be whole numbers that add up to the {joined.shape[0]} steps of values, got {lengths}"
            )
        sizes = given_sizes.tolist()
    return joined, np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def _concatenate(argument: str, values: Any) -> tuple[NDArray[np.float32], list[int]]:
    """Return one series, or a list of series concatenated, and the number of steps of each."""
    is_list = isinstance(values, (list, tuple)) and len(values) > 0 and np.ndim(values[0]) >= 2
    series = [np.asarray(one) for one in (values if is_list else [values])]
    first = series[0]
    for i, one in enumerate(series):
        if one.dtype.kind not in "fiub":
            raise InputError(f"{argument} must be an array of numbers, got dtype {one.dtype}")
        if one.ndim != first.ndim or one.shape[1:] != first.shape[1:]:
            raise InputError(
                f"{argument} must be a list of series with the same variables and features, got shape {first.shape} "
                f"for series 0 and {one.shape} for series {i}"
            )
    if is_list:
        return np.concatenate(series).astype(np.float32), [one.shape[0] for one in series]
    return first.astype(np.float32, copy=False), [first.shape[0] if first.ndim else 0]


def as_rows(
    values: NDArray[np.float32], shared: Any, mask: Any, shared_features: str | Sequence[int] = "auto"
) -> tuple[NDArray[np.float32], Layout, NDArray[np.bool_]]:
    """Return the rows [rows, t] of a bank, their layout, and which rows have missing values.

    Where the reading of a variable (its first feature) is missing, its other features are set to NaN too.
    """
    cells = values if values.ndim == 3 else values[..., None]  # [t, n, f]
    t, n, f = cells.shape
    is_shared = _which_are_shared(cells, shared_features)
    common = [_shared_value(cells[..., j], j) for j in range(f) if is_shared[j]]
    if shared is not None:
        more, _ = _concatenate("shared", shared)
        more = more[:, None] if more.ndim == 1 else more
        if more.ndim != 2 or more.shape[0] != t:
            raise InputError(f"shared must be [t, g] with the {t} steps of values, got shape {more.shape}")
        common += list(more.T)
        is_shared += [True] * more.shape[1]
    layout = Layout(n, tuple(is_shared))
    rows = np.empty((layout.n_rows, t), dtype=np.float32)
    for i, feature in enumerate(layout.own_features):
        rows[i * n : (i + 1) * n] = cells[..., feature].T
    for row, line in zip(layout.shared_rows, common, strict=True):
        rows[row] = line
    _mark_missing(rows, n, len(layout.own_features), mask)
    if np.isinf(rows).any():
        raise InputError("values and shared must be finite or NaN, got infinite values: use NaN for missing readings")
    holes = np.asarray(np.isnan(rows).any(axis=1))
    return rows, layout, holes


def _which_are_shared(cells: NDArray[np.float32], shared_features: str | Sequence[int]) -> list[bool]:
    """Return for each feature of cells [t, n, f] whether it is stored once for all variables."""
    n, f = cells.shape[1:]
    if isinstance(shared_features, str):
        if shared_features not in {"auto", "none"}:
            raise InputError(f'shared_features must be "auto", "none" or a list of features, got {shared_features!r}')
        auto = shared_features == "auto" and n > 1
        return [auto and j > 0 and _looks_shared(cells[..., j]) for j in range(f)]
    indices = np.asarray(shared_features)
    if indices.size and (
        indices.ndim != 1 or indices.dtype.kind not in "iu" or indices.min() < 1 or indices.max() >= f
    ):
        raise InputError(
            f"shared_features must be indices of features after the reading, from 1 to {f - 1}, got {shared_features}"
            if f > 1
            else f"shared_features must be empty, because values has only the reading, got {shared_features}"
        )
    return [j in indices for j in range(f)]


def _looks_shared(feature: NDArray[np.float32]) -> bool:
    """Return whether a feature [t, n] changes over time and is the same for all variables at every step.

    A constant feature does not count: a fault flag that was never set may differ between variables later.
    """
    first = feature[:, :1]
    return bool(first.min() < first.max() and np.array_equal(feature, np.broadcast_to(first, feature.shape)))


def _shared_value(values: NDArray[np.float32], feature: int) -> NDArray[np.float32]:
    """Return the value at each step of a shared feature [t, n], from the variables that have it."""
    low: NDArray[np.float32] = np.fmin.reduce(values, axis=1)  # [t]
    if np.any(low < np.fmax.reduce(values, axis=1)):
        raise InputError(
            f"shared_features contains {feature}, so feature {feature} of values must be the same for all variables, "
            "got different values at one step"
        )
    return low


def _mark_missing(rows: NDArray[np.float32], n: int, n_own: int, mask: Any) -> None:
    """Set readings to NaN where `mask` is False, and the other `n_own` - 1 own features where the reading is NaN."""
    if mask is not None:
        masks = mask if isinstance(mask, (list, tuple)) and np.ndim(mask[0]) == 2 else [mask]
        present = np.concatenate([np.asarray(one) for one in masks])
        if present.dtype != bool or present.shape != (rows.shape[1], n):
            raise InputError(
                f"mask must be boolean [t, n] = ({rows.shape[1]}, {n}), True where there is a reading, "
                f"got shape {present.shape} of {present.dtype}"
            )
        rows[:n][~present.T] = np.nan
    for i in range(1, n_own):
        rows[i * n : (i + 1) * n][np.isnan(rows[:n])] = np.nan
