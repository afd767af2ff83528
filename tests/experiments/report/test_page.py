"""The pages as a whole: their sections, figures, links and texts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from experiments.report.examples import gaps_of, report, row_of, section, write_record
from subcast.errors import InputError
from subcast.experiments.declaration import load_experiments
from subcast.experiments.published import load_published
from subcast.experiments.report.figures import FIGURES
from subcast.experiments.report.page import read_texts, write_report
from subcast.experiments.report.records import ORIGINALS


def test_sections_of_the_first_page_come_in_order(page: str) -> None:
    headings = re.findall(r"^## (.*)$", page, flags=re.MULTILINE)
    assert headings == [
        "In short",
        "The main results",
        "ECG5000: which order of rows?",
        "The paper's claims",
        "Other methods, by name",
        "Every experiment",
        "Every table and figure of the paper",
        "Terms",
    ]


def test_every_experiment_has_a_page_and_a_row(page: str, pages: dict[str, str]) -> None:
    for experiment in load_experiments().values():
        link = f"[{experiment.name}](reproduction/{experiment.name}.md)"
        cells = row_of(section(page, "## Every experiment"), link)
        declared = len({(cell.dataset, cell.model) for cell in experiment.cells("quick")})
        assert cells[1:3] == [experiment.paper, f"{declared} of {declared}"]
        assert pages[experiment.name].startswith(f"# {experiment.title}\n")
    assert set(pages) == {*load_experiments(), "runs", "causes", "reproduction"}
    assert not any("not run yet" in text.lower() for name, text in pages.items() if name != "causes")


def test_figures_are_files_that_the_pages_link(pages: dict[str, str], full: Path) -> None:
    links = [link for text in pages.values() for link in re.findall(r"!\[[^\]]+\]\(([^)]+)\)", text)]
    assert len(links) == len(FIGURES) == sum(name.startswith("figure-") for name in load_experiments())
    for link in links:
        assert (full / "docs" / "reproduction" / link).read_bytes() == b"a figure"


def test_links_lead_to_pages_and_headings(pages: dict[str, str], full: Path) -> None:
    links = 0
    for name, text in pages.items():
        folder = full / "docs" if name == "reproduction" else full / "docs" / "reproduction"
        anchors = {
            re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-")
            for heading in re.findall(r"^#+ (.+)$", text, re.M)
        }
        for link in re.findall(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)", text):
            links += 1
            assert link[1:] in anchors if link.startswith("#") else (folder / link).is_file(), (name, link)
    assert links > 50


def test_figures_are_drawn_and_written(tmp_path: Path) -> None:
    write_record(tmp_path / "r", "figure-rounds", "ecg5000", "")
    write_report(tmp_path / "r", tmp_path / "docs" / "page.md", tmp_path / "pictures")
    text = (tmp_path / "docs" / "page" / "figure-rounds.md").read_text(encoding="utf-8")
    assert "(../../pictures/reproduction-figure-rounds.png)" in text
    assert (tmp_path / "pictures" / "reproduction-figure-rounds.png").read_bytes().startswith(b"\x89PNG")


def test_nothing_undefined_is_printed(pages: dict[str, str]) -> None:
    for name, text in pages.items():
        assert not re.search(r"\bnan\b|\bNone\b|<subcast|\{", text), name


def test_tables_have_equal_numbers_of_columns(pages: dict[str, str]) -> None:
    for text in pages.values():
        for block in re.findall(r"(?:^\|.*\|\n)+", text, flags=re.MULTILINE):
            counts = {len(line.strip("|").split("|")) for line in block.strip().splitlines()}
            assert len(counts) == 1, block


def test_a_folder_without_records_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"there are no records in .*: run subcast reproduce first"):
        write_report(tmp_path / "nowhere", tmp_path / "page.md", tmp_path / "figures")
    assert not (tmp_path / "page.md").exists()


def test_a_page_that_is_no_markdown_file_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    write_record(tmp_path / "r", "table-noise", "ecg5000", "mtgnn")
    with pytest.raises(InputError, match=r"the page must be a file that ends in .md, got 'out'"):
        write_report(tmp_path / "r", tmp_path / "out", tmp_path / "figures")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["r"]


def test_each_order_and_the_other_datasets_have_verdicts_of_their_own(tmp_path: Path) -> None:
    gaps = {"ecg5000": 9, "ecg5000-test-first": -9, "clouds": -9}
    for dataset, gap in gaps.items():
        write_record(tmp_path / "r", "table-oracle-partial", dataset, "tcn", measured=gaps_of(partial=gap))
    pages = report(tmp_path)
    link = "[table-oracle-partial](page/table-oracle-partial.md)"
    cells = row_of(pages["page"], link, "Partial loses against Oracle.")
    assert cells[2:] == ["does not hold", "holds", "does not hold"]
    cells = row_of(pages["page"], "[figure-neighbors](page/figure-neighbors.md)")
    assert cells[-1] == "not measured"


def test_a_claim_about_several_tables_of_a_dataset_stands_with_it(tmp_path: Path) -> None:
    write_record(tmp_path / "r", "figure-rounds", "ecg5000", "")
    claims = section(report(tmp_path)["page"], "## The paper's claims")
    cells = row_of(claims, "[figure-rounds](page/figure-rounds.md)")
    assert cells[2:] == ["", "holds", ""]


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
