"""Units: which column holds which row, and what identifies them."""

from __future__ import annotations

import numpy as np

from retrieval.examples import random_walk, time_of_day
from retrieval.sharding.examples import Halves, sharded
from subcast.retrieval import WindowBank
from subcast.retrieval.sharding.files import OpenShard
from subcast.retrieval.sharding.units import Frame, Side, Units, read_rows, read_stretch


def example():
    values = random_walk(60, 3, missing=0.1)
    targets = random_walk(60, 3, seed=2)
    bank = WindowBank(values, 4, targets=targets, starts=np.arange(5, 40, 2))
    shards = sharded(bank, 25)
    units = Units(Halves(3), np.arange(60) % 2, time_of_day(60)[:, None])
    return values, targets, shards._parts.place, shards._manifest, units


def test_rows_and_stretches_are_normalized_readings_shared_features_and_targets():
    values, targets, place, manifest, units = example()
    frame, file = Frame.of(manifest, units), manifest.files[1]
    steps = slice(file.first, file.end)
    side = Side.of(manifest.candidates.between(file.first, 60), units, file.first, file.end)
    expected = np.concatenate(
        [
            Halves(3).normalize(values[steps], units.slots[steps]).T,
            time_of_day(60)[None, steps],
            Halves(3).normalize(targets[steps], units.slots[steps]).T,
        ]
    )
    rows = np.empty((frame.n_rows, file.steps), dtype=np.float32)
    with OpenShard(place, file) as opened:
        read_rows(opened, frame, side, np.arange(7), rows)
        stretch = read_stretch(opened, frame, side, np.array([6, 3, 0]), 2, 9)
    assert np.array_equal(rows, expected, equal_nan=True)
    assert np.array_equal(stretch, expected[[6, 3, 0], 2:9].T, equal_nan=True)
    assert side.first_steps().tolist() == [start - file.first for start in range(5, 40, 2) if start >= file.first]


def test_holes_are_those_of_the_whole_bank():
    *_, manifest, units = example()
    assert Frame.of(manifest, None).holes.tolist() == [True, True, True]
    assert Frame.of(manifest, units).holes.tolist() == [True, True, True, False]
    shared = np.where(np.arange(60) == 7, np.nan, 1.0).astype(np.float32)[:, None]
    assert Frame.of(manifest, Units(Halves(3), units.slots, shared)).holes[3]


def test_the_token_identifies_the_units():
    *_, manifest, units = example()
    other = Halves(3)
    other.center = other.center + 1
    variants = [
        None,
        units,
        Units(other, units.slots, units.shared),
        Units(units.normalizer, 1 - units.slots, units.shared),
        Units(units.normalizer, units.slots, None),
    ]
    assert len({Frame.of(manifest, each).token for each in variants}) == len(variants)
    assert Frame.of(manifest, units).token == Frame.of(manifest, Units(Halves(3), units.slots, units.shared)).token
