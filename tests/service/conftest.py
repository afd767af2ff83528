"""A fitted wrapper in a folder, and a client of its service."""

import warnings

import pytest

from service_tools import fit_wrapper, last_reading, make_series


@pytest.fixture(scope="session")
def series():
    return make_series()


@pytest.fixture(scope="session")
def wrapper(series):
    return fit_wrapper(series)


@pytest.fixture
def plant(wrapper, tmp_path):
    wrapper.save(tmp_path / "plant")
    return tmp_path / "plant"


@pytest.fixture
def client(plant):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from fastapi.testclient import TestClient

        from subcast.service.app import create_app

    with TestClient(create_app(plant, model=last_reading, rate=None)) as client:
        yield client


@pytest.fixture
def quiet_client(plant):
    """A client of a service whose engine runs only when a test calls `settle`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from fastapi.testclient import TestClient

        from subcast.service.app import create_app

    app = create_app(plant, model=last_reading, rate=None, clock="feed")
    client = TestClient(app, raise_server_exceptions=False)  # without its lifespan: nothing is started
    yield client
    app.state.service.close()
