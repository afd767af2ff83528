"""Text tables of known content, wide or long, in many styles; and a plain splitter that reads their fields back."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field
from random import Random
from typing import Any, NamedTuple

from number_text import CONVENTIONS, PLAIN, Convention, read_number, write_number
from truth import DATE_STYLES, QUOTED_NAMES, DateStyle, Truth, make_truth

TIME_NAMES = ("time", "Date", "timestamp", "ds", "datetime", "Times", "")
MISSING = ("", "NA", "NaN", "nan", "null", "NULL", "None", "N/A", "n/a", "#N/A")
TEXT_CELLS = (
    *("-", "--", "?", "missing", "bad", "inf", "-inf", "1e400"),
    *("TRUE", "False", "5 °C", "5%", "$5", "x5", "1..2", "0x1F"),
)
ENCODINGS = (
    *("utf-8", "utf-8", "utf-8", "utf-8-sig", "utf-16"),  # those in which subcast finds all names
    *("cp1252", "latin-1", "utf-16-le", "utf-32", "cp1251", "shift_jis"),
)


class Cell(NamedTuple):
    """One reading as the file holds it: which moment (or row), which variable, and the text."""

    moment: Any
    name: str
    text: str


class Place(NamedTuple):
    """Where a reading stands in the grid of fields."""

    line: int
    column: int


@dataclass
class TextTable:
    """A text file with all that is known about it.

    Attributes
    ----------
    grid
        the fields, the first line the header if there is one
    places
        where each reading of the truth stands, in the order of the file
    moments, names
        of those readings
    separator, newline, encoding, convention, style
        how it is written
    options
        what a user would pass to read it
    sure
        whether it must be read: nothing about it is odd
    """

    truth: Truth
    grid: list[list[str]]
    places: list[Place]
    moments: list[Any]
    names: list[str]
    separator: str = ","
    newline: str = "\n"
    encoding: str = "utf-8"
    convention: Convention = PLAIN
    style: str = ""
    header: bool = True
    quote_all: bool = False
    options: dict[str, Any] = field(default_factory=dict)
    oddities: list[str] = field(default_factory=list)
    before: str = ""  # lines above the table

    @property
    def sure(self) -> bool:
        """Whether nothing about the table is odd, so that it must be read."""
        return not self.oddities

    def header_unclear(self, grid: list[list[str]]) -> bool:
        """Whether the names look like readings, or one like several or like the mark of an encoding.

        Without names: whether the first line looks like names or times like readings.
        """
        if self.header:
            first = grid[0]
            is_split = len(first) == 1 and any(mark in first[0] for mark in ",;|\t")
            marked = first[0].startswith(("#", "\ufeff"))
            return is_split or marked or all(not entry.strip() or _is_number(entry) for entry in first)
        first = [grid[0][place.column] for place in self.places if place.line == 0]
        words = any(read_number(text, self.convention) is None for text in first)
        return words or "trailing" in self.oddities or self.style.startswith(("compact", "epoch"))

    @property
    def one_field(self) -> bool:
        """Whether its lines have one field: a blank line may be a missing reading, and a space may separate fields."""
        return len(self.grid[0]) == 1 and (self.convention.thousands == " " or any(line == [""] for line in self.grid))

    @property
    def unnamed_numbers(self) -> bool:
        """Whether its times are numbers in a column without a name, as row numbers are."""
        return self.header and self.grid[0][0].strip() == "" and self.style.startswith(("compact", "epoch"))

    @property
    def two_ways(self) -> bool:
        """Whether day and month of its dates can be confused."""
        return self.style in DATE_STYLES and DATE_STYLES[self.style].two_ways

    def cells(self, grid: list[list[str]] | None = None) -> list[Cell]:
        """Return the readings as the grid holds them."""
        fields = self.grid if grid is None else grid
        return [
            Cell(moment, name, fields[place.line][place.column])
            for place, moment, name in zip(self.places, self.moments, self.names, strict=True)
        ]

    def text(self) -> str:
        """Return the whole file as text."""
        lines = [self.separator.join(self._quoted(entry) for entry in line) for line in self.grid]
        return self.before + self.newline.join(lines) + ("" if "no last newline" in self.oddities else self.newline)

    def _quoted(self, entry: str) -> str:
        special = self.separator in entry or any(mark in entry for mark in '"\n\r')
        return '"' + entry.replace('"', '""') + '"' if special or self.quote_all else entry

    def encoded(self) -> bytes:
        """Return the bytes of the file."""
        return self.text().encode(self.encoding, errors="replace")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return text.strip().upper() in ("NA", "NULL", "NONE", "N/A")
    return True


def split_fields(text: str, separator: str) -> list[list[str]]:
    """Split a text table into fields by a plain loop; quotes hide separators and line ends, doubled quotes are one."""
    lines: list[list[str]] = [[]]
    entry, quoted, position = "", False, 0
    while position < len(text):
        character = text[position]
        if quoted:
            if character != '"':
                entry += character
            elif text[position + 1 : position + 2] == '"':
                entry += '"'
                position += 1
            else:
                quoted = False
        elif character == '"' and not entry:
            quoted = True
        elif character == separator:
            lines[-1].append(entry)
            entry = ""
        elif character in "\r\n":
            position += text[position : position + 2] == "\r\n"
            lines[-1].append(entry)
            lines.append([])
            entry = ""
        else:
            entry += character
        position += 1
    if entry or lines[-1]:
        lines[-1].append(entry)
    return [line for line in lines if line]


def make_text_table(random: Random) -> TextTable:
    """Return a random table as text."""
    truth = make_truth(random, missing=random.choice((0.0, 0.05, 0.3)))
    table = _long(random, truth) if random.random() < 0.25 else _wide(random, truth)
    _spoil(random, table)
    return table


# Layouts


def _wide(random: Random, truth: Truth) -> TextTable:
    order = _row_order(random, truth)
    oddities = [] if order == list(range(len(order))) and len(order) > 2 else ["rows"]
    table = TextTable(truth, [], [], [], [], oddities=oddities)
    _choose_writing(random, table)
    columns = _time_columns(random, table)
    width = len(columns)
    head = [name for name, _ in columns] + truth.names
    if random.random() < 0.04:
        table.header, table.oddities = False, [*table.oddities, "no header"]
    else:
        table.grid.append(head)
    for row in order:
        moment = None if truth.moments is None else truth.moments[row]
        line = [write(moment) for _, write in columns]
        for variable, name in enumerate(truth.names):
            table.places.append(Place(len(table.grid), width + variable))
            table.moments.append(row if not columns else moment)
            table.names.append(name)
            line.append(_cell_text(random, table, truth.numbers[row][variable]))
        table.grid.append(line)
    if not columns:
        _count_rows(table, len(truth.names))
    return table


def _count_rows(table: TextTable, width: int) -> None:
    """Number the rows of a table without times in the order of the file."""
    table.moments = [number // width for number in range(len(table.moments))]


def _time_columns(random: Random, table: TextTable) -> list[tuple[str, Any]]:
    """Choose how the times are written; return the names of their columns and what writes each."""
    kind = random.random()
    if kind < 0.06:
        table.truth.moments, table.style = None, "none"
        return []
    if kind < 0.12 and table.truth.step >= 60:
        table.style = "date and time"
        table.oddities.append("two columns")
        return [("date", lambda moment: moment.strftime("%Y-%m-%d")), ("time", lambda moment: moment.strftime("%H:%M"))]
    table.style, style = _date_style(random, table.truth)
    name = random.choice(TIME_NAMES)
    if not style.surely_read or name == "":
        table.oddities.append(f"dates: {table.style}")
    return [(name, style.write)]


def _date_style(random: Random, truth: Truth) -> tuple[str, DateStyle]:
    early = truth.moments is None or truth.moments[0].year < 2001  # neither the unit nor the century can be told
    fitting = [
        name
        for name, style in DATE_STYLES.items()
        if truth.step % style.smallest == 0 and not (early and name.startswith(("epoch", "two digits")))
    ]
    name = "iso" if random.random() < 0.3 else random.choice(fitting)
    return name, DATE_STYLES[name]


def _long(random: Random, truth: Truth) -> TextTable:
    table = TextTable(truth, [], [], [], [], oddities=["long"])
    _choose_writing(random, table)
    table.style, style = _date_style(random, truth)
    names = ["unique_id", "ds", "y"]
    if random.random() < 0.5:
        names = [
            random.choice(("station", "Sensor id")),
            random.choice(("when", "time")),
            random.choice(("reading", "wert")),
        ]
        table.options = {"id": names[0], "time": names[1], "value": names[2]}
    order = random.sample((0, 1, 2), 3)
    table.grid.append([names[position] for position in order])
    entries = [(row, variable) for variable in range(len(truth.names)) for row in range(len(truth.numbers))]
    if random.random() < 0.5:
        random.shuffle(entries)
    for row, variable in entries:
        number = truth.numbers[row][variable]
        moment = truth.moments[row]  # type: ignore[index]
        line = [truth.names[variable], style.write(moment), _cell_text(random, table, number)]
        table.places.append(Place(len(table.grid), order.index(2)))
        table.moments.append(moment)
        table.names.append(truth.names[variable])
        table.grid.append([line[position] for position in order])
    return table


def _row_order(random: Random, truth: Truth) -> list[int]:
    """Return the rows in the order of the file: some files are shuffled, repeat a row, or lack some."""
    rows = list(range(len(truth.numbers)))
    kind = random.random()
    if kind < 0.7 or len(rows) < 4:
        return rows
    if kind < 0.8:
        random.shuffle(rows)
    elif kind < 0.9:
        rows.insert(random.randrange(len(rows)), random.choice(rows))
    else:
        del rows[random.randrange(1, len(rows) - 1)]
    return rows


# Writing


def _choose_writing(random: Random, table: TextTable) -> None:
    table.separator = random.choice((",", ",", ",", ";", ";", "\t", "|"))
    table.newline = random.choice(("\n", "\n", "\n", "\r\n", "\r\n", "\r"))
    table.convention = PLAIN if random.random() < 0.5 else random.choice(CONVENTIONS)
    table.quote_all = random.random() < 0.1
    table.encoding = random.choice(ENCODINGS) if random.random() < 0.3 else "utf-8"
    if table.encoding not in ("utf-8", "utf-8-sig", "utf-16"):
        table.oddities.append(f"encoding: {table.encoding}")
    if table.convention != PLAIN:
        table.oddities.append(f"numbers: {table.convention}")
    if table.newline == "\r" or table.separator == "|":
        table.oddities.append("separators")


def _cell_text(random: Random, table: TextTable, number: Any) -> str:
    if number is None:
        return random.choice(MISSING)
    if random.random() < 0.004:
        table.oddities.append("text cell")
        return random.choice(TEXT_CELLS)
    if table.convention == PLAIN and random.random() < 0.01:
        return f"{number:e}"
    return write_number(number, table.convention)


def _spoil(random: Random, table: TextTable) -> None:
    """Do what files of other programs do: odd names, comments, marks at line ends, ragged rows, padding."""
    if random.random() < 0.6:
        return
    kind = random.choice(
        ("name", "name", "repeat", "comment", "ragged", "trailing", "padding", "blank", "options", "last")
    )
    if kind == "name" and table.header:
        _rename(random, table, random.choice(QUOTED_NAMES))
    elif kind == "repeat" and table.header and len(table.truth.names) > 1 and "long" not in table.oddities:
        _rename(random, table, table.truth.names[-1])
        table.oddities.append("repeated name")
    elif kind == "comment":
        table.before = "# made by a logger" + table.newline
    elif kind == "ragged" and len(table.grid) > 3:
        line = table.grid[random.randrange(1, len(table.grid))]
        line.append("7") if random.random() < 0.5 else line.pop()
        table.oddities.append("ragged")
    elif kind == "trailing":
        table.grid = [[*line, ""] for line in table.grid]
    elif kind == "padding":
        table.grid = [[f"  {entry} " for entry in line] for line in table.grid]
    elif kind == "blank":
        table.before = table.newline * 2
    elif kind == "options":  # what the user says about the numbers settles them
        table.options |= {"decimal": table.convention.decimal, "thousands": table.convention.thousands}
        table.oddities = [oddity for oddity in table.oddities if not oddity.startswith("numbers")]
        return
    elif kind == "last":
        table.oddities.append("no last newline")
        return
    table.oddities.append(kind)


def _rename(random: Random, table: TextTable, name: str) -> None:
    """Give the first variable another name, wherever it stands."""
    old = table.truth.names[0]
    table.truth.names[0] = name
    table.grid = [[name if entry == old else entry for entry in line] for line in table.grid]
    table.names = [name if entry == old else entry for entry in table.names]


def widest_table(random: Random) -> TextTable:
    """Return a table with thousands of columns, whose header is longer than any buffer."""
    count = random.choice((3000, 10_300, 12_000))
    truth = Truth([f"station-{number:06d}" for number in range(count)], None, [])
    table = TextTable(truth, [["time", *truth.names]], [], [], [], separator=random.choice((",", ";", "\t")))
    table.oddities.append("wide")
    for row in range(3):
        moment = datetime.datetime(2024, 1, 1) + datetime.timedelta(hours=row)
        table.grid.append([moment.isoformat(), *(str(number % 97 + row) for number in range(count))])
        for number, name in enumerate(truth.names):
            table.places.append(Place(row + 1, number + 1))
            table.moments.append(moment)
            table.names.append(name)
    return table
