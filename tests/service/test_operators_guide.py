"""The page for operators and its files name commands, options, addresses and metrics that exist."""

import json
import re
import shlex
import tomllib
from pathlib import Path

import pytest
from typer.main import get_command

from subcast.cli import app

ROOT = Path(__file__).parents[2]
FILES = [ROOT / "docs" / "guide" / "service.md", *sorted((ROOT / "examples" / "service").iterdir())]
TEXT = "\n".join(path.read_text() for path in FILES)
READ_ME = (ROOT / "README.md").read_text()


def commands(text):
    """The command lines of subcast in a text, as lists of words."""
    for line in text.splitlines():
        if line.startswith("ENTRYPOINT"):
            line = " ".join(json.loads(line.removeprefix("ENTRYPOINT")))
        found = re.search(r"(?:^|/bin/)subcast ([a-z]+ .*)$", line)
        if found and not line.startswith(("#", "Description")):
            yield shlex.split(found[1], comments=True)


@pytest.mark.parametrize("words", [*commands(TEXT), *commands(READ_ME)], ids=" ".join)
def test_commands_exist_with_their_options(words):
    command = get_command(app)
    while getattr(command, "commands", None) and words:
        command = command.commands[words[0]]
        words = words[1:]
    known = {name for parameter in command.params for name in parameter.opts}
    options = {word.partition("=")[0] for word in words if word.startswith("-")}
    assert options <= known


def test_enough_commands_are_found():
    verbs = {words[0] for words in commands(TEXT)}
    assert verbs == {"serve", "replay", "fit", "sensors", "refresh"}
    assert len(list(commands(TEXT))) >= 15


def test_addresses_exist(client):
    known = set(client.get("/openapi.json").json()["paths"]) | {"/openapi.json"}
    named = set(re.findall(r"(?:GET |POST |PUT |8000|`)(/(?:v1/[a-z/.-]+|healthz|readyz|metrics))", TEXT))
    assert len(named) >= 8
    assert named <= known


def test_metrics_exist(client):
    exported = client.get("/metrics").text
    for name in set(re.findall(r"subcast_[a-z_]+", (ROOT / "examples" / "service" / "alerts.yml").read_text())):
        assert re.search(rf"^# TYPE {name.removesuffix('_total')}(_total)? ", exported, re.MULTILINE), name


def test_extras_exist():
    with (ROOT / "pyproject.toml").open("rb") as file:
        extras = tomllib.load(file)["project"]["optional-dependencies"]
    named = {
        extra
        for group in re.findall(r"subcast\[([\w,]+)\]|source\[([\w,]+)\]", TEXT)
        for each in group
        if each
        for extra in each.split(",")
    }
    assert named
    assert named <= set(extras)


def test_the_unit_hides_everything_but_its_folder():
    unit = (ROOT / "examples" / "service" / "subcast.service").read_text()
    for line in ("ProtectSystem=strict", "NoNewPrivileges=yes", "StateDirectory=subcast", "--host 127.0.0.1"):
        assert line in unit
