"""A traffic day on which sensors fail one after the other.

Sixteen speed sensors along a motorway report every five minutes. A ridge regression forecasts all of them for the next
half hour. On the last day the sensors fail in four steps until two are left.

Run: python examples/traffic_day.py   (--plot traffic-day.png also draws the day)
"""

import argparse

import numpy as np
import pandas as pd
from sklearn.linear_model import Ridge

import subcast as sc
from subcast.adapters import flatten, from_sklearn


# --8<-- [start:data]
def generate_traffic(n_sensors=16, n_days=29, seed=0):
    """Generate speeds [t, n] in km/h; in the rush hours queues grow upstream from sensor 11."""
    rng = np.random.default_rng(seed)
    times = pd.date_range("2024-03-01", periods=n_days * 288, freq="5min")
    hour = (np.arange(len(times)) % 288) / 12  # [t]
    speed = np.full((len(times), n_sensors), 105.0)
    speed += 6 * np.sin(np.arange(n_sensors))  # every sensor has its own free speed
    for day in range(n_days):
        steps = slice(day * 288, (day + 1) * 288)
        weekend = times[day * 288].day_of_week >= 5
        for rush_hour in (7.8, 17.2):
            depth = rng.uniform(5, 20) if weekend else rng.uniform(35, 75)
            start, length = rush_hour + rng.normal(0, 0.4), rng.uniform(0.7, 1.6)
            for sensor in range(n_sensors):
                delay = 0.12 * abs(11 - sensor) if sensor <= 11 else 0.4 * (sensor - 11)
                strength = depth * np.exp(-abs(11 - sensor) / (9 if sensor <= 11 else 1.5))
                since = (hour[steps] - start - delay) / length
                speed[steps, sensor] -= strength * np.exp(-(since**4))
    noise = np.zeros_like(speed)
    for step in range(1, len(times)):  # each sensor fluctuates slowly, around what the queues do
        noise[step] = 0.8 * noise[step - 1] + rng.normal(0, 1.5, n_sensors)
    names = [f"km-{sensor:02d}" for sensor in range(n_sensors)]
    return pd.DataFrame(speed + noise, index=times, columns=names)


table = generate_traffic()
series = sc.Series.from_frame(table, name="motorway")
# The test part is the last day.
train, val, test = series.split(lookback=12, horizon=6, shares=(0.7, 0.25, 0.05))
today = table.iloc[-288 - 11 :]  # the last day, and the 11 steps before it
print(series)
# --8<-- [end:data]

# --8<-- [start:model]
X, y = flatten(train)  # windows as rows: 12 steps x 16 sensors in, 6 steps x 16 sensors out
ridge = Ridge(alpha=100).fit(X, y)
model = from_sklearn(ridge, lookback=12, horizon=6, variables=series.variables)
robust = sc.SubsetForecaster(model, effort=0.2, progress=False).fit(train, val)  # 0.2 is quick
# --8<-- [end:model]

# --8<-- [start:day]
# From this hour on, only these sensors report.
REPORTING = {
    0: list(range(16)),
    6: [0, 2, 3, 5, 6, 8, 9, 11, 12, 14],
    8: [2, 5, 8, 11, 14],
    16: [5, 11],
}


def reporting(time):
    """Return the names of the sensors that report at a time."""
    if time.date() != today.index[-1].date():
        return list(series.variables)
    hour = max(hour for hour in REPORTING if hour <= time.hour)
    return [series.variables[sensor] for sensor in REPORTING[hour]]


forecasts = {}
for time, readings in today.iterrows():
    forecast = robust.update(readings[reporting(time)], time)  # None until there are 12 steps
    if forecast is not None:
        forecasts[time] = forecast
print(f"{len(forecasts)} forecasts, one every five minutes")
# --8<-- [end:day]

# --8<-- [start:errors]
usual = train.readings.mean(axis=(0, 1))  # [n], the mean of each sensor


def model_forecast(time, present):
    """Forecast [h, n] of the model when sensors that do not report are replaced by their mean."""
    window = today.loc[:time].tail(12).to_numpy()
    absent = [name not in present for name in series.variables]
    return model(np.where(absent, usual, window)[None, :, :, None].astype(np.float32))[0]


rows = []
for time, forecast in forecasts.items():
    truth = table.loc[time:].iloc[1:7]
    if len(truth) < 6:
        continue  # the day is over before the half hour is
    names = reporting(time)  # sensors that failed in the last hour are forecast too, but not counted
    columns = [forecast.variables.index(name) for name in names]
    sensors = [series.variables.index(name) for name in names]
    actual = truth[names].to_numpy()
    mean = forecast.mean[:, columns]
    lower, upper = forecast.lower[:, columns], forecast.upper[:, columns]
    with_all = model_forecast(time, series.variables)[:, sensors]
    with_means = model_forecast(time, names)[:, sensors]
    rows.append(
        {
            "from hour": max(hour for hour in REPORTING if hour <= time.hour),
            "sensors": len(names),
            "all sensors": np.abs(with_all - actual).mean(),
            "means filled in": np.abs(with_means - actual).mean(),
            "subcast": np.abs(mean - actual).mean(),
            "covered %": 100 * ((lower <= actual) & (actual <= upper)).mean(),
        }
    )
errors = pd.DataFrame(rows).groupby(["from hour", "sensors"]).mean()
print("Mean absolute error over the next half hour, in km/h:")
print(errors.reset_index().to_string(index=False, float_format="%.1f"))
# --8<-- [end:errors]

# --8<-- [start:virtual]
evening = pd.Timestamp("2024-03-29 17:30")
window = today.loc[:evening].tail(12)[reporting(evening)]  # two sensors
everything = robust.predict(window, absent=True)
silent = [name for name in everything.variables if name not in window.columns]
guess = everything.wide[silent].iloc[-1]  # [n - s], half an hour ahead
truth = table.loc[evening:].iloc[6][silent]
print(f"At {evening:%H:%M} two sensors report; quality {everything.quality!r}")
print(f"the 14 silent ones, forecast half an hour ahead: mean error {np.abs(guess - truth).mean():.1f} km/h")
usual_error = np.abs(table[silent].mean() - truth).mean()
print(f"the same with the usual speed of each:           mean error {usual_error:.1f} km/h")
# --8<-- [end:virtual]


def draw_day(path):
    """Draw one sensor's day: readings, forecasts half an hour ahead, intervals, and how many sensors report."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    name = "km-11"
    ahead = pd.Timedelta("30min")
    columns = [(time + ahead, f, f.variables.index(name)) for time, f in forecasts.items()]
    when = [time for time, _, _ in columns]
    figure, axes = plt.subplots(figsize=(9, 4.2), layout="constrained")
    axes.fill_between(
        when,
        [f.lower[-1, column] for _, f, column in columns],
        [f.upper[-1, column] for _, f, column in columns],
        color="#3f51b5", alpha=0.2, linewidth=0, label="90 % interval",
    )  # fmt: skip
    axes.plot(table.loc[when[0] : today.index[-1], name], color="#222222", linewidth=1, label="measured")
    axes.plot(when, [f.mean[-1, column] for _, f, column in columns], color="#3f51b5", label="forecast 30 min before")
    hours = list(REPORTING)
    for hour, following in zip(hours, [*hours[1:], 24], strict=True):
        left, right = today.index[11] + pd.Timedelta(hours=hour), today.index[11] + pd.Timedelta(hours=following)
        if hour:
            axes.axvline(left, color="#999999", linewidth=0.8, linestyle="--")
        axes.text(left + (right - left) / 2, 126, f"{len(REPORTING[hour])} of 16", ha="center", fontsize=9)
    axes.set(ylim=(0, 132), xlim=(today.index[11], today.index[11] + pd.Timedelta(days=1)), ylabel=f"{name}, km/h")
    axes.xaxis.set_major_formatter(matplotlib.dates.DateFormatter("%H:%M"))
    axes.legend(loc="lower left", frameon=False, fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=130)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--plot", help="file to draw the day into")
    if path := parser.parse_args().plot:
        draw_day(path)
