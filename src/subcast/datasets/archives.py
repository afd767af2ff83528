"""Parts of public datasets, and kin of them, kept as NPZ archives.

An archive holds `values` [t, n], `variables`, and where they exist `start`, `freq` and `adjacency`. Each function
says what the dataset is, which part of which original, and reads the archive that `load_dataset` found.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from subcast.datasets.base import Dataset, Source
from subcast.errors import DataError
from subcast.series import Series
from subcast.tables.npz import load_arrays

POLLUTANTS = ("PM2.5", "PM10", "SO2", "NO2", "CO", "O3")


def metr_la_29(source: Source, paths: list[Path]) -> Series:
    """29 sensors of METR-LA over its full period: traffic speed in mph, March to June 2012.

    34,272 steps of 29 variables, every 5min; 7.75 % of the readings are missing, written as 0 at the source; scale
    factor 1. All steps of METR-LA, and 29 of its 207 sensors, not drawn at random. Inputs carry the time of day.
    """
    return _read(paths[0], "metr-la-29", freq="5min", unit="mph", zeros_missing=True, time_features=("time_of_day",))


def metr_la_week(source: Source, paths: list[Path]) -> Series:
    """The first week of METR-LA, all sensors: traffic speed in mph, 1 to 7 March 2012.

    2,016 steps of 207 variables, every 5min; 0 % of the readings are missing, since the source filled the gaps by
    linear interpolation; scale factor 1. All 207 sensors of METR-LA, 5.9 % of its steps. Inputs carry the time of day.
    """
    return _read(paths[0], "metr-la-week", freq="5min", unit="mph", time_features=("time_of_day",))


def traffic_20(source: Source, paths: list[Path]) -> Series:
    """The first 20 sensors of TRAFFIC over its full period: road occupancy, 2015 and 2016.

    17,544 steps of 20 variables, every 1h; 0 % of the readings are missing; scale factor 1000. All steps of TRAFFIC,
    and the first 20 of its 862 sensors.
    """
    return _read(paths[0], "traffic-20", freq="1h", unit="occupancy x 1000", scale=1000)


def pems_bay_67(source: Source, paths: list[Path]) -> Series:
    """67 sensors of PEMS-BAY over its full period: traffic speed in mph, January to June 2017.

    52,116 steps of 67 variables, every 5min; 0.0034 % of the readings are missing, written as 0 at the source; scale
    factor 1. All steps of PEMS-BAY, and 67 of its 325 sensors. The hour that daylight saving skips (12 March) is not
    in the data, so the times jump there. Inputs carry the time of day. Not one of the paper's datasets.
    """
    return _read(
        paths[0],
        "pems-bay-67",
        freq="5min",
        unit="mph",
        zeros_missing=True,
        time_features=("time_of_day",),
        skipped_hour="2017-03-12 02:00",
    )


def pems_bay_84(source: Source, paths: list[Path]) -> Series:
    """84 sensors of PEMS-BAY over its last 30 %: traffic speed in mph, May and June 2017.

    15,642 steps of 84 variables, every 5min; 0.0066 % of the readings are missing, written as 0 at the source; scale
    factor 1. The last 30 % of the steps of PEMS-BAY, and 84 of its 325 sensors, of which 67 are those of pems-bay-67.
    Inputs carry the time of day. Not one of the paper's datasets.
    """
    return _read(paths[0], "pems-bay-84", freq="5min", unit="mph", zeros_missing=True, time_features=("time_of_day",))


def beijing_air(source: Source, paths: list[Path]) -> Series:
    """Air quality and weather at twelve stations in Beijing, March 2013 to February 2017.

    35,064 steps of 132 variables, every 1h; 1.56 % of the readings are missing; scale factor 1. Whole (UCI dataset
    501) but for wind direction. The variables are `station:quantity` in units of their own. Some stations share a
    weather station, so their weather columns are copies: `beijing-pollutants` leaves the weather out.
    """
    return _read(paths[0], "beijing-air", freq="1h")


def beijing_pollutants(source: Source, paths: list[Path]) -> Series:
    """The six pollutants of `beijing-air`, without the weather.

    35,064 steps of 72 variables, every 1h; 2.78 % of the readings are missing; scale factor 1. The columns PM2.5,
    PM10, SO2, NO2, CO and O3 of twelve stations.
    """
    series = _read(paths[0], "beijing-pollutants", freq="1h", unit="ug/m3")
    return series.select([name for name in series.variables if name.partition(":")[2] in POLLUTANTS])


def solar_fl(source: Source, paths: list[Path]) -> Series:
    """Day-ahead forecasts of photovoltaic plants in southern Florida, 2006, in MW, by NREL.

    3,650 steps of 216 variables, every 1h of ten daylight hours a day; 0 % of the readings are missing; scale factor
    1. Modelled, not measured; the nights are left out, so the steps are only numbered (ten a day). A stand-in with
    the structure of SOLAR, and not that dataset.
    """
    return _read(paths[0], "solar-fl", unit="MW")


def exchange_rate(source: Source, paths: list[Path]) -> Series:
    """Daily exchange rates of eight currencies, 1990 to 2016.

    7,588 steps of 8 variables, one trading day a step; 0 % of the readings are missing; scale factor 1. Whole. The
    dates are not in the source, so the steps are only numbered.
    """
    return _read(paths[0], "exchange-rate")


def _read(
    path: Path,
    name: str,
    *,
    freq: str | None = None,
    unit: str = "",
    scale: float = 1,
    zeros_missing: bool = False,
    time_features: tuple[str, ...] = (),
    skipped_hour: str | None = None,
) -> Series:
    arrays = load_arrays(path)
    if "values" not in arrays or "variables" not in arrays:
        raise DataError(f"{path.name} must hold the arrays 'values' and 'variables', got {', '.join(arrays) or 'none'}")
    values = arrays["values"].astype(np.float32) * np.float32(scale)
    if zeros_missing:
        values[values == 0] = np.nan
    times: Any = None
    if freq is not None:
        if "start" not in arrays:
            raise DataError(f"{path.name} must hold the array 'start', the moment of its first step")
        grid = pd.date_range(str(arrays["start"]), periods=len(values), freq=freq).as_unit("ns")
        if skipped_hour is not None:
            grid = grid.where(grid < pd.Timestamp(skipped_hour), grid + pd.Timedelta(hours=1))
        times = grid.to_numpy(dtype="datetime64[ns]")
    return Series(
        values,
        tuple(str(variable) for variable in arrays["variables"]),
        times,
        freq=freq,
        time_features=time_features,
        graph=arrays.get("adjacency"),
        name=name,
        unit=unit,
        missing_code=0.0 if zeros_missing else None,
    )


def _archive(file: str, sha256: str, home: str) -> tuple[Source, ...]:
    return (Source((file,), home, sha256=sha256),)


ARCHIVES = (
    Dataset(
        "metr-la-29",
        34_272,
        29,
        "5min",
        0.0775,
        1,
        "METR-LA: all steps, 29 of 207 sensors",
        _archive(
            "metr_la_subset.npz",
            "332d9117978dff4c74d0bdc70cdfb103ac0941d6c72e4df52e36e86add493041",
            "the METR-LA table (see metr-la), cut to those sensors",
        ),
        metr_la_29,
    ),
    Dataset(
        "metr-la-week",
        2_016,
        207,
        "5min",
        0.0,
        1,
        "METR-LA: first week, all 207 sensors, gaps interpolated",
        _archive(
            "metr_la_week1.npz",
            "4f9f2a2412eb2d6b43447d7ea84b758f629df18908f1cca6350cdb5397f995d3",
            "https://github.com/lehaifeng/T-GCN (los_speed.csv)",
        ),
        metr_la_week,
    ),
    Dataset(
        "traffic-20",
        17_544,
        20,
        "1h",
        0.0,
        1000,
        "TRAFFIC: all steps, first 20 of 862 sensors",
        _archive(
            "traffic_subset.npz",
            "7e66d032e9937f78f4309abfb096da056db2abee83bf72ee844b13937b4925ff",
            "the TRAFFIC table (see traffic), cut to those sensors",
        ),
        traffic_20,
    ),
    Dataset(
        "pems-bay-67",
        52_116,
        67,
        "5min",
        0.000034,
        1,
        "PEMS-BAY: all steps, 67 of 325 sensors",
        _archive(
            "pems_bay_subset.npz",
            "86c9ea56a2e9cc7c02b1e57f6e73ffb7c09efce6b1f4504829d52286b774a3ca",
            "the data folder that https://github.com/liyaguang/DCRNN links to (pems-bay.h5), cut to those sensors",
        ),
        pems_bay_67,
    ),
    Dataset(
        "pems-bay-84",
        15_642,
        84,
        "5min",
        0.000066,
        1,
        "PEMS-BAY: last 30 % of the steps, 84 of 325 sensors",
        _archive(
            "pems_bay_last30.npz",
            "a9ca4bec4470817129308f98946ee5c28476e23687f13385af8eff6026e0db47",
            "the data folder that https://github.com/liyaguang/DCRNN links to (pems-bay.h5), cut to those sensors",
        ),
        pems_bay_84,
    ),
    Dataset(
        "beijing-air",
        35_064,
        132,
        "1h",
        0.0156,
        1,
        "Beijing multi-site air quality: whole, without wind direction",
        _archive(
            "beijing_air.npz",
            "7b92dc2696a52319490e6258cf0ff7c0ce8c953eda6bed181ae84aa503a37ad4",
            "https://archive.ics.uci.edu/dataset/501",
        ),
        beijing_air,
    ),
    Dataset(
        "beijing-pollutants",
        35_064,
        72,
        "1h",
        0.0278,
        1,
        "Beijing multi-site air quality: the six pollutants",
        _archive(
            "beijing_air.npz",
            "7b92dc2696a52319490e6258cf0ff7c0ce8c953eda6bed181ae84aa503a37ad4",
            "https://archive.ics.uci.edu/dataset/501",
        ),
        beijing_pollutants,
    ),
    Dataset(
        "solar-fl",
        3_650,
        216,
        "1h, ten a day",
        0.0,
        1,
        "NREL Florida day-ahead forecasts: 216 plants (not SOLAR)",
        _archive(
            "solar_fl_dayahead.npz",
            "9e290639999bd88541c768cc5794919a0e24c706aa202134ae2701edf5908d9a",
            "https://github.com/GuiHaiCF/SSMGNN (data/solar.csv)",
        ),
        solar_fl,
    ),
    Dataset(
        "exchange-rate",
        7_588,
        8,
        "one trading day",
        0.0,
        1,
        "Exchange rates: whole",
        _archive(
            "exchange_rate.npz",
            "db90ee45d3d4458f112dc0d7b94520c7ca75b1d420dfbf36ffbee267b5117dae",
            "https://github.com/laiguokun/multivariate-time-series-data (exchange_rate)",
        ),
        exchange_rate,
    ),
)
