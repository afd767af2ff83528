"""The search among training windows against plain loops."""

import numpy as np
import pytest

from baselines.examples import LOOKBACK, PRESENT, parts
from subcast.baselines.past import Past


@pytest.mark.parametrize("every", [1, 3], ids=["consecutive windows", "every third"])
def test_consecutive_and_separate_windows_have_the_same_neighbors(every):
    train, _, test = parts(steps=180)
    past = Past.fit(train)
    windows = test[:12:every]
    together = past.starts_of(past.find(windows, PRESENT, 4, 0.5))
    for row, start in enumerate(windows.starts):
        single = past.find(test[test.starts.index(start) : test.starts.index(start) + 1], PRESENT, 4, 0.5)
        np.testing.assert_array_equal(past.starts_of(single)[0], together[row])
    assert set(together.ravel()) <= set(train.starts)


def test_the_nearest_is_nearest_by_the_given_variables():
    train, _, test = parts(steps=180)
    past = Past.fit(train)
    starts = past.starts_of(past.find(test[:6], PRESENT, 1, 2.0))[:, 0]
    normal = past.scaler.transform(train.series.values)[:, PRESENT]
    asked = past.scaler.transform(test.series.values)[:, PRESENT]
    for window, found in zip(test[:6].starts, starts, strict=True):
        query = asked[window : window + LOOKBACK]
        distances = [float(((normal[s : s + LOOKBACK] - query) ** 2).sum()) for s in train.starts]
        assert found == train.starts[int(np.argmin(distances))]


def test_single_steps_are_those_of_the_training_windows():
    train, _, _ = parts(steps=180)
    past = Past.fit(train[::7], single_steps=True)
    expected = sorted({start + step for start in train[::7].starts for step in range(LOOKBACK)})
    assert past.bank.starts.tolist() == expected


def test_too_few_neighbors_have_no_start():
    train, _, test = parts(steps=180)
    starts = (past := Past.fit(train[:3])).starts_of(past.find(test[:2], PRESENT, 5, 1.0))
    assert (starts[:, 3:] == -1).all()
    assert (starts[:, :3] >= 0).all()
