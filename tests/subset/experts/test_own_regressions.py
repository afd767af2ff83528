"""What the regression of a variable forecasts: its readings or its changes, chosen by trials against plain loops."""

import numpy as np

import subcast as sc
from subcast.boosting import spread_steps
from subcast.series import Series
from subcast.subset.experts.own_regressions import (
    SHRINKAGES,
    OwnRegressions,
    _trial_losses,
    choose_forms,
    own_inputs,
)
from subcast.subset.fitted import Fitted
from subset.examples import HORIZON, LOOKBACK, last_reading


def fitted_on(values):
    train = Series(values).windows(LOOKBACK, HORIZON)
    return train, Fitted.fit(last_reading, train, sc.Settings())


def walk_and_noise(steps=2000, seed=1):
    rng = np.random.default_rng(seed)
    return np.stack([np.cumsum(rng.normal(size=steps)), rng.normal(size=steps)], axis=1)


def losses_by_loops(values, fitted, starts, steps):
    """The trials for one variable, window by window: learned on what came before, tried on what follows."""
    mean, scale = float(fitted.normalizer.levels[0][0]), float(fitted.normalizer.levels[1][0])
    units = (values[:, 0].astype(np.float64) - mean) / scale
    table = []
    for ahead in steps:
        changes, readings = [], []
        for start in starts:
            window, target = units[start : start + LOOKBACK], units[start + LOOKBACK + ahead]
            readings.append(([*window, 0.0, 0.0, 1.0], target))
            changes.append(([*(window - window[-1]), 0.0, 0.0, 1.0], target - window[-1]))
        count = len(starts)
        for begin, end in ((count // 2, count * 3 // 4), (count * 3 // 4, count)):
            last = next(i for i in range(count) if starts[i] >= starts[begin - 1] - (LOOKBACK + HORIZON))
            unit = np.mean([target**2 for _, target in changes[begin:end]])
            row = []
            for rows, penalties in ((changes, SHRINKAGES), (readings, (None,))):
                inputs, targets = np.array([x for x, _ in rows]), np.array([y for _, y in rows])
                for penalty in penalties:
                    gram = inputs[:last].T @ inputs[:last]
                    for i in range(len(gram)):
                        if penalty is None:
                            gram[i, i] += last * (1e-9 if i == LOOKBACK + 2 else 1e-4)
                        else:
                            gram[i, i] = gram[i, i] * (1 + penalty) + last * 1e-9
                    solution = np.zeros(len(gram))
                    if penalty != np.inf:
                        solution = np.linalg.solve(gram, inputs[:last].T @ targets[:last])
                    errors = [targets[i] - float(inputs[i] @ solution) for i in range(begin, end)]
                    row.append(np.mean(np.square(errors)) / unit)
            table.append(row)
    return np.mean(table, axis=0)


def test_trials_against_loops():
    values = walk_and_noise(400)
    train, fitted = fitted_on(values)
    steps = spread_steps(HORIZON, 3)
    regressions = OwnRegressions(train, fitted, steps, most=150)
    expected = losses_by_loops(values, fitted, regressions.starts.tolist(), steps.tolist())
    np.testing.assert_allclose(_trial_losses(regressions, 0), expected, rtol=2e-3)


def test_changes_of_walks_are_mostly_forecast_as_none_and_noise_by_its_readings():
    forms = [choose_forms(*fitted_on(walk_and_noise(seed=seed))) for seed in range(8)]
    assert sum(each.shrinkage[0] == np.inf for each in forms) >= 6
    assert all(np.isnan(each.shrinkage[1]) and not each.wanders[1] for each in forms)


def test_a_walk_that_leaves_its_levels_wanders():
    steps = np.arange(2000)
    rng = np.random.default_rng(0)
    trend = 0.05 * steps + np.cumsum(rng.normal(size=2000))
    forms = choose_forms(*fitted_on(np.stack([trend, rng.normal(size=2000)], axis=1)))
    assert forms.wanders.tolist() == [True, False]


def test_too_few_targets_leave_the_readings():
    values = walk_and_noise(400)
    values[:, 0] = np.nan
    values[::90, 0] = 2.0
    assert np.isnan(choose_forms(*fitted_on(values)).shrinkage[0])


def test_inputs_of_changes_are_measured_from_the_last_reading():
    train, fitted = fitted_on(walk_and_noise(400))
    windows = train[:3]
    readings = fitted.normalize(fitted.arrive(windows), np.array([0, 1]))
    slots = np.zeros((3, LOOKBACK + HORIZON), dtype=np.int64)
    steps = np.arange(HORIZON)
    which = np.array([True, False])
    past, last, ahead, base = own_inputs(fitted, readings, slots, np.array([0, 1]), steps, which)
    plain = own_inputs(fitted, readings, slots, np.array([0, 1]), steps, np.array([False, False]))
    assert (past[:, -1, 0] == 0).all()
    np.testing.assert_allclose(past[:, :, 0] + base[:, None, 0], plain[0][:, :, 0], rtol=1e-5, atol=1e-6)
    assert (base[:, 1] == 0).all()
    assert (last[:, 0] == 0).all()
    assert ahead.shape == (3, HORIZON, 2)
