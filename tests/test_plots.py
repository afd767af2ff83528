"""Plots: their lines, labels and titles, and the files they are written to."""

import numpy as np
import pytest

from subcast.errors import InputError
from subcast.forecast import Forecast
from subcast.plots import ACCENT, INK, plot_forecast, plot_series, save_figure
from subcast.series import Series

PNG = b"\x89PNG\r\n\x1a\n"


def walks(steps=300, n=8, *, gaps=False, times=True):
    values = np.random.default_rng(0).normal(size=(steps, n)).cumsum(axis=0)
    if gaps:
        values[steps // 3 : steps // 2, 1] = np.nan
    moments = np.datetime64("2024-01-01", "ns") + np.arange(steps) * np.timedelta64(5, "m")
    return Series(values, times=moments if times else None, freq="5min" if times else None, name="walks", unit="mm")


def labels(figure):
    return [axis.get_ylabel() for axis in figure.axes]


class TestPlotSeries:
    def test_six_variables_spread_evenly(self):
        assert labels(plot_series(walks(n=26))) == ["v00", "v05", "v10", "v15", "v20", "v25"]

    def test_few_variables_are_all_drawn(self):
        assert labels(plot_series(walks(n=2))) == ["v0", "v1"]

    def test_variables_can_be_chosen(self):
        assert labels(plot_series(walks(), ["v3", "v1"])) == ["v3", "v1"]

    def test_an_unknown_variable(self):
        with pytest.raises(InputError, match="variables names 'x', which is not among the 8 variables"):
            plot_series(walks(), ["x"])

    def test_missing_readings_have_a_panel(self):
        figure = plot_series(walks(n=2, gaps=True))
        assert labels(figure) == ["missing\n(all variables)", "v0", "v1"]
        shares = figure.axes[0].collections[0].get_array()
        assert shares.shape == (2, 300)
        assert shares.sum() == 50

    def test_short_series_shows_every_reading(self):
        series = walks(n=1, times=False)
        figure = plot_series(series)
        np.testing.assert_array_equal(figure.axes[0].lines[0].get_ydata(), series.values[:, 0])
        assert figure.axes[0].get_xlabel() == "step"

    def test_long_series_shows_means_of_bins(self):
        series = walks(6000, 1, gaps=False)
        drawn = plot_series(series).axes[0].lines[0].get_ydata()
        np.testing.assert_allclose(drawn, series.values[:, 0].reshape(600, 10).mean(axis=1), rtol=1e-5)

    def test_bins_without_a_reading_are_gaps(self):
        values = np.ones((6000, 1), dtype=np.float32)
        values[100:210] = np.nan
        drawn = plot_series(Series(values)).axes[-1].lines[0].get_ydata()
        assert np.flatnonzero(np.isnan(drawn)).tolist() == list(range(10, 21))

    def test_title_has_size_rate_and_unit(self):
        assert plot_series(walks()).get_suptitle() == "walks: 300 steps x 8 variables, every 5min, in mm"


def forecast_of(s=2, t=6, h=3, levels=(0.9, 0.5), *, dated=True, **fields):
    """A forecast of random numbers; its third neighbor has weight 0."""
    rng = np.random.default_rng(1)
    mean = rng.normal(size=(h, s)).astype(np.float32)
    width = np.array(levels, np.float32)[:, None, None]
    paths = rng.normal(size=(3, t + h, s)).astype(np.float32)
    times = np.datetime64("2024-03-01T12:00", "ns") + np.arange(1 - t, h + 1) * np.timedelta64(10, "m")
    made = {
        "variables": tuple(f"v{number}" for number in range(s)),
        "mean": mean,
        "levels": levels,
        "bounds": np.stack([mean - width, mean + width], axis=1) if levels else None,
        "observed": np.ones(s, np.float32),
        "observed_share": 0.15,
        "times": times[t:] if dated else None,
        "neighbor_index": np.array([3, 1, -1]),
        "neighbor_distance": np.array([0.1, 0.2, np.inf], np.float32),
        "weights": np.array([0.25, 0.75, 0], np.float32),
        "neighbor_times": times[:1].repeat(3) if dated else None,
        "quality": "good",
        "expected_gap": 2.13,
        "history": rng.normal(size=(t, s)).astype(np.float32),
        "history_times": times[:t] if dated else None,
        "paths": lambda: paths,
        "unit": "MW",
    }
    return Forecast(**(made | fields))


def line(axis, label):
    (match,) = [line for line in axis.lines if line.get_label() == label]
    return match


class TestPlotForecast:
    def test_four_panels_spread_evenly(self):
        assert labels(plot_forecast(forecast_of(7), most=3)) == ["v0\n(MW)", "v3\n(MW)", "v6\n(MW)"]
        assert len(plot_forecast(forecast_of(7, unit="")).axes) == 4

    @pytest.mark.parametrize(
        ("observed", "most", "drawn"),
        [
            ([1, 1, 1, 0, 0, 0, 0, 0], 4, ["v0", "v2", "v3", "v7"]),
            ([0, 0, 0, 1, 0, 0, 0, 0], 4, ["v3", "v0"]),
            ([0, 0, 0, 1, 0, 0, 0, 0], 1, ["v3"]),
            ([1, 1, 1, 1, 1, 1, 1, 0], 4, ["v0", "v3", "v6", "v7"]),
            ([0, 0, 0, 0, 0, 0, 0, 0], 2, ["v0", "v7"]),
        ],
        ids=str,
    )
    def test_at_most_half_of_the_panels_are_silent(self, observed, most, drawn):
        forecast = forecast_of(8, unit="", observed=np.array(observed, np.float32))
        assert labels(plot_forecast(forecast, most=most)) == drawn

    def test_variables_that_are_chosen_are_all_drawn(self):
        figure = plot_forecast(forecast_of(7, unit=""), ["v6", "v0", "v1", "v2", "v3"])
        assert labels(figure) == ["v6", "v0", "v1", "v2", "v3"]
        assert labels(plot_forecast(forecast_of(unit=""), [1])) == ["v1"]

    def test_readings_and_forecast_are_connected(self):
        forecast = forecast_of()
        axis = plot_forecast(forecast).axes[1]
        np.testing.assert_array_equal(line(axis, "readings").get_ydata(), forecast.history[:, 1])
        np.testing.assert_array_equal(line(axis, "readings").get_xdata(), forecast.history_times)
        ahead = line(axis, "forecast")
        np.testing.assert_array_equal(ahead.get_ydata(), [forecast.history[-1, 1], *forecast.mean[:, 1]])
        np.testing.assert_array_equal(ahead.get_xdata(), [forecast.history_times[-1], *forecast.times])
        assert (line(axis, "readings").get_color(), ahead.get_color()) == (INK, ACCENT)

    def test_missing_readings_are_gaps(self):
        history = forecast_of().history.copy()
        history[[2, 5], 0] = np.nan
        forecast = forecast_of(history=history)
        axis = plot_forecast(forecast).axes[0]
        assert np.isnan(line(axis, "readings").get_ydata()).tolist() == [False, False, True, False, False, True]
        np.testing.assert_array_equal(line(axis, "forecast").get_ydata(), forecast.mean[:, 0])  # no last reading

    def test_absent_variable_is_labeled(self):
        history = forecast_of().history.copy()
        history[:, 1] = np.nan
        forecast = forecast_of(history=history, observed=np.array([1, 0], np.float32))
        first, second = plot_forecast(forecast).axes
        assert (first.get_title(loc="left"), second.get_title(loc="left")) == ("", "no readings")
        assert "readings" not in [line.get_label() for line in second.lines]

    def test_wide_intervals_are_behind_narrow_ones_and_lighter(self):
        forecast = forecast_of(levels=(0.5, 0.9))
        axis = plot_forecast(forecast).axes[0]
        assert [band.get_label() for band in axis.collections] == ["90 % interval", "50 % interval"]
        heights = axis.collections[0].get_paths()[0].vertices[:, 1]
        assert {*forecast.bounds[1, :, :, 0].ravel().tolist()} <= {*heights.tolist()}
        wide, narrow = (band.get_facecolor()[0, :3].sum() for band in axis.collections)
        assert wide > narrow
        assert not plot_forecast(forecast_of(levels=())).axes[0].collections

    def test_neighbors_are_drawn_by_weight(self):
        forecast = forecast_of()
        drawn = [line for line in plot_forecast(forecast).axes[0].lines if line.get_label() == "neighbors"]
        assert len(drawn) == 2  # the third has weight 0
        np.testing.assert_array_equal(drawn[0].get_ydata(), forecast.paths()[0, :, 0])
        assert len(drawn[0].get_xdata()) == 9
        assert drawn[0].get_alpha() < drawn[1].get_alpha()

    def test_without_history_only_futures_of_neighbors(self):
        forecast = forecast_of(history=None, history_times=None)
        axis = plot_forecast(forecast).axes[0]
        np.testing.assert_array_equal(axis.lines[0].get_ydata(), forecast.paths()[0, -3:, 0])
        assert "readings" not in [line.get_label() for line in axis.lines]
        assert axis.get_title(loc="left") == ""  # it had readings, which are not part of this forecast

    def test_no_neighbors(self):
        none = np.zeros(0)
        bare = forecast_of(paths=None, weights=none, neighbor_index=none, neighbor_distance=none, neighbor_times=None)
        assert "neighbors" not in [line.get_label() for line in plot_forecast(bare).axes[0].lines]

    @pytest.mark.parametrize("history", [True, False])
    def test_now_is_the_end_of_the_window(self, history):
        forecast = forecast_of() if history else forecast_of(history=None, history_times=None)
        figure = plot_forecast(forecast)
        upright = [line for axis in figure.axes for line in axis.lines if line.get_linestyle() == "--"]
        assert len(upright) == 2
        assert {line.get_xdata()[0] for line in upright} == {np.datetime64("2024-03-01T12:00", "ns")}
        assert [[text.get_text() for text in axis.texts] for axis in figure.axes] == [["now"], []]

    def test_without_times_steps_are_counted_from_now(self):
        forecast = forecast_of(dated=False)
        first, last = plot_forecast(forecast).axes
        np.testing.assert_array_equal(line(first, "readings").get_xdata(), [-5, -4, -3, -2, -1, 0])
        np.testing.assert_array_equal(line(first, "forecast").get_xdata(), [0, 1, 2, 3])
        assert (first.get_xlabel(), last.get_xlabel()) == ("", "steps from now")

    def test_one_legend_with_each_label_once(self):
        figure = plot_forecast(forecast_of(5))
        (legend,) = figure.legends
        names = [text.get_text() for text in legend.get_texts()]
        assert names == ["readings", "forecast", "90 % interval", "50 % interval", "neighbors"]
        assert all(axis.get_legend() is None for axis in figure.axes)

    def test_title_has_the_quality(self):
        assert plot_forecast(forecast_of(5)).get_suptitle() == (
            "Forecast of 5 variables (4 drawn), 15 % of the readings in the window observed\n"
            "Quality good: error about 2.1 % above that with all variables"
        )
        assert plot_forecast(forecast_of(1)).get_suptitle().startswith("Forecast of 1 variable, 15 %")

    def test_bad_arguments_are_rejected(self):
        with pytest.raises(InputError, match="variables names 'x', which is not among the 2 variables"):
            plot_forecast(forecast_of(), ["x"])
        with pytest.raises(InputError, match="most must be a whole number of at least 1, got 0"):
            plot_forecast(forecast_of(), most=0)

    @pytest.mark.parametrize("dated", [True, False])
    @pytest.mark.parametrize("history", [True, False])
    @pytest.mark.filterwarnings("error")
    def test_the_smallest_forecast(self, tmp_path, dated, history):
        bare = {} if history else {"history": None, "history_times": None, "paths": None}
        save_figure(plot_forecast(forecast_of(1, 1, 1, dated=dated, **bare)), tmp_path / "a.png")
        assert (tmp_path / "a.png").read_bytes().startswith(PNG)


class TestSaveFigure:
    @pytest.mark.parametrize(("ending", "start"), [(".png", PNG), (".pdf", b"%PDF"), (".svg", b"<?xml")])
    def test_kinds(self, tmp_path, ending, start):
        save_figure(plot_series(walks(50, 2, gaps=True)), tmp_path / f"a{ending}")
        assert (tmp_path / f"a{ending}").read_bytes().startswith(start)

    def test_an_unknown_ending_writes_nothing(self, tmp_path):
        with pytest.raises(InputError, match=r"must end in .png, .pdf, .svg, got 'a.bmp'"):
            save_figure(plot_series(walks(50, 2)), tmp_path / "a.bmp")
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize("values", [[[1.0]], [[np.nan]], [[1.0], [np.nan]], [[np.nan], [np.nan]]])
    @pytest.mark.filterwarnings("error::RuntimeWarning", "error::UserWarning")
    def test_the_smallest_series(self, tmp_path, values):
        save_figure(plot_series(Series(np.array(values))), tmp_path / "a.png")
        assert (tmp_path / "a.png").read_bytes().startswith(PNG)
