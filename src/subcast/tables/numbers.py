"""Read numbers: from columns of any type to float32, with text reported to a policy."""

from __future__ import annotations

import math
from decimal import Decimal
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from subcast.tables.convention import Convention, Evidence, NumberFormat, is_number_like, number_of
from subcast.tables.policy import Policy, TextCells

_PLAIN = Convention(".", "")


class UniqueTexts(NamedTuple):
    """The cells of a column that hold text.

    Attributes
    ----------
    entries
        [rows] all cells, as objects
    codes
        [rows] the position of each text in `texts`, -1 for a cell that holds none
    texts
        the different texts
    """

    entries: NDArray[Any]
    codes: NDArray[np.int64]
    texts: list[str]


def unique_texts(column: pd.Series[Any]) -> UniqueTexts:
    """Return the different texts of a column."""
    entries = column.astype(object).to_numpy()
    is_text = np.fromiter((isinstance(entry, str) for entry in entries), dtype=bool, count=len(entries))
    codes = np.full(len(entries), -1, dtype=np.int64)
    codes[is_text], texts = pd.factorize(entries[is_text])
    return UniqueTexts(entries, codes, list(texts))


def read_numbers(column: UniqueTexts, convention: Convention) -> NDArray[Any]:
    """Return the numbers of a column as floats, or as objects if a cell is no number in this convention."""
    numbers = [number_of(text, convention) for text in column.texts]
    no_text = column.codes < 0
    if all(number is not None for number in numbers) and pd.isna(column.entries[no_text]).all():
        return np.array([*numbers, np.nan], dtype=np.float64)[column.codes]  # the code -1 takes the last
    cells = [text if number is None else number for text, number in zip(column.texts, numbers, strict=True)]
    return np.where(no_text, column.entries, np.array([*cells, None], dtype=object)[column.codes])


def frame_convention(frame: pd.DataFrame, policy: Policy, numbers: NumberFormat) -> Convention:
    """Return the convention of the numbers that a frame holds as text, in all its columns; notes go to the policy."""
    evidence = Evidence(numbers)
    for name in frame.columns[[_may_hold_text(kind) for kind in frame.dtypes]]:
        evidence.add(str(name), unique_texts(frame[name]).texts)
    decision = evidence.decide(policy.source, policy.error)
    policy.notes.extend(decision.notes)
    if decision.convention.decimal == "," and not numbers.given:
        _note_small_numbers(frame, policy)
    return decision.convention


def _note_small_numbers(frame: pd.DataFrame, policy: Policy) -> None:
    """Note the columns of numbers that may be a thousand times too small, beside text with decimal commas.

    A program that takes the point for the decimal mark reads 1.010 as 1.01 and leaves 1,5 as text.
    """
    for name in frame.columns[[isinstance(kind, np.dtype) and kind.kind == "f" for kind in frame.dtypes]]:
        values = np.abs(frame[name].to_numpy())
        fractions = values[np.isfinite(values) & (values != np.floor(values))]
        thousandths = np.abs(1000 * fractions - np.round(1000 * fractions)) < 1e-4
        if fractions.size and (thousandths & (fractions >= 1) & (fractions < 1000)).all():
            policy.notes.append(
                f"column {str(name)!r} holds numbers such as {fractions[0]:g} beside text with decimal commas: if it "
                f"comes from the same file, {fractions[0]:.3f} may mean {1000 * fractions[0]:.0f} there"
            )


def _may_hold_text(kind: Any) -> bool:
    return not (isinstance(kind, np.dtype) and kind.kind in "fiubmM")


def frame_numbers(
    frame: pd.DataFrame, policy: Policy, convention: Convention = _PLAIN, *, told: bool = False
) -> NDArray[np.float32]:
    """Return all columns as float32 [rows, columns], a copy; text among the numbers is reported to the policy.

    Parameters
    ----------
    frame
        one column for each variable
    policy
        decides about text
    convention
        of the numbers that are written as text
    told
        whether the caller named the convention, so that a number in another one is text like any other
    """
    if all(isinstance(kind, np.dtype) and kind.kind in "fiu" for kind in frame.dtypes):
        given = frame.to_numpy()
        with np.errstate(over="ignore"):  # what float32 cannot hold becomes infinite, and is treated as such
            values = np.array(given, dtype=np.float32)
        policy.rounding(given, values, list(frame.columns))
        return values
    values = np.empty(frame.shape, dtype=np.float32)
    text_columns = []
    for position, name in enumerate(frame.columns):
        values[:, position], text = _column_numbers(frame[name], policy, convention, told)
        if text is not None:
            text_columns.append(text)
    if text_columns:
        policy.text_cells(text_columns)
    return values


def _column_numbers(
    column: pd.Series[Any], policy: Policy, convention: Convention, told: bool
) -> tuple[NDArray[np.float32], TextCells | None]:
    """Return the numbers of a column, NaN where there is none, and the cells that hold text, if any does."""
    if column.dtype.kind in "fiu":
        return _as_float32(column), None
    if column.dtype.kind in "mMc" or isinstance(column.dtype, pd.PeriodDtype | pd.IntervalDtype):
        raise policy.error(f"column {column.name!r} of {policy.source} holds {column.dtype}, not readings: drop it")
    cells = read_numbers(unique_texts(column), convention)
    if cells.dtype.kind == "f":
        return cells.astype(np.float32), None
    foreign = [isinstance(cell, str) and is_number_like(cell) for cell in cells]  # in another convention
    if any(foreign) and not told:
        raise policy.error(
            f"column {column.name!r} of {policy.source} holds {cells[foreign.index(True)]!r}, which no convention of "
            "numbers allows: correct it, or say with decimal= how numbers are written to leave out all others"
        )
    truth = [isinstance(cell, bool | np.bool_) for cell in cells]
    entries = pd.Series(cells, dtype=object)
    numbers = _coerced(entries.mask(np.array(foreign) | np.array(truth)))
    filled = entries.notna() & (entries.astype(str).str.strip() != "")
    text = (filled & numbers.isna()).to_numpy(dtype=bool)
    if not text.any():
        return _as_float32(numbers), None
    first = str(entries.iloc[int(np.argmax(text))])
    return _as_float32(numbers), TextCells(str(column.name), first, int(text.sum()), int(filled.sum()))


def _coerced(entries: pd.Series[Any]) -> pd.Series[Any]:
    """Return entries of any kind as numbers, NaN where one is none."""
    try:
        return pd.to_numeric(entries, errors="coerce")
    except (TypeError, OverflowError):  # lists and the like, in older pandas; whole numbers that no float holds
        return entries.map(_float_of).astype(np.float64)


def _float_of(entry: object) -> float:
    """Return one entry as a number, infinite where no float is large enough, NaN where it is none.

    >>> [_float_of(entry) for entry in (10**400, -(10**400), "1.5", "low", [1.0])]
    [inf, -inf, 1.5, nan, nan]
    """
    if not isinstance(entry, str | Real | Decimal):
        return math.nan
    try:
        return float(entry)
    except OverflowError:
        return math.inf if entry > 0 else -math.inf  # type: ignore[operator]
    except ValueError:
        return math.nan


def _as_float32(numbers: pd.Series[Any]) -> NDArray[np.float32]:
    with np.errstate(over="ignore"):
        return numbers.to_numpy(dtype=np.float32, na_value=np.nan)
