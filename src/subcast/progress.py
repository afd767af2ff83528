"""Progress bars for whatever takes more than two seconds: on a terminal, on stderr, gone when done."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

PATIENCE = 2.0  # seconds before a bar appears


@contextmanager
def progress_bar(what: str, total: int, shown: bool = True) -> Iterator[Callable[[int], None]]:
    """Give a function to call with how many of `total` are done since the last call.

    The bar appears only after two seconds, so that quick work stays quiet, and only on a terminal.

    >>> with progress_bar("counting", 3) as advance:
    ...     for _ in range(3):
    ...         advance(1)
    """
    if not shown or not sys.stderr.isatty():
        yield lambda count: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    task = bar.add_task(what, total=total)
    begun = time.monotonic()
    started = False

    def advance(count: int) -> None:
        nonlocal started
        bar.advance(task, count)
        if not started and time.monotonic() - begun > PATIENCE:
            bar.start()
            started = True

    try:
        yield advance
    finally:
        if started:
            bar.stop()
