"""Wrap a fitted darts model.

Run: python examples/wrap_darts.py   (needs darts and torch: pip install darts torch pytorch-lightning)
"""

import logging
import sys
import warnings

import subcast as sc

try:
    import darts
    import pytorch_lightning  # noqa: F401
    import torch
    from darts.models import NLinearModel
except ModuleNotFoundError as error:
    print(f"This example needs {error.name}: pip install darts torch pytorch-lightning")
    sys.exit(0)

logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
warnings.simplefilter("ignore")
torch.set_num_threads(1)  # the model is tiny

series = sc.load_dataset("clouds", n_plants=12, n_steps=2000)
train, val, test = series.split(lookback=12, horizon=12)

# Nothing here is special to subcast: one multivariate TimeSeries, one global model.
darts_series = darts.TimeSeries.from_dataframe(train.series.to_frame(), freq=series.freq)
quiet = {"enable_progress_bar": False, "enable_model_summary": False, "logger": False, "accelerator": "cpu"}
model = NLinearModel(input_chunk_length=12, output_chunk_length=12, n_epochs=8, random_state=0, pl_trainer_kwargs=quiet)
model.fit(darts_series)

# And from here on any of the plants may fall silent.
robust = sc.SubsetForecaster(model).fit(train, val)
recent = test.series.to_frame().between_time("11:00", "12:50").tail(12)  # the last two hours we know
forecast = robust.predict(recent[["plant-000", "plant-004", "plant-007"]])
in_two_hours = forecast.frame.query("step == 12")[["variable", "time", "mean", "lower", "upper"]]
print("Three plants report, nine are silent; in two hours the three will give (MW):")
print(in_two_hours.to_string(index=False, float_format="%.1f"))
