"""Where series come from: `load_dataset(name)`, one entry for each dataset in `DATASETS`."""

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
    """Clouds: output in MW of solar plants under drifting clouds, generated, so it needs no file.

    8,640 steps of 40 variables (60 days) unless asked for more, every 10min; 0 % of the readings are missing (the
    nights are zeros, and are values); scale factor 1. Plants upwind tell about plants downwind. Carries positions (km)
    and a graph of distances.

    Parameters
    ----------
    n_plants, n_steps
        any size; 137 x 52,560 is that of SOLAR
    seed
        which field; equal seeds give equal fields, to 1e-5 across machines
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

    Its files are looked for in `folder`, else in the folder named by the environment variable SUBCAST_DATA and in
    the cache; what is not there is downloaded where its public home allows it. The scale factor is applied and codes
    for missing readings become NaN.

    Parameters
    ----------
    name
        "clouds" (generated), "metr-la", "solar", "traffic", "ecg5000", "ecg5000-test-first" (the same beats in the
        other public order), or one of their parts and stand-ins: "metr-la-29", "metr-la-week", "traffic-20",
        "pems-bay-67", "pems-bay-84", "beijing-air", "beijing-pollutants", "solar-fl", "exchange-rate";
        `subcast datasets list` tells what each is
    folder
        where the files are, and where a download goes
    download
        whether to fetch what is not there
    options
        for "clouds": `n_plants`, `n_steps`, `seed` and the rest of `generate_clouds`

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
        raise DataError(f"{', '.join(options)} only goes with 'clouds', which is generated; {name!r} is read as it is")
    return load_files(dataset, folder, download)


__all__ = ["DATASETS", "Dataset", "generate_clouds", "load_clouds", "load_dataset"]
