"""The table of every item of the paper."""

from __future__ import annotations

from pathlib import Path

from experiments.report.examples import DRAWS, gaps_of, report, row_of, section, write_record
from subcast.experiments.declaration import load_experiments

HEADING = "## Every table and figure of the paper"


def test_every_table_and_figure_of_the_paper_has_a_row(page: str) -> None:
    rows = [line.strip("|").split(" | ")[0].strip() for line in section(page, HEADING).splitlines()[4:]]
    text = "; ".join(rows)
    for table in range(1, 14):
        assert any(name in text for name in (f"table {table}", f"tables {table} and", f"and {table}")), table
    for figure in range(1, 5):
        assert f"figure {figure}" in text
    assert {experiment.paper for experiment in load_experiments().values()} <= set(rows)


def test_sizes_are_those_of_the_records_and_the_rest_is_not_run(tmp_path: Path) -> None:
    write_record(tmp_path / "r", "table-main", "ecg5000", "tcn", measured=gaps_of(partial=9))
    write_record(tmp_path / "r", "table-main", "ecg5000", "tcn", seed=1, measured=gaps_of(partial=9))
    write_record(tmp_path / "r", "table-main", "ecg5000", "mtgnn", measured=gaps_of(partial=9))
    text = section(report(tmp_path)["page"], HEADING)
    link = "[table-main](page/table-main.md)"
    assert row_of(text, "table 4", link, "ECG5000")[3:] == [
        "`ecg5000`", "MTGNN, TCN", "1, 2", str(DRAWS), "9 test (every 10th)", "**not run**: ASTGCN, MSTGCN, LSTNet",
    ]  # fmt: skip
    solar = row_of(text, "table 4", link, "SOLAR")
    assert solar[3:] == ["", "", "", "", "", "**not run**: MTGNN, ASTGCN, MSTGCN, LSTNet, TCN"]
    assert row_of(text, "not in the paper; beside table 1")[-1] == "**not run**"


def test_data_that_the_paper_does_not_print_are_told_apart(tmp_path: Path) -> None:
    write_record(tmp_path / "r", "table-correlated-mrr", "ecg5000", "")
    write_record(tmp_path / "r", "figure-rounds", "ecg5000", "")
    text = section(report(tmp_path)["page"], HEADING)
    link = "[table-correlated-mrr](page/table-correlated-mrr.md)"
    assert row_of(text, "table 10, last row", link, "SOLAR")[-1] == "**not run**"
    ours = row_of(text, "table 10, last row", link, "not in the paper")
    assert ours[3:] == ["`ecg5000`", "none needed", "", str(DRAWS), "50 validation", ""]
    rounds = row_of(text, "appendix, figure on scalable search")
    assert rounds[4:] == ["none needed", "", str(DRAWS), "", ""]  # the search needs no model


def test_each_draw_of_a_known_s_has_a_training_of_its_own(tmp_path: Path) -> None:
    write_record(tmp_path / "r", "table-apriori", "ecg5000", "tcn")
    text = section(report(tmp_path)["page"], HEADING)
    assert row_of(text, "table 2", "[table-apriori](page/table-apriori.md)", "ECG5000")[5] == str(DRAWS)


def test_the_gaps_of_table_7_have_a_row(tmp_path: Path) -> None:
    write_record(tmp_path / "r", "table-weighting", "traffic-20", "tcn")
    pages = report(tmp_path)
    link = "[table-weighting](page/table-weighting.md)"
    cells = row_of(section(pages["page"], HEADING), "table 8 (and the gaps of table 7)", link, "TRAFFIC")
    assert cells[3:5] == ["`traffic-20`", "TCN"]
    assert row_of(pages["table-weighting"], "", "UW")[9] == "0.82"  # the gap of RMSE in table 7
