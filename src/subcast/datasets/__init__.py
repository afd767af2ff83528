"""Datasets by name: `load_dataset(name)` loads one of `DATASETS`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from subcast.datasets.archives import ARCHIVES
from subcast.datasets.base import Dataset, load_files
from subcast.datasets.clouds import generate_clouds
from subcast.datasets.published import PUBLISHED
from subcast.errors import DataError
from subcast.series import Series
from subcast.tables.rates import step_name

CLOUDS_PLANTS, CLOUDS_STEPS = 40, 8_640


def load_clouds(
    n_plants: int = CLOUDS_PLANTS,
    n_steps: int = CLOUDS_STEPS,
    *,
    seed: int = 0,
    start: str = "2007-05-01",
    step_minutes: int = 10,
    **options: Any,
) -> Series:
    """Clouds: generated output in MW of solar plants under drifting clouds; needs no file.

    8,640 steps of 40 variables (60 days) by default, every 10min; 0 % of the readings are missing (the zeros at night
    are readings); scale factor 1. The plants upwind predict the plants downwind. Has positions (km) and a graph of
    distances.

    Parameters
    ----------
    n_plants, n_steps
        the size; 137 x 52,560 is that of SOLAR
    seed
        random seed; equal seeds give equal data, to 1e-5 across machines
    start, step_minutes, options
        as in `generate_clouds`
    """
    field = generate_clouds(n_plants, n_steps, seed=seed, start=start, step_minutes=step_minutes, **options)
    return Series(
        field.values,
        field.names,
        field.times,
        freq=step_name(step_minutes * 60 * 10**9),
        graph=field.graph,
        positions=field.positions.astype("float32"),
        name="clouds",
        unit="MW",
    )


DATASETS: dict[str, Dataset] = {
    "clouds": Dataset(
        "clouds", CLOUDS_STEPS, CLOUDS_PLANTS, "10min", 0.0, 1, "generated, any size", sources=(), read=load_clouds
    ),
    **{dataset.name: dataset for dataset in (*PUBLISHED, *ARCHIVES)},
}


def load_dataset(name: str, *, folder: str | Path | None = None, download: bool = True, **options: Any) -> Series:
    """Load a dataset by name.

    Its files are searched in `folder`, else in the folder given by the environment variable SUBCAST_DATA and in the
    cache. Files that are not found are downloaded if their source allows it. The scale factor is applied, and codes
    for missing readings become NaN.

    Parameters
    ----------
    name
        "clouds" (generated), "metr-la", "solar", "traffic", "ecg5000", "ecg5000-test-first" (the same beats in the
        other public order), or a subset of these or a stand-in: "metr-la-29", "metr-la-week", "traffic-20",
        "pems-bay-67", "pems-bay-84", "beijing-air", "beijing-pollutants", "solar-fl", "exchange-rate".
        `subcast datasets list` describes each of them
    folder
        where the files are searched and downloaded
    download
        whether to download files that are not found
    options
        only for "clouds": `n_plants`, `n_steps`, `seed` and other arguments of `generate_clouds`

    Examples
    --------
    >>> load_dataset("clouds", n_plants=20, n_steps=288)
    Series 'clouds': 288 steps x 20 variables, 2007-05-01T00:00 to 2007-05-02T23:50, every 10min
    """
    if name not in DATASETS:
        raise DataError(
            f"name must be one of {', '.join(DATASETS)}, got {name!r}; use Series.read for a file of your own"
        )
    dataset = DATASETS[name]
    if name == "clouds":
        return load_clouds(**options)
    if options:
        raise DataError(f"{', '.join(options)} can only be given for 'clouds', got dataset {name!r}: leave it out")
    return load_files(dataset, folder, download)


__all__ = ["DATASETS", "Dataset", "generate_clouds", "load_clouds", "load_dataset"]
