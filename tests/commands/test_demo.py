"""`subcast demo`, small: its table, its files, and that it is repeatable."""

import base64
import json

import numpy as np
import pytest
import torch

from commands.examples import PNG, run
from commands.pages import Page
from subcast.commands.demo import DemoSize, headline, run_demo

TINY = DemoSize(n_plants=12, n_steps=4_320, epochs=4, draws=3, every=12, effort=0.3)


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("demo") / "deep"
    return folder, run_demo(folder, 0, size=TINY, progress=False)


def test_the_table(demo):
    rows = demo[1]
    assert [row["method"] for row in rows][:4] == ["oracle", "partial", "paper", "subcast"]
    assert {row["method"] for row in rows[4:]} == {
        "usual-fill",
        "without-model",
        "own-past",
        "ridge",
        "last-value",
        "day-ago",
    }
    error = {row["method"]: row["mae"] for row in rows}
    assert error["oracle"] < error["partial"]
    assert error["subcast"] < error["partial"]


def test_the_plot_and_the_page(demo):
    folder, rows = demo
    plot = (folder / "demo.png").read_bytes()
    assert plot.startswith(PNG)
    parsed = Page((folder / "index.html").read_text(encoding="utf-8"))
    (image,) = parsed.all("img")
    assert base64.b64decode(image["src"].removeprefix("data:image/png;base64,")) == plot
    assert image["alt"]
    widths = [a["style"] for a in parsed.all("div") if a.get("class") == "bar"]
    longest = max(row["mae"] for row in rows)
    assert widths == [f"width: {100 * row['mae'] / longest:.1f}%" for row in rows]
    text = " ".join(parsed.text)
    assert f"subcast forecast {folder / 'wrapper'} {folder / 'recent.csv'}" in text
    assert parsed.all("script") + parsed.all("link") == []  # the page loads no other file
    assert {"name": "viewport", "content": "width=device-width, initial-scale=1"} in parsed.all("meta")


def test_the_next_command_works(demo):
    folder, _ = demo
    result = run("forecast", folder / "wrapper", folder / "recent.csv", "--json")
    assert np.shape(json.loads(result.stdout)["mean"]) == (12, 2)


def test_second_run_gives_the_same_and_replaces_the_files(demo, capsys):
    folder, rows = demo
    assert run_demo(folder, 0, size=TINY, progress=False) == rows
    text = capsys.readouterr().out
    pieces = ("generated 12 plants, 30 days", "2 of 12 plants report", "Oracle", "subcast", "Your model", "index.html")
    for piece in pieces:
        assert piece in text


@pytest.mark.parametrize(
    ("gap", "words"),
    [
        (7.2, "is 7 % higher than with"),
        (-3.3, "is 3 % lower than with"),
        (0.2, "is the same as with"),
        (-0.4, "is the same as with"),
    ],
)
def test_headline(gap, words):
    rows = [{"method": "partial", "mae": 6.0, "mae_gap": 300.0}, {"method": "subcast", "mae": 1.6, "mae_gap": gap}]
    text = headline(rows, 6, 40)
    assert "34 of 40 plants" in text
    assert "4.0 times" in text
    assert words in text
