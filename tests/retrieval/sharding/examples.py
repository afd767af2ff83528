"""Banks in files that the tests share."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from subcast.retrieval import ShardedBank, WindowBank

_ALL = tempfile.TemporaryDirectory(prefix="subcast-banks-")  # removed when the tests end


def new_folder():
    return Path(tempfile.mkdtemp(dir=_ALL.name)) / "bank"


def sharded(bank, steps, client=None, **options):
    """Write a WindowBank to a new folder and open it."""
    folder = new_folder()
    bank.write_shards(folder, steps=steps)
    return ShardedBank(folder, client, **options)


def maker(steps, client=None, **options):
    """Return the `make_bank` of the bank contract for shards of some size."""

    def make_bank(values, lookback, starts=None, shared=None):
        bank = WindowBank(values, lookback, starts=starts, shared=shared)
        return sharded(bank, steps, client, **options)

    return make_bank


class Halves:
    """A normalizer with two slots of the day."""

    def __init__(self, n):
        rng = np.random.default_rng(5)
        self.center = rng.normal(size=(2, n)).astype(np.float32)
        self.spread = rng.uniform(0.5, 2, size=(2, n)).astype(np.float32)

    def normalize(self, values, slots, variables=None):
        center, spread = self.center[slots], self.spread[slots]
        if variables is not None:
            center, spread = center[..., variables], spread[..., variables]
        return ((values - center) / spread).astype(np.float32)

    def state(self):
        from subcast.storage.state import State

        return State({}, {"center": self.center, "spread": self.spread})
