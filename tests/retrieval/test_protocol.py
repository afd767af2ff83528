"""The bank of the package keeps the protocol; what lacks a method does not."""

import numpy as np

from subcast.retrieval import Bank, WindowBank


def test_window_bank_keeps_the_protocol():
    assert isinstance(WindowBank(np.zeros((20, 3)), lookback=4), Bank)


def test_a_bank_without_futures_does_not():
    class Half:
        lookback, n, n_steps, starts = 4, 3, 20, np.arange(3)

        def __len__(self):
            return 3

        def nearest(self, *_):
            return None

    assert not isinstance(Half(), Bank)
