"""Wrap a fitted darts model.

Run: python examples/wrap_darts.py   (needs darts and torch: pip install darts torch pytorch-lightning)
"""

import logging
import sys
import warnings

import numpy as np

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

# --8<-- [start:data]
series = sc.load_dataset("clouds", n_plants=12, n_steps=2000)
train, val, test = series.split(lookback=12, horizon=12)
print(series)
# --8<-- [end:data]

# --8<-- [start:model]
darts_series = darts.TimeSeries.from_dataframe(train.series.to_frame(), freq=series.freq)
quiet = {"enable_progress_bar": False, "enable_model_summary": False, "logger": False, "accelerator": "cpu"}
model = NLinearModel(input_chunk_length=12, output_chunk_length=12, n_epochs=8, random_state=0, pl_trainer_kwargs=quiet)
model.fit(darts_series)
# --8<-- [end:model]

# --8<-- [start:wrap]
robust = sc.SubsetForecaster(model, progress=False).fit(train, val)
# --8<-- [end:wrap]

# --8<-- [start:forecast]
recent = test.series.to_frame().between_time("11:00", "12:50").tail(12)  # the last two hours that are known
forecast = robust.predict(recent[["plant-000", "plant-004", "plant-007"]])
in_two_hours = forecast.frame.query("step == 12")[["variable", "time", "mean", "lower", "upper"]]
print("Three plants report, nine do not; in two hours the three will give (MW):")
print(in_two_hours.to_string(index=False, float_format="%.1f"))
# --8<-- [end:forecast]

# --8<-- [start:compare]
present = ["plant-000", "plant-004", "plant-007"]
columns = [series.variables.index(name) for name in present]
windows = test[::5]
truth = windows.targets[:, :, columns]  # [b, h, s]

with_all = robust.predict_many(windows).mean[:, :, columns]  # all variables are present: darts' own forecast
with_three = robust.predict_many(windows, present=present).mean
print(f"mean absolute error of the three plants, all twelve reporting:   {np.abs(with_all - truth).mean():.2f} MW")
print(f"mean absolute error of the three plants, only the three present: {np.abs(with_three - truth).mean():.2f} MW")
# --8<-- [end:compare]
