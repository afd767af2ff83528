"""Run the cells of experiments on a Dask cluster: a cell is a task, which writes its record before it returns."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from concurrent.futures import CancelledError
from pathlib import Path
from typing import Any

from subcast.errors import ClusterError
from subcast.experiments.declaration import Cell
from subcast.experiments.run import Places, Say, run_cells

_LOOK = 1.0  # seconds between two looks at the cluster


def run_one(cell: Cell, places: Places, again: bool, data: str | None) -> tuple[list[str], dict[str, str]]:
    """Run one cell on a worker; return the path of its record, or why it was skipped."""
    if data is not None:
        os.environ["SUBCAST_DATA"] = data
    written, skipped = run_cells([cell], places, again=again, say=_say_nothing, progress=False)
    return [str(path) for path in written], skipped


def _say_nothing(text: str) -> None:
    """Print nothing: the output of a worker is not that of the command."""


def run_cells_on(
    client: Any,
    cells: Sequence[Cell],
    places: Places,
    *,
    again: bool = False,
    patience: float = 60.0,
    say: Say = print,
) -> tuple[list[Path], dict[str, str]]:
    """Run the cells as tasks of a cluster whose workers see the same folders.

    Each record is on disk before its task ends, so that after the death of the scheduler a second run continues where
    the first one stopped. A cell whose worker dies is run by another one.

    Parameters
    ----------
    client
        a `distributed.Client`
    cells, places, again, say
        as in `run_cells`
    patience
        seconds to wait for a worker when there is none

    Returns
    -------
    tuple
        paths of the records, and the skipped cells with the reason
    """
    own = Places(places.results.absolute(), tuple(folder.absolute() for folder in places.checkpoints))
    data = os.environ.get("SUBCAST_DATA") or None
    data = None if data is None else str(Path(data).absolute())
    futures = {client.submit(run_one, cell, own, again, data, pure=False): cell for cell in cells}
    written: list[Path] = []
    skipped: dict[str, str] = {}
    try:
        for number, (future, done) in enumerate(_finished(client, list(futures), patience), 1):
            cell = futures[future]
            paths, reasons = done
            written += [places.record(cell)] if paths else []
            skipped |= reasons
            outcome = "; ".join(reasons.values()) or "recorded"
            say(f"[{number}/{len(cells)}] {cell.experiment.name} {cell.name}: {outcome}")
    except ClusterError as error:
        raise ClusterError(
            f"{error}; {len(written)} of {len(cells)} cells have their records: run the same command again to go on"
        ) from error
    return written, skipped


def _finished(client: Any, futures: list[Any], patience: float) -> Any:
    """Yield futures and their results as they end; raise a ClusterError if the cluster cannot go on."""
    from distributed import wait
    from distributed.comm import CommClosedError

    waiting, alone_since = list(futures), None
    while waiting:
        try:
            with client.as_current():
                done = wait(waiting, timeout=_LOOK, return_when="FIRST_COMPLETED").done
        except TimeoutError:
            alone_since = None if _has_worker(client) else alone_since or time.monotonic()
            if alone_since is not None and time.monotonic() - alone_since > patience:
                raise ClusterError(f"the cluster has had no worker for {patience:g} s") from None
            continue
        except (CancelledError, OSError) as error:
            raise ClusterError("the connection to the scheduler was lost") from error
        for future in [each for each in waiting if each in done]:
            waiting.remove(future)
            try:
                found = future.result()
            except (CancelledError, CommClosedError) as error:
                raise ClusterError("the connection to the scheduler was lost") from error
            yield future, found


def _has_worker(client: Any) -> bool:
    if client.status in ("closed", "closing"):
        raise ClusterError("the connection to the scheduler was lost")
    try:
        return bool(client.sync(client.scheduler.identity, callback_timeout=10)["workers"])
    except (OSError, TimeoutError) as error:
        raise ClusterError("the scheduler does not answer") from error
