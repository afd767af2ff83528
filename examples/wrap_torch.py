"""Wrap a PyTorch module of your own, trained on normalized values.

Run: python examples/wrap_torch.py   (needs torch: pip install 'subcast[models]')
"""

import sys

import subcast as sc

try:
    import torch
except ModuleNotFoundError:
    print("This example needs torch: pip install 'subcast[models]'")
    sys.exit(0)

from subcast.adapters import from_torch

torch.manual_seed(0)
torch.set_num_threads(1)  # the model is tiny
series = sc.load_dataset("clouds", n_plants=12, n_steps=2000)
train, val, test = series.split(lookback=12, horizon=12)
scaler = sc.Scaler.fit(train)


class Mixer(torch.nn.Module):
    """All plants' last two hours, through one hidden layer, to all plants' next two."""

    def __init__(self, n=12):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(12 * n, 64), torch.nn.ReLU(), torch.nn.Linear(64, 12 * n))

    def forward(self, x):  # [b, t, n, f]
        return x[:, -1:, :, 0] + self.layers(x[..., 0].flatten(1)).view(len(x), 12, -1)  # [b, h, n]


module, batch = Mixer(), train.batch()
inputs = torch.from_numpy(scaler.transform_inputs(batch.inputs))
targets = torch.from_numpy(scaler.transform(batch.targets))
optimizer = torch.optim.Adam(module.parameters(), lr=1e-3)
for _ in range(150):
    optimizer.zero_grad()
    loss = (module(inputs) - targets).abs().mean()
    loss.backward()
    optimizer.step()
print(f"trained to a mean error of {loss.item():.3f} deviations")

model = from_torch(module, lookback=12, horizon=12, scaler=scaler, variables=series.variables)  # raw units from here on
print(model)

robust = sc.SubsetForecaster(model, effort=0.2).fit(train, val)  # 0.2 is quick, 1 is the default
recent = test.series.to_frame().between_time("11:00", "12:50").tail(12)  # the last two hours we know
forecast = robust.predict(recent[["plant-000", "plant-004", "plant-007"]])
in_two_hours = forecast.frame.query("step == 12")[["variable", "time", "mean", "lower", "upper"]]
print("Three plants report, nine are silent; in two hours the three will give (MW):")
print(in_two_hours.to_string(index=False, float_format="%.1f"))
