"""Turn any frame, pandas or polars, into a pandas frame with plain column names."""

from __future__ import annotations

import sys
from typing import Any

import pandas as pd

from subcast.names import refuse_repeated_names
from subcast.tables.policy import Policy


def flat_frame(table: Any, policy: Policy, id_column: str = "unique_id") -> pd.DataFrame:
    """Return a pandas frame whose column names are text and distinct, and whose index has one level.

    Levels of an index, and an index of the variables' names (called `id_column`), become columns. The names of
    columns with several levels are joined by "/".

    >>> from subcast.tables.policy import Strict
    >>> columns = pd.MultiIndex.from_tuples([("north", "pm10"), ("south", "")])
    >>> flat_frame(pd.DataFrame([[1.0, 2.0]], columns=columns), Strict("recent")).columns.to_list()
    ['north/pm10', 'south']
    """
    frame = _index_levels_as_columns(_to_pandas(table, policy), id_column, policy)
    names = [name_of(label) for label in frame.columns]
    refuse_repeated_names(names, policy.source)
    return frame.set_axis(names, axis=1)


def name_of(label: object) -> str:
    """Return the name of a column as text; the parts of a name of several levels are joined."""
    return "/".join(str(level) for level in label if str(level)) if isinstance(label, tuple) else str(label)


def _to_pandas(table: Any, policy: Policy) -> pd.DataFrame:
    if isinstance(table, pd.DataFrame):
        return table
    if isinstance(table, pd.Series):
        return table.to_frame()
    polars = sys.modules.get("polars")
    if polars is not None and isinstance(table, polars.DataFrame):
        return pd.DataFrame({column.name: _polars_column(column) for column in table.get_columns()})
    if polars is not None and isinstance(table, polars.LazyFrame):
        raise policy.error(f"{policy.source} is a polars LazyFrame: give an eager DataFrame (call .collect())")
    raise policy.error(f"{policy.source} must be a pandas or polars DataFrame, got {type(table).__name__}")


def _polars_column(column: Any) -> Any:
    if str(column.dtype) == "Boolean":
        return pd.array(column.to_list(), dtype="boolean")  # with a missing entry, NumPy would have 0 and 1
    zone = getattr(column.dtype, "time_zone", None)
    values = column.to_numpy()  # UTC, without its zone
    return values if zone is None else pd.Series(values).dt.tz_localize("UTC").dt.tz_convert(zone)


def _index_levels_as_columns(frame: pd.DataFrame, id_column: str, policy: Policy) -> pd.DataFrame:
    index = frame.index
    if not isinstance(index, pd.MultiIndex) and index.name != id_column:
        return frame
    if any(name is None for name in index.names):
        raise policy.error(
            f"{policy.source} has an index of {index.nlevels} levels without names: name them (index.names)"
        )
    refuse_repeated_names([str(name) for name in (*index.names, *frame.columns)], policy.source)
    return frame.reset_index()
