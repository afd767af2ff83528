"""Arrays to rows: numbers, numbers as text, times in any form."""

import numpy as np
import pandas as pd
import pytest

from subcast.errors import DataError, InputError
from subcast.tables.arrays import array_rows
from subcast.tables.policy import Repair, Strict

VALUES = np.array([[1.0, 2.0], [3.0, np.nan], [5.0, 6.0]])
DAYS = ["2024-01-01", "2024-01-02", "2024-01-03"]


@pytest.mark.parametrize("policy", [Repair("the table"), Strict("recent")])
class TestBothPolicies:
    def test_numbers_are_taken_as_they_are(self, policy):
        rows = array_rows(VALUES, ["a", "b"], None, policy)
        assert rows.values is VALUES
        assert (rows.total, rows.stamps, rows.counted) == (3, None, False)

    def test_numbers_as_text(self, policy):
        values = np.array([["1", "2"], ["3", ""], ["5", "6"]])
        np.testing.assert_array_equal(array_rows(values, ["a", "b"], None, policy).values, VALUES)

    @pytest.mark.parametrize(
        "times", [DAYS, pd.DatetimeIndex(DAYS), np.array(DAYS, "M8[D]"), [20240101, 20240102, 20240103]]
    )
    def test_times_in_any_form(self, policy, times):
        rows = array_rows(VALUES, ["a", "b"], times, policy)
        np.testing.assert_array_equal(rows.stamps.view("M8[ns]"), np.array(DAYS, "M8[ns]"))

    def test_only_the_last_rows_are_read(self, policy):
        values = np.array([["broken", "2"], ["3", ""], ["5", "6"]])
        rows = array_rows(values, ["a", "b"], DAYS, policy, last=2)
        np.testing.assert_array_equal(rows.values, VALUES[1:])
        assert (rows.total, len(rows.stamps)) == (3, 3)

    def test_a_time_for_each_row(self, policy):
        with pytest.raises(
            InputError, match=f"times must have one entry for each of the 3 rows of {policy.source}, got 2"
        ):
            array_rows(VALUES, ["a", "b"], DAYS[:2], policy)


def test_an_unreadable_time():
    times = [DAYS[0], "soon", DAYS[2]]
    policy = Repair("the table")
    rows = array_rows(VALUES, ["a", "b"], times, policy)
    np.testing.assert_array_equal(rows.values, VALUES[[0, 2]])
    assert (rows.total, policy.notes) == (2, ["1 row has no readable time: dropped"])
    with pytest.raises(InputError, match=r"recent has no readable time in row 1 \('soon'\)"):
        array_rows(VALUES, ["a", "b"], times, Strict("recent"))


@pytest.mark.parametrize("times", [pd.array([None] * 3, dtype="Int64"), [np.nan] * 3, [None] * 3])
def test_no_time_at_all(times):
    with pytest.raises(DataError, match="3 of 3 times in the table cannot be read"):
        array_rows(VALUES, ["a", "b"], times, Repair("the table"))
    with pytest.raises(InputError, match="recent has no readable time in row 0"):
        array_rows(VALUES, ["a", "b"], times, Strict("recent"))
