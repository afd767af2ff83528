"""Tests of the metadata: times of the steps ahead, calendar frequencies, and saving."""

import json

import numpy as np
import pytest

from subcast.series import Series
from subcast.storage.state import State
from subcast.subset.metadata import TrainingMetadata
from subset.examples import walk, waves


def months():
    times = np.arange("2020-01", "2024-01", dtype="datetime64[M]").astype("datetime64[ns]")
    return Series(np.arange(48.0)[:, None], times=times, freq="MS")


def test_steps_ahead_at_a_fixed_rate():
    metadata = TrainingMetadata.of(waves(steps=60).windows(6, 3))
    ahead = metadata.steps_after(np.array(["2024-05-01T10:00"], dtype="datetime64[ns]"))
    expected = np.array([["2024-05-01T16:00", "2024-05-01T17:00", "2024-05-01T18:00"]], dtype="datetime64[ns]")
    np.testing.assert_array_equal(ahead, expected)
    assert metadata.next_time(expected[0, 0]) == expected[0, 1]


def test_steps_ahead_by_the_calendar():
    metadata = TrainingMetadata.of(months().windows(2, 3))
    ahead = metadata.steps_after(np.array(["2023-11-01"], dtype="datetime64[ns]"))
    expected = np.array([["2024-01-01", "2024-02-01", "2024-03-01"]], dtype="datetime64[ns]")
    np.testing.assert_array_equal(ahead, expected)
    assert metadata.next_time(expected[0, 1]) == expected[0, 2]


def test_without_times():
    metadata = TrainingMetadata.of(walk(steps=60).windows(6, 3))
    assert metadata.steps_after(None) is None
    assert metadata.step is None
    assert metadata.last_times(np.array([[0, -1]])) is None


def test_ends_of_training_windows():
    series = waves(steps=60)
    ends = TrainingMetadata.of(series.windows(6, 3)).last_times(np.array([[0, -1, 4]]))
    assert ends[0, 0] == series.times[5]
    assert np.isnat(ends[0, 1])
    assert ends[0, 2] == series.times[9]


@pytest.mark.parametrize(
    "series", [waves(steps=60, features=("time_of_day",)), walk(steps=60), months()], ids=lambda s: s.name
)
def test_a_round_trip(series):
    metadata = TrainingMetadata.of(series.windows(6, 3))
    state = metadata.state()
    back = TrainingMetadata.from_state(State(json.loads(json.dumps(state.facts)), state.arrays))
    for name in ("variables", "time_features", "freq", "unit", "name", "protocol", "lookback", "horizon"):
        assert getattr(back, name) == getattr(metadata, name)
    assert (back.times is None) == (metadata.times is None)
    if back.times is not None:
        np.testing.assert_array_equal(back.times, metadata.times)
