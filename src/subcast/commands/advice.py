"""Turn the advice of the library's messages, which names Python arguments, into advice for the command line."""

from __future__ import annotations

import re

_OPTIONS = "time|id|value|freq|key|decimal|thousands"
_ARGUMENT = re.compile(rf"(?<![\w-])({_OPTIONS})=('[^']*'|\"[^\"]*\")?")

_PHRASES = (
    (
        "give a frame with a time column or a DatetimeIndex, or times= beside an array",
        "name the column of times with --time",
    ),
    ("save it again with DataFrame.to_parquet", "save it again as Parquet"),
    ("; use Series.read for a file of your own", ""),
    ("read it with TrainedForecaster.load, or wrap it", "wrap it"),
)
"""Advice that needs other words on the command line."""

_CALL = re.compile(r"(?:,? as with)? ?\(?\b(?:frame|DataFrame|index)\.\w+(?:\([^()]*\))?(?:\.\w+\(\))?\)?")
"""A call of pandas that an advice gives as an example, with the words before it."""


def for_command_line(message: str) -> str:
    """Return a message of the library with options in place of arguments, and without calls of Python functions.

    >>> for_command_line("a.csv has no regular rate; resample it (frame.resample('1h').mean()), or name it with freq=")
    'a.csv has no regular rate; resample it, or name it with --freq'
    >>> for_command_line("freq='1h' was given, but a.csv has no times: name their column with time=")
    "--freq '1h' was given, but a.csv has no times: name their column with --time"
    """
    for phrase, replacement in _PHRASES:
        message = message.replace(phrase, replacement)
    return _ARGUMENT.sub(_option, _CALL.sub("", message))


def _option(argument: re.Match[str]) -> str:
    name, value = argument.groups()
    return f"--{name}" + (f" {value}" if value else "")
