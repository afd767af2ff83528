"""Errors: over points, not batches; what is missing never counts; loops agree."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from subcast import metrics
from subcast.errors import InputError
from subcast.metrics import ErrorSums, gap, mae, mae_by_step, rmse, rmse_by_step, sum_by_window


@st.composite
def batches(draw):
    """Draw forecast, target and mask [b, h, s], with NaN and zero targets."""
    shape = draw(st.tuples(st.integers(0, 4), st.integers(1, 4), st.integers(1, 3)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    target = rng.normal(size=shape).round(1)
    target[rng.random(shape) < 0.3] = np.nan
    target[rng.random(shape) < 0.3] = 0.0
    return rng.normal(size=shape), target, rng.random(shape) < 0.7


class TestAgainstLoops:
    @settings(deadline=None, max_examples=100)
    @given(batch=batches(), masked=st.booleans(), zeros_missing=st.booleans())
    def test_all_four(self, batch, masked, zeros_missing):
        forecast, target, mask = batch
        mask = mask if masked else None
        steps = range(1, forecast.shape[1] + 1)
        naive = [naive_errors(forecast, target, mask, zeros_missing, [step]) for step in steps]
        every = naive_errors(forecast, target, mask, zeros_missing, steps)
        options = {"zeros_missing": zeros_missing}
        np.testing.assert_allclose(mae(forecast, target, mask, **options), every[0], rtol=1e-12)
        np.testing.assert_allclose(rmse(forecast, target, mask, **options), every[1], rtol=1e-12)
        np.testing.assert_allclose(mae_by_step(forecast, target, mask, **options), [e[0] for e in naive], rtol=1e-12)
        np.testing.assert_allclose(rmse_by_step(forecast, target, mask, **options), [e[1] for e in naive], rtol=1e-12)
        for step in steps:
            assert mae(forecast, target, mask, step=step, **options) == pytest.approx(naive[step - 1][0], nan_ok=True)
            assert rmse(forecast, target, mask, step=step, **options) == pytest.approx(naive[step - 1][1], nan_ok=True)

    @settings(deadline=None, max_examples=60)
    @given(batch=batches(), cuts=st.lists(st.integers(0, 4), max_size=3))
    def test_batches_of_any_size_give_what_all_at_once_gives(self, batch, cuts):
        forecast, target, mask = batch
        edges = [0, *sorted(cuts), len(forecast)]
        total = ErrorSums.nothing(forecast.shape[1])
        for first, last in itertools.pairwise(edges):
            part = slice(first, last)
            total += ErrorSums.of(forecast[part], target[part], mask[part])
        whole = ErrorSums.of(forecast, target, mask)
        np.testing.assert_allclose(total.absolute, whole.absolute, rtol=1e-12)
        np.testing.assert_allclose(total.squared, whole.squared, rtol=1e-12)
        np.testing.assert_array_equal(total.count, whole.count)

    def test_chunks_do_not_show(self, monkeypatch):
        rng = np.random.default_rng(0)
        forecast, target, mask = rng.normal(size=(9, 3, 2)), rng.normal(size=(9, 3, 2)), rng.random((9, 3, 2)) < 0.5
        whole = ErrorSums.of(forecast, target, mask)
        monkeypatch.setattr(metrics, "_CHUNK", 12)
        parts = ErrorSums.of(forecast, target, mask)
        np.testing.assert_allclose(parts.absolute, whole.absolute, rtol=1e-12)
        np.testing.assert_array_equal(parts.count, whole.count)
        forecast[7, 1, 1], mask[7, 1, 1] = np.nan, True
        with pytest.raises(InputError, match="in window 7, step 2, variable 1"):
            ErrorSums.of(forecast, target, mask)


class TestCases:
    def test_means_are_over_points_not_batches(self):
        # one window with one point and one with three: the mean of means would be 5.5
        forecast = np.array([[[10.0, 9.9, 9.9]], [[1.0, 1.0, 1.0]]])
        target = np.array([[[0.0, np.nan, np.nan]], [[0.0, 0.0, 0.0]]])
        total = ErrorSums.of(forecast[:1], target[:1]) + ErrorSums.of(forecast[1:], target[1:])
        assert total.mae == mae(forecast, target) == 13 / 4

    def test_zeros_count_unless_told_otherwise(self):
        forecast, target = [[[3.0, 1.0]]], [[[0.0, 2.0]]]
        assert mae(forecast, target) == 2.0
        assert mae(forecast, target, zeros_missing=True) == 1.0

    def test_negative_zero_is_a_zero(self):
        assert mae([[[3.0, 1.0]]], [[[-0.0, 2.0]]], zeros_missing=True) == 1.0

    def test_a_mask_cannot_bring_a_missing_target_back(self):
        assert mae([[[3.0, 1.0]]], [[[np.nan, 2.0]]], np.ones((1, 1, 2), dtype=bool)) == 1.0

    def test_nothing_counted_is_nan_without_a_warning(self, recwarn):
        sums = ErrorSums.of([[[1.0], [1.0]]], [[[np.nan], [2.0]]])
        assert math.isnan(sums.mae_by_step[0])
        assert sums.mae_by_step[1] == 1.0
        assert math.isnan(ErrorSums.nothing(2).mae)
        assert math.isnan(sums.at(1).rmse)
        assert not recwarn.list

    def test_float32_is_summed_in_float64(self):
        forecast = np.full((40_000, 1, 10), 0.1, dtype=np.float32)
        assert mae(forecast, np.zeros_like(forecast)) == pytest.approx(float(np.float32(0.1)), rel=1e-12)

    def test_whole_numbers_are_welcome(self):
        assert mae(np.array([[[3]]]), np.array([[[1]]])) == 2.0

    def test_step_12_is_index_11(self):
        forecast = np.arange(1.0, 13.0).reshape(1, 12, 1)
        assert mae(forecast, np.zeros((1, 12, 1)), step=12) == 12.0

    def test_inputs_are_untouched(self):
        forecast, target = np.ones((2, 2, 2)), np.zeros((2, 2, 2))
        mask = np.ones((2, 2, 2), dtype=bool)
        mae(forecast, target, mask, zeros_missing=True)
        assert forecast.all()
        assert mask.all()
        assert not target.any()

    def test_a_forecast_may_be_nan_where_nothing_counts(self):
        assert mae([[[np.nan, 1.0]]], [[[np.nan, 2.0]]]) == 1.0
        assert mae([[[np.nan, 1.0]]], [[[5.0, 2.0]]], np.array([[[False, True]]])) == 1.0


class TestBadInput:
    @pytest.mark.parametrize(
        ("arguments", "sentence"),
        [
            ({"forecast": [[[1.0, np.nan]]]}, "forecast must be finite wherever a target counts, got nan in window 0"),
            ({"forecast": [[[np.inf, 1.0]]]}, "got inf in window 0, step 1, variable 0"),
            ({"target": [[[np.inf, 1.0]]]}, "target must be finite wherever a target counts, got inf"),
            ({"forecast": [[1.0, 2.0]]}, "forecast must be [b, h, s]"),
            ({"target": [[[1.0]]]}, "target must have the forecast's shape (1, 1, 2) [b, h, s], got (1, 1, 1)"),
            ({"mask": [[[True]]]}, "mask must have the forecast's shape (1, 1, 2) [b, h, s], got (1, 1, 1)"),
            ({"mask": [[[1, 0]]]}, "mask must be boolean, True where a target counts, got values of type int64"),
            ({"step": 0}, "step must be between 1 and the horizon of 1, got 0"),
            ({"step": 2}, "step must be between 1 and the horizon of 1, got 2"),
            ({"step": 1.0}, "step must be between 1 and the horizon of 1, got 1.0"),
        ],
    )
    @pytest.mark.parametrize("metric", [mae, rmse])
    def test_raises_one_sentence(self, metric, arguments, sentence):
        with pytest.raises(InputError) as raised:
            metric(**{"forecast": [[[1.0, 2.0]]], "target": [[[1.0, 2.0]]], **arguments})
        assert sentence in str(raised.value)

    def test_other_horizons_cannot_be_added(self):
        with pytest.raises(InputError, match="error sums of 2 and of 3 horizon steps cannot be added"):
            ErrorSums.nothing(2) + ErrorSums.nothing(3)


class TestGap:
    def test_is_a_share_of_the_oracle(self):
        assert gap(3.0, 2.0) == 50.0
        assert gap(1.0, 2.0) == -50.0

    @pytest.mark.parametrize("oracle", [0.0, -1.0, math.nan])
    def test_needs_an_oracle_with_an_error(self, oracle):
        with pytest.raises(InputError, match="oracle must be an error above 0"):
            gap(1.0, oracle)


class TestSumByWindow:
    @pytest.mark.parametrize("zeros_missing", [False, True])
    def test_agrees_with_loops(self, zeros_missing, monkeypatch):
        monkeypatch.setattr("subcast.metrics._CHUNK", 60)  # several batches of windows
        rng = np.random.default_rng(3)
        forecast, target = rng.normal(size=(2, 25, 3, 4))
        target[rng.random(target.shape) < 0.3] = np.nan
        target[rng.random(target.shape) < 0.1] = 0.0
        mask = rng.random(target.shape) < 0.8
        sums = sum_by_window(forecast, target, mask, zeros_missing=zeros_missing)
        assert sums.absolute.shape == sums.squared.shape == sums.count.shape == (25, 3)
        for window in range(25):
            for step in range(1, 4):
                one = slice(window, window + 1)
                mae, rmse = naive_errors(forecast[one], target[one], mask[one], zeros_missing, [step])
                for metric, expected in (("mae", mae), ("rmse", rmse)):
                    assert sums.errors(metric)[window, step - 1] == pytest.approx(expected, nan_ok=True)

    def test_no_windows(self):
        assert sum_by_window(np.zeros((0, 3, 2)), np.zeros((0, 3, 2))).count.shape == (0, 3)

    def test_refuses_what_error_sums_refuses(self):
        forecast = np.zeros((4, 2, 1))
        forecast[3, 1] = np.inf
        with pytest.raises(InputError, match=r"forecast must be finite .* in window 3, step 2, variable 0"):
            sum_by_window(forecast, np.zeros((4, 2, 1)))

    def test_unknown_metric(self):
        with pytest.raises(InputError, match="metric must be mae or rmse, got 'mape'"):
            sum_by_window(np.zeros((1, 1, 1)), np.zeros((1, 1, 1))).errors("mape")


def naive_errors(forecast, target, mask, zeros_missing, steps):
    """Return MAE and RMSE over some steps (from 1), one point at a time."""
    absolute = squared = 0.0
    count = 0
    for b in range(forecast.shape[0]):
        for step in steps:
            for s in range(forecast.shape[2]):
                truth = target[b, step - 1, s]
                if math.isnan(truth) or (zeros_missing and truth == 0):
                    continue
                if mask is not None and not mask[b, step - 1, s]:
                    continue
                error = forecast[b, step - 1, s] - truth
                absolute += abs(error)
                squared += error * error
                count += 1
    if count == 0:
        return math.nan, math.nan
    return absolute / count, math.sqrt(squared / count)
