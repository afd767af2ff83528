"""The page as a whole: its sections, figures and texts."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from experiments.report.examples import errors, gaps_of, row_of, section, write_record
from subcast.errors import InputError
from subcast.experiments.declaration import load_experiments
from subcast.experiments.published import load_published
from subcast.experiments.report.figures import FIGURES
from subcast.experiments.report.page import read_texts, write_report
from subcast.experiments.report.records import ORIGINALS


def test_sections_come_in_order(page: str) -> None:
    headings = re.findall(r"^## (.*)$", page, flags=re.MULTILINE)
    assert headings == [
        "In short",
        "Where something simpler wins",
        "What was run",
        "Summary",
        "What agrees with the paper, and what does not",
        "The experiments",
    ]


def test_every_experiment_has_a_section_and_a_row(page: str) -> None:
    for experiment in load_experiments().values():
        cells = row_of(section(page, "## Summary"), f"[{experiment.name}](#{experiment.name})")
        declared = len({(cell.dataset, cell.model) for cell in experiment.cells("quick")})
        assert cells[1:3] == [experiment.paper, f"{declared} of {declared}"]
        assert experiment.title in section(page, f"### {experiment.name}")
    assert "not run yet" not in page.lower()


def test_figures_are_files_that_the_page_links(page: str, full: Path) -> None:
    links = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", page)
    assert len(links) == len(FIGURES) == sum(name.startswith("figure-") for name in load_experiments())
    for link in links:
        assert (full / "docs" / link).read_bytes() == b"a figure"


def test_figures_are_drawn_and_written(tmp_path: Path) -> None:
    write_record(tmp_path / "r", "figure-rounds", "ecg5000", "")
    page = write_report(tmp_path / "r", tmp_path / "docs" / "page.md", tmp_path / "pictures")
    assert "(../pictures/reproduction-figure-rounds.png)" in page.read_text(encoding="utf-8")
    assert (tmp_path / "pictures" / "reproduction-figure-rounds.png").read_bytes().startswith(b"\x89PNG")


def test_nothing_undefined_is_printed(page: str) -> None:
    assert not re.search(r"\bnan\b|\bNone\b|<subcast|\{", page)


def test_tables_have_equal_numbers_of_columns(page: str) -> None:
    for block in re.findall(r"(?:^\|.*\|\n)+", page, flags=re.MULTILINE):
        counts = {len(line.strip("|").split("|")) for line in block.strip().splitlines()}
        assert len(counts) == 1, block


def test_a_folder_without_records_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"there are no records in .*: run subcast reproduce first"):
        write_report(tmp_path / "nowhere", tmp_path / "page.md", tmp_path / "figures")
    assert not (tmp_path / "page.md").exists()


def test_what_is_not_run_is_listed_with_its_command(tmp_path: Path) -> None:
    write_record(tmp_path / "r", "table-main", "ecg5000", "tcn")
    page = write_report(tmp_path / "r", tmp_path / "page.md", tmp_path / "figures").read_text(encoding="utf-8")
    assert "not run yet: `subcast reproduce table-knn`" in row_of(page, "[table-knn](#table-knn)")[-1]
    assert "Not run yet: `subcast reproduce table-knn`." in section(page, "### table-knn")
    text = section(page, "### table-main")
    assert "Not run yet" not in text  # no other model is trained
    measured = {
        "dataset": "ecg5000",
        "model": "mtgnn",
        "protocol": "paper",
        "config": {"epochs": 1},
        "epochs": [],
        "hours": 1,
    }
    (tmp_path / "training-mtgnn-ecg5000.json").write_text(json.dumps(measured))
    again = write_report(tmp_path / "r", tmp_path / "page.md", tmp_path / "figures").read_text(encoding="utf-8")
    text = section(again, "### table-main")
    assert "Not run yet: `ecg5000` (MTGNN); `subcast reproduce table-main` runs the missing cells." in text
    assert "can be run after their model is trained" in section(again, "## What was run")
    assert (
        row_of(page, "[figure-neighbors](#figure-neighbors)", "The gap strictly falls as m grows (SOLAR ASTGCN FDW).")[
            3:5
        ]
        == ["**not measured**"] * 2
    )


def test_a_second_seed_is_a_row_of_its_own(tmp_path: Path) -> None:
    write_record(tmp_path / "r", "table-main", "ecg5000", "tcn")
    write_record(tmp_path / "r", "table-main", "ecg5000", "tcn", seed=1)
    page = write_report(tmp_path / "r", tmp_path / "page.md", tmp_path / "figures").read_text(encoding="utf-8")
    assert row_of(page, "TCN, seed 1", "Oracle")
    assert "and at most 2 trainings" in page
    assert row_of(page, "[table-main](#table-main)", "table 4")[2] == "1 of 25"


def test_methods_left_out_are_named_with_the_reason(tmp_path: Path) -> None:
    for model in ("tcn", "mtgnn"):
        path = write_record(tmp_path / "r", "table-main", "ecg5000", model)
        measured = json.loads(path.read_text())
        path.write_text(json.dumps(measured | {"left_out": {"seasonal-naive": "the data have no times"}}))
    page = write_report(tmp_path / "r", tmp_path / "page.md", tmp_path / "figures").read_text(encoding="utf-8")
    said = "Left out: seasonal naive (the data have no times) for ecg5000 MTGNN, ecg5000 TCN."
    assert said in section(page, "### table-main")


def test_disagreement_is_listed_with_both_numbers(tmp_path: Path) -> None:
    rows = errors({"oracle": 0, "partial": 0.3, "fdw": -0.05})
    write_record(tmp_path / "r", "table-main", "ecg5000", "tcn", measured={"test_windows": 9, "groups": {"15%": rows}})
    page = write_report(tmp_path / "r", tmp_path / "page.md", tmp_path / "figures").read_text(encoding="utf-8")
    cells = row_of(page, "[table-main](#table-main)", "ecg5000 TCN", "gap within 2 points", "FDW, gap of MAE")
    assert cells[4] == f"{rows['fdw']['mae_gap']:.2f} %, published 1.07 %"


def test_ecg5000_and_the_other_datasets_have_verdicts_of_their_own(tmp_path: Path) -> None:
    write_record(tmp_path / "r", "table-oracle-partial", "ecg5000", "tcn", measured=gaps_of(partial=9))
    write_record(tmp_path / "r", "table-oracle-partial", "clouds", "tcn", measured=gaps_of(partial=-9))
    page = write_report(tmp_path / "r", tmp_path / "page.md", tmp_path / "figures").read_text(encoding="utf-8")
    cells = row_of(page, "[table-oracle-partial](#table-oracle-partial)", "Partial loses against Oracle.")
    assert cells[3:5] == ["**holds**", "**does not hold**"]
    assert cells[5].startswith("clouds TCN (Partial -")


def test_texts_are_of_known_experiments_and_datasets() -> None:
    texts = read_texts()
    assert set(texts["why"]) == set(load_experiments())
    assert set(texts["data"]) == set(ORIGINALS)


def test_the_papers_inconsistencies_are_in_its_numbers() -> None:
    """What the report says of the paper's tables can be read from them."""
    rows = load_published().set_index(["table", "dataset", "model", "setting", "metric"])["mean"]
    assert (
        rows[5, "ecg5000", "mstgcn", "b=0.33", "delta_mae"] < rows[5, "ecg5000", "mstgcn", "b=0.5 tau=0.1", "delta_mae"]
    )
    assert (
        rows[5, "ecg5000", "mstgcn", "tau=10", "delta_mae"] < rows[5, "ecg5000", "mstgcn", "b=0.5 tau=0.1", "delta_mae"]
    )
    models = ("mtgnn", "astgcn", "mstgcn", "lstnet", "tcn")
    for model in models:
        test = rows[4, "traffic", model, "fdw", "delta_rmse"]
        assert rows[7, "traffic", model, "fdw", "delta_rmse"] == test
    seven = {name: {m: rows[7, "traffic", m, name, "delta_rmse"] for m in models} for name in ("uw", "ddw", "fdw")}
    assert [model for model in models if seven["uw"][model] < seven["fdw"][model]] == ["astgcn"]
    assert sum(seven["uw"][model] < seven["ddw"][model] for model in models) == 3
    assert rows[8, "ecg5000", "mstgcn", "uw", "delta_mae"] < rows[8, "ecg5000", "mstgcn", "ddw", "delta_mae"]
    for model in ("astgcn", "mstgcn"):
        assert (
            rows[10, "solar", model, "clusters=7", "delta_mae"] < rows[10, "solar", model, "clusters=11", "delta_mae"]
        )
    worst = {
        dataset: max(models, key=lambda model, d=dataset: rows[1, d, model, "partial", "delta_mae"])
        for dataset in ("metr-la", "solar", "traffic", "ecg5000")
    }
    assert worst == {"metr-la": "mtgnn", "solar": "tcn", "traffic": "mtgnn", "ecg5000": "tcn"}
    ecg = [rows[1, "ecg5000", model, "partial", "delta_mae"] for model in models]
    assert sum(gap > ecg[0] for gap in ecg) == 3
    for model in ("mstgcn", "mtgnn"):
        assert rows[4, "ecg5000", model, "fdw", "delta_mae"] <= rows[2, "ecg5000", model, "apriori", "delta_mae"]
