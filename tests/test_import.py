"""`import subcast` is fast, and all public names exist."""

import subprocess
import sys

import pytest

import subcast as sc


def modules_after(code):
    command = f"import sys; {code}; print(' '.join(sorted(sys.modules)))"
    finished = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, check=True)
    return set(finished.stdout.split())


def test_import_loads_no_heavy_packages():
    heavy = {"torch", "lightning", "numba", "pandas", "scipy", "sklearn", "matplotlib", "h5py", "pyarrow", "rich"}
    assert not heavy & modules_after("import subcast")


def test_the_data_layer_needs_no_torch():
    code = "import subcast; subcast.load_dataset('clouds', n_plants=3, n_steps=400).split(12, 12); subcast.metrics"
    assert not {"torch", "lightning"} & modules_after(code)


@pytest.mark.parametrize("name", sc.__all__)
def test_every_public_name_resolves(name):
    assert getattr(sc, name) is not None
    assert name in dir(sc)


def test_unknown_name():
    with pytest.raises(AttributeError, match="no attribute 'forecast_everything'"):
        _ = sc.forecast_everything
