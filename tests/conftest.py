"""Settings for all tests: no network, and hypothesis with fixed seeds and without a database on disk."""

import logging
import os
import socket

import pytest
from hypothesis import settings

# Set before torch is imported: its threads keep processors busy while they wait for each other. Where other processes
# use the same processors, as the second worker of `make test` does, a training on two threads took 15 times as long.
os.environ.setdefault("OMP_NUM_THREADS", "1")

settings.register_profile("subcast", database=None, derandomize=True, deadline=None)
settings.load_profile("subcast")

# Tests in a browser need selenium and Chromium, which only `make test-browser` installs; nothing else may import them.
collect_ignore = [] if os.environ.get("SUBCAST_BROWSER") else ["browser"]
# A cluster of PostgreSQL is started only by `make test-postgres`.
collect_ignore += [] if os.environ.get("SUBCAST_POSTGRES") else ["postgres"]
# Requests generated from the OpenAPI need schemathesis, which only `make test-service-fuzz` installs.
collect_ignore += [] if os.environ.get("SUBCAST_FUZZ") else ["service_fuzz"]

# Cases of parametrized tests that train a model of their own for more than 20 seconds. `make test` leaves them out.
SLOW_CASES = {
    "test_every_experiment_runs_on_the_small_dataset[table-identity]",
    "test_every_experiment_runs_on_the_small_dataset[table-noise]",
}


def pytest_collection_modifyitems(items):
    """Mark the slow cases."""
    for item in items:
        if item.name in SLOW_CASES:
            item.add_marker(pytest.mark.slow)


@pytest.fixture(autouse=True)
def _no_network(monkeypatch):
    """Make every attempt to connect to another machine fail."""
    connect = socket.socket.connect

    def guarded(self, address):
        if isinstance(address, tuple) and address[0] not in ("127.0.0.1", "::1", "localhost"):
            raise OSError(f"tests must not use the network, got a connection to {address[0]}")
        return connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", guarded)


@pytest.fixture(autouse=True)
def loggers_as_before():
    """Undo what a test does to the loggers that the service sets up for its process."""
    loggers = [logging.getLogger(name) for name in ("subcast", "uvicorn", "uvicorn.error", "uvicorn.access")]
    before = [(logger.handlers[:], logger.level, logger.propagate, logger.disabled) for logger in loggers]
    yield
    for logger, (handlers, level, propagate, disabled) in zip(loggers, before, strict=True):
        logger.handlers, logger.propagate, logger.disabled = handlers, propagate, disabled
        logger.setLevel(level)
