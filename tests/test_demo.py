"""The demo, small: what it shows, what it writes, and that it is the same every time."""

import base64
import json
from html.parser import HTMLParser

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from subcast.cli import app
from subcast.commands.demo import DemoSize, headline, run_demo
from subcast.commands.demo_page import Story, page, plot_story

PNG = b"\x89PNG\r\n\x1a\n"
TINY = DemoSize(n_plants=12, n_steps=4_320, epochs=4, draws=3, every=12, seconds=60)
VOID = {"meta", "img", "br", "link"}


class Page(HTMLParser):
    """The tags of a page, which must close in order, its text, and the attributes of some tags."""

    def __init__(self, text):
        super().__init__()
        self.open, self.text, self.found = [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)

    def all(self, tag):
        return [attributes for name, attributes in self.found if name == tag]


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("demo") / "deep"
    return folder, run_demo(folder, 0, size=TINY, progress=False)


def test_the_table(demo):
    rows = demo[1]
    assert [row["method"] for row in rows] == ["oracle", "partial", "paper", "subcast"]
    error = {row["method"]: row["mae"] for row in rows}
    assert error["oracle"] < error["partial"]
    assert error["subcast"] < error["partial"]


def test_the_picture_and_the_page(demo):
    folder, rows = demo
    picture = (folder / "demo.png").read_bytes()
    assert picture.startswith(PNG)
    parsed = Page((folder / "index.html").read_text(encoding="utf-8"))
    (image,) = parsed.all("img")
    assert base64.b64decode(image["src"].removeprefix("data:image/png;base64,")) == picture
    assert image["alt"]
    widths = [a["style"] for a in parsed.all("div") if a.get("class") == "bar"]
    longest = max(row["mae"] for row in rows)
    assert widths == [f"width: {100 * row['mae'] / longest:.1f}%" for row in rows]
    text = " ".join(parsed.text)
    assert f"subcast forecast {folder / 'wrapper'} {folder / 'recent.csv'}" in text
    assert parsed.all("script") + parsed.all("link") == []  # nothing is fetched
    assert {"name": "viewport", "content": "width=device-width, initial-scale=1"} in parsed.all("meta")


def test_what_it_says_to_do_next_works(demo, tmp_path):
    folder, _ = demo
    arguments = ["forecast", str(folder / "wrapper"), str(folder / "recent.csv"), "--json"]
    result = CliRunner().invoke(app, arguments)
    assert result.exception is None
    assert np.shape(json.loads(result.stdout)["mean"]) == (12, 2)


def test_again_it_is_the_same_and_replaces_what_is_there(demo, capsys):
    folder, rows = demo
    assert run_demo(folder, 0, size=TINY, progress=False) == rows
    said = capsys.readouterr().out
    for part in ("generated 12 plants, 30 days", "2 of 12 plants report", "Oracle", "subcast", "index.html"):
        assert part in said


@pytest.mark.parametrize(
    ("gap", "words"), [(7.2, "errs 7 % more"), (-3.3, "errs 3 % less"), (0.2, "errs no more"), (-0.4, "errs no more")]
)
def test_the_headline_follows_the_figures(gap, words):
    rows = [{"method": "partial", "mae": 6.0, "mae_gap": 300.0}, {"method": "subcast", "mae": 1.6, "mae_gap": gap}]
    said = headline(rows, 6, 40)
    assert "34 of 40 plants" in said
    assert "4.0 times" in said
    assert words in said


def test_the_page_escapes_what_it_is_given():
    row = {"method": "oracle", "mae": 1.0, "mae_gap": 0.0}
    parsed = Page(page("<b>bold</b> & co", [row], PNG, ["subcast fit 'a<b>.csv'"], "<MW>"))
    text = "".join(parsed.text)
    for part in ("<b>bold</b> & co", "a<b>.csv", "1.00 <MW>"):
        assert part in text


def test_a_picture_of_one_plant_without_interval():
    hours = np.datetime64("2024-01-01T12:00") + np.arange(24) * np.timedelta64(10, "m")
    ones = np.ones((12, 1), dtype=np.float32)
    story = Story(
        positions=np.array([[0.0, 1.0], [2.0, 3.0]], dtype=np.float32), present=np.array([0]), shown=np.array([0]),
        names=("plant",), unit="MW", past=hours[:12], readings=ones, ahead=hours[12:], truth=ones, forecast=2 * ones,
        bounds=None, partial=-ones, window=slice(0, 12),
    )  # fmt: skip
    figure = plot_story(story)
    (axis,) = figure.subfigs[1].axes
    labels = axis.get_legend_handles_labels()[1]
    assert set(labels) == {"readings", "what really came", "the model as it is", "the same model, wrapped"}
    assert axis.get_ylim()[0] <= -1
