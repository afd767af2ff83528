"""Wrappers that several tests read and none changes: fitted once."""

import pytest

import subcast as sc
from wrapper.examples import HORIZON, LOOKBACK, mixing, waves


@pytest.fixture(scope="session")
def wave_parts():
    """Training, validation and test windows of hourly waves."""
    return waves(steps=600).split(LOOKBACK, HORIZON, shares=(0.6, 0.2, 0.2))


@pytest.fixture(scope="session")
def tuned(wave_parts):
    """The default, tuned and calibrated. Do not push steps into it or fit it again."""
    train, val, _ = wave_parts
    return sc.SubsetForecaster(mixing, progress=False, levels=(0.9, 0.5)).fit(train, val)
