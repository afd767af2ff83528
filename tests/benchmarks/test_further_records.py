"""The further sets: always the same, of the promised kind, and compared with the rival that is best on test."""

import numpy as np
import pytest

from benchmarks.scripts import script
from subcast.comparison import Comparison, Tally
from subcast.errors import InputError

further = script("further_records")


@pytest.mark.parametrize("name", list(further.GENERATED))
def test_generated_sets_are_whole_and_always_the_same(name):
    series, again = further.open_set(name), further.open_set(name)
    assert series.n_variables == further.VARIABLES
    assert np.isfinite(series.values).all()
    np.testing.assert_array_equal(series.values, again.values)


def test_growth_grows_and_walks_leave_their_range():
    growth, walks = (further.open_set(name).values for name in ("growth", "walks"))
    assert (growth[-500:].mean(axis=0) > growth[:500].mean(axis=0) + 5).all()
    assert (np.ptp(walks, axis=0) > 20 * np.diff(walks, axis=0).std(axis=0)).all()


def test_an_unknown_set_is_refused():
    with pytest.raises(InputError, match="walks"):
        further.open_set("nothing")


def test_the_best_rival_is_the_best_on_test():
    rng = np.random.default_rng(0)
    target = np.zeros((40, 12, 3))
    spreads = {"oracle": 1.0, "subcast": 1.1, "bad": 3.0, "good": 1.05}
    tallies = {
        name: Tally.join([Tally.of(spread * rng.normal(size=target.shape), target) for _ in range(6)])
        for name, spread in spreads.items()
    }
    row = further.summary(Comparison(tallies, [np.arange(3)] * 6, range(40)), "mae", 0.15)
    assert row["best_rival"] == "good"
    assert row["to_best_rival"].split()[0] != row["to_oracle"].split()[0]
