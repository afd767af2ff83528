"""Readings against the wrapper."""

import numpy as np
import pytest

from subcast.limits import Limits
from subcast.service.bodies import Columns
from subcast.service.grid import Grid
from subcast.service.intake import Intake, Newest
from subcast.service.problems import ProblemError
from subcast.tables.steps import Steps

GRID = Grid(Steps("10min", zone="UTC", start=0))
NAMES = ("Bay-1", "Bay-2", "Bay-3", "Bay-4")
ONE = np.ones(4)
LIMITS = Limits(NAMES, 0 * ONE, 120 * ONE, 200 * ONE, 0 * ONE, 0 * ONE, 100 * ONE)
NEWEST = Newest(GRID.parse("2026-11-18T13:00:00Z"))
NOON = "2026-11-18T12:00:00Z"


@pytest.fixture
def intake():
    return Intake(NAMES, GRID, "km/h", LIMITS)


def columns(sensors=("Bay-1",), times=None, values=(50.0,), units=()):
    return Columns(list(sensors), list(times or [NOON] * len(sensors)), list(values), set(units))


def test_readings_are_ordered_by_step_and_sensor(intake):
    batch = intake.batch(
        columns(("Bay-2", "Bay-1", "Bay-1"), [NOON, NOON, "2026-11-18T11:50:00Z"], (1.0, 2.0, 3.0)), NEWEST
    )
    assert batch.sensors.tolist() == [0, 0, 1]
    assert batch.values.tolist() == [3.0, 2.0, 1.0]


@pytest.mark.parametrize(
    ("given", "kind", "sentence"),
    [
        ({"sensors": ("bay-1",)}, "unknown-sensor", "did you mean 'Bay-1'"),
        ({"sensors": ("Bay1",)}, "unknown-sensor", "did you mean 'Bay-1'"),
        ({"sensors": ("thermometer",)}, "unknown-sensor", "GET /v1/sensors"),
        ({"units": ("mph",)}, "wrong-unit", "in 'km/h', got 'mph'"),
        ({"times": ["2026-11-18T13:10:00Z"]}, "future", "in the future"),
        ({"times": ["2026-11-18T12:04:00Z"]}, "off-grid", "4 min off"),
        ({"times": ["noon"]}, "time", "ISO 8601"),
        (
            {"sensors": ("Bay-1", "Bay-1"), "values": (1.0, 2.0)},
            "invalid",
            "two values of 'Bay-1'",
        ),
        (
            {"sensors": NAMES, "values": (50_000.0, 61_000.0, 47_000.0, 80_000.0)},
            "wrong-unit",
            "1000 times too large",
        ),
    ],
)
def test_faults(intake, given, kind, sentence):
    with pytest.raises(ProblemError, match=sentence) as caught:
        intake.batch(columns(**given), NEWEST)
    assert caught.value.kind == kind


def test_values_1000_times_too_small():
    low = Limits(NAMES, 20 * ONE, 120 * ONE, 200 * ONE, 0 * ONE, 0 * ONE, 100 * ONE)
    with pytest.raises(ProblemError, match="1000 times too small"):
        Intake(NAMES, GRID, "km/h", low).batch(columns(NAMES, values=(0.05, 0.061, 0.047, 0.08)), NEWEST)


def test_one_impossible_reading_is_a_broken_sensor(intake):
    batch = intake.batch(columns(NAMES, values=(50.0, 51_000.0, 52.0, 53.0)), NEWEST)
    assert len(batch) == 4
    assert "1 reading is beyond the limits" in batch.warnings[0]


def test_moved_times_are_a_warning(intake):
    batch = intake.batch(columns(times=["2026-11-18T12:00:05Z"]), NEWEST)
    assert batch.moved == 1
    assert "moved to the nearest step" in batch.warnings[0]


def test_repeated_readings_count_once(intake):
    batch = intake.batch(columns(("Bay-1",) * 3, values=(7.0, 7.0, 7.0), units=("km/h",)), NEWEST)
    assert len(batch) == 1
    assert batch.received == 3


def test_a_replay_may_not_jump_far_ahead_except_to_the_present(intake):
    present, ahead = (GRID.parse(f"2026-{day}T12:00:00Z") for day in ("11-17", "05-01"))
    newest = Newest(NEWEST.step, ahead, present)
    assert len(intake.batch(columns(times=["2026-05-01T12:00:00Z"]), newest)) == 1
    assert len(intake.batch(columns(times=[NOON]), newest)) == 1
    with pytest.raises(ProblemError, match="ahead of the replayed feed"):
        intake.batch(columns(times=["2026-06-01T12:00:00Z"]), newest)
