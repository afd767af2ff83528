"""Series: read-only, sliced without copies, and equal after a round trip."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import subcast as sc
from subcast.series import Series

TIMES = np.arange("2024-01-01T00:00", "2024-01-01T01:00", np.timedelta64(5, "m"), dtype="datetime64[m]")  # 12


def small(**fields):
    values = np.arange(36, dtype=np.float32).reshape(12, 3)
    values[3, 1] = np.nan
    return Series(values, ("a", "b", "c"), TIMES, freq="5min", **fields)


class TestFrozen:
    def test_readings_cannot_be_written(self):
        with pytest.raises(ValueError, match="read-only"):
            small().values[0, 0] = 1

    def test_fields_cannot_be_set(self):
        with pytest.raises(AttributeError):
            small().name = "other"

    def test_changes_of_the_input_do_not_change_the_series(self):
        given_array = np.ones((4, 2), dtype=np.float32)
        frame = pd.DataFrame(np.arange(8, dtype=np.float32).reshape(4, 2), columns=["a", "b"])
        series, framed = Series(given_array), Series.from_frame(frame)
        given_array[0, 0] = 5  # still writeable, and no part of the series
        frame.iloc[0, 0] = 99
        assert series.values[0, 0] == 1
        assert framed.values[0, 0] == 0

    def test_a_read_only_array_is_taken_as_it_is(self):
        given_array = np.ones((4, 2), dtype=np.float32)
        given_array.flags.writeable = False
        assert np.shares_memory(Series(given_array).values, given_array)


class TestSlicing:
    def test_a_stretch_of_time_shares_memory(self):
        series = small()
        part = series[3:9]
        assert np.shares_memory(part.values, series.values)
        assert np.shares_memory(part.times, series.times)
        assert part.offset == 3
        assert part[2:].offset == 5
        np.testing.assert_array_equal(part.values, series.values[3:9])

    def test_a_slice_has_its_own_time_features(self):
        series = small(time_features=("time_of_day",))
        whole = series.features
        np.testing.assert_array_equal(series[4:6].features, whole[4:6])

    def test_negative_and_open_ends(self):
        assert len(small()[-4:]) == 4
        assert small()[-4:].offset == 8

    @pytest.mark.parametrize("wrong", [3, slice(0, 8, 2), "a"])
    def test_anything_else_is_refused(self, wrong):
        with pytest.raises(sc.InputError, match=r"series\[100:200\]"):
            small()[wrong]

    def test_select_keeps_the_order_asked_for(self):
        graph = np.arange(9.0).reshape(3, 3)
        series = small(graph=graph, positions=np.arange(6.0).reshape(3, 2))
        part = series.select(["c", "a"])
        assert part.variables == ("c", "a")
        np.testing.assert_array_equal(part.values[0], [2, 0])
        np.testing.assert_array_equal(part.graph, [[8, 6], [2, 0]])
        np.testing.assert_array_equal(part.positions, [[4, 5], [0, 1]])
        assert series.select([True, False, True]).variables == ("a", "c")
        assert series.select([1]).variables == ("b",)

    def test_select_of_an_unknown_name(self):
        with pytest.raises(sc.InputError, match="'d', which is not among the 3 variables"):
            small().select(["d"])


class TestTimeFeatures:
    def test_against_pandas(self):
        times = pd.date_range("2023-12-30 21:17", periods=500, freq="37min")
        series = Series(np.zeros((500, 1)), ("a",), times.to_numpy(), time_features=("time_of_day", "day_of_week"))
        day = [(t.hour * 3600 + t.minute * 60 + t.second) / 86400 for t in times]
        week = [t.weekday() / 7 for t in times]
        np.testing.assert_allclose(series.features, np.column_stack([day, week]), atol=1e-6)

    def test_before_1970(self):
        times = np.array(["1969-12-28T12:00", "1969-12-29T06:00"], dtype="datetime64[m]")  # a Sunday, a Monday
        series = Series(np.zeros((2, 1)), ("a",), times, time_features=("day_of_week", "time_of_day"))
        np.testing.assert_allclose(series.features, [[6 / 7, 0.5], [0, 0.25]], atol=1e-6)

    def test_the_last_moment_of_a_day_is_below_one(self):
        times = np.array(["2024-01-01T23:59:59.999999999"], dtype="datetime64[ns]")
        assert Series([[0.0]], ("a",), times, time_features=("time_of_day",)).features[0, 0] < 1

    def test_as_text_is_refused(self):
        with pytest.raises(sc.InputError, match="must be a list of names, got the text 'time_of_day'"):
            small(time_features="time_of_day")

    def test_need_times(self):
        with pytest.raises(sc.InputError, match="this series has none"):
            Series(np.zeros((3, 1)), time_features=("time_of_day",))

    def test_unknown(self):
        with pytest.raises(sc.InputError, match="time_of_day, day_of_week, got 'holiday'"):
            small(time_features=("holiday",))


class TestBadInput:
    @pytest.mark.parametrize(
        ("fields", "sentence"),
        [
            ({"values": np.zeros(4)}, r"\[t, n\] \(steps x variables\), got shape \(4,\)"),
            ({"values": [["x"]]}, "must be numbers, got 'x'"),
            ({"values": np.full((2, 2), np.inf)}, "infinities"),
            ({"values": np.zeros((2, 2)), "variables": ("a",)}, "each of the 2 columns, got 1"),
            ({"values": np.zeros((2, 2)), "variables": ("a", "a")}, "2 variables named 'a'"),
            ({"values": np.zeros((2, 1)), "times": np.array(["2024-01-02", "2024-01-01"], "M8[D]")}, "must increase"),
            ({"values": np.zeros((2, 1)), "times": np.array(["2024-01-02"], "M8[D]")}, "each of the 2 steps"),
            ({"values": np.zeros((2, 1)), "times": np.array([1, 2])}, "must be dates"),
            ({"values": np.zeros((2, 2)), "graph": np.zeros((3, 3))}, r"\(2, 2\), got shape \(3, 3\)"),
            ({"values": np.zeros((2, 2)), "positions": np.zeros((3, 2))}, "each of the 2 variables"),
        ],
    )
    def test_one_sentence(self, fields, sentence):
        with pytest.raises(sc.InputError, match=sentence):
            Series(**fields)

    def test_names_as_an_array_or_index(self):
        assert Series(np.zeros((2, 2)), np.array(["a", "b"])).variables == ("a", "b")
        values = np.arange(4.0).reshape(2, 2)
        assert Series.from_array(values, pd.Index(["a", "b"])).variables == ("a", "b")

    def test_times_beyond_what_nanoseconds_hold(self):
        with pytest.raises(sc.InputError, match="between the years 1678 and 2262"):
            Series(np.zeros((2, 1)), ("a",), np.array(["2024-01-01", "9999-12-31"], "M8[D]"))

    def test_from_array_keeps_a_zone(self):
        times = pd.date_range("2024-01-01 01:00", periods=3, freq="h", tz="Europe/Berlin")
        series = Series.from_array([[1.0], [2.0], [3.0]], ["a"], times)
        assert series.times[0] == np.datetime64("2024-01-01T00:00")
        assert series.wall_times[0] == np.datetime64("2024-01-01T01:00")
        assert (series.zone, series.repairs) == ("Europe/Berlin", ())

    def test_from_array_drops_rows_without_a_time(self):
        times = np.array(["2024-01-01", "NaT", "2024-01-02"], "M8[D]")
        with pytest.warns(sc.DataWarning, match="1 row has no readable time: dropped"):
            series = Series.from_array([[1.0], [2.0], [3.0]], ["a"], times)
        np.testing.assert_array_equal(series.values[:, 0], [1, 3])

    def test_from_array_freq_needs_times(self):
        with pytest.raises(sc.InputError, match="without times"):
            Series.from_array([[1.0], [2.0]], freq="5min")

    def test_from_array_takes_what_float32_cannot_hold_as_missing(self):
        with pytest.warns(sc.DataWarning, match="1 reading was infinite"):
            series = Series.from_array([[1e300], [2.0], [3.0]])
        assert np.isnan(series.values[0, 0])

    def test_from_array_repairs_infinities_and_order(self):
        with pytest.warns(sc.DataWarning, match="infinite: now missing; 1 row was out of order"):
            series = Series.from_array([[1.0], [np.inf], [3.0]], ["a"], TIMES[[0, 2, 1]])
        np.testing.assert_array_equal(series.values[:, 0], [1, 3, np.nan])


@st.composite
def readings(draw):
    shape = draw(st.tuples(st.integers(2, 8), st.integers(1, 4)))
    numbers = st.floats(-1e6, 1e6, width=32) | st.just(float("nan"))
    values = draw(hnp.arrays(np.float32, shape, elements=numbers))
    values[0], values[1] = np.arange(shape[1]) + 1, np.arange(shape[1]) + 2  # no variable constant or without a reading
    return values


@settings(max_examples=30, deadline=None)
@given(readings())
def test_wide_long_and_polars_frames_give_back_the_series(values):
    series = Series(values, times=pd.date_range("2024-02-27", periods=len(values), freq="6h").to_numpy())
    polars = pl.DataFrame(
        {"time": series.times, **{name: series.values[:, i] for i, name in enumerate(series.variables)}}
    )
    for frame in (
        series.to_frame(),
        series.to_frame(long=True),
        polars,
        series.to_frame()[list(series.variables)[::-1]],
    ):
        again = Series.from_frame(frame)
        np.testing.assert_array_equal(again.select(list(series.variables)).values, series.values)
        np.testing.assert_array_equal(again.times, series.times)
        assert again.freq == ("6h" if len(values) > 1 else None)


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".npz"])
def test_save_and_read(tmp_path, ending):
    series = small(graph=np.eye(3), positions=np.ones((3, 2)))
    path = tmp_path / f"plant{ending}"
    series.save(path)
    again = Series.read(path)
    np.testing.assert_array_equal(again.values, series.values)
    np.testing.assert_array_equal(again.times, series.times)
    assert again.variables == series.variables
    assert again.name == "plant"
    assert again.freq == "5min"
    if ending == ".npz":
        np.testing.assert_array_equal(again.graph, np.eye(3))
        np.testing.assert_array_equal(again.positions, np.ones((3, 2)))
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_npz_keeps_everything(tmp_path):
    times = np.concatenate(
        [TIMES[:6], TIMES[8:], TIMES[-1:] + np.timedelta64(65, "m")]
    )  # a jump, as daylight saving makes
    values = np.arange(22, dtype=np.float32).reshape(11, 2)
    values[2, 1] = np.nan
    series = Series(
        values, ("a", "b"), times, freq="5min", time_features=("time_of_day",), unit="mph", missing_code=0.0
    )
    series.save(tmp_path / "a.npz")
    again = Series.read(tmp_path / "a.npz")
    for field in ("variables", "freq", "time_features", "unit", "missing_code"):
        assert getattr(again, field) == getattr(series, field)
    np.testing.assert_array_equal(again.values, series.values)
    np.testing.assert_array_equal(again.times, series.times)


def test_save_to_an_unknown_ending_writes_nothing(tmp_path):
    with pytest.raises(sc.InputError, match=r"\.csv, \.parquet, \.npz"):
        small().save(tmp_path / "a.xlsx")
    assert not list(tmp_path.iterdir())


def test_repr():
    assert repr(small(name="plant")) == (
        "Series 'plant': 12 steps x 3 variables, 2024-01-01T00:00 to 2024-01-01T00:55, every 5min, 2.78% missing"
    )


class TestTruth:
    @pytest.mark.parametrize("values", [np.ones((3, 2), dtype=bool), [[1.5, True], [2, 3]], [[True], [False]]])
    def test_true_and_false_are_not_readings(self, values):
        for make in (Series, Series.from_array):
            with pytest.raises(
                sc.InputError, match="values must be numbers, got True or False, which are not readings"
            ):
                make(values)

    def test_a_graph_may_be_true_and_false(self):
        assert Series(np.ones((2, 2)), graph=np.eye(2, dtype=bool)).graph.tolist() == [[1, 0], [0, 1]]
