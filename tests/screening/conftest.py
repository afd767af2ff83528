"""A screener that several tests read and none changes: fitted once."""

import pytest

from screening.examples import fitted, plant


@pytest.fixture(scope="session")
def hourly():
    """A screener of six sensors, and the readings after its training."""
    return fitted(plant())
