"""Wrap a scikit-learn regressor: `flatten` makes the matrices it is fitted on, `from_sklearn` undoes them.

Run: python examples/wrap_sklearn.py
"""

from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import subcast as sc
from subcast.adapters import flatten, from_sklearn

series = sc.load_dataset("clouds", n_plants=12, n_steps=2000)
train, val, test = series.split(lookback=12, horizon=12)

X, y = flatten(train)  # [windows, 12 steps x 12 plants] each
regressor = make_pipeline(StandardScaler(), Ridge(alpha=100)).fit(X, y)
model = from_sklearn(regressor, lookback=12, horizon=12, variables=series.variables)
print(f"fitted on {len(X):,} windows: {model}")

robust = sc.SubsetForecaster(model, effort=0.2).fit(train, val)  # 0.2 is quick, 1 is the default
recent = test.series.to_frame().between_time("11:00", "12:50").tail(12)  # the last two hours we know
forecast = robust.predict(recent[["plant-000", "plant-004", "plant-007"]])
in_two_hours = forecast.frame.query("step == 12")[["variable", "time", "mean", "lower", "upper"]]
print("Three plants report, nine are silent; in two hours the three will give (MW):")
print(in_two_hours.to_string(index=False, float_format="%.1f"))
