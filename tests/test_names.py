"""Checks of names, and counts and lists in messages."""

import pytest

from subcast.errors import DataError, InputError
from subcast.names import listed, numbered_names, plural, refuse_repeated_names, refuse_unknown_names


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
