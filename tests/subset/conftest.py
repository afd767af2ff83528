"""Wrappers that several tests read and none changes: fitted once."""

import pytest

import subcast as sc
from subset.examples import HORIZON, LOOKBACK, few_trees, learn, waves


@pytest.fixture(scope="session")
def wave_parts():
    """Training, validation and test windows of hourly waves."""
    return waves(steps=600).split(LOOKBACK, HORIZON, shares=(0.6, 0.2, 0.2))


@pytest.fixture(scope="session")
def learned(wave_parts):
    """A forecaster of the waves that needs all of them."""
    return learn(wave_parts.train)


@pytest.fixture(scope="session")
def tuned(wave_parts, learned):
    """The default, tuned and calibrated, with the specialist in play. Do not fit it again."""
    train, val, _ = wave_parts
    return sc.SubsetForecaster(learned, progress=False, levels=(0.9, 0.5), blend=((0.3, 0.4, 0.5),) * 3).fit(train, val)


@pytest.fixture(scope="session")
def boosted_parts():
    """Training windows that suffice for the boosted expert, validation and test windows."""
    return waves(n=3, steps=1500).split(LOOKBACK, HORIZON, shares=(0.75, 0.12, 0.13))


@pytest.fixture(scope="session")
def boosted_wrapper(boosted_parts):
    """The default with trained trees in play, of all variables and of each. Do not fit it again."""
    train, val, _ = boosted_parts
    rows = ((0.3,) * HORIZON,) * 3
    blend = {"specialist": rows, "linear": rows, "boosted": rows, "own_trees": rows}
    robust = sc.SubsetForecaster(learn(train), progress=False, neighbors=10, correction=0.5, blend=blend)
    with few_trees():
        return robust.fit(train, val)
