"""The paper's scalable search against a twin that intersects sets, plainly."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from subcast.errors import DataError, InputError
from subcast.retrieval import QueryTable, WindowBank
from subcast.retrieval.table import first_ranges


def twin(values, lookback, starts, query, variables, ranges, k, factor, share):
    """Sets and loops: return the windows admitted in the last round, and the number of rounds."""
    ranges = {v: np.float32(ranges[v]) for v in variables}
    asked = [(p, v) for p in range(lookback) for v in variables if not np.isnan(query[p, v])]

    def admitted(p, v):
        low, high = query[p, v] - ranges[v], query[p, v] + ranges[v]
        return {i for i, start in enumerate(starts) if low <= values[start + p, v] <= high}

    def everything(v):
        steps = [p for p, other in asked if other == v]
        column = values[~np.isnan(values[:, v]), v]
        reach = max(max(abs(query[p, v] - column.min()), abs(query[p, v] - column.max())) for p in steps)
        return ranges[v] >= np.float32(reach) * np.float32(1.001)

    rounds = 0
    while True:
        rounds += 1
        sets = {(p, v): admitted(p, v) for p, v in asked}
        found = set.intersection(*sets.values())
        if len(found) >= min(k, len(starts)) or all(everything(v) for v in variables):
            return found, rounds
        still = [v for v in sorted(variables) if not everything(v)]
        if found:
            binding = {
                v: -max(
                    abs(np.float32(values[starts[i] + p, v]) - query[p, v]) / ranges[v]
                    for i in found
                    for p, other in asked
                    if other == v
                )
                for v in still
            }
        else:
            binding = {v: len(set.intersection(*(sets[p, o] for p, o in asked if o == v))) for v in still}
        for v in sorted(still, key=lambda v: binding[v])[: max(1, int(share * len(variables)))]:
            ranges[v] = np.float32(ranges[v] * np.float32(factor))


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10**6), st.integers(1, 12), st.sampled_from([1.3, 2.0]), st.sampled_from([0.3, 1.0]))
def test_table_is_the_twin(seed, k, factor, share):
    rng = np.random.default_rng(seed)
    values = np.cumsum(rng.normal(size=(90, 4)), axis=0).astype(np.float32)
    if seed % 2:
        values = np.round(values)
    bank = WindowBank(values[:70], 3, lengths=[30, 40], fraction=0.7 if seed % 3 == 0 else None)
    validation = np.stack([values[j : j + 3] for j in range(70, 80)])
    table = QueryTable(bank, validation, neighbour=4, factor=factor, share=share)
    query = values[None, 84:87].copy()
    query[0, 1, 2] = np.nan
    variables = [0, 2, 3]
    answer = table.nearest(query, variables, k)
    found, rounds = twin(values[:70], 3, bank.starts.tolist(), query[0], variables, table.ranges, k, factor, share)
    assert answer.rounds.tolist() == [rounds]
    assert answer.candidates.tolist() == [len(found)]
    every = bank.distances(query, variables)[0]
    best = sorted((every[i], i) for i in found)[:k]
    assert answer.neighbors.index[0, : len(best)].tolist() == [i for _, i in best]
    assert answer.neighbors.distance[0, : len(best)].tolist() == [d for d, _ in best]
    assert (answer.neighbors.index[0, len(best) :] == -1).all()


def test_first_ranges_are_the_mean_difference_from_the_neighbour():
    rng = np.random.default_rng(1)
    values = rng.normal(size=(120, 3)).astype(np.float32)
    bank = WindowBank(values[:100], 4)
    validation = np.stack([values[100:104], values[110:114]])
    ranges = first_ranges(bank, validation, 6, 0.5)
    neighbours = bank.windows(bank.nearest(validation, range(3), 6).index[:, 5])
    assert np.allclose(ranges, np.abs(neighbours - validation).mean(axis=(0, 1)), rtol=1e-6)


def test_features_have_columns_too():
    rng = np.random.default_rng(2)
    values = np.cumsum(rng.normal(size=(300, 3)), axis=0).astype(np.float32)
    clock = (np.arange(300) % 10).astype(np.float32)
    bank = WindowBank(values, 4, shared=clock)
    whole = bank.windows([7, 200])
    table = QueryTable(bank, bank.windows([3, 99, 180]), neighbour=5)
    answer = table.nearest(whole, [0, 1], 1)
    assert answer.neighbors.index.ravel().tolist() == [7, 200]
    many = table.nearest(whole, [0, 1], len(bank))
    assert many.candidates.tolist() == [len(bank)] * 2
    assert np.array_equal(many.neighbors.index, bank.nearest(whole, [0, 1], len(bank)).index)


def test_saved_table_answers_the_same(tmp_path):
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
    with pytest.raises(InputError, match="keeps no column"):
        table.nearest(bank.windows([9]), [1], 2)
    with pytest.raises(DataError, match="another bank"):
        QueryTable.open(tmp_path / "table", WindowBank(values, 5))
    (tmp_path / "table" / "orders.npy").write_bytes(b"")
    with pytest.raises(DataError, match="cut short"):
        QueryTable.open(tmp_path / "table", bank)


def test_missing_readings_are_not_found_and_constants_do_not_hang():
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
    [({"factor": 1.0}, "factor must be"), ({"share": 0}, "share must lie"), ({"neighbour": 99}, "neighbour must lie")],
)
def test_bad_settings(options, sentence):
    bank = WindowBank(np.zeros((20, 2)), 3)
    with pytest.raises(InputError, match=sentence):
        QueryTable(bank, np.zeros((1, 3, 2)), **options)
    with pytest.raises(InputError, match="at least one window"):
        QueryTable(bank, np.zeros((0, 3, 2)))
