"""The numbers that the paper prints, as one long table: tables 1 to 13, and what its text says of the figures.

Each row of `published.csv` is one printed number, or one statement, in the order of reading. Its columns:

- `table`: the table's number in the paper; none for a figure. `label`: the name of the table or figure in its source.
- `experiment`: what `subcast reproduce` calls it.
- `dataset`, `model`: metr-la, solar, traffic or ecg5000; mtgnn, astgcn, mstgcn, lstnet or tcn, or "" where the number
  depends on none.
- `setting`: the method as the experiments name it (oracle, partial, apriori, identity, fdw, uw, ddw,
  neighbor-forecast, knne, iim, scalable), or what is special about FDW ("b=0.33", "tau=1", "clusters=4"; table 5's
  main row is "b=0.5 tau=0.1"). Partial with S from few clusters is "partial clusters=4".
- `metric`: mae and rmse at step 12; delta_mae and delta_rmse, the gap to Oracle in per cent; mrr; correlation; and
  for the datasets steps, variables, minutes_between_steps, lookback and horizon.
- `mean`, `deviation`: what is printed, NaN where nothing is. Gaps have no deviation.
- `claim`: a statement of the text, "" for a plain number. A dash in the paper has no row.

The gaps of table 1 follow from its printed means and are cut, not rounded, to two decimals.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from importlib import resources

import pandas as pd

from subcast.errors import InputError
from subcast.names import listed, plural

KEYS = ("experiment", "dataset", "model", "setting", "metric")
COLUMNS = ("table", "label", *KEYS, "mean", "deviation", "claim")


@dataclass(frozen=True)
class Published:
    """One printed number.

    Parameters
    ----------
    table
        the number of the table it stands in; None for a figure
    mean
        the number
    deviation
        the standard deviation printed with it; None where there is none
    claim
        what the text says of it, if anything
    """

    table: int | None
    mean: float
    deviation: float | None = None
    claim: str = ""


def load_published() -> pd.DataFrame:
    """Return all rows, as a copy that may be changed.

    >>> rows = load_published()
    >>> sorted(rows["table"].dropna().unique().tolist())
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13]
    >>> rows.loc[rows["experiment"] == "figure-neighbors", "claim"].tolist()
    ['The gap strictly falls as m grows.', 'The reductions of the gap diminish as m grows.']
    """
    return _rows().copy()


def find(
    *,
    experiment: str | None = None,
    dataset: str | None = None,
    model: str | None = None,
    setting: str | None = None,
    metric: str | None = None,
) -> pd.DataFrame:
    """Return the rows that have all the given values, in the order of reading.

    A combination that the paper does not print gives no rows; a name that stands nowhere in its column is an error.

    Parameters
    ----------
    experiment, dataset, model, setting, metric
        the value wanted in the column; None for any, "" for rows that have none

    >>> find(experiment="table-main", dataset="ecg5000", metric="delta_mae")[["model", "mean"]]
            model  mean
    ...     mtgnn  2.14
    ...    astgcn  0.26
    ...    mstgcn  1.13
    ...    lstnet  1.36
    ...       tcn  1.07
    >>> len(find(experiment="table-apriori", dataset="solar"))
    0
    """
    wanted = {"experiment": experiment, "dataset": dataset, "model": model, "setting": setting, "metric": metric}
    return _matching({column: value for column, value in wanted.items() if value is not None}).copy()


def find_one(*, experiment: str, dataset: str, model: str, setting: str, metric: str) -> Published:
    """Return the one number that has all these values; see `find`.

    >>> find_one(experiment="table-oracle-partial", dataset="ecg5000", model="mtgnn", setting="oracle", metric="mae")
    Published(table=1, mean=3.43, deviation=0.54, claim='')
    >>> find_one(experiment="table-datasets", dataset="solar", model="", setting="", metric="variables").mean
    137.0
    """
    wanted = {"experiment": experiment, "dataset": dataset, "model": model, "setting": setting, "metric": metric}
    rows = _matching(wanted)
    rows = rows[rows["mean"].notna()]
    if len(rows) != 1:
        values = ", ".join(f"{column}={value!r}" for column, value in wanted.items())
        raise InputError(f"the paper prints {plural(len(rows), 'number')} for {values}: call find() to see the rows")
    row = rows.iloc[0]
    return Published(
        table=None if pd.isna(row["table"]) else int(row["table"]),
        mean=float(row["mean"]),
        deviation=None if math.isnan(row["deviation"]) else float(row["deviation"]),
        claim=str(row["claim"]),
    )


def _matching(wanted: dict[str, str]) -> pd.DataFrame:
    """The rows with these values, after a look whether each value is known at all."""
    rows = _rows()
    keep = pd.Series(True, index=rows.index)
    for column, value in wanted.items():
        same = rows[column] == value
        if not same.any():
            known = sorted(name for name in rows[column].unique() if name)
            raise InputError(
                f"{column} {value!r} is not among the published numbers: it must be one of {listed(known, len(known))}"
            )
        keep &= same
    return rows[keep]


@cache
def _rows() -> pd.DataFrame:
    """The table as stored; never handed out itself."""
    types = dict.fromkeys(COLUMNS, "str") | {"table": "Int64", "mean": "float64", "deviation": "float64"}
    empty = {"table": [""], "mean": [""], "deviation": [""]}  # elsewhere an empty cell is an empty text
    with resources.files("subcast.experiments").joinpath("published.csv").open(encoding="utf-8") as file:
        return pd.read_csv(file, dtype=types, keep_default_na=False, na_values=empty)
