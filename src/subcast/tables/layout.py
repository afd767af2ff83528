"""Find the layout of a text table from its first lines: separator, header, row names."""

from __future__ import annotations

import math
import re
from typing import NamedTuple, cast

import pandas as pd

from subcast.errors import DataError
from subcast.names import name_in_spreadsheet
from subcast.tables.convention import CONVENTIONS, conventions_of, number_of
from subcast.tables.dates import is_time_name, looks_like_times

SPACES = r"\s+"
"""The separator of a file whose fields are separated by any number of spaces and tabs."""

_SEPARATORS = (",", "\t", ";", "|")
_HEAD_LINES = 20
_HEAD_CHARACTERS = 1 << 20
_LINE_END = re.compile(r"\r\n|\n|\r")  # not str.splitlines, which also ends lines where pandas does not
_SEPARATOR_LINE = re.compile(r'\A"?sep=[,;|\t]"?[ ,;|\t]*(?:\r\n|\n|\r)', re.IGNORECASE)
_DATE = re.compile(r"\d{1,4}([-/.])\d{1,2}\1\d{1,4}(?:[T ].*)?")
_NO_READING = {
    *("", "NA", "N/A", "NULL", "NONE", "NAN", "-NAN", "<NA>", "#N/A", "#NA", "#N/A N/A"),
    *("1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"),
}
"""What stands for a missing reading, in capital letters."""


class Layout(NamedTuple):
    """The layout of a text table.

    Attributes
    ----------
    separator
        one of , ; | and tab, or `SPACES`
    header
        the fields of the first line, without spaces at their ends and apostrophes before formulas
    has_header
        whether the first line names the columns
    has_row_names
        whether the first column holds row names
    """

    separator: str
    header: list[str]
    has_header: bool
    has_row_names: bool


_BLANKS = " \r\n"  # a tab before # is an empty first field


def without_comments(text: str) -> str:
    """Return the text without the comment lines above the table (#), and without the line sep=; of a spreadsheet.

    When the last comment line has as many fields as the table, it is the header.
    """
    text = _SEPARATOR_LINE.sub("", text, count=1)
    comment = ""
    while text.lstrip(_BLANKS).startswith("#"):
        comment, *rest = _LINE_END.split(text.lstrip(_BLANKS), maxsplit=1)
        text = rest[0] if rest else ""
    if comment:
        with_header = f"{comment.lstrip('# ')}\n{text}"
        separator = _separator_of(text)
        fields = {len(record) for record in first_records(with_header, separator)}
        if len(fields) == 1 and fields != {1} and first_records(text, separator):
            return with_header
    return text


def layout_of(text: str, source: str) -> Layout:
    r"""Return the layout of a text table, found from its first lines.

    >>> layout_of("time;a\n2024-01-01;1,5\n2024-01-02;2,5\n", "the file")
    Layout(separator=';', header=['time', 'a'], has_header=True, has_row_names=False)
    """
    separator = _separator_of(text)
    rows = first_records(text, separator)
    if not rows:
        raise DataError(f"{source} has only blank lines: there is nothing to read")
    has_header = _has_header(rows)
    header = [name_in_spreadsheet(name.strip()) for name in rows[0]]
    if separator == "," and not has_header and ".tsv" in source.lower() and _may_be_decimal_commas(rows):
        raise DataError(
            f"the lines of {source} hold numbers such as {','.join(rows[0]).strip()!r} and it has no header: one "
            "number with a decimal comma, or two? Write a line with the names of the columns first"
        )
    unnamed_first = has_header and len(header) > 1 and header[0] == ""
    row_names = _has_row_names(rows, has_header)
    if row_names and is_time_name(header[0]):
        raise DataError(
            f"the lines of {source} have one field more than its header, which begins with {header[0]!r}: if its "
            "numbers have decimal commas, separate the fields by semicolons"
        )
    if row_names and separator == "," and _are_uncounted_numbers([row[0] for row in rows[1:]]):
        raise DataError(
            f"the lines of {source} begin with numbers such as {rows[1][0].strip()!r} that its header does not name: "
            "if they are the beginning of numbers with decimal commas, write points; else name the first column"
        )
    return Layout(separator, header, has_header, unnamed_first or row_names)


def _may_be_decimal_commas(rows: list[list[str]]) -> bool:
    """Return whether every line is two whole numbers with a comma between them."""
    return all(len(row) == 2 and row[0].strip().lstrip("+-").isdigit() and row[1].strip().isdigit() for row in rows)


def first_records(text: str, separator: str) -> list[list[str]]:
    r"""Return the fields of the first lines that are not blank; a field in quotes may hold separators and line ends.

    >>> first_records('"a, upper",b\n\n1,"x\ny"\n', ",")
    [['a, upper', 'b'], ['1', 'x\ny']]
    """
    records: list[list[str]] = []
    start = 0
    while start < len(text) and len(records) < _HEAD_LINES and (len(records) < 3 or start < _HEAD_CHARACTERS):
        line_end = _LINE_END.search(text, start)
        end, following = line_end.span() if line_end else (len(text), len(text))
        line = text[start:end]
        if '"' in line and separator != SPACES:
            record, following = _quoted_record(text, start, separator)
        else:
            record = _words(line) if separator == SPACES else line.split(separator)
        if line.strip():
            records.append(record)
        start = following
    return records


def _words(line: str) -> list[str]:
    """Return the words between spaces and tabs; other blanks, such as thin spaces, belong to a word."""
    return [word for word in line.replace("\t", " ").split(" ") if word]


def _quoted_record(text: str, start: int, separator: str) -> tuple[list[str], int]:
    """Return the fields of the record at `start`, and where the next one begins."""
    mark = re.escape(separator)
    pattern = re.compile(rf' *(?:"([^"]*(?:""[^"]*)*)"([^{mark}\r\n]*)|([^{mark}\r\n]*))({mark}|\r\n|\n|\r|\Z)')
    fields = []
    while True:
        field = cast("re.Match[str]", pattern.match(text, start))  # its last alternatives match anything
        quoted, rest, plain, end = field.groups()
        fields.append(plain if quoted is None else quoted.replace('""', '"') + rest)
        start = field.end()
        if end != separator:
            return fields, start


def _separator_of(text: str) -> str:
    """Return the separator that splits the first lines into fields, the same number in each line.

    The first line may have one field less, when the rows have names and the header does not name their column; a
    separator for which it has as many is preferred. Then any other is preferred to commas, which may be decimal marks,
    and the one that splits into the most fields.
    """
    best, rank = ",", (False, False, 1)
    for candidate in _SEPARATORS:
        counts = [len(record) for record in first_records(text, candidate)] or [0]
        same = len(set(counts[1:] or counts)) == 1
        if same and counts[0] in (counts[-1], counts[-1] - 1) and counts[-1] > 1:
            candidate_rank = (counts[0] == counts[-1], candidate != ",", counts[-1])
            best, rank = max((best, rank), (candidate, candidate_rank), key=lambda choice: choice[1])
    words = [len(record) for record in first_records(text, SPACES)]
    if rank[2] == 1 and words and len(set(words)) == 1 and words[0] > 1:
        return SPACES
    return best


def _has_row_names(rows: list[list[str]], has_header: bool) -> bool:
    """Return whether every line has one field more than the header, other than by a comma at its end."""
    below = rows[1:]
    longer = has_header and bool(below) and all(len(row) == len(rows[0]) + 1 for row in below)
    return longer and any(row[-1].strip() for row in below)


def _are_uncounted_numbers(names: list[str]) -> bool:
    """Return whether row names are numbers, but do not simply count the rows: they may be parts of other numbers.

    >>> [_are_uncounted_numbers(names) for names in (["1", "2", "3"], ["990", "991", "990"], ["north", "south"])]
    [False, True, False]
    """
    numbers = [_number(name) for name in names]
    known = [number for number in numbers if number is not None and not math.isnan(number)]
    if not known or len([number for number in numbers if number is not None]) < len(numbers):
        return False
    return len(known) < 2 or known != [known[0] + row for row in range(len(numbers))]


def _has_header(rows: list[list[str]]) -> bool:
    """Return whether the first line holds the names of the variables rather than readings.

    Whole numbers above fractions are names too, if they number the columns or are larger than any reading below.
    """
    cells = [cell.strip() for cell in rows[0]]
    if cells[0] == "" and len(cells) > 1:
        return True
    if any(_number(cell) is None and not _is_date(cell) for cell in cells):
        return True
    first = [_number(cell) for cell in cells]
    numbers = [number for number in first if number is not None and number.is_integer()]
    below = [number for row in rows[1:] for cell in row if math.isfinite(number := _number(cell) or 0.0)]
    if len(numbers) < len(cells) or len(set(numbers)) < max(len(cells), 2) or all(n.is_integer() for n in below):
        return False
    numbers_columns = any(numbers == list(range(start, start + len(numbers))) for start in (0, 1))
    return numbers_columns or min(numbers) > max(below)


def _is_date(cell: str) -> bool:
    has_digit = any("0" <= character <= "9" for character in cell)
    return has_digit and (_DATE.fullmatch(cell) is not None or looks_like_times(pd.Series([cell])))


def _number(cell: str) -> float | None:
    if cell.strip().upper() in _NO_READING:
        return math.nan
    fits = conventions_of(cell)
    if fits:
        return number_of(cell, next(one for place, one in enumerate(CONVENTIONS) if fits >> place & 1))
    try:
        return float(cell)  # infinity
    except ValueError:
        return None
