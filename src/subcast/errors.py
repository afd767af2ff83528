"""The exceptions and the one warning of subcast.

Every message is one sentence that a user can act on: which argument, what was expected, what came, what to do.
"""


class SubcastError(Exception):
    """Base of every error that subcast raises on purpose."""


class InputError(SubcastError, ValueError):
    """An argument does not fit: its shape, its values or its names."""


class DataError(InputError):
    """A table, a file or a dataset cannot be turned into a series."""


class DataNotFoundError(DataError, FileNotFoundError):
    """A file or a dataset is not where it was looked for."""

    def __str__(self) -> str:
        """Return the sentence alone (OSError would print it as a tuple)."""
        return str(self.args[0]) if self.args else ""


def missing_extra(error: ModuleNotFoundError, wanted: str) -> str | None:
    """Say how to install what `wanted` lacks, when it is a package of the extra [models]; None for any other.

    >>> missing_extra(ModuleNotFoundError("no torch", name="torch.nn"), "training")
    "training needs torch.nn: install it with pip install 'subcast[models]'"
    >>> missing_extra(ModuleNotFoundError("no such", name="nothing"), "training")
    """
    if error.name is None or error.name.partition(".")[0] not in ("torch", "lightning", "safetensors"):
        return None
    return f"{wanted} needs {error.name}: install it with pip install 'subcast[models]'"


class DataWarning(UserWarning):
    """Readings were repaired, or hold something a user should know; the message says what was done."""


class FitWarning(UserWarning):
    """Fitting gave a result that a user should look at; the message says why."""
