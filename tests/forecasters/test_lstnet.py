"""LSTNet: with and without its skip-GRU and highway, and with forecasts fed back as inputs."""

import pytest
import torch

from forecasters.examples import build, inputs, run
from subcast.errors import InputError
from subcast.forecasters import LSTNet
from twins.forecasters_twins import TWINS


@pytest.mark.parametrize("settings", [{"skip": 0}, {"highway": 0}, {"skip": 2, "highway": 3}, {"kernel": 20}])
def test_skip_and_highway_can_be_removed(settings):
    model, x = build("lstnet", **settings), inputs()
    with torch.no_grad():
        expected = TWINS["lstnet"](model, x)
    torch.testing.assert_close(run(model, x), expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("highway", [0, 12])
def test_autoregressive_feeds_its_forecasts_back(highway):
    model, x = build("lstnet", autoregressive=True, highway=highway), inputs()
    present = torch.tensor([True, False, True, True, False, True, True])
    for mask in (None, present):
        with torch.no_grad():
            expected = TWINS["lstnet"](model, x, mask)
        torch.testing.assert_close(run(model, x, present=mask), expected, atol=1e-5, rtol=1e-5)
        wanted = torch.tensor([6, 1])
        forecast = run(model, x, present=mask, wanted=wanted)
        torch.testing.assert_close(forecast, expected[:, :, wanted], atol=1e-5, rtol=1e-5)


def test_autoregressive_rejects_time_features():
    with pytest.raises(InputError, match="autoregressive needs inputs without time features"):
        build("lstnet", n_features=2, autoregressive=True)


def test_weights_of_one_step_serve_an_autoregressive_model():
    one_step, x = build("lstnet", horizon=1), inputs()
    model = LSTNet(n_variables=7, lookback=12, horizon=5, autoregressive=True).eval()
    model.load_state_dict(one_step.state_dict())
    torch.testing.assert_close(run(model, x)[:, :1], run(one_step, x))


def test_settings_of_a_direct_model_are_those_of_earlier_checkpoints():
    assert "autoregressive" not in build("lstnet").settings
    assert build("lstnet", autoregressive=True).settings["autoregressive"] is True
