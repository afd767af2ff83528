"""Summaries of known errors."""

import numpy as np
import pytest

from subcast.comparison import Comparison, Tally
from subcast.experiments.summaries import summarize, summarize_pairs
from subcast.metrics import Sums


def tally(mae, rmse):
    """Errors of draws at two steps, the same in all four stretches of windows at the second; [draws, 2] each."""
    mae, rmse = np.array(mae), np.array(rmse)
    count = np.ones(mae.shape, dtype=np.int64)
    stretches = np.ones((1, 4))
    by_stretch = Sums(mae[:, 1:] * stretches, rmse[:, 1:] ** 2 * stretches, (count[:, 1:] * stretches).astype(np.int64))
    return Tally(Sums(mae, rmse**2, count), {2: by_stretch})


def compare(times):
    """Two draws, repeated."""
    tallies = {
        "oracle": tally([[1.0, 2.0], [1.0, 4.0]] * times, [[1.0, 4.0]] * 2 * times),
        "ours": tally([[1.0, 3.0], [1.0, 6.0]] * times, [[1.0, 4.0]] * 2 * times),
    }
    return Comparison(tallies, [np.array([0])] * 2 * times, range(4))


def test_few_draws():
    rows = summarize_pairs(compare(1), step=2)
    assert rows["ours"]["draws"] == 2
    assert rows["ours"]["mae"] == 4.5
    assert rows["ours"]["mae_deviation"] == pytest.approx(np.std([3.0, 6.0], ddof=1))
    assert rows["ours"]["mae_gap"] == pytest.approx(50.0)
    assert rows["ours"]["rmse_gap"] == 0.0
    assert rows["ours"]["mae_by_step"] == [1.0, 4.5]
    assert rows["ours"]["mae_gap_interval"] is None  # two draws are too few
    assert rows["oracle"]["mae_against"]["ours"] == [pytest.approx(-100 / 3), None, None]


def test_enough_draws_have_intervals():
    rows = summarize_pairs(compare(5), step=2)
    assert rows["ours"]["mae_gap_interval"] == pytest.approx([50.0, 50.0])
    assert rows["ours"]["mae_against"]["oracle"] == pytest.approx([50.0, 50.0, 50.0])


def test_pairs_are_added_to_the_summary():
    short, full = summarize(compare(5), step=2), summarize_pairs(compare(5), step=2)
    for name, row in short.items():
        assert {key: full[name][key] for key in row} == row
        assert set(full[name]) - set(row) == {"mae_against", "rmse_against"}
