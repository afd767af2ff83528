"""The contract of banks, applied to `WindowBank`, and to banks with a defect, which must fail it."""

from __future__ import annotations

import numpy as np
import pytest

from retrieval import bank_contract as contract
from subcast.retrieval import Neighbors, WindowBank


@pytest.mark.parametrize("check", contract.CHECKS, ids=contract.name_of)
def test_window_bank(check):
    check(WindowBank)


class LaterTies(WindowBank):
    """Ties are ordered from the highest to the lowest index."""

    def nearest(self, windows, variables, k, exponent=0.5, **options):
        every = super().nearest(windows, variables, len(self), exponent, **options)
        order = np.lexsort((-every.index, every.distance), axis=-1)[:, :k]
        return Neighbors(np.take_along_axis(every.index, order, 1), np.take_along_axis(every.distance, order, 1))


class Short(WindowBank):
    """At most as many neighbors as there are candidates."""

    def nearest(self, windows, variables, k, exponent=0.5, **options):
        return super().nearest(windows, variables, min(k, len(self)), exponent, **options)


class ZeroForMissing(WindowBank):
    """Missing readings count as 0."""

    def __init__(self, values, lookback, **options):
        super().__init__(np.nan_to_num(values), lookback, **options)


class SlightlyOff(WindowBank):
    """Sliding searches differ in the last bit."""

    def nearest_sliding(self, *arguments, **options):
        neighbors = super().nearest_sliding(*arguments, **options)
        return Neighbors(neighbors.index, np.nextafter(neighbors.distance, np.float32(np.inf)))


class EditsQueries(WindowBank):
    """Missing readings are filled in the caller's array."""

    def nearest(self, windows, variables, k, exponent=0.5, **options):
        neighbors = super().nearest(windows, variables, k, exponent, **options)
        np.nan_to_num(windows, copy=False)
        return neighbors


class OneStream(WindowBank):
    """All streams are one object."""

    def stream(self, variables, k, exponent=0.5, **options):
        if not hasattr(self, "_only"):
            self._only = super().stream(variables, k, exponent, **options)
        return self._only


class ForgetsStarts(WindowBank):
    """A pickle has all windows as candidates."""

    def __getstate__(self):
        return super().__getstate__() | {"_chosen": None}


@pytest.mark.parametrize(
    ("check", "defect"),
    [
        (contract.ties_are_ordered_by_index, LaterTies),
        (contract.constant_readings_are_all_ties, LaterTies),
        (contract.k_above_the_size_leaves_positions_empty, Short),
        (contract.missing_readings_equal_the_twin, ZeroForMissing),
        (contract.candidates_without_readings_are_never_neighbors, ZeroForMissing),
        (contract.windows_are_the_stored_readings, ZeroForMissing),
        (contract.all_searches_give_identical_bits, SlightlyOff),
        (contract.inputs_are_not_changed, EditsQueries),
        (contract.streams_are_independent, OneStream),
        (contract.a_pickled_bank_gives_identical_results, ForgetsStarts),
    ],
    ids=lambda part: part.__name__,
)
def test_a_bank_with_a_defect_fails(check, defect):
    with pytest.raises(AssertionError):
        check(defect)
