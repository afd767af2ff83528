"""`subcast demo --live`: a service on generated solar plants, with a replayed feed in which sensors die and stick."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console

from subcast.commands.replay import Fault, replay, sent_times, steps_of
from subcast.commands.service_client import ServiceClient
from subcast.datasets import load_dataset
from subcast.errors import InputError
from subcast.screening import Screener
from subcast.series import Series
from subcast.subset import SubsetForecaster

if TYPE_CHECKING:
    import uvicorn

LOOKBACK = HORIZON = 12
_SLOTS = 144  # steps of ten minutes in a day
_MORNING = 6  # the hour at which the feed begins; steps before it are sent at once
_STARTING = 60.0  # seconds


@dataclass(frozen=True)
class LiveSize:
    """Sizes of the live demo; with the defaults it starts within a minute on two cores."""

    n_plants: int = 24
    n_steps: int = 5_760
    epochs: int = 10
    effort: float = 0.1
    seconds: float = 1.0
    days: float = 3.0


STORY: tuple[tuple[str, int, float, float | None], ...] = (
    ("kill", 3, 8.5, None),
    ("stick", 7, 9.5, None),
    ("kill", 11, 10.5, 14.5),
    ("offset", 15, 11.5, 16.0),
    ("kill", 18, 12.5, None),
    ("kill", 19, 12.5, None),
    ("drift", 5, 31.0, None),
)
"""What happens to which plant, from which hour of the first day on and until when."""


def run_live_demo(
    output: Path, seed: int = 0, *, port: int = 8000, size: LiveSize | None = None, progress: bool = True
) -> None:
    """Fit a wrapper to generated data, start its service, and replay readings until Ctrl-C.

    Parameters
    ----------
    output
        folder for the wrapper and its database
    seed
        random seed of the generated clouds
    port
        of the service, on 127.0.0.1
    size
        sizes of the demo
    progress
        whether to show progress bars
    """
    size = size or LiveSize()
    console = Console(highlight=False)
    import_module("subcast.service.app")  # if a package is missing, it is better to know before the training
    _check_port(port)
    folder = output / "plant"
    if (output / "plant.sqlite3").exists():
        raise InputError(f"{output} holds the feed of an earlier demo: remove the folder, or give another --output")
    robust, later = prepare(folder, seed, size, console, progress=progress)
    with running(folder, port) as url:
        console.print(f"\n[bold]open {url}[/] in a browser; Ctrl-C stops\n", soft_wrap=True)
        steps = list(steps_of(later, story_of(later), sent_times(later, robust.metadata_, now=False)))
        client = ServiceClient(url)
        try:
            replay(steps, client, seconds=size.seconds, warm=_warm_steps(later), say=_plain(console))
            console.print("the readings have ended; the page stays until Ctrl-C", soft_wrap=True)
            while True:
                time.sleep(1)
        except KeyboardInterrupt:
            console.print("stopping the service")
        finally:
            client.close()
    console.print(
        f"the wrapper and its feed are in {output}: subcast serve {folder} goes on from there", soft_wrap=True
    )


def prepare(
    folder: Path, seed: int, size: LiveSize, console: Console, *, progress: bool
) -> tuple[SubsetForecaster, Series]:
    """Generate data, fit a wrapper with its screener and save both; return it and the readings that come later."""
    from subcast.training import TrainConfig, train

    series = load_dataset("clouds", n_plants=size.n_plants, n_steps=size.n_steps, seed=seed)
    series = series.with_features("time_of_day")
    days = len(series) // _SLOTS
    console.print(f"[bold]1[/] generated {size.n_plants} solar plants, {days} days, every 10 min", soft_wrap=True)
    split = series.split(LOOKBACK, HORIZON)
    console.print("[bold]2[/] training a small forecaster (TCN) and wrapping it", soft_wrap=True)
    config = TrainConfig(
        epochs=size.epochs, learning_rate=3e-3, curriculum=0, threads=1, device="cpu", progress=progress
    )
    model = train("tcn", split.train, split.val, config)
    robust = SubsetForecaster(model, effort=size.effort, progress=progress, assist="always").fit(split.train, split.val)
    robust.save(folder)
    Screener.fit(robust, split.train).save(folder)
    console.print("[bold]3[/] starting the service", soft_wrap=True)
    return robust, _from_midnight(split.test.series, size.days)


def _from_midnight(series: Series, days: float) -> Series:
    """Return whole days of a series from its first midnight on."""
    assert series.times is not None
    hours = (series.times - series.times.astype("datetime64[D]")) / np.timedelta64(1, "h")
    first = int(np.flatnonzero(hours == 0)[0])
    return series[first : first + max(2 * LOOKBACK, round(days * _SLOTS))]


def _warm_steps(series: Series) -> int:
    return min(_MORNING * _SLOTS // 24, len(series))


def story_of(series: Series) -> list[Fault]:
    """Return the faults of the story at the steps of a series that begins at midnight."""

    def step(hour: float | None) -> int | None:
        return None if hour is None else round(hour * _SLOTS / 24)

    return [
        Fault(kind, series.variables[place % series.n_variables], step(begin) or 0, step(end))
        for kind, place, begin, end in STORY
    ]


# The service


def _check_port(port: int) -> None:
    """Raise unless the port is free."""
    with socket.socket() as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind(("127.0.0.1", port))
        except (OSError, OverflowError):
            raise InputError(f"port {port} of 127.0.0.1 cannot be used: give another one with --port") from None


@contextmanager
def running(folder: Path, port: int, **options: Any) -> Iterator[str]:
    """Run the service of a folder on 127.0.0.1 in a thread of this process; yields its address.

    `options` are fields of `subcast.service.options.Options`.
    """
    import uvicorn

    from subcast.service.app import create_app

    app: Any = create_app(folder, clock="feed", rate=None, **options)
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=port, log_level="warning", lifespan="on"))
    thread = threading.Thread(target=server.run, name="service", daemon=True)
    thread.start()
    try:
        _wait_until_started(server, thread)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(timeout=_STARTING)


def _wait_until_started(server: uvicorn.Server, thread: threading.Thread) -> None:
    until = time.monotonic() + _STARTING
    while not server.started:
        if not thread.is_alive() or time.monotonic() > until:
            raise InputError("the service did not start: look at the messages above")
        time.sleep(0.05)


def _plain(console: Console) -> Any:
    def say(text: str) -> None:
        console.print(text, markup=False, soft_wrap=True)

    return say
