"""The scalable search of the paper against a twin that intersects sets."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from subcast.errors import DataError, InputError
from subcast.retrieval import QueryTable, WindowBank
from subcast.retrieval.table import first_ranges


def columns_of(values, query, variables, shared, ranges):
    """Return (series, query, range) for each (variable, feature) of [t, n, f], and one for each shared feature.

    Without a reading, a variable has no other features either. A shared feature is present if any variable has a
    reading.
    """
    n, f = values.shape[1:]
    own = [feature for feature in range(f) if feature not in shared]
    columns = []
    for i, feature in enumerate(own):
        for v in sorted(variables):
            line = [query[p, v, feature] if query[p, v, 0] == query[p, v, 0] else None for p in range(len(query))]
            columns.append((values[:, v, feature], line, ranges[i * n + v]))
    for i, feature in enumerate(shared):
        present = [next((v for v in variables if step[v, 0] == step[v, 0]), None) for step in query]
        line = [None if v is None else query[p, v, feature] for p, v in enumerate(present)]
        columns.append((values[:, 0, feature], line, ranges[len(own) * n + i]))
    return columns


def twin(columns, lookback, starts, k, factor, share):
    """Return the windows admitted in the last round and the number of rounds, by sets and loops."""
    ranges = [np.float32(width) for _, _, width in columns]
    every = range(len(columns))
    cells = [(p, c) for p in range(lookback) for c in every if columns[c][1][p] is not None]

    def admitted(p, c):
        line, query, _ = columns[c]
        low, high = query[p] - ranges[c], query[p] + ranges[c]
        return {i for i, start in enumerate(starts) if low <= line[start + p] <= high}

    def admits_all(c):
        line, query, _ = columns[c]
        line = line[~np.isnan(line)]
        full = max(max(abs(query[p] - line.min()), abs(query[p] - line.max())) for p, other in cells if other == c)
        return ranges[c] >= np.float32(full) * np.float32(1.001)

    def largest_ratio(c, windows):
        line, query, _ = columns[c]
        return max(abs(line[starts[i] + p] - query[p]) / ranges[c] for i in windows for p, other in cells if other == c)

    rounds = 0
    while True:
        rounds += 1
        sets = {(p, c): admitted(p, c) for p, c in cells}
        windows = set.intersection(*sets.values())
        if len(windows) >= min(k, len(starts)) or all(admits_all(c) for c in every):
            return windows, rounds
        growing = [c for c in every if not admits_all(c)]
        if windows:
            order = {c: -largest_ratio(c, windows) for c in growing}
        else:
            order = {c: len(set.intersection(*(sets[p, o] for p, o in cells if o == c))) for c in growing}
        for c in sorted(growing, key=lambda c: order[c])[: max(1, int(share * len(columns)))]:
            ranges[c] = np.float32(ranges[c] * np.float32(factor))


@pytest.mark.parametrize("features", ["the reading", "two own", "one shared", "own and shared"])
@settings(max_examples=15)
@given(
    seed=st.integers(0, 10**6),
    k=st.integers(1, 12),
    factor=st.sampled_from([1.3, 2.0]),
    share=st.sampled_from([0.3, 1.0]),
)
def test_table_equals_the_twin(features, seed, k, factor, share):
    rng = np.random.default_rng(seed)
    values = np.cumsum(rng.normal(size=(90, 4, 2)), axis=0).astype(np.float32)
    if seed % 2:
        values = np.round(values)
    time = np.broadcast_to((np.arange(90) % 11 / 2).astype(np.float32)[:, None, None], (90, 4, 1))
    n_own = {"the reading": 1, "two own": 2, "one shared": 1, "own and shared": 2}[features]
    values, shared = values[..., :n_own], []
    if features.endswith("shared"):
        values, shared = np.concatenate([values, time], axis=-1), [n_own]
    bank = WindowBank(values[:70], 3, lengths=[30, 40], fraction=0.7 if seed % 3 == 0 else None)
    assert bank.layout.shared_features == shared
    validation = np.stack([values[j : j + 3] for j in range(70, 80)])
    table = QueryTable(bank, validation, neighbor=4, factor=factor, share=share)
    query = values[None, 84:87].copy()
    query[0, 1, 2, 0] = np.nan
    variables = [0, 2, 3]
    answer = table.nearest(query, variables, k)
    columns = columns_of(values[:70], query[0], variables, shared, table.ranges)
    admitted, rounds = twin(columns, 3, bank.starts.tolist(), k, factor, share)
    assert answer.rounds.tolist() == [rounds]
    assert answer.candidates.tolist() == [len(admitted)]
    every = bank.distances(query, variables)[0]
    nearest = sorted((every[i], i) for i in admitted)[:k]
    assert answer.neighbors.index[0, : len(nearest)].tolist() == [i for _, i in nearest]
    assert answer.neighbors.distance[0, : len(nearest)].tolist() == [d for d, _ in nearest]
    assert (answer.neighbors.index[0, len(nearest) :] == -1).all()


def test_first_ranges_are_the_mean_difference_from_the_neighbor():
    rng = np.random.default_rng(1)
    values = rng.normal(size=(120, 3)).astype(np.float32)
    bank = WindowBank(values[:100], 4)
    validation = np.stack([values[100:104], values[110:114]])
    ranges = first_ranges(bank, validation, 6, 0.5)
    neighbors = bank.windows(bank.nearest(validation, range(3), 6).index[:, 5])
    assert np.allclose(ranges, np.abs(neighbors - validation).mean(axis=(0, 1)), rtol=1e-6)


def test_features_have_columns():
    rng = np.random.default_rng(2)
    values = np.cumsum(rng.normal(size=(300, 3)), axis=0).astype(np.float32)
    time = (np.arange(300) % 10).astype(np.float32)
    bank = WindowBank(values, 4, shared=time)
    whole = bank.windows([7, 200])
    table = QueryTable(bank, bank.windows([3, 99, 180]), neighbor=5)
    answer = table.nearest(whole, [0, 1], 1)
    assert answer.neighbors.index.ravel().tolist() == [7, 200]
    many = table.nearest(whole, [0, 1], len(bank))
    assert many.candidates.tolist() == [len(bank)] * 2
    assert np.array_equal(many.neighbors.index, bank.nearest(whole, [0, 1], len(bank)).index)


def test_a_saved_table_gives_the_same_results(tmp_path):
    rng = np.random.default_rng(3)
    values = np.cumsum(rng.normal(size=(200, 3)), axis=0).astype(np.float32)
    bank = WindowBank(values, 4)
    table = QueryTable(bank, bank.windows([5, 50]), variables=[0, 2])
    table.save(tmp_path / "table")
    bank.save(tmp_path / "bank")
    opened = QueryTable.open(tmp_path / "table", WindowBank.open(tmp_path / "bank"))
    one, two = (each.nearest(bank.windows([9, 11]) + 0.1, [2, 0], 5) for each in (table, opened))
    assert np.array_equal(one.neighbors.index, two.neighbors.index)
    assert np.array_equal(one.rounds, two.rounds)
    assert table.nbytes == 2 * 200 * 4
    with pytest.raises(InputError, match="variables must be among those for which the table has a column"):
        table.nearest(bank.windows([9]), [1], 2)
    with pytest.raises(DataError, match="another bank"):
        QueryTable.open(tmp_path / "table", WindowBank(values, 5))
    next((tmp_path / "table").glob("table-orders-*.npy")).write_bytes(b"")
    with pytest.raises(DataError, match="cut short"):
        QueryTable.open(tmp_path / "table", bank)


def test_a_table_of_another_bank_is_an_error(tmp_path):
    rng = np.random.default_rng(4)
    values = np.cumsum(rng.normal(size=(200, 3)), axis=0).astype(np.float32)
    bank = WindowBank(values, 4, starts=[0, 10, 68, 99, 150])
    QueryTable(bank, bank.windows([0, 1]), neighbor=2).save(tmp_path / "table")
    changed = values.copy()
    changed[70, 1] += 1
    others = [WindowBank(changed, 4, starts=bank.starts), WindowBank(values, 4, starts=[0, 9, 69, 99, 150])]
    others.append(WindowBank(values, 4, starts=bank.starts, lengths=[120, 80]))
    for i, other in enumerate(others):
        other.save(tmp_path / f"{i}")
        for one in (other, WindowBank.open(tmp_path / f"{i}")):
            with pytest.raises(DataError, match="another bank"):
                QueryTable.open(tmp_path / "table", one)
    bank.save(tmp_path / "bank")
    for one in (bank, WindowBank.open(tmp_path / "bank"), WindowBank(values.copy(), 4, starts=bank.starts)):
        assert len(QueryTable.open(tmp_path / "table", one).nearest(bank.windows([3]), [0], 1).rounds) == 1


def test_one_set_of_variables_for_each_window():
    rng = np.random.default_rng(5)
    values = np.cumsum(rng.normal(size=(200, 4)), axis=0).astype(np.float32)
    bank = WindowBank(values[:150], 4)
    windows = np.stack([values[j : j + 4] for j in (150, 160, 170, 180)])
    table = QueryTable(bank, windows, neighbor=5)
    sets = np.array([[1, 0, 1, 0], [0, 1, 1, 1], [1, 0, 1, 0], [0, 0, 0, 0]], dtype=bool)
    together = table.nearest(windows, sets, 3)
    for j in range(3):
        alone = table.nearest(windows[j : j + 1], np.flatnonzero(sets[j]), 3)
        assert np.array_equal(together.neighbors.index[j], alone.neighbors.index[0])
        assert np.array_equal(together.neighbors.distance[j], alone.neighbors.distance[0])
        assert (together.rounds[j], together.candidates[j]) == (alone.rounds[0], alone.candidates[0])
    assert together.neighbors.index[3].tolist() == [-1] * 3
    assert together.candidates[3] == 0


def test_excluded_windows_are_not_admitted():
    rng = np.random.default_rng(6)
    values = np.cumsum(rng.normal(size=(60, 2)), axis=0).astype(np.float32)
    bank = WindowBank(values, 3)
    table = QueryTable(bank, bank.windows([4, 30]), neighbor=5)
    windows = bank.windows([20, 45])
    every = table.nearest(windows, [0, 1], 58, exclude=8, at=[20, 45])
    exact = bank.nearest(windows, [0, 1], 58, exclude=8, at=[20, 45])
    assert every.candidates.tolist() == [58 - 15] * 2
    assert np.array_equal(every.neighbors.index, exact.index)
    few = table.nearest(windows, [0, 1], 2, exclude=8, at=[20, 45])
    assert (few.candidates >= 2).all()
    assert (np.abs(few.neighbors.index - [[20], [45]]) >= 8).all()
    with pytest.raises(InputError, match="exclude needs at="):
        table.nearest(windows, [0, 1], 2, exclude=8)


def test_missing_readings_are_not_admitted_and_constants_end():
    values = np.ones((40, 2), dtype=np.float32)
    values[10:12, 0] = np.nan
    bank = WindowBank(values, 3)
    table = QueryTable(bank, np.ones((1, 3, 2)))
    answer = table.nearest(np.full((1, 3, 2), 4.0), [0, 1], 38)
    assert answer.candidates[0] == 34
    assert not {8, 9, 10, 11} & set(answer.neighbors.index[0].tolist())
    nothing = table.nearest(np.full((1, 3, 2), np.nan), [0, 1], 2)
    assert nothing.candidates.tolist() == [0]
    assert (nothing.neighbors.index == -1).all()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"factor": 1.0}, "factor must be"),
        ({"share": 0}, "share must be above 0"),
        ({"neighbor": 99}, "neighbor must be between"),
    ],
)
def test_bad_settings(options, sentence):
    bank = WindowBank(np.zeros((20, 2)), 3)
    with pytest.raises(InputError, match=sentence):
        QueryTable(bank, np.zeros((1, 3, 2)), **options)
    with pytest.raises(InputError, match="at least one window"):
        QueryTable(bank, np.zeros((0, 3, 2)))
