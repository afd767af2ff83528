"""TrainedForecaster: forecasts in raw units."""

import numpy as np
import pytest

from subcast.errors import InputError
from subcast.forecasters.trained import TrainedForecaster
from subcast.training import train
from training.examples import QUICK, SMALL, waves


@pytest.fixture(scope="module")
def parts():
    return waves().split(6, 4)


@pytest.fixture(scope="module")
def trained(parts):
    return train("tcn", parts.train, parts.val, QUICK, settings=SMALL)


class TestTrainedForecaster:
    def test_raw_units_and_selected_variables(self, parts, trained):
        x = parts.test.batch().inputs
        before = x.copy()
        whole = trained.predict(x)
        assert whole.shape == (len(x), 4, 3)
        assert whole.dtype == np.float32
        assert 30 < whole.mean() < 70
        np.testing.assert_allclose(trained.predict(x, wanted=["v2", "v0"]), whole[:, :, [2, 0]], rtol=1e-5)
        np.testing.assert_allclose(trained.predict(x[..., 0], batch_size=2), whole, rtol=1e-5)
        x[0, 0, 0] = np.nan
        trained.predict(x)
        assert np.isnan(x[0, 0, 0])
        np.testing.assert_array_equal(x[1:], before[1:])

    def test_present_sets_the_others_to_the_mean(self, parts, trained):
        x = parts.test.batch().inputs
        partial = trained.predict(x, present=["v1"])
        filled = x.copy()
        for place in (0, 2):
            filled[:, :, place] = trained.scaler.mean[place]
        np.testing.assert_allclose(partial, trained.predict(filled), rtol=1e-3)

    def test_bad_input_is_rejected(self, parts, trained):
        x = parts.test.batch().inputs
        with pytest.raises(InputError, match=r"inputs must be \[b, t, n, f\].*with 6 steps, got 5"):
            trained(x[:, 1:])
        with pytest.raises(InputError, match="present names 'v9'"):
            trained.predict(x, present=["v9"])
        with pytest.raises(InputError, match="batch_size must be 1 or more"):
            trained.predict(x, batch_size=0)
        x[0, 0, 0] = np.inf
        with pytest.raises(InputError, match="inputs holds infinities"):
            trained(x)

    def test_repr(self, trained):
        assert repr(trained) == "TrainedForecaster 'tcn': 6 + 4 steps of 3 variables"
        assert isinstance(trained, TrainedForecaster)
        assert trained.graph() is None
