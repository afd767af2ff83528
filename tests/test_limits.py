"""Limits: which readings are beyond them and why, how limits are changed, shown and saved."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from subcast.errors import DataError, InputError
from subcast.limits import BAD, CAUSES, GOOD, MISSING, NOT_EVALUATED, SUSPECT, Limits, is_missing_code
from subcast.storage.state import State
from twins import limits_twins

INFINITE = float("inf")


def limits_of(low=-30, high=50, change=10, gap=2, seen_low=-12, seen_high=35, n=1):
    """Limits of n equal variables."""
    fields = (low, high, change, gap, seen_low, seen_high)
    return Limits(tuple("abcdefgh"[:n]), *(np.full(n, field) for field in fields))


readings = st.one_of(
    st.just(float("nan")),
    st.integers(-40, 60).map(float),
    st.sampled_from([-999.0, 999999.0, -99.0, 9999.0, 32767.0]),
)
bounds = st.sampled_from([(-30.0, 50.0), (-INFINITE, 50.0), (-INFINITE, INFINITE), (0.0, 0.0)])


class TestTwin:
    @given(
        st.lists(readings, min_size=1, max_size=8),
        bounds,
        st.sampled_from([0.0, 3.0, 10.0, 25.0, INFINITE]),
        st.sampled_from([-12, 0, 30]),
    )
    def test_causes_and_codes_of_one_variable(self, window, bounds, change, seen_low):
        fields = {"low": bounds[0], "high": bounds[1], "change": change, "seen_low": seen_low, "seen_high": 35}
        values = np.array(window, dtype=np.float32)[:, None]
        limits = limits_of(**fields)
        assert [CAUSES[cause] for cause in limits.causes(values)[:, 0]] == limits_twins.causes(window, **fields)
        assert limits.codes(values)[:, 0].tolist() == limits_twins.qartod(window, **fields)

    @given(st.integers(0, 2**32 - 1))
    def test_batches_of_several_variables(self, seed):
        rng = np.random.default_rng(seed)
        values = rng.normal(10, 15, size=(4, 7, 3)).astype(np.float32)
        values[rng.random(values.shape) < 0.2] = np.nan
        values[rng.random(values.shape) < 0.05] = -999
        changes = rng.uniform(5, 40, size=3).astype(np.float32)
        limits = Limits(("a", "b", "c"), [-30] * 3, [40] * 3, changes, [0] * 3, [-20] * 3, [30] * 3)
        causes = limits.causes(values)
        own = [
            {"low": -30, "high": 40, "change": float(change), "seen_low": -20, "seen_high": 30} for change in changes
        ]
        for window in range(4):
            expected = limits_twins.window_causes(values[window].T.astype(float).tolist(), own)
            assert [[CAUSES[cause] for cause in column] for column in causes[window].T] == expected
        np.testing.assert_array_equal(limits.screen(values).values, np.where(causes > 0, np.nan, values))


class TestChange:
    def causes(self, *window):
        causes = limits_of().causes(np.array(window, dtype=np.float32)[:, None])[:, 0]
        return [step for step, cause in enumerate(causes) if CAUSES[cause] == "change"]

    def test_a_spike_and_the_last_reading(self):
        assert self.causes(20, 21, 49, 22, 23) == [2]
        assert self.causes(20, 21, 22, 23, 49) == [4]

    def test_a_first_reading_that_is_wrong_does_not_take_the_others_with_it(self):
        assert self.causes(49, 20, 21, 22, 23) == [0]

    def test_a_change_of_level_is_believed_when_half_of_the_window_shows_it(self):
        assert self.causes(0, 0, 0, 45, 45) == [3, 4]
        assert self.causes(0, 0, 45, 45) == [0, 1]

    def test_more_is_possible_after_missing_steps(self):
        nan = float("nan")
        assert self.causes(20, nan, nan, 49) == []
        assert self.causes(20, nan, 49) == [0]


class TestEvent:
    """A change of most variables at once."""

    def changed(self, *columns):
        values = np.full((6, 5), 20, dtype=np.float32)
        values[-1, list(columns)] = 45
        return np.argwhere(limits_of(n=5).causes(values)).tolist()

    def test_most_variables_at_once_are_an_event(self):
        assert self.changed(0, 1, 2) == []
        assert self.changed(0, 1, 2, 3, 4) == []

    def test_some_variables_are_not(self):
        assert self.changed(0, 3) == [[5, 0], [5, 3]]

    def test_two_variables_are_too_few_to_tell(self):
        values = np.full((6, 2), 20, dtype=np.float32)
        values[-1] = 45
        assert limits_of(n=2).causes(values)[-1].all()

    def test_readings_out_of_range_are_no_event(self):
        values = np.full((6, 5), 20, dtype=np.float32)
        values[-1] = 999999
        assert limits_of(n=5).causes(values)[-1].all()


def test_long_series_are_judged_in_pieces():
    values = np.full((3000, 1), 20, dtype=np.float32)
    values[[40, 700, 2999]] = 45
    assert np.flatnonzero(limits_of().causes(values)).tolist() == [40, 700, 2999]


class TestScreen:
    @pytest.mark.parametrize("shape", [(0, 2), (0, 4, 2), (3, 0, 2)])
    def test_no_readings(self, shape):
        values = np.zeros(shape, dtype=np.float32)
        assert limits_of(n=2).screen(values).values is values
        assert limits_of(n=2).codes(values).shape == shape

    def test_possible_readings_are_returned_as_they_are(self):
        values = np.array([[20.0, np.nan], [21.0, 3.0]], dtype=np.float32)
        screened = limits_of(n=2).screen(values)
        assert screened.values is values
        assert screened.causes is None

    def test_beyond_training_but_possible(self):
        values = np.array([[40.0], [49.0]], dtype=np.float32)
        assert limits_of().screen(values).causes is None

    def test_the_input_is_not_changed(self):
        values = np.array([[20.0], [999999.0]], dtype=np.float32)
        values.flags.writeable = False
        screened = limits_of().screen(values)
        np.testing.assert_array_equal(screened.values, [[20.0], [np.nan]])
        assert values[1, 0] == 999999

    def test_codes_of_missing_readings_count_where_the_range_is_wide(self):
        wide = limits_of(low=-INFINITE, high=INFINITE, change=INFINITE)
        values = np.array([[-999.0], [-998.0], [36.0], [32767.0]], dtype=np.float32)
        assert wide.causes(values)[:, 0].tolist() == [CAUSES.index("code"), 0, 0, CAUSES.index("code")]

    def test_a_number_near_the_training_readings_is_no_code(self):
        counter = limits_of(low=0, high=INFINITE, change=INFINITE, seen_low=0, seen_high=900)
        assert not counter.causes(np.array([[999.0]])).any()

    def test_a_negative_code_where_no_reading_was_negative(self):
        counter = limits_of(low=-INFINITE, high=INFINITE, change=INFINITE, seen_low=0, seen_high=90_000)
        assert counter.codes(np.array([[-999.0], [-3.0]]))[:, 0].tolist() == [BAD, NOT_EVALUATED]

    def test_a_variable_without_training_readings(self):
        unknown = limits_of(-INFINITE, INFINITE, INFINITE, 0, np.nan, np.nan)
        assert unknown.codes(np.array([[5.0], [1e30]]))[:, 0].tolist() == [NOT_EVALUATED] * 2
        assert unknown.screen(np.array([[5.0]], dtype=np.float32)).causes is None

    def test_a_range_of_its_own_holds_also_without_training_readings(self):
        own = limits_of(0, 10, INFINITE, 0, np.nan, np.nan)
        assert np.isnan(own.screen(np.array([[11.0]], dtype=np.float32)).values).all()


def test_codes():
    values = np.array([[20.0], [np.nan], [21.0], [51.0], [49.0], [22.0]])
    assert limits_of().codes(values)[:, 0].tolist() == [GOOD, MISSING, GOOD, BAD, SUSPECT, GOOD]


def test_gap_codes():
    assert limits_of(n=2).gap_codes([2, 3]).tolist() == [GOOD, BAD]


@pytest.mark.parametrize("values", [np.zeros(3), np.zeros((4, 2))])
def test_codes_of_another_shape(values):
    with pytest.raises(InputError, match=r"values must be \[t, n\] or \[b, t, n\] with 1 variable, got shape"):
        limits_of().codes(values)


def test_missing_codes():
    values = np.array([-9999, 6999, 65535, 3.4028235e38, 1e20, 100, 1000, 0, -1, np.nan])
    assert is_missing_code(values).tolist() == [True] * 5 + [False] * 5


class TestChanging:
    def test_range(self):
        limits = limits_of(n=2)
        changed = limits.with_range("b", low=-5)
        assert (changed.low.tolist(), changed.high.tolist()) == ([-30, -5], [50, 50])
        assert limits.low.tolist() == [-30, -30]

    def test_a_range_inside_of_the_training_readings_holds(self):
        narrow = limits_of().with_range("a", high=30)
        assert np.isnan(narrow.screen(np.array([[31.0]], dtype=np.float32)).values).all()

    def test_change(self):
        assert limits_of().with_change("a", INFINITE).codes(np.array([[0.0], [45.0]]))[:, 0].tolist() == [GOOD, GOOD]

    def test_without(self):
        free = limits_of(n=2).without("a")
        assert free.codes(np.array([[-999.0, -999.0]])).tolist() == [[NOT_EVALUATED, BAD]]

    def test_ranges(self):
        assert limits_of(n=2).with_ranges({"a": (None, 60), "b": (0, None)}).high.tolist() == [60, 50]

    @pytest.mark.parametrize(
        ("change", "sentence"),
        [
            (
                lambda limits: limits.with_range("x", low=3),
                "there is no variable 'x' to limit among the 1 of the training",
            ),
            (lambda limits: limits.with_range("a", low=60), "low must not be above high, got 60 and 50 for 'a'"),
            (lambda limits: limits.with_range("a", low="3"), "the low of 'a' must be a number, or infinity"),
            (lambda limits: limits.with_range("a", high=np.nan), "the high of 'a' must be a number, or infinity"),
            (lambda limits: limits.with_range("a", high=True), "the high of 'a' must be a number, or infinity"),
            (lambda limits: limits.with_change("a", -1), "change and gap must be numbers of at least 0"),
        ],
    )
    def test_refused(self, change, sentence):
        with pytest.raises(InputError, match=sentence):
            change(limits_of())

    def test_another_number_of_variables(self):
        with pytest.raises(InputError, match="low must have one number for each of the 2 variables"):
            Limits(("a", "b"), *[np.zeros(1)] * 6)


class TestNotes:
    times = np.array(["2024-01-01T05:00", "2024-01-01T06:00"], dtype="datetime64[ns]")

    def notes(self, *window, times=None, limits=None):
        limits = limits or limits_of(n=len(window[0]))
        values = np.array(window, dtype=np.float32)
        return limits.notes(values, limits.causes(values), times)

    def test_one_reading(self):
        (note,) = self.notes([20.0], [999999.0], times=self.times)
        assert note == "'a' reads 999999 at 2024-01-01 06:00:00, above its limit of 50: this reading is not used"

    def test_below_and_without_times(self):
        (note,) = self.notes([-31.5], [20.0])
        assert note == "'a' reads -31.5 at step 1 of 2, below its limit of -30: this reading is not used"

    def test_several_readings(self):
        (note,) = self.notes([999999.0], [88.0], times=self.times)
        expected = "(the last is 88 at 2024-01-01 06:00:00, above its limit of 50): they are not used"
        assert note == f"'a' has 2 readings beyond its limits {expected}"

    def test_code_and_change(self):
        wide = limits_of(low=-INFINITE)
        assert (
            "a usual code for a missing reading, far from its training readings of -12 to 35"
            in self.notes([-9999.0], limits=wide)[0]
        )
        assert "cannot be reached with its largest change of 10 a step" in self.notes([20.0], [20.0], [45.0])[0]

    def test_many_variables_are_summed_up(self):
        notes = self.notes([999.0] * 8)
        assert len(notes) == 6
        assert notes[-1] == "3 more variables have readings beyond their limits, which are not used"


class TestSaving:
    def test_restored(self):
        limits = Limits(("a", "b"), [-INFINITE, -3], [5, INFINITE], [INFINITE, 2], [0, 4], [np.nan, -2], [np.nan, 1])
        restored = Limits.from_state(limits.state(), ("a", "b"))
        for name in ("low", "high", "change", "gap", "seen_low", "seen_high"):
            np.testing.assert_array_equal(getattr(restored, name), getattr(limits, name))

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("low", np.zeros(2, dtype=np.float32)),
            ("low", np.zeros(1, dtype=np.int64)),
            ("low", np.full(1, 1e9, dtype=np.float32)),
            ("gap", np.full(1, -1)),
            ("change", np.full(1, -1, dtype=np.float32)),
            ("high", np.full(1, np.inf, dtype=np.float32)),
        ],
    )
    def test_damaged(self, name, value):
        state = limits_of().state()
        with pytest.raises(DataError, match="is damaged or was changed by hand"):
            Limits.from_state(State({}, {**state.arrays, name: value}), ("a",))

    def test_incomplete(self):
        with pytest.raises(DataError, match="it has no low"):
            Limits.from_state(State({}, {}), ("a",))


class TestShowing:
    def test_plain_values(self):
        plain = limits_of(high=INFINITE, change=0.1).to_dict()["a"]
        assert plain == {"low": -30, "high": None, "change": 0.1, "gap": 2, "seen_low": -12, "seen_high": 35}

    def test_frame(self):
        frame = limits_of(n=2).frame
        assert frame.loc["b", "high"] == 50
        assert list(frame.columns) == ["low", "high", "change", "gap", "seen_low", "seen_high"]

    @pytest.mark.parametrize(
        ("low", "high", "words"),
        [(-INFINITE, 5, "up to 5"), (0, INFINITE, "from 0"), (-INFINITE, INFINITE, "any reading"), (0, 5, "0 to 5")],
    )
    def test_words(self, low, high, words):
        assert limits_of(low, high, seen_low=1, seen_high=2).describe("a").startswith(f"{words}, ")

    def test_long_list(self):
        names = tuple(f"v{number}" for number in range(12))
        assert repr(Limits(names, *[np.zeros(12)] * 6)).endswith("  and 2 more")
