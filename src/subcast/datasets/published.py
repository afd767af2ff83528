"""The paper's four datasets in the file formats of their public homes.

Each function says what the dataset is and reads the files that `load_dataset` found. Scale factors are applied,
and codes for missing readings become NaN.
"""

from __future__ import annotations

import hashlib
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from subcast.datasets.base import Dataset, Source
from subcast.errors import DataError, DataWarning
from subcast.names import numbered_names
from subcast.series import Series
from subcast.tables.hdf5 import read_hdf5_frame
from subcast.tables.npz import load_arrays
from subcast.tables.text import unpacked

COLLECTION = "https://github.com/laiguokun/multivariate-time-series-data"
# How many rows the first part of ECG5000 has in each order of rows, and the checksum of each order.
ECG_ROWS = {"ecg5000": 500, "ecg5000-test-first": 4500}
ECG_ORDERS = {
    "ecg5000": "080714a0300b8698504d070844afc2d3bd7f85e594c345a50e210322e1797ccc",
    "ecg5000-test-first": "9b0fd0137e4629fb2a9ac2ffc1d85643b30caa732d2a39721321000d69d05f16",
}


def metr_la(source: Source, paths: list[Path]) -> Series:
    """METR-LA: traffic speed in mph at loop detectors on the highways of Los Angeles, March to June 2012.

    34,272 steps of 207 variables, every 5min; 8.11 % of the readings are missing, written as 0 at the source;
    scale factor 1. Inputs carry the time of day.
    """
    frame = read_hdf5_frame(paths[0])
    try:
        values = frame.to_numpy(dtype=np.float32)
        return Series(
            np.where(values == 0, np.float32(np.nan), values),
            tuple(str(name) for name in frame.columns),
            frame.index.to_numpy(dtype="datetime64[ns]"),
            freq="5min",
            time_features=("time_of_day",),
            name="metr-la",
            unit="mph",
            missing_code=0.0,
        )
    except ValueError as error:
        raise DataError(f"{paths[0].name} is not the table of METR-LA it should be ({error}): fetch it again") from None


def solar(source: Source, paths: list[Path]) -> Series:
    """SOLAR: output in MW of photovoltaic plants in Alabama, 2006, as modeled by NREL.

    52,560 steps of 137 variables, every 10min; 0 % of the readings are missing (the nights are zeros, and are
    values); scale factor 1.
    """
    values = _read_matrix(paths[0])
    return Series(
        values,
        tuple(f"plant-{name[1:]}" for name in numbered_names(values.shape[1])),
        _grid("2006-01-01", values.shape[0], "10min"),
        freq="10min",
        name="solar",
        unit="MW",
    )


def traffic(source: Source, paths: list[Path]) -> Series:
    """TRAFFIC: road occupancy at sensors of the San Francisco Bay area, 2015 and 2016.

    17,544 steps of 862 variables, every 1h; 0 % of the readings are missing; scale factor 1000, so that the unit
    is thousandths of the time a vehicle is over the sensor.
    """
    values = _read_matrix(paths[0])
    return Series(
        values * np.float32(1000),
        tuple(f"sensor-{name[1:]}" for name in numbered_names(values.shape[1])),
        _grid("2015-01-01", values.shape[0], "1h"),
        freq="1h",
        name="traffic",
        unit="occupancy x 1000",
    )


def ecg5000(source: Source, paths: list[Path]) -> Series:
    """ECG5000: heartbeats of one patient, each row one beat, each column one of its 140 samples.

    5,000 steps of 140 variables, one beat a step (no times: the beats are in no order of time); 0 % of the
    readings are missing; scale factor 10. The 500 rows of the UCR training file come first, then the 4,500 of the test
    file.
    """
    return _ecg5000(paths, "ecg5000")


def ecg5000_test_first(source: Source, paths: list[Path]) -> Series:
    """ECG5000 with the UCR test rows first: the order of the public file ECG_data.csv.

    5,000 steps of 140 variables, one beat a step (no times: the beats are in no order of time); 0 % of the
    readings are missing; scale factor 10. The same beats as `ecg5000`, the 4,500 rows of the UCR test file first.
    """
    return _ecg5000(paths, "ecg5000-test-first")


def _ecg5000(paths: list[Path], name: str) -> Series:
    """Read the beats and put them into the order of the named dataset, whichever order the file has."""
    if paths[0].suffix == ".npz":
        arrays = load_arrays(paths[0])
        if "values" not in arrays:
            raise DataError(f"{paths[0].name} must hold the array 'values', got {', '.join(arrays) or 'none'}")
        values = arrays["values"].astype(np.float32)
    elif paths[0].suffix == ".tsv":
        beats = [_read_matrix(path, separator="\t")[:, 1:] for path in paths]  # the first column is the class
        values = np.concatenate(beats)
    else:
        values = _read_matrix(paths[0])
    if len(values) == sum(ECG_ROWS.values()):
        values = _in_order(values, name, paths[0].name)
    return Series(values * np.float32(10), tuple(f"t{place:03d}" for place in range(values.shape[1])), name=name)


def _in_order(values: NDArray[np.float32], name: str, file: str) -> NDArray[np.float32]:
    """Put the 5,000 beats into the order of the named dataset, told by the content of the file."""
    order = next((known for known, digest in ECG_ORDERS.items() if digest == row_order_checksum(values)), None)
    if order is None:
        warnings.warn(
            f"{file} has the size of ECG5000 but neither of its two known orders of rows: it is taken as it is for "
            f"{name!r}, and figures made with it may differ",
            DataWarning,
            stacklevel=6,
        )
        return values
    if order == name:
        return values
    return np.roll(values, -ECG_ROWS[order], axis=0)


def row_order_checksum(values: NDArray[np.float32]) -> str:
    """Return a checksum of which rows stand where: sha256 of the column of each row's smallest value.

    It does not depend on the scale or on the last digits, in which public copies differ.

    >>> row_order_checksum(np.array([[3.0, 1.0], [0.0, 2.0]], dtype=np.float32))[:12]
    '67abdd721024'
    """
    return hashlib.sha256(values.argmin(axis=1).astype("<u2").tobytes()).hexdigest()


def _grid(start: str, steps: int, freq: str) -> NDArray[np.datetime64]:
    return pd.date_range(start, periods=steps, freq=freq).to_numpy(dtype="datetime64[ns]")


def _read_matrix(path: Path, separator: str = ",") -> NDArray[np.float32]:
    """Numbers separated by commas or tabs, without names (a first line that only names the columns is passed over)."""
    import io

    raw = unpacked(path)
    first = raw.partition(b"\n")[0].decode("utf-8-sig", errors="replace")
    header = 0 if _names_columns(first.split(separator)) else None
    try:
        frame = pd.read_csv(io.BytesIO(raw), sep=separator, header=header, dtype=np.float32, encoding="utf-8-sig")
    except (ValueError, pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise DataError(f"{path.name} is not the table of numbers it should be ({error}): fetch it again") from None
    values = frame.to_numpy()
    incomplete = np.flatnonzero(np.isnan(values).any(axis=1))
    if incomplete.size:
        line = incomplete[0] + (1 if header is None else 2)
        raise DataError(
            f"{path.name} is cut short or damaged: line {line} has fewer than {values.shape[1]} numbers; fetch it again"
        )
    return values


def _names_columns(cells: list[str]) -> bool:
    """Whether the first line is a header: no numbers, or the columns counted from 0 or 1."""
    try:
        numbers = [float(cell) for cell in cells]
    except ValueError:
        return True
    return len(cells) > 1 and any(numbers == list(range(start, start + len(cells))) for start in (0, 1))


_ECG_SOURCES = (
    Source(
        ("ECG5000_TRAIN.tsv", "ECG5000_TEST.tsv"),
        "the UCR archive (https://www.cs.ucr.edu/~eamonn/time_series_data_2018)",
        together=True,
    ),
    Source(
        ("ECG_data.csv", "ecg5000.csv", "ECG5000.csv"),
        "https://github.com/microsoft/StemGNN (dataset)",
        "https://raw.githubusercontent.com/microsoft/StemGNN/master/dataset/ECG_data.csv",
    ),
    Source(
        ("ecg5000.npz",),
        "the project's data folder",
        sha256="594537e4456108bc5ff8eb10143ffc154c07a6efcc2f272f2d10ef749551e4f3",
    ),
)

PUBLISHED = (
    Dataset(
        "metr-la",
        34_272,
        207,
        "5min",
        0.0811,
        1,
        "METR-LA, whole",
        (
            Source(
                ("metr-la.h5",),
                "the data folder that https://github.com/liyaguang/DCRNN links to",
                "https://drive.google.com/uc?export=download&id=1pAGRfzMx6K9WWsfDcD1NMbIif0T0saFC",
            ),
        ),
        metr_la,
    ),
    Dataset(
        "solar",
        52_560,
        137,
        "10min",
        0.0,
        1,
        "SOLAR (solar_AL), whole",
        (
            Source(
                ("solar_AL.txt.gz", "solar_AL.txt"),
                f"{COLLECTION} (solar-energy)",
                f"{COLLECTION}/raw/master/solar-energy/solar_AL.txt.gz",
            ),
        ),
        solar,
    ),
    Dataset(
        "traffic",
        17_544,
        862,
        "1h",
        0.0,
        1000,
        "TRAFFIC, whole",
        (
            Source(
                ("traffic.txt.gz", "traffic.txt"),
                f"{COLLECTION} (traffic)",
                f"{COLLECTION}/raw/master/traffic/traffic.txt.gz",
            ),
        ),
        traffic,
    ),
    Dataset(
        "ecg5000", 5_000, 140, "one beat", 0.0, 10, "ECG5000, whole (train rows, then test rows)", _ECG_SOURCES, ecg5000
    ),
    Dataset(
        "ecg5000-test-first",
        5_000,
        140,
        "one beat",
        0.0,
        10,
        "ECG5000, whole (test rows, then train rows)",
        _ECG_SOURCES,
        ecg5000_test_first,
    ),
)
