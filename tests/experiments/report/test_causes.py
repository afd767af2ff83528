"""The page of tested causes."""

from __future__ import annotations

import json
import re
from pathlib import Path

from experiments.report.examples import comparison, gaps_of, report, row_of, section, write_record
from subcast.experiments.report.causes import causes_sentence, read_causes

HUBS = {"share_of_edges": 0.98, "hubs_in_subset": [2, 3, 4], "correlation": -0.5}


def write_causes(folder: Path, gaps: dict[str, float], model: str = "mtgnn", dataset: str = "ecg5000") -> None:
    """A record with a change for each gap of Partial."""
    figures = {
        name: {
            "text": f"what {name} is",
            "trained": name == "another head",
            "test_windows": 10,
            "tallies": comparison({"oracle": 0.0, "partial": gap / 100}).to_record(12),
        }
        for name, gap in gaps.items()
    }
    figures["as in the experiments"]["hubs"] = HUBS
    folder.mkdir(parents=True, exist_ok=True)
    record = {"model": model, "dataset": dataset, "draws": 6, "figures": figures}
    (folder / f"partial-causes-{model}-{dataset}.json").write_text(json.dumps(record))


def test_a_change_explains_the_published_gap_only_if_the_model_as_run_does_not(tmp_path: Path) -> None:
    write_causes(tmp_path, {"as in the experiments": 30.0, "edges kept": 13.1, "another head": 50.0})
    (record,) = read_causes(tmp_path)
    assert record.published.gap == 13.11
    assert [name for name in record.changes if record.explains(name)] == ["edges kept"]
    text = causes_sentence([record])
    assert text.startswith("Partial's gap of MAE on `ecg5000` ([tested causes](#causes)): the published one is in ")
    assert "for no model. Of 2 changes tried as a cause, these bring another" in text
    assert text.endswith(": edges kept (MTGNN, but not in RMSE).")  # published 10.10
    write_causes(tmp_path, {"as in the experiments": 13.1, "edges kept": 13.1, "another head": 50.0})
    (record,) = read_causes(tmp_path)
    assert record.tried == ["another head"]  # the other one changes nothing
    assert causes_sentence([record]).endswith(
        "of ours for MTGNN. Of 1 change tried as a cause, none brings another model's interval there."
    )
    write_causes(tmp_path, {"as in the experiments": 30.0}, dataset="ecg5000-test-first")
    assert causes_sentence(read_causes(tmp_path)) == ""  # what was tried in the other order is not counted
    assert causes_sentence([]) == ""


def test_the_page_has_a_row_for_each_change_and_the_published_numbers(tmp_path: Path) -> None:
    write_record(tmp_path / "r", "table-main", "ecg5000", "mtgnn", measured=gaps_of(partial=30))
    write_causes(tmp_path, {"as in the experiments": 30.0, "another head": 50.0})
    pages = report(tmp_path)
    assert "[tested causes](page/causes.md)" in section(pages["page"], "## In short")
    table = section(pages["causes"], "## MTGNN, training rows first (`ecg5000`)")
    assert row_of(table, "another head")[1:3] == ["what another head is", "trained anew"]
    assert row_of(table, "*published*")[3:6] == ["3.43", "3.88", "13.11"]
    assert row_of(table, "*published*")[7:9] == ["5.94", "10.10"]
    half = r"half of the draws lose at most (29\.[89]|30\.[01]) %, and the largest loss is 30 %\. Draws .*: 0 of 6"
    assert re.search(half, table)
    assert "98 % begin or end at the same 20 variables. A draw of S" in table
    assert "has 3.0 of the 20 on average; this number and the gap of the draw have a correlation of -0.50" in table


def test_the_graphs_of_further_trainings_have_a_table(tmp_path: Path) -> None:
    write_record(tmp_path / "r", "table-main", "ecg5000", "mtgnn", measured=gaps_of(partial=30))
    write_causes(tmp_path, {"as in the experiments": 30.0, "another head": 50.0})
    path = tmp_path / "partial-causes-mtgnn-ecg5000.json"
    stored = json.loads(path.read_text())
    stored["figures"]["as in the experiments"]["hubs"] = {**HUBS, "share_untrained": 0.34}
    stored["figures"]["another head"]["hubs"] = {**HUBS, "share_of_edges": 0.5, "correlation": None}
    path.write_text(json.dumps(stored))
    text = section(report(tmp_path)["causes"], "## MTGNN, training rows first (`ecg5000`)")
    assert "98 % begin or end at the same 20 variables (34 % in models that are not trained). A draw" in text
    table = text[text.index("The graphs of the trainings") :]
    assert row_of(table, "as in the experiments")[2:4] == ["34 %", "98 %"]
    assert row_of(table, "as in the experiments")[5] == "-0.50"
    row = row_of(table, "another head")
    assert row[2:4] == ["", "50 %"]
    assert row[4].startswith("50.0")
    assert row[5] == ""
