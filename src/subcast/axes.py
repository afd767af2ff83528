"""Names of the axes of arrays, and checks of arguments that public functions share.

====== =========================================================
letter axis
====== =========================================================
b      windows in a batch
t      lookback steps (and, for a whole series, its steps)
h      horizon steps
n      variables
s      the variables present, a subset of n
f      features: the reading first, then time features such as the time of day
k      neighbors
====== =========================================================
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from subcast.errors import InputError

AXES = {
    "b": "windows",
    "t": "steps",
    "h": "horizon steps",
    "n": "variables",
    "s": "variables present",
    "f": "features",
    "k": "neighbors",
}


def describe_axes(axes: str) -> str:
    """Spell out a string of axis letters.

    >>> describe_axes("tn")
    '[t, n] (steps x variables)'
    """
    return f"[{', '.join(axes)}] ({' x '.join(AXES[axis] for axis in axes)})"


def check_axes(argument: str, array: NDArray[np.generic], axes: str, **sizes: int) -> None:
    """Raise an error unless `array` has these axes and sizes.

    >>> check_axes("windows", np.zeros((3, 12, 5)), "btn", t=12)
    >>> check_axes("windows", np.zeros((12, 5)), "btn")
    Traceback (most recent call last):
        ...
    subcast.errors.InputError: windows must be [b, t, n] (windows x steps x variables), got shape (12, 5)
    """
    if array.ndim != len(axes):
        raise InputError(f"{argument} must be {describe_axes(axes)}, got shape {array.shape}")
    for axis, size in zip(axes, array.shape, strict=True):
        if axis in sizes and sizes[axis] != size:
            raise InputError(
                f"{argument} must be {describe_axes(axes)} with {sizes[axis]} {AXES[axis]}, "
                f"got {size} (shape {array.shape})"
            )


def check_whole(argument: str, value: object, low: int = 1) -> int:
    """Return `value` as an integer, or raise an error unless it is a whole number of at least `low`.

    >>> check_whole("lookback", 12)
    12
    >>> check_whole("lookback", 0.5)
    Traceback (most recent call last):
        ...
    subcast.errors.InputError: lookback must be a whole number of at least 1, got 0.5
    """
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < low:
        raise InputError(f"{argument} must be a whole number of at least {low}, got {value!r}")
    return int(value)


def variable_indices(
    present: ArrayLike | Sequence[str],
    n: int,
    names: Sequence[str] | None = None,
    argument: str = "variables",
) -> NDArray[np.int64]:
    """Return the indices of variables given as names, indices or a boolean mask, in the order given.

    Parameters
    ----------
    present
        names (when `names` is given), indices, or a boolean mask of length `n`
    n
        the number of variables
    names
        the names of the variables, in order
    argument
        the name of the argument `present` in errors

    Examples
    --------
    >>> variable_indices([True, False, True], 3)
    array([0, 2])
    >>> variable_indices(["b"], 3, names=["a", "b", "c"])
    array([1])
    >>> variable_indices(["d"], 3, names=["a", "b", "c"])
    Traceback (most recent call last):
        ...
    subcast.errors.InputError: variables names 'd', which is not among the 3 variables (a, b, c)
    """
    given = np.asarray(present)
    if given.ndim != 1:
        raise InputError(
            f"{argument} must be a flat list of names, of indices or a boolean mask, got shape {given.shape}"
        )
    if given.size == 0:
        raise InputError(f"{argument} is empty: at least one of the {n} variables must be named")
    if given.dtype == bool:
        if given.size != n:
            raise InputError(
                f"{argument} as a mask must have one entry for each of the {n} variables, got {given.size}"
            )
        indices = np.flatnonzero(given)
        if indices.size == 0:
            raise InputError(f"{argument} as a mask has no True: at least one of the {n} variables must be named")
        return indices.astype(np.int64)
    if given.dtype.kind in "OUS":
        return _indices_of_names([str(name) for name in given], n, names, argument)
    if given.dtype.kind not in "iu":
        raise InputError(f"{argument} must be names, indices or a boolean mask, got values of type {given.dtype}")
    indices = given.astype(np.int64)
    outside = indices[(indices < 0) | (indices >= n)]
    if outside.size:
        raise InputError(f"{argument} holds index {outside[0]}, but the {n} variables are numbered 0 to {n - 1}")
    _refuse_repeats(indices.tolist(), argument)
    return indices


def _indices_of_names(given: list[str], n: int, names: Sequence[str] | None, argument: str) -> NDArray[np.int64]:
    if names is None:
        raise InputError(f"{argument} holds names, but these variables have none: give indices from 0 to {n - 1}")
    index_of = {name: index for index, name in enumerate(names)}
    for name in given:
        if name not in index_of:
            shown = ", ".join(names[:6]) + (", ..." if len(names) > 6 else "")
            raise InputError(f"{argument} names {name!r}, which is not among the {n} variables ({shown})")
    _refuse_repeats(given, argument)
    return np.array([index_of[name] for name in given], dtype=np.int64)


def _refuse_repeats(given: Sequence[object], argument: str) -> None:
    seen: set[object] = set()
    for item in given:
        if item in seen:
            raise InputError(f"{argument} names {item!r} twice: name each variable once")
        seen.add(item)
