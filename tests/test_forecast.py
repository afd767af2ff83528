"""Forecast: its tables agree with its arrays, and its descriptions are right."""

import csv
import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import subcast as sc
from subcast.errors import InputError
from subcast.forecast import Forecast, Trust

START = np.datetime64("2024-03-01T12:00", "ns")
STEP = np.timedelta64(10, "m")


def make(b=None, h=3, s=2, levels=(0.9,), k=4, dated=True, t=5, seed=0, **fields):
    """A forecast of random numbers, of one window or of b windows."""
    rng = np.random.default_rng(seed)
    batch = () if b is None else (b,)
    mean = rng.normal(size=(*batch, h, s)).astype(np.float32)
    width = np.array(levels, dtype=np.float32).reshape(-1, *[1] * mean.ndim)
    weights = rng.random((*batch, k)).astype(np.float32)
    share = np.full(batch, 0.25) if batch else 0.25
    starts = rng.integers(0, 900, (*batch, k))
    made = {
        "variables": tuple(f"v{number}" for number in range(s)),
        "mean": mean,
        "levels": tuple(levels),
        "bounds": np.stack([mean - width, mean + width], axis=1) if levels else None,
        "observed": np.arange(s, dtype=np.float32) / 4 + np.zeros((*batch, 1), np.float32),
        "observed_share": share,
        "times": START + np.arange(1, h + 1) * STEP + np.zeros((*batch, 1), "m8[m]") if dated else None,
        "neighbor_index": starts,
        "neighbor_distance": np.sort(rng.random((*batch, k)).astype(np.float32), axis=-1),
        "weights": weights / weights.sum(axis=-1, keepdims=True),
        "neighbor_times": START - starts * STEP if dated else None,
        "quality": "good",
        "expected_gap": 2.13,
        "freq": "10min" if dated else None,
        "unit": "MW",
    }
    if b is None:
        made["observed"] = made["observed"].reshape(s)
        made["history"] = rng.normal(size=(t, s)).astype(np.float32)
        made["history_times"] = START + np.arange(1 - t, 1) * STEP if dated else None
        made["paths"] = lambda: rng.normal(size=(k, t + h, s)).astype(np.float32)
    if dated:
        made["times"] = made["times"].reshape((*batch, h))
    return Forecast(**(made | fields))


def rows_by_loops(forecast):
    """The long table, row by row."""
    windows = list(forecast) if forecast.is_batch else [forecast]
    rows = []
    for window, one in enumerate(windows):
        for column, name in enumerate(one.variables):
            for step in range(one.mean.shape[0]):
                row = {"window": window} if forecast.is_batch else {}
                row["variable"] = name
                if one.times is not None:
                    row["time"] = pd.Timestamp(one.times[step])
                row["step"] = step + 1
                row["mean"] = one.mean[step, column]
                if one.levels:
                    widest = one.levels.index(max(one.levels))
                    row["lower"], row["upper"] = (one.bounds[widest, end, step, column] for end in (0, 1))
                if len(one.levels) > 1:
                    for rank, level in enumerate(one.levels):
                        row[f"lower_{round(100 * level)}"] = one.bounds[rank, 0, step, column]
                        row[f"upper_{round(100 * level)}"] = one.bounds[rank, 1, step, column]
                row["observed"] = bool(one.observed[column] > 0)
                rows.append(row)
    return rows


class TestFrame:
    @settings(max_examples=60)
    @given(
        b=st.sampled_from([None, 1, 3]),
        h=st.integers(1, 4),
        s=st.integers(1, 4),
        levels=st.sampled_from([(), (0.9,), (0.9, 0.5), (0.5, 0.8, 0.95)]),
        dated=st.booleans(),
    )
    def test_agrees_with_loops(self, b, h, s, levels, dated):
        forecast = make(b, h, s, levels, dated=dated)
        rows = rows_by_loops(forecast)
        assert list(forecast.frame.columns) == list(rows[0])
        assert forecast.frame.to_dict("records") == rows

    def test_columns(self):
        assert list(make().frame) == ["variable", "time", "step", "mean", "lower", "upper", "observed"]
        assert list(make(dated=False, levels=()).frame) == ["variable", "step", "mean", "observed"]
        names = ["lower", "upper", "lower_90", "upper_90", "lower_97.5", "upper_97.5"]
        assert list(make(levels=(0.9, 0.975)).frame)[4:-1] == names
        assert list(make(2).frame)[:2] == ["window", "variable"]

    def test_is_computed_once(self):
        forecast = make()
        assert forecast.frame is forecast.frame

    def test_observed_is_whether_there_was_a_reading(self):
        frame = make(observed=np.array([0, 0.1], np.float32)).frame
        assert frame.groupby("variable")["observed"].first().to_dict() == {"v0": False, "v1": True}
        assert frame["observed"].dtype == bool

    def test_wide(self):
        forecast = make()
        wide = forecast.wide
        np.testing.assert_array_equal(wide.to_numpy(), forecast.mean)
        assert list(wide.columns) == ["v0", "v1"]
        assert wide.index.name == "time"
        np.testing.assert_array_equal(wide.index, forecast.times)
        assert make(dated=False).wide.index.tolist() == [1, 2, 3]
        wide.iloc[0, 0] = 99
        assert forecast.mean[0, 0] != 99

    def test_csv(self, tmp_path):
        forecast = make()
        forecast.to_csv(tmp_path / "a.csv")
        with (tmp_path / "a.csv").open() as file:
            rows = list(csv.DictReader(file))
        assert [row["variable"] for row in rows] == ["v0"] * 3 + ["v1"] * 3
        assert rows[1]["time"] == "2024-03-01 12:20:00"
        np.testing.assert_allclose([float(row["upper"]) for row in rows], forecast.upper.T.ravel(), rtol=1e-6)
        assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]
        with pytest.raises(InputError, match=r"must end in .csv, got 'a.xls'"):
            forecast.to_csv(tmp_path / "a.xls")


class TestNeighbors:
    def test_one_window(self):
        forecast = make()
        table = forecast.neighbors
        assert list(table) == ["rank", "start", "end", "distance", "weight"]
        assert table["rank"].tolist() == [1, 2, 3, 4]
        assert table["start"].tolist() == forecast.neighbor_index.tolist()
        np.testing.assert_array_equal(table["end"], forecast.neighbor_times)
        np.testing.assert_array_equal(table["distance"], forecast.neighbor_distance)
        np.testing.assert_array_equal(table["weight"], forecast.weights)

    def test_without_times(self):
        assert list(make(dated=False).neighbors) == ["rank", "start", "distance", "weight"]

    def test_a_batch(self):
        forecast = make(3)
        table = forecast.neighbors
        assert list(table)[:2] == ["window", "rank"]
        pd.testing.assert_frame_equal(
            table[table["window"] == 1].drop(columns="window").reset_index(drop=True), forecast[1].neighbors
        )

    def test_missing_neighbors_are_left_out(self):
        index = np.array([5, 9, -1, -1])
        assert make(neighbor_index=index).neighbors["start"].tolist() == [5, 9]
        assert make(neighbor_index=np.full(4, -1)).neighbors.empty


class TestIntervals:
    @pytest.mark.parametrize(("levels", "widest"), [((0.5, 0.9), 1), ((0.9, 0.5), 0), ((0.1, 0.99, 0.5), 1)])
    def test_lower_and_upper_are_of_the_highest_level(self, levels, widest):
        forecast = make(levels=levels)
        np.testing.assert_array_equal(forecast.lower, forecast.bounds[widest, 0])
        np.testing.assert_array_equal(forecast.upper, forecast.bounds[widest, 1])
        np.testing.assert_array_equal(forecast.frame["lower"], forecast.bounds[widest, 0].T.ravel())

    def test_by_level(self):
        forecast = make(4, levels=(0.5, 0.9))
        lower, upper = forecast.interval(0.1 + 0.8)
        np.testing.assert_array_equal(lower, forecast.bounds[1, 0])
        np.testing.assert_array_equal(upper, forecast.bounds[1, 1])
        assert lower.shape == forecast.mean.shape

    def test_an_unknown_level(self):
        with pytest.raises(InputError, match=r"level must be one of the levels of this forecast \(0.5, 0.9\), got 0.8"):
            make(levels=(0.5, 0.9)).interval(0.8)

    def test_no_intervals(self):
        forecast = make(levels=())
        for ask in (lambda: forecast.lower, lambda: forecast.upper, lambda: forecast.interval(0.9)):
            with pytest.raises(InputError, match="this forecast has no intervals"):
                ask()


class TestBatch:
    def test_one_window_of_a_batch(self):
        batch = make(3, levels=(0.5, 0.9))
        one = batch[2]
        assert not one.is_batch
        np.testing.assert_array_equal(one.mean, batch.mean[2])
        np.testing.assert_array_equal(one.bounds, batch.bounds[:, :, 2])
        np.testing.assert_array_equal(one.times, batch.times[2])
        for name in ("observed", "neighbor_index", "neighbor_distance", "weights", "neighbor_times"):
            np.testing.assert_array_equal(getattr(one, name), getattr(batch, name)[2])
        assert one.observed_share == 0.25
        assert isinstance(one.observed_share, float)
        np.testing.assert_array_equal(batch[-1].mean, one.mean)

    def test_each_window_has_its_own_quality_gap_and_notes(self):
        trust = (Trust("good", 1.0), Trust("poor", 40.0, ("this window is strange",)))
        batch = make(2, trust=trust, notes=("1 of 2 windows is strange",))
        assert (batch[0].quality, batch[0].expected_gap, batch[0].notes) == ("good", 1.0, ())
        assert (batch[1].quality, batch[1].expected_gap, batch[1].notes) == ("poor", 40.0, trust[1].notes)
        assert batch[1].trust == ()
        assert make(2, notes=("a",))[1].notes == ("a",)
        with pytest.raises(InputError, match=r"trust of a forecast must have shape \(3,\), got \(2,\)"):
            make(3, trust=trust)

    def test_iteration(self):
        batch = make(3)
        np.testing.assert_array_equal([one.mean for one in batch], batch.mean)

    @pytest.mark.parametrize("window", [3, -4, 1.0, "a", True, slice(0, 2)])
    def test_bad_index_is_rejected(self, window):
        with pytest.raises(InputError, match="the index of a window must be a whole number from 0 to 2, got"):
            make(3)[window]

    def test_one_window_cannot_be_indexed(self):
        with pytest.raises(InputError, match="only the forecast of a batch can be indexed"):
            make()[0]

    def test_wide_and_plot_reject_a_batch(self):
        for ask in (lambda: make(3).wide, lambda: make(3).plot()):
            with pytest.raises(InputError, match=r"one window, and this forecast has 3: select one, as in forecast"):
                ask()


class TestToDict:
    @pytest.mark.parametrize("b", [None, 2])
    def test_survives_json(self, b):
        forecast = make(b, levels=(0.5, 0.9))
        again = json.loads(json.dumps(forecast.to_dict(), allow_nan=False))
        np.testing.assert_allclose(again["mean"], forecast.mean, rtol=1e-6)
        np.testing.assert_allclose(again["intervals"][1]["upper"], forecast.bounds[1, 1], rtol=1e-6)
        assert [interval["level"] for interval in again["intervals"]] == [0.5, 0.9]
        np.testing.assert_array_equal(np.array(again["times"], "M8[ns]"), forecast.times)
        np.testing.assert_array_equal(np.array(again["neighbors"]["end"], "M8[ns]"), forecast.neighbor_times)
        assert again["neighbors"]["start"] == forecast.neighbor_index.tolist()
        np.testing.assert_allclose(again["observed_share"], forecast.observed_share)
        assert again["variables"] == ["v0", "v1"]
        assert (again["quality"], again["expected_gap"], again["unit"]) == ("good", 2.13, "MW")

    def test_nan_and_infinity_are_none(self):
        distance = np.array([0.5, np.inf, np.inf, np.inf], np.float32)
        mean = np.array([[np.nan, 1], [2, 3], [4, 5]], np.float32)
        plain = make(neighbor_distance=distance, mean=mean, expected_gap=np.nan, dated=False, levels=()).to_dict()
        assert plain["neighbors"]["distance"] == [0.5, None, None, None]
        assert plain["mean"] == [[None, 1], [2, 3], [4, 5]]
        assert plain["expected_gap"] is None
        assert plain["times"] is None
        assert plain["intervals"] == []

    def test_fractions_of_a_second_are_kept(self):
        times = START + np.arange(3) * np.timedelta64(250, "ms")
        assert make(times=times).to_dict()["times"][1].startswith("2024-03-01T12:00:00.25")


class TestRepr:
    def test_one_window(self):
        weights = np.array([0.2, 0.5, 0.2, 0.1], np.float32)
        ends = START - np.arange(4) * np.timedelta64(1, "D")
        assert repr(make(weights=weights, neighbor_times=ends, levels=(0.5, 0.9))).splitlines() == [
            "Forecast of 2 variables, 3 steps ahead of 10min: 2024-03-01 12:10 to 2024-03-01 12:30",
            "  quality good: error about 2.1 % above that with all variables, 25 % of the window observed",
            "  intervals at 50 % and 90 %, 4 neighbors, the one with the largest weight (50 %) ends 2024-02-29 12:00",
        ]

    def test_a_batch(self):
        share = np.array([0.1, 0.25, 0.4])
        assert repr(make(3, observed_share=share, levels=())).splitlines() == [
            "Forecast of 2 variables, 3 steps ahead of 10min, for 3 windows",
            "  quality good: error about 2.1 % above that with all variables, 10 to 40 % of the window observed",
            "  no intervals",
        ]
        assert "for 0 windows" in repr(make(0))

    @pytest.mark.parametrize(
        ("quality", "gap", "words"),
        [
            ("full", None, "quality full: all variables present"),
            ("fair", None, "quality fair"),
            ("fair", float("nan"), "quality fair"),
            ("good", -1.26, "quality good: error about 1.3 % below that with all variables"),
            ("good", 0.04, "quality good: error about the same as with all variables"),
            ("poor", 31.0, "quality poor: error about 31.0 % above that with all variables"),
        ],
    )
    def test_quality(self, quality, gap, words):
        assert make(quality=quality, expected_gap=gap).quality_words == words

    @pytest.mark.parametrize(
        ("gap", "words"),
        [
            (31.0, "quality fair: error about 31.0 % above that of the last value, which beats the model"),
            (0.01, "quality fair: error about the same as that of the last value, which beats the model"),
        ],
    )
    def test_quality_against_another_reference(self, gap, words):
        forecast = make(quality="fair", expected_gap=gap, reference="the last value")
        assert forecast.quality_words == words
        assert forecast.to_dict()["reference"] == "the last value"
        assert make().to_dict()["reference"] is None

    def test_neighbors_of_a_complete_window_are_not_called_used(self):
        lines = repr(make(quality="full", expected_gap=0.0, observed_share=1.0)).splitlines()
        assert lines[2] == "  the model's own forecast, intervals at 90 % as wide as 4 neighbors suggest"
        lines = repr(make(quality="full", observed_share=1.0, levels=())).splitlines()
        assert lines[2] == "  the model's own forecast, no intervals"

    def test_without_neighbors(self):
        assert repr(make(neighbor_index=np.full(4, -1))).endswith("intervals at 90 %, no neighbors")
        assert repr(make(k=0)).endswith("intervals at 90 %, no neighbors")

    def test_in_a_notebook(self):
        page = make(h=6, variables=("<b>", "v1"))._repr_html_()
        assert page.count("<tr") == 9  # the head and eight rows
        assert "&lt;b&gt;" in page
        assert "<td><b></td>" not in page
        assert "4 more rows" in page
        assert "more rows" not in make(h=1)._repr_html_()


class TestShapes:
    @pytest.mark.parametrize(
        ("fields", "sentence"),
        [
            ({"mean": np.zeros(3)}, r"mean must be \[h, s\], or \[b, h, s\] for a batch, got shape \(3,\)"),
            ({"variables": ("a",)}, r"variables of a forecast must have shape \(2,\), got \(1,\)"),
            ({"bounds": np.zeros((2, 3, 2))}, r"bounds of a forecast must have shape \(1, 2, 3, 2\), got \(2, 3, 2\)"),
            ({"bounds": None}, "levels and bounds must be given together"),
            ({"levels": (), "bounds": np.zeros((1, 2, 3, 2))}, "levels and bounds must be given together"),
            ({"observed": np.zeros(3)}, r"observed of a forecast must have shape \(2,\), got \(3,\)"),
            ({"observed_share": np.zeros(3)}, r"observed_share of a forecast must have shape \(\), got \(3,\)"),
            ({"times": np.zeros(2, "M8[ns]")}, r"times of a forecast must have shape \(3,\), got \(2,\)"),
            (
                {"neighbor_index": np.zeros((2, 4))},
                r"neighbor_index .* must have shape \(4,\), got \(2, 4\)",
            ),
            ({"neighbor_distance": np.zeros(3)}, r"neighbor_distance of a forecast must have shape \(4,\)"),
            ({"weights": np.zeros(5)}, r"weights of a forecast must have shape \(4,\), got \(5,\)"),
            ({"neighbor_times": np.zeros(3, "M8[ns]")}, r"neighbor_times of a forecast must have shape \(4,\)"),
            ({"quality": "fine"}, "quality must be one of full, good, fair, poor, got 'fine'"),
            ({"history": np.zeros((5, 3))}, r"history of a forecast must have shape \(5, 2\), got \(5, 3\)"),
            ({"history": np.zeros(5)}, r"history of a forecast must have shape \(5, 2\), got \(5,\)"),
            ({"history_times": np.zeros(4, "M8[ns]")}, r"history_times of a forecast must have shape \(5,\)"),
        ],
    )
    def test_wrong_shapes_are_rejected(self, fields, sentence):
        with pytest.raises(InputError, match=sentence):
            make(**fields)

    def test_a_batch_has_no_history(self):
        with pytest.raises(InputError, match="history can only be given for the forecast of one window"):
            make(2, history=np.zeros((5, 2), np.float32))

    def test_is_immutable(self):
        with pytest.raises(AttributeError):
            make().quality = "full"


def test_plot_returns_the_figure_and_writes_it(tmp_path):
    figure = make().plot(["v1"], tmp_path / "a.png")
    assert [axis.get_ylabel() for axis in figure.axes] == ["v1\n(MW)"]
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", ["=1+1", "@sum", "\rreturn"])
def test_names_that_a_spreadsheet_would_run_are_marked_in_csv(tmp_path, name):
    values = np.arange(80.0).reshape(40, 2) ** 2
    train = sc.Series(values, [name, "plain"]).windows(4, 2)
    robust = sc.SubsetForecaster.paper(lambda x: np.repeat(x[:, -1:, :, 0], 2, axis=1), progress=False).fit(train)
    forecast = robust.predict(values[-4:])
    forecast.to_csv(tmp_path / "forecast.csv")
    assert forecast.frame["variable"].tolist() == [name, name, "plain", "plain"]
    assert f"'{name}" in (tmp_path / "forecast.csv").read_bytes().decode()
    with pytest.warns(sc.errors.DataWarning):
        again = sc.Series.read(tmp_path / "forecast.csv", id="variable", time="step", value="mean")
    assert again.variables == (name, "plain")
