"""Live readings in the trained shape, from every kind of input, and the sentences that refuse the others."""

import subprocess
import sys
from unittest.mock import patch

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from subcast.calendar import TIME_FEATURES
from subcast.errors import InputError
from subcast.series import Series
from subcast.tables.live import read_recent
from subcast.tables.steps import Steps
from twins import tables_twins

NAMES = ("inflow", "outflow", "level", "heat")
START = pd.Timestamp("2024-03-01 00:00")


def readings(steps=6, columns=NAMES, seed=0):
    return np.random.default_rng(seed).normal(size=(steps, len(columns))).astype(np.float32)


def wide(steps=6, columns=NAMES, freq="5min", seed=0):
    index = pd.date_range(START, periods=steps, freq=freq, name="time")
    return pd.DataFrame(readings(steps, columns, seed), index=index, columns=list(columns))


def read(recent, lookback=4, *, freq=None, **options):
    return read_recent(recent, variables=NAMES, lookback=lookback, steps=Steps(freq), **options)


def by_the_general_path(recent, **options):
    with patch("subcast.tables.live._live_frame_rows", lambda *_: None):
        return read_recent(recent, **options)


def looked_up(frame, variables, lookback, minutes):
    """Return the window with every reading looked up by its name and its moment."""
    moments = [pd.Timestamp(time) for time in frame.index]
    moments = [time if time.tzinfo is None else time.tz_convert("UTC").tz_localize(None) for time in moments]
    rows = frame.astype(np.float32).to_numpy().tolist()
    step = pd.Timedelta(minutes=minutes)
    _, readings = tables_twins.window(
        moments, rows, list(frame.columns), variables, lookback, step, limit=pd.Timedelta(0)
    )
    return np.array(readings, dtype=np.float32)


def same(one, other):
    np.testing.assert_array_equal(one.values, other.values)
    assert one.values.dtype == other.values.dtype == np.float32
    for field in ("times", "features"):
        mine, theirs = getattr(one, field), getattr(other, field)
        assert (mine is None) == (theirs is None)
        if mine is not None:
            np.testing.assert_array_equal(mine, theirs)
            assert mine.dtype == theirs.dtype


@st.composite
def live_frames(draw):
    variables = tuple(f"s{place}" for place in range(draw(st.integers(1, 5))))
    lookback = draw(st.integers(1, 6))
    there = draw(st.lists(st.booleans(), min_size=lookback - 1, max_size=lookback + 5))
    cells = [place for place, kept in enumerate([*there, True]) if kept]
    assume(cells[-1] - cells[0] + 1 >= lookback)
    apart = np.diff(cells[-lookback:])
    assume(apart.size == 0 or 1 in apart)  # else it may be another rate
    minutes = draw(st.sampled_from([1, 5, 60, 1440]))
    columns = draw(st.lists(st.sampled_from(variables), min_size=1, unique=True))
    values = draw(
        st.lists(
            st.lists(st.sampled_from([np.nan, 0.0, -0.0, 0.1, 1 / 3, 1e-50, -7.5, 3e38]), min_size=5, max_size=5),
            min_size=len(cells),
            max_size=len(cells),
        )
    )
    index = pd.DatetimeIndex([START + place * pd.Timedelta(minutes=minutes) for place in cells])
    index = index.as_unit(draw(st.sampled_from(["s", "us", "ns"])))
    index = index.tz_localize(draw(st.sampled_from([None, "UTC", "Asia/Kolkata"])))
    kind = draw(st.sampled_from([np.float32, np.float64]))
    frame = pd.DataFrame(np.array(values, dtype=kind)[:, : len(columns)], index=index, columns=columns)
    assume(not np.isnan(looked_up(frame, variables, lookback, minutes)).all())
    return frame, variables, lookback, minutes


class TestPathsAgree:
    @settings(max_examples=150)
    @given(case=live_frames())
    def test_fast_path_general_path_and_slow_twin(self, case):
        frame, variables, lookback, minutes = case
        options = {
            "variables": variables,
            "lookback": lookback,
            "steps": Steps(f"{minutes}min"),
            "time_features": tuple(TIME_FEATURES),
        }
        fast = read_recent(frame, **options)
        same(fast, by_the_general_path(frame, **options))
        np.testing.assert_array_equal(fast.values, looked_up(frame, variables, lookback, minutes))
        expected = [fast.times[-1] - np.timedelta64(minutes * back, "m") for back in range(lookback - 1, -1, -1)]
        np.testing.assert_array_equal(fast.times, expected)

    def test_the_fast_path_is_taken_for_a_wide_float_frame(self):
        with patch("subcast.tables.live._rows_of", side_effect=AssertionError("the general path")):
            assert read(wide(), freq="5min").values.shape == (4, 4)

    @pytest.mark.parametrize(
        "recent",
        [
            pytest.param(wide().reset_index(), id="a time column"),
            pytest.param(wide().rename_axis("stamp").reset_index(), id="a column of dates by another name"),
            pytest.param(wide().rename_axis("ds").reset_index().iloc[:, ::-1], id="times in the last column"),
            pytest.param(wide().to_period("5min"), id="periods"),
            pytest.param(wide().set_axis(wide().index.astype(str)), id="dates as text"),
            pytest.param(wide().tz_localize("Europe/Paris"), id="a zone, by its wall clock"),
            pytest.param(wide().astype(object), id="objects"),
            pytest.param(wide().astype("Float32"), id="nullable"),
            pytest.param(wide().astype(str), id="numbers as text"),
            pytest.param(wide()[list(reversed(NAMES))], id="another order"),
            pytest.param(wide().T.set_axis(pd.Index(NAMES, dtype=object)).T, id="object names"),
            pytest.param(wide().set_index(wide().index.as_unit("s")), id="seconds"),
            pytest.param(pl.from_pandas(wide().reset_index()), id="polars"),
            pytest.param(Series(readings(), NAMES, wide().index.to_numpy()), id="series"),
            pytest.param(Series(readings(), NAMES, wide().index.to_numpy()).to_frame(long=True), id="long"),
            pytest.param(
                Series(readings(), NAMES, wide().index.to_numpy()).to_frame(long=True).sample(frac=1, random_state=1),
                id="long and shuffled",
            ),
            pytest.param(
                Series(readings(), NAMES, wide().index.to_numpy()).to_frame(long=True).set_index(["unique_id", "ds"]),
                id="long by index",
            ),
            pytest.param(
                Series(readings(), NAMES, wide().index.to_numpy()).to_frame(long=True).set_index("ds").assign(note="x"),
                id="long with more columns",
            ),
            pytest.param(
                pl.from_pandas(Series(readings(), NAMES, wide().index.to_numpy()).to_frame(long=True)), id="polars long"
            ),
        ],
    )
    def test_kinds_of_input(self, recent):
        options = {"freq": "5min", "time_features": ("day_of_week", "time_of_day")}
        same(read(recent, **options), read(wide(), **options))

    def test_a_date_and_a_clock(self):
        frame = wide().reset_index(drop=True)
        frame["date"] = ["2024-03-01"] * 6
        frame["time"] = [f"00:{minute:02d}" for minute in range(0, 30, 5)]
        same(read(frame, freq="5min"), read(wide(), freq="5min"))

    def test_a_polars_column_with_a_zone(self):
        frame = pl.from_pandas(wide().tz_localize("Europe/Paris").reset_index())
        same(read(frame, freq="5min"), read(wide().tz_localize("Europe/Paris"), freq="5min"))

    def test_nothing_given_is_changed(self):
        for frame in (wide(), wide().reset_index(), Series(readings(), NAMES).to_frame(long=True)):
            before = frame.copy()
            read(frame).values[:] = 0
            pd.testing.assert_frame_equal(frame, before)
        array = readings()
        read(array).values[:] = 0
        np.testing.assert_array_equal(array, readings())


class TestReading:
    def test_an_absent_column_is_a_column_of_nan(self):
        absent, empty = wide().drop(columns="level"), wide().assign(level=np.nan)
        same(read(absent, freq="5min"), read(empty, freq="5min"))
        assert np.isnan(read(absent).values[:, 2]).all()
        assert not np.isnan(read(absent).values[:, [0, 1, 3]]).any()

    def test_the_last_steps_are_used(self):
        np.testing.assert_array_equal(read(wide(9), freq="5min").values, readings(9)[-4:])
        np.testing.assert_array_equal(read(wide(9)).times, wide(9).index[-4:])

    def test_a_missing_row_is_a_row_of_nan(self):
        window = read(wide(6).drop(wide(6).index[3]), freq="5min")
        assert np.isnan(window.values).all(axis=1).tolist() == [False, True, False, False]
        np.testing.assert_array_equal(window.times, wide(6).index[2:])

    def test_rows_may_be_few_if_they_span_the_lookback(self):
        window = read(wide(4).iloc[[0, 2, 3]], freq="5min")
        np.testing.assert_array_equal(window.values[[0, 2, 3]], readings(4)[[0, 2, 3]])

    def test_a_gap_before_the_window_does_not_matter(self):
        frame = pd.concat([wide(3).shift(freq="-7h"), wide(4)])
        same(read(frame, freq="5min"), read(wide(4), freq="5min"))

    def test_a_lone_reading_after_a_long_gap(self):
        frame = pd.concat([wide(3).shift(freq="-7h"), wide(1)])
        assert np.isnan(read(frame, freq="5min").values).all(axis=1).tolist() == [True, True, True, False]

    def test_times_a_little_late(self):
        late = wide().set_axis(wide().index + pd.to_timedelta([0, 9, 0, 20, 3, 0], unit="s"))
        same(read(late, freq="5min"), read(wide(), freq="5min"))

    def test_without_a_rate_rows_are_taken_as_they_come(self):
        frame = wide(6).drop(wide(6).index[3])
        window = read(frame)
        np.testing.assert_array_equal(window.values, frame.to_numpy()[-4:])
        np.testing.assert_array_equal(window.times, frame.index[-4:])

    @pytest.mark.parametrize("freq", ["MS", "B", "QS-OCT", "W-SUN", "D"])
    def test_calendar_rates(self, freq):
        frame = wide(9, freq=freq)
        np.testing.assert_array_equal(read(frame, freq=freq).values, readings(9)[-4:])
        gap = read(frame.drop(frame.index[-2]), freq=freq)
        assert np.isnan(gap.values).all(axis=1).tolist() == [False, False, True, False]
        np.testing.assert_array_equal(gap.times, frame.index[-4:])

    def test_rows_in_order_need_no_times(self):
        window = read(wide().reset_index(drop=True), freq="5min")
        assert window.times is None
        assert window.features is None
        np.testing.assert_array_equal(window.values, readings()[-4:])

    def test_the_end_of_a_longer_table_without_times(self):
        frame = wide(9).reset_index(drop=True).tail(5)
        np.testing.assert_array_equal(read(frame).values, readings(9)[-4:])

    @pytest.mark.parametrize("numbers", [[0, 1, 2, 4, 5], [10, 20, 30, 50, 60]])
    def test_numbered_steps_with_a_gap(self, numbers):
        frame = wide(5).set_index(pd.Index(numbers, name="step"))
        for table in (
            frame,
            frame.reset_index(),
            frame.reset_index().iloc[:, ::-1],
            pl.from_pandas(frame.reset_index()),
        ):
            window = read(table)
            assert window.times is None
            assert np.isnan(window.values).all(axis=1).tolist() == [False, True, False, False]
            np.testing.assert_array_equal(window.values[[0, 2, 3]], readings(5)[2:])

    def test_a_long_frame_of_numbered_steps(self):
        long = Series(readings(), NAMES).to_frame(long=True)
        np.testing.assert_array_equal(read(long[long["ds"] != 3]).values[[0, 2, 3]], readings()[[2, 4, 5]])

    def test_names_that_are_numbers(self):
        options = {"variables": ("7", "8"), "lookback": 2}
        frame = pd.DataFrame([[1.0, 2.0], [3.0, 4.0]], columns=[8, 7])
        np.testing.assert_array_equal(read_recent(frame, **options).values, [[2, 1], [4, 3]])
        long = pd.DataFrame({"unique_id": [8.0, 8.0], "ds": [0, 1], "y": [1.0, 3.0]})
        np.testing.assert_array_equal(read_recent(long, **options).values, [[np.nan, 1], [np.nan, 3]])

    def test_integers_and_blanks(self):
        frame = wide().assign(inflow=[1] * 6, outflow=range(6), level=["1", "", " ", None, "2.5", "3"])
        window = read(frame).values
        np.testing.assert_array_equal(window[:, 0], [1, 1, 1, 1])
        np.testing.assert_array_equal(window[:, 1], [2, 3, 4, 5])
        np.testing.assert_array_equal(window[:, 2], [np.nan, np.nan, 2.5, 3])

    def test_a_pandas_series_is_one_variable(self):
        np.testing.assert_array_equal(read(wide()["level"]).values[:, 2], readings()[-4:, 2])

    def test_a_constant_variable_raises_no_warning(self):
        assert (read(wide().assign(heat=1.0).reset_index()).values[:, 3] == 1).all()  # DataWarning is an error here

    def test_time_features_as_in_training(self):
        series = Series(readings(), NAMES, wide().index.to_numpy(), time_features=("time_of_day", "day_of_week"))
        window = read(wide(), freq="5min", time_features=series.time_features)
        np.testing.assert_array_equal(window.features, series.features[-4:])


class TestArrays:
    def test_in_the_trained_order(self):
        for recent in (readings(), readings().astype(np.float64), readings().tolist(), readings().astype(object)):
            np.testing.assert_array_equal(read(recent).values, readings()[-4:])

    def test_with_names_and_times(self):
        window = read(readings(6, "ab"), names=["heat", "inflow"], times=wide().index, freq="5min")
        same(window, read(pd.DataFrame(readings(6, "ab"), wide().index, ["heat", "inflow"]), freq="5min"))

    def test_times_with_a_gap(self):
        kept = [0, 1, 2, 3, 5]
        window = read(readings()[kept], times=wide().index.to_numpy()[kept], freq="5min")
        same(window, read(wide().iloc[kept], freq="5min"))

    @pytest.mark.parametrize(
        ("recent", "options", "sentence"),
        [
            (readings()[0], {}, r"recent must be \[t, n\] \(steps x variables\), got shape \(4,\)"),
            (
                readings(6, "ab"),
                {},
                r"without names must have 4 variables in the trained order, got 2 \(shape \(6, 2\)\)",
            ),
            (readings(6, "ab"), {"names": ["heat"]}, "names must name each of the 2 columns of recent, got 1"),
            (readings(6, "ab"), {"names": ["heat", "heat"]}, "names has 2 variables named 'heat'"),
            (readings(6, "ab"), {"names": ["heat", "x"]}, r"recent has 1 column that is not among the 4 variables"),
            (
                readings(),
                {"times": wide().index[:3]},
                "times must have one entry for each of the 6 rows of recent, got 3",
            ),
            ([[1.0], [1.0, 2.0]], {}, "rows of equal length"),
            ([["1", "2", "3", "four"]] * 4, {}, r"column 'heat' of recent holds text \('four'\)"),
            (wide(), {"names": NAMES}, "names and times are for arrays"),
            (wide().reset_index(), {"times": wide().index}, "names and times are for arrays"),
        ],
    )
    def test_bad_arrays(self, recent, options, sentence):
        with pytest.raises(InputError, match=sentence):
            read(recent, **options)


def at(*minutes):
    return wide(len(minutes)).set_axis(START + pd.to_timedelta(minutes, unit="min"))


class TestRefused:
    @pytest.mark.parametrize("recent", [None, 5, "recent.csv", {"inflow": [1.0]}, object()])
    def test_other_objects(self, recent):
        with pytest.raises(InputError, match=r"recent must be a pandas or polars DataFrame .* or an array .*, got"):
            read(recent)

    def test_a_lazy_frame(self):
        with pytest.raises(InputError, match=r"polars LazyFrame: give an eager DataFrame \(call .collect\(\)\)"):
            read(pl.from_pandas(wide().reset_index()).lazy())

    @pytest.mark.parametrize("turn", [lambda frame: frame, pd.DataFrame.reset_index])
    def test_unknown_columns_are_named(self, turn):
        with pytest.raises(
            InputError, match=r"2 columns that are not among the 4 variables of the training \('x', 'y'\)"
        ):
            read(turn(wide().assign(x=1.0, y=2.0)))
        with pytest.raises(InputError, match=r"\('inflwo'\): did you mean 'inflow' for 'inflwo'\?"):
            read(turn(wide().rename(columns={"inflow": "inflwo"})))

    def test_unknown_names_of_a_long_frame(self):
        long = Series(readings(), (*NAMES[:3], "heaat")).to_frame(long=True)
        with pytest.raises(InputError, match="did you mean 'heat' for 'heaat'"):
            read(long)

    @pytest.mark.parametrize("rows", [0, 1, 3])
    def test_too_few_steps(self, rows):
        sentence = f"recent has {rows} steps?, and the forecaster looks back over 4: give at least the last 4"
        for recent in (wide(rows), wide(rows).reset_index(), wide(rows).reset_index(drop=True), readings(rows)):
            with pytest.raises(InputError, match=sentence):
                read(recent, freq="5min")
        with pytest.raises(InputError, match=sentence):
            read(wide(rows))

    def test_too_few_steps_with_a_gap(self):
        with pytest.raises(InputError, match="recent has 4 steps, and the forecaster looks back over 5"):
            read(wide(4).iloc[[0, 2, 3]], 5, freq="5min")

    @pytest.mark.parametrize(
        ("freq", "came"), [("10min", "10min"), ("7min", "7min"), ("1min", "1min"), ("h", "1h"), ("D", "1D")]
    )
    def test_another_rate(self, freq, came):
        sentence = f"recent comes every {came}, and the forecaster was trained on steps of 5min: resample it"
        for recent in (wide(freq=freq), wide(freq=freq).drop(wide(freq=freq).index[4]), wide(freq=freq).reset_index()):
            with pytest.raises(InputError, match=sentence):
                read(recent, freq="5min")

    def test_times_that_are_not_even_are_not_counted_in_nanoseconds(self):
        off = np.cumsum(np.arange(12) % 3 * 7 * 10**10 + 4 * 10**11 + 1)
        frame = pd.DataFrame({"a": np.arange(12.0)}, index=pd.to_datetime(off))
        with pytest.raises(InputError, match=r"recent comes about every [0-9.]+ min, and the forecaster was"):
            read_recent(frame, variables=("a",), lookback=4, steps=Steps("5min", start=0))

    def test_another_rate_than_the_calendar_one(self):
        with pytest.raises(InputError, match="recent comes every 1D, and the forecaster was trained on steps of MS"):
            read(wide(freq="D"), freq="MS")
        with pytest.raises(InputError, match=r"recent comes every 9[012]D, .* trained on steps of MS"):
            read(wide(freq="QS"), freq="MS")

    def test_two_rows_of_another_rate(self):
        with pytest.raises(
            InputError, match="recent comes every 10min, and the forecaster was trained on steps of 5min"
        ):
            read(at(0, 10), 2, freq="5min")

    def test_a_row_off_the_steps(self):
        with pytest.raises(InputError, match=r"a row at 2024-03-01 00:07:00, which is off the 5min steps"):
            read(at(0, 7, 10, 15, 20), freq="5min")

    def test_an_unknown_rate(self):
        with pytest.raises(InputError, match="freq must be a rate as pandas writes it"):
            read(wide(), freq="often")

    @pytest.mark.parametrize("turn", [lambda frame: frame, lambda frame: frame.reset_index(names="time")])
    def test_times_that_go_back(self, turn):
        sentence = (
            r"goes back in time: 2024-03-01 00:05:00 \(row 2\) comes after 2024-03-01 00:10:00 \(row 1\); sort it"
        )
        for freq in ("5min", None):
            with pytest.raises(InputError, match=sentence):
                read(turn(at(0, 10, 5, 15, 20, 25, 30)), freq=freq)

    @pytest.mark.parametrize("turn", [lambda frame: frame, lambda frame: frame.reset_index(names="time")])
    def test_repeated_times(self, turn):
        with pytest.raises(InputError, match=r"has 2024-03-01 00:05:00 twice \(rows 1 and 2\): sort it and keep one"):
            read(turn(at(0, 5, 5, 10, 15)), freq="5min")

    def test_numbered_rows_that_go_back(self):
        with pytest.raises(
            InputError, match=r"goes back in time: step 4 \(row 1\) comes after step 5 \(row 0\); sort it"
        ):
            read(wide().reset_index(drop=True).iloc[::-1])

    def test_numbered_steps_of_no_rate(self):
        with pytest.raises(
            InputError, match="step numbers without a single rate: 1 is not a multiple of 10 away from the last, 40"
        ):
            read(wide(5).set_index(pd.Index([0, 1, 20, 30, 40], name="step")), 5)

    def test_a_long_frame_with_a_reading_twice(self):
        long = Series(readings(), NAMES, wide().index.to_numpy()).to_frame(long=True)
        with pytest.raises(InputError, match="recent has 'level' at 2024-03-01 00:10:00 more than once"):
            read(pd.concat([long, long.iloc[[14]]]))

    def test_a_long_frame_without_a_name(self):
        long = Series(readings(), NAMES).to_frame(long=True)
        long.loc[3, "unique_id"] = None
        with pytest.raises(InputError, match="recent has no name in 'unique_id' in row 3"):
            read(long)

    @pytest.mark.parametrize("value", [np.inf, -np.inf, 1e39])
    @pytest.mark.parametrize("turn", [lambda frame: frame, pd.DataFrame.reset_index])
    def test_infinity(self, value, turn):
        frame = wide().astype(np.float64)
        frame.loc[frame.index[4], "level"] = value
        with pytest.raises(InputError, match=r"infinite reading of 'level' .* in step 3 of its last 4: write NaN"):
            read(turn(frame))

    def test_text(self):
        frame = wide().astype({"level": object})
        frame.loc[frame.index[4], "level"] = "broken"
        for recent in (frame, pl.from_pandas(frame.astype({"level": str}).reset_index())):
            with pytest.raises(
                InputError, match=r"column 'level' of recent holds text \('broken'\), where readings should"
            ):
                read(recent)

    def test_dates_among_the_readings(self):
        with pytest.raises(InputError, match=r"column 'level' of recent holds datetime64.*, not readings: drop it"):
            read(wide().assign(level=wide().index))

    def test_no_reading_at_all(self):
        sentence = "recent has no reading of any of the 4 variables in its last 4 steps"
        empty = wide() * np.nan
        late = wide(7)
        late.iloc[3:] = np.nan
        for recent in (empty, empty.reset_index(), wide()[[]], late, readings() * np.nan):
            with pytest.raises(InputError, match=sentence):
                read(recent)

    def test_features_need_times(self):
        with pytest.raises(InputError, match=r"recent must have times, since .* trained with 'time_of_day'"):
            read(readings(), time_features=("time_of_day",))

    @pytest.mark.parametrize("turn", [lambda frame: frame, lambda frame: frame.reset_index(names="time")])
    def test_a_row_without_a_time(self, turn):
        frame = wide().set_axis(wide().index.where(np.arange(6) != 2))
        with pytest.raises(InputError, match=r"no readable time in row 2 \('NaT'\): write it as"):
            read(turn(frame))

    def test_unreadable_times(self):
        frame = wide().reset_index(drop=True).assign(time=["2024-03-01", "2024-03-02", "soon", *["2024-03-04"] * 3])
        with pytest.raises(InputError, match=r"no readable time in row 2 \('soon'\)"):
            read(frame)

    def test_dates_of_either_order(self):
        days = [f"01/02/2024 00:{minute:02d}" for minute in range(0, 30, 5)]
        with pytest.raises(InputError, match="dates such as '01/02/2024 00:00', which can be read in two ways: write"):
            read(wide().reset_index(drop=True).assign(time=days))

    def test_a_column_twice(self):
        frame = pd.concat([wide(), wide()[["heat"]]], axis=1)
        with pytest.raises(InputError, match="recent has 2 variables named 'heat'"):
            read(frame)

    def test_levels_without_names(self):
        frame = wide().set_index([[1] * 6, list(range(6))])
        with pytest.raises(InputError, match="index of 2 levels without names"):
            read(frame)

    def test_a_lookback_of_zero(self):
        with pytest.raises(InputError, match="lookback must be a whole number of at least 1, got 0"):
            read(wide(), 0)


def test_arrays_load_neither_pandas_nor_polars():
    code = (
        "import sys, numpy as np; from subcast.tables.live import read_recent;"
        "read_recent(np.ones((3, 2)), variables=('a', 'b'), lookback=2);"
        "sys.exit('pandas' in sys.modules or 'polars' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
