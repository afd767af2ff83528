"""Texts to steps."""

import numpy as np
import pytest

from subcast.service.grid import Grid
from subcast.service.problems import ProblemError
from subcast.tables.steps import Steps

UTC = Grid(Steps("10min", zone="UTC", start=0))
BERLIN = Grid(Steps("10min", zone="Europe/Berlin", start=0))
NAIVE = Grid(Steps("10min", start=0))


@pytest.mark.parametrize(
    ("grid", "text", "expected"),
    [
        (UTC, "2026-11-18T12:00:00Z", "2026-11-18T12:00:00+00:00"),
        (UTC, "2026-11-18T13:00:00+01:00", "2026-11-18T12:00:00+00:00"),
        (BERLIN, "2026-07-01T12:00:00", "2026-07-01T12:00:00+02:00"),
        (BERLIN, "2026-10-25T02:30:00+02:00", "2026-10-25T02:30:00+02:00"),
        (BERLIN, "2026-10-25T02:30:00+01:00", "2026-10-25T02:30:00+01:00"),
        (NAIVE, "2026-11-18T12:00:00", "2026-11-18T12:00:00"),
        (NAIVE, "2026-11-18T12:00:00Z", "2026-11-18T12:00:00"),
    ],
)
def test_times_are_read(grid, text, expected):
    assert grid.text(grid.parse(text)) == expected


@pytest.mark.parametrize(
    ("grid", "text", "sentence"),
    [
        (UTC, "yesterday", "ISO 8601"),
        (BERLIN, "2026-10-25T02:30:00", "twice"),
        (BERLIN, "2026-03-29T02:30:00", "never"),
        (NAIVE, "2026-11-18T12:00:00+02:00", "without an offset"),
        (UTC, "9999-01-01T00:00:00Z", "too far"),
        (UTC, "0001-01-01T00:00:00Z", "too far"),
    ],
)
def test_times_that_are_not_clear_are_refused(grid, text, sentence):
    with pytest.raises(ProblemError, match=sentence):
        grid.parse(text)


def test_off_grid_times_move_within_the_tolerance():
    stamp = UTC.parse("2026-11-18T12:00:59Z")
    steps, moved = UTC.snap(np.array([stamp]), ["x"])
    assert UTC.text(int(steps[0])) == "2026-11-18T12:00:00+00:00"
    assert moved[0] == -59 * 10**9
    with pytest.raises(ProblemError, match="2 min off"):
        UTC.snap(np.array([UTC.parse("2026-11-18T12:02:00Z")]), ["x"])


def test_step_at_is_the_last_step_that_has_begun():
    stamp = UTC.parse("2026-11-18T12:09:59Z")
    assert UTC.text(UTC.step_at(stamp)) == "2026-11-18T12:00:00+00:00"
    assert UTC.count(UTC.after(stamp, -3), stamp) == 3
