"""Numbers as text: written and read in any convention."""

import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st


@pytest.fixture(scope="module")
def numbers(program):
    return program("number_text")


@given(
    number=st.decimals(-(10**9), 10**9, places=3, allow_nan=False),
    position=st.integers(0, 15),
    smallest_grouped=st.sampled_from([1000, 10_000]),
)
def test_what_is_written_is_read(numbers, number, position, smallest_grouped):
    convention = numbers.CONVENTIONS[position]
    text = numbers.write_number(number, convention, smallest_grouped=smallest_grouped)
    assert numbers.read_number(text, convention) == float(number)
    assert convention in numbers.fitting_conventions([text])


@pytest.mark.parametrize(
    ("text", "plain", "german"),
    [
        ("1.010", 1.01, 1010.0),
        ("1,010", None, 1.01),
        ("1.01", 1.01, None),
        ("0.123", 0.123, None),
        ("12.34.567", None, None),
        ("1.234.567,5", None, 1234567.5),
        ("-.5", -0.5, None),
        ("1e3", 1000.0, 1000.0),
        ("1,5e-2", None, 0.015),
        (" 7 ", 7.0, 7.0),
        ("٣", None, None),
        ("e5", None, None),
        ("5%", None, None),
        (".", None, None),
        ("", math.nan, math.nan),
        ("N/A", math.nan, math.nan),
    ],
)
def test_conventions(numbers, text, plain, german):
    read = [numbers.read_number(text, convention) for convention in (numbers.PLAIN, numbers.Convention(",", "."))]
    assert repr(read) == repr([plain, german])


def test_which_conventions_fit(numbers):
    Convention = numbers.Convention
    assert set(numbers.fitting_conventions(["1.010", "980"])) >= {numbers.PLAIN, Convention(",", ".")}
    assert set(numbers.fitting_conventions(["1.010", "980", "1,5", "bad"])) == {Convention(",", ".")}
    assert numbers.fitting_conventions(["1.01", "1,01"]) == []


def test_groups(numbers):
    assert numbers.write_number(Decimal("-1234567.50"), numbers.Convention(",", "'")) == "-1'234'567,50"
    assert numbers.write_number(Decimal("1234"), numbers.Convention(",", "."), smallest_grouped=10_000) == "1234"
