"""Clean tables: what is repaired, and the one warning that lists it."""

import warnings

import numpy as np
import pandas as pd
import pytest

from subcast.errors import DataError, DataWarning
from subcast.tables.clean import frame_to_table, rows_to_table
from subcast.tables.policy import Repair
from subcast.tables.rows import Rows
from table_samples import HOURS, NAN, long, read_with_one_warning, wide


class TestRepairs:
    def test_infinities_are_missing(self):
        table = read_with_one_warning(wide(a=[np.inf, 2.0, -np.inf, 5.0]))
        np.testing.assert_array_equal(table.values[:, 0], [NAN, 2, NAN, 5])
        assert table.repairs == ("2 readings were infinite: now missing",)

    @pytest.mark.parametrize("b", [[1.0, 2.0, 3.0, 4.0], ["1", "2", "3", "4"]])
    def test_what_float32_cannot_hold_is_missing(self, b):
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            table = read_with_one_warning(wide(a=[1e300, 1.0, 2.0, 3.0], b=b))
        assert table.repairs == ("1 reading was infinite: now missing",)

    def test_constant_variables_are_kept_and_noted(self):
        table = read_with_one_warning(wide(a=[1.0, 2.0, 3.0, 4.0], b=[7.0] * 4, c=[7.0, NAN, 7.0, 7.0]))
        assert table.values.shape == (4, 3)
        assert table.repairs == ("2 variables are constant ('b', 'c'): kept",)

    def test_variables_without_a_reading_are_kept_and_noted(self):
        table = read_with_one_warning(wide(a=[1.0, 2.0, 3.0, 4.0], b=[NAN] * 4))
        assert np.isnan(table.values[:, 1]).all()
        assert table.repairs == ("1 variable has no reading ('b'): kept as missing",)

    def test_a_single_reading_is_not_called_constant(self):
        assert frame_to_table(wide(a=[1.0, 2.0, 3.0, 4.0], b=[NAN, 5.0, NAN, NAN])).repairs == ()

    def test_many_repairs_are_one_warning(self):
        frame = wide(index=HOURS[[3, 0, 0, 1]], a=[1.0, np.inf, 3.0, 4.0], b=["1", "x", "3", "4"], c=[2.0] * 4)
        table = read_with_one_warning(frame)
        for words in ("text in 'b'", "infinite", "out of order", "repeats a time", "1 step was missing", "constant"):
            assert sum(words in repair for repair in table.repairs) == 1

    def test_clean_table_refuses_two_variables_of_one_name(self):
        with pytest.raises(DataError, match="has 2 variables named 'a'"):
            rows_to_table(Rows(["a", "a"], np.zeros((2, 2), dtype=np.float32), 2), Repair("the table"))

    def test_a_meter_that_counts_beyond_seven_digits_is_noted(self):
        frame = pd.DataFrame({"kwh": 1e9 + np.arange(100.0), "level": np.sin(np.arange(100.0))})
        with pytest.warns(DataWarning, match=r"1 variable has steps too small for float32's seven digits \('kwh'\)"):
            frame_to_table(frame)

    def test_a_table_exported_twice_is_merged(self):
        frame = wide(index=pd.date_range("2024-01-01", periods=4, freq="D"))
        with pytest.warns(DataWarning, match="4 rows repeat a time: merged"):
            assert len(frame_to_table(pd.concat([frame, frame])).values) == 4

    @pytest.mark.parametrize("frame", [pd.DataFrame(), pd.DataFrame(index=HOURS), pd.DataFrame({"a": []})])
    def test_an_empty_frame_is_refused(self, frame):
        with pytest.raises(DataError, match=r"has \d rows of \d columns: there is nothing to read"):
            frame_to_table(frame)

    def test_a_frame_of_times_alone_is_refused(self):
        with pytest.raises(DataError, match=r"4 rows of 0 variables: there is nothing to read"):
            frame_to_table(pd.DataFrame({"time": HOURS}))


class TestGivenRate:
    def test_a_rate_without_times_is_refused(self):
        with pytest.raises(DataError, match=r"freq='h' was given, but the frame has no times: .* time="):
            frame_to_table(wide(index=None), freq="h")

    def test_a_rate_for_step_numbers_is_refused(self):
        with pytest.raises(DataError, match=r"freq='h' was given"):
            frame_to_table(wide(index=pd.Index([1, 2, 3, 4], name="step")), freq="h")

    def test_a_rate_for_integer_times_is_refused(self):
        with pytest.raises(
            DataError, match=r"freq='h' was given, but the frame only has step numbers, no times: leave"
        ):
            frame_to_table(long(ds=[1, 1, 2, 2]), freq="h")
