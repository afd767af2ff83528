"""`subcast demo`: forecasts of generated solar plants when most of them stop reporting."""

from __future__ import annotations

import shlex
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.markup import escape

from subcast.calendar import share_of_day
from subcast.commands.demo_page import DemoWindow, page, plot_window
from subcast.commands.evaluate import RIVALS, error_table, methods_for, table_rows
from subcast.commands.verdict import verdict
from subcast.datasets import load_dataset
from subcast.evaluation import evaluate, partial_inputs
from subcast.names import plural
from subcast.plots import save_figure
from subcast.storage.files import whole_file
from subcast.subset import SubsetForecaster
from subcast.subsets import draw_subsets
from subcast.windows import Split, Windows

SHARE = 0.15
LOOKBACK = HORIZON = 12
_NOON = (11, 13)  # the "now" of the plot lies between these hours
_PAST = 24  # number of past steps in the plot
_TINY = 1e-9


@dataclass(frozen=True)
class DemoSize:
    """Sizes of the demo; with the defaults it takes one to two minutes on two cores."""

    n_plants: int = 40
    n_steps: int = 8_640
    epochs: int = 15
    draws: int = 10
    every: int = 6
    effort: float = 0.3


def run_demo(
    output: Path, seed: int = 0, *, size: DemoSize | None = None, progress: bool = True
) -> list[dict[str, Any]]:
    """Train a small forecaster on generated data, remove 85 % of the plants, and compare the methods.

    Parameters
    ----------
    output
        the folder for the page, the plot, the wrapper and a file of recent readings
    seed
        random seed for the generated clouds and for drawing subsets
    size
        sizes of the demo
    progress
        whether to show progress bars

    Returns
    -------
    list of dict
        the table that is printed: one row per method
    """
    size = size or DemoSize()
    started = time.monotonic()
    output.mkdir(parents=True, exist_ok=True)
    console = Console(highlight=False)
    console.rule("Solar plants under drifting clouds")
    series = load_dataset("clouds", n_plants=size.n_plants, n_steps=size.n_steps, seed=seed)
    series = series.with_features("time_of_day")
    split = series.split(LOOKBACK, HORIZON, protocol="paper")  # zeros at night count as missing
    console.print(
        f"[bold]1[/] generated {plural(series.n_variables, 'plant')}, {len(series) // 144} days, every 10 min"
    )
    robust = _wrapped_model(split, size, progress, console)
    draws = list(draw_subsets(series.n_variables, share=SHARE, draws=size.draws, seed=seed))
    count, total = len(draws[0]), series.n_variables
    console.print(f"[bold]4[/] evaluating with {count} of {total} plants, drawn at random {plural(len(draws), 'time')}")
    # A boosted model for each plant would take a minute.
    methods = methods_for(robust, split, progress, quick=True, history=series)
    evaluation = evaluate(methods, split.test[:: size.every], draws, progress=progress)
    rows = table_rows(evaluation.table())
    console.print(f"\n[bold]Errors two hours ahead, in MW[/] ({count} of {total} plants report)")
    console.print(error_table(rows))
    sentences = [*headline(rows, count, total).splitlines(), *verdict(evaluation, RIVALS)]
    console.print("\n" + escape("\n".join(sentences)) + "\n", soft_wrap=True)
    _write(output, robust, split.test, pick_window(robust, split.test, draws[0]), rows, console)
    console.print(f"finished in {time.monotonic() - started:.0f} s", style="dim")
    return rows


def _wrapped_model(split: Split, size: DemoSize, progress: bool, console: Console) -> SubsetForecaster:
    from subcast.training import TrainConfig, train

    console.print(f"[bold]2[/] training a small forecaster (TCN) on all plants, {plural(size.epochs, 'epoch')}")
    config = TrainConfig(
        epochs=size.epochs, learning_rate=3e-3, curriculum=0, threads=1, device="cpu", progress=progress
    )  # one thread gives the same model on any number of cores
    model = train("tcn", split.train, split.val, config)
    console.print("[bold]3[/] wrapping it: no further training, only tuning of a few settings on validation windows")
    return SubsetForecaster(model, effort=size.effort, progress=progress).fit(split.train, split.val)


def headline(rows: list[dict[str, Any]], count: int, n: int) -> str:
    """Describe the table in two sentences.

    >>> rows = [{"method": "partial", "mae": 6.0, "mae_gap": 300.0}, {"method": "subcast", "mae": 1.6, "mae_gap": 7.2}]
    >>> print(headline(rows, 6, 40))
    When 34 of 40 plants stop reporting, the error of the model alone is 4.0 times its error with all plants.
    With subcast, the error of the same model is 7 % higher than with all plants, without new training.
    """
    gaps = {row["method"]: row["mae_gap"] for row in rows}
    gap = gaps["subcast"]
    change = f"{abs(gap):.0f} % {'higher than' if gap > 0 else 'lower than'}" if abs(gap) >= 0.5 else "the same as"
    return (
        f"When {n - count} of {n} plants stop reporting, the error of the model alone is "
        f"{1 + gaps['partial'] / 100:.1f} times its error with all plants.\n"
        f"With subcast, the error of the same model is {change} with all plants, without new training."
    )


def pick_window(robust: SubsetForecaster, test: Windows, present: NDArray[np.int64]) -> DemoWindow:
    """Return the noon window of the plot: the one in which the readings of the present plants change the most.

    The two present plants with the largest output are plotted.
    """
    series = test.series
    assert series.times is not None
    assert series.positions is not None
    starts = np.asarray(test.starts)
    hour = 24 * share_of_day(series.times)  # [t]
    now = hour[starts + LOOKBACK - 1]
    noons = np.flatnonzero((now >= _NOON[0]) & (now <= _NOON[1]))
    readings = series.values[starts[noons][:, None] + np.arange(LOOKBACK + HORIZON)][:, :, present]  # [b, t + h, s]
    output = series.values[:, present].mean(axis=0)  # [s]
    changes = np.abs(np.diff(readings, axis=1)).sum(axis=1) / np.maximum(output, _TINY)  # [b, s]
    number = int(noons[np.argmax(changes.sum(axis=1))])
    shown = present[np.sort(np.argsort(-output, kind="stable")[:2])]
    first, now_step = int(starts[number]), int(starts[number]) + LOOKBACK
    before = slice(max(0, now_step - _PAST), now_step)
    window = test[number : number + 1]
    forecast = robust.predict_many(window, present=present)
    columns = np.searchsorted(present, shown)
    ahead = slice(now_step, now_step + HORIZON)
    return DemoWindow(
        positions=series.positions,
        present=present,
        shown=shown,
        names=tuple(series.variables[plant] for plant in shown),
        unit=series.unit,
        past=series.times[before],
        readings=series.values[before, shown],
        ahead=series.times[ahead],
        truth=series.values[ahead, shown],
        forecast=forecast.mean[0][:, columns],
        bounds=None if forecast.bounds is None else forecast.bounds[0, :, 0][:, :, columns],
        partial=partial_inputs(robust)(window, present)[0][:, columns],
        steps=slice(first, now_step),
    )


def _write(
    output: Path,
    robust: SubsetForecaster,
    test: Windows,
    window: DemoWindow,
    rows: list[dict[str, Any]],
    console: Console,
) -> None:
    """Write the wrapper, the readings of the plotted window, the plot and the page."""
    wrapper, recent, plot, html = (output / name for name in ("wrapper", "recent.csv", "demo.png", "index.html"))
    robust.save(wrapper)
    test.series[window.steps].select(window.present).save(recent)
    save_figure(plot_window(window), plot)
    commands = [
        f"subcast forecast {_quoted(wrapper)} {_quoted(recent)} --plot forecast.png",
        "subcast fit readings.csv --model mtgnn -o plant",
        "subcast evaluate plant readings.csv --present 15%",
    ]
    summary = headline(rows, len(window.present), test.series.n_variables)
    with whole_file(html) as temporary:
        temporary.write_text(page(summary, rows, plot.read_bytes(), commands, test.series.unit), encoding="utf-8")
    console.print(f"[bold]open {escape(str(html))}[/] for the page, or {escape(str(plot))} for the plot alone")
    console.print(escape(f"next: {commands[0]}"), soft_wrap=True)


def _quoted(path: Path) -> str:
    return shlex.quote(str(path))
