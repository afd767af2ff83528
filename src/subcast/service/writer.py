"""Store requests in groups: those that wait while a transaction is synced to disk share the next one.

Each request has a savepoint of its own, so that one that fails leaves the others alone. A request is answered only
after the transaction that stored it was committed.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import sqlalchemy as sa

from subcast.service.database import Database
from subcast.service.problems import ProblemError

Work = Callable[[sa.Connection], Any]
_MOST = 256  # requests in one transaction


class Writer:
    """A thread that runs work in transactions, several at a time if several wait."""

    def __init__(self, database: Database, after: Callable[[], None] = lambda: None) -> None:
        self.database, self.after = database, after
        self._queue: queue.Queue[tuple[Work, Future[Any]] | None] = queue.Queue(maxsize=4096)
        self._thread = threading.Thread(target=self._run, name="subcast-writer", daemon=True)
        self._thread.start()

    def submit(self, work: Work) -> Future[Any]:
        """Queue work; its result comes when it is on disk."""
        future: Future[Any] = Future()
        future.set_running_or_notify_cancel()  # a sender that goes away does not take it back
        try:
            self._queue.put_nowait((work, future))
        except queue.Full:
            raise ProblemError("unavailable", "too many requests wait to be stored: send it again") from None
        return future

    @property
    def alive(self) -> bool:
        """Whether the thread runs."""
        return self._thread.is_alive()

    def close(self) -> None:
        """Finish what is queued, then end."""
        self._queue.put(None)
        self._thread.join(timeout=30)

    def _run(self) -> None:
        while (first := self._queue.get()) is not None:
            group = [first]
            ending = False
            while len(group) < _MOST and not ending:
                try:
                    more = self._queue.get_nowait()
                except queue.Empty:
                    break
                ending = more is None
                if more is not None:
                    group.append(more)
            self._store(group)
            if ending:
                return

    def _store(self, group: list[tuple[Work, Future[Any]]]) -> None:
        outcomes: list[tuple[Any, BaseException | None]] = []
        try:
            with self.database.write() as connection:
                for work, _ in group:
                    outcomes.append(_attempt(connection, work, alone=len(group) == 1))
        except BaseException as error:  # nothing of the group was stored
            for _, future in group:
                future.set_exception(error)
            return
        for (_, future), (result, failure) in zip(group, outcomes, strict=True):
            if failure is None:
                future.set_result(result)
            else:
                future.set_exception(failure)
        self.after()


def _attempt(connection: sa.Connection, work: Work, *, alone: bool) -> tuple[Any, BaseException | None]:
    """Run one request inside a savepoint; an error of the request alone is returned, one of the database is raised."""
    if alone:
        return work(connection), None
    try:
        with connection.begin_nested():
            return work(connection), None
    except ProblemError as error:
        return None, error
