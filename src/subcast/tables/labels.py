"""Find columns of a wide table that may hold no readings: saved row numbers, labels, parts of the date, counters."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from subcast.names import listed, plural

_ROW_LABELS = (
    "id idx index key level_0 no nr num number obs observation record row rowid row_id rownum row_number serial"
)
_DATE_PARTS = (
    "year month day hour minute second week weekday quarter season dow doy day_of_week day_of_year hour_of_day"
)
_PLACES = "lat lon lng latitude longitude altitude elevation station_id sensor_id objectid fid"

LABEL_NAMES = frozenset(f"{_ROW_LABELS} {_DATE_PARTS} {_PLACES}".split())
"""Names of columns that number or describe the rows of many tables, rather than hold readings."""

_INDEX_NAME = re.compile(r"index|level_0|Unnamed: \d+")
"""Names of columns that pandas writes for an index without a name."""

_FEWEST_COUNTED = 5
"""Fewer readings that rise by one may do so by chance."""


def index_columns(frame: pd.DataFrame, candidates: Sequence[str]) -> list[str]:
    """Return the columns that have the name of a saved index of pandas and count the rows by one, unless all do.

    >>> index_columns(pd.DataFrame({"index": [7, 8, 9], "a": [0.5, 2, 1]}), ["index", "a"])
    ['index']
    """
    named = [name for name in frame.columns if _INDEX_NAME.fullmatch(name) and name in candidates]
    found = [name for name in named if frame[name].dtype.kind in "iu" and (np.diff(frame[name]) == 1).all()]
    return found if len(found) < frame.shape[1] else []


def label_notes(names: Sequence[str], values: NDArray[np.float32]) -> list[str]:
    """Return notes about columns [rows, columns] that may hold no readings; they are kept all the same.

    >>> label_notes(["year", "level"], np.array([[2023, 1.5], [2024, 0.5]], dtype=np.float32))
    ["1 variable has the name of a label ('year'): kept, drop the column if it holds no readings"]
    """
    labels = [name for name in names if _is_label(name)]
    counters = [name for position, name in enumerate(names) if _is_counter(values[:, position])]
    notes = []
    if labels:
        notes.append(f"{plural(len(labels), 'variable', 'has')} the name of a label ({listed(labels)})")
    if counters:
        notes.append(f"{plural(len(counters), 'variable', 'counts')} up by one in every row ({listed(counters)})")
    return [f"{note}: kept, drop the column if it holds no readings" for note in notes]


def _is_label(name: str) -> bool:
    """Return whether a name is among `LABEL_NAMES`, in whatever case and with whatever between its words."""
    return re.sub(r"[ .-]", "_", name.strip().lower()) in LABEL_NAMES or _INDEX_NAME.fullmatch(name) is not None


def _is_counter(readings: NDArray[np.float32]) -> bool:
    """Return whether the readings of a column are whole numbers that rise by one, holes aside."""
    rows = np.flatnonzero(~np.isnan(readings))
    if rows.size < _FEWEST_COUNTED or readings[rows[0]] % 1:
        return False
    rises = np.diff(readings[rows])
    return bool((rises == 1).all() or (rises == np.diff(rows)).all())
