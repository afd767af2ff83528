"""Models of neuralforecast; run by `make test-adapters`."""

import numpy as np
import pandas as pd
import pytest

from adapters.heavy_examples import NAMES, QUIET, TIMES, VALUES, H, T, quiet
from subcast.adapters import adapt, from_neuralforecast
from subcast.errors import InputError

pytestmark = pytest.mark.heavy


@pytest.fixture(autouse=True)
def _quiet():
    torch = pytest.importorskip("torch")
    torch.set_num_threads(1)
    with quiet():
        yield


class TestNeuralForecast:
    @pytest.fixture(autouse=True)
    def _library(self):
        pytest.importorskip("neuralforecast")

    def table(self, values=VALUES):
        wide = pd.DataFrame(values[:, ::-1], columns=list(NAMES[::-1])).assign(ds=TIMES[: len(values)])
        return wide.melt("ds", var_name="unique_id", value_name="y")

    def fitted(self, *names, local=None, values=VALUES, **options):
        import neuralforecast
        import neuralforecast.models

        settings = {"h": H, "input_size": T, "n_series": 4, "max_steps": 3, **QUIET, **options}
        models = [getattr(neuralforecast.models, name)(**settings) for name in names]
        nf = neuralforecast.NeuralForecast(models, freq="h", local_scaler_type=local)
        nf.fit(self.table(values))
        return nf

    def own(self, nf, column):
        """The library's own forecast of the last window: [h, n]."""
        return nf.predict().pivot(index="ds", columns="unique_id", values=column)[list(NAMES)].to_numpy()

    @pytest.mark.parametrize(
        "name",
        ["TSMixer", "TSMixerx", "iTransformer", "SOFTS", "MLPMultivariate", "TimeMixer", "StemGNN", "RMoK"],
    )
    def test_forward_is_predict(self, name):
        options = {"hidden_size": 16} if name in ("iTransformer", "SOFTS", "MLPMultivariate") else {}
        nf = self.fitted(name, **options)
        forecaster = from_neuralforecast(nf)
        assert (forecaster.lookback, forecaster.horizon, forecaster.variables) == (T, H, NAMES)
        own = self.own(nf, name)
        np.testing.assert_allclose(forecaster(VALUES[None, -T:])[0], own, rtol=1e-5, atol=1e-5)
        batch = np.stack([VALUES[100 : 100 + T], VALUES[-T:], VALUES[:T]])
        np.testing.assert_allclose(forecaster(batch)[1], own, rtol=1e-4, atol=1e-4)

    @pytest.mark.parametrize("scaler", ["identity", "standard", "robust", "minmax", "minmax1", "invariant", "revin"])
    def test_the_model_s_own_scaler(self, scaler):
        nf = self.fitted("TSMixer", scaler_type=scaler)
        own = self.own(nf, "TSMixer")
        np.testing.assert_allclose(from_neuralforecast(nf)(VALUES[None, -T:])[0], own, rtol=1e-5, atol=1e-5)

    @pytest.mark.parametrize("local", ["standard", "robust", "robust-iqr", "minmax", "boxcox"])
    def test_the_local_scaler(self, local):
        values = VALUES * np.float32([1, 10, 100, 0.1])
        nf = self.fitted("TSMixer", local=local, values=values, scaler_type="standard")
        own = self.own(nf, "TSMixer")
        batch = np.stack([values[:T], values[-T:]])
        np.testing.assert_allclose(from_neuralforecast(nf)(batch)[1], own, rtol=1e-4)

    @pytest.mark.parametrize("end", [60, 131])
    def test_an_earlier_window(self, end):
        """Training on what came before, the weights kept: predict on a shorter table is the window that ends there."""
        nf = self.fitted("SOFTS", hidden_size=16)
        forecast = nf.predict(self.table(VALUES[:end]))
        own = forecast.pivot(index="ds", columns="unique_id", values="SOFTS")[list(NAMES)].to_numpy()
        np.testing.assert_allclose(from_neuralforecast(nf)(VALUES[None, end - T : end])[0], own, rtol=1e-5, atol=1e-5)

    def test_the_median_of_quantiles(self):
        from neuralforecast.losses.pytorch import MQLoss

        nf = self.fitted("TSMixer", loss=MQLoss(level=[80]), scaler_type="standard")
        own = self.own(nf, "TSMixer-median")
        np.testing.assert_allclose(from_neuralforecast(nf)(VALUES[None, -T:])[0], own, rtol=1e-5)

    @pytest.mark.parametrize("which", ["Normal", "StudentT", "Poisson", "GMM"])
    def test_the_mean_of_a_distribution(self, which):
        from neuralforecast.losses import pytorch as losses

        many = {"num_samples": 4000}
        loss = losses.GMM(n_components=2, **many) if which == "GMM" else losses.DistributionLoss(which, **many)
        nf = self.fitted("TSMixer", loss=loss, scaler_type="standard", max_steps=30)
        forecaster = from_neuralforecast(nf)
        forecasts = forecaster(VALUES[None, -T:])
        np.testing.assert_allclose(forecasts[0], self.own(nf, "TSMixer"), atol=0.5)  # theirs is the mean of a sample
        np.testing.assert_array_equal(forecasts, forecaster(VALUES[None, -T:]))

    def test_one_of_several_models(self):
        nf = self.fitted("TSMixer", "SOFTS")
        for which in (1, -1, "SOFTS"):
            own = self.own(nf, "SOFTS")
            np.testing.assert_allclose(from_neuralforecast(nf, model=which)(VALUES[None, -T:])[0], own, rtol=1e-5)
        for which in (2, "NHITS"):
            with pytest.raises(InputError, match="place or name of one of the fitted models"):
                from_neuralforecast(nf, model=which)

    def test_adapt_finds_it(self):
        nf = self.fitted("TSMixer")
        sizes = {"lookback": T, "horizon": H, "variables": NAMES, "n_features": 1}
        assert adapt(nf, **sizes).kind == "neuralforecast"
        with pytest.raises(InputError, match="give the fitted NeuralForecast that holds the TSMixer"):
            adapt(nf.models[0], **sizes)
        with pytest.raises(InputError, match="same variables in another order"):
            adapt(nf, **{**sizes, "variables": NAMES[::-1]})

    def test_a_saved_one(self, tmp_path):
        import neuralforecast

        nf = self.fitted("TSMixer", local="standard")
        nf.save(str(tmp_path / "nf"), overwrite=True)
        loaded = neuralforecast.NeuralForecast.load(str(tmp_path / "nf"))
        np.testing.assert_allclose(
            from_neuralforecast(loaded)(VALUES[None, :T]), from_neuralforecast(nf)(VALUES[None, :T]), rtol=1e-6
        )

    def test_other_models_are_refused(self):
        import neuralforecast
        from neuralforecast.losses.pytorch import IQLoss, MQLoss, QuantileLoss
        from neuralforecast.models import NLinear, TSMixer, TSMixerx

        with pytest.raises(InputError, match="nf must be a fitted NeuralForecast, got TSMixer"):
            from_neuralforecast(TSMixer(h=H, input_size=T, n_series=4))
        with pytest.raises(InputError, match="the NeuralForecast is not fitted"):
            from_neuralforecast(neuralforecast.NeuralForecast([TSMixer(h=H, input_size=T, n_series=4)], freq="h"))
        nf = neuralforecast.NeuralForecast([NLinear(h=H, input_size=T, max_steps=1, **QUIET)], freq="h")
        nf.fit(self.table())
        with pytest.raises(InputError, match="NLinear forecasts each series on its own"):
            from_neuralforecast(nf)
        exogenous = TSMixerx(h=H, input_size=T, n_series=4, max_steps=1, hist_exog_list=["hour"], **QUIET)
        nf = neuralforecast.NeuralForecast([exogenous], freq="h")
        nf.fit(self.table().assign(hour=lambda table: table["ds"].dt.hour.astype(float)))
        with pytest.raises(InputError, match="fitted with hist_exog_list, and a window holds readings alone"):
            from_neuralforecast(nf)
        for loss in (QuantileLoss(0.9), MQLoss(quantiles=[0.1, 0.9]), IQLoss()):
            with pytest.raises(InputError, match=f"fitted with {type(loss).__name__}, which gives no median"):
                from_neuralforecast(self.fitted("TSMixer", loss=loss))
        with pytest.raises(InputError, match=r"fitted on the unique_ids 'a', 'b', 'c' and 1 more, but variables are"):
            from_neuralforecast(self.fitted("TSMixer"), variables=NAMES[::-1])
