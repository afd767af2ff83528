"""Numbers as text, written and read in any convention, by plain loops that share nothing with subcast."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

BLANKS = ("", "na", "nan", "null", "none", "n/a", "#n/a", "<na>", "-nan", "#na")
"""Cells that are missing readings in any case, in small letters."""


class Convention(NamedTuple):
    """The mark before decimals, and the mark between thousands ("" without one)."""

    decimal: str
    thousands: str


PLAIN = Convention(".", "")
CONVENTIONS = (
    PLAIN,
    Convention(",", ""),
    *(Convention(".", mark) for mark in (",", " ", "\u00a0", "\u202f", "'", "’", "_")),
    *(Convention(",", mark) for mark in (".", " ", "\u00a0", "\u202f", "'", "’", "_")),
)


def write_number(number: Decimal, convention: Convention, *, smallest_grouped: int = 1000) -> str:
    """Write a number; thousands are grouped from `smallest_grouped` on.

    >>> write_number(Decimal("-1234567.50"), Convention(",", "."))
    '-1.234.567,50'
    """
    sign, digits = ("-", str(-number)) if number < 0 else ("", str(number))
    whole, _, decimals = digits.partition(".")
    if convention.thousands and abs(number) >= smallest_grouped:
        groups = []
        while len(whole) > 3:
            whole, group = whole[:-3], whole[-3:]
            groups.insert(0, group)
        whole = convention.thousands.join([whole, *groups])
    return sign + whole + (convention.decimal + decimals if decimals else "")


@lru_cache(maxsize=1 << 14)
def read_number(text: str, convention: Convention) -> float | None:
    """Read a number in one convention; None when it is not one, NaN when it is a missing reading.

    >>> german = Convention(",", ".")
    >>> read_number("1.010", PLAIN), read_number("1.010", german), read_number("1.01", german)
    (1.01, 1010.0, None)
    """
    text = text.strip()
    if text.lower() in BLANKS:
        return math.nan
    sign = 1.0
    if text[:1] in ("+", "-"):
        sign, text = (-1.0 if text[0] == "-" else 1.0), text[1:]
    mantissa, exponent = _split_exponent(text)
    if exponent is None:
        return None
    whole, mark, decimals = mantissa.partition(convention.decimal)
    if convention.thousands and convention.thousands in whole:
        whole = _without_groups(whole, convention.thousands)
    if not (whole or decimals) or not _is_digits(whole + decimals) or (mark and not whole + decimals):
        return None
    return sign * float(f"{whole or 0}.{decimals or 0}e{exponent}")


def _split_exponent(text: str) -> tuple[str, str | None]:
    """Return the text before "e", and the digits after it; None for those when there are none."""
    position = max(text.find("e"), text.find("E"))
    if position < 0:
        return text, "0"
    exponent = text[position + 1 :]
    digits = exponent[1:] if exponent[:1] in ("+", "-") else exponent
    return text[:position], exponent if _is_digits(digits) and digits and len(digits) < 5 else None


def _is_digits(text: str) -> bool:
    return all(character in "0123456789" for character in text)


def _without_groups(whole: str, mark: str) -> str:
    """Return the digits of a grouped number, or text that is no number when the groups are wrong."""
    groups = whole.split(mark)
    right = 1 <= len(groups[0]) <= 3 and not groups[0].startswith("0") and all(len(group) == 3 for group in groups[1:])
    return "".join(groups) if right else "wrong"


def readings_of(cells: Iterable[str], convention: Convention) -> list[float | None]:
    """Read all cells in one convention."""
    return [read_number(cell, convention) for cell in cells]


def fitting_conventions(cells: Sequence[str]) -> list[Convention]:
    """Return the conventions in which every cell is a number that is one in any convention."""
    numbers = [cell for cell in cells if any(read_number(cell, convention) is not None for convention in CONVENTIONS)]
    return [
        convention for convention in CONVENTIONS if all(read_number(cell, convention) is not None for cell in numbers)
    ]
