"""The exceptions of subcast, and its warning.

Every message is one sentence that a user can act on: which argument, what was expected, what was given, what to do.
"""


class SubcastError(Exception):
    """Base class of the errors that subcast raises."""


class InputError(SubcastError, ValueError):
    """An argument has a wrong shape, wrong values or wrong names."""


class DataError(InputError):
    """A table, a file or a dataset cannot be turned into a series."""


class DataNotFoundError(DataError, FileNotFoundError):
    """A file or a dataset was not found."""

    def __str__(self) -> str:
        """Return the message alone; OSError would return a tuple of its arguments."""
        return str(self.args[0]) if self.args else ""


class WriteError(SubcastError, OSError):
    """A file or a folder could not be written, for example because the disk is full."""

    def __str__(self) -> str:
        """Return the message alone; OSError would return a tuple of its arguments."""
        return str(self.args[0]) if self.args else ""


class ClusterError(SubcastError, RuntimeError):
    """The cluster cannot do the work: no worker, no scheduler, or one that was restarted."""


def missing_extra(error: ModuleNotFoundError, purpose: str) -> str | None:
    """Return how to install a missing package of an extra; None for any other package.

    >>> missing_extra(ModuleNotFoundError("no torch", name="torch.nn"), "training")
    "training needs torch.nn: install it with pip install 'subcast[models]'"
    >>> missing_extra(ModuleNotFoundError("no such", name="nothing"), "training")
    """
    package = (error.name or "").partition(".")[0]
    extra = next((extra for extra, packages in _EXTRAS.items() if package in packages), None)
    return None if extra is None else f"{purpose} needs {error.name}: install it with pip install 'subcast[{extra}]'"


_EXTRAS = {
    "models": ("torch", "lightning", "safetensors"),
    "serve": ("fastapi", "starlette", "pydantic", "uvicorn", "sqlalchemy", "alembic", "prometheus_client"),
    "postgres": ("psycopg",),
}


class DataWarning(UserWarning):
    """Readings were repaired, or have a property that the user should know; the message describes it."""


class FitWarning(UserWarning):
    """Fitting gave a result that the user should check; the message says why."""
