"""The limits of readings as they are given on the command line."""

from __future__ import annotations

from collections.abc import Sequence

from subcast.errors import InputError


def read_ranges(texts: Sequence[str]) -> dict[str, tuple[float | None, float | None]]:
    """Parse ranges such as `inflow=0:80`; a bound that is left out stays as learned, inf means no bound.

    >>> read_ranges(["inflow=0:80", "plant=A:TEMP=:60", "level=-inf:"])
    {'inflow': (0.0, 80.0), 'plant=A:TEMP': (None, 60.0), 'level': (-inf, None)}
    """
    return dict(_read_range(text) for text in texts)


def _read_range(text: str) -> tuple[str, tuple[float | None, float | None]]:
    name, equals, bounds = text.rpartition("=")
    low, colon, high = bounds.partition(":")
    try:
        if not (name and equals and colon and (low or high)):
            raise ValueError
        return name, (float(low) if low.strip() else None, float(high) if high.strip() else None)
    except ValueError:
        raise InputError(f"--limit must be NAME=LOW:HIGH, such as inflow=0:80 or inflow=:80, got {text!r}") from None
