"""A folder with records of every declared cell, and the report written from it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from experiments.report.examples import write_record
from subcast.experiments.declaration import load_experiments
from subcast.experiments.report.page import write_report


@pytest.fixture(scope="session")
def full(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a record of every declared cell, and a training."""
    folder = tmp_path_factory.mktemp("work")
    for experiment in load_experiments().values():
        for cell in experiment.cells("quick"):
            write_record(folder / "results" / "reproduce", experiment.name, cell.dataset, cell.model)
    training = {
        "dataset": "ecg5000", "model": "tcn", "protocol": "paper", "hours": 1.25, "epochs": [{}] * 7,
        "config": {"epochs": 100}, "machine": {"cpu": "Some CPU", "cores": 2, "system": "Linux"},
    }  # fmt: skip
    (folder / "results" / "training-tcn-ecg5000.json").write_text(json.dumps(training))
    return folder


@pytest.fixture(scope="session")
def page(full: Path) -> str:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("subcast.experiments.report.page.save_figure", lambda figure, path: path.write_bytes(b"a figure"))
        path = write_report(
            full / "results" / "reproduce", full / "docs" / "reproduction.md", full / "docs" / "figures"
        )
    assert path == full / "docs" / "reproduction.md"
    return path.read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def pages(full: Path, page: str) -> dict[str, str]:
    """The text of every page by name, the first page under "reproduction"."""
    texts = {path.stem: path.read_text(encoding="utf-8") for path in (full / "docs" / "reproduction").glob("*.md")}
    return texts | {"reproduction": page}
