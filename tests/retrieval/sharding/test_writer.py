"""Writing in a stream: chunks of any size, appending, replacing, and what is left after an error."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retrieval.examples import assert_equal, random_walk, windows_of
from retrieval.sharding.examples import new_folder
from subcast.errors import InputError
from subcast.retrieval import ShardedBank, ShardWriter, WindowBank
from subcast.retrieval.sharding.manifest import NAME
from twins import sharding_twins as naive


def write(values, chunks, folder=None, lookback=4, horizon=2, steps=25, **options):
    folder = new_folder() if folder is None else folder
    with ShardWriter(folder, lookback, horizon, steps=steps, **options) as writer:
        for chunk in chunks(values):
            writer.add(chunk)
    return folder


@settings(max_examples=15, deadline=None)
@given(st.lists(st.integers(0, 40), min_size=2, max_size=8), st.integers(5, 60), st.integers(0, 2**32 - 1))
def test_chunks_of_any_size_give_the_same_bank(sizes, steps, seed):
    total = sum(sizes) + 8
    values = random_walk(total, 3, seed=seed % 1000, missing=0.05)
    bounds = np.cumsum(sizes)
    folder = write(values, lambda array: np.split(array, bounds), steps=steps)
    bank = ShardedBank(folder)
    expected = WindowBank(values, 4, starts=np.arange(total - 5))
    assert np.array_equal(bank.starts, expected.starts)
    assert [(file.first, file.end) for file in bank._manifest.files] == naive.files_of(total, steps, 5)
    windows = windows_of(random_walk(9, 3, seed=3), 4)
    assert_equal(expected.nearest(windows, np.arange(3), 6), bank.nearest(windows, np.arange(3), 6))


@settings(max_examples=15, deadline=None)
@given(st.lists(st.integers(1, 50), min_size=1, max_size=3), st.integers(8, 40), st.booleans())
def test_appending_equals_writing_at_once(sizes, steps, listed):
    values = random_walk(30 + sum(sizes), 3, missing=0.02)
    starts = np.arange(3, 25) if listed else None  # up to the last window that leaves two steps
    folder = write(values[:30], lambda array: [array], steps=steps, starts=starts)
    first = ShardedBank(folder)
    names = {file.name for file in first._manifest.files}
    bank, done = first, 30
    for size in sizes:
        bank = bank.append(values[done : done + size])
        done += size
    assert names <= {file.name for file in bank._manifest.files}  # nothing that was there is written again
    expected = WindowBank(values, 4, starts=np.arange(3 if listed else 0, len(values) - 5))
    assert np.array_equal(bank.starts, expected.starts)
    windows = windows_of(random_walk(9, 3, seed=3), 4)
    for each, variables in ((expected, np.arange(3)), (expected, np.array([1]))):
        found = each.nearest(windows[..., variables], variables, 8)
        assert_equal(found, bank.nearest(windows[..., variables], variables, 8))
    weights = np.ones(found.index.shape, dtype=np.float32)
    futures = [each.pool_futures(found.index, weights, np.arange(3), 2) for each in (expected, bank)]
    assert np.array_equal(*futures)
    assert len(first) == (22 if listed else 25)  # the bank that was open stays as it was


def test_a_small_append_is_one_file_and_a_manifest(tmp_path):
    folder = write(random_walk(300, 2), lambda array: [array], tmp_path / "bank", steps=100)
    before = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
    ShardedBank(folder).append(random_walk(10, 2))
    after = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
    changed = {name for name, time in after.items() if before.get(name) != time}
    assert len(changed - {NAME}) == 1
    assert NAME in changed


def test_windows_never_cross_series():
    folder = new_folder()
    parts = [random_walk(30, 2, seed=seed) for seed in range(3)]
    with ShardWriter(folder, 4, steps=20) as writer:
        for part in parts:
            writer.add(part, new_series=True)
    bank, expected = ShardedBank(folder), WindowBank(parts, 4)
    assert np.array_equal(bank.starts, expected.starts)
    windows = windows_of(random_walk(9, 2, seed=8), 4)
    assert_equal(expected.nearest(windows, [0, 1], 5), bank.nearest(windows, [0, 1], 5))


def test_memory_holds_one_shard_not_the_series():
    def chunks():
        for seed in range(60):
            yield np.random.default_rng(seed).normal(size=(5_000, 10)).astype(np.float32)  # 12 MB in all

    folder = new_folder()
    tracemalloc.start()
    with ShardWriter(folder, 12, 12, steps=10_000) as writer:
        for chunk in chunks():
            writer.add(chunk)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(ShardedBank(folder)) == 300_000 - 23
    assert peak < 6e6


def test_a_bank_is_replaced_and_its_files_go():
    folder = write(random_walk(200, 2), lambda array: [array])
    old = set(folder.iterdir())
    write(random_walk(100, 2, seed=5), lambda array: [array], folder)
    assert len(ShardedBank(folder)) == 95
    assert {path.name for path in old & set(folder.iterdir())} == {NAME}


def test_an_error_leaves_the_bank_that_was_there():
    folder = write(random_walk(200, 2), lambda array: [array])
    fingerprint = ShardedBank(folder).fingerprint()
    with pytest.raises(InputError, match="finite"), ShardWriter(folder, 4, steps=20) as writer:
        writer.add(random_walk(100, 2, seed=1)) or writer.add(np.full((3, 2), np.inf))
    bank = ShardedBank(folder)
    assert bank.fingerprint() == fingerprint
    assert len(list(folder.iterdir())) == bank.shards + 1  # nothing is left of the other
    bank.nearest(random_walk(4, 2)[None], [0, 1], 1)


def test_in_another_file_system():
    pytest.importorskip("fsspec")
    values = random_walk(200, 3)
    address = f"memory://writer-{id(values)}/bank"
    bank = WindowBank(values, 4)
    bank.write_shards(address, steps=40)
    shards = ShardedBank(address)
    windows = windows_of(random_walk(9, 3, seed=8), 4)
    assert_equal(bank.nearest(windows, [0, 2], 5), shards.nearest(windows, [0, 2], 5))
    grown = shards.append(random_walk(30, 3, seed=2))
    assert len(grown) == len(bank) + 30


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lookback": 0}, "lookback must be"),
        ({"lookback": 4, "horizon": -1}, "horizon must be"),
        ({"lookback": 4, "steps": 0}, "steps must be"),
    ],
)
def test_bad_sizes_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        ShardWriter(new_folder(), **options)


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        (np.zeros(5), {}, r"values must be numbers \[t, n\]"),
        (np.array([["a"]]), {}, "values must be numbers"),
        (np.array([[np.inf]]), {}, "finite or NaN"),
        (np.zeros((9, 2)), {"targets": np.zeros((9, 2))}, "every chunk, or with none"),
        (np.zeros((9, 3)), {}, "must have the 2 columns"),
    ],
)
def test_bad_chunks_are_refused(values, options, message):
    writer = ShardWriter(new_folder(), 4)
    writer.add(np.zeros((3, 2)))
    with pytest.raises(InputError, match=message):
        writer.add(values, **options)


def test_names_must_be_different_and_fit():
    for names in (["a"], ["a", "a"]):
        with pytest.raises(InputError, match="names must be 2 different names"):
            ShardWriter(new_folder(), 4, names=names).add(np.zeros((9, 2)))


def test_too_few_steps_are_refused():
    with pytest.raises(InputError, match="at least one step"), ShardWriter(new_folder(), 4):
        pass
    with pytest.raises(InputError, match=r"lookback \+ horizon = 6 steps in a row"):
        write(np.zeros((5, 2)), lambda array: [array])


def test_a_closed_writer_is_refused():
    with ShardWriter(new_folder(), 4) as writer:
        writer.add(np.zeros((9, 2)))
    with pytest.raises(InputError, match="closed"):
        writer.add(np.zeros((9, 2)))
