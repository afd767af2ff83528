"""Names of variables, and counts and lists in messages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from subcast.errors import DataError


def refuse_repeated_names(variables: Sequence[str], source: str) -> None:
    """Raise when two variables share a name."""
    name, count = Counter(variables).most_common(1)[0] if variables else ("", 0)
    if count > 1:
        raise DataError(f"{source} has {count} variables named {name!r}: give each variable a name of its own")


def listed(names: Sequence[str], most: int = 3) -> str:
    """Name a few of many.

    >>> listed(["a", "b"]), listed(["a", "b", "c", "d", "e"])
    ("'a', 'b'", "'a', 'b', 'c' and 2 more")
    """
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def numbered_names(n: int) -> list[str]:
    """Names for variables that came without.

    >>> numbered_names(3)
    ['v0', 'v1', 'v2']
    >>> numbered_names(11)[:2]
    ['v00', 'v01']
    """
    width = len(str(n - 1))
    return [f"v{place:0{width}d}" for place in range(n)]


def plural(count: int, noun: str, verb: str = "") -> str:
    """Count a noun, with its verb ("was", "has", or "" for none).

    >>> plural(1, "row", "was"), plural(2, "row", "was"), plural(1200, "step")
    ('1 row was', '2 rows were', '1,200 steps')
    """
    many = {"was": "were", "has": "have", "is": "are", "holds": "hold"}
    text = f"{count:,} {noun}" + ("" if count == 1 else "s")
    if not verb:
        return text
    return f"{text} {verb if count == 1 else many[verb]}"
