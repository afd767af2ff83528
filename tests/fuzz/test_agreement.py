"""The comparison of what was read with what a file holds: it finds wrong numbers, times and names."""

import datetime
from types import SimpleNamespace

import numpy as np
import pytest

NAMES = ("a", "b")
MOMENTS = [datetime.datetime(2024, 1, 1, hour) for hour in range(3)]
TEXTS = [["980", "1,5"], ["990", "2,5"], ["1.010", "NA"]]
NUMBERS = [[980.0, 1.5], [990.0, 2.5], [1010.0, np.nan]]


@pytest.fixture
def agreement(program):
    program("agreement")
    import agreement

    return agreement


@pytest.fixture
def german(program):
    return program("number_text").Convention(",", ".")


@pytest.fixture
def cells(agreement):
    return [
        agreement.Cell(moment, name, TEXTS[row][column])
        for row, moment in enumerate(MOMENTS)
        for column, name in enumerate(NAMES)
    ]


def series(numbers=NUMBERS, times=MOMENTS, notes=()):
    values = np.array(numbers, dtype=np.float32)
    stamps = None if times is None else np.array(times, dtype="datetime64[ns]")
    return SimpleNamespace(values=values, variables=NAMES, times=stamps, repairs=notes)


def test_what_the_file_holds_agrees(agreement, cells, german):
    agreement.check_values(series(), cells, german)


@pytest.mark.parametrize(
    ("row", "column", "value"), [(2, 0, 1.01), (0, 1, 15.0), (2, 1, 0.0), (1, 0, np.nan), (0, 0, 980.01)]
)
def test_a_wrong_number_is_found(agreement, cells, german, row, column, value):
    numbers = np.array(NUMBERS)
    numbers[row, column] = value
    with pytest.raises(agreement.WrongReadingError, match=rf"'{NAMES[column]}' at 2024-01-01 0{row}:00:00"):
        agreement.check_values(series(numbers), cells, german)


def test_another_convention_needs_a_note(agreement, german):
    cells = [agreement.Cell(row, "a", text) for row, text in enumerate(("1.010", "1.020"))]
    one = series([[1.01], [1.02]], None)
    with pytest.raises(agreement.WrongReadingError, match=r"is 1\.01, the file holds '1.010'"):
        agreement.check_values(one, cells, german)
    noted = series([[1.01], [1.02]], None, notes=("numbers read with decimal point",))
    agreement.check_values(noted, cells, german)


@pytest.mark.parametrize(
    ("times", "message"),
    [
        (None, "there are no times"),
        ([moment + datetime.timedelta(hours=8) for moment in MOMENTS], "is not among the times"),
        ([*MOMENTS[:2], MOMENTS[2] + datetime.timedelta(seconds=1)], "2024-01-01 02:00:00 is not among the times"),
    ],
)
def test_wrong_times_are_found(agreement, cells, german, times, message):
    with pytest.raises(agreement.WrongReadingError, match=message):
        agreement.check_values(series(times=times), cells, german)


def test_readings_where_the_file_has_none(agreement, cells, german):
    more = series([*NUMBERS, [1.0, 1.0]], [*MOMENTS, MOMENTS[2] + datetime.timedelta(hours=1)])
    with pytest.raises(agreement.WrongReadingError, match=r"readings at 2024-01-01T03:00.*where the file has none"):
        agreement.check_values(more, cells, german)


def test_names(agreement):
    agreement.check_names([" a", "b"], ["a", "b "])
    with pytest.raises(agreement.WrongReadingError, match="the variables are"):
        agreement.check_names(["b", "a"], ["a", "b"])


def test_the_last_reading_of_a_repeated_time_counts(agreement, german):
    repeated = [agreement.Cell(0, "a", text) for text in ("1,5", "2,5", "NA", "bad")]
    assert agreement.latest_cells(repeated, german) == {(0, "a"): "2,5"}
