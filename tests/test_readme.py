"""The figures in README.md are those of the records."""

import importlib.util
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_figures_are_those_of_the_records():
    spec = importlib.util.spec_from_file_location("figures", ROOT / "benchmarks" / "figures.py")
    figures = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(figures)
    block = (ROOT / "README.md").read_text().partition(figures.START)[2].partition(figures.END)[0]
    assert block == figures.rendered(), "run python benchmarks/figures.py"
    assert len(figures.rows()) > 5
