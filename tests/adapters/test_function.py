"""Any function of windows as a forecaster."""

import numpy as np
import pytest

from subcast.adapters import from_callable
from subcast.errors import InputError


def test_from_callable_wants_a_function():
    with pytest.raises(InputError, match=r"function must be a function of windows .* got 3"):
        from_callable(3, lookback=1, horizon=1)
    with pytest.raises(InputError, match="got the class dict"):
        from_callable(dict, lookback=1, horizon=1)


def test_a_function_s_own_error_is_left_alone():
    def run(x):
        raise ConnectionError("the server is away")

    with pytest.raises(ConnectionError, match="the server is away"):
        from_callable(run, lookback=3, horizon=2)(np.zeros((1, 3, 2, 1)))
