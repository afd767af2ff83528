"""Tests of the blend, which mixes each expert in turn into the forecast of the experts before it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from subcast.subset.blend import Blend

SHARES = (0.2, 0.6)
ROWS = {"one": ((0.5, 1.0), (0.25, 0.0)), "two": ((0.1, 0.2), (0.3, 0.4))}


@given(st.floats(0.0, 1.0), st.booleans(), st.sampled_from([0.0, 0.6, 0.9]))
def test_combine_against_loops(present_share, fades, fades_from):
    rng = np.random.default_rng(0)
    first, one, two = (rng.normal(size=(3, 2, 4)).astype(np.float32) for _ in range(3))
    blend = Blend(SHARES, ROWS, fades=fades, fades_from=fades_from)
    from_share = max(0.6, fades_from)
    blended = blend.combine(first, {"one": lambda: one, "two": lambda: two}, present_share)
    for b, h, s in np.ndindex(*first.shape):
        expected = float(first[b, h, s])
        for name, other in (("one", one), ("two", two)):
            low, high = ROWS[name][0][h], ROWS[name][1][h]
            end = 0.0 if fades else high
            if present_share <= 0.2:
                share = low
            elif present_share <= 0.6:
                share = low + (high - low) * (present_share - 0.2) / 0.4
            elif present_share <= from_share:
                share = high
            else:
                share = high + (end - high) * (present_share - from_share) / (1 - from_share)
            expected = (1 - share) * expected + share * float(other[b, h, s])
        assert blended[b, h, s] == pytest.approx(expected, abs=1e-5)


def test_an_expert_without_a_share_is_not_called():
    def never():
        raise AssertionError("asked")

    first = np.ones((1, 2, 3), dtype=np.float32)
    blend = Blend(SHARES, {"idle": ((0.0, 0.0), (0.0, 0.0)), "fading": ((1.0, 1.0), (1.0, 1.0))})
    np.testing.assert_array_equal(blend.combine(first, {"idle": never, "fading": never}, 1.0), first)


def test_losing_one_of_many_variables_changes_the_forecast_little():
    blend = Blend((0.15, 0.5, 0.85), {"one": ((0.9, 0.9),) * 3})
    all_but_one = blend.share_of("one", 206 / 207)
    assert (all_but_one > 0).all()
    assert (all_but_one < 0.04).all()
    later = Blend((0.15, 0.5, 0.85), {"one": ((0.9, 0.9),) * 3}, fades_from=0.95)
    assert (later.share_of("one", 206 / 207) < 0.1).all()
    assert (later.share_of("one", 0.95) == 0.9).all()
