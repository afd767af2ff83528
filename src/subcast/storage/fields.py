"""Checked reading of a saved state: every fact and array is compared with what it must be before it is used.

A folder may come from anywhere, and its checksums may have been computed again. Each function returns one field, or
raises a DataError that names the folder, the field, what it must be and what was found.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subcast.errors import DataError
from subcast.storage.state import State

MOST = 1 << 40
"""Upper bound of a whole number for which there is no closer one."""

_LARGEST = sys.float_info.max
_LONGEST_REASON = 240  # letters of what another error said
_AT_ONCE = 1 << 20  # values of an array that are looked through together


def fact(state: State, name: str) -> Any:
    """Return a fact of any kind."""
    if name not in state.facts:
        raise state.damaged(f"it has no {name}")
    return state.facts[name]


def whole(state: State, name: str, low: int = 0, high: int = MOST) -> int:
    """Return a whole number from `low` to `high`.

    >>> whole(State({"lookback": 12}), "lookback", 1)
    12
    >>> whole(State({"lookback": -3}, source="plant"), "lookback", 1, 40)
    Traceback (most recent call last):
        ...
    subcast.errors.DataError: plant is damaged or was changed by hand (its lookback must be a whole number from 1 to 40,
    got -3): copy or save it again
    """
    value = fact(state, name)
    if type(value) is not int or not low <= value <= high:
        raise wrong(state, name, f"a whole number from {low} to {high}", value)
    return value


def number(state: State, name: str, low: float = -math.inf, high: float = math.inf) -> float:
    """Return a finite number from `low` to `high`; a whole number stays one."""
    value = fact(state, name)
    if not _is_finite(value) or not low <= value <= high:
        raise wrong(state, name, f"a finite number from {low:g} to {high:g}", value)
    return value


def flag(state: State, name: str) -> bool:
    """Return True or False."""
    value = fact(state, name)
    if not isinstance(value, bool):
        raise wrong(state, name, "true or false", value)
    return value


def text(state: State, name: str, choices: Collection[str] | None = None) -> str:
    """Return a text, one of `choices` if they are given."""
    value = fact(state, name)
    if not isinstance(value, str) or (choices is not None and value not in choices):
        raise wrong(state, name, "a text" if choices is None else f"one of {', '.join(choices)}", value)
    return value


def optional_text(state: State, name: str) -> str | None:
    """Return a text, or None."""
    return None if fact(state, name) is None else text(state, name)


def texts(state: State, name: str, count: int | None = None) -> tuple[str, ...]:
    """Return a list of different texts, `count` of them if given."""
    values = sequence(state, name, count)
    if not all(isinstance(value, str) for value in values) or len(set(values)) < len(values):
        raise wrong(state, name, "a list of different texts", values)
    return tuple(values)


def numbers(state: State, name: str, count: int | None = None) -> tuple[float, ...]:
    """Return a list of finite numbers, `count` of them if given."""
    values = sequence(state, name, count)
    if not all(_is_finite(value) for value in values):
        raise wrong(state, name, "a list of finite numbers", values)
    return tuple(values)


def _is_finite(value: Any) -> bool:
    """Return whether a value is a number that a float can hold; JSON may hold whole numbers of any length."""
    return type(value) in (int, float) and -_LARGEST <= value <= _LARGEST


def sequence(state: State, name: str, count: int | None = None) -> list[Any]:
    """Return a list, of `count` entries if given."""
    values = fact(state, name)
    if not isinstance(values, list) or (count is not None and len(values) != count):
        raise wrong(state, name, "a list" if count is None else f"a list of {count} entries", values)
    return values


def mapping(state: State, name: str) -> dict[str, Any]:
    """Return facts by name."""
    values = fact(state, name)
    if not isinstance(values, dict):
        raise wrong(state, name, "facts by name", values)
    return values


def has_array(state: State, name: str) -> bool:
    """Return whether the state has an array of that name."""
    return name in state.arrays


def array(
    state: State,
    name: str,
    dtype: type[np.generic],
    shape: Sequence[int | None],
    *,
    low: float = -math.inf,
    high: float = math.inf,
    missing: bool = False,
) -> NDArray[Any]:
    """Return an array of a type and shape, whose values are finite and lie from `low` to `high`.

    Parameters
    ----------
    state, name
        the state, and the name of the array
    dtype
        the type of its values
    shape
        the size of each axis; None for any size
    low, high
        range of the values
    missing
        whether NaN, for a missing value, is allowed

    Examples
    --------
    >>> array(State({}, {"starts": np.arange(3)}), "starts", np.int64, [None], low=0, high=9)
    array([0, 1, 2])
    >>> array(State({}, {"starts": np.array([7, 12])}, source="plant"), "starts", np.int64, [None], high=9)
    Traceback (most recent call last):
        ...
    subcast.errors.DataError: plant is damaged or was changed by hand (its starts holds 12, and must lie from -inf
    to 9): copy or save it again
    """
    if name not in state.arrays:
        raise state.damaged(f"it has no {name}")
    values = state.arrays[name]
    fits = values.ndim == len(shape) and all(
        size is None or found == size for found, size in zip(values.shape, shape, strict=True)
    )
    if values.dtype != np.dtype(dtype) or not fits:
        sizes = ", ".join("any" if size is None else str(size) for size in shape)
        expected = f"{np.dtype(dtype)} [{sizes}]"
        raise state.damaged(f"its {name} must be {expected}, got {values.dtype} {list(values.shape)}")
    if values.dtype.kind != "b" and not state.trusted:
        _check_values(state, name, values, low, high, missing)
    return values


def _check_values(state: State, name: str, values: NDArray[Any], low: float, high: float, missing: bool) -> None:
    flat = values.reshape(-1)
    for first in range(0, flat.size, _AT_ONCE):
        block = flat[first : first + _AT_ONCE]
        fine = np.isfinite(block)
        if low > -math.inf or high < math.inf:
            with np.errstate(invalid="ignore"):
                fine &= (block >= low) & (block <= high)
        if missing and not fine.all():
            fine |= np.isnan(block)
        if not fine.all():
            wrong_value = block[~fine][0]
            expected = f"lie from {low:g} to {high:g}" if math.isfinite(wrong_value) else "be finite"
            raise state.damaged(f"its {name} holds {wrong_value:g}, and must {expected}")


@contextmanager
def restoring(state: State) -> Iterator[None]:
    """Turn what goes wrong while an object is made from a state into a DataError that names the folder.

    >>> with restoring(State({}, source="plant")):
    ...     raise ValueError("neighbors must be at least 1, got 0")
    Traceback (most recent call last):
        ...
    subcast.errors.DataError: plant is damaged or was changed by hand (neighbors must be at least 1, got 0):
    copy or save it again
    """
    try:
        yield
    except DataError as error:
        if state.source in str(error):  # it says already which folder it is about
            raise
        raise state.damaged(_one_line(error)) from error
    except KeyError as error:
        raise state.damaged(f"it has no {short(error.args[0] if error.args else error)}") from error
    except (TypeError, ValueError, AttributeError, IndexError, ArithmeticError, RecursionError) as error:
        raise state.damaged(_one_line(error)) from error


def _one_line(error: Exception) -> str:
    """Return what an error says as one line, which may quote a value of any length."""
    try:
        line = " ".join(str(error).split())
    except (ValueError, RecursionError):
        line = ""
    return line[:_LONGEST_REASON] + (" ..." if len(line) > _LONGEST_REASON else "") or type(error).__name__


def wrong(state: State, name: str, expected: str, found: object) -> DataError:
    """Return the error that a field is not what it must be."""
    return state.damaged(f"its {name} must be {expected}, got {short(found)}")


def short(value: object) -> str:
    """Return a value as a short text of one line.

    >>> short("a" * 100)
    "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa ..."
    """
    if isinstance(value, list | dict) and len(value) > 20:
        return f"a {'list' if isinstance(value, list) else 'mapping'} of {len(value)}"
    try:
        line = " ".join(repr(value).split())
    except (ValueError, RecursionError):  # a number of thousands of digits, or deep lists
        return f"a {type(value).__name__}"
    return line if len(line) <= 44 else f"{line[:40]} ..."
