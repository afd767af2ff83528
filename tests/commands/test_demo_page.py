"""The page and the plot of the demo."""

import numpy as np

from commands.examples import PNG
from commands.pages import Page
from subcast.commands.demo_page import DemoWindow, page, plot_window


def test_page_escapes_its_arguments():
    row = {"method": "oracle", "mae": 1.0, "mae_gap": 0.0}
    parsed = Page(page("<b>bold</b> & co", [row], PNG, ["subcast fit 'a<b>.csv'"], "<MW>"))
    text = "".join(parsed.text)
    for piece in ("<b>bold</b> & co", "a<b>.csv", "1.00 <MW>"):
        assert piece in text


def test_plot_of_one_plant_without_interval():
    hours = np.datetime64("2024-01-01T12:00") + np.arange(24) * np.timedelta64(10, "m")
    ones = np.ones((12, 1), dtype=np.float32)
    window = DemoWindow(
        positions=np.array([[0.0, 1.0], [2.0, 3.0]], dtype=np.float32), present=np.array([0]), shown=np.array([0]),
        names=("plant",), unit="MW", past=hours[:12], readings=ones, ahead=hours[12:], truth=ones, forecast=2 * ones,
        bounds=None, partial=-ones, steps=slice(0, 12),
    )  # fmt: skip
    figure = plot_window(window)
    (axis,) = figure.subfigs[1].axes
    labels = axis.get_legend_handles_labels()[1]
    assert set(labels) == {"readings", "observed afterwards", "model alone", "model with subcast"}
    assert axis.get_ylim()[0] <= -1
