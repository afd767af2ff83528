"""Checks of names, and counts and lists in messages."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subcast.errors import DataError, InputError
from subcast.names import (
    listed,
    name_in_spreadsheet,
    numbered_names,
    plural,
    refuse_repeated_names,
    refuse_unknown_names,
    spreadsheet_name,
)


class TestRepeatedNames:
    @pytest.mark.parametrize("names", [[], ["a"], ["a", "b", "A"]])
    def test_distinct_names_pass(self, names):
        refuse_repeated_names(names, "the table")

    def test_the_commonest_name_is_reported(self):
        with pytest.raises(DataError) as refused:
            refuse_repeated_names(["a", "b", "a", "c", "b", "b"], "the table")
        assert str(refused.value) == "the table has 3 variables named 'b': give each variable a name of its own"


VARIABLES = {"inflow": 0, "level": 1}


class TestUnknownNames:
    def test_known_names_pass(self):
        refuse_unknown_names(["level", "inflow"], VARIABLES, "recent")

    def test_the_nearest_name_is_proposed(self):
        with pytest.raises(InputError, match=r"\('levle'\): did you mean 'level' for 'levle'\?$"):
            refuse_unknown_names(["inflow", "levle"], VARIABLES, "recent")

    def test_without_a_near_name(self):
        with pytest.raises(InputError, match=r"2 columns that are not among the 2 variables .* \('x', 'y'\): drop"):
            refuse_unknown_names(["x", "inflow", "y"], VARIABLES, "recent")


def test_listed():
    assert listed([]) == ""
    assert listed(["a", "b", "c"]) == "'a', 'b', 'c'"
    assert listed(["a", "b", "c", "d"], most=2) == "'a', 'b' and 2 more"


@pytest.mark.parametrize(("n", "last"), [(1, "v0"), (10, "v9"), (11, "v10"), (101, "v100")])
def test_numbered_names_sort_like_their_numbers(n, last):
    names = numbered_names(n)
    assert (len(names), names[-1]) == (n, last)
    assert names == sorted(names)


@pytest.mark.parametrize(
    ("verb", "one", "two"),
    [("", "1 row", "2 rows"), ("was", "1 row was", "2 rows were"), ("has", "1 row has", "2 rows have")],
)
def test_plural(verb, one, two):
    assert (plural(1, "row", verb), plural(2, "row", verb)) == (one, two)


@pytest.mark.parametrize("verb", ["is", "holds", "repeats"])
def test_plural_verbs_differ(verb):
    assert plural(3, "row", verb) != f"3 rows {verb}"


FORMULAS = ["=1+1", "+1", "-1", "@sum", "\tx", "\rx", "'=1", "''-2", "\uff1d1"]


@pytest.mark.parametrize("name", FORMULAS)
def test_names_that_a_spreadsheet_would_run_are_marked_and_read_back(name):
    assert spreadsheet_name(name)[0] == "'"
    assert name_in_spreadsheet(spreadsheet_name(name)) == name


@given(st.text(max_size=5) | st.text(alphabet="'=+-@\t\rx", max_size=5))
def test_no_name_is_changed_by_writing_and_reading(name):
    written = spreadsheet_name(name)
    assert name_in_spreadsheet(written) == name
    assert written[:1] not in tuple("=+-@\t\r\n")
