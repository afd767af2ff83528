"""Tests that every kind of field is compared with what it must be."""

import numpy as np
import pytest

from subcast.errors import DataError, InputError
from subcast.storage import fields
from subcast.storage.state import State


def state(**facts):
    return State(facts, source="plant")


def of_array(values, **options):
    return State({}, {"rows": np.asarray(values)}, source="plant", **options)


@pytest.mark.parametrize(
    ("read", "value"),
    [
        (lambda s: fields.whole(s, "x", 1, 9), 9),
        (lambda s: fields.number(s, "x", 0), 0),
        (lambda s: fields.number(s, "x"), -2.5),
        (lambda s: fields.flag(s, "x"), False),
        (lambda s: fields.text(s, "x"), ""),
        (lambda s: fields.text(s, "x", ("mae", "rmse")), "mae"),
        (lambda s: fields.optional_text(s, "x"), None),
        (lambda s: list(fields.texts(s, "x", 2)), ["a", "b"]),
        (lambda s: list(fields.numbers(s, "x")), [1, 2.5]),
        (lambda s: fields.sequence(s, "x"), [{}]),
        (lambda s: fields.mapping(s, "x"), {"a": 1}),
    ],
)
def test_what_is_right_is_returned(read, value):
    result = read(state(x=value))
    assert result == value
    assert type(result) is type(value)


@pytest.mark.parametrize(
    ("read", "values", "words"),
    [
        (
            lambda s: fields.whole(s, "x", 1, 9),
            [0, 10, 1.0, True, "1", None, [1], 10**400],
            "a whole number from 1 to 9",
        ),
        (
            lambda s: fields.number(s, "x", 0, 1),
            [-1, 2, np.nan, np.inf, "1", True, None],
            "a finite number from 0 to 1",
        ),
        (lambda s: fields.flag(s, "x"), [0, 1, "true", None], "true or false"),
        (lambda s: fields.text(s, "x"), [1, None, ["a"]], "a text"),
        (lambda s: fields.text(s, "x", ("mae", "rmse")), ["mse", 3], "one of mae, rmse"),
        (lambda s: fields.optional_text(s, "x"), [3, False], "a text"),
        (lambda s: fields.texts(s, "x"), ["ab", ["a", "a"], ["a", 1], None], "a list"),
        (lambda s: fields.texts(s, "x", 2), [["a"], ["a", "b", "c"]], "a list of 2 entries"),
        (lambda s: fields.numbers(s, "x"), [[1, "a"], [np.inf], [True], 3, [10**400], [-(10**400)]], "a list"),
        (lambda s: fields.sequence(s, "x"), [{}, "ab", None], "a list"),
        (lambda s: fields.mapping(s, "x"), [[], None, "a"], "facts by name"),
    ],
)
def test_what_is_wrong_is_refused_in_one_sentence(read, values, words):
    for value in values:
        with pytest.raises(DataError) as error:
            read(state(x=value))
        message = str(error.value)
        assert message.startswith("plant is damaged or was changed by hand (its x must be ")
        assert words in message
        assert "\n" not in message
        assert len(message) < 300


def test_a_missing_field():
    with pytest.raises(DataError, match=r"plant is damaged .*it has no lookback"):
        fields.whole(state(), "lookback")
    with pytest.raises(DataError, match=r"it has no rows"):
        fields.array(state(), "rows", np.float32, [None])


class TestArrays:
    def test_type_and_shape(self):
        rows = of_array(np.zeros((2, 3), dtype=np.float32))
        assert fields.array(rows, "rows", np.float32, [2, None]).shape == (2, 3)
        for dtype, shape in ((np.float64, [2, 3]), (np.float32, [3, 2]), (np.float32, [6]), (np.float32, [2, 3, 1])):
            with pytest.raises(DataError, match=r"its rows must be float\d\d \[.*\], got float32 \[2, 3\]"):
                fields.array(rows, "rows", dtype, shape)

    @pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
    @pytest.mark.parametrize("place", [0, fields._AT_ONCE - 1, fields._AT_ONCE, fields._AT_ONCE + 4])
    def test_a_value_that_is_not_finite(self, value, place):
        values = np.zeros(fields._AT_ONCE + 5, dtype=np.float32)
        values[place] = value
        with pytest.raises(DataError, match=r"its rows holds .*, and must be finite"):
            fields.array(of_array(values), "rows", np.float32, [None])
        if np.isnan(value):
            fields.array(of_array(values), "rows", np.float32, [None], missing=True)

    def test_range(self):
        fields.array(of_array([0, 9]), "rows", np.int64, [2], low=0, high=9)
        for values in ([-1, 3], [3, 10], [np.iinfo(np.int64).min, 0]):
            with pytest.raises(DataError, match="must lie from 0 to 9"):
                fields.array(of_array(values), "rows", np.int64, [2], low=0, high=9)

    def test_values_of_a_trusted_folder_are_not_looked_through(self):
        fields.array(of_array([np.inf], trusted=True), "rows", np.float64, [1])

    def test_truth_values_and_empty_arrays(self):
        assert fields.array(of_array([True, False]), "rows", np.bool_, [2]).tolist() == [True, False]
        assert fields.array(of_array(np.zeros((0, 4))), "rows", np.float64, [0, 4]).size == 0
        assert fields.has_array(of_array([1]), "rows")
        assert not fields.has_array(of_array([1]), "starts")


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (KeyError("scaler"), r"it has no 'scaler'"),
        (InputError("k must be 1"), r"k must be 1"),
        (DataError("no such rate"), r"no such rate"),
        (TypeError("not\na number"), r"not a number"),
        (OverflowError("too large"), r"too large"),
        (RecursionError(), r"RecursionError"),
        (IndexError("x" * 5000), r"x{240} \.\.\.\)"),
    ],
)
def test_errors_while_restoring_become_one_sentence(error, words):
    with (
        pytest.raises(DataError, match=rf"^plant is damaged or was changed by hand \({words}\)?"),
        fields.restoring(state()),
    ):
        raise error


def test_other_errors_while_restoring_are_left_alone():
    for error in (DataError("plant is mine"), KeyboardInterrupt(), MemoryError()):
        with pytest.raises(type(error)) as raised, fields.restoring(state()):
            raise error
        assert raised.value is error


def test_short_texts():
    assert fields.short(10**5000) == "a int"
    assert fields.short([1] * 30) == "a list of 30"
    assert fields.short(dict.fromkeys(range(30))) == "a mapping of 30"
    assert fields.short("a\nb") == r"'a\nb'"
    assert len(fields.short("a" * 1000)) < 50
