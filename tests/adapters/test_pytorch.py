"""from_torch: evaluation mode, the module's device, and the scaler on the right feature."""

import numpy as np
import pytest

import subcast as sc
from subcast.adapters import from_torch
from subcast.errors import InputError
from subcast.scaling import Scaler

torch = pytest.importorskip("torch")


class LastPlusFeature(torch.nn.Module):
    """Forecast: the last reading, plus the last value of the second feature when there is one."""

    def __init__(self):
        super().__init__()
        self.shift = torch.nn.Parameter(torch.zeros(1))
        self.dropout = torch.nn.Dropout(0.5)
        self.seen = []

    def forward(self, x):
        self.seen.append((x.dtype, torch.is_inference_mode_enabled(), self.training))
        last = x[:, -1:, :, 0] + (x[:, -1:, :, 1] if x.shape[3] > 1 else 0)
        return self.dropout((last + self.shift).repeat(1, 2, 1))


def test_runs_in_evaluation_without_gradients():
    module = LastPlusFeature().train()
    x = np.random.default_rng(0).normal(size=(4, 3, 5, 1))
    y = from_torch(module, lookback=3, horizon=2)(x)
    np.testing.assert_allclose(y, np.repeat(x[:, -1:, :, 0], 2, axis=1), rtol=1e-6)
    assert module.seen == [(torch.float32, True, False)]


def test_a_module_put_back_to_training_is_not_run_with_dropout():
    module = LastPlusFeature()
    forecaster = from_torch(module, lookback=3, horizon=2)
    module.train()
    np.testing.assert_array_equal(forecaster(np.ones((2, 3, 2, 1))), np.ones((2, 2, 2)))


@pytest.mark.parametrize("per_variable", [True, False])
def test_the_scaler_is_applied_to_the_first_feature_only(per_variable):
    scaler = (
        Scaler(np.array([10.0, 20.0]), np.array([2.0, 5.0]))
        if per_variable
        else Scaler(np.array([10.0]), np.array([2.0]))
    )
    x = np.random.default_rng(1).normal(10, 5, size=(4, 3, 2, 2))
    y = from_torch(LastPlusFeature(), lookback=3, horizon=2, scaler=scaler)(x)
    for window in range(4):
        for variable in range(2):
            mean, scale = scaler.mean[variable % scaler.mean.size], scaler.scale[variable % scaler.mean.size]
            normal = (x[window, -1, variable, 0] - mean) / scale + x[window, -1, variable, 1]
            assert y[window, :, variable] == pytest.approx(normal * scale + mean, rel=1e-5)


def test_the_scaler_sets_the_number_of_variables():
    forecaster = from_torch(LastPlusFeature(), lookback=3, horizon=2, scaler=Scaler(np.zeros(4), np.ones(4)))
    assert forecaster.n_variables == 4
    with pytest.raises(InputError, match="with 4 variables, got 2"):
        forecaster(np.zeros((1, 3, 2, 1)))


def test_a_module_of_the_package_is_what_training_makes_of_it():
    series = sc.load_dataset("clouds", n_plants=3, n_steps=300)
    train, _, test = series.split(lookback=12, horizon=3)
    scaler = Scaler.fit(train)
    module = sc.forecasters.TCN(n_variables=3, lookback=12, horizon=3)
    inputs = test.batch().inputs
    ours = sc.TrainedForecaster(module, "tcn", scaler, scaler.mean, series.variables, 12, 3)
    adapted = from_torch(module, lookback=12, horizon=3, scaler=scaler, variables=series.variables)
    np.testing.assert_allclose(adapted(inputs), ours(inputs), rtol=1e-6)


def test_half_precision_results_are_numbers_too():
    class Half(torch.nn.Module):
        def forward(self, x):
            return x[:, -1:, :, 0].to(torch.bfloat16)

    for scaler in (None, Scaler(np.zeros(1), np.ones(1))):
        y = from_torch(Half(), lookback=3, horizon=1, scaler=scaler)(np.ones((2, 3, 2, 1)))
        np.testing.assert_array_equal(y, np.ones((2, 1, 2)))


class Wrong(torch.nn.Module):
    def __init__(self, result):
        super().__init__()
        self.result = result

    def forward(self, x):
        return self.result(x)


@pytest.mark.parametrize("scaler", [None, Scaler(np.zeros(1), np.ones(1))])
@pytest.mark.parametrize(
    ("result", "sentence"),
    [
        (lambda x: x, r"the torch model must turn inputs of shape \(2, 3, 2, 1\) into .* gave shape \(2, 3, 2, 1\)"),
        (lambda x: (x[..., 0], None), "gave a tuple that is not an array of numbers"),
        (lambda x: x[:, :2, :, 0] / 0, "8 of its 8 numbers are NaN or infinite"),
    ],
)
def test_modules_with_invalid_results_are_refused(result, sentence, scaler):
    with pytest.raises(InputError, match=sentence):
        from_torch(Wrong(result), lookback=3, horizon=2, scaler=scaler)(np.ones((2, 3, 2, 1)))


def test_other_objects_than_modules_are_refused():
    with pytest.raises(InputError, match=r"module must be a torch.nn.Module, got function"):
        from_torch(lambda x: x, lookback=3, horizon=2)
