"""Most plants are silent: find the past windows that resemble the rest, and see what the silent ones did then.

Run: python examples/fill_from_neighbors.py
"""

import numpy as np

import subcast as sc

series = sc.load_dataset("clouds")
train, _, test = series.split(lookback=12, horizon=12)
scaler = sc.Scaler.fit(train)
present = sc.draw_subsets(series.n_variables, share=0.15, draws=1, seed=0)[0]
absent = np.setdiff1d(np.arange(series.n_variables), present)

bank = sc.WindowBank(scaler.transform(train.series.values), lookback=12, starts=train.starts)
by_day = test.readings[:, :, present].min(axis=(1, 2)) > 0
windows = scaler.transform(test.readings[by_day])  # [b, t, n]; only `present` is looked at
found = bank.nearest(windows, variables=present, k=5)

borrowed = bank.windows(found.index, variables=absent).mean(axis=1)  # [b, k, t, s] -> [b, t, s]
truth = windows[:, :, absent]
print(f"{len(present)} of {series.n_variables} plants report, {len(windows):,} windows by day")
print(f"the silent ones, borrowed from 5 neighbors: mean error {np.abs(borrowed - truth).mean():.3f} deviations")
print(f"the silent ones, put at their mean:          mean error {np.abs(truth).mean():.3f} deviations")
print("neighbors of the first window start at", *train.series.times[bank.starts[found.index[0]]].astype("M8[m]"))
