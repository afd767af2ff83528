"""TCN: forecasts fed back as inputs."""

import pytest
import torch

from forecasters.examples import build, inputs, run
from subcast.errors import InputError
from twins.forecasters_twins import TWINS


def test_autoregressive_feeds_its_forecasts_back():
    model, x = build("tcn", autoregressive=True), inputs()
    with torch.no_grad():
        expected = TWINS["tcn"](model, x)
    torch.testing.assert_close(run(model, x), expected, atol=1e-5, rtol=1e-5)
    wanted = torch.tensor([6, 1])
    torch.testing.assert_close(run(model, x, wanted=wanted), expected[:, :, wanted], atol=1e-5, rtol=1e-5)


def test_forecasts_of_absent_variables_are_not_fed_back():
    model, x = build("tcn", autoregressive=True), inputs()
    present = torch.tensor([True, False, True, True, False, True, True])
    with torch.no_grad():
        expected = TWINS["tcn"](model, x, present)
    forecast = run(model, x, present=present)
    torch.testing.assert_close(forecast, expected, atol=1e-5, rtol=1e-5)
    with torch.no_grad():  # a change in the forecast of an absent variable changes no other forecast
        model.output.bias[1] += 5.0
    shifted = run(model, x, present=present)
    torch.testing.assert_close(shifted[:, :, present], forecast[:, :, present], atol=1e-6, rtol=0)


def test_autoregressive_rejects_time_features():
    with pytest.raises(InputError, match="autoregressive needs inputs without time features"):
        build("tcn", n_features=2, autoregressive=True)
