"""The `subcast` command: one function per verb, each a few lines over the library."""

from __future__ import annotations

import json
import logging
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, redirect_stdout
from pathlib import Path
from typing import Annotated, Any

import typer

from subcast import __version__
from subcast.commands import options
from subcast.commands.advice import for_command_line
from subcast.errors import DataWarning, FitWarning, InputError, SubcastError, missing_extra

app = typer.Typer(
    name="subcast",
    help="Forecast multivariate time series when only some of the variables are present.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
datasets_app = typer.Typer(help="List datasets, and inspect or export a table of readings.", no_args_is_help=True)
app.add_typer(datasets_app, name="datasets")
bank_app = typer.Typer(
    help="Write past readings to files, for banks that do not fit into memory.", no_args_is_help=True
)
app.add_typer(bank_app, name="bank")

sensors_app = typer.Typer(help="Show, maintain and replace the sensors of a service.", no_args_is_help=True)
app.add_typer(sensors_app, name="sensors")
URL = "http://127.0.0.1:8000"

BAD_INPUT, INTERRUPTED = 2, 130


def main() -> None:
    """Run the command; an error of the user is printed as one sentence, with exit code 2."""
    warnings.showwarning = _show_warning  # type: ignore[assignment]
    try:
        app()
    except SubcastError as error:
        typer.secho(f"subcast: {for_command_line(str(error))}", fg="red", err=True)
        sys.exit(BAD_INPUT)
    except OSError as error:
        typer.secho(f"subcast: {error.filename or 'file'}: {error.strerror or error}", fg="red", err=True)
        sys.exit(BAD_INPUT)
    except KeyboardInterrupt:
        typer.secho("subcast: interrupted", err=True)
        sys.exit(INTERRUPTED)


def _show_warning(message: Warning | str, category: type[Warning], *_: object) -> None:
    label = "note" if issubclass(category, DataWarning | FitWarning) else category.__name__
    typer.secho(f"{label}: {for_command_line(str(message))}", fg="yellow", err=True)


@contextmanager
def _extras(purpose: str) -> Iterator[None]:
    """Turn the error of a missing optional package into a sentence that says how to install it."""
    try:
        yield
    except ModuleNotFoundError as error:
        sentence = str(error) if "pip install" in str(error) else missing_extra(error, purpose)
        if sentence is None:
            raise
        raise InputError(sentence) from None


@contextmanager
def _log_to_stderr() -> Iterator[None]:
    """Show the log messages of the library on stderr."""
    library, handler = logging.getLogger("subcast"), logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(name)s: %(message)s"))
    level = library.level
    library.addHandler(handler)
    library.setLevel(logging.INFO)
    try:
        yield
    finally:
        library.removeHandler(handler)
        library.setLevel(level)


def _print_json(value: Any, indent: int | None = 2) -> None:
    typer.echo(json.dumps(value, indent=indent))


def _limits(texts: list[str] | None, none: bool, default: Any) -> Any:
    """Return the ranges given with --limit, None for --no-limits, or the default."""
    from subcast.commands.limits import read_ranges

    if texts and none:
        raise InputError("--limit and --no-limits cannot both be given: leave one out")
    return None if none else read_ranges(texts) if texts else default


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"subcast {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Show log messages on stderr.")] = False,
) -> None:
    if verbose:
        context.with_resource(_log_to_stderr())


@app.command()
def demo(
    output: options.DemoOutput = Path("demo"),
    seed: options.DemoSeed = 0,
    live: options.Live = False,
    port: options.DemoPort = 8000,
    progress: options.Progress = True,
) -> None:
    """Run a demonstration on generated data: forecasts of solar plants when most of them stop reporting.

    With `--live` it starts a service and sends it readings in which plants fall silent and stick; the page shows it.

    Examples: `subcast demo -o demo`, `subcast demo --live -o live-demo`
    """
    with _extras("the demo"):
        if live:
            from subcast.commands.live_demo import run_live_demo

            run_live_demo(output, seed, port=port, progress=progress)
        else:
            from subcast.commands.demo import run_demo

            run_demo(output, seed, progress=progress)


@app.command()
def train(
    data: options.Data,
    output: options.TrainOutput,
    model: options.TrainModel = "mtgnn",
    preset: options.TrainPreset = "default",
    lookback: options.TrainLookback = 12,
    horizon: options.TrainHorizon = 12,
    epochs: options.Epochs = None,
    seed: options.TrainSeed = 0,
    graph: options.Graph = None,
    threads: options.Threads = None,
    device: options.Device = "auto",
    time: options.TimeColumn = None,
    id: options.IdColumn = None,
    value: options.ValueColumn = None,
    freq: options.Rate = None,
    key: options.TableKey = None,
    decimal: options.DecimalMark = None,
    thousands: options.ThousandsMark = None,
    progress: options.Progress = True,
) -> None:
    """Train a forecaster on a table of readings.

    Example: `subcast train clouds --model mtgnn -o plant`
    """
    with _extras("training"):
        from subcast.commands.train import run_training

        config = {"epochs": epochs, "seed": seed, "threads": threads, "device": device, "progress": progress}
        run_training(
            data, model, output, preset=preset, lookback=lookback, horizon=horizon, graph=graph,
            table=options.table_options(time, id, value, freq, key, decimal, thousands), **config,  # type: ignore[arg-type]
        )  # fmt: skip


@app.command()
def fit(
    data: options.Data,
    output: options.FitOutput,
    model: options.FitModel = "mtgnn",
    preset: options.FitPreset = None,
    lookback: options.FitLookback = None,
    horizon: options.FitHorizon = None,
    epochs: options.Epochs = None,
    training: options.TrainingFolder = None,
    threads: options.Threads = None,
    device: options.Device = "auto",
    metric: options.Metric = "mae",
    effort: options.Effort = 1.0,
    seconds: options.Seconds = None,
    level: options.FitLevels = None,
    seed: options.FitSeed = 0,
    paper: options.Paper = False,
    settings: options.SettingTexts = None,
    time: options.TimeColumn = None,
    id: options.IdColumn = None,
    value: options.ValueColumn = None,
    freq: options.Rate = None,
    key: options.TableKey = None,
    decimal: options.DecimalMark = None,
    thousands: options.ThousandsMark = None,
    limit: options.LimitTexts = None,
    no_limits: options.NoLimits = False,
    bank: options.BankFolder = None,
    cluster: options.ClusterAddress = None,
    progress: options.Progress = True,
    as_json: options.AsJson = False,
) -> None:
    """Wrap a model so that it can forecast when variables are missing; a model given by name is trained first.

    Examples: `subcast fit clouds --model mtgnn -o plant` trains an MTGNN and wraps it,
    `subcast fit readings.csv --model trained/ -o plant` wraps a trained model, and
    `subcast fit readings.csv --model model.onnx -o plant` wraps an ONNX file. With `--bank` past windows stay in files,
    and with `--cluster` the workers of a Dask cluster search them.
    """
    with _extras("a wrapper of this model"):
        from subcast.commands.fit import TrainingOptions, fit_record, read_settings, run_fit, show_fit

        fixed = read_settings(settings or [])
        fixed["limits"] = _limits(limit, no_limits, "learned")
        training_options = TrainingOptions(training, lookback, horizon, epochs, threads, device)
        with redirect_stdout(sys.stderr) if as_json else nullcontext():  # training prints to stdout
            robust = run_fit(
                data, model, output, training=training_options, preset=preset, paper=paper, seed=seed,
                table=options.table_options(time, id, value, freq, key, decimal, thousands),
                bank_folder=bank, cluster=cluster,
                progress=progress, metric=metric, effort=effort, seconds=seconds, levels=level or (0.9,), **fixed,
            )  # fmt: skip
    if as_json:
        _print_json(fit_record(robust, output))
    else:
        show_fit(robust, data, output)


@bank_app.command("write")
def bank_write(
    data: options.Data,
    folder: options.ShardFolder,
    lookback: options.BankLookback = 12,
    horizon: options.BankHorizon = 12,
    steps: options.ShardSteps = None,
    part: options.BankPart = "train",
    preset: options.BankPreset = "default",
    stream: options.Streamed = False,
    append: options.Appended = False,
    time: options.TimeColumn = None,
    id: options.IdColumn = None,
    value: options.ValueColumn = None,
    freq: options.Rate = None,
    key: options.TableKey = None,
    decimal: options.DecimalMark = None,
    thousands: options.ThousandsMark = None,
    as_json: options.AsJson = False,
) -> None:
    """Write readings to a folder of Parquet files, for `subcast fit --bank` and `ShardedBank`.

    Examples: `subcast bank write clouds bank`, `subcast fit clouds --model tcn --bank bank -o plant`, and for a file
    that does not fit into memory `subcast bank write readings.parquet bank --stream`.
    """
    from subcast.commands.bank import bank_record, run_bank_write, show_bank

    bank = run_bank_write(
        data, folder, lookback=lookback, horizon=horizon, steps=steps, part=part, preset=preset, stream=stream,
        append=append, table=options.table_options(time, id, value, freq, key, decimal, thousands),
    )  # fmt: skip
    if as_json:
        _print_json(bank_record(bank))
    else:
        show_bank(bank)


@app.command()
def inspect(folder: options.Wrapper, every: options.EveryLimit = False, as_json: options.AsJson = False) -> None:
    """Show what a wrapper is: its variables, period, model, settings, expected gaps and limits of readings.

    Example: `subcast inspect plant`
    """
    from subcast.commands.inspect import run_inspect, show_inspect

    record = run_inspect(folder)
    if as_json:
        _print_json(record)
    else:
        show_inspect(record, every=every)


@app.command()
def forecast(
    folder: options.Wrapper,
    recent: options.Recent,
    output: options.ForecastOutput = None,
    plot: options.Plot = None,
    absent: options.Absent = False,
    level: options.ForecastLevels = None,
    time: options.TimeColumn = None,
    id: options.IdColumn = None,
    value: options.ValueColumn = None,
    freq: options.Rate = None,
    key: options.TableKey = None,
    decimal: options.DecimalMark = None,
    thousands: options.ThousandsMark = None,
    strict: options.Strict = False,
    limit: options.LimitTexts = None,
    no_limits: options.NoLimits = False,
    as_json: options.AsJson = False,
) -> None:
    """Forecast from a file of recent readings; columns may be missing or in another order, and cells may be empty.

    Example: `subcast forecast plant recent.csv -o forecast.csv --plot forecast.png --level 0.5 --level 0.9`
    """
    with _extras(f"the model in {folder}"):
        from subcast.commands.forecast import run_forecast, show_forecast

        table = options.table_options(time, id, value, freq, key, decimal, thousands)
        result = run_forecast(
            folder, recent, output=output, plot=plot, absent=absent, levels=level or (), table=table, strict=strict,
            limits=_limits(limit, no_limits, {}),
        )  # fmt: skip
    if as_json:
        _print_json(result.to_dict())
        return
    show_forecast(result)
    for name, path in (("forecast", output), ("plot", plot)):
        if path is not None:
            typer.echo(f"{name} written to {path}")


@app.command()
def screen(
    folder: options.Wrapper,
    readings: options.ScreenedReadings,
    output: options.FlagsOutput = None,
    time: options.TimeColumn = None,
    id: options.IdColumn = None,
    value: options.ValueColumn = None,
    freq: options.Rate = None,
    key: options.TableKey = None,
    decimal: options.DecimalMark = None,
    thousands: options.ThousandsMark = None,
    as_json: options.AsJson = False,
) -> None:
    """Find readings and sensors that are not to be believed: dead, stuck, biased, drifting, noisy.

    Prints every sensor that is ill at the end of the file, since when and why, and those that were ill before.

    Example: `subcast screen plant readings.csv -o flags.csv`
    """
    from subcast.commands.screen import run_screen, show_screened

    table = options.table_options(time, id, value, freq, key, decimal, thousands)
    screened = run_screen(folder, readings, output=output, table=table)
    if as_json:
        _print_json(screened.to_dict())
        return
    show_screened(screened)
    if output is not None:
        typer.echo(f"flags written to {output}")


@app.command()
def evaluate(
    folder: options.Wrapper,
    data: options.FittedData,
    present: options.Present = "15%",
    draws: options.Draws = 20,
    every: options.Every = 1,
    step: options.Step = None,
    seed: options.SubsetSeed = 0,
    preset: options.EvaluatePreset = None,
    rivals: options.Rivals = True,
    output: options.RecordOutput = None,
    time: options.TimeColumn = None,
    id: options.IdColumn = None,
    value: options.ValueColumn = None,
    freq: options.Rate = None,
    key: options.TableKey = None,
    decimal: options.DecimalMark = None,
    thousands: options.ThousandsMark = None,
    progress: options.Progress = True,
    as_json: options.AsJson = False,
) -> None:
    """Measure the forecast error on test windows when variables are missing.

    Compares the model with all variables (Oracle), the model with missing variables at their mean (Partial), the
    published method, the wrapper, and simpler methods that someone might use instead. Says what your model adds, and
    whether something simpler is better.

    Example: `subcast evaluate plant clouds --present 15% --draws 20 --every 10`
    """
    with _extras(f"the model in {folder}"):
        from subcast.commands.evaluate import run_evaluation, show_evaluation

        record = run_evaluation(
            folder, data, present=present, draws=draws, every=every, step=step, seed=seed, preset=preset,
            rivals=rivals, output=output, progress=progress,
            table=options.table_options(time, id, value, freq, key, decimal, thousands),
        )  # fmt: skip
    if as_json:
        _print_json(record, indent=None)
        return
    show_evaluation(record)
    if output is not None:
        typer.echo(f"record written to {output}")


@app.command()
def refresh(
    folder: options.Wrapper,
    readings: options.NewReadings,
    new_only: options.NewOnly = False,
    output: options.RefreshOutput = None,
    time: options.TimeColumn = None,
    id: options.IdColumn = None,
    value: options.ValueColumn = None,
    freq: options.Rate = None,
    key: options.TableKey = None,
    decimal: options.DecimalMark = None,
    thousands: options.ThousandsMark = None,
    as_json: options.AsJson = False,
) -> None:
    """Append new readings to a wrapper: further past windows, moments and intervals; nothing is trained.

    The folder is replaced in one step, also while a service reads it.

    Example: `subcast refresh plant october.csv`
    """
    with _extras(f"the model in {folder}"):
        from subcast.commands.refresh import run_refresh, show_refresh

        table = options.table_options(time, id, value, freq, key, decimal, thousands)
        record = run_refresh(folder, readings, table=table, new_only=new_only, output=output)
    if as_json:
        _print_json(record)
    else:
        show_refresh(record, output or folder)


@app.command()
def serve(
    folder: options.Wrapper,
    port: options.Port = 8000,
    host: options.Host = "127.0.0.1",
    database: options.DatabaseUrl = None,
    workers: options.Workers = 1,
    keys: options.KeysFile = None,
    new_key: options.NewKey = None,
    clock: options.Clock = "auto",
    deadline: options.Deadline = None,
    late_steps: options.LateSteps = None,
    catch_up: options.CatchUp = 288,
    keep_readings: options.KeepReadings = None,
    keep_forecasts: options.KeepForecasts = None,
    webhook: options.Webhook = None,
    rate: options.RequestRate = 500.0,
    log_level: options.LogLevel = "info",
) -> None:
    """Run the live service: readings in, dead sensors found, forecasts out; a page at / and an API at /v1.

    Examples: `subcast serve plant`, `subcast serve plant --new-key feeder:write --keys keys.toml`, and
    `subcast serve plant --database postgresql://... --workers 4 --keys keys.toml --host 0.0.0.0`
    """
    with _extras("the service"):
        from subcast.commands.serve import add_key, run_service

        if new_key is not None:
            add_key(keys, new_key)
            return
        run_service(
            folder, host=host, port=port, log_level=log_level, database=database, workers=workers, keys=keys,
            clock=clock, deadline=deadline, late_steps=late_steps, catch_up=catch_up, keep_readings=keep_readings,
            keep_forecasts=keep_forecasts, webhook=webhook, rate=rate or None,
        )  # fmt: skip


@app.command()
def replay(
    folder: options.Wrapper,
    readings: options.ReplayFile,
    speed: options.Speed = 1.0,
    kill: options.Kill = None,
    stick: options.Stick = None,
    offset: options.Offset = None,
    drift: options.Drift = None,
    url: options.ServiceUrl = URL,
    start: options.ReplayStart = "",
    steps: options.ReplaySteps = None,
    warm: options.Warm = None,
    now: options.Now = False,
    time: options.TimeColumn = None,
    id: options.IdColumn = None,
    value: options.ValueColumn = None,
    freq: options.Rate = None,
    key: options.TableKey = None,
    decimal: options.DecimalMark = None,
    thousands: options.ThousandsMark = None,
) -> None:
    """Post the readings of a table to a running service, step by step, with sensors that die, stick or drift.

    Readings keep their own times, for a service with `--clock feed`; with `--now` they get the present time.

    Example: `subcast replay plant readings.csv --speed 600 --kill a,b,c --stick d`
    """
    from subcast.commands.replay import ReplayOptions, read_faults, run_replay

    faults = [fault for kind, text in (("kill", kill), ("stick", stick), ("offset", offset), ("drift", drift))
              for fault in read_faults(kind, text)]  # fmt: skip
    run_replay(
        folder, readings, ReplayOptions(url, speed, start, steps, warm, now), faults,
        options.table_options(time, id, value, freq, key, decimal, thousands),
    )  # fmt: skip


@app.command()
def reproduce(
    names: options.Experiments = None,
    listing: options.Listing = False,
    dataset: options.Datasets = None,
    models: options.Models = None,
    seeds: options.Seeds = None,
    draws: options.ReproduceDraws = None,
    every: options.ReproduceEvery = None,
    scale: options.Scale = "quick",
    results: options.Results = Path("results/reproduce"),
    checkpoints: options.Checkpoints = None,
    again: options.Again = False,
    cluster: options.ClusterAddress = None,
    as_json: options.AsJson = False,
) -> None:
    """Run the experiments behind the paper's tables and figures; an interrupted run is resumed.

    Experiments on the same model run faster together, because they share its forecasts.

    Examples: `subcast reproduce --list`, `subcast reproduce table-main table-knn --dataset ecg5000 --models tcn`,
    and without any data files `subcast reproduce table-main --dataset clouds-small --models tcn --draws 3`.
    """
    from subcast.commands.reproduce import DEFAULT_CHECKPOINTS, list_experiments, run_reproduction, show_experiments

    if listing:
        show = _print_json if as_json else show_experiments
        show(list_experiments(results))
        return
    with _extras("reproducing"):
        written, skipped = run_reproduction(
            names or (), datasets=dataset or (), models=models or (), seeds=seeds, draws=draws, every=every,
            scale=scale, results=results, checkpoints=checkpoints or DEFAULT_CHECKPOINTS, again=again, quiet=as_json,
            cluster=cluster,
        )  # fmt: skip
    paths = [str(path) for path in written]
    if as_json:
        _print_json({"records": paths, "skipped": skipped})
    else:
        typer.echo("\n".join(paths))


@app.command()
def report(
    results: options.Results = Path("results/reproduce"), output: options.Page = Path("docs/reproduction.md")
) -> None:
    """Compare the reproduced results with the published ones: a page of verdicts, and one for each experiment.

    Example: `subcast report -o docs/reproduction.md`
    """
    from subcast.experiments.report.page import write_report

    typer.echo(f"report written to {write_report(results, output, output.parent / 'figures')}")


@datasets_app.command("list")
def list_datasets(as_json: options.AsJson = False) -> None:
    """List the datasets that can be loaded by name, and whether their files are on this machine.

    Example: `SUBCAST_DATA=~/data subcast datasets list`
    """
    from subcast.commands.datasets import dataset_rows, show_datasets

    show = _print_json if as_json else show_datasets
    show(dataset_rows())


@datasets_app.command("inspect")
def inspect_table(
    file: options.TableFile,
    time: options.TimeColumn = None,
    id: options.IdColumn = None,
    value: options.ValueColumn = None,
    freq: options.Rate = None,
    key: options.TableKey = None,
    decimal: options.DecimalMark = None,
    thousands: options.ThousandsMark = None,
    plot: options.Plot = None,
    every: options.AllVariables = False,
    as_json: options.AsJson = False,
) -> None:
    """Summarize a table of readings: its size, period and rate, missing readings, and repairs made while reading.

    Examples: `subcast datasets inspect readings.csv`, or for a long table
    `subcast datasets inspect long.csv --id station --time when --value pm25 --plot readings.png`.
    """
    from subcast.commands.datasets import run_inspection, show_summary

    table = options.table_options(time, id, value, freq, key, decimal, thousands)
    summary = run_inspection(file, plot=plot, **table)
    if as_json:
        _print_json(summary.to_dict())
        return
    show_summary(summary, every=every)
    if plot is not None:
        typer.echo(f"plot written to {plot}")


@datasets_app.command()
def export(
    name: options.Data,
    file: options.ExportFile,
    time: options.TimeColumn = None,
    id: options.IdColumn = None,
    value: options.ValueColumn = None,
    freq: options.Rate = None,
    key: options.TableKey = None,
    decimal: options.DecimalMark = None,
    thousands: options.ThousandsMark = None,
) -> None:
    """Write a dataset, or a repaired table of readings, to a file.

    Example: `subcast datasets export clouds clouds.csv`
    """
    from subcast.commands.datasets import open_series

    series = open_series(name, **options.table_options(time, id, value, freq, key, decimal, thousands))
    series.save(file)
    typer.echo(f"{series} written to {file}")


@sensors_app.command("list")
def list_sensors(
    every: options.EverySensor = False,
    url: options.ServiceUrl = URL,
    folder: options.StoppedFolder = None,
    database: options.StoppedDatabase = None,
    as_json: options.AsJson = False,
) -> None:
    """Show which sensors of a service are not well, since when and why.

    Example: `subcast sensors list`
    """
    from subcast.commands import sensors

    with _extras("the service"):
        found = sensors.list_sensors(sensors.service_of(url, folder, database))
    if as_json:
        _print_json(found)
    else:
        sensors.show_sensors(found, every=every)


@sensors_app.command()
def maintain(
    sensor: options.Sensor,
    start: options.MaintenanceStart,
    end: options.MaintenanceEnd,
    reason: options.Reason = "",
    url: options.ServiceUrl = URL,
    folder: options.StoppedFolder = None,
    database: options.StoppedDatabase = None,
    as_json: options.AsJson = False,
) -> None:
    """Plan maintenance of a sensor: its readings are left out, nothing waits for it, and nobody is alerted.

    Example: `subcast sensors maintain north 2026-11-20T08:00 2026-11-20T12:00 --reason "new gasket"`
    """
    from subcast.commands import sensors

    with _extras("the service"):
        planned = sensors.maintain(sensors.service_of(url, folder, database), sensor, start, end, reason)
    if as_json:
        _print_json(planned)
    else:
        typer.echo(f"{planned['sensor']} is in maintenance from {planned['start']} to {planned['end']}")


@sensors_app.command()
def replace(
    sensor: options.Sensor,
    name: options.NewName,
    at: options.ReplacedAt = None,
    reason: options.Reason = "",
    url: options.ServiceUrl = URL,
    folder: options.StoppedFolder = None,
    database: options.StoppedDatabase = None,
    as_json: options.AsJson = False,
) -> None:
    """Say that a new device has taken the place of a sensor: what the old one sent becomes holes.

    Example: `subcast sensors replace north north-b --reason "the old one drifted"`
    """
    from subcast.commands import sensors

    with _extras("the service"):
        where = sensors.service_of(url, folder, database)
        replaced = sensors.replace_sensor(where, sensor, name, at, reason)
    if as_json:
        _print_json(replaced)
    else:
        typer.echo(
            f"{replaced['name']} has the place of {replaced['sensor']} from {replaced['at']} on; what was sent before "
            "is not used any more"
        )
