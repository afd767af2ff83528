"""Tests of making, saving and opening a bank, and of the errors for bad input."""

from __future__ import annotations

import copy
import json
import os
import pickle
import subprocess
import sys
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from subcast.errors import DataError, DataNotFoundError, InputError, WriteError
from subcast.retrieval import QueryTable, WindowBank
from subcast.storage import folders, pages

VALUES = np.random.default_rng(0).normal(size=(80, 3)).astype(np.float32)


def bank_of(**options):
    return WindowBank(VALUES, 4, **options)


def same(one, other):
    return np.array_equal(one.index, other.index) and np.array_equal(one.distance, other.distance)


def test_windows_do_not_cross_series():
    parts = [VALUES[:10], VALUES[10:13], VALUES[13:40]]
    bank = WindowBank(parts, 4)
    assert len(bank) == 7 + 0 + 24
    assert bank.starts.tolist() == [*range(7), *range(13, 37)]
    series, step = bank.locate([6, 7])
    assert series.tolist() == [0, 2]
    assert step.tolist() == [6, 0]
    again = WindowBank(VALUES[:40], 4, lengths=[10, 3, 27])
    assert np.array_equal(again.starts, bank.starts)
    assert np.array_equal(again.window(7), VALUES[13:17])


def test_fraction_draws_one_of_each_chunk():
    bank = bank_of(fraction=0.25, seed=5)
    assert len(bank) == 77 // 4
    bounds = np.arange(20) * 77 // 19
    assert all(a <= start < b for a, start, b in zip(bounds, bank.starts, bounds[1:], strict=False))
    assert np.array_equal(bank.starts, bank_of(fraction=0.25, seed=5).starts)
    assert not np.array_equal(bank.starts, bank_of(fraction=0.25, seed=6).starts)
    half = bank_of(starts=[3, 5, 20, 60], fraction=0.5)
    assert len(half) == 2
    assert half.starts[0] in {3, 5}
    assert half.starts[1] in {20, 60}
    assert bank_of(fraction=1.0).starts.tolist() == list(range(77))


@pytest.mark.parametrize("options", [{}, {"starts": [0, 3, 9]}, {"names": ["a", "b", "c"]}, {"shared": VALUES[:, 0]}])
def test_saved_and_opened_bank_answers_the_same(tmp_path, options):
    bank = bank_of(**options)
    bank.save(tmp_path / "bank")
    opened = WindowBank.open(tmp_path / "bank", verify=True)
    windows = bank.windows([0, 2])
    assert same(bank.nearest(windows, [0, 2], 3), opened.nearest(windows, [0, 2], 3))
    assert opened.names == bank.names
    assert isinstance(opened.data.base, np.memmap)
    assert not opened.data.flags.writeable
    assert [path.name for path in tmp_path.iterdir()] == ["bank"]


def test_saving_again_replaces_the_bank(tmp_path):
    bank_of().save(tmp_path / "bank")
    bank_of(starts=[5]).save(tmp_path / "bank")
    assert len(WindowBank.open(tmp_path / "bank")) == 1
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.txt").write_text("years of work")
    with pytest.raises(InputError, match="holds no bank"):
        bank_of().save(tmp_path / "other")
    assert (tmp_path / "other" / "thesis.txt").exists()


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def test_other_files_in_the_folder_survive(tmp_path):
    folder = tmp_path / "bank"
    bank_of(starts=[1, 2]).save(folder)
    (folder / "model.safetensors").write_text("weeks of training")
    (folder / "notes").mkdir()
    bank_of(starts=[5]).save(folder)
    assert (folder / "model.safetensors").read_text() == "weeks of training"
    assert WindowBank.open(folder).starts.tolist() == [5]
    kinds = [name.rsplit("-", 1)[0] for name in names_in(folder)]
    assert kinds == [
        "bank-holes",
        "bank-offsets",
        "bank-rows",
        "bank-starts",
        "bank.json",
        "model.safetensors",
        "notes",
    ]
    bank_of().save(folder)
    assert len(names_in(folder)) == 6  # no starts any more


@pytest.mark.parametrize("name", ["fsync", "replace"])
def test_a_save_that_fails_leaves_the_old_bank(tmp_path, monkeypatch, name):
    folder = tmp_path / "bank"
    bank_of(starts=[3]).save(folder)
    before = names_in(folder)

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, name, fail)
    with pytest.raises(WriteError, match=r"bank could not be written .No space left on device."):
        bank_of(starts=[8, 9]).save(folder)
    with pytest.raises(WriteError, match="new could not be written"):
        bank_of(starts=[8, 9]).save(tmp_path / "new")
    monkeypatch.undo()
    assert names_in(folder) == before
    assert names_in(tmp_path) == ["bank"]
    assert WindowBank.open(folder, verify=True).starts.tolist() == [3]


def test_files_left_by_a_killed_save_are_removed(tmp_path):
    stray = tmp_path / "bank-rows-0123456789abcdef.npy"
    stray.write_bytes(b"half an arr")
    bank_of(starts=[3]).save(tmp_path)
    assert not stray.exists()
    assert WindowBank.open(tmp_path).starts.tolist() == [3]


def test_savers_and_openers_at_once(tmp_path):
    banks = {size: WindowBank(np.full((size, 2), size), 3, starts=range(size - 3)) for size in (40, 50)}
    banks[40].save(tmp_path)

    def save(size):
        for _ in range(15):
            banks[size].save(tmp_path)

    def open_often(_):
        sizes = set()
        for _ in range(60):
            bank = WindowBank.open(tmp_path)
            assert np.all(bank.data == len(bank) + 3)
            sizes.add(len(bank))
        return sizes

    with ThreadPoolExecutor(4) as pool:
        saving = [pool.submit(save, size) for size in banks]
        opening = [pool.submit(open_often, i) for i in range(2)]
        for future in saving:
            future.result()
        assert set.union(*(future.result() for future in opening)) <= {37, 47}
    assert len(names_in(tmp_path)) == 5


def test_open_starts_again_if_a_save_replaces_the_page(tmp_path, monkeypatch):
    bank_of(starts=[3]).save(tmp_path)
    read, left = pages.unseal, [1]

    def read_and_save(*arguments):
        page = read(*arguments)
        if left[0]:
            left[0] -= 1
            bank_of(starts=[7]).save(tmp_path)
        return page

    monkeypatch.setattr(pages, "unseal", read_and_save)
    assert WindowBank.open(tmp_path).starts.tolist() == [7]
    left[0] = folders._TRIES  # then it locks the folder, and no save can come between
    assert WindowBank.open(tmp_path).starts.tolist() == [7]
    assert left == [0]


def test_an_open_bank_keeps_its_readings_when_another_is_saved_over_it(tmp_path):
    bank_of().save(tmp_path)
    opened = WindowBank.open(tmp_path)
    WindowBank(VALUES + 1, 4).save(tmp_path)
    assert np.array_equal(opened.data, VALUES.T)
    assert np.array_equal(WindowBank.open(tmp_path).data, (VALUES + 1).T)
    opened.save(tmp_path)
    assert np.array_equal(WindowBank.open(tmp_path).data, VALUES.T)


def test_a_bank_of_another_format_is_refused_and_can_be_saved_over(tmp_path):
    page = json.dumps({"kind": "bank", "facts": {}, "arrays": {"rows": {"file": "rows.npy"}}, "blobs": {}})
    (tmp_path / "bank.json").write_text(json.dumps({"format": 0, "checksum": zlib.crc32(page.encode()), "page": page}))
    (tmp_path / "rows.npy").write_bytes(b"old")
    with pytest.raises(
        DataError, match="is of format 0, and this version of subcast reads format 1: save it again with this version"
    ):
        WindowBank.open(tmp_path)
    bank_of().save(tmp_path)
    assert np.array_equal(WindowBank.open(tmp_path).data, VALUES.T)
    assert (tmp_path / "rows.npy").exists()  # a save removes only files that a save wrote


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda thing: pickle.loads(pickle.dumps(thing))])
@pytest.mark.parametrize("options", [{}, {"starts": [0, 3, 9, 40]}])
def test_a_copy_answers_the_same(tmp_path, copied, options):
    bank = bank_of(**options)
    bank.save(tmp_path)
    windows = bank.windows([0, 2])
    for one in (bank, WindowBank.open(tmp_path)):
        wanted = one.nearest(windows, [0, 2], 3, method="index")
        other = copied(one)
        assert same(other.nearest(windows, [0, 2], 3, method="index"), wanted)
        assert other.fingerprint() == bank.fingerprint()
        assert not other.data.flags.writeable
        assert not np.shares_memory(other.data, one.data)
    table = QueryTable(bank, windows, neighbor=2)
    again = copied(table).nearest(windows, [0, 2], 3)
    assert same(again.neighbors, table.nearest(windows, [0, 2], 3).neighbors)


def test_windows_of_missing_neighbors_are_nan():
    bank = bank_of(starts=[2, 7])
    found = bank.nearest(VALUES[None, 2:6], [0, 1], 3)
    assert found.index.tolist() == [[0, 1, -1]]
    windows = bank.windows(found.index)
    assert windows.shape == (1, 3, 4, 3)
    assert np.array_equal(windows[0, :2], np.stack([VALUES[2:6], VALUES[7:11]]))
    assert np.isnan(windows[0, 2]).all()
    for call in (bank.window, bank.locate):
        with pytest.raises(InputError, match="index holds -1"):
            call(-1)
    with pytest.raises(InputError, match="index holds -2"):
        bank.windows([-2])


def test_windows_of_some_variables():
    bank = bank_of(names=["a", "b", "c"])
    assert np.array_equal(bank.windows([[4, 9]], variables=[2, 0]), bank.windows([[4, 9]])[..., [2, 0]])
    assert np.array_equal(bank.window(5, ["b"]), VALUES[5:9, [1]])
    features = np.stack([VALUES, VALUES**2, np.broadcast_to(np.arange(80)[:, None], VALUES.shape)], axis=-1)
    bank = WindowBank(features, 4)
    assert bank.layout.shared == (False, False, True)
    assert np.array_equal(bank.windows([6, 7], [2, 1]), np.stack([features[6:10], features[7:11]])[:, :, [2, 1]])
    with pytest.raises(InputError, match="numbered 0 to 2"):
        bank.windows([0], [3])


def test_rows_with_missing_readings_are_recorded(tmp_path):
    values = VALUES.copy()
    values[7, 1] = np.nan
    WindowBank(values, 4).save(tmp_path / "bank")
    opened = WindowBank.open(tmp_path / "bank")
    assert opened.has_holes(np.array([1]))
    assert not opened.has_holes(np.array([0, 2]))
    assert np.isfinite(opened.nearest(np.zeros((1, 4, 3)), [1], 77, min_overlap=0).distance).all()


def test_a_second_process_opens_the_bank(tmp_path):
    bank = bank_of()
    bank.save(tmp_path / "bank")
    code = (
        "import sys, numpy as np; from subcast.retrieval import WindowBank; "
        "bank = WindowBank.open(sys.argv[1]); print(bank.nearest(bank.windows([11]), [0, 1], 3).index.tolist())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "bank")], capture_output=True, text=True, check=True,
        env={"PYTHONPATH": str(Path(__file__).parents[2] / "src")},
    )  # fmt: skip
    assert json.loads(done.stdout) == bank.nearest(bank.windows([11]), [0, 1], 3).index.tolist()


def file_of(folder, name):
    """Find an array's file, whose name ends with a token of its own."""
    return folder / name if name.endswith(".json") else next(folder.glob(f"*-{name}-*.npy"))


def cut(path):
    path.write_bytes(path.read_bytes()[:-8])


def grow(path):
    path.write_bytes(path.read_bytes() + b"x")


def flip(path):
    content = bytearray(path.read_bytes())
    content[-3] ^= 0xFF
    path.write_bytes(bytes(content))


@pytest.mark.parametrize(
    ("harm", "name", "sentence"),
    [
        (cut, "rows", "cut short"),
        (grow, "rows", "cut short or added to"),
        (flip, "rows", "checksum differs"),
        (flip, "starts", "checksum differs"),
        (cut, "bank.json", "damaged"),
        (flip, "bank.json", "damaged"),
        (Path.unlink, "starts", "is missing"),
        (Path.unlink, "bank.json", "holds no bank"),
    ],
)
def test_damaged_banks_are_refused(tmp_path, harm, name, sentence):
    bank_of(starts=[0, 5, 9]).save(tmp_path / "bank")
    harm(file_of(tmp_path / "bank", name))
    with pytest.raises(DataError, match=sentence):
        WindowBank.open(tmp_path / "bank")


def test_damage_in_the_middle_is_detected_unless_verify_is_off(tmp_path):
    rng = np.random.default_rng(1)
    WindowBank(rng.normal(size=(30000, 3)), 4).save(tmp_path / "bank")
    path = file_of(tmp_path / "bank", "rows")
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(bytes(content))
    WindowBank.open(tmp_path / "bank", verify=False)
    with pytest.raises(DataError, match="checksum differs"):
        WindowBank.open(tmp_path / "bank")


def test_opening_a_table_as_a_bank_is_refused(tmp_path):
    QueryTable(bank_of(), VALUES[None, :4]).save(tmp_path / "table")
    with pytest.raises(DataNotFoundError, match="holds no bank"):
        WindowBank.open(tmp_path / "table")


def test_many_threads_search_one_bank():
    rng = np.random.default_rng(2)
    values = np.cumsum(rng.normal(size=(6000, 6)), axis=0).astype(np.float32)
    steps = values[5000:5040]

    def ask(bank, i):
        variables = [[0, 1], [2, 3, 4], [5]][i % 3]
        threads = i % 2 + 1
        if i % 4 == 0:
            return bank.nearest_sliding(steps, variables, 4, threads=threads)
        windows = np.stack([steps[j : j + 6] for j in range(35)])
        return bank.nearest(windows, variables, 4, method=["scan", "index"][i // 2 % 2], threads=threads)

    alone = [ask(WindowBank(values[:5000], 6), i) for i in range(12)]
    for _ in range(3):  # each time a bank that has made nothing yet
        bank = WindowBank(values[:5000], 6)
        with ThreadPoolExecutor(6) as pool:
            together = list(pool.map(lambda i, bank=bank: ask(bank, i), range(12)))
        assert all(same(one, other) for one, other in zip(alone, together, strict=True))
        assert bank._index is not None


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: WindowBank(np.zeros(5), 2), r"values must be \[t, n\]"),
        (lambda: WindowBank(np.zeros((0, 2)), 2), "values must have at least one step"),
        (lambda: WindowBank(np.zeros((5, 2)), 6), "at least lookback = 6 steps"),
        (lambda: WindowBank(np.zeros((5, 2)), 0), "lookback must be a whole number"),
        (lambda: WindowBank(np.array([["a"]]), 1), "array of numbers"),
        (lambda: WindowBank(np.full((5, 2), np.inf), 2), "infinite"),
        (lambda: WindowBank([np.zeros((5, 2)), np.zeros((5, 3))], 2), "the same variables and features"),
        (lambda: bank_of(lengths=[10, 10]), "add up to the 80 steps"),
        (lambda: bank_of(starts=[77]), "does not fit into its series"),
        (lambda: bank_of(starts=[-1]), "does not fit into its series"),
        (lambda: bank_of(starts=[3, 3]), "starts must be sorted and unique"),
        (lambda: bank_of(starts=[]), "non-empty list of integers"),
        (lambda: bank_of(shared_features="all"), 'shared_features must be "auto", "none" or a list'),
        (lambda: bank_of(shared_features=[1]), "values has only the reading"),
        (lambda: WindowBank(np.zeros((9, 2, 2)), 3, shared_features=[0]), "after the reading, from 1 to 1"),
        (lambda: WindowBank(VALUES.reshape(20, 6, 2), 3, shared_features=[1]), "got different values at one step"),
        (lambda: bank_of(fraction=0.001), "fraction must keep at least one window"),
        (lambda: bank_of(fraction=1.5), "fraction must be above 0 and at most 1"),
        (lambda: bank_of(names=["a"]), "one entry for each of the 3"),
        (lambda: bank_of(mask=np.ones((80, 3))), "mask must be boolean"),
        (lambda: bank_of(shared=np.zeros((7, 1))), "with the 80 steps"),
        (lambda: bank_of().nearest(np.zeros((4, 3)), [0], 1), r"windows must be \[b, t, n\]"),
        (lambda: bank_of().nearest(np.zeros((1, 5, 3)), [0], 1), "the bank's 4 steps, got 5"),
        (lambda: bank_of().nearest(np.zeros((1, 4, 7)), [0, 1], 1), "with all 3 variables or with only the 2"),
        (lambda: bank_of().nearest(np.zeros((1, 4, 3)), [5], 1), "numbered 0 to 2"),
        (lambda: bank_of().nearest(np.zeros((1, 4, 3)), [0], 0), "k must be"),
        (lambda: bank_of().nearest(np.zeros((1, 4, 3)), [0], 1, 0), "exponent must be"),
        (lambda: bank_of().nearest(np.zeros((1, 4, 3)), [0], 1, "x"), "exponent must be"),
        (lambda: bank_of().nearest(np.full((1, 4, 3), np.inf), [0], 1), "infinite"),
        (lambda: bank_of().nearest(np.zeros((1, 4, 3)), [0], 1, exclude=2), "exclude needs at="),
        (lambda: bank_of().nearest(np.zeros((1, 4, 3)), [0], 1, exclude=-1), "exclude must be"),
        (lambda: bank_of().nearest(np.zeros((1, 4, 3)), [0], 1, exclude=1, at=[1, 2]), "at must be"),
        (lambda: bank_of().nearest(np.zeros((1, 4, 3)), [0], 1, min_overlap=2), "min_overlap must"),
        (lambda: bank_of().nearest(np.zeros((1, 4, 3)), [0], 1, threads=0), "threads must be"),
        (lambda: bank_of().nearest(np.zeros((1, 4, 3)), [0], 1, method="magic"), "method must be one of"),
        (lambda: bank_of().nearest(np.zeros((2, 4, 3)), np.ones((1, 3), bool), 1), r"boolean \[b, n\] = \(2, 3\)"),
        (lambda: bank_of().nearest(np.zeros((1, 4, 3)), [0], 1, mask=np.ones((1, 4, 3))), "mask must be boolean"),
        (lambda: bank_of().nearest(np.zeros((1, 4, 3)), [0], 1, mask=np.ones((1, 3, 3), bool)), "mask must have one"),
        (lambda: bank_of().nearest_sliding(np.zeros((3, 3)), [0], 1), "steps must have at least 4 steps"),
        (lambda: bank_of().stream([0], 1).push(np.zeros(7)), "with all 3 variables"),
        (lambda: bank_of().window(77), "numbered 0 to 76"),
        (lambda: bank_of().window(0.5), "index must hold whole numbers"),
        (lambda: bank_of().rank(np.zeros((1, 4, 3)), [0], [[[0]]]), r"index must be \[b\] or \[b, j\]"),
    ],
)
def test_bad_input_is_refused_with_a_clear_error(call, sentence):
    with pytest.raises(InputError, match=sentence) as caught:
        call()
    assert "\n" not in str(caught.value)


class TestExtended:
    @given(
        cut=st.integers(5, 25),
        seed=st.integers(0, 10_000),
        apart=st.booleans(),
        shared=st.booleans(),
        targets=st.booleans(),
    )
    @settings(max_examples=40, deadline=None)
    def test_the_same_bank_as_one_of_the_joined_data(self, cut, seed, apart, shared, targets):
        rng = np.random.default_rng(seed)
        values = rng.normal(size=(30, 3)).astype(np.float32)
        values[rng.random(values.shape) < 0.1] = np.nan
        features = rng.normal(size=(30, 2)).astype(np.float32) if shared else None
        goals = np.where(rng.random(values.shape) < 0.2, np.nan, values).astype(np.float32) if targets else None

        def part(array, where):
            return None if array is None else array[where]

        old, new = slice(0, cut), slice(cut, None)
        starts = np.arange(30 - 3) if not apart else np.r_[np.arange(cut - 3), np.arange(cut, 30 - 3)]
        known = starts[starts + 4 <= cut]
        first = WindowBank(values[old], 4, starts=known, shared=part(features, old), targets=part(goals, old))
        longer = first.extended(
            values[new], starts[len(known) :], shared=part(features, new), targets=part(goals, new), apart=apart
        )
        lengths = [cut, 30 - cut] if apart else None
        joined = WindowBank(values, 4, lengths=lengths, starts=starts, shared=features, targets=goals)
        assert longer.fingerprint() == joined.fingerprint()
        assert np.array_equal(longer.offsets, joined.offsets)
        query = rng.normal(size=(2, 4, 3)).astype(np.float32)
        more = None if features is None else rng.normal(size=(2, 4, 2)).astype(np.float32)
        one, other = (bank.nearest(query, [0, 2], k=5, shared=more) for bank in (longer, joined))
        assert np.array_equal(one.index, other.index)
        assert np.array_equal(one.distance, other.distance)

    def test_other_variables_and_features_are_refused(self):
        bank = WindowBank(np.zeros((8, 2)), lookback=3)
        with pytest.raises(InputError, match="must have 2 variables and 1 features in all"):
            bank.extended(np.zeros((2, 3)), starts=[6])
        with pytest.raises(InputError, match="features in all"):
            bank.extended(np.zeros((2, 2)), starts=[6], shared=np.zeros((2, 1)))
        with pytest.raises(InputError, match="does not fit"):
            bank.extended(np.zeros((2, 2)), starts=[9])

    def test_no_moment_reaches_from_one_series_into_the_next(self):
        rng = np.random.default_rng(0)
        parts = [rng.normal(size=(9, 2)), rng.normal(size=(7, 2))]
        moments = WindowBank(parts, lookback=3).moments(4)
        steps = 9 + 7 + 3  # lags - 1 empty steps in between
        for lag in range(4):
            products = sum(part[: len(part) - lag].T @ part[lag:] for part in parts)
            assert np.allclose(moments.whole[lag], products / steps, atol=1e-6)
