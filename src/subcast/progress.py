"""Progress bars on stderr for work of more than two seconds; they disappear when the work is done."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

DELAY = 2.0  # seconds before a bar appears


@contextmanager
def progress_bar(description: str, total: int, shown: bool = True) -> Iterator[Callable[[int], None]]:
    """Show a progress bar and return a function that advances it by a number of items.

    The bar appears only after two seconds of work, and only if stderr is a terminal.

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
    task = bar.add_task(description, total=total)
    start = time.monotonic()
    started = False

    def advance(count: int) -> None:
        nonlocal started
        bar.advance(task, count)
        if not started and time.monotonic() - start > DELAY:
            bar.start()
            started = True

    try:
        yield advance
    finally:
        if started:
            bar.stop()
