"""The two policies on the same problems: one repairs and notes, the other refuses or takes what has one meaning."""

import inspect

import numpy as np
import pandas as pd
import pytest

from subcast.errors import DataError, InputError
from subcast.tables.frames import Columns, frame_rows
from subcast.tables.policy import Policy, Repair, Strict, TextCells

HOURS = pd.date_range("2024-01-01", periods=4, freq="h")
READINGS = [1.0, 2.0, 4.0, 7.0]
TAKEN = None


def wide(index=HOURS, a=READINGS):
    return pd.DataFrame({"a": a}, index=index)


def long(**columns):
    return pd.DataFrame({"unique_id": ["a"] * 4, "ds": HOURS, "y": READINGS} | columns)


PROBLEMS = [
    pytest.param(
        wide([f"0{day}/02/2024" for day in range(1, 5)]),
        "dates such as '01/02/2024' can be read in two ways: read day first",
        "the frame has dates such as '01/02/2024', which can be read in two ways: write them as 2024-01-31 13:05",
        id="ambiguous dates",
    ),
    pytest.param(
        wide(HOURS.where(np.arange(4) != 2)),
        "1 row has no readable time: dropped",
        "the frame has no readable time in row 2 ('NaT'): write it as 2024-01-31 13:05, or drop the row",
        id="unreadable time",
    ),
    pytest.param(
        wide(a=["1", "2", "broken", "3"]),
        "1 cell was text in 'a': now missing",
        "column 'a' of the frame holds text ('broken'), where readings should be: write NaN where a reading is missing",
        id="text",
    ),
    pytest.param(long(note="x"), "1 column was not needed ('note'): ignored", TAKEN, id="unused column"),
    pytest.param(
        long(unique_id=["a", "a", None, "a"]),
        "1 row has no name in 'unique_id': dropped",
        "the frame has no name in 'unique_id' in row 2: name the variable",
        id="no name",
    ),
    pytest.param(
        long(ds=HOURS[[0, 1, 1, 2]]),
        "1 reading repeats a variable and time: the last one is kept",
        "the frame has 'a' at 2024-01-01 01:00:00 more than once: keep one row for each variable and time",
        id="repeated reading",
    ),
    pytest.param(wide(["p", "q", "r", "s"]), "the row names ('p', ...) are not times: ignored", TAKEN, id="row names"),
    pytest.param(
        wide([3, 0, 1, 2]),
        "the row numbers were out of order: sorted",
        "the frame goes back in time: step 0 (row 1) comes after step 3 (row 0); sort it, as with frame.sort_index()",
        id="row numbers",
    ),
    pytest.param(
        wide(a=1e9 + np.arange(4.0)),
        "1 variable has steps too small for float32's seven digits ('a'): subtract a constant, or take differences",
        TAKEN,
        id="lost digits",
    ),
]


@pytest.mark.parametrize(("frame", "note", "sentence"), PROBLEMS)
def test_repair_notes_what_strict_refuses(frame, note, sentence):
    repair = Repair("the frame")
    assert frame_rows(frame, repair, Columns()).names == ["a"]
    assert repair.notes == [note]
    strict = Strict("the frame")
    columns = Columns(variables={"a": 0})
    if sentence is TAKEN:
        assert frame_rows(frame, strict, columns).values.shape == (4, 1)
    else:
        with pytest.raises(InputError) as refused:
            frame_rows(frame, strict, columns)
        assert str(refused.value) == sentence
    assert strict.notes == []


def test_infinite_readings():
    values = np.array([[1, np.inf], [np.nan, 2]], dtype=np.float32)
    repair = Repair("the table")
    np.testing.assert_array_equal(repair.infinite_readings(values, ["a", "b"]), [[1, np.nan], [np.nan, 2]])
    assert repair.notes == ["1 reading was infinite: now missing"]
    assert np.isinf(values[0, 1])  # the input is not modified
    with pytest.raises(InputError, match=r"infinite reading of 'b' .* in step 1 of its last 2: write NaN"):
        Strict("recent").infinite_readings(values, ["a", "b"])


def test_a_frame_without_cells():
    with pytest.raises(DataError, match="the table has 0 rows of 3 columns: there is nothing to read"):
        Repair("the table").no_cells(0, 3)
    Strict("recent").no_cells(0, 3)


@pytest.mark.parametrize(("count", "refused"), [(4, False), (5, True)])
def test_half_of_the_rows_is_too_many_for_repair(count, refused):
    policy = Repair("the table")
    calls = (
        lambda: policy.unreadable_times(0, "x", count, 10),
        lambda: policy.text_cells([TextCells("a", "x", count, 10)]),
    )
    for call in calls:
        if refused:
            with pytest.raises(DataError, match="'x'"):
                call()
        else:
            call()
    assert len(policy.notes) == (0 if refused else 2)


def test_notes_given_before_come_first_and_are_copied():
    before = ["a note"]
    policy = Repair("the table", before)
    policy.inferred_zone("taken as UTC")
    assert policy.notes == ["a note", "taken as UTC"]
    assert before == ["a note"]


def test_both_policies_decide_about_every_problem():
    problems = {name for name, _ in inspect.getmembers(Policy, inspect.isfunction) if not name.startswith("_")}
    for policy in (Repair, Strict):
        assert problems <= policy.__dict__.keys()
