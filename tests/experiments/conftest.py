"""Folders and a study that the tests of experiments share."""

import pytest

from experiments.examples import small_cells
from subcast.experiments.run import Places
from subcast.experiments.study import Study

FITS_DEFAULT = Study.default.func


@pytest.fixture(scope="session", autouse=True)
def little_effort():
    """Tune the default with few windows: these tests look at what is recorded, not at how good it is."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("subcast.experiments.study.EFFORT", 0.1)
        yield


@pytest.fixture(scope="session", autouse=True)
def one_fit_for_each_model():
    """Fit the default once for each trained model, as the cells of one study do: a fit takes several seconds."""
    fits = {}

    def default(self):
        key = (self.dataset, self.kind, self.seed, self.variant, self.weights)
        if key not in fits:
            fits[key] = FITS_DEFAULT(self)
        return fits[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Study, "default", property(default))
        yield


@pytest.fixture(scope="session")
def places(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reproduce")
    return Places(folder / "results", (folder / "checkpoints",))


@pytest.fixture(scope="session")
def study(places):
    _, cells = small_cells("table-main")
    return Study.of(cells[0], places.checkpoints, progress=False)
