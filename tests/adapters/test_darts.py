"""Models of darts; run by `make test-adapters`."""

import numpy as np
import pandas as pd
import pytest

from adapters.heavy_examples import NAMES, QUIET, TIMES, VALUES, H, T, quiet
from subcast.adapters import adapt, from_darts
from subcast.errors import InputError

pytestmark = pytest.mark.heavy


@pytest.fixture(autouse=True)
def _quiet():
    torch = pytest.importorskip("torch")
    torch.set_num_threads(1)
    with quiet():
        yield


class TestDarts:
    @pytest.fixture(autouse=True)
    def _library(self):
        pytest.importorskip("darts")

    def series(self, values=VALUES, **options):
        from darts import TimeSeries

        times = TIMES[: len(values)]
        return TimeSeries.from_times_and_values(times, values, columns=list(NAMES)[: values.shape[1]], **options)

    def torch_model(self, name, fit=True, **options):
        import darts.models

        settings = {
            "input_chunk_length": T,
            "output_chunk_length": H,
            "n_epochs": 1,
            "random_state": 0,
            "pl_trainer_kwargs": QUIET,
            **options,
        }
        model = getattr(darts.models, name)(**settings)
        return model.fit(self.series(), verbose=False) if fit else model

    @pytest.mark.parametrize(
        ("name", "options"),
        [
            ("TiDEModel", {"hidden_size": 8}),
            ("TiDEModel", {"hidden_size": 8, "use_reversible_instance_norm": True}),
            ("NLinearModel", {}),
            ("DLinearModel", {}),
            ("TSMixerModel", {"hidden_size": 8, "ff_size": 8}),
            ("BlockRNNModel", {}),
            ("TCNModel", {}),
            ("NBEATSModel", {"num_blocks": 1, "num_layers": 1, "layer_widths": 8}),
            ("TransformerModel", {"d_model": 8, "nhead": 2, "dim_feedforward": 8}),
            ("TFTModel", {"add_relative_index": True, "hidden_size": 4, "likelihood": None, "loss_fn": "mse"}),
        ],
        ids=lambda value: value if isinstance(value, str) else ",".join(value) or "plain",
    )
    def test_forward_is_predict(self, name, options):
        import torch

        if options.get("loss_fn") == "mse":
            options = {**options, "loss_fn": torch.nn.MSELoss()}
        model = self.torch_model(name, **options)
        forecaster = from_darts(model)
        assert (forecaster.lookback, forecaster.horizon, forecaster.variables) == (T, H, NAMES)
        ends = [T, 50, 131, 240]
        inputs = np.stack([VALUES[end - T : end] for end in ends])[..., None]
        forecasts = forecaster(inputs)
        for place, end in enumerate(ends):
            own = model.predict(H, series=self.series()[:end], verbose=False, show_warnings=False).values()
            np.testing.assert_allclose(forecasts[place], own, rtol=1e-5, atol=1e-5)

    def test_a_double_precision_model(self):
        import darts.models

        model = darts.models.NLinearModel(T, H, n_epochs=1, pl_trainer_kwargs=QUIET)
        model.fit(self.series(VALUES.astype(np.float64)), verbose=False)
        own = model.predict(H, verbose=False).values()
        np.testing.assert_allclose(from_darts(model)(VALUES[None, -T:])[0], own, rtol=1e-5)

    def test_the_mean_of_a_likelihood(self):
        from darts.utils.likelihood_models.torch import GaussianLikelihood, LaplaceLikelihood

        for likelihood in (GaussianLikelihood(), LaplaceLikelihood()):
            model = self.torch_model("TiDEModel", hidden_size=8, likelihood=likelihood)
            parameters = model.predict(H, predict_likelihood_parameters=True, verbose=False)
            own = parameters.values()[:, ::2]  # location, scale, location, scale, ...
            forecaster = from_darts(model)
            np.testing.assert_allclose(forecaster(VALUES[None, -T:])[0], own, rtol=1e-5)
            np.testing.assert_array_equal(forecaster(VALUES[None, -T:]), forecaster(VALUES[None, -T:]))

    def test_the_median_of_quantiles(self):
        from darts.utils.likelihood_models.torch import QuantileRegression

        model = self.torch_model("TiDEModel", hidden_size=8, likelihood=QuantileRegression([0.1, 0.5, 0.9]))
        own = model.predict(H, predict_likelihood_parameters=True, verbose=False).values()[:, 1::3]
        np.testing.assert_allclose(from_darts(model)(VALUES[None, -T:])[0], own, rtol=1e-5)

    @pytest.mark.parametrize("name", ["NLinearModel", "LinearRegressionModel"])
    def test_a_scaler(self, name):
        import darts.models
        from darts.dataprocessing.transformers import Scaler

        scaler = Scaler()
        scaled = scaler.fit_transform(self.series(VALUES * np.float32([1, 10, 100, 0.1])))
        if name == "NLinearModel":
            model = self.torch_model(name, fit=False)
        else:
            model = darts.models.LinearRegressionModel(lags=T, output_chunk_length=H)
        model.fit(scaled, verbose=False)
        ends = [50, 240]
        inputs = np.stack([VALUES[end - T : end] * np.float32([1, 10, 100, 0.1]) for end in ends])
        forecasts = from_darts(model, scaler=scaler)(inputs)
        for place, end in enumerate(ends):
            own = scaler.inverse_transform(model.predict(H, series=scaled[:end], verbose=False)).values()
            np.testing.assert_allclose(forecasts[place], own, rtol=1e-3)
        with pytest.raises(InputError, match="scaler must be a fitted darts Scaler, got int"):
            from_darts(model, scaler=3)

    def test_a_darts_without_the_record_that_forward_takes(self, monkeypatch):
        model = self.torch_model("TiDEModel", hidden_size=8)
        inputs = np.stack([VALUES[:T], VALUES[-T:]])
        quick = from_darts(model)(inputs)
        monkeypatch.setattr("subcast.adapters.darts._module_input", lambda: None)
        np.testing.assert_allclose(from_darts(model)(inputs), quick, rtol=1e-6)
        from darts.utils.likelihood_models.torch import GaussianLikelihood

        with pytest.raises(InputError, match="this version of darts only draws at random"):
            from_darts(self.torch_model("TiDEModel", hidden_size=8, likelihood=GaussianLikelihood()))

    @pytest.mark.parametrize("horizon", [2, 6, 8])
    def test_other_horizons_than_the_chunk(self, horizon):
        model = self.torch_model("NLinearModel")
        own = model.predict(horizon, verbose=False, show_warnings=False).values()
        np.testing.assert_allclose(from_darts(model, horizon=horizon)(VALUES[None, -T:])[0], own, rtol=1e-5)

    @pytest.mark.parametrize(
        ("name", "options"),
        [
            ("LinearRegressionModel", {"lags": T}),
            ("LinearRegressionModel", {"lags": [-1, -3, -T]}),
            ("LinearRegressionModel", {"lags": T, "multi_models": False}),
            ("LinearRegressionModel", {"lags": T, "output_chunk_length": 1}),
            ("LinearRegressionModel", {"lags": T, "likelihood": "quantile", "quantiles": [0.1, 0.5, 0.9]}),
            ("RandomForestModel", {"lags": T, "n_estimators": 3}),
        ],
        ids=lambda value: value if isinstance(value, str) else ",".join(value),
    )
    def test_regression_models(self, name, options):
        import darts.models

        model = getattr(darts.models, name)(**{"output_chunk_length": H, **options}).fit(self.series())
        forecaster = from_darts(model, horizon=H)
        assert forecaster.lookback == (T + H - 1 if options.get("multi_models") is False else T)
        ends = [30, 131, 240]
        inputs = np.stack([VALUES[end - forecaster.lookback : end] for end in ends])
        forecasts = forecaster(inputs)
        for place, end in enumerate(ends):
            own = model.predict(H, series=self.series()[:end], show_warnings=False).values()
            np.testing.assert_allclose(forecasts[place], own, rtol=1e-4)

    def test_a_series_with_numbered_steps_and_one_with_months(self):
        import darts.models
        from darts import TimeSeries

        monthly = TimeSeries.from_times_and_values(pd.date_range("2000-01-01", periods=240, freq="MS"), VALUES)
        for series in (TimeSeries.from_values(VALUES), monthly):
            model = darts.models.LinearRegressionModel(lags=T, output_chunk_length=H).fit(series)
            own = model.predict(H).values()
            np.testing.assert_allclose(from_darts(model)(VALUES[None, -T:])[0], own, rtol=1e-4)

    def test_a_loaded_model(self, tmp_path):
        model = self.torch_model("NLinearModel")
        model.save(str(tmp_path / "m.pt"))
        loaded = type(model).load(str(tmp_path / "m.pt"))
        np.testing.assert_array_equal(from_darts(loaded)(VALUES[None, :T]), from_darts(model)(VALUES[None, :T]))

    def test_adapt_finds_it(self):
        model = self.torch_model("NLinearModel")
        sizes = {"lookback": T, "horizon": H, "variables": NAMES, "n_features": 1}
        assert adapt(model, **sizes).kind == "darts"
        with pytest.raises(InputError, match="made for lookback 12, but the windows have 24: split with lookback=12"):
            adapt(model, **{**sizes, "lookback": 24})
        with pytest.raises(InputError, match="same variables in another order"):
            adapt(model, **{**sizes, "variables": ("b", "a", "c", "d")})

    def test_covariates_are_refused(self):
        import darts.models

        encoders = {"cyclic": {"past": ["hour"]}}
        model = self.torch_model("TiDEModel", hidden_size=8, add_encoders=encoders)
        with pytest.raises(InputError, match="TiDEModel was fitted with past covariates or encoders"):
            from_darts(model)
        model = darts.models.LinearRegressionModel(lags=T, lags_past_covariates=2, output_chunk_length=H)
        model.fit(self.series(), past_covariates=self.series(VALUES[:, :1]))
        with pytest.raises(InputError, match="LinearRegressionModel was fitted with past covariates"):
            from_darts(model)
        static = self.series(static_covariates=pd.DataFrame({"size": [1.0, 2.0, 3.0, 4.0]}))
        model = self.torch_model("TiDEModel", fit=False, hidden_size=8)
        model.fit(static, verbose=False)
        with pytest.raises(InputError, match="TiDEModel was fitted with static covariates"):
            from_darts(model)

    def test_other_models_are_refused(self):
        import darts.models
        from darts.utils.likelihood_models.torch import GaussianLikelihood

        with pytest.raises(InputError, match="the TiDEModel is not fitted"):
            from_darts(self.torch_model("TiDEModel", fit=False))
        with pytest.raises(InputError, match=r"must be a global model of darts, .* got NaiveSeasonal"):
            from_darts(darts.models.NaiveSeasonal(K=4))
        with pytest.raises(InputError, match="output_chunk_shift=2"):
            from_darts(self.torch_model("NLinearModel", output_chunk_shift=2))
        with pytest.raises(InputError, match="draws at random what it feeds back"):
            from_darts(self.torch_model("TiDEModel", hidden_size=8, likelihood=GaussianLikelihood()), horizon=8)
        with pytest.raises(InputError, match=r"fitted on the components 'a', 'b', 'c' and 1 more, but variables are"):
            from_darts(self.torch_model("NLinearModel"), variables=["d", "c", "b", "a"])

    def test_a_model_of_many_univariate_series(self):
        model = self.torch_model("NLinearModel", fit=False)
        model.fit([self.series(VALUES[:, [place]]) for place in range(4)], verbose=False)
        with pytest.raises(InputError, match="series of 1 component, but there are 4 variables: stack them"):
            from_darts(model, variables=NAMES)
        with pytest.raises(InputError, match="takes 1 variable, but the windows have 4: fit it on all variables"):
            adapt(model, lookback=T, horizon=H, variables=NAMES, n_features=1)
