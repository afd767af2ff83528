"""Several features, features shared by all variables, and missing readings on either side."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from subcast.errors import InputError
from subcast.retrieval import QueryTable, WindowBank
from twins import retrieval_twins as naive


def series(t, n, seed=0, holes=0.0):
    rng = np.random.default_rng(seed)
    values = np.cumsum(rng.normal(size=(t, n)), axis=0).astype(np.float32)
    values[rng.random((t, n)) < holes] = np.nan
    clock = (np.arange(t) % 17 / 17).astype(np.float32)
    return values, clock


def with_clock(values, clock):
    return np.stack([values, np.broadcast_to(clock[:, None], values.shape)], axis=-1)  # [t, n, 2]


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.15]), st.sampled_from([0.5, 1, 0.33]))
def test_shared_feature_is_the_mean_over_all_cells(seed, holes, exponent):
    values, clock = series(70, 4, seed, holes)
    whole = with_clock(values, clock)
    apart = WindowBank(values[:50], 5, shared=clock[:50, None])
    noticed = WindowBank(whole[:50], 5)
    assert noticed.layout == apart.layout
    assert noticed.data.shape[0] == 5
    variables = [3, 1]
    windows = np.stack([whole[j : j + 5] for j in range(50, 60)])
    one = noticed.nearest(windows, variables, 6, exponent)
    two = apart.nearest(windows[..., 0], variables, 6, exponent, shared=windows[:, :, 0, 1:])
    three = apart.nearest_sliding(values[50:64], variables, 6, exponent, shared=clock[50:64, None])
    stream = apart.stream(variables, 6, exponent)
    four = [stream.push(values[t], shared=clock[t : t + 1]) for t in range(50, 64)][4:]
    for other in (two, three):
        assert np.array_equal(one.index, other.index)
        assert np.array_equal(one.distance, other.distance)
    assert np.array_equal(one.index, np.concatenate([answer.index for answer in four]))
    for j in (0, 7):
        every = naive.distances(whole, 5, list(range(46)), windows[j], variables, exponent)
        twin = naive.nearest(whole, 5, list(range(46)), windows[j], variables, 6, exponent)
        naive.assert_same(one.index[j].tolist(), one.distance[j].tolist(), twin, every)


def test_windows_come_back_with_all_features():
    values, clock = series(30, 3)
    whole = with_clock(values, clock)
    for bank in (WindowBank(values, 4, shared=clock), WindowBank(whole, 4)):
        assert np.array_equal(bank.window(7), whole[7:11])
        assert bank.windows([[1, 2]]).shape == (1, 2, 4, 3, 2)
    own = np.stack([values, values**2], axis=-1)
    assert np.array_equal(WindowBank(own, 4).window(26), own[26:30])


def test_a_shared_feature_must_be_shared_by_the_query_too():
    values, clock = series(30, 3)
    bank = WindowBank(values, 4, shared=clock)
    windows = with_clock(values, clock)[None, :4].copy()
    windows[0, 0, 1, 1] += 0.5
    with pytest.raises(InputError, match="different values of feature 1"):
        bank.nearest(windows, [0, 1], 1)
    assert bank.nearest(windows, [0, 2], 1).index[0, 0] == 0
    with pytest.raises(InputError, match="pass them as shared="):
        bank.nearest(values[None, :4], [0], 1)


def test_a_mask_is_as_good_as_nan():
    values, _ = series(60, 4)
    rng = np.random.default_rng(1)
    present = rng.random((60, 4)) > 0.2
    holed = np.where(present, values, np.nan)
    one = WindowBank(holed[:40], 5).nearest(np.stack([holed[40:45], holed[50:55]]), [0, 2, 3], 5)
    bank = WindowBank(values[:40], 5, mask=present[:40])
    windows, mask = np.stack([values[40:45], values[50:55]]), np.stack([present[40:45], present[50:55]])
    two = bank.nearest(windows, [0, 2, 3], 5, mask=mask)
    three = bank.nearest(windows, [0, 2, 3], 5, mask=mask[..., [0, 2, 3]])
    for other in (two, three):
        assert np.array_equal(one.index, other.index)
        assert np.array_equal(one.distance, other.distance)


def test_an_all_missing_variable_is_an_absent_one():
    values, clock = series(60, 3, holes=0.1)
    bank = WindowBank(values[:50], 4, shared=clock[:50])
    window = values[None, 50:54].copy()
    window[..., 1] = np.nan
    common = clock[None, 50:54, None]
    one = bank.nearest(window, [0, 1, 2], 9, shared=common)
    two = bank.nearest(window, [0, 2], 9, shared=common)
    assert np.array_equal(one.index, two.index)
    assert np.array_equal(one.distance, two.distance)


def test_missing_readings_never_win_a_place():
    values = np.full((20, 2), 5.0)
    values[3:9] = np.nan
    values[12:14, 0] = np.nan
    bank = WindowBank(values, 2)
    found = bank.nearest(np.zeros((1, 2, 2)), [0, 1], 19)
    places = found.index[0][found.index[0] >= 0].tolist()
    assert not {3, 4, 5, 6, 7} & set(places)
    assert {11, 12, 13} <= set(places)
    assert np.isfinite(found.distance[0, : len(places)]).all()
    strict = bank.nearest(np.zeros((1, 2, 2)), [0, 1], 19, min_overlap=1.0)
    assert not set(range(2, 9)) & set(strict.index[0].tolist())
    assert not {11, 12, 13} & set(strict.index[0].tolist())


def test_a_window_without_readings_has_no_neighbors():
    bank = WindowBank(np.zeros((20, 2)), 3)
    windows = np.zeros((2, 3, 2))
    windows[1] = np.nan
    found = bank.nearest(windows, [0, 1], 2)
    assert found.index.tolist() == [[0, 1], [-1, -1]]
    assert np.isinf(found.distance[1]).all()


def test_overlap_is_a_share_of_what_the_window_has():
    values = np.zeros((4, 4))
    values[0, :2] = np.nan  # two of four
    values[1, :3] = np.nan  # one of four
    bank = WindowBank(values, 1)
    window = np.zeros((1, 1, 4))
    assert bank.nearest(window, range(4), 4, min_overlap=0.5).index[0].tolist() == [0, 2, 3, -1]
    assert bank.nearest(window, range(4), 4, min_overlap=0.51).index[0].tolist() == [2, 3, -1, -1]
    window[0, 0, :2] = np.nan  # the window has two: candidate 1 shares one of them
    assert bank.nearest(window, range(4), 4, min_overlap=0.5).index[0].tolist() == [0, 1, 2, 3]


def test_a_feature_that_never_changed_is_not_taken_for_shared():
    values, clock = series(60, 3)
    flag = np.zeros_like(values)
    cells = np.stack([values, flag, np.broadcast_to(clock[:, None], values.shape)], axis=-1)
    bank = WindowBank(cells[:50], 4)
    assert bank.layout.shared == (False, False, True)
    windows = cells[None, 50:54].copy()
    windows[0, 2, 1, 1] = 1
    found = bank.nearest(windows, [0, 1], 3)
    every = naive.distances(cells, 4, list(range(47)), windows[0], [0, 1], 0.5)
    twin = naive.nearest(cells, 4, list(range(47)), windows[0], [0, 1], 3, 0.5)
    naive.assert_same(found.index[0].tolist(), found.distance[0].tolist(), twin, every)


def test_which_features_are_shared_can_be_said():
    values, clock = series(60, 3)
    cells = np.stack([values, np.ones_like(values), np.broadcast_to(clock[:, None], values.shape)], axis=-1)
    layouts = {
        "auto": (False, False, True),
        "none": (False,) * 3,
        (1,): (False, True, False),
        (1, 2): (False, True, True),
    }
    answers = []
    for wanted, layout in layouts.items():
        bank = WindowBank(cells[:50], 4, shared_features=wanted)
        assert bank.layout.shared == layout
        assert np.array_equal(bank.window(7), cells[7:11])
        answers.append(bank.nearest(cells[None, 52:56], [0, 2], 4))
    for answer in answers:
        assert np.allclose(answer.distance, answers[0].distance, rtol=1e-5)
    gone = cells[:50].copy()
    gone[5, 0] = np.nan  # the others still know the time
    assert WindowBank(gone, 4, shared_features=[2]).window(5)[0, 0, 2] == clock[5]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("f", [1, 2])
def test_garbage_in_variables_not_asked_about_does_not_matter(dtype, f):
    values = np.cumsum(np.random.default_rng(3).normal(size=(60, 4, f)), axis=0).astype(dtype)
    values = values[..., 0] if f == 1 else values
    bank = WindowBank(values[:50], 4)
    steps = values[50:].copy()
    steps[:, 1] = np.inf
    steps[3, 3] = -np.inf
    steps[4, 3] = np.finfo(dtype).max
    windows = np.stack([steps[j : j + 4] for j in range(7)])
    clean = np.stack([values[50 + j : 54 + j] for j in range(7)])
    wanted = bank.nearest(clean, [2, 0], 3)
    stream = bank.stream([2, 0], 3)
    pushed = [stream.push(step) for step in steps][3:]
    table = QueryTable(bank, clean, neighbor=2)
    for found in (bank.nearest(windows, [2, 0], 3), bank.nearest_sliding(steps, [2, 0], 3)):
        assert np.array_equal(found.index, wanted.index)
        assert np.array_equal(found.distance, wanted.distance)
    assert np.array_equal(np.concatenate([found.index for found in pushed]), wanted.index)
    assert np.array_equal(bank.distances(windows, [0]), bank.distances(clean, [0]))
    assert np.array_equal(table.nearest(windows, [0, 2], 3).rounds, table.nearest(clean, [0, 2], 3).rounds)
    for call in (
        lambda: bank.nearest(windows, [0, 1], 3),
        lambda: bank.nearest_sliding(steps, [0, 1], 3),
        lambda: bank.stream([0, 1], 3).push(steps[0]),
    ):
        with pytest.raises(InputError, match="holds infinite values"):
            call()
    present = np.isfinite(windows if f == 1 else windows[..., 0])
    holed = np.where(present if f == 1 else present[..., None], windows, np.nan)
    one = bank.nearest(windows, [0, 1], 3, mask=present)
    two = bank.nearest(holed, [0, 1], 3)
    assert np.array_equal(one.index, two.index)
    if f == 2:  # a missing reading takes its feature with it, whatever that is
        holed[..., 1] = windows[..., 1]
        assert np.array_equal(bank.nearest(holed, [0, 1], 3).index, two.index)
