"""Make the golden forecasts: what the wrapper forecasts from generated data with given settings.

    python tests/data/golden/make_golden.py tests/data/golden/forecasts.npz

`tests/test_golden.py` makes them again and compares. They were first written before the package was restructured; write
them anew only when a change of the forecasts is wanted, and say so in the changelog.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

import subcast as sc

LOOKBACK, HORIZON, N = 6, 3, 7
STAY = {"follow_levels": False}  # as it was when the forecasts were first written
PRESENT = np.array([1, 3, 4])
FEW, MANY = ((0.3, 0.45, 0.6), (0.2, 0.3, 0.4), (0.1, 0.1, 0.2)), ((0.5, 0.6, 0.7), (0.4, 0.5, 0.6), (0.3, 0.4, 0.5))


def readings(*, times: bool = True, holes: bool = False, zeros: bool = False, features: tuple[str, ...] = ()) -> Any:
    """Hourly waves with a common walk: 40 days of seven variables."""
    rng = np.random.default_rng(11)
    steps = 960
    hour = np.arange(steps)
    phase, height = rng.uniform(0, 2 * np.pi, N), rng.uniform(1, 4, N)
    common = np.cumsum(rng.normal(size=steps)) * 0.3
    values = height * np.sin(2 * np.pi * hour[:, None] / 24 + phase) + common[:, None] * rng.uniform(0.5, 1.5, N)
    values = values + 0.4 * rng.normal(size=(steps, N)) + 5 * np.arange(N)
    if holes:
        values[rng.random(values.shape) < 0.06] = np.nan
    if zeros:
        values[rng.random(values.shape) < 0.05] = 0.0
    moments = np.datetime64("2024-03-01T05:00") + hour * np.timedelta64(1, "h") if times else None
    names = tuple(f"wave-{i}" for i in range(N))
    return sc.Series(
        values.astype(np.float32), names, moments, freq="h" if times else None, time_features=features, name="golden"
    )


def mixing(x: Any) -> Any:
    """Bend and mix variables, and look at their time features: [b, t, n, f] to [b, h, n]."""
    x = np.asarray(x, dtype=np.float64)
    last, mean = x[:, -1, :, 0], x[..., 0].mean(axis=1)  # [b, n]
    place = np.arange(x.shape[2])
    steps = []
    for q in range(1, HORIZON + 1):
        others = np.roll(last, 1, axis=1) - np.roll(mean, -2, axis=1)
        y = 0.6 * last + 0.3 * mean + np.tanh(0.5 * others) * q + 0.1 * place
        if x.shape[3] > 1:
            y = y + np.roll(x[:, -1, :, 1], 1, axis=1) * (1 + place) + 0.5 * x[:, 0, :, 1]
        steps.append(y)
    return np.stack(steps, axis=1)


def facts(forecast: Any) -> dict[str, Any]:
    """Give everything numeric that a forecast says."""
    arrays = {
        "mean": forecast.mean,
        "neighbors": forecast.neighbor_index,
        "distance": forecast.neighbor_distance,
        "weights": forecast.weights,
        "observed": forecast.observed,
    }
    if forecast.bounds is not None:
        arrays["bounds"] = forecast.bounds
    if forecast.times is not None:
        arrays["times"] = forecast.times.astype("datetime64[s]").astype(np.int64)
    if forecast.expected_gap is not None:
        arrays["expected_gap"] = np.array(forecast.expected_gap)
    return arrays


def many(robust: Any, test: Any, **options: Any) -> dict[str, Any]:
    """Forecast some consecutive windows and some that are not."""
    arrays = {f"run/{key}": value for key, value in facts(robust.predict_many(test[:12], **options)).items()}
    return arrays | {f"apart/{key}": value for key, value in facts(robust.predict_many(test[::9], **options)).items()}


def default(settings: dict[str, Any], *, metric: str = "mae", protocol: str = "default", **data: Any) -> dict[str, Any]:
    """The default with given settings: S alone, absent variables too, and everything present."""
    train, val, test = readings(**data).split(LOOKBACK, HORIZON, shares=(0.6, 0.2, 0.2), protocol=protocol)
    given = sc.Settings(**{**STAY, **settings})
    robust = sc.SubsetForecaster(mixing, settings=given, metric=metric, levels=(0.9, 0.5), progress=False)
    robust.fit(train, val)
    found = {f"subset/{key}": value for key, value in many(robust, test, present=PRESENT).items()}
    found |= {f"absent/{key}": value for key, value in many(robust, test, present=[0, 5], absent=True).items()}
    found |= {f"most/{key}": value for key, value in many(robust, test, present=[0, 1, 2, 4, 5, 6]).items()}
    return found | {f"all/{key}": value for key, value in many(robust, test, present=np.arange(N)).items()}


def paper(changes: dict[str, Any], *, protocol: str = "paper", **data: Any) -> dict[str, Any]:
    """The published method, perhaps with changes."""
    train, _, test = readings(**data).split(LOOKBACK, HORIZON, protocol=protocol)
    robust = sc.SubsetForecaster.paper(mixing, progress=False, **changes).fit(train)
    found = {f"subset/{key}": value for key, value in many(robust, test, present=PRESENT).items()}
    return found | {f"absent/{key}": value for key, value in many(robust, test, present=[0, 5], absent=True).items()}


def frames() -> dict[str, Any]:
    """Frames with some columns, with and without times, holes inside."""
    train, val, test = readings().split(LOOKBACK, HORIZON, shares=(0.6, 0.2, 0.2))
    robust = sc.SubsetForecaster(mixing, settings=sc.Settings(blend=FEW, **STAY), progress=False).fit(train, val)
    frame = test.series.to_frame().iloc[40 : 40 + LOOKBACK]
    some = frame[["wave-4", "wave-1"]].copy()
    some.iloc[2, 0] = np.nan
    found = {f"times/{key}": value for key, value in facts(robust.predict(some)).items()}
    found["paths"] = robust.predict(some).paths()
    plain = robust.predict(frame[["wave-2", "wave-6"]].to_numpy(), names=["wave-2", "wave-6"], absent=True)
    return found | {f"guessed/{key}": value for key, value in facts(plain).items()}


def stream(*, times: bool) -> dict[str, Any]:
    """A live stream in which sensors die and come back."""
    train, val, test = readings(times=times).split(LOOKBACK, HORIZON, shares=(0.6, 0.2, 0.2))
    robust = sc.SubsetForecaster(mixing, settings=sc.Settings(blend=FEW, **STAY), progress=False).fit(train, val)
    found: dict[str, Any] = {}
    for step in range(20):
        row = dict(zip(test.series.variables, test.series.values[step], strict=True))
        gone = {"wave-0", "wave-6"} if step < 9 else {"wave-0", "wave-2", "wave-5"}
        row = {name: float(value) for name, value in row.items() if name not in gone}
        forecast = robust.update(row, test.series.times[step] if times else None)
        if forecast is not None:
            found |= {f"{step:02d}/{key}": value for key, value in facts(forecast).items()}
    return found


def tuned() -> dict[str, Any]:
    """Settings found by tuning, and a forecast with them."""
    train, val, test = readings().split(LOOKBACK, HORIZON, shares=(0.5, 0.3, 0.2))
    robust = sc.SubsetForecaster(mixing, progress=False).fit(train, val)
    s = robust.settings_
    found = {
        "neighbors": np.array(s.neighbors),
        "exponent": np.array(s.exponent),
        "ridge": np.array(s.ridge),
        "correction": np.array(s.correction),
        "lean": np.array(s.regression_share),
        "blend": np.array(s.blend["specialist"]),
        "blend_absent": np.array(s.blend_absent["specialist"]),
    }
    return found | many(robust, test, present=PRESENT)


def trained() -> dict[str, Any]:
    """A model of the package itself, with its own time features and holes."""
    folder = Path(__file__).parents[1] / "checkpoints" / "mtgnn"
    rng = np.random.default_rng(5)
    hours = np.arange(480)
    values = 20 + 5 * np.sin(2 * np.pi * (hours[:, None] / 24 + np.arange(5) / 5)) + rng.normal(size=(480, 5))
    values[rng.random(values.shape) < 0.02] = np.nan
    times = np.datetime64("2024-01-01") + hours * np.timedelta64(1, "h")
    names = ("north", "east", "south", "west", "center")
    series = sc.Series(values.astype(np.float32), names, times, time_features=("time_of_day",), name="waves")
    train, val, test = series.split(12, 4)
    model = sc.TrainedForecaster.load(folder)
    rows = tuple((*row, 0.2) for row in FEW)
    robust = sc.SubsetForecaster(model, settings=sc.Settings(blend=rows, **STAY), progress=False).fit(train, val)
    found = {f"default/{key}": value for key, value in many(robust, test, present=["east", "west"]).items()}
    robust = sc.SubsetForecaster.paper(model, progress=False).fit(train)
    return found | {f"paper/{key}": value for key, value in many(robust, test, present=["east", "west"]).items()}


CASES = {
    "default": (default, [{"blend": FEW, "blend_absent": MANY}], {}),
    "default-no-times": (default, [{"blend": FEW}], {"times": False}),
    "default-holes": (default, [{"blend": FEW, "blend_absent": MANY}], {"holes": True}),
    "default-rmse": (default, [{"blend": FEW, "center": "mean", "weighting": "distance"}], {"metric": "rmse"}),
    "default-features": (
        default,
        [{"blend": FEW, "features_in_distance": True, "weighting": "rank", "exponent": 1.0}],
        {"features": ("time_of_day",)},
    ),
    "default-targets": (
        default,
        [{"blend": FEW, "correction": 1.0, "regression_share": 0.5, "ridge": 0.3, "neighbors": 10}],
        {"zeros": True, "protocol": "paper"},
    ),
    "default-plain": (
        default,
        [{"daily_profile": False, "time_of_day_weight": 0.0, "correction": 0.0, "bank_share": 0.5}],
        {},
    ),
    "paper": (paper, [{}], {}),
    "paper-features": (paper, [{}], {"features": ("time_of_day",)}),
    "paper-holes": (paper, [{}], {"holes": True, "times": False}),
    "paper-uniform": (paper, [{"weighting": "uniform", "exponent": 1.0}], {}),
    "paper-distance": (paper, [{"weighting": "distance", "temperature": 0.3, "neighbors": 8}], {}),
    "paper-rank": (paper, [{"weighting": "rank", "bank_share": 0.3}], {}),
    "paper-corrected": (paper, [{"correction": 0.7, "blend": FEW, "regression_share": 1.0}], {}),
    "frames": (frames, [], {}),
    "stream": (stream, [], {"times": True}),
    "stream-no-times": (stream, [], {"times": False}),
    "tuned": (tuned, [], {}),
    "trained": (trained, [], {}),
}


def make(name: str) -> dict[str, Any]:
    """Make the arrays of one case, by name."""
    function, positional, options = CASES[name]
    return {f"{name}/{key}": np.asarray(value) for key, value in function(*positional, **options).items()}


def main(path: Path) -> None:
    """Make all of them and write them to one file."""
    arrays = {key: value for name in CASES for key, value in make(name).items()}
    np.savez_compressed(path, **arrays)
    print(f"{len(arrays)} arrays in {path}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
