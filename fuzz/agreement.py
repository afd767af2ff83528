"""Compare what subcast read with an independent reading of the same cells."""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from number_text import Convention, fitting_conventions, read_number, readings_of
from text_tables import Cell
from truth import nanoseconds

CLOSE = 3e-7
"""The largest relative difference: float32 keeps seven digits."""

LARGEST = float(np.finfo(np.float32).max)


class WrongReadingError(AssertionError):
    """Subcast accepted an input and read something else than it holds."""


def same_number(found: float, expected: float | None) -> bool:
    """Return whether a reading is the expected number to float32 rounding; NaN where there is none to be expected."""
    if expected is None or math.isnan(expected) or abs(expected) > LARGEST:
        return math.isnan(found)
    return math.isclose(found, expected, rel_tol=CLOSE, abs_tol=1e-37)


def check_names(found: Sequence[str], expected: Sequence[str]) -> None:
    """Raise an error unless the names agree, apart from blanks at their ends and from line ends within."""
    wanted = [plain_name(name) for name in expected]
    if [plain_name(name) for name in found] != wanted:
        raise WrongReadingError(f"the variables are {list(found)[:6]}, expected {wanted[:6]}")


def plain_name(name: str) -> str:
    """Return a name without blanks at its ends and line ends within, which readers may drop."""
    return name.replace("\r", "").replace("\n", "").strip()


def latest_cells(cells: Sequence[Cell], convention: Convention) -> dict[tuple[Any, str], str]:
    """Return one text for each moment and variable: the last that is a reading, as a repeated time is merged."""
    kept: dict[tuple[Any, str], str] = {}
    for cell in cells:
        place = (cell.moment, plain_name(cell.name))
        number = read_number(cell.text, convention)
        if place not in kept or not (number is None or math.isnan(number) or abs(number) > LARGEST):
            kept[place] = cell.text
    return kept


def check_rows(series: Any, moments: Sequence[Any]) -> dict[Any, int]:
    """Return the row of each moment, or raise an error unless each is there and all other rows are empty.

    Moments are datetimes, or whole numbers when the rows are only in order.
    """
    distinct = sorted(set(moments))
    if not distinct or not isinstance(distinct[0], datetime.datetime):
        if len(series.values) != len(distinct):
            raise WrongReadingError(f"there are {len(series.values)} rows, expected {len(distinct)}")
        return {moment: row for row, moment in enumerate(distinct)}
    if series.times is None:
        raise WrongReadingError(f"there are no times, expected {distinct[0]} and later")
    stamps = series.times.astype("datetime64[ns]").astype(np.int64).tolist()
    places = {stamp: row for row, stamp in enumerate(stamps)}
    rows = {}
    for moment in distinct:
        if nanoseconds(moment) not in places:
            raise WrongReadingError(f"{moment} is not among the times ({series.times[0]} to {series.times[-1]})")
        rows[moment] = places[nanoseconds(moment)]
    empty = sorted(set(range(len(stamps))) - set(rows.values()))
    if not np.isnan(series.values[empty]).all():
        raise WrongReadingError(f"there are readings at {series.times[empty[0]]}, where the file has none")
    return rows


def check_values(series: Any, cells: Sequence[Cell], convention: Convention) -> None:
    """Raise an error unless all readings are those of the cells of the file.

    The readings must be those of the convention in which the file was written. Where its numbers fit another
    convention too, the readings of that one are taken as well, if a note says which was used.
    """
    rows = check_rows(series, [cell.moment for cell in cells])
    difference = _difference(series, cells, convention, rows)
    if not difference:
        return
    fitting = fitting_conventions([cell.text for cell in cells])
    others = [other for other in fitting if other != convention and not _difference(series, cells, other, rows)]
    if not others or not _says_convention(series.repairs):
        raise WrongReadingError(f"{difference} (written as {convention}, fits {fitting}; notes: {series.repairs})")


def means_several_things(cells: Sequence[Cell], convention: Convention) -> bool:
    """Return whether the numbers of a file fit several conventions, and a number is another one there."""
    texts = [cell.text for cell in cells]
    readings = {tuple(map(repr, readings_of(texts, fitting))) for fitting in fitting_conventions(texts)}
    return len(readings | {tuple(map(repr, readings_of(texts, convention)))}) > 1


def _difference(series: Any, cells: Sequence[Cell], convention: Convention, rows: dict[Any, int]) -> str:
    """Return the first reading that is not what the file holds in a convention, or nothing."""
    columns = {plain_name(name): column for column, name in enumerate(series.variables)}
    values = series.values.tolist()
    for (moment, name), text in latest_cells(cells, convention).items():
        found = values[rows[moment]][columns[name]]
        if not same_number(found, read_number(text, convention)):
            return f"{name!r} at {moment} is {found:.7g}, the file holds {text!r}"
    return ""


def _says_convention(notes: Sequence[str]) -> bool:
    return any("decimal" in note or "thousand" in note for note in notes)
