"""`subcast evaluate`: the error of a wrapped model with missing variables, compared with other methods."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from subcast import __version__, baselines
from subcast.axes import check_whole
from subcast.commands.datasets import check_preset, open_series
from subcast.commands.forecast import open_wrapper
from subcast.commands.verdict import WITHOUT_MODEL, verdict
from subcast.data_protocol import PROTOCOLS
from subcast.errors import InputError
from subcast.evaluation import ORACLE, Method, evaluate, oracle, partial_inputs, without_model, wrapped
from subcast.names import listed, plural
from subcast.series import Series
from subcast.storage.files import whole_file
from subcast.subset import Settings, SubsetForecaster
from subcast.subsets import draw_subsets, parse_share
from subcast.windows import Split, Windows

NAMES = {
    ORACLE: "Oracle",
    "partial": "Partial",
    "usual-fill": "usual",
    "paper": "paper",
    "subcast": "subcast",
    WITHOUT_MODEL: "no model",
    "own-past": "own past",
    "own-past-each": "own, each",
    "ridge": "ridge",
    "calendar-linear": "linear",
    "last-value": "last",
    "day-ago": "a day ago",
}
"""The name of each method in tables."""

DESCRIPTIONS = {
    ORACLE: "the model with all variables present",
    "partial": "the model alone, absent variables set to their mean",
    "usual-fill": "the model, absent variables set to their usual value at that hour and class of day",
    "paper": "the model with the published method (FDW, 5 neighbors)",
    "subcast": "the model with this wrapper",
    WITHOUT_MODEL: "subcast without the model: the same wrapper, tuned with the last reading in place of the model",
    "own-past": "no model: gradient boosting on each variable's own past and the calendar, one for all variables",
    "own-past-each": "no model: the same, one for each variable",
    "ridge": "no model: ridge regression on S, in deviations from the usual value at that time",
    "calendar-linear": "no model: linear regression on each variable's own past, the clock and the weekday",
    "last-value": "no model: the last reading, repeated",
    "day-ago": "no model: the reading of the same time a day ago",
}
"""What each method does."""

RIVALS = {
    "usual-fill": "your model with usual values for absent variables",
    "own-past": "gradient boosting on each variable's own past and the calendar",
    "own-past-each": "gradient boosting on own past and calendar, one model for each variable",
    "ridge": "a ridge regression on the present variables",
    "calendar-linear": "a linear regression on own past, clock and weekday",
    "last-value": "the last reading",
    "day-ago": "the reading of a day ago",
}
"""What someone would do instead, as it is called in a sentence."""

MOST_EACH = 100
"""With more variables, no boosted model is trained for each of them: 100 take about two minutes on one core."""
_ROWS_OF_EACH = 600_000  # training rows of these models together
_LEAST_ROWS_OF_EACH = 5_000


def run_evaluation(
    folder: Path,
    data: str,
    *,
    present: str = "15%",
    draws: int = 20,
    every: int = 1,
    step: int | None = None,
    seed: int = 0,
    preset: str | None = None,
    rivals: bool = True,
    output: Path | None = None,
    table: Mapping[str, str | None] | None = None,
    progress: bool = True,
) -> dict[str, Any]:
    """Compare Oracle, Partial, the published method and the wrapper on the test windows of a table of readings.

    Parameters
    ----------
    folder
        the folder of the wrapper
    data
        the data it was fitted on: name of a dataset, or a file; its test part is used
    present
        the number of present variables, as '15%', '0.15' or '21'
    draws, seed
        number of random subsets, which are the same for every method, and their random seed
    every
        evaluate every Nth test window
    step
        step of the horizon shown in the table, from 1; the last by default
    preset
        the split, "default" or "paper"; that of `subcast fit` by default
    rivals
        whether to compare with what someone would do instead: trains boosted models and fits a wrapper without the
        model, which takes a few minutes on large data
    output
        a .json file for the record
    table
        how a file of readings is read, as in `open_series`
    progress
        whether to show progress bars

    Returns
    -------
    dict
        the record: how the evaluation was made, the table at the step, and the errors of every draw and step
    """
    size = parse_share(present)
    check_whole("--draws", draws)
    check_whole("--every", every)
    robust = open_wrapper(folder)
    if step is not None and not 1 <= step <= robust.horizon:
        raise InputError(f"--step must be between 1 and the horizon of {robust.horizon}, got {step}")
    protocol = check_preset(preset or _protocol_of(robust))
    series = _series_for(robust, open_series(data, **(table or {})))
    split = series.split(robust.lookback, robust.horizon, protocol=protocol)
    subsets = draw_subsets(len(robust.variables), size.share, draws, count=size.count, seed=seed)
    methods = methods_for(robust, split, progress, rivals=rivals, history=series)
    evaluation = evaluate(methods, split.test[::every], list(subsets), progress=progress)
    record = {
        **_header(folder, data, robust, split),
        "present": present,
        "present_count": int(subsets.shape[1]),
        "variables": len(robust.variables),
        "seed": seed,
        "every": every,
        "step": step or robust.horizon,
        "table": table_rows(evaluation.table(step)),
        "verdict": verdict(evaluation, RIVALS, step, robust.metric) if "subcast" in methods else [],
        **evaluation.to_dict(),
        "tallies": evaluation.to_record(step),
    }
    if output is not None:
        _write_record(record, output)
    return record


def methods_for(
    robust: SubsetForecaster,
    split: Split,
    progress: bool,
    *,
    rivals: bool = True,
    quick: bool = False,
    history: Series | None = None,
) -> dict[str, Method]:
    """Return the methods to compare: Oracle, Partial, the published method, the wrapper and its rivals.

    `quick` leaves out the rivals with one model for each variable, which take longer than the others. `history` is the
    series that the windows were cut from, in which the reading of a day ago is looked up.
    """
    methods: dict[str, Method] = {ORACLE: oracle(robust), "partial": partial_inputs(robust)}
    if robust.settings_ == Settings.paper():
        return {**methods, "paper": wrapped(robust)}
    published = SubsetForecaster.paper(robust.model, progress=progress).fit(split.train)
    methods |= {"paper": wrapped(published), "subcast": wrapped(robust)}
    return {**methods, **rivals_for(robust, split, quick=quick, history=history)} if rivals else methods


def rivals_for(
    robust: SubsetForecaster, split: Split, *, quick: bool = False, history: Series | None = None
) -> dict[str, Method]:
    """Return the wrapper without its model, and what someone would do instead of wrapping a model."""
    train, metric = split.train, robust.metric
    rivals: dict[str, Method] = {
        "usual-fill": baselines.imputed(robust.fitted_.model, baselines.UsualValue.fit(train)),
        WITHOUT_MODEL: without_model(robust),
        "own-past": baselines.OwnPast.fit(train, metric=metric),
        "ridge": baselines.ProfileRidge.fit(train),
    }
    of_each = {} if quick else _rivals_of_each(train, metric)
    return {**rivals, **of_each, **repeated_readings(train, history)}


def _rivals_of_each(train: Windows, metric: str) -> dict[str, Method]:
    """Return the rivals with one model for each variable."""
    n, loss = train.series.n_variables, "absolute" if metric == "mae" else "squared"
    rivals: dict[str, Method] = {"calendar-linear": baselines.CalendarLinear.fit(train, loss=loss)}
    if n <= MOST_EACH:
        rows = max(_LEAST_ROWS_OF_EACH, _ROWS_OF_EACH // n)
        rivals["own-past-each"] = baselines.OwnPast.fit(train, metric=metric, each=True, most_rows=rows)
    return rivals


def repeated_readings(train: Windows, history: Series | None = None) -> dict[str, Method]:
    """Return the last reading and, where a day is a whole number of steps, that of a day ago."""
    rivals: dict[str, Method] = {"last-value": baselines.LastValue.fit(train)}
    with suppress(InputError):
        rivals["day-ago"] = baselines.SeasonalNaive.fit(train, history=history)
    return rivals


def _header(folder: Path, data: str, robust: SubsetForecaster, split: Split) -> dict[str, Any]:
    return {
        "record": "evaluation",
        "version": __version__,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "folder": str(folder),
        "data": data,
        "model": repr(robust.model),
        "unit": split.test.series.unit,
        "protocol": split.test.protocol.name,
    }


def _write_record(record: dict[str, Any], path: Path) -> None:
    with whole_file(path, (".json",)) as temporary:
        temporary.write_text(json.dumps(record) + "\n", encoding="utf-8")


def table_rows(table: Any) -> list[dict[str, Any]]:
    """Return the rows of `Comparison.table` as plain values, with None for NaN."""
    rows = [{"method": str(name), **row} for name, row in zip(table.index, table.to_dict("records"), strict=True)]
    return [
        {key: None if isinstance(value, float) and math.isnan(value) else value for key, value in row.items()}
        for row in rows
    ]


def show_evaluation(record: dict[str, Any]) -> None:
    """Print the table of a record."""
    console = Console(highlight=False)
    draws = plural(len(record["draws"]), "draw")
    unit = f", in {record['unit']}" if record["unit"] else ""
    console.print(
        escape(
            f"{record['present_count']} of {record['variables']} variables present, {draws}, "
            f"{plural(record['windows'], 'test window')}, step {record['step']}{unit}"
        ),
        soft_wrap=True,
    )
    console.print(error_table(record["table"]))
    for row in record["table"]:
        console.print(f"{NAMES[row['method']]:<10}{DESCRIPTIONS[row['method']]}", style="dim", soft_wrap=True)
    for sentence in record["verdict"]:
        console.print(escape(sentence), soft_wrap=True)


def error_table(rows: list[dict[str, Any]]) -> Table:
    """Return a table of errors with their standard deviation over draws, and gaps to the Oracle with 95 % intervals."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("", no_wrap=True)
    for column in ("MAE", "gap in % [95 %]", "RMSE", "gap in % [95 %]"):
        table.add_column(Text(column), justify="right", no_wrap=True)
    for row in rows:
        cells = [text for metric in ("mae", "rmse") for text in (error_text(row, metric), gap_text(row, metric))]
        name = row["method"]
        table.add_row(NAMES[name], *(Text(cell) for cell in cells), style="bold" if name == "subcast" else "")
    return table


def error_text(row: dict[str, Any], metric: str) -> str:
    """Format an error with its standard deviation over draws.

    >>> error_text({"mae": 2.3457, "mae_deviation": 0.3}, "mae"), error_text({"mae": 2.3, "mae_deviation": None}, "mae")
    ('2.35 ± 0.3', '2.30')
    """
    deviation = row[f"{metric}_deviation"]
    return f"{row[metric]:#.3g}".rstrip(".") + (f" ± {deviation:.2g}" if deviation is not None else "")


def gap_text(row: dict[str, Any], metric: str) -> str:
    """Format a gap to the Oracle in percent with its interval; empty for the Oracle itself.

    >>> gap_text({"method": "paper", "mae_gap": 2.14, "mae_gap_lower": 1.42, "mae_gap_upper": 2.9}, "mae")
    '+2.1 [+1.4, +2.9]'
    """
    gap, lower, upper = (row[f"{metric}_gap{end}"] for end in ("", "_lower", "_upper"))
    if row["method"] == ORACLE or gap is None:
        return ""
    return _signed(gap) + (f" [{_signed(lower)}, {_signed(upper)}]" if lower is not None else "")


def _signed(percent: float) -> str:
    return f"{percent:+.1f}" if abs(percent) < 100 else f"{percent:+,.0f}"


def _protocol_of(robust: SubsetForecaster) -> str:
    """Return the name of the data protocol of the training windows."""
    protocol = robust.metadata_.protocol
    return protocol if protocol in PROTOCOLS else "default"


def _series_for(robust: SubsetForecaster, series: Series) -> Series:
    """Return a series with the variables, their order and the time features of a wrapper."""
    missing = [name for name in robust.variables if name not in set(series.variables)]
    if missing:
        raise InputError(
            f"{series.name!r} lacks {listed(missing)} of the {len(robust.variables)} variables the wrapper was "
            "fitted on: evaluate it on the data it was fitted on"
        )
    return series.select(list(robust.variables)).with_features(*robust.metadata_.time_features)
