"""What a reader does about a problem in a table: repair it with a note, or refuse the table.

The steps of the parser find problems and report each to a method of a policy. `Repair` is for training data: a person
looks at the result, so what can be repaired is repaired and noted. `Strict` is for live data: nobody looks at the
result, so whatever could mean two things is refused in one sentence.

========================= ========================================= ==========================================
problem                   Repair                                    Strict
========================= ========================================= ==========================================
a frame without cells     refused                                   taken (the steps are counted later)
a zone that was inferred  noted                                     noted
times a zone skips        rows dropped and noted                    refused, with the first such time
an hour that comes twice  merged, as repeated times (`grid`)        two hours, where clocks were set back
dates of either order     the more plausible order, noted           refused
unreadable times          rows dropped and noted, refused from half refused, with the first such row
text among numbers        missing and noted, refused from half      refused, with the first such text
infinite readings         missing, noted                            refused, with the variable
digits lost in float32    noted                                     taken
unused columns            noted                                     taken
an index column of pandas ignored, noted                            ignored
rows without a name       dropped, noted                            refused, with the first such row
repeated readings         the last one is kept, noted               refused, with the first of them
row names                 ignored, noted                            ignored
row numbers out of order  sorted, noted                             refused
========================= ========================================= ==========================================
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from subcast.errors import DataError, InputError
from subcast.names import listed, plural

MAX_TEXT_SHARE = 0.5
"""A column with this share of text among its entries, or more, is refused as a column of text."""

MAX_UNREADABLE_SHARE = 0.5
"""A table with this share of unreadable times, or more, is refused."""

_HIDDEN_STEPS = 0.05
"""Rounding to float32 hides a variable's steps when it exceeds this share of the median step."""


@dataclass(frozen=True)
class TextCells:
    """The cells of one column that hold text where readings should be."""

    column: str
    first: str  # the first such text
    count: int
    filled: int  # the cells of the column that are not blank


class Policy(ABC):
    """Decide about each kind of problem; one object for each table that is read.

    Parameters
    ----------
    source
        what to call the table in messages
    notes
        what was repaired before
    zone
        the zone of times that are written without one; None to take them as they are
    """

    error: ClassVar[type[InputError]]
    """Raised when the table is refused."""

    step_number_kinds: ClassVar[str]
    """Kinds of NumPy types that may hold the step numbers of a long table."""

    nullable_step_numbers: ClassVar[bool]
    """Whether an index of a nullable integer type may number the steps."""

    sees_clocks_set_back: ClassVar[bool]
    """Whether times without a zone that go back, on a date when clocks are set back, are an hour that comes twice."""

    def __init__(self, source: str, notes: Sequence[str] = (), zone: str | None = None) -> None:
        self.source = source
        self.notes = list(notes)
        self.zone = zone

    @abstractmethod
    def no_cells(self, rows: int, columns: int) -> None:
        """Decide about a frame without a row or without a column."""

    @abstractmethod
    def inferred_zone(self, note: str) -> None:
        """Decide about a zone that is not written beside the times; the note says what was taken and why."""

    @abstractmethod
    def skipped_times(self, first: str, count: int, zone: str) -> None:
        """Decide about times that the clock of their zone never showed; if taken, their rows are dropped."""

    @abstractmethod
    def ambiguous_dates(self, example: str, order: str) -> None:
        """Decide about dates that can be read in two ways; `order` ("day" or "month") is taken to come first."""

    @abstractmethod
    def unreadable_times(self, row: int, entry: object, count: int, rows: int) -> None:
        """Decide about `count` of the `rows` times, the first being `entry` in `row`; if taken, they are dropped."""

    @abstractmethod
    def text_cells(self, columns: Sequence[TextCells]) -> None:
        """Decide about text among numbers; if taken, the cells are missing readings."""

    @abstractmethod
    def infinite_readings(self, values: NDArray[np.float32], variables: Sequence[str]) -> NDArray[np.float32]:
        """Decide about infinities, and return the values that count [t, n]."""

    @abstractmethod
    def rounding(self, given: NDArray[Any], kept: NDArray[np.float32], variables: Sequence[str]) -> None:
        """Decide about the digits that float32 does not keep, [t, n] both."""

    @abstractmethod
    def unused_columns(self, names: Sequence[str]) -> None:
        """Decide about columns of a long table that are not needed."""

    @abstractmethod
    def index_columns(self, names: Sequence[str]) -> None:
        """Decide about columns that only number the rows, as pandas writes its index; if taken, they are ignored."""

    @abstractmethod
    def unnamed_readings(self, row: int, column: str, count: int) -> None:
        """Decide about rows of a long table that name no variable in `column`; if taken, they are dropped."""

    @abstractmethod
    def repeated_readings(self, name: str, moment: str, count: int) -> None:
        """Decide about `count` readings that repeat a variable and time; if taken, the last one is kept."""

    @abstractmethod
    def row_names(self, first: object) -> None:
        """Decide about row names that are not times; if taken, they are ignored."""

    @abstractmethod
    def shuffled_rows(self, row: int, number: object, number_before: object) -> None:
        """Decide about row numbers out of order, `row` the first such row; if taken, the rows are sorted."""


class Repair(Policy):
    """Repair what can be repaired and note it; refuse the rest with a `DataError`."""

    error = DataError
    step_number_kinds = "iuf"
    nullable_step_numbers = False
    sees_clocks_set_back = False

    def no_cells(self, rows: int, columns: int) -> None:
        """Refuse the table."""
        raise DataError(f"{self.source} has {rows} rows of {columns} columns: there is nothing to read")

    def inferred_zone(self, note: str) -> None:
        """Note it."""
        self.notes.append(note)

    def skipped_times(self, first: str, count: int, zone: str) -> None:
        """Note the rows that are dropped."""
        self.notes.append(
            f"{plural(count, 'row', 'has')} a time that clocks in {zone} skip (the first is {first}): dropped"
        )

    def ambiguous_dates(self, example: str, order: str) -> None:
        """Note the order that was taken."""
        self.notes.append(f"dates such as {example!r} can be read in two ways: read {order} first")

    def unreadable_times(self, row: int, entry: object, count: int, rows: int) -> None:
        """Note the rows that are dropped, or refuse the table when they are half of the rows or more."""
        if count >= MAX_UNREADABLE_SHARE * rows:
            raise DataError(
                f"{count:,} of {rows:,} times in {self.source} cannot be read (the first is {str(entry)!r}): "
                "write them as 2024-01-31 13:05, or name another column with time="
            )
        self.notes.append(f"{plural(count, 'row', 'has')} no readable time: dropped")

    def text_cells(self, columns: Sequence[TextCells]) -> None:
        """Note the cells that become missing readings, or refuse a column of which half or more is text."""
        for cells in columns:
            if cells.count >= MAX_TEXT_SHARE * cells.filled:
                raise DataError(
                    f"column {cells.column!r} of {self.source} holds text ({cells.first!r}), not readings: drop it or "
                    "encode it; if the table is long, name its columns with id=, time= and value="
                )
        count = sum(cells.count for cells in columns)
        names = [cells.column for cells in columns]
        self.notes.append(f"{plural(count, 'cell', 'was')} text in {listed(names)}: now missing")

    def infinite_readings(self, values: NDArray[np.float32], variables: Sequence[str]) -> NDArray[np.float32]:
        """Turn infinities into missing readings and note it."""
        infinite = np.isinf(values)
        count = int(infinite.sum())
        if not count:
            return values
        self.notes.append(f"{plural(count, 'reading', 'was')} infinite: now missing")
        return np.where(infinite, np.float32(np.nan), values)

    def rounding(self, given: NDArray[Any], kept: NDArray[np.float32], variables: Sequence[str]) -> None:
        """Note the variables whose steps are lost, such as meters that count up.

        >>> policy = Repair("the table")
        >>> meter = 1e9 + np.arange(5.0)[:, None]
        >>> policy.rounding(meter, meter.astype(np.float32), ["kwh"])
        >>> policy.notes
        ["1 variable has steps too small for float32's seven digits ('kwh'): subtract a constant, or take differences"]
        """
        if given.dtype.kind not in "fiu" or given.dtype == np.float32 or len(given) < 2:
            return
        hidden = [
            variables[position]
            for position in _may_hide_steps(given, kept)
            if _hides_steps(given[:, position], kept[:, position])
        ]
        if hidden:
            self.notes.append(
                f"{plural(len(hidden), 'variable', 'has')} steps too small for float32's seven digits "
                f"({listed(hidden)}): subtract a constant, or take differences"
            )

    def unused_columns(self, names: Sequence[str]) -> None:
        """Note them."""
        self.notes.append(f"{plural(len(names), 'column', 'was')} not needed ({listed(names)}): ignored")

    def index_columns(self, names: Sequence[str]) -> None:
        """Note them."""
        self.notes.append(f"{plural(len(names), 'column', 'numbers')} the rows ({listed(names)}): ignored")

    def unnamed_readings(self, row: int, column: str, count: int) -> None:
        """Note the rows that are dropped."""
        self.notes.append(f"{plural(count, 'row', 'has')} no name in {column!r}: dropped")

    def repeated_readings(self, name: str, moment: str, count: int) -> None:
        """Note how many there are."""
        self.notes.append(f"{plural(count, 'reading', 'repeats')} a variable and time: the last one is kept")

    def row_names(self, first: object) -> None:
        """Note them."""
        self.notes.append(f"the row names ({str(first)!r}, ...) are not times: ignored")

    def shuffled_rows(self, row: int, number: object, number_before: object) -> None:
        """Note that the rows are sorted."""
        self.notes.append("the row numbers were out of order: sorted")


class Strict(Policy):
    """Refuse whatever could mean two things, with an `InputError` of one sentence."""

    error = InputError
    step_number_kinds = "iu"
    nullable_step_numbers = True
    sees_clocks_set_back = True

    def no_cells(self, rows: int, columns: int) -> None:
        """Take it: too few steps, or none with a reading, are refused later."""

    def inferred_zone(self, note: str) -> None:
        """Note it: the moments mean one thing only."""
        self.notes.append(note)

    def skipped_times(self, first: str, count: int, zone: str) -> None:
        """Refuse them: the times are in another zone."""
        raise InputError(
            f"{self.source} has a row at {first}, a time that clocks in {zone}, the zone of the training, skip: "
            "give times with their zone"
        )

    def ambiguous_dates(self, example: str, order: str) -> None:
        """Refuse them."""
        raise InputError(
            f"{self.source} has dates such as {example!r}, which can be read in two ways: write them as "
            "2024-01-31 13:05"
        )

    def unreadable_times(self, row: int, entry: object, count: int, rows: int) -> None:
        """Refuse them."""
        raise InputError(
            f"{self.source} has no readable time in row {row} ({str(entry)!r}): write it as 2024-01-31 13:05, "
            "or drop the row"
        )

    def text_cells(self, columns: Sequence[TextCells]) -> None:
        """Refuse them."""
        raise InputError(
            f"column {columns[0].column!r} of {self.source} holds text ({columns[0].first!r}), where readings should "
            "be: write NaN where a reading is missing"
        )

    def infinite_readings(self, values: NDArray[np.float32], variables: Sequence[str]) -> NDArray[np.float32]:
        """Refuse them."""
        infinite = np.isinf(values)
        if infinite.any():
            step, position = np.argwhere(infinite)[0]
            raise InputError(
                f"{self.source} has an infinite reading of {variables[position]!r} (or one too large for float32) "
                f"in step {step + 1} of its last {len(values)}: write NaN where a reading is missing"
            )
        return values

    def rounding(self, given: NDArray[Any], kept: NDArray[np.float32], variables: Sequence[str]) -> None:
        """Take them: the training data had no more digits."""

    def unused_columns(self, names: Sequence[str]) -> None:
        """Take them: they hold no readings."""

    def index_columns(self, names: Sequence[str]) -> None:
        """Take them: they hold no readings."""

    def unnamed_readings(self, row: int, column: str, count: int) -> None:
        """Refuse them."""
        raise InputError(f"{self.source} has no name in {column!r} in row {row}: name the variable")

    def repeated_readings(self, name: str, moment: str, count: int) -> None:
        """Refuse them."""
        raise InputError(
            f"{self.source} has {name!r} at {moment} more than once: keep one row for each variable and time"
        )

    def row_names(self, first: object) -> None:
        """Take them: the rows are in order."""

    def shuffled_rows(self, row: int, number: object, number_before: object) -> None:
        """Refuse them."""
        raise InputError(
            f"{self.source} goes back in time: step {number} (row {row}) comes after step {number_before} "
            f"(row {row - 1}); sort it, as with frame.sort_index()"
        )


def _may_hide_steps(given: NDArray[Any], kept: NDArray[np.float32], block: int = 64) -> list[int]:
    """Return the variables of [t, n] whose rounding is large beside their smallest step, which is soon computed."""
    positions: list[int] = []
    for first in range(0, given.shape[1], block):
        exact = given[:, first : first + block].astype(np.float64)
        with np.errstate(invalid="ignore"):  # infinities
            rounding = np.abs(kept[:, first : first + block] - exact)
            steps = np.abs(np.diff(exact, axis=0))
        smallest = np.where(steps > 0, steps, np.inf).min(axis=0)
        largest = np.where(np.isfinite(rounding), rounding, 0.0).max(axis=0)
        positions.extend((first + np.flatnonzero(largest > _HIDDEN_STEPS * smallest)).tolist())
    return positions


def _hides_steps(given: NDArray[Any], kept: NDArray[np.float32]) -> bool:
    """Return whether the rounding of a variable [t] is large beside its steps."""
    exact = given.astype(np.float64)
    with np.errstate(invalid="ignore"):  # infinities
        rounding = np.abs(kept - exact)
        steps = np.abs(np.diff(exact))
    steps = steps[np.isfinite(steps) & (steps > 0)]
    rounding = rounding[np.isfinite(rounding)]
    return bool(steps.size and rounding.size and rounding.max() > _HIDDEN_STEPS * np.median(steps))
