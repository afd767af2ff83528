"""The figures: labels, legends, lines."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from subcast.experiments.report.figures import FIGURES, make_figure
from subcast.experiments.report.records import read_records


@pytest.mark.parametrize("name", sorted(FIGURES))
def test_figures_label_their_axes_and_keep_legends_off_the_data(full: Path, name: str) -> None:
    figure = make_figure(name, read_records(full / "results" / "reproduce")[0][name][:6])
    assert figure.get_supxlabel()
    assert figure.get_supylabel()
    assert all(axis.get_legend() is None for axis in figure.axes)
    figure.draw_without_rendering()
    shown = [axis for axis in figure.axes if axis.get_visible()]
    for legend in figure.legends:
        box = legend.get_window_extent()
        assert not any(box.overlaps(axis.get_window_extent()) for axis in shown)
        assert box.x0 >= 0
        assert box.x1 <= figure.bbox.x1


def test_legend_of_many_models_over_one_panel_is_not_cut(full: Path) -> None:
    records = [r for r in read_records(full / "results" / "reproduce")[0]["figure-horizon"] if r.dataset == "ecg5000"]
    figure = make_figure("figure-horizon", records)
    figure.draw_without_rendering()
    (legend,) = figure.legends
    assert len(legend.get_texts()) == 5
    box = legend.get_window_extent()
    assert box.x0 >= 0
    assert box.x1 <= figure.bbox.x1


def test_lines_of_a_panel_differ_in_more_than_color(full: Path) -> None:
    figure = make_figure("figure-neighbors", read_records(full / "results" / "reproduce")[0]["figure-neighbors"])
    lines = [line for line in figure.axes[0].get_lines() if not line.get_label().startswith("_")]
    assert len(lines) == 5
    assert len({line.get_marker() for line in lines}) == 5


def test_panels_of_one_dataset_have_one_scale_and_others_their_own(full: Path) -> None:
    records = read_records(full / "results" / "reproduce")[0]["figure-subset-size"][:2]
    other = replace(records[0], dataset="traffic-20", figures=scaled(records[0].figures))
    figure = make_figure("figure-subset-size", [*records, other])
    figure.draw_without_rendering()
    one, same, larger = (axis.get_ylim() for axis in figure.axes[:3])
    assert one == same
    assert larger[1] > 5 * one[1]


def scaled(figures: dict[str, Any]) -> dict[str, Any]:
    """Return the figures of a record with ten times the MAE."""
    groups = {
        group: {name: {**row, "mae": 10 * row["mae"]} for name, row in rows.items()}
        for group, rows in figures["groups"].items()
    }
    return {**figures, "groups": groups}
