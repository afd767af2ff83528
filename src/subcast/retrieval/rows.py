"""From the arrays a user passes to the rows a bank stores."""

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
    """Return all series end to end [t, n] or [t, n, f], and where each begins (and the last ends)."""
    joined, sizes = _joined("values", values)
    check_axes("values", joined, "tn" if joined.ndim != 3 else "tnf")
    if joined.size == 0:
        raise InputError(f"values is empty (shape {joined.shape}): give at least one step of one variable")
    if lengths is not None:
        wanted = np.asarray(lengths)
        if len(sizes) > 1:
            raise InputError("lengths is for one array of several series; values already is a list of them")
        if wanted.dtype.kind not in "iu" or (wanted < 1).any() or wanted.sum() != joined.shape[0]:
            raise InputError(
                f"lengths must be whole numbers that add up to the {joined.shape[0]} steps of values, got {lengths}"
            )
        sizes = wanted.tolist()
    return joined, np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def _joined(argument: str, values: Any) -> tuple[NDArray[np.float32], list[int]]:
    several = isinstance(values, (list, tuple)) and len(values) > 0 and np.ndim(values[0]) >= 2
    parts = [np.asarray(part) for part in (values if several else [values])]
    for i, part in enumerate(parts):
        if part.dtype.kind not in "fiub":
            raise InputError(f"{argument} must be an array of numbers, got {part.dtype}")
        if part.ndim != parts[0].ndim or part.shape[1:] != parts[0].shape[1:]:
            raise InputError(
                f"{argument} must be series alike but for their steps, got shape {part.shape} at place {i} "
                f"after {parts[0].shape}"
            )
    if several:
        return np.concatenate(parts).astype(np.float32), [part.shape[0] for part in parts]
    return parts[0].astype(np.float32, copy=False), [parts[0].shape[0] if parts[0].ndim else 0]


def as_rows(
    values: NDArray[np.float32], shared: Any, mask: Any, shared_features: str | Sequence[int] = "auto"
) -> tuple[NDArray[np.float32], Layout, NDArray[np.bool_]]:
    """Return the rows [rows, t] of a bank, what each holds, and which have missing readings.

    Where a variable's reading (its first feature) is missing, so are its other features.
    """
    cells = values if values.ndim == 3 else values[..., None]  # [t, n, f]
    t, n, f = cells.shape
    same = _which_are_shared(cells, shared_features)
    common = [_the_one_value(cells[..., j], j) for j in range(f) if same[j]]
    if shared is not None:
        given, _ = _joined("shared", shared)
        given = given[:, None] if given.ndim == 1 else given
        if given.ndim != 2 or given.shape[0] != t:
            raise InputError(f"shared must be [t, g] with the {t} steps of values, got shape {given.shape}")
        common += list(given.T)
        same += [True] * given.shape[1]
    layout = Layout(n, tuple(same))
    rows = np.empty((layout.n_rows, t), dtype=np.float32)
    for place, feature in enumerate(layout.own_features):
        rows[place * n : (place + 1) * n] = cells[..., feature].T
    for row, line in zip(layout.shared_rows, common, strict=True):
        rows[row] = line
    _mark_missing(rows, n, len(layout.own_features), mask)
    if np.isinf(rows).any():
        raise InputError("values (or shared) holds infinite numbers: mark missing readings with NaN")
    holes = np.asarray(np.isnan(rows).any(axis=1))
    return rows, layout, holes


def _which_are_shared(cells: NDArray[np.float32], wanted: str | Sequence[int]) -> list[bool]:
    """Return for each feature of [t, n, f] whether it is kept once for all variables."""
    n, f = cells.shape[1:]
    if isinstance(wanted, str):
        if wanted not in {"auto", "none"}:
            raise InputError(f'shared_features must be "auto", "none" or a list of features, got {wanted!r}')
        return [wanted == "auto" and j > 0 and n > 1 and _moves_as_one(cells[..., j]) for j in range(f)]
    named = np.asarray(wanted)
    if named.size and (named.ndim != 1 or named.dtype.kind not in "iu" or named.min() < 1 or named.max() >= f):
        raise InputError(
            f"shared_features must name features after the reading, from 1 to {f - 1}, got {wanted}"
            if f > 1
            else f"shared_features names {wanted}, but values has no feature beside the reading"
        )
    return [j in named for j in range(f)]


def _moves_as_one(feature: NDArray[np.float32]) -> bool:
    """Whether a feature [t, n] changes over time and is the same for all variables.

    One that never changes, such as a fault flag that was never raised, may well differ between variables one day.
    """
    one = feature[:, :1]
    return bool(one.min() < one.max() and np.array_equal(feature, np.broadcast_to(one, feature.shape)))


def _the_one_value(values: NDArray[np.float32], feature: int) -> NDArray[np.float32]:
    """Return the value at each step of a shared feature [t, n], whichever variables have it."""
    low: NDArray[np.float32] = np.fmin.reduce(values, axis=1)  # [t]
    if np.any(low < np.fmax.reduce(values, axis=1)):
        raise InputError(
            f"shared_features names feature {feature}, but values has different values of it for different variables"
        )
    return low


def _mark_missing(rows: NDArray[np.float32], n: int, own: int, mask: Any) -> None:
    if mask is not None:
        parts = mask if isinstance(mask, (list, tuple)) and np.ndim(mask[0]) == 2 else [mask]
        present = np.concatenate([np.asarray(part) for part in parts])
        if present.dtype != bool or present.shape != (rows.shape[1], n):
            raise InputError(
                f"mask must be boolean [t, n] = ({rows.shape[1]}, {n}), True where there is a reading, "
                f"got shape {present.shape} of {present.dtype}"
            )
        rows[:n][~present.T] = np.nan
    for place in range(1, own):
        rows[place * n : (place + 1) * n][np.isnan(rows[:n])] = np.nan
