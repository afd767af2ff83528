"""Tests of the checks of windows and levels."""

import numpy as np
import pytest

from subcast.errors import InputError
from subcast.subset.checks import check_fit_windows, refuse_overlap, refuse_unfitted
from subcast.subset.conformal import checked_levels
from subset.examples import HORIZON, LOOKBACK, assert_one_sentence, walk, waves


def test_checked_levels_returns_a_tuple_or_raises():
    assert checked_levels(0.9) == (0.9,)
    assert checked_levels([0.5, np.float32(0.25)]) == (0.5, 0.25)
    for wrong in (1.0, 0, -0.1, "0.9"):
        with pytest.raises(InputError) as error:
            checked_levels([wrong])
        assert_one_sentence(error, "levels", repr(wrong))


@pytest.mark.parametrize("make", [waves, walk], ids=["times", "no times"])
def test_validation_windows_that_overlap_training_in_time_are_refused(make):
    train, val, _ = make(steps=400).split(LOOKBACK, HORIZON)
    refuse_overlap(train, val)
    with pytest.raises(InputError) as error:
        refuse_overlap(train, train[50:60])
    assert_one_sentence(error, "val", "later windows")


def test_other_series_without_times_do_not_overlap():
    refuse_overlap(walk(steps=60).windows(6, 3), walk(steps=60, seed=2).windows(6, 3))


def test_train_and_val_windows_that_differ_are_refused():
    train, val, _ = waves(steps=400).split(LOOKBACK, HORIZON)
    check_fit_windows(train, None)
    check_fit_windows(train, val)
    for wrong, words in (
        ((train, waves(steps=400).windows(LOOKBACK + 1, HORIZON)), ("val", "same split")),
        ((train, val.series.with_features("time_of_day").windows(LOOKBACK, HORIZON)), ("time features",)),
        ((train[:0], val), ("train", "no windows")),
        ((np.zeros(3), val), ("train", "ndarray")),
    ):
        with pytest.raises(InputError) as error:
            check_fit_windows(*wrong)
        assert_one_sentence(error, *words)


def test_not_fitted():
    with pytest.raises(InputError, match="call fit"):
        refuse_unfitted()
