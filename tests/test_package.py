"""The package as it is built and installed: one version, complete metadata, and a core that needs no torch."""

import re
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import metadata, version
from pathlib import Path

import pytest

import package_contents
import subcast as sc

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
CITATION = (ROOT / "CITATION.cff").read_text()


def test_the_version_is_written_once_and_agrees_everywhere():
    assert re.fullmatch(r"\d+\.\d+\.\d+(?:\.dev\d+|rc\d+)?", sc.__version__)
    assert version("subcast") == sc.__version__
    assert re.search(r"^version: (.+)$", CITATION, re.MULTILINE).group(1) == sc.__version__
    assert "version" not in PROJECT["project"]
    assert PROJECT["tool"]["hatch"]["version"]["path"] == "src/subcast/__init__.py"


def test_the_citation_names_the_paper_and_the_license_of_the_package():
    assert "title: Multi-Variate Time Series Forecasting on Variable Subsets" in CITATION
    assert re.findall(r"family-names: (\w+)", CITATION) == ["Chauhan", "Raghuveer", "Saket", "Nandy", "Ravindran"]
    assert f"license: {PROJECT['project']['license']}" in CITATION
    assert metadata("subcast")["License-Expression"] == PROJECT["project"]["license"]


@pytest.mark.parametrize("extra", ["models", "docs", "dev"])
def test_every_tool_of_an_extra_has_a_pinned_version(extra):
    lines = (ROOT / "constraints.txt").read_text().split()
    pins = {line.partition("==")[0].lower().replace("_", "-") for line in lines}
    wanted = {re.match(r"[\w-]+", need).group().lower() for need in PROJECT["project"]["optional-dependencies"][extra]}
    assert not wanted - {"subcast"} - pins


def test_the_wheel_would_lack_a_file_that_the_package_gained(tmp_path):
    (tmp_path / "src" / "subcast" / "experiments").mkdir(parents=True)
    for name in ("series.py", "experiments/table.toml", "experiments/published.csv"):
        (tmp_path / "src" / "subcast" / name).write_text("")
    wheel = tmp_path / "subcast.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("subcast/series.py", "")
        archive.writestr("subcast/experiments/published.csv", "")
    assert package_contents.missing_from_wheel(wheel, tmp_path) == {"subcast/experiments/table.toml"}


CORE_ONLY = """
import sys

class NoTorch:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "lightning", "safetensors"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, NoTorch())
import numpy as np
import subcast as sc

series = sc.load_dataset("clouds", n_plants=4, n_steps=720)
train, val, test = series.split(lookback=6, horizon=3)
robust = sc.SubsetForecaster(lambda x: np.repeat(x[:, -1:, :, 0], 3, axis=1), progress=False).fit(train, val)
print(robust.predict(test.series.to_frame().iloc[60:66, [1, 2]]).mean.shape)
robust.save(sys.argv[1])
try:
    sc.train
except ModuleNotFoundError as error:
    print(error)
"""


def test_the_core_wraps_fits_and_saves_without_torch(tmp_path):
    command = [sys.executable, "-c", CORE_ONLY, str(tmp_path / "wrapper")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("(3, 2)\n")
    assert "pip install 'subcast[models]'" in done.stdout


@pytest.mark.parametrize("name", ["lint", "tests", "docs"])
def test_a_workflow_calls_targets_of_the_makefile_on_the_version_that_is_run(name):
    workflow = (ROOT / ".github" / "workflows" / f"{name}.yml").read_text()
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    called = re.findall(r"run: make ([\w-]+)", workflow)
    assert called
    assert set(called) <= targets
    assert '"3.11"' in workflow
