"""Making, saving and opening a bank; and what it says about bad input."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from subcast.errors import DataError, DataNotFoundError, InputError
from subcast.retrieval import QueryTable, WindowBank

VALUES = np.random.default_rng(0).normal(size=(80, 3)).astype(np.float32)


def bank_of(**options):
    return WindowBank(VALUES, 4, **options)


def same(one, other):
    return np.array_equal(one.index, other.index) and np.array_equal(one.distance, other.distance)


def test_several_series_are_not_crossed():
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


def test_holes_are_remembered(tmp_path):
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
        (cut, "rows.npy", "cut short"),
        (grow, "rows.npy", "cut short or added to"),
        (flip, "rows.npy", "checksum differs"),
        (flip, "starts.npy", "checksum differs"),
        (cut, "bank.json", "torn"),
        (flip, "bank.json", "torn"),
        (Path.unlink, "starts.npy", "is missing"),
        (Path.unlink, "bank.json", "holds no bank"),
    ],
)
def test_harmed_banks_are_refused(tmp_path, harm, name, sentence):
    bank_of(starts=[0, 5, 9]).save(tmp_path / "bank")
    harm(tmp_path / "bank" / name)
    with pytest.raises(DataError, match=sentence):
        WindowBank.open(tmp_path / "bank")


def test_damage_in_the_middle_is_seen_when_asked(tmp_path):
    rng = np.random.default_rng(1)
    WindowBank(rng.normal(size=(30000, 3)), 4).save(tmp_path / "bank")
    path = tmp_path / "bank" / "rows.npy"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(bytes(content))
    WindowBank.open(tmp_path / "bank")
    with pytest.raises(DataError, match="checksum differs"):
        WindowBank.open(tmp_path / "bank", verify=True)


def test_a_table_is_no_bank(tmp_path):
    QueryTable(bank_of(), VALUES[None, :4]).save(tmp_path / "table")
    with pytest.raises(DataNotFoundError, match="holds no bank"):
        WindowBank.open(tmp_path / "table")


def test_many_threads_ask_one_bank():
    rng = np.random.default_rng(2)
    values = np.cumsum(rng.normal(size=(6000, 6)), axis=0).astype(np.float32)
    bank = WindowBank(values[:5000], 6)
    steps = values[5000:5040]

    def ask(i):
        variables = [[0, 1], [2, 3, 4], [5]][i % 3]
        threads = i % 2 + 1
        if i % 4 == 0:
            return bank.nearest(np.stack([steps[j : j + 6] for j in range(35)]), variables, 4, threads=threads)
        return bank.nearest_sliding(steps, variables, 4, threads=threads)

    alone = [ask(i) for i in range(12)]
    with ThreadPoolExecutor(6) as pool:
        together = list(pool.map(ask, range(12)))
    assert all(same(one, other) for one, other in zip(alone, together, strict=True))


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: WindowBank(np.zeros(5), 2), r"values must be \[t, n\]"),
        (lambda: WindowBank(np.zeros((0, 2)), 2), "values is empty"),
        (lambda: WindowBank(np.zeros((5, 2)), 6), "at least lookback = 6 steps"),
        (lambda: WindowBank(np.zeros((5, 2)), 0), "lookback must be a whole number"),
        (lambda: WindowBank(np.array([["a"]]), 1), "array of numbers"),
        (lambda: WindowBank(np.full((5, 2), np.inf), 2), "infinite"),
        (lambda: WindowBank([np.zeros((5, 2)), np.zeros((5, 3))], 2), "alike but for their steps"),
        (lambda: bank_of(lengths=[10, 10]), "add up to the 80 steps"),
        (lambda: bank_of(starts=[77]), "leaves its series"),
        (lambda: bank_of(starts=[-1]), "leaves its series"),
        (lambda: bank_of(starts=[3, 3]), "starts must rise"),
        (lambda: bank_of(starts=[]), "non-empty list of integers"),
        (lambda: bank_of(fraction=0.001), "leaves none"),
        (lambda: bank_of(fraction=1.5), "fraction must lie"),
        (lambda: bank_of(names=["a"]), "one entry for each of the 3"),
        (lambda: bank_of(mask=np.ones((80, 3))), "mask must be boolean"),
        (lambda: bank_of(shared=np.zeros((7, 1))), "with the 80 steps"),
        (lambda: bank_of().nearest(np.zeros((4, 3)), [0], 1), r"windows must be \[b, t, n\]"),
        (lambda: bank_of().nearest(np.zeros((1, 5, 3)), [0], 1), "the bank's 4 steps, got 5"),
        (lambda: bank_of().nearest(np.zeros((1, 4, 7)), [0, 1], 1), "over all 3 variables or over the 2"),
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
        (lambda: bank_of().nearest_sliding(np.zeros((3, 3)), [0], 1), "at least the bank's 4 steps"),
        (lambda: bank_of().stream([0], 1).push(np.zeros(7)), "over all 3 variables"),
        (lambda: bank_of().window(77), "numbered 0 to 76"),
        (lambda: bank_of().window(0.5), "index must hold whole numbers"),
        (lambda: bank_of().rank(np.zeros((1, 4, 3)), [0], [[[0]]]), r"index must be \[b\] or \[b, j\]"),
    ],
)
def test_bad_input_is_one_clear_sentence(call, sentence):
    with pytest.raises(InputError, match=sentence) as caught:
        call()
    assert "\n" not in str(caught.value)
