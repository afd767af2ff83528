"""How a table writes its numbers: which mark is the decimal mark, and which one stands between thousands.

A convention is a decimal mark (a point or a comma) and a mark between thousands (none, a point, a comma, a space, an
apostrophe or an underscore). A number fits a convention when it can be read in it; 1.234 fits several, as 1.234 or as
1234. The whole table has one convention, which all its numbers fit. `docs/guide/data.md` has the rules.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import NamedTuple

from subcast.errors import InputError

DECIMAL_MARKS = (".", ",")
THOUSANDS_MARKS = ("", ".", ",", " ", "'", "_")

_MARK_NAMES = {".": "point", ",": "comma", " ": "space", "'": "apostrophe", "_": "underscore"}
_VARIANTS = str.maketrans({**dict.fromkeys("\u00a0\u2007\u2009\u202f", " "), "\u2019": "'"})
"""Spaces that do not break, thin spaces and the typographic apostrophe count as the plain ones."""

_NUMBER_LIKE = re.compile(r"[-+]?[.,]?[0-9][0-9., '_]*(?:[eE][-+]?[0-9]+)?")
_DIGITS_BUT_ZERO = str.maketrans(dict.fromkeys("23456789", "1"))
_DIGITS = str.maketrans(dict.fromkeys("023456789", "1"))
_BELOW_THOUSAND = re.compile(r"[-+]?[0-9]{1,3}")
_GROUPED_ONCE = re.compile(r"[-+]?[1-9][0-9]{0,2}([.,])[0-9]{3}")


class Convention(NamedTuple):
    """The decimal mark, and the mark between thousands ("" for none)."""

    decimal: str
    thousands: str


CONVENTIONS = tuple(
    Convention(decimal, thousands) for decimal in DECIMAL_MARKS for thousands in THOUSANDS_MARKS if decimal != thousands
)
"""All conventions, in the order in which they are preferred when all numbers mean the same in several of them."""


@dataclass(frozen=True)
class NumberFormat:
    """What the caller says about the numbers of a table.

    Parameters
    ----------
    decimal
        "." or ","; found from the numbers when it is None
    thousands
        ".", ",", " ", "'", "_", or "" when there is none; found from the numbers when it is None
    """

    decimal: str | None = None
    thousands: str | None = None

    def __post_init__(self) -> None:
        if self.decimal not in (None, *DECIMAL_MARKS):
            raise InputError(f"decimal must be '.' or ',', got {self.decimal!r}")
        plain = self.thousands.translate(_VARIANTS) if isinstance(self.thousands, str) else self.thousands
        if plain not in (None, *THOUSANDS_MARKS):
            raise InputError(
                f"thousands must be '.', ',', ' ', \"'\", '_', or '' for none, got {self.thousands!r}",
            )
        if plain is not None and plain == self.decimal:
            raise InputError(f"decimal and thousands must differ, got {self.decimal!r} for both")
        object.__setattr__(self, "thousands", plain)

    @property
    def given(self) -> bool:
        """Whether the caller said anything."""
        return self.decimal is not None or self.thousands is not None

    @property
    def considered(self) -> int:
        """The conventions that agree with the caller, as bits in the order of `CONVENTIONS`."""
        return _bits(
            lambda convention: (
                self.decimal in (None, convention.decimal) and self.thousands in (None, convention.thousands)
            )
        )


def _bits(chosen: Callable[[Convention], bool]) -> int:
    return sum(1 << place for place, convention in enumerate(CONVENTIONS) if chosen(convention))


_WITH_COMMA = _bits(lambda convention: "," in convention)


@cache
def _pattern(convention: Convention) -> re.Pattern[str]:
    decimal, mark = re.escape(convention.decimal), re.escape(convention.thousands)
    plain = rf"(?:[0-9]+(?:{decimal}[0-9]*)?|{decimal}[0-9]+)(?:[eE][-+]?[0-9]+)?"
    grouped = rf"|[1-9][0-9]{{0,2}}(?:{mark}[0-9]{{3}})+(?:{decimal}[0-9]*)?" if mark else ""
    return re.compile(f"[-+]?(?:{plain}{grouped})")


def plain_text(text: str) -> str:
    """Return the text of a cell without spaces at its ends, and with plain spaces and apostrophes."""
    return text.strip().translate(_VARIANTS)


def is_number_like(text: str) -> bool:
    """Return whether a cell holds digits and marks only, such as a number or 1.2.3.

    >>> [is_number_like(text) for text in ("-1.5", "12,34,567", "1e5", "2024-01-31", "5 %", "")]
    [True, True, True, False, False, False]
    """
    return _NUMBER_LIKE.fullmatch(plain_text(text)) is not None


def conventions_of(text: str) -> int:
    """Return the conventions that a cell fits, as bits in the order of `CONVENTIONS`; 0 for text.

    >>> [CONVENTIONS[place] for place in range(10) if conventions_of("1.234,5") >> place & 1]
    [Convention(decimal=',', thousands='.')]
    """
    plain = plain_text(text)
    unsigned = plain[1:] if plain[:1] in ("+", "-") else plain
    if unsigned[:1] in ("+", "-"):
        return 0
    return _conventions_of_shape(unsigned[:1].translate(_DIGITS_BUT_ZERO) + unsigned[1:].translate(_DIGITS))


@lru_cache(maxsize=1 << 12)
def _conventions_of_shape(shape: str) -> int:
    """Return the conventions of a number without its sign, every digit but a zero at its start written as 1."""
    if _NUMBER_LIKE.fullmatch(shape) is None:
        return 0
    return _bits(lambda convention: _pattern(convention).fullmatch(shape) is not None)


def number_of(text: str, convention: Convention) -> float | None:
    """Return the number that a cell holds in a convention, or None when it does not fit.

    >>> number_of("1.234,5", Convention(",", ".")), number_of("1.234,5", Convention(".", ""))
    (1234.5, None)
    """
    plain = plain_text(text)
    if _pattern(convention).fullmatch(plain) is None:
        return None
    if convention.thousands:
        plain = plain.replace(convention.thousands, "")
    return float(plain.replace(convention.decimal, "."))


class _Cell(NamedTuple):
    """The text of a cell and the name of its column."""

    text: str
    column: str


@dataclass
class Evidence:
    """What the numbers of a table say about its convention; filled column by column with `add`.

    Parameters
    ----------
    format
        what the caller said
    """

    format: NumberFormat
    _fits: int = field(init=False)
    _first: dict[int, _Cell] = field(init=False, default_factory=dict)  # by the conventions that it fits
    _undecided: dict[str, _Cell] = field(init=False, default_factory=dict)  # such as 1.234, by its mark
    _beside_whole: dict[str, _Cell] = field(init=False, default_factory=dict)  # the same, beside 980 in its column

    def __post_init__(self) -> None:
        self._fits = self.format.considered

    def add(self, column: str, texts: Iterable[str]) -> None:
        """Add the cells of a column; text that is no number in any convention considered says nothing."""
        undecided: dict[str, _Cell] = {}
        whole = False
        for text in texts:
            fits = conventions_of(text) & self.format.considered
            if not fits:
                continue
            self._fits &= fits
            if fits == self.format.considered:
                whole = whole or _BELOW_THOUSAND.fullmatch(plain_text(text)) is not None
                continue
            cell = _Cell(text.strip(), column)
            self._first.setdefault(fits, cell)
            if grouped := _GROUPED_ONCE.fullmatch(plain_text(text)):
                undecided.setdefault(grouped[1], cell)
        for mark, cell in undecided.items():
            self._undecided.setdefault(mark, cell)
            if whole:
                self._beside_whole.setdefault(mark, cell)

    def decide(self, source: str, error: type[InputError], *, separator: str | None = None) -> Decision:
        """Return the one convention of the table.

        Parameters
        ----------
        source, error
            what to call the table in messages, and what to raise when it is refused
        separator
            of a text file, None for a frame. A file that is separated by commas has no commas in its numbers, unless
            the caller said so; 1.234 alone settles nothing in a file separated by semicolons, tabs or bars.

        It is refused if no convention fits all its numbers, or if several do and a number means different things in
        them.
        """
        if not self._fits:
            raise error(self._contradiction(source))
        fits, notes = self._fits, []
        if separator == "," and not self.format.given:
            fits &= ~_WITH_COMMA
            if not fits:
                raise error(self._commas(source))
        for mark, cell in self._undecided.items():
            if self._means_two_things(mark):
                if mark == "," or separator in (";", "\t", "|") or mark in self._beside_whole:
                    raise error(_ambiguity(source, self._beside_whole.get(mark, cell)))
                fits &= _bits(lambda convention: convention.decimal == ".")
                notes.append(decimal_point_note(cell.text))
        chosen = next(convention for place, convention in enumerate(CONVENTIONS) if fits >> place & 1)
        return Decision(chosen, (*self._taken(chosen), *notes))

    def _means_two_things(self, mark: str) -> bool:
        """Return whether `mark` is the decimal mark in one convention that fits, and between thousands in another."""
        fitting = [convention for place, convention in enumerate(CONVENTIONS) if self._fits >> place & 1]
        return any(mark == each.decimal for each in fitting) and any(mark == each.thousands for each in fitting)

    def _taken(self, chosen: Convention) -> list[str]:
        """Return a note about the convention that was taken, if the caller did not give it and it is not the usual."""
        parts = []
        if chosen.decimal == "," and self.format.decimal is None and (cell := self._example(chosen, chosen.decimal)):
            parts.append(f"a decimal comma ({_equation(cell, chosen)})")
        if chosen.thousands and self.format.thousands is None and (cell := self._example(chosen, chosen.thousands)):
            parts.append(f"{_MARK_NAMES[chosen.thousands]}s between thousands ({_equation(cell, chosen)})")
        return [f"numbers read with {' and '.join(parts)}"] if parts else []

    def _example(self, chosen: Convention, mark: str) -> _Cell | None:
        return next((cell for cell in self._first.values() if mark in plain_text(cell.text)), None)

    def _contradiction(self, source: str) -> str:
        cells = list(self._first.items())
        pairs = [
            (other, one) for place, (fits, one) in enumerate(cells) for also, other in cells[:place] if not fits & also
        ]
        first, second = pairs[0] if pairs else (cells[0][1], cells[-1][1])
        return (
            f"{source} writes its numbers in more than one way ({first.text!r} in column {first.column!r}, "
            f"{second.text!r} in column {second.column!r}): write them alike, or say which way "
            "counts with decimal= and thousands="
        )

    def _commas(self, source: str) -> str:
        cell = next(cell for fits, cell in self._first.items() if not fits & ~_WITH_COMMA)  # one has a mark of its own
        mark = "," if "," in cell.text else "."
        return (
            f"{source} is separated by commas and has numbers such as {cell.text!r} in column {cell.column!r}: say "
            f"what the marks in them mean with decimal= and thousands=, such as thousands={mark!r}"
        )


class Decision(NamedTuple):
    """The convention of a table, and the notes that say so where it is not the usual one."""

    convention: Convention
    notes: Sequence[str]


def _equation(cell: _Cell, convention: Convention) -> str:
    number = number_of(cell.text, convention)
    return f"{cell.text!r} is {number:.15g}"


def _ambiguity(source: str, cell: _Cell) -> str:
    mark = "." if "." in cell.text else ","
    other = "," if mark == "." else "."
    small, large = number_of(cell.text, Convention(mark, "")), number_of(cell.text, Convention(other, mark))
    return (
        f"{source} has numbers such as {cell.text!r} in column {cell.column!r}, which can be {small:g} or {large:g}, "
        f"and no other number settles it: give decimal={mark!r} or thousands={mark!r}"
    )


def decimal_point_note(text: str) -> str:
    """Return a note that a number such as 1.010 was read with a decimal point; empty for others.

    >>> decimal_point_note("1.010")
    "numbers such as '1.010' read with a decimal point (1.01, not 1010)"
    """
    small, large = number_of(text, Convention(".", "")), number_of(text, Convention(",", "."))
    if small is None or large is None or small == large:
        return ""
    return f"numbers such as {text!r} read with a decimal point ({small:g}, not {large:g})"
