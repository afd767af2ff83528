"""Wrap a fitted multivariate model of neuralforecast.

Run: python examples/wrap_neuralforecast.py   (needs neuralforecast: pip install neuralforecast)
"""

import logging
import sys
import warnings

import subcast as sc

try:
    import torch
    from neuralforecast import NeuralForecast
    from neuralforecast.models import SOFTS
except ModuleNotFoundError as error:
    print(f"This example needs {error.name}: pip install neuralforecast")
    sys.exit(0)

for name in ("pytorch_lightning", "lightning.pytorch"):
    logging.getLogger(name).setLevel(logging.ERROR)
warnings.simplefilter("ignore")
torch.set_num_threads(1)  # the model is tiny

series = sc.load_dataset("clouds", n_plants=12, n_steps=2000)
train, val, test = series.split(lookback=12, horizon=12)

# Nothing here is special to subcast: a long table, one multivariate model.
wide = train.series.to_frame().rename_axis("ds").reset_index()
table = wide.melt("ds", var_name="unique_id", value_name="y")
quiet = {"enable_progress_bar": False, "enable_model_summary": False, "logger": False, "accelerator": "cpu"}
small = {"hidden_size": 32, "d_core": 16, "d_ff": 32, "e_layers": 1, "max_steps": 300}
nf = NeuralForecast([SOFTS(h=12, input_size=12, n_series=12, **small, **quiet)], freq=series.freq)
nf.fit(table)

# And from here on any of the plants may fall silent.
robust = sc.SubsetForecaster(nf).fit(train, val)
recent = test.series.to_frame().between_time("11:00", "12:50").tail(12)  # the last two hours we know
forecast = robust.predict(recent[["plant-000", "plant-004", "plant-007"]])
in_two_hours = forecast.frame.query("step == 12")[["variable", "time", "mean", "lower", "upper"]]
print("Three plants report, nine are silent; in two hours the three will give (MW):")
print(in_two_hours.to_string(index=False, float_format="%.1f"))
