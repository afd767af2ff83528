"""Tables of known content: names, times and numbers from which the inputs are written, and dates in many styles."""

from __future__ import annotations

import datetime
import zoneinfo
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from random import Random

EPOCH = datetime.datetime(1970, 1, 1)
STEPS = (1, 30, 60, 300, 600, 900, 3600, 3 * 3600, 86400, 7 * 86400)
"""Steps of regular tables in seconds."""

BASES = ("0.5", "3", "21", "97", "985", "1012", "1500", "25000", "134000", "1200000")
"""Sizes of readings; those near 1000 are where a mark of thousands begins to be written."""

ODD_NAMES = (
    *("a\x0bb", "a\x0cb", "a\u2028b", "a\u2029b", "a\x85b", "a\x1cb", "\u202ereversed", "a\u200bb", "a" * 300),
    *("=SUM(A1)", "+1+2", "@cmd", "-x", "naïve °C", "温度", "🌡", "a'b", "#3", "1", "2", "2024", "3.5", "id", "year"),
    *("index", "nan", "NA", "true", "step", "y", "value", "Unnamed: 0", "null", "1e5", "inf", "a/b", "a\\b", "$x", "%"),
)
QUOTED_NAMES = ("a,b", "a;b", 'say "hi"', "a|b", "a\tb", " padded ", "a\nb", "a\r\nb", "a\x00b", "\ufeffa")


@dataclass
class Truth:
    """A table of known content.

    Attributes
    ----------
    names
        of the variables
    moments
        of the rows in order, datetimes without a zone (UTC); None when the rows are only in order
    numbers
        [rows][variables] exact numbers, None where a reading is missing
    step
        between rows, in seconds
    """

    names: list[str]
    moments: list[datetime.datetime] | None
    numbers: list[list[Decimal | None]]
    step: int = 3600
    facts: list[str] = field(default_factory=list)  # what was done to it


def make_truth(random: Random, missing: float = 0.05) -> Truth:
    """Return a random table: a slow walk for each variable, around a size of its own."""
    rows = random.choice((1, 2, 3, 5, 8, 12, 13, 24, 30))
    variables = random.choice((1, 1, 2, 3, 4, 6))
    columns = [_walk(random, rows) for _ in range(variables)]
    numbers = [[column[row] if random.random() >= missing else None for column in columns] for row in range(rows)]
    step = random.choice(STEPS)
    return Truth(make_names(random, variables), make_moments(random, rows, step), numbers, step)


def _walk(random: Random, rows: int) -> list[Decimal]:
    base = Decimal(random.choice(BASES))
    decimals = random.choice((0, 0, 1, 2, 3, 3, 4, 6))
    sign = random.choice((1, 1, 1, -1))
    unit = Decimal(1).scaleb(-decimals)
    value, walk = base, []
    for _ in range(rows):
        value += base * Decimal(random.randint(-30, 30)) / 1000
        walk.append((sign * value).quantize(unit))
    return walk


def make_names(random: Random, count: int) -> list[str]:
    """Return distinct names, most of them plain."""
    names = [f"{random.choice(('s', 'north ', 'pm2.5_', 'Sensor-', 'v'))}{number}" for number in range(count)]
    if random.random() < 0.3:
        for position in random.sample(range(count), k=min(count, random.randint(1, 2))):
            odd = random.choice(ODD_NAMES)
            if odd not in names:
                names[position] = odd
    return names


def make_moments(random: Random, rows: int, step: int) -> list[datetime.datetime]:
    """Return regular moments; some begin before 1970, at the end of February, or where summer time begins or ends."""
    day = random.choice(
        ("2024-01-01", "2023-12-28", "2024-02-27", "1969-12-30", "2024-03-30", "2024-10-26", "2010-06-11")
    )
    start = datetime.datetime.fromisoformat(day) + datetime.timedelta(days=random.randrange(0, 20))
    if step < 86400:
        start += datetime.timedelta(seconds=random.randrange(0, 86400, max(step, 60)))
    return [start + datetime.timedelta(seconds=step * row) for row in range(rows)]


def nanoseconds(moment: datetime.datetime) -> int:
    """Return the nanoseconds since 1970 of a moment in UTC."""
    return (moment - EPOCH) // datetime.timedelta(microseconds=1) * 1000


# Dates as text


@dataclass(frozen=True)
class DateStyle:
    """A way to write moments.

    Attributes
    ----------
    write
        from a moment in UTC to text
    smallest
        the smallest step in seconds that it can tell apart
    surely_read
        whether a table with such dates must be read (else it may be refused)
    two_ways
        whether day and month can be confused
    """

    write: Callable[[datetime.datetime], str]
    smallest: int = 1
    surely_read: bool = False
    two_ways: bool = False


def _form(text: str) -> Callable[[datetime.datetime], str]:
    return lambda moment: moment.strftime(text)


def _local(zone: str, text: str = "%Y-%m-%d %H:%M:%S%z") -> Callable[[datetime.datetime], str]:
    place = zoneinfo.ZoneInfo(zone)
    return lambda moment: moment.replace(tzinfo=datetime.UTC).astimezone(place).strftime(text)


def _since_1970(per_second: int) -> Callable[[datetime.datetime], str]:
    return lambda moment: str(nanoseconds(moment) * per_second // 10**9)


DATE_STYLES = {
    "iso": DateStyle(_form("%Y-%m-%d %H:%M:%S"), surely_read=True),
    "iso T": DateStyle(lambda moment: moment.isoformat(), surely_read=True),
    "iso minutes": DateStyle(_form("%Y-%m-%dT%H:%M"), 60, surely_read=True),
    "iso Z": DateStyle(lambda moment: moment.isoformat() + "Z", surely_read=True),
    "iso day": DateStyle(_form("%Y-%m-%d"), 86400, surely_read=True),
    "iso fraction": DateStyle(_form("%Y-%m-%d %H:%M:%S.%f")),
    "offset": DateStyle(_local("Asia/Kolkata"), surely_read=True),
    "summer time": DateStyle(_local("Europe/Berlin")),
    "summer time, New York": DateStyle(_local("America/New_York", "%Y-%m-%dT%H:%M:%S%z")),
    "slashes, year first": DateStyle(_form("%Y/%m/%d %H:%M:%S")),
    "month first": DateStyle(_form("%m/%d/%Y %H:%M:%S"), two_ways=True),
    "month first, 12 hours": DateStyle(_form("%m/%d/%Y %I:%M %p"), 60, two_ways=True),
    "day first": DateStyle(_form("%d/%m/%Y %H:%M:%S"), two_ways=True),
    "day first, dots": DateStyle(_form("%d.%m.%Y %H:%M"), 60, two_ways=True),
    "day first, dashes": DateStyle(_form("%d-%m-%Y %H:%M"), 60, two_ways=True),
    "day alone, dots": DateStyle(_form("%d.%m.%Y"), 86400, two_ways=True),
    "two digits": DateStyle(_form("%d.%m.%y %H:%M"), 60, two_ways=True),
    "month name": DateStyle(_form("%d-%b-%Y %H:%M:%S")),
    "month name, comma": DateStyle(_form("%b %d, %Y %H:%M:%S")),
    "compact day": DateStyle(_form("%Y%m%d"), 86400),
    "compact hour": DateStyle(_form("%Y%m%d%H"), 3600),
    "compact minute": DateStyle(_form("%Y%m%d%H%M"), 60),
    "compact second": DateStyle(_form("%Y%m%d%H%M%S")),
    "compact T": DateStyle(_form("%Y%m%dT%H%M%S")),
    "epoch s": DateStyle(_since_1970(1)),
    "epoch ms": DateStyle(_since_1970(1000)),
    "epoch us": DateStyle(_since_1970(10**6)),
    "epoch ns": DateStyle(_since_1970(10**9)),
}
