"""Wrappers that several tests read and none changes: fitted once."""

import pytest

import subcast as sc
from subset.examples import HORIZON, LOOKBACK, learn, waves


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
