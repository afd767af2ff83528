"""The cycle that readings follow: the day, the week with its classes of days, or the year."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subcast.calendar import MOST_SLOTS, circle_of_day, day_of_week, moved_into_slot, slot_of_day
from subcast.errors import InputError
from subcast.storage import fields
from subcast.storage.state import State

DAY_CLASSES: dict[str, tuple[int, ...]] = {
    "all days": (0, 0, 0, 0, 0, 0, 0),
    "weekdays, weekend": (0, 0, 0, 0, 0, 1, 1),
    "weekdays, Saturday, Sunday": (0, 0, 0, 0, 0, 1, 2),
    "each day of the week": (0, 1, 2, 3, 4, 5, 6),
}
"""The class of each day from Monday to Sunday, the simplest division first."""

SAME_DAYS = DAY_CLASSES["all days"]
DAYS_OF_A_YEAR = 366
WEEKS_OF_A_YEAR = 53
_SUNDAY = 6
_FIRST_DAY, _LAST_DAY = np.datetime64("1678-01-01"), np.datetime64("2261-12-31")  # of times in nanoseconds


@dataclass(frozen=True, eq=False)
class Cycle:
    """Positions that follow one another from step to step and then begin again, and the row of a profile of each.

    The positions are the slots of the day, or those of the week from Monday, whose days may fall into classes. For
    daily steps they may be the days of the year, or those for each day of the week: the profile is that of the year
    then, and what a day of the week adds is known from the position. For shorter steps they may also say the week of
    the year, which does not change the row of the profile. A cycle of one position means that the time does not matter.

    Parameters
    ----------
    slots
        slots of a day; 1 for daily steps, or if the time does not matter
    day_classes
        [7], the class of each day from Monday to Sunday
    weekly
        whether the positions say the day of the week, which classes of days always need
    yearly
        whether the positions are the days of the year
    holidays
        [d], days that count as a Sunday
    seasonal
        whether the positions also say the week of the year, counted from 1 January; not together with `yearly`

    Examples
    --------
    >>> week = Cycle(24, (0, 0, 0, 0, 0, 1, 1))
    >>> times = np.array(["2024-03-04T05", "2024-03-09T05"], dtype="datetime64[h]")        # a Monday, a Saturday
    >>> week.positions(times), week.rows[week.positions(times)]
    (array([  5, 125]), array([ 5, 29]))
    """

    slots: int = 1
    day_classes: tuple[int, ...] = SAME_DAYS
    weekly: bool = False
    yearly: bool = False
    holidays: NDArray[np.datetime64] = field(default_factory=lambda: np.zeros(0, dtype="datetime64[D]"))
    seasonal: bool = False

    def __post_init__(self) -> None:
        classes = tuple(self.day_classes)
        if len(classes) != 7 or sorted(set(classes)) != list(range(max(classes) + 1)):
            raise InputError(f"day_classes must be seven numbers from 0 without a gap, got {self.day_classes!r}")
        if self.seasonal and self.yearly:
            raise InputError("seasonal and yearly must not both be True: days of the year say the season already")
        object.__setattr__(self, "day_classes", classes)
        object.__setattr__(self, "weekly", self.weekly or (not self.yearly and self.has_classes))

    @property
    def has_classes(self) -> bool:
        """Whether days of the week differ."""
        return max(self.day_classes) > 0

    @cached_property
    def rows(self) -> NDArray[np.int64]:
        """The row of a profile at each position: class of day times slots, plus slot of the day."""
        if self.yearly:
            return np.tile(np.arange(DAYS_OF_A_YEAR), 7 if self.weekly else 1)
        rows = np.arange(self.slots)
        if self.weekly:
            rows = (np.asarray(self.day_classes)[:, None] * self.slots + rows).ravel()
        return np.tile(rows, WEEKS_OF_A_YEAR) if self.seasonal else rows

    @property
    def length(self) -> int:
        """Number of positions."""
        return len(self.rows)

    @property
    def in_a_week_of_year(self) -> int:
        """Number of positions of each week of the year, if the positions say it; else of all positions."""
        return self.length // WEEKS_OF_A_YEAR if self.seasonal else self.length

    @property
    def in_a_day_of_week(self) -> int:
        """Number of positions of each day of the week: slots of a day, or days of the year."""
        return DAYS_OF_A_YEAR if self.yearly else self.slots

    @property
    def n_rows(self) -> int:
        """Number of rows of a profile."""
        return int(self.rows.max()) + 1

    @property
    def words(self) -> str:
        """What the cycle is, to go on in a line; "" if the time does not matter."""
        if self.yearly:
            return ", days of the year and of the week" if self.weekly else ", days of the year"
        classes = next((name for name, own in DAY_CLASSES.items() if own == self.day_classes), "classes of days")
        parts = [f"{self.slots} slots a day"] if self.slots > 1 else []
        return ", ".join(
            ["", *parts, *([classes] if self.has_classes else []), *(["season of the year"] if self.seasonal else [])]
        )

    def positions(self, times: NDArray[np.datetime64]) -> NDArray[np.int64]:
        """Return the position of each local time.

        A time counts as the nearest slot, maybe midnight of the next day; a day counts as itself, whatever its hour.
        """
        if self.length == 1:
            return np.zeros(times.shape, dtype=np.int64)
        nearest = moved_into_slot(times, self.slots) if self.slots > 1 else times
        if self.yearly:
            within = _day_of_year(nearest)
        elif self.slots > 1:
            within = slot_of_day(times, self.slots)
        else:
            within = np.zeros(times.shape, dtype=np.int64)
        if self.weekly:
            within = self.weekdays(nearest) * self.in_a_day_of_week + within
        return _day_of_year(nearest) // 7 * self.in_a_week_of_year + within if self.seasonal else within

    def weekdays(self, times: NDArray[np.datetime64]) -> NDArray[np.int64]:
        """Return the day of the week of each time, 0 is Monday; a holiday is a Sunday."""
        weekday = np.rint(7 * day_of_week(times)).astype(np.int64)
        if self.holidays.size:
            weekday = np.where(np.isin(times.astype("datetime64[D]"), self.holidays), _SUNDAY, weekday)
        return weekday

    @property
    def follows_on(self) -> bool:
        """Whether the position of a step follows from that of the step before.

        Holidays break the order of a week, and a year of 365 days that of the year.
        """
        return not (self.yearly or self.seasonal or (self.holidays.size and self.weekly))

    def clocks(self, positions: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """Return what positions say: slot of the day, day of the week, day of the year, as far as each is known."""
        known = [positions % self.slots] if self.slots > 1 else []
        known += [self.day_of_week(positions)] if self.weekly else []
        return [*known, positions % DAYS_OF_A_YEAR] if self.yearly else known

    def day_of_week(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the day of the week of positions of a weekly cycle, 0 is Monday."""
        return positions % self.in_a_week_of_year // self.in_a_day_of_week

    def slot_of_year(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the week of the year times slots of a day, plus the slot of the day, of a seasonal cycle."""
        return positions // self.in_a_week_of_year * self.slots + positions % self.slots

    def after(self, first: NDArray[np.int64], length: int, skip: int = 0) -> NDArray[np.int64]:
        """Return the positions of `length` steps after the first `skip` of windows at positions [b], [b, length].

        The week of the year stays the same.
        """
        within = (first[:, None] + skip + np.arange(length)) % self.in_a_week_of_year
        return first[:, None] - first[:, None] % self.in_a_week_of_year + within

    def circle(self, positions: NDArray[np.int64], weight: float) -> NDArray[np.float32]:
        """Return the time of day (of year or week, for daily steps) as a point on a circle, [..., 2]."""
        if self.yearly:
            return circle_of_day(positions % DAYS_OF_A_YEAR, DAYS_OF_A_YEAR, weight)
        within = positions % self.in_a_week_of_year
        return circle_of_day(within, self.slots if self.slots > 1 else self.in_a_week_of_year, weight)

    def compatible(self, slot: NDArray[np.int64] | None, weekday: NDArray[np.int64] | None) -> NDArray[np.bool_]:
        """Return which positions windows may begin at, [b, length]; of a seasonal cycle, in any one week of the year.

        Parameters
        ----------
        slot, weekday
            [b], the slot of the day and the day of the week of their first step; None for what is unknown
        """
        places = np.arange(self.in_a_week_of_year)
        known = [] if slot is None else [places % self.slots == slot[:, None]]
        if weekday is not None and self.weekly:
            known.append(self.day_of_week(places) == weekday[:, None])
        return np.asarray(np.logical_and.reduce(known))

    def state(self) -> State:
        """Return the state to save."""
        facts = {
            "slots": self.slots,
            "day_classes": list(self.day_classes),
            "weekly": self.weekly,
            "yearly": self.yearly,
            **({"seasonal": True} if self.seasonal else {}),
        }
        return State(facts, {"holidays": self.holidays.astype("datetime64[D]").view(np.int64)})

    @classmethod
    def from_state(cls, state: State) -> Cycle:
        """Return the cycle saved in `state`."""
        days = fields.array(state, "holidays", np.int64, [None], low=-150_000, high=150_000)
        with fields.restoring(state):
            return cls(
                fields.whole(state, "slots", 1, MOST_SLOTS),
                tuple(_whole(value) for value in fields.numbers(state, "day_classes")),
                fields.flag(state, "weekly"),
                fields.flag(state, "yearly"),
                days.view("datetime64[D]"),
                "seasonal" in state.facts and fields.flag(state, "seasonal"),
            )


def _day_of_year(times: NDArray[np.datetime64]) -> NDArray[np.int64]:
    """Return the day of the year of each time, 0 is 1 January."""
    days = times.astype("datetime64[D]")
    return np.asarray((days - days.astype("datetime64[Y]")).astype(np.int64))


def as_days(holidays: Sequence[Any]) -> NDArray[np.datetime64]:
    """Return days given as text, dates or times; raise an InputError if one is not a day.

    >>> as_days(["2024-12-25", np.datetime64("2024-01-01T12:00")])
    array(['2024-01-01', '2024-12-25'], dtype='datetime64[D]')
    """
    if isinstance(holidays, str) or not isinstance(holidays, Iterable):
        raise InputError(f"holidays must be a list of days such as ['2024-12-25'], got {holidays!r}")
    return np.unique(np.array([_day(value) for value in holidays], dtype="datetime64[D]"))


def _day(value: Any) -> np.datetime64:
    """Return a day given as text, date or time."""
    text = str(value)[:10]
    try:
        day: np.datetime64 = np.datetime64(text, "D")
    except ValueError:
        day = np.datetime64("NaT", "D")
    if str(day) != text or not _FIRST_DAY <= day <= _LAST_DAY:  # not a month or a year, which numpy reads too
        raise InputError(
            f"holidays must be days such as '2024-12-25' from {_FIRST_DAY} to {_LAST_DAY}, got {str(value)!r}"
        )
    return day


def _whole(value: float) -> int:
    if value != int(value) or not 0 <= value <= _SUNDAY:
        raise InputError(f"a class of days must be a whole number from 0 to 6, got {value!r}")
    return int(value)
