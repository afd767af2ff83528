"""Give a file to subcast, and tell a refusal in one sentence from any other error."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

from agreement import WrongReadingError
from subcast import Series
from subcast.errors import SubcastError

OPTIONS = set(inspect.signature(Series.read).parameters)


def read(path: Path, options: dict[str, Any]) -> Series | None:
    """Return the series of a file, or None when subcast refuses it in one sentence."""
    try:
        return Series.read(path, **{name: value for name, value in options.items() if name in OPTIONS})
    except SubcastError as error:
        check_sentence(error)
        return None


def refusal(path: Path, options: dict[str, Any]) -> str:
    """Return the sentence with which subcast refuses a file."""
    try:
        Series.read(path, **options)
    except SubcastError as error:
        return str(error)
    return "not refused the second time"


def check_sentence(error: Exception) -> None:
    """Raise an error unless a message is one line that says something."""
    text = str(error)
    if len(text) < 15 or "\n" in text.strip() or "Traceback" in text:
        raise WrongReadingError(f"the message is not a sentence: {text[:200]!r}") from error
