"""Other methods against the default of subcast."""

from __future__ import annotations

import json
from pathlib import Path

from experiments.report.examples import gaps_of, write_record
from subcast.experiments.report.records import read_records
from subcast.experiments.report.rivals import contests


def test_paired_differences_decide_what_intervals_to_oracle_do_not(tmp_path: Path) -> None:
    """Gaps to Oracle spread widely, while the rival is better in each draw."""
    rows = {
        name: {"mae": error, "rmse": error, "mae_gap_interval": [0.0, 30.0], "rmse_gap_interval": [0.0, 30.0]}
        for name, error in {"subcast": 3.0, "linear": 2.9}.items()
    }
    rows["linear"]["mae_against"] = {"subcast": [-3.3, -4.0, -2.0]}
    write_record(tmp_path, "table-main", "ecg5000", "tcn", measured={"groups": {"15%": rows}})
    mae, rmse = contests(read_records(tmp_path)[0])
    assert (mae.metric, mae.lost, mae.clear) == ("mae", True, True)
    assert (rmse.metric, rmse.lost, rmse.clear) == ("rmse", True, False)


def test_neighbor_forecast_is_compared_when_windows_and_draws_agree(tmp_path: Path) -> None:
    write_record(tmp_path, "table-main", "ecg5000", "tcn", measured=gaps_of(partial=9, fdw=3, subcast=2))
    path = write_record(tmp_path, "table-knn", "ecg5000", "tcn", measured=gaps_of(neighbor_forecast=-5, fdw=3))
    lost = {contest.rival for contest in contests(read_records(tmp_path)[0]) if contest.lost}
    assert lost == {"neighbor-forecast"}
    path.write_text(json.dumps(json.loads(path.read_text()) | {"every": 1}))
    assert not any(contest.lost for contest in contests(read_records(tmp_path)[0]))
