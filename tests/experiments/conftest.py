"""Folders and a study that the tests of experiments share."""

import pytest

from experiments.examples import small_cells
from subcast.experiments.run import Places
from subcast.experiments.study import Study


@pytest.fixture(scope="session", autouse=True)
def little_effort():
    """Tune the default with few windows: these tests look at what is recorded, not at how good it is."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("subcast.experiments.study.EFFORT", 0.1)
        yield


@pytest.fixture(scope="session")
def places(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reproduce")
    return Places(folder / "results", (folder / "checkpoints",))


@pytest.fixture(scope="session")
def study(places):
    _, cells = small_cells("table-main")
    return Study.of(cells[0], places.checkpoints, progress=False)
