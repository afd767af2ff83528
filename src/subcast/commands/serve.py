"""`subcast serve`: run the live service of a wrapper."""

from __future__ import annotations

import ctypes
import os
import tempfile
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import typer

from subcast.errors import DataNotFoundError, InputError

_GRACE = 20  # seconds that open requests have when the service is stopped
_LEVELS = ("debug", "info", "warning", "error")
_ARENA_MAX, _MMAP_THRESHOLD = -8, -3  # numbers of glibc's options


def add_key(keys: Path | None, text: str) -> None:
    """Add a key, given as NAME:ROLE, to the file of keys and show it once."""
    from subcast.service.security import new_key

    name, _, role = text.rpartition(":")
    if keys is None:
        raise InputError("--new-key needs the file that it goes to: give --keys keys.toml")
    key = new_key(keys, name, role)
    typer.echo(f"key {name} with the role {role} added to {keys}; it is shown this once:", err=True)
    typer.echo(key)


def run_service(folder: Path, *, host: str, port: int, log_level: str = "info", **options: Any) -> None:
    """Run the service until it is stopped.

    Parameters
    ----------
    folder
        of the wrapper
    host, port
        where to listen
    log_level
        debug, info, warning or error
    options
        fields of `subcast.service.options.Options`
    """
    from subcast.service.options import Options, check_address

    if log_level not in _LEVELS:
        raise InputError(f"--log-level must be one of {', '.join(_LEVELS)}, got {log_level!r}")
    if not (folder / "wrapper.json").exists():
        raise DataNotFoundError(
            f"folder {folder} holds no wrapper (wrapper.json is missing): make one with subcast fit"
        )
    checked = Options(folder, **options)
    check_address(host, checked.keys)
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # requests share the processors, not one request all of them
    _bound_memory()
    if checked.workers == 1:
        _run_one(checked, host, port, log_level)
    else:
        _run_many(checked, host, port, log_level)


def _bound_memory() -> None:
    """Have the C library share few pools of memory among threads and give large arrays back, where that is glibc.

    By default each thread may get a pool of its own, which keeps what its largest request needed.
    """
    with suppress(OSError, AttributeError):
        libc = ctypes.CDLL("libc.so.6")
        libc.mallopt(_ARENA_MAX, 2)
        libc.mallopt(_MMAP_THRESHOLD, 1 << 18)


def _server_options(host: str, port: int, log_level: str) -> dict[str, Any]:
    return {
        "host": host,
        "port": port,
        "log_config": None,
        "log_level": log_level,
        "access_log": False,
        "server_header": False,
        "timeout_graceful_shutdown": _GRACE,
    }


def _run_one(options: Any, host: str, port: int, log_level: str) -> None:
    import uvicorn

    from subcast.service.app import app_of
    from subcast.service.logs import configure

    configure(log_level)
    app = app_of(options)
    typer.echo(f"subcast serves {options.folder} at http://{host}:{port}/ (Ctrl-C stops)", err=True)
    uvicorn.run(app, **_server_options(host, port, log_level))


def _run_many(options: Any, host: str, port: int, log_level: str) -> None:
    """Run several processes; what could fail is tried first, in this one."""
    import uvicorn

    with ExitStack() as stack:
        counters = stack.enter_context(tempfile.TemporaryDirectory(prefix="subcast-metrics-"))
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = counters
        from subcast.service.app import ENVIRONMENT, LEVEL
        from subcast.service.logs import configure
        from subcast.service.runtime import Service

        configure(log_level)
        Service(options).close()
        os.environ[ENVIRONMENT], os.environ[LEVEL] = options.to_json(), log_level
        typer.echo(
            f"subcast serves {options.folder} at http://{host}:{port}/ with {options.workers} workers (Ctrl-C stops)",
            err=True,
        )
        uvicorn.run(
            "subcast.service.app:from_environment",
            factory=True,
            workers=options.workers,
            **_server_options(host, port, log_level),
        )
