"""Pictures: what is drawn, and that it is written whole."""

import numpy as np
import pytest

from subcast.errors import InputError
from subcast.plots import plot_series, save_figure
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

    def test_missing_readings_are_drawn_above(self):
        figure = plot_series(walks(n=2, gaps=True))
        assert labels(figure) == ["missing\n(all variables)", "v0", "v1"]
        shares = figure.axes[0].collections[0].get_array()
        assert shares.shape == (2, 300)
        assert shares.sum() == 50

    def test_a_short_series_is_drawn_reading_by_reading(self):
        series = walks(n=1, times=False)
        figure = plot_series(series)
        np.testing.assert_array_equal(figure.axes[0].lines[0].get_ydata(), series.values[:, 0])
        assert figure.axes[0].get_xlabel() == "step"

    def test_a_long_series_is_drawn_by_stretches(self):
        series = walks(6000, 1, gaps=False)
        drawn = plot_series(series).axes[0].lines[0].get_ydata()
        np.testing.assert_allclose(drawn, series.values[:, 0].reshape(600, 10).mean(axis=1), rtol=1e-5)

    def test_stretches_without_a_reading_are_left_open(self):
        values = np.ones((6000, 1), dtype=np.float32)
        values[100:210] = np.nan
        drawn = plot_series(Series(values)).axes[-1].lines[0].get_ydata()
        assert np.flatnonzero(np.isnan(drawn)).tolist() == list(range(10, 21))

    def test_the_title_tells_shape_rate_and_unit(self):
        assert plot_series(walks()).get_suptitle() == "walks: 300 steps x 8 variables, every 5min, in mm"


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
