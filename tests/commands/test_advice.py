"""Messages on the command line advise options, never Python."""

import ast
import re
from pathlib import Path

import pytest

import subcast
from subcast.commands.advice import for_command_line

PACKAGE = Path(subcast.__file__).parent
READERS = ["tables", "commands", "datasets", "windows.py", "data_protocol.py", "subset/arrived.py"]
PYTHON = re.compile(r"\b(frame|DataFrame|Series|subcast|series|index|np|pd|sc)\.[a-z_]+|\w\(\)|(?<![\w-])[a-z_]+=(?!=)")
NOT_FROM_FILES = (
    "polars",  # frames given in Python
    "index of",
    "names=",
    "read the file with Series.read",
    "subcast.load",  # `open_wrapper` refuses such wrappers first
    "name=value",  # the form of --set
    "NAME=LOW:HIGH",  # the form of --limit
    "gap=",
    "series.with_features",  # done by the commands
)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("sort it, as with frame.sort_index()", "sort it"),
        ("transpose it (frame.T)", "transpose it"),
        ("number the rows again (frame.reset_index(drop=True)) if so", "number the rows again if so"),
        ("resample it (frame.resample('1h').mean())", "resample it"),
        ("resample the table (DataFrame.resample), or name it", "resample the table, or name it"),
        ("give decimal='.' or thousands='.'", "give --decimal '.' or --thousands '.'"),
        ("name its columns with id=, time= and value=", "name its columns with --id, --time and --value"),
        ("key='x' names no frame", "--key 'x' names no frame"),
        ("--time is given", "--time is given"),
        ("the overtime= of a=b", "the overtime= of a=b"),
        ("read it with TrainedForecaster.load, or wrap it with `subcast fit`", "wrap it with `subcast fit`"),
    ],
)
def test_advice(message, expected):
    assert for_command_line(message) == expected


def messages_of(path):
    """Yield the texts of all exceptions and notes that a module can write, with X for what is put in."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Raise | ast.Call) and not isinstance(getattr(node, "exc", None), ast.Name):
            call = node.exc if isinstance(node, ast.Raise) else node
            if isinstance(call, ast.Call) and (
                isinstance(node, ast.Raise) or ast.unparse(call.func).endswith("append")
            ):
                for argument in call.args:
                    if isinstance(argument, ast.JoinedStr):
                        yield "".join(
                            str(getattr(part, "value", "X")) if isinstance(part, ast.Constant) else "X"
                            for part in argument.values
                        )
                    elif isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                        yield argument.value


def test_no_message_of_the_readers_advises_python():
    paths = [path for name in READERS for path in (sorted((PACKAGE / name).rglob("*.py")) or [PACKAGE / name])]
    messages = [(path.name, message) for path in paths for message in messages_of(path)]
    assert len(messages) > 60
    left = [
        (name, message)
        for name, message in messages
        if PYTHON.search(for_command_line(message)) and not any(words in message for words in NOT_FROM_FILES)
    ]
    assert left == []
