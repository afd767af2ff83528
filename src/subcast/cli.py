"""The `subcast` command: each verb a few lines over the library."""

from __future__ import annotations

import json
import sys
import warnings
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
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the picture.")] = Path("demo"),
    seed: Annotated[int, typer.Option(help="Which cloud field to generate.")] = 0,
) -> None:
    """See it work on generated data: solar plants under drifting clouds.

    Example: `subcast demo -o demo`
    """
    from subcast.commands.demo import run_demo

    run_demo(output, seed)


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
    try:
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
    except ModuleNotFoundError as error:
        sentence = missing_extra(error, "training")
        if sentence is None:
            raise
        raise InputError(sentence) from None


@datasets_app.command("list")
def list_datasets(
    as_json: Annotated[bool, typer.Option("--json", help="Machine-readable.")] = False,
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
    as_json: Annotated[bool, typer.Option("--json", help="Machine-readable.")] = False,
) -> None:
    """Show what is in a table of readings: shape, period, rate, what is missing, what was repaired.

    Try `subcast datasets inspect readings.csv`, or for a long table
    `subcast datasets inspect long.csv --id station --time when --value pm25 --plot readings.png`.
    """
    from subcast.commands.datasets import open_series, show_summary
    from subcast.summary import summarise

    series: Series
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", DataWarning)
        series = open_series(file, time=time, id=id, value=value, freq=freq, key=key)
    for warning in said:
        if not any(repair in str(warning.message) for repair in series.repairs):  # those stand in the summary
            warnings.warn(str(warning.message), warning.category, stacklevel=2)
    summary = summarise(series)
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
