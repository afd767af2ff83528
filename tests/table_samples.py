"""Frames that the tests of `subcast.tables` read, and readers that check the one warning."""

import pandas as pd
import pytest

from subcast.errors import DataWarning
from subcast.tables.clean import frame_to_table

HOURS = pd.date_range("2024-01-01", periods=4, freq="h")
NAN = float("nan")
CSV = "time,a,b\n2024-01-01,1,2.5\n2024-01-02,2,3.5\n2024-01-03,4,5.5\n"
CSV_VALUES = [[1, 2.5], [2, 3.5], [4, 5.5]]


def wide(index=HOURS, **columns):
    return pd.DataFrame(columns or {"a": [1.0, 2.0, 3.0, 5.0], "b": [2.0, 3.0, 4.0, 9.0]}, index=index)


def long(**columns):
    table = {"unique_id": ["a", "b", "a", "b"], "ds": HOURS[[0, 0, 1, 1]], "y": [1.0, 2.0, 3.0, 4.0]}
    return pd.DataFrame(table | columns)


def read_with_one_warning(frame, **options):
    """Return the table, after checking that there is one warning and that it lists the repairs."""
    with pytest.warns(DataWarning) as warned:
        table = frame_to_table(frame, **options)
    assert [str(warning.message) for warning in warned] == [f"the frame: {'; '.join(table.repairs)}"]
    return table


def minutes_of(table):
    """Return the times of a table as text, to the minute."""
    return table.times.astype("datetime64[m]").astype(str).tolist()


def days_of(table):
    """Return the times of a table as text, to the day."""
    return table.times.astype("datetime64[D]").astype(str).tolist()
