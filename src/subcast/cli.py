"""The `subcast` command: each verb a few lines over the library."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from subcast import __version__
from subcast.errors import DataWarning, InputError, SubcastError, missing_extra

if TYPE_CHECKING:
    from subcast.series import Series

app = typer.Typer(
    name="subcast",
    help="Keep forecasting when only some of the variables arrive.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
datasets_app = typer.Typer(help="Datasets by name, and any table of your own.", no_args_is_help=True)
app.add_typer(datasets_app, name="datasets")

BAD_INPUT = 2

_PRESET = "default, or paper for the published settings"
_AsJson = Annotated[bool, typer.Option("--json", help="Machine-readable.")]
_Bar = Annotated[bool, typer.Option("--progress/--no-progress", help="Show progress bars.")]


def main() -> None:
    """Run the command; a mistake of the user's is one sentence and exit code 2."""
    warnings.showwarning = _show_warning  # type: ignore[assignment]
    try:
        app()
    except SubcastError as error:
        typer.secho(f"subcast: {error}", fg="red", err=True)
        sys.exit(BAD_INPUT)
    except OSError as error:
        typer.secho(f"subcast: {error.filename or 'file'}: {error.strerror or error}", fg="red", err=True)
        sys.exit(BAD_INPUT)
    except KeyboardInterrupt:
        typer.secho("subcast: stopped", err=True)
        sys.exit(130)


def _show_warning(message: Warning | str, category: type[Warning], *_: object) -> None:
    if issubclass(category, DataWarning):
        typer.secho(f"note: {message}", fg="yellow", err=True)
    else:
        typer.secho(f"{category.__name__}: {message}", fg="yellow", err=True)


@contextmanager
def _extras(wanted: str) -> Iterator[None]:
    """Say how to install a library that is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        said = str(error) if "pip install" in str(error) else missing_extra(error, wanted)
        if said is None:
            raise
        raise InputError(said) from None


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"subcast {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


@app.command()
def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the page and the picture.")] = Path("demo"),
    seed: Annotated[int, typer.Option(help="Which cloud field to generate.")] = 0,
    progress: _Bar = True,
) -> None:
    """See it work on generated data: solar plants under drifting clouds, most of which fall silent.

    Example: `subcast demo -o demo`
    """
    with _extras("the demo"):
        from subcast.commands.demo import run_demo

        run_demo(output, seed, progress=progress)


@app.command()
def train(
    data: Annotated[str, typer.Argument(help="A dataset by name, or a file of readings.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for the model; an interrupted training there goes on.")
    ],
    model: Annotated[str, typer.Option(help="mtgnn, astgcn, mstgcn, lstnet or tcn.")] = "mtgnn",
    preset: Annotated[str, typer.Option(help="default, or paper for the published settings.")] = "default",
    lookback: Annotated[int, typer.Option(help="Steps seen.")] = 12,
    horizon: Annotated[int, typer.Option(help="Steps forecast.")] = 12,
    epochs: Annotated[int | None, typer.Option(help="At most so many.")] = None,
    seed: Annotated[int, typer.Option(help="Equal seeds give equal models.")] = 0,
    graph: Annotated[
        str | None, typer.Option(help="series, correlation, identity, or the folder of a trained MTGNN.")
    ] = None,
    threads: Annotated[int | None, typer.Option(help="Processor threads.")] = None,
    device: Annotated[str, typer.Option(help="cpu, gpu or auto.")] = "auto",
    progress: Annotated[bool, typer.Option("--progress/--no-progress", help="Show a progress bar.")] = True,
) -> None:
    """Train a forecaster on a table of readings.

    Example: `subcast train clouds --model mtgnn -o plant`
    """
    with _extras("training"):
        from subcast.commands.train import run_training

        run_training(
            data,
            model,
            output,
            preset=preset,
            lookback=lookback,
            horizon=horizon,
            epochs=epochs,
            seed=seed,
            graph=graph,
            threads=threads,
            device=device,
            progress=progress,
        )


@app.command()
def fit(
    data: Annotated[str, typer.Argument(help="A dataset by name, or a file of readings.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the wrapper; one there is replaced.")],
    model: Annotated[
        str,
        typer.Option(
            help="mtgnn, astgcn, mstgcn, lstnet or tcn to train one; or a folder of `subcast train`; or a .onnx file."
        ),
    ] = "mtgnn",
    preset: Annotated[str | None, typer.Option(help=f"{_PRESET}; a trained model brings its own.")] = None,
    lookback: Annotated[int | None, typer.Option(help="Steps seen: 12, or those of the model.")] = None,
    horizon: Annotated[int | None, typer.Option(help="Steps forecast: 12, or those of the model.")] = None,
    epochs: Annotated[int | None, typer.Option(help="Training: at most so many.")] = None,
    training: Annotated[
        Path | None,
        typer.Option(help="Folder of the training, where an interrupted one goes on; OUTPUT-training by default."),
    ] = None,
    threads: Annotated[int | None, typer.Option(help="Training: processor threads.")] = None,
    device: Annotated[str, typer.Option(help="Training: cpu, gpu or auto.")] = "auto",
    metric: Annotated[str, typer.Option(help="What to tune for: mae or rmse.")] = "mae",
    seconds: Annotated[float, typer.Option(help="About how long tuning may take.")] = 60.0,
    level: Annotated[list[float] | None, typer.Option(help="Of the intervals, 0.9 by default; repeatable.")] = None,
    seed: Annotated[int, typer.Option(help="Of training, tuning and intervals.")] = 0,
    paper: Annotated[bool, typer.Option("--paper", help="Wrap by the published method.")] = False,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="A setting by hand, such as neighbors=20; repeatable.")
    ] = None,
    progress: _Bar = True,
    as_json: _AsJson = False,
) -> None:
    """Wrap a model so that it survives missing variables; trains it first when given by name.

    Try `subcast fit clouds --model mtgnn -o plant`, or with a model that is there already
    `subcast fit readings.csv --model trained/ -o plant` or `subcast fit readings.csv --model model.onnx -o plant`.
    """
    with _extras("a wrapper of this model"):
        from subcast.commands.fit import Training, fit_record, read_settings, run_fit, show_fit

        options = {"metric": metric, "seconds": seconds, "levels": level or (0.9,), **read_settings(settings or [])}
        with redirect_stdout(sys.stderr) if as_json else nullcontext():  # what training tells is not JSON
            robust = run_fit(
                data,
                model,
                output,
                training=Training(training, lookback, horizon, epochs, threads, device),
                preset=preset,
                paper=paper,
                seed=seed,
                progress=progress,
                **options,
            )
    if as_json:
        typer.echo(json.dumps(fit_record(robust, output), indent=2))
    else:
        show_fit(robust, data, output)


@app.command()
def forecast(
    folder: Annotated[Path, typer.Argument(help="The folder that `subcast fit` wrote.")],
    recent: Annotated[Path, typer.Argument(help="The last readings: .csv, .parquet, .h5 or .npz, wide or long.")],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write the whole table to this .csv.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw it to this .png, .pdf or .svg file.")] = None,
    absent: Annotated[bool, typer.Option("--absent", help="Forecast the absent variables too.")] = False,
    level: Annotated[
        list[float] | None, typer.Option(help="Of the intervals, those of the fit by default; repeatable.")
    ] = None,
    as_json: _AsJson = False,
) -> None:
    """Forecast from whatever arrived: columns may be missing, in any order, with holes.

    Example: `subcast forecast plant recent.csv -o forecast.csv --plot forecast.png --level 0.5 --level 0.9`
    """
    with _extras(f"the model in {folder}"):
        from subcast.commands.forecast import run_forecast, show_forecast

        found = run_forecast(folder, recent, output=output, plot=plot, absent=absent, levels=level or ())
    if as_json:
        typer.echo(json.dumps(found.to_dict(), indent=2))
        return
    show_forecast(found)
    for what, path in (("forecast", output), ("plot", plot)):
        if path is not None:
            typer.echo(f"{what} written to {path}")


@app.command()
def evaluate(
    folder: Annotated[Path, typer.Argument(help="The folder that `subcast fit` wrote.")],
    data: Annotated[str, typer.Argument(help="What it was fitted on: a dataset by name, or a file.")],
    present: Annotated[str, typer.Option(help="How many variables are there: 15%, 0.15, or 21 of them.")] = "15%",
    draws: Annotated[int, typer.Option(help="How many times they are drawn.")] = 20,
    every: Annotated[int, typer.Option(help="Use every so many-th test window.")] = 1,
    step: Annotated[int | None, typer.Option(help="Which step ahead the table shows, the last by default.")] = None,
    seed: Annotated[int, typer.Option(help="Of the draws.")] = 0,
    preset: Annotated[
        str | None, typer.Option(help="The split: default or paper, that of the fit if left out.")
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write the record to this .json file.")] = None,
    progress: _Bar = True,
    as_json: _AsJson = False,
) -> None:
    """Measure what missing variables cost, on test windows: Oracle, Partial, the published method and the wrapper.

    Example: `subcast evaluate plant clouds --present 15% --draws 20 --every 10`
    """
    with _extras(f"the model in {folder}"):
        from subcast.commands.evaluate import run_evaluation, show_evaluation

        record = run_evaluation(
            folder,
            data,
            present=present,
            draws=draws,
            every=every,
            step=step,
            seed=seed,
            preset=preset,
            output=output,
            progress=progress,
        )
    if as_json:
        typer.echo(json.dumps(record))
        return
    show_evaluation(record)
    if output is not None:
        typer.echo(f"record written to {output}")


@app.command()
def reproduce(
    names: Annotated[list[str] | None, typer.Argument(help="Experiments by name, or all.")] = None,
    listing: Annotated[
        bool, typer.Option("--list", help="Show the experiments and how many records there are.")
    ] = False,
    dataset: Annotated[
        list[str] | None, typer.Option(help="Only these datasets: one, several with commas, or several times.")
    ] = None,
    models: Annotated[list[str] | None, typer.Option(help="Only these models, in the same way.")] = None,
    seeds: Annotated[int | None, typer.Option(help="How many trained models of each kind.")] = None,
    draws: Annotated[int | None, typer.Option(help="How many draws of S.")] = None,
    every: Annotated[int | None, typer.Option(help="Every how many test windows.")] = None,
    scale: Annotated[str, typer.Option(help="quick (minutes), or full (the paper's size).")] = "quick",
    results: Annotated[Path, typer.Option(help="Folder of the records.")] = Path("results/reproduce"),
    checkpoints: Annotated[
        list[Path] | None, typer.Option(help="Folder of trained models; may be given several times.")
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="Also what has a record.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Machine-readable.")] = False,
) -> None:
    """Run the paper's tables and figures; what was interrupted goes on where it was.

    Experiments of the same model share what it costs when they are run together.

    Try `subcast reproduce --list`, `subcast reproduce table-main table-knn --dataset ecg5000 --models tcn`,
    or without any data `subcast reproduce table-main --dataset clouds-small --models tcn --draws 3`.
    """
    from subcast.commands.reproduce import list_experiments, run_reproduction, show_experiments

    if listing:
        if as_json:
            typer.echo(json.dumps(list_experiments(results), indent=2))
        else:
            show_experiments(results)
        return
    if not names:
        raise InputError("name an experiment, or all: `subcast reproduce --list` shows them")
    try:
        written, passed = run_reproduction(
            names,
            datasets=dataset or (),
            models=models or (),
            seeds=seeds,
            draws=draws,
            every=every,
            scale=scale,
            results=results,
            checkpoints=checkpoints or (Path("results/checkpoints"), Path("runs/checkpoints")),
            again=again,
            quiet=as_json,
        )
    except ModuleNotFoundError as error:
        sentence = missing_extra(error, "reproducing")
        if sentence is None:
            raise
        raise InputError(sentence) from None
    if as_json:
        typer.echo(json.dumps({"records": [str(path) for path in written], "passed_over": passed}, indent=2))
    else:
        for path in written:
            typer.echo(str(path))


@app.command()
def report(
    results: Annotated[Path, typer.Option(help="Folder of the records.")] = Path("results/reproduce"),
    output: Annotated[Path, typer.Option("--output", "-o", help="The page.")] = Path("docs/reproduction.md"),
) -> None:
    """Write up what was reproduced: our figures beside the published ones, with tables and pictures.

    Example: `subcast report -o docs/reproduction.md`
    """
    from subcast.experiments.report.page import write_report

    typer.echo(f"written to {write_report(results, output, output.parent / 'figures')}")


@datasets_app.command("list")
def list_datasets(
    as_json: _AsJson = False,
) -> None:
    """List the datasets that load by name, and where their files are.

    Example: `SUBCAST_DATA=~/data subcast datasets list`
    """
    from subcast.commands.datasets import dataset_rows, show_datasets

    if as_json:
        typer.echo(json.dumps(dataset_rows(), indent=2))
    else:
        show_datasets(dataset_rows())


@datasets_app.command()
def inspect(
    file: Annotated[str, typer.Argument(help="A .csv, .parquet, .h5 or .npz file, or the name of a dataset.")],
    time: Annotated[str | None, typer.Option(help="The column of times.")] = None,
    id: Annotated[str | None, typer.Option(help="Long tables: the column that names the variable.")] = None,
    value: Annotated[str | None, typer.Option(help="Long tables: the column of readings.")] = None,
    freq: Annotated[str | None, typer.Option(help="The rate, such as 5min, if it cannot be found.")] = None,
    key: Annotated[str | None, typer.Option(help="Which table of an HDF5 or NPZ file.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw it to this .png, .pdf or .svg file.")] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Show every variable, not only the ones that stand out.")
    ] = False,
    as_json: _AsJson = False,
) -> None:
    """Show what is in a table of readings: shape, period, rate, what is missing, what was repaired.

    Try `subcast datasets inspect readings.csv`, or for a long table
    `subcast datasets inspect long.csv --id station --time when --value pm25 --plot readings.png`.
    """
    from subcast.commands.datasets import open_series, show_summary
    from subcast.summary import summarize

    series: Series
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", DataWarning)
        series = open_series(file, time=time, id=id, value=value, freq=freq, key=key)
    for warning in said:
        if not any(repair in str(warning.message) for repair in series.repairs):  # those stand in the summary
            warnings.warn(str(warning.message), warning.category, stacklevel=2)
    summary = summarize(series)
    if plot is not None:
        from subcast.plots import plot_series, save_figure

        save_figure(plot_series(series), plot)
    if as_json:
        typer.echo(json.dumps(summary.to_dict(), indent=2))
        return
    show_summary(summary, every=every)
    if plot is not None:
        typer.echo(f"plot written to {plot}")


@datasets_app.command()
def export(
    name: Annotated[str, typer.Argument(help="A dataset by name, or a file.")],
    file: Annotated[Path, typer.Argument(help="The .csv, .parquet or .npz file to write.")],
) -> None:
    """Write a dataset to a file, cleaned and scaled as subcast sees it.

    Example: `subcast datasets export clouds clouds.csv`
    """
    from subcast.commands.datasets import open_series

    series = open_series(name)
    series.save(file)
    typer.echo(f"{series} written to {file}")
