"""Segments of long windows, and covariances of their means by lag, against sums over all pairs of steps."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from subcast.retrieval.moments import LagMoments
from subcast.subset.segments import LaggedBlocks, Segments

N = 5


def moments_of(lags, seed=0, **options):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(300, N)).astype(np.float32)
    for step in range(1, 300):
        z[step] = 0.7 * z[step - 1] + 0.3 * np.roll(z[step - 1], 1) + 0.5 * z[step]
    return LagMoments.fit(z, lags, **options)


@settings(max_examples=120)
@given(st.integers(1, 300), st.integers(1, 320))
def test_segments_are_few_and_finest_at_the_end(lookback, most):
    segments = Segments.of(lookback, most)
    lengths = segments.lengths
    assert 1 <= len(segments) <= most
    assert lengths[-1] == 1
    assert list(lengths) == sorted(lengths, reverse=True)
    assert all(length in (1, 4, 16) for length in lengths)
    assert sum(lengths) <= lookback
    firsts = segments.first
    assert [a + length for a, length in zip(firsts, lengths, strict=True)] == [*firsts[1:], lookback]
    if most >= lookback:
        assert lengths == (1,) * lookback
    if most >= 24 and lookback <= 200:
        assert sum(lengths) == lookback


def test_means_against_loops():
    segments = Segments((4, 4, 1, 1), 11)  # the first step belongs to none
    cells = np.random.default_rng(0).normal(size=(2, 11, 3)).astype(np.float32)
    expected = np.stack([cells[:, 1:5].mean(1), cells[:, 5:9].mean(1), cells[:, 9], cells[:, 10]], axis=1)
    np.testing.assert_allclose(segments.means(cells), expected, rtol=1e-5, atol=1e-6)


def explicit(moments, segments, variables, others, times):
    """[segments, s, times, m] by sums over the steps of each segment."""
    found = np.zeros((len(segments), len(variables), len(times), len(others)))
    for a, (first, length) in enumerate(zip(segments.first, segments.lengths, strict=True)):
        for c, time in enumerate(times):
            for step in range(first, first + length):
                found[a, :, c] += moments.block(time - step, variables, others).astype(float) / length
    return found


SEGMENTS = [Segments.of(30, 10), Segments.of(7, 7), Segments((16, 4, 1), 24), Segments((4, 4), 8), Segments((1,), 3)]


@pytest.mark.parametrize("segments", SEGMENTS, ids=lambda each: str(each.lengths))
@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("b", [1, 9])
def test_products_against_sums_over_steps(segments, dense, b):
    horizon, lookback = 6, segments.lookback
    moments = moments_of(lookback + horizon) if dense else moments_of(lookback + horizon, dense_limit=2, rank=3)
    variables, others = np.array([0, 3]), np.array([1, 2, 4])
    solved = np.random.default_rng(1).normal(size=(b, len(segments) * 2)).astype(np.float32)
    for begin, end in ((lookback, lookback + horizon), (0, lookback)):
        blocks = LaggedBlocks.of(moments, segments, variables, others, begin, end)
        found = blocks.product(solved, np.arange(2), np.arange(3), begin, end)
        matrix = explicit(moments, segments, variables, others, range(begin, end)).reshape(solved.shape[1], -1)
        np.testing.assert_allclose(found.reshape(b, -1), solved @ matrix, rtol=1e-4, atol=1e-5)
        if dense:  # also from the moments of all variables, at negative lags too
            whole = LaggedBlocks.of_all(moments, segments)
            found = whole.product(solved, variables, others, begin, end)
            np.testing.assert_allclose(found.reshape(b, -1), solved @ matrix, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("segments", SEGMENTS, ids=lambda each: str(each.lengths))
@pytest.mark.parametrize("b", [1, 9])
def test_a_base_of_all_variables_gives_the_same(segments, b):
    lookback, horizon = segments.lookback, 4
    moments, present = moments_of(lookback + horizon), np.array([1, 2, 4])
    solved = np.random.default_rng(1).normal(size=(b, len(segments) * 3)).astype(np.float32)
    own = np.arange(3)
    small = LaggedBlocks.of(moments, segments, present, present, None, lookback + horizon)
    large = LaggedBlocks.of_all(moments, segments)
    np.testing.assert_array_equal(small.gram(own), large.gram(present))
    ahead = (lookback, lookback + horizon)
    np.testing.assert_allclose(
        large.product(solved, present, present, *ahead), small.product(solved, own, own, *ahead), rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize("segments", SEGMENTS, ids=lambda each: str(each.lengths))
def test_the_gram_matrix_against_sums_over_pairs_of_steps(segments):
    moments, present = moments_of(segments.lookback + 3), np.array([0, 2, 3])
    found = LaggedBlocks.of(moments, segments, present, present, None, segments.lookback + 3).gram(np.arange(3))
    pairs = zip(segments.first, segments.lengths, strict=True)
    spans = [range(first, first + length) for first, length in pairs]
    expected = np.zeros((len(spans), 3, len(spans), 3))
    for a, one in enumerate(spans):
        for c, other in enumerate(spans):
            blocks = [moments.block(j - i, present, present).astype(float) for i in one for j in other]
            expected[a, :, c] = np.mean(blocks, axis=0)
    size = len(found)
    upper = np.triu_indices(size)
    np.testing.assert_allclose(found[upper], expected.reshape(size, size)[upper], rtol=1e-5, atol=1e-6)
