"""`subcast demo`: solar plants under drifting clouds, most of them silenced, and what is left of the forecast."""

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

from subcast.commands.demo_page import Story, page, plot_story
from subcast.commands.evaluate import error_table, table_rows
from subcast.datasets import load_dataset
from subcast.evaluation import Comparison, Method, evaluate, oracle, partial_inputs, wrapped
from subcast.names import plural
from subcast.plots import save_figure
from subcast.storage.files import whole_file
from subcast.subset import SubsetForecaster
from subcast.subsets import draw_subsets
from subcast.windows import Split, Windows

SHARE = 0.15
LOOKBACK = HORIZON = 12
_NOON = (11, 13)  # hours between which the picture's "now" lies
_PAST = 24  # steps before it that are drawn
_LITTLE = 1e-9


@dataclass(frozen=True)
class DemoSize:
    """How much of everything: the whole demo takes about a minute on two cores."""

    n_plants: int = 40
    n_steps: int = 8_640
    epochs: int = 15
    draws: int = 10
    every: int = 6
    seconds: float = 60.0


def run_demo(
    output: Path, seed: int = 0, *, size: DemoSize | None = None, progress: bool = True
) -> list[dict[str, Any]]:
    """Train a small forecaster on a generated cloud field, silence 85 % of the plants, and compare.

    Parameters
    ----------
    output
        the folder for the page, the picture, the wrapper and a file of recent readings
    seed
        of the cloud field and the draws
    size
        how much of everything
    progress
        whether to show progress bars

    Returns
    -------
    list of dict
        the table that is shown: a row for each method
    """
    size = size or DemoSize()
    begun = time.monotonic()
    output.mkdir(parents=True, exist_ok=True)
    console = Console(highlight=False)
    console.rule("Solar plants under drifting clouds")
    series = load_dataset("clouds", n_plants=size.n_plants, n_steps=size.n_steps, seed=seed)
    series = series.with_features("time_of_day")
    split = series.split(LOOKBACK, HORIZON, protocol="paper")  # the zeros of the night do not count
    console.print(
        f"[bold]1[/] generated {plural(series.n_variables, 'plant')}, {len(series) // 144} days, every 10 min"
    )
    robust = _wrapped_model(split, size, progress, console)
    draws = list(draw_subsets(series.n_variables, share=SHARE, draws=size.draws, seed=seed))
    count = len(draws[0])
    console.print(
        f"[bold]4[/] {plural(len(draws), 'time')}, {count} of {series.n_variables} plants drawn to report; the others "
        "are silent"
    )
    found = _compare(robust, split, draws, size.every, progress)
    rows = table_rows(found.table())
    console.print(f"\n[bold]Errors two hours ahead, in MW[/] ({count} of {series.n_variables} plants report)")
    console.print(error_table(rows))
    console.print(f"\n{escape(headline(rows, count, series.n_variables))}\n")
    story = tell(robust, split.test, draws[0])
    _write(output, robust, split.test, story, rows, console)
    console.print(f"in {time.monotonic() - begun:.0f} s", style="dim")
    return rows


def _wrapped_model(split: Split, size: DemoSize, progress: bool, console: Console) -> SubsetForecaster:
    from subcast.training import TrainConfig, train

    console.print(f"[bold]2[/] training a small forecaster (TCN) on all of them, {plural(size.epochs, 'epoch')}")
    config = TrainConfig(
        epochs=size.epochs, learning_rate=3e-3, curriculum=0, threads=1, device="cpu", progress=progress
    )  # one thread: the same model on any number of cores
    model = train("tcn", split.train, split.val, config)
    console.print("[bold]3[/] wrapping it: nothing is trained anew, a few settings are tuned on validation windows")
    return SubsetForecaster(model, seconds=size.seconds, progress=progress).fit(split.train, split.val)


def _compare(
    robust: SubsetForecaster, split: Split, draws: list[NDArray[np.int64]], every: int, progress: bool
) -> Comparison:
    published = SubsetForecaster.paper(robust.model, progress=progress).fit(split.train)
    methods: dict[str, Method] = {
        "oracle": oracle(robust),
        "partial": partial_inputs(robust),
        "paper": wrapped(published),
        "subcast": wrapped(robust),
    }
    return evaluate(methods, split.test[::every], draws, progress=progress)


def headline(rows: list[dict[str, Any]], count: int, n: int) -> str:
    """What the table says, in two sentences.

    >>> rows = [{"method": "partial", "mae": 6.0, "mae_gap": 300.0}, {"method": "subcast", "mae": 1.6, "mae_gap": 7.2}]
    >>> print(headline(rows, 6, 40))
    When 34 of 40 plants fall silent, the errors of the model as it is are 4.0 times those it had with all plants.
    Wrapped by subcast, the same model errs 7 % more, from the 6 plants that are left, without any new training.
    """
    gaps = {row["method"]: row["mae_gap"] for row in rows}
    ours = gaps["subcast"]
    words = f"{abs(ours):.0f} % {'more' if ours > 0 else 'less'}" if abs(ours) >= 0.5 else "no more"
    return (
        f"When {n - count} of {n} plants fall silent, the errors of the model as it is are "
        f"{1 + gaps['partial'] / 100:.1f} times those it had with all plants.\n"
        f"Wrapped by subcast, the same model errs {words}, from the {plural(count, 'plant')} that "
        f"{'is' if count == 1 else 'are'} left, without any new training."
    )


def tell(robust: SubsetForecaster, test: Windows, present: NDArray[np.int64]) -> Story:
    """One noon for the picture, chosen by the readings alone: when the plants that report change the most.

    Two of them are drawn, those of the largest output.
    """
    series = test.series
    assert series.times is not None
    assert series.positions is not None
    starts = np.asarray(test.starts)
    hour = (series.times - series.times.astype("datetime64[D]")) / np.timedelta64(1, "h")  # [t]
    now = hour[starts + LOOKBACK - 1]
    noons = np.flatnonzero((now >= _NOON[0]) & (now <= _NOON[1]))
    truth = series.values[starts[noons][:, None] + np.arange(LOOKBACK + HORIZON)][:, :, present]  # [b, t + h, s]
    output = series.values[:, present].mean(axis=0)  # [s]
    changes = np.abs(np.diff(truth, axis=1)).sum(axis=1) / np.maximum(output, _LITTLE)  # [b, s]
    window = int(noons[np.argmax(changes.sum(axis=1))])
    shown = present[np.sort(np.argsort(-output, kind="stable")[:2])]
    first, now_step = int(starts[window]), int(starts[window]) + LOOKBACK
    before = slice(max(0, now_step - _PAST), now_step)
    here = test[window : window + 1]
    forecast = robust.predict_many(here, present=present)
    places = np.searchsorted(present, shown)
    ahead = slice(now_step, now_step + HORIZON)
    return Story(
        positions=series.positions,
        present=present,
        shown=shown,
        names=tuple(series.variables[place] for place in shown),
        unit=series.unit,
        past=series.times[before],
        readings=series.values[before, shown],
        ahead=series.times[ahead],
        truth=series.values[ahead, shown],
        forecast=forecast.mean[0][:, places],
        bounds=None if forecast.bounds is None else forecast.bounds[0, :, 0][:, :, places],
        partial=partial_inputs(robust)(here, present)[0][:, places],
        window=slice(first, now_step),
    )


def _write(
    output: Path,
    robust: SubsetForecaster,
    test: Windows,
    story: Story,
    rows: list[dict[str, Any]],
    console: Console,
) -> None:
    """The wrapper, the readings of the picture's window, the picture and the page."""
    wrapper, recent, picture, html = (output / name for name in ("wrapper", "recent.csv", "demo.png", "index.html"))
    robust.save(wrapper)
    test.series[story.window].select(story.present).save(recent)
    save_figure(plot_story(story), picture)
    commands = [
        f"subcast forecast {_quoted(wrapper)} {_quoted(recent)} --plot forecast.png",
        "subcast fit readings.csv --model mtgnn -o plant",
        "subcast evaluate plant readings.csv --present 15%",
    ]
    said = headline(rows, len(story.present), test.series.n_variables)
    with whole_file(html) as temporary:
        temporary.write_text(page(said, rows, picture.read_bytes(), commands, test.series.unit), encoding="utf-8")
    console.print(f"[bold]open {escape(str(html))}[/] for the page; the picture alone is {escape(str(picture))}")
    console.print(escape(f"next: {commands[0]}"), soft_wrap=True)


def _quoted(path: Path) -> str:
    return shlex.quote(str(path))
