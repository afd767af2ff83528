"""The exact index gives the same results as the scan, to the bit, and method "auto" uses it when it is faster."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retrieval.examples import assert_equal
from subcast.errors import InputError
from subcast.retrieval import WindowBank, index, search


def wave(t, n, seed=0, noise=0.05):
    rng = np.random.default_rng(seed)
    time = np.arange(t)[:, None]
    return (np.sin(time / 9 + np.arange(n)) + noise * rng.normal(size=(t, n))).astype(np.float32)


@settings(max_examples=30)
@given(
    st.integers(0, 10**6),
    st.integers(1, 40),
    st.integers(41, 700),
    st.sampled_from([0.5, 1, 2, 1 / 3, 0.7]),
    st.sampled_from([0.0, 0.05, 1.0]),
    st.integers(1, 3),
)
def test_index_equals_the_scan(seed, lookback, t, exponent, noise, threads):
    rng = np.random.default_rng(seed)
    values = wave(t + lookback + 4, 4, seed, noise)
    values = np.round(values, 1) if seed % 3 == 0 else values
    clock = np.arange(len(values), dtype=np.float32) % 24
    bank = WindowBank(values[:t], lookback, lengths=[t - 20, 20] if lookback <= 20 and t > 60 else None,
                      shared=clock[:t] if seed % 2 else None)  # fmt: skip
    windows = np.stack([values[j : j + lookback] for j in range(t, t + 4)])
    windows[rng.random(windows.shape) < 0.1] = np.nan
    common = np.stack([clock[j : j + lookback, None] for j in range(t, t + 4)]) if seed % 2 else None
    options = {"shared": common, "exclude": 3, "at": rng.integers(0, t, 4), "threads": threads}
    k = int(rng.integers(1, len(bank) + 3))
    scan = bank.nearest(windows, [0, 2, 3], k, exponent, method="scan", **options)
    indexed = bank.nearest(windows, [0, 2, 3], k, exponent, method="index", **options)
    assert_equal(scan, indexed)


def test_index_skips_most_windows_of_slow_series():
    values = np.cumsum(np.random.default_rng(0).normal(size=(20_000, 3)), axis=0).astype(np.float32)
    bank = WindowBank(values[:19_000], 12)
    queries = search.queries_of(bank, values[None, 19_500:19_512], np.array([0, 1]), None, None)
    limits = search.Limits(5, np.ones(1, np.float32), np.zeros((1, 2), np.int64))
    read = index.windows_read(bank, queries, limits, 0.5, 1)
    assert 0 < read[0] < 0.5 * len(bank)
    assert bank.envelopes(np.array([0, 1])).nbytes == pytest.approx(0.5 * bank.data[:2].nbytes, rel=0.01)


def test_ties_among_perfect_matches_go_to_the_lower_index():
    values = np.zeros((3000, 2), dtype=np.float32)
    values[:100] = 1
    found = WindowBank(values, 5).nearest(np.zeros((1, 5, 2)), [0, 1], 4, method="index")
    assert found.index[0].tolist() == [100, 101, 102, 103]


def search_auto(bank, windows, variables, k, **options):
    """Compare "auto" with the scan; return how many windows "auto" has answered by the index and by the scan so far."""
    auto = bank.nearest(windows, variables, k, **options)
    scan = bank.nearest(windows, variables, k, method="scan", **options)
    assert_equal(auto, scan)
    answered = bank.envelopes(np.zeros(0, dtype=np.int64)).answered
    return answered["index"], answered["scan"]


def windows_of(values, first, b, lookback=6):
    return np.stack([values[j : j + lookback] for j in range(first, first + b)])


@pytest.fixture
def smooth(monkeypatch):
    monkeypatch.setattr(index, "INDEX_FROM", 1000)
    values = np.cumsum(np.random.default_rng(0).normal(size=(9000, 3)), axis=0).astype(np.float32)
    return WindowBank(values[:8500], 6), values


@pytest.fixture
def noisy(monkeypatch):
    monkeypatch.setattr(index, "INDEX_FROM", 1000)
    values = np.random.default_rng(0).normal(size=(9000, 3)).astype(np.float32)
    return WindowBank(values[:8500], 6), values


def test_auto_uses_the_index_where_it_skips_most_windows(smooth):
    bank, values = smooth
    assert search_auto(bank, windows_of(values, 8000, 30), [0, 1], 5) == (30, 0)
    assert search_auto(bank, windows_of(values, 8100, 1), [0, 1], 5) == (31, 0)


def test_auto_stops_using_the_index_within_a_call(noisy):
    bank, values = noisy
    assert search_auto(bank, windows_of(values, 8600, 30), [0, 1, 2], 5) == (8, 22)


def test_auto_scans_some_calls_after_the_index_was_slower(noisy, monkeypatch):
    monkeypatch.setattr(index, "_PAUSE", 3)
    bank, values = noisy
    one = windows_of(values, 8600, 1)
    answered = [search_auto(bank, one, [0, 1, 2], 5) for _ in range(6)]
    assert answered == [(1, 0), (1, 1), (1, 2), (1, 3), (2, 3), (2, 4)]  # tried again after three calls
    assert search_auto(bank, one, [0, 1, 2], 5, exponent=1) == (3, 4)  # another kind of query has its own record


def test_auto_has_a_record_for_each_number_of_variables(noisy):
    bank, values = noisy
    sets = np.eye(3, dtype=bool)[np.arange(12) % 3]  # one variable for ten windows, all three for two windows
    sets[:2] = True
    for calls in (1, 2, 3):
        search_auto(bank, windows_of(values, 8600, 12), sets, 5)
        records = bank.envelopes(np.zeros(0, dtype=np.int64)).records
        assert set(records) == {(1, 0.5, 3), (3, 0.5, 3)}
        assert records[3, 0.5, 3].scanned == calls - 1


def test_auto_tries_the_index_again():
    record = index.IndexRecord()
    assert record.use_index
    record.update(1.7)
    assert not record.use_index
    record.scanned = 64
    assert record.use_index
    record.update(0.1)
    assert record.use_index
    assert record.share == 0.1  # the previous share was too old to be averaged
    record.update(0.9)
    assert record.use_index  # one slow call is averaged with a fast one
    record.update(0.9)
    assert not record.use_index


def test_auto_scans_small_banks_and_many_neighbors(smooth, monkeypatch):
    bank, values = smooth
    assert search_auto(bank, windows_of(values, 8000, 3), [0, 1], 400) == (0, 0)  # 400 blocks are most of the bank
    monkeypatch.setattr(index, "INDEX_FROM", 10_000)
    assert search_auto(bank, windows_of(values, 8000, 3), [0, 1], 5) == (0, 0)
    assert bank.envelopes(np.zeros(0, dtype=np.int64)).nbytes == 0


def test_auto_scans_scattered_candidates_unless_the_index_is_requested(monkeypatch):
    monkeypatch.setattr(index, "INDEX_FROM", 100)
    values = np.cumsum(np.random.default_rng(0).normal(size=(9000, 3)), axis=0).astype(np.float32)
    bank = WindowBank(values, 6, fraction=0.2)
    windows = windows_of(values, 8000, 3)
    assert search_auto(bank, windows, [0, 1], 5) == (0, 0)
    scan = bank.nearest(windows, [0, 1], 5, method="scan")
    forced = bank.nearest(windows, [0, 1], 5, method="index")
    assert_equal(scan, forced)


def test_the_index_needs_complete_readings():
    values = wave(100, 2)
    values[5, 0] = np.nan
    with pytest.raises(InputError, match="method='index' needs a bank without missing readings"):
        WindowBank(values, 4).nearest(np.zeros((1, 4, 2)), [0], 1, method="index")
    assert WindowBank(values, 4).nearest(np.zeros((1, 4, 2)), [1], 1, method="index").found.all()


@pytest.mark.parametrize("exponent", [0.5, 1, 2])
@pytest.mark.parametrize("kind", ["walk", "wave", "steps"])
def test_index_equals_the_scan_where_most_blocks_are_ruled_out(kind, exponent):
    """The series is so long that bounds decide which blocks are read: a bound too high would lose neighbors."""
    rng = np.random.default_rng(4)
    if kind == "walk":
        values = np.cumsum(rng.normal(size=(9000, 3)), axis=0).astype(np.float32)
    elif kind == "wave":
        values = wave(9000, 3, noise=0.2)
    else:
        values = np.repeat(np.round(rng.normal(size=(600, 3)), 1), 15, axis=0).astype(np.float32)
    bank = WindowBank(values[:8500], 10)
    windows = np.stack([values[t : t + 10] for t in rng.integers(0, 8990, size=12)])
    windows += rng.normal(0, 0.1, size=windows.shape).astype(np.float32)
    for k in (1, 40, 700):
        scan = bank.nearest(windows, [0, 2], k, exponent, method="scan")
        indexed = bank.nearest(windows, [0, 2], k, exponent, method="index")
        assert_equal(scan, indexed)
