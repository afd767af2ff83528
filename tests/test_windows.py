"""Windows are views, and no later step is in an earlier part of the split."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import subcast as sc
from subcast.series import Series
from subcast.windows import Windows


def numbered(steps, n=2, **fields):
    return Series(np.arange(steps * n, dtype=np.float32).reshape(steps, n) + 1, **fields)


def loop_windows(values, lookback, horizon):
    """Plain loops: the inputs and targets of every window."""
    inputs, targets = [], []
    for start in range(len(values)):
        if start + lookback + horizon > len(values):
            break
        inputs.append([list(values[start + i]) for i in range(lookback)])
        targets.append([list(values[start + lookback + i]) for i in range(horizon)])
    return np.array(inputs), np.array(targets)


sizes = st.integers(1, 5)


@settings(max_examples=60, deadline=None)
@given(steps=st.integers(2, 30), lookback=sizes, horizon=sizes, first=st.integers(0, 5), step=st.integers(-3, 3))
def test_against_loops(steps, lookback, horizon, first, step):
    assume(steps >= lookback + horizon and step != 0)
    series = numbered(steps)
    inputs, targets = loop_windows(series.values, lookback, horizon)
    windows = series.windows(lookback, horizon)
    np.testing.assert_array_equal(windows.readings, inputs)
    np.testing.assert_array_equal(windows.targets, targets)
    some = windows[first::step] if step > 0 else windows[::step]
    chosen = inputs[first::step] if step > 0 else inputs[::step]
    np.testing.assert_array_equal(some.readings, chosen)
    np.testing.assert_array_equal(some.batch().inputs[..., 0], chosen)
    assert len(some) == len(chosen)


class TestViews:
    def test_windows_are_views_of_the_series(self):
        series = numbered(400, 7)
        windows = series.split(12, 12).train[::3]
        for view in (windows.readings, windows.targets):
            assert np.shares_memory(view, series.values)
            assert not view.flags.writeable
            assert not view.flags.owndata

    def test_slices_of_windows_share_too(self):
        series = numbered(100, 7)
        assert np.shares_memory(series[10:90].windows(12, 12)[5:20].readings, series.values)

    def test_a_batch_is_a_copy(self):
        series = numbered(30)
        batch = series.windows(3, 2).batch([0, 4])
        batch.inputs[:] = 0
        batch.targets[:] = 0
        assert series.values.min() == 1


class TestBatch:
    def test_features_are_the_same_for_every_variable(self):
        times = np.arange("2024-01-01", "2024-01-04", np.timedelta64(6, "h"), dtype="datetime64[h]")
        series = numbered(len(times), 3, times=times, time_features=("time_of_day", "day_of_week"))
        batch = series.windows(4, 2).batch(slice(1, 3))
        assert batch.inputs.shape == (2, 4, 3, 3)
        for i, start in enumerate((1, 2)):
            for t in range(4):
                for n in range(3):
                    assert batch.inputs[i, t, n, 0] == series.values[start + t, n]
                    assert batch.inputs[i, t, n, 1] == pytest.approx(((start + t) % 4) / 4)
                    assert batch.inputs[i, t, n, 2] == pytest.approx(((start + t) // 4) / 7)

    def test_batches_cover_every_window_once(self):
        windows = numbered(50).windows(5, 3)
        parts = [batch.inputs for batch in windows.batches(size=8)]
        np.testing.assert_array_equal(np.concatenate(parts), windows.batch().inputs)
        assert [len(part) for part in parts[:-1]] == [8] * (len(parts) - 1)

    def test_times_of_the_targets(self):
        times = np.arange("2024-01-01", "2024-01-11", dtype="datetime64[D]")
        windows = numbered(10, times=times).windows(3, 2)
        np.testing.assert_array_equal(windows.times[0], times[3:5].astype("M8[ns]"))
        assert numbered(10).windows(3, 2).times is None

    def test_one_window_and_none(self):
        windows = numbered(20, times=None).windows(3, 2)
        assert windows.batch(4).inputs.shape == (1, 3, 2, 1)
        assert windows.batch([]).inputs.shape == (0, 3, 2, 1)
        np.testing.assert_array_equal(windows.batch(-1).inputs, windows.batch([len(windows) - 1]).inputs)

    def test_missing_stays_missing(self):
        values = np.arange(20, dtype=np.float32).reshape(10, 2)
        values[4, 0] = np.nan
        batch = Series(values).windows(3, 2).batch()
        assert np.isnan(batch.inputs[2, 2, 0, 0])
        assert np.isnan(batch.targets[0, 1, 0])
        assert not np.isnan(batch.inputs[:, :, 1]).any()


def loop_paper_split(n):
    """The published rule in plain words: 70 % first, 20 % last, the rest between."""
    train, test = round(0.7 * n), round(0.2 * n)
    return list(range(train)), list(range(train, n - test)), list(range(n - test, n))


class TestPaperProtocol:
    def test_window_counts_of_ecg5000(self):
        parts = Series(np.zeros((5000, 3))).split(12, 12, protocol="paper")
        assert tuple(len(part) for part in parts) == (3484, 498, 995)

    @settings(max_examples=40, deadline=None)
    @given(steps=st.integers(40, 400), lookback=sizes, horizon=sizes)
    def test_parts_are_the_windows_in_order(self, steps, lookback, horizon):
        series = numbered(steps, 1)
        inputs, targets = loop_windows(series.values, lookback, horizon)
        parts = series.split(lookback, horizon, protocol="paper")
        for part, chosen in zip(parts, loop_paper_split(len(inputs)), strict=True):
            np.testing.assert_array_equal(part.readings, inputs[chosen])
            np.testing.assert_array_equal(part.targets, targets[chosen])

    def test_zeros_are_values_in_the_inputs_and_missing_in_the_targets(self):
        values = np.arange(100, dtype=np.float32)[:, None] % 5
        batch = Series(values).split(3, 2, protocol="paper").train.batch()
        assert (batch.inputs == 0).any()
        assert not np.isnan(batch.inputs).any()
        assert not (batch.targets == 0).any()
        assert np.isnan(batch.targets).mean() == pytest.approx(0.2, abs=0.02)

    def test_the_missing_code_goes_back_into_the_inputs(self):
        values = np.arange(1, 101, dtype=np.float32)[:, None]
        values[::10] = np.nan
        series = Series(values, missing_code=0.0)
        train = series.split(3, 2, protocol="paper").train
        assert not np.isnan(train.batch().inputs).any()
        assert (train.batch().inputs[0, 0] == 0).all()
        assert np.isnan(train.batch().targets).any()
        assert np.isnan(series.split(3, 2).train.batch().inputs).any()
        assert np.isnan(series.values[0, 0])

    def test_targets_are_the_same_as_a_view_and_in_a_batch(self):
        values = np.arange(100, dtype=np.float32)[:, None] % 5
        values[7::10] = np.nan
        train = Series(values, missing_code=0.0).split(3, 2, protocol="paper").train
        np.testing.assert_array_equal(train.targets, train.batch().targets)
        np.testing.assert_array_equal(train.readings, train.batch().inputs[..., 0])
        np.testing.assert_array_equal(train[::7].targets, train.batch().targets[::7])

    def test_each_setting_does_its_own_part(self):
        values = np.arange(100, dtype=np.float32)[:, None] % 5
        values[7::10] = np.nan
        series = Series(values, missing_code=-1.0)
        mine = series.split(3, 2, protocol=sc.DataProtocol("mine", missing_code_in_inputs=True)).train.batch()
        assert (mine.inputs == -1).any()
        assert not (mine.targets == -1).any()
        assert np.isnan(mine.targets).any()
        assert (mine.targets == 0).any()

    def test_gap_is_refused(self):
        with pytest.raises(sc.InputError, match="overlap at their edges"):
            numbered(200).split(3, 2, protocol="paper", gap=5)


class TestDefaultSplit:
    @settings(max_examples=60, deadline=None)
    @given(steps=st.integers(130, 500), lookback=sizes, horizon=sizes, gap=st.none() | st.integers(0, 12))
    def test_parts_are_apart_by_the_gap(self, steps, lookback, horizon, gap):
        series = numbered(steps, 1)
        seen = []
        for part in series.split(lookback, horizon, gap=gap):
            steps_seen = set(part.readings.ravel()) | set(part.targets.ravel())  # each step has its own value
            seen.append((min(steps_seen), max(steps_seen)))
            assert len(steps_seen) == len(part.series)
        wanted = lookback + horizon - 1 if gap is None else gap
        for earlier, later in pairwise(seen):
            assert later[0] - earlier[1] - 1 == wanted

    def test_shares(self):
        train, val, test = numbered(1046).split(12, 12)  # 1,000 steps and two gaps of 23
        assert [len(part.series) for part in (train, val, test)] == [700, 100, 200]
        assert [part.series.offset for part in (train, val, test)] == [0, 723, 846]
        assert test.series.offset + len(test.series) == 1046

    def test_zeros_are_values(self):
        assert (Series(np.zeros((200, 1))).split(3, 2).train.batch().targets == 0).all()


class TestBadInput:
    @pytest.mark.parametrize(
        ("call", "sentence"),
        [
            (lambda: numbered(5).windows(4, 2), "needs 6 steps .* 'series' has only 5: give more steps"),
            (lambda: numbered(50).windows(0, 2), "lookback must be a whole number of at least 1, got 0"),
            (lambda: numbered(50).windows(2, 1.5), "horizon must be a whole number"),
            (lambda: numbered(50).windows(2, 2)[3], r"windows\[::10\]"),
            (lambda: Windows(numbered(50), 2, 2, range(60)), "starts must lie between 0 and 46"),
            (
                lambda: numbered(50).split(12, 12),
                r"the training part would have 3 of the 50 steps, .* one window of 24: .* \(about 286 steps\)",
            ),
            (lambda: numbered(90).split(2, 2, shares=(0.5, 0.5, 0.5)), "add up to 1"),
            (lambda: numbered(90).split(2, 2, shares=(0.5, 0.5)), "three positive numbers"),
            (lambda: numbered(90).split(2, 2, protocol="papers"), "one of default, paper, got 'papers'"),
            (lambda: numbered(90).split(2, 2, gap=-1), "gap must be a whole number of at least 0, got -1"),
            (lambda: numbered(90).split(2, 2, gap=2.5), "gap must be a whole number"),
            (lambda: numbered(90).split(2, 2, shares=5), "three positive numbers"),
            (lambda: numbered(90).split(2, 2, protocol=["paper"]), "one of default, paper"),
            (lambda: numbered(90).windows(True, 2), "lookback must be a whole number of at least 1, got True"),
            (lambda: Windows(numbered(50), 2, 2, [1, 2]), "starts must be a range, got list: use batch"),
            (lambda: numbered(50).windows(2, 2).batch([1.5]), r"by a slice or by whole numbers, got \[1.5\]"),
            (lambda: numbered(50).windows(2, 2).batch([3, 60]), "there is no window 60: the 47 windows are numbered"),
            (lambda: Windows(numbered(9), 2, 2, target_values=np.zeros((3, 3))), "the shape of the series"),
            (lambda: list(numbered(90).windows(2, 2).batches(0)), "size must be a whole number of at least 1, got 0"),
        ],
    )
    def test_one_sentence(self, call, sentence):
        with pytest.raises(sc.InputError, match=sentence):
            call()
