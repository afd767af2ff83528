"""The convention of numbers: what fits, what is decided, and the same by plain loops."""

import itertools
import math
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from subcast.errors import DataError, DataWarning, InputError
from subcast.tables.clean import frame_to_table
from subcast.tables.convention import (
    CONVENTIONS,
    Convention,
    Evidence,
    NumberFormat,
    conventions_of,
    is_number_like,
    number_of,
)
from subcast.tables.files import read_table
from twins import tables_twins

CELLS = [
    "980",
    "7",
    "1.010",
    "12.345",
    "1,234",
    "2.5",
    "2,5",
    "0.125",
    "1.234,5",
    "1,234.5",
    "1.234.567",
    "1e3",
    "5e-1",
]
RARE_CELLS = [
    "1'234",
    "1_234",
    "1 234",
    "1\u202f234,5",
    "1.5e2",
    "-3,25",
    "-.5",
    "0.123.456",
    "1.2.3",
    "12,34,567",
    "1234567",
]


class TestNumbers:
    @given(st.text(alphabet="0123456789.,' _eE+-\u00a0\u2019", max_size=10))
    @settings(max_examples=400, deadline=None)
    def test_every_cell_is_read_as_by_plain_loops(self, text):
        fits = conventions_of(text)
        for place, convention in enumerate(CONVENTIONS):
            expected = tables_twins.number_in(text, *convention)
            assert number_of(text, convention) == expected
            assert bool(fits >> place & 1) == (expected is not None)
            if expected is not None:
                assert is_number_like(text)

    @pytest.mark.parametrize("text", ["", " ", ".", "-", "e5", "1e", "1,", "--1", "1 e5", "1.234e", "nan", "inf", "١٢"])
    def test_what_is_no_number(self, text):
        assert conventions_of(text) in (0, conventions_of("1,"))
        assert number_of(text, Convention(".", "")) is None

    def test_the_order_in_which_conventions_are_preferred(self):
        assert CONVENTIONS[0] == Convention(".", "")
        assert len(CONVENTIONS) == len(set(CONVENTIONS)) == 10


class TestNumberFormat:
    def test_spaces_that_do_not_break_are_spaces(self):
        assert NumberFormat(thousands="\u202f") == NumberFormat(thousands=" ")

    def test_nothing_given_considers_everything(self):
        assert NumberFormat().considered == 1023
        assert not NumberFormat().given
        assert NumberFormat(thousands="").given

    @pytest.mark.parametrize("marks", [(".", "."), ("", None), ("x", None), (None, "-"), (1, None), (None, 3)])
    def test_other_marks_are_refused(self, marks):
        with pytest.raises(InputError):
            NumberFormat(*marks)


class TestEvidence:
    def test_the_usual_convention_is_not_noted(self):
        evidence = Evidence(NumberFormat())
        evidence.add("a", ["1.5", "2", "text", ""])
        assert evidence.decide("t", DataError) == (Convention(".", ""), ())

    def test_a_contradiction_of_three(self):
        evidence = Evidence(NumberFormat())
        evidence.add("a", ["1.234", "1,234", "1 234"])
        with pytest.raises(
            DataError, match=r"t writes its numbers in more than one way \('1.234' in column 'a', '1 234'"
        ):
            evidence.decide("t", DataError)

    def test_what_was_given_is_not_noted(self):
        evidence = Evidence(NumberFormat(",", "."))
        evidence.add("a", ["1.010", "2,5"])
        assert evidence.decide("t", DataError) == (Convention(",", "."), ())


columns_of_cells = st.lists(
    st.lists(st.sampled_from(CELLS) | st.sampled_from([*CELLS[:4], *RARE_CELLS]), min_size=3, max_size=3),
    min_size=1,
    max_size=3,
)


def outcome(read):
    """Return the values, or the reason of the refusal as the twin names it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        try:
            return read().values.T.tolist(), None
        except InputError as error:
            reasons = {"more than one way": "two ways", "separated by commas": "commas", "which can be": "two meanings"}
            reasons["which no convention"] = "no number"
            return None, next(reason for words, reason in reasons.items() if words in str(error))


def expected_outcome(columns, separator):
    values, reason = tables_twins.read_in_one_convention(columns, separator)
    if reason is None and any(value is None for value in itertools.chain(*values)):
        return None, "no number"
    return values, reason


def assert_same(outcomes, expected):
    assert outcomes[1] == expected[1]
    if expected[1] is None:
        np.testing.assert_array_equal(np.array(outcomes[0]), np.array(expected[0], dtype=np.float32))


class TestAgainstPlainLoops:
    @given(columns_of_cells, st.sampled_from([",", ";", "\t", "|"]))
    @settings(max_examples=250, deadline=None)
    def test_files(self, tmp_path_factory, columns, separator):
        rows = [f"2024-01-0{1 + row}" + "".join(f'{separator}"{c[row]}"' for c in columns) for row in range(3)]
        header = "time" + "".join(f"{separator}s{place}" for place in range(len(columns)))
        path = tmp_path_factory.getbasetemp() / "convention.csv"
        path.write_text("\n".join([header, *rows, ""]), encoding="utf-8")
        assert_same(outcome(lambda: read_table(path)), expected_outcome(columns, separator))

    @given(columns_of_cells)
    @settings(max_examples=100, deadline=None)
    def test_frames(self, columns):
        frame = pd.DataFrame({f"s{place}": column for place, column in enumerate(columns)})
        assert_same(outcome(lambda: frame_to_table(frame)), expected_outcome(columns, None))

    def test_the_twin_knows_the_examples_of_the_guide(self):
        read = tables_twins.read_in_one_convention
        assert read([["980", "1.010"], ["1,5", "2"]], ";") == ([[980, 1010], [1.5, 2]], None)
        assert read([["980", "1.010"]], ",") == (None, "two meanings")
        assert read([["12.345"]], ",") == ([[12.345]], None)
        assert read([["12.345"]], ";") == (None, "two meanings")
        assert read([["1,234.5"]], ",") == (None, "commas")
        assert math.isclose(read([["2.5"], ["1,234"]], ";")[0][1][0], 1234)
