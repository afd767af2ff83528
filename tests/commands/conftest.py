"""Folders, tables and a fitted wrapper for tests of the command line."""

import numpy as np
import pandas as pd
import pytest
import torch

from commands.examples import CHECKPOINT, run, waves


@pytest.fixture(autouse=True)
def _own_folder(tmp_path, monkeypatch):
    """An empty cache, no SUBCAST_DATA, and a wide terminal without colors."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("SUBCAST_DATA", raising=False)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def table(tmp_path):
    """A CSV file with a gap, a text cell, a constant variable, and units in brackets."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        rng.normal(50, 5, (400, 3)).round(2),
        index=pd.date_range("2024-01-01", periods=400, freq="5min", name="time"),
        columns=["inflow [m3]", "outflow [bold]", "valve"],
    ).astype(object)
    frame.iloc[7, 1] = "error"
    frame["valve"] = 1
    frame.drop(frame.index[50:55]).to_csv(tmp_path / "plant.csv")
    return tmp_path / "plant.csv"


@pytest.fixture(scope="session")
def fitted(tmp_path_factory):
    """A folder with the data and a wrapper of the checkpoint, and the output of `fit`."""
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("fitted")
    waves().save(folder / "waves.csv")
    arguments = ["fit", folder / "waves.csv", "--model", CHECKPOINT, "-o", folder / "plant", "--level", "0.5"]
    result = run(*arguments, "--level", "0.9", "--effort", "0.2", "--set", "neighbors=7", "--no-progress")
    return folder, result.output


@pytest.fixture
def recent(tmp_path):
    """The last day of two of the five variables, in another order, with a missing reading."""
    frame = waves().to_frame().iloc[-24:][["west", "north"]].copy()
    frame.iloc[-3, 0] = np.nan
    frame.to_csv(tmp_path / "recent.csv")
    return tmp_path / "recent.csv"
