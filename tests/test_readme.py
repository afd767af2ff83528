"""The figures in README.md and docs/ are those of the records."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SPEC = importlib.util.spec_from_file_location("figures", ROOT / "benchmarks" / "figures.py")
figures = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(figures)
CASES = [(page, name) for page, blocks in figures.BLOCKS.items() for name in blocks]


@pytest.mark.parametrize(("page", "name"), CASES)
def test_figures_are_those_of_the_records(page, name):
    start, end = figures.marks(name)
    _, found, rest = (ROOT / page).read_text().partition(start)
    assert found, f"{page} has no block {name}"
    assert rest.partition(end)[0] == figures.BLOCKS[page][name](), "run python benchmarks/figures.py"


def test_the_table_of_speeds_is_not_empty():
    assert len(figures.speed_rows()) > 5
