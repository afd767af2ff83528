"""Check names of variables, and write counts and lists for messages."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Literal

from subcast.errors import DataError, InputError


def refuse_repeated_names(variables: Sequence[str], source: str) -> None:
    """Raise an error when two variables have the same name."""
    name, count = Counter(variables).most_common(1)[0] if variables else ("", 0)
    if count > 1:
        raise DataError(f"{source} has {count} variables named {name!r}: give each variable a name of its own")


def refuse_unknown_names(names: Sequence[str], variables: Mapping[str, int], source: str) -> None:
    """Raise an error when a name is not among the variables of the training, with the nearest known name.

    >>> refuse_unknown_names(["inflwo"], {"inflow": 0, "level": 1}, "recent")
    Traceback (most recent call last):
        ...
    subcast.errors.InputError: recent has 1 column that is not among the 2 variables of the training ('inflwo'): \
did you mean 'inflow' for 'inflwo'?
    """
    unknown = [name for name in names if name not in variables]
    if not unknown:
        return
    near = get_close_matches(unknown[0], variables, n=1)
    hint = f"did you mean {near[0]!r} for {unknown[0]!r}?" if near else "drop the columns that are not"
    verb = "is" if len(unknown) == 1 else "are"
    raise InputError(
        f"{source} has {plural(len(unknown), 'column')} that {verb} not among the "
        f"{plural(len(variables), 'variable')} of the training ({listed(unknown, 6)}): {hint}"
    )


def listed(names: Sequence[str], most: int = 3) -> str:
    """Write the first names of a list for a message.

    >>> listed(["a", "b"]), listed(["a", "b", "c", "d", "e"])
    ("'a', 'b'", "'a', 'b', 'c' and 2 more")
    """
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


_FORMULA = re.compile("'*[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
"""The start of a cell that spreadsheets run as a formula, after any number of apostrophes."""


def spreadsheet_name(name: str) -> str:
    """Return a name as it is written to CSV files: with an apostrophe before what a spreadsheet would run.

    >>> spreadsheet_name("=1+1"), spreadsheet_name("'@sum"), spreadsheet_name("inflow")
    ("'=1+1", "''@sum", 'inflow')
    """
    return f"'{name}" if _FORMULA.match(name) else name


def csv_quoting(names: Iterable[str]) -> Literal[0, 2]:
    """Return how a CSV file with these names is quoted: all text if a name has a return, which ends a line unquoted."""
    return 2 if any("\r" in name for name in names) else 0  # csv.QUOTE_NONNUMERIC and csv.QUOTE_MINIMAL


def name_in_spreadsheet(text: str) -> str:
    """Return the name that `spreadsheet_name` wrote.

    >>> name_in_spreadsheet("'=1+1"), name_in_spreadsheet("''@sum"), name_in_spreadsheet("'quoted'")
    ('=1+1', "'@sum", "'quoted'")
    """
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text


def numbered_names(n: int) -> list[str]:
    """Return names for variables that have none.

    >>> numbered_names(3)
    ['v0', 'v1', 'v2']
    >>> numbered_names(11)[:2]
    ['v00', 'v01']
    """
    width = len(str(n - 1))
    return [f"v{number:0{width}d}" for number in range(n)]


def plural(count: int, noun: str, verb: str = "") -> str:
    """Write a count with its noun and, if given, its verb.

    >>> plural(1, "row", "was"), plural(2, "row", "was"), plural(1200, "step")
    ('1 row was', '2 rows were', '1,200 steps')
    """
    plural_verbs = {
        "was": "were",
        "has": "have",
        "is": "are",
        "holds": "hold",
        "repeats": "repeat",
        "numbers": "number",
        "counts": "count",
    }
    text = f"{count:,} {noun}" + ("" if count == 1 else "s")
    if not verb:
        return text
    return f"{text} {verb if count == 1 else plural_verbs[verb]}"
