"""Wrap any function of windows: here "the coming two hours look like the last two, fading to their mean".

Run: python examples/wrap_callable.py
"""

import numpy as np

import subcast as sc
from subcast.adapters import from_callable

series = sc.load_dataset("clouds", n_plants=12, n_steps=2000)
train, val, test = series.split(lookback=12, horizon=12)


def fading(x):
    """Readings [b, t, n, f] in megawatts -> forecasts [b, h, n] in megawatts."""
    last, mean = x[:, -1:, :, 0], x[..., 0].mean(axis=1, keepdims=True)  # [b, 1, n]
    fade = np.linspace(1, 0, 12)[None, :, None]  # [1, h, 1]
    return fade * last + (1 - fade) * mean


model = from_callable(fading, lookback=12, horizon=12)
print(model)

robust = sc.SubsetForecaster(model, effort=0.2).fit(train, val)  # 0.2 is quick, 1 is the default
recent = test.series.to_frame().between_time("11:00", "12:50").tail(12)  # the last two hours we know
forecast = robust.predict(recent[["plant-000", "plant-004", "plant-007"]])
in_two_hours = forecast.frame.query("step == 12")[["variable", "time", "mean", "lower", "upper"]]
print("Three plants report, nine are silent; in two hours the three will give (MW):")
print(in_two_hours.to_string(index=False, float_format="%.1f"))
