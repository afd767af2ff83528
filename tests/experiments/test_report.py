"""The report, from records made by hand for every kind of measurement."""

from __future__ import annotations

import json
import re
from copy import deepcopy
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from subcast.errors import DataError, InputError
from subcast.experiments.declaration import Experiment, get_experiment, load_experiments
from subcast.experiments.measures import summarize
from subcast.experiments.published import load_published
from subcast.experiments.report.agreement import agreement, paper_checks
from subcast.experiments.report.figures import FIGURES, make_figure
from subcast.experiments.report.page import read_texts, write_report
from subcast.experiments.report.paper_claims import CLAIMS
from subcast.experiments.report.records import METHODS, ORIGINALS, Record, published_number, read_records
from subcast.experiments.report.rivals import contests
from subcast.experiments.report.tables import TABLES, make_tables, markdown_table
from subcast.experiments.report.verdicts import Outcome, diminishing, overall_answer, mostly_monotonic, cells_of_paper, strictly_monotonic, verdict

DRAWS = 6
OFF = {"oracle": 0.0, "partial": 0.3, "fdw": 0.03, "subcast": 0.01, "identity": 0.5, "apriori": 0.05}


def errors(methods: dict[str, float]) -> dict:
    """What `summarize` makes of draws in which each method is so much worse than the oracle, the more the later."""
    return deepcopy(_errors(tuple(methods.items())))


def tally(mae: np.ndarray) -> dict:
    """A method's errors under one draw, alike in every stretch of windows."""
    rmse = 1.7 * mae
    alike = {"absolute": [mae[-1]] * 5, "squared": [rmse[-1] ** 2] * 5, "count": [1.0] * 5}
    return {"mae": mae.tolist(), "rmse": rmse.tolist(), **alike}


@cache
def _errors(methods: tuple[tuple[str, float], ...]) -> dict:
    rng = np.random.default_rng(0)
    results = []
    for _ in range(DRAWS):
        oracle = 3.4 + rng.normal() * 0.4 + np.arange(12) * 0.05
        drawn = {
            name: oracle * (1 + off * np.linspace(0.5, 1, 12) + (0 if name == "oracle" else 0.001 * rng.normal()))
            for name, off in methods
        }
        rows = {name: tally(value) for name, value in drawn.items()}
        results.append({"group": "15%", "errors": rows})
    return summarize(results)


def clusters(groups: dict) -> dict:
    """What a record tells of its clusters."""
    return {
        "found": 11, "eps": 0.25, "min_samples": 3, "sizes": [2] * 11, "left_alone_then_joined": 4,
        "mean_used": {group: float(group) + (group == "1") for group in groups},
        "widened_draws": {group: 5 * (group == "1") for group in groups},
    }  # fmt: skip


def ranked(ddw: float, fdw: float, spread: float = 0.001) -> dict:
    """Figures of the ranks that the two weightings give."""
    each = [fdw - ddw - spread, fdw - ddw, fdw - ddw + spread]
    return {"validation_windows": 50, "ddw": ddw, "fdw": fdw, "difference_by_draw": each}


def figures(experiment: Experiment, dataset: str) -> dict:
    """Figures of a record, in the form of the experiment's measurement."""
    options = experiment.options
    if experiment.measure in ("errors", "apriori"):
        names = [told["name"] for told in options.get("methods", [])] or [
            "oracle",
            "partial",
            "apriori",
            "fdw",
            "subcast",
        ]
        offs = {name: OFF.get(name, 0.2 / (1 + place)) for place, name in enumerate(names)}
        if "clusters" in options:
            groups = {str(count): errors({k: v * 3 / count for k, v in offs.items()}) for count in options["clusters"]}
        elif "shares" in options:
            shares = options["shares"]
            groups = {f"{round(100 * s)}%": errors({k: v * (1 - s) for k, v in offs.items()}) for s in shares}
        else:
            groups = {"15%": errors(offs)}
        told = {"clusters": clusters(groups)} if "clusters" in options else {}
        return {"test_windows": 100, **told, "groups": groups}
    if experiment.measure == "reciprocal-rank":
        near = 0.5 if dataset in ("ecg5000", "traffic-20") else 0.1
        spread = np.linspace(1 - near, near, 20)
        told = {"mrr": near, "histogram": (spread / spread.sum()).tolist()}
        names = [str(count) for count in options.get("clusters", [])] or ["15%"]
        groups = {name: told | {"mrr": near + 0.01 * place} for place, name in enumerate(names)}
        facts = {"clusters": clusters(groups)} if "clusters" in options else {}
        return {"validation_windows": 50, **facts, "edges": np.linspace(0, 1, 21).tolist(), "groups": groups}
    if experiment.measure == "weighting-rank":
        return ranked(0.45, 0.47)
    if experiment.measure == "pagerank":
        x = np.linspace(0.8, 0.9, 30)
        y = x + np.random.default_rng(0).normal(size=30) * 0.03
        return {"correlation": float(np.corrcoef(x, y)[0, 1]), "pagerank": x.tolist(), "gap": y.tolist()}
    if experiment.measure == "rounds":
        told = {"rounds": [1.2, 1.8, 2.1, 2.4, 2.8], "compared": [0.01, 0.02, 0.04, 0.07, 0.1]}
        return {"neighbors": [1, 5, 10, 20, 50], "tables": {"all x 2": told}}
    assert experiment.measure == "datasets"
    steps, variables = (5000, 140) if dataset == "ecg5000" else (100, 20)
    facts = {"steps": steps, "variables": variables, "rate": None, "lookback": 12, "horizon": 12}
    return facts | {"missing_share": 0.077, "windows": [3484, 498, 995]}


def write_record(folder: Path, name: str, dataset: str, model: str, *, seed: int = 0, told: dict | None = None) -> Path:
    experiment = get_experiment(name)
    record = {
        "record": f"{name}/{dataset}-{model}",
        "version": "0.1.0",
        "date": "2026-11-16T01:00:00+00:00",
        "machine": {"processor": "x86_64", "python": "3.11.7"},
        "experiment": name,
        "dataset": dataset,
        "model": model,
        "seed": seed,
        "draws": DRAWS,
        "every": 10,
        "scale": "quick",
        "seconds": 1800.0,
        "command": f"subcast reproduce {name}",
        "figures": told or figures(experiment, dataset),
    }
    path = folder / name / f"{dataset}-{model or 'none'}{seed or ''}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record))
    return path


def load_one(folder: Path, name: str, dataset: str, model: str, told: dict | None = None) -> Record:
    write_record(folder, name, dataset, model, told=told)
    return next(r for r in read_records(folder)[0][name] if (r.dataset, r.model) == (dataset, model))


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a record of every declared cell, and a training."""
    folder = tmp_path_factory.mktemp("work")
    for experiment in load_experiments().values():
        for cell in experiment.cells("quick"):
            write_record(folder / "results" / "reproduce", experiment.name, cell.dataset, cell.model)
    training = {
        "dataset": "ecg5000", "model": "tcn", "protocol": "paper", "hours": 1.25, "epochs": [{}] * 7,
        "config": {"epochs": 100}, "machine": {"cpu": "Some CPU", "cores": 2, "system": "Linux"},
    }  # fmt: skip
    (folder / "results" / "training-tcn-ecg5000.json").write_text(json.dumps(training))
    return folder


@pytest.fixture(scope="module")
def page(full: Path) -> str:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("subcast.experiments.report.page.save_figure", lambda figure, path: path.write_bytes(b"a figure"))
        path = write_report(
            full / "results" / "reproduce", full / "docs" / "reproduction.md", full / "docs" / "figures"
        )
    assert path == full / "docs" / "reproduction.md"
    return path.read_text(encoding="utf-8")


def section(page: str, heading: str) -> str:
    """What stands under a heading, up to the next of its kind or higher."""
    level = heading.split(" ")[0]
    after = page.split(f"\n{heading}\n", 1)[1]
    return re.split(rf"\n#{{2,{len(level)}}} ", after)[0]


def row_of(text: str, *starts: str) -> list[str]:
    """The cells of the table row that begins with these."""
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if cells[: len(starts)] == list(starts):
            return cells
    raise AssertionError(f"no row {starts} in {text}")


# The page as a whole


def test_sections_come_in_order_and_the_simpler_first(page: str) -> None:
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


def test_effort_is_summed(page: str) -> None:
    text = section(page, "## What was run")
    count = sum(len(experiment.cells("quick")) for experiment in load_experiments().values())
    assert f"{count} records, {count * 0.5:.1f} hours of measuring and 1.2 hours of training" in text
    assert "2 cores of Some CPU" in text
    assert f"{DRAWS} draws of S and 1 training at most; the paper has 100 and 10" in text
    assert "- `ecg5000` (140 variables; ECG5000 has 140) whole" in text
    assert row_of(text, "`ecg5000`", "TCN")[2:] == ["paper", "paper", "all", "100", "7", "1.25"]


def test_nothing_undefined_is_printed(page: str) -> None:
    assert not re.search(r"\bnan\b|\bNone\b|<subcast|\{", page)


def test_tables_have_equal_numbers_of_columns(page: str) -> None:
    for block in re.findall(r"(?:^\|.*\|\n)+", page, flags=re.MULTILINE):
        counts = {len(line.strip("|").split("|")) for line in block.strip().splitlines()}
        assert len(counts) == 1, block


def test_no_records_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"there are no records in .*: run subcast reproduce first"):
        write_report(tmp_path / "nowhere", tmp_path / "page.md", tmp_path / "figures")
    assert not (tmp_path / "page.md").exists()


def test_broken_record_is_named(tmp_path: Path) -> None:
    path = write_record(tmp_path, "table-main", "ecg5000", "tcn")
    path.write_text(path.read_text()[:-20])
    with pytest.raises(DataError, match=r"table-main/ecg5000-tcn.json cannot be read .* run its cell again"):
        read_records(tmp_path)


def test_what_is_not_run_is_listed_with_its_command(tmp_path: Path) -> None:
    write_record(tmp_path / "r", "table-main", "ecg5000", "tcn")
    page = write_report(tmp_path / "r", tmp_path / "page.md", tmp_path / "figures").read_text(encoding="utf-8")
    assert "not run yet: `subcast reproduce table-knn`" in row_of(page, "[table-knn](#table-knn)")[-1]
    assert "Not run yet: `subcast reproduce table-knn`." in section(page, "### table-knn")
    text = section(page, "### table-main")
    assert "Not run yet" not in text  # no other model is trained
    told = {
        "dataset": "ecg5000",
        "model": "mtgnn",
        "protocol": "paper",
        "config": {"epochs": 1},
        "epochs": [],
        "hours": 1,
    }
    (tmp_path / "training-mtgnn-ecg5000.json").write_text(json.dumps(told))
    again = write_report(tmp_path / "r", tmp_path / "page.md", tmp_path / "figures").read_text(encoding="utf-8")
    text = section(again, "### table-main")
    assert "Not run yet: `ecg5000` (MTGNN); `subcast reproduce table-main` runs what is missing." in text
    assert "run once their model is trained" in section(again, "## What was run")
    assert (
        row_of(page, "[figure-neighbors](#figure-neighbors)", "The gap strictly falls as m grows (SOLAR ASTGCN FDW).")[
            3:5
        ]
        == ["**not measured**"] * 2
    )


def test_records_of_undeclared_datasets_are_counted_and_left_out(tmp_path: Path) -> None:
    write_record(tmp_path / "r", "table-main", "ecg5000", "tcn")
    write_record(tmp_path / "r", "table-main", "clouds-small", "tcn")
    found, others = read_records(tmp_path / "r")
    assert [record.dataset for record in found["table-main"]] == ["ecg5000"]
    assert others == 1
    page = write_report(tmp_path / "r", tmp_path / "page.md", tmp_path / "figures").read_text(encoding="utf-8")
    assert "1 record is of other datasets" in page
    assert "clouds-small" not in page


def test_a_second_seed_is_a_row_of_its_own(tmp_path: Path) -> None:
    write_record(tmp_path / "r", "table-main", "ecg5000", "tcn")
    write_record(tmp_path / "r", "table-main", "ecg5000", "tcn", seed=1)
    page = write_report(tmp_path / "r", tmp_path / "page.md", tmp_path / "figures").read_text(encoding="utf-8")
    assert row_of(page, "TCN, seed 1", "Oracle")
    assert "and 2 trainings at most" in page
    assert row_of(page, "[table-main](#table-main)", "table 4")[2] == "1 of 25"


def test_methods_left_out_are_named_with_the_reason(tmp_path: Path) -> None:
    for model in ("tcn", "mtgnn"):
        path = write_record(tmp_path / "r", "table-main", "ecg5000", model)
        told = json.loads(path.read_text())
        path.write_text(json.dumps(told | {"left_out": {"seasonal-naive": "the data have no times"}}))
    page = write_report(tmp_path / "r", tmp_path / "page.md", tmp_path / "figures").read_text(encoding="utf-8")
    said = "Left out: seasonal naive (the data have no times) for ecg5000 MTGNN, ecg5000 TCN."
    assert said in section(page, "### table-main")


# Published numbers beside ours


@pytest.mark.parametrize(
    ("experiment", "dataset", "model", "method", "metric", "group", "mean"),
    [
        ("table-oracle-partial", "ecg5000", "mtgnn", "oracle", "mae", "15%", 3.43),
        ("table-main", "ecg5000", "mtgnn", "partial", "delta_mae", "15%", 13.11),
        ("table-main", "pems-bay-67", "mtgnn", "fdw", "delta_mae", "15%", 7.50),
        ("table-main", "clouds", "tcn", "fdw", "delta_rmse", "15%", 18.12),
        ("table-main", "traffic-20", "tcn", "fdw", "delta_mae", "15%", 0.38),
        ("table-ablation", "ecg5000", "mstgcn", "b=0.5", "delta_mae", "15%", 1.13),
        ("table-ablation", "ecg5000", "mstgcn", "tau=0.1", "delta_rmse", "15%", 0.59),
        ("table-ablation", "ecg5000", "mstgcn", "tau=10", "delta_mae", "15%", 0.66),
        ("table-ablation", "ecg5000", "tcn", "b=0.5", "delta_mae", "15%", 1.07),
        ("figure-neighbors", "clouds", "astgcn", "m=5", "delta_mae", "15%", 4.32),
        ("table-correlated", "clouds", "astgcn", "fdw", "delta_mae", "7", 3.23),
        ("table-correlated", "clouds", "mstgcn", "partial", "rmse", "11", 7.02),
        ("table-correlated-mrr", "clouds", "", "", "mrr", "4", 0.5706),
        ("table-datasets", "metr-la-29", "", "", "variables", "15%", 207),
    ],
)
def test_printed_numbers_are_joined(
    tmp_path: Path, experiment: str, dataset: str, model: str, method: str, metric: str, group: str, mean: float
) -> None:
    record = load_one(tmp_path, experiment, dataset, model)
    number = published_number(record, method, metric, group)
    assert number is not None
    assert number.mean == mean


def test_what_the_paper_does_not_print_is_empty(tmp_path: Path) -> None:
    record = load_one(tmp_path, "table-correlated", "ecg5000", "mtgnn")
    assert published_number(record, "fdw", "delta_mae", "7") is None
    subset = load_one(tmp_path, "figure-subset-size", "ecg5000", "mtgnn")
    assert published_number(subset, "partial", "mae", "50%") is None  # table 1 is of 15 %
    assert published_number(subset, "partial", "mae", "15%") is not None


def test_table_shows_both_and_the_difference_on_the_same_data_only(tmp_path: Path) -> None:
    told = {"test_windows": 9, "groups": {"15%": errors({"oracle": 0, "partial": 0.3, "fdw": 0.03})}}
    row = told["groups"]["15%"]["fdw"]
    same = make_tables("errors", "table-main", [load_one(tmp_path, "table-main", "ecg5000", "tcn", told)])
    low, high = row["mae_gap_interval"]
    cells = row_of(same, "", "FDW")
    assert cells[2] == f"{row['mae']:.2f} ± {row['mae_deviation']:.2f}"
    implied = 3.71 * 1.0107  # the published Oracle of TCN, and the gap of FDW
    assert cells[3] == f"implied {implied:.2f} ({row['mae'] - implied:+.2f})"
    assert cells[4] == f"**{row['mae_gap']:.2f} [{low:.2f}, {high:.2f}]**"
    assert cells[5] == f"1.07 ({row['mae_gap'] - 1.07:+.2f})"
    assert "published gap of MAE, % (ours less published)" in same
    kin = make_tables("errors", "table-main", [load_one(tmp_path, "table-main", "metr-la-29", "tcn", told)])
    assert row_of(kin, "", "FDW")[5] == "1.98"
    assert "METR-LA's published gap of MAE, %" in kin
    assert "published numbers are METR-LA's, not comparable one to one" in kin


def test_a_gap_is_bold_only_when_it_is_told_from_all_others(tmp_path: Path) -> None:
    near = gaps_of(fdw=2.0, ddw=2.0001, uw=9)
    text = make_tables("errors", "table-weighting", [load_one(tmp_path, "table-weighting", "ecg5000", "tcn", near)])
    assert "**2." not in text
    clear = gaps_of(fdw=2.0, ddw=4, uw=9)
    text = make_tables("errors", "table-weighting", [load_one(tmp_path, "table-weighting", "ecg5000", "tcn", clear)])
    assert row_of(text, "", "FDW")[4].startswith("**")
    assert not row_of(text, "", "DDW")[4].startswith("**")


def test_single_draw_has_no_deviation_and_no_interval(tmp_path: Path) -> None:
    rows = {
        name: {"draws": 1, "mae": 2.0, "mae_deviation": None, "mae_by_step": [2.0] * 12, "mae_gap": 1.0,
               "mae_gap_interval": None, "rmse": 3.0, "rmse_deviation": None, "rmse_by_step": [3.0] * 12,
               "rmse_gap": 1.5, "rmse_gap_interval": None}
        for name in ("oracle", "partial")
    }  # fmt: skip
    record = load_one(tmp_path, "table-oracle-partial", "ecg5000", "tcn", {"groups": {"15%": rows}})
    cells = row_of(make_tables("errors", "table-oracle-partial", [record]), "", "Partial")
    assert (cells[2], cells[4]) == ("2.00", "1.00")


def test_empty_columns_go() -> None:
    assert markdown_table(["a", "b"], [["x", ""]]) == "| a |\n|:--|\n| x |"


def test_every_measurement_has_a_table() -> None:
    assert {experiment.measure for experiment in load_experiments().values()} <= set(TABLES)


def test_every_method_and_dataset_has_a_name() -> None:
    for experiment in load_experiments().values():
        names = [told["name"] for told in experiment.options.get("methods", [])]
        assert all(name in METHODS or "=" in name for name in names)
        assert set(experiment.datasets) <= set(ORIGINALS)


# Agreement


def test_agreement_counts_sizes_deviations_and_orders(tmp_path: Path) -> None:
    rows = errors({"oracle": 0, "partial": 0.3, "fdw": -0.05})
    told = {"test_windows": 9, "groups": {"15%": rows}}
    found = paper_checks([load_one(tmp_path, "table-main", "ecg5000", "tcn", told)])
    assert [(one.kind, one.what, one.agrees) for one in found] == [
        ("gap within 2 points", "FDW, gap of MAE", False),
        ("gap within 2 points", "FDW, gap of RMSE", False),
        ("order of methods", "Partial and FDW", True),
    ]
    assert agreement(found) == "gap within 2 points: 0 of 2; order of methods: 1 of 1"
    found = paper_checks([load_one(tmp_path, "table-oracle-partial", "ecg5000", "tcn", told)])
    assert {one.what: one.agrees for one in found if one.kind == "gap within 2 points"} == {
        "Partial, gap of MAE": False,  # 30 %, published 33.15 %
        "Partial, gap of RMSE": True,  # published 30.21 %
    }
    near = {"test_windows": 9, "groups": {"15%": errors({"oracle": 0, "partial": 0.32, "fdw": 0.01})}}
    found = paper_checks([load_one(tmp_path, "table-oracle-partial", "ecg5000", "tcn", near)])
    assert [one.agrees for one in found if one.what == "Partial, gap of MAE"] == [True]
    found = paper_checks([load_one(tmp_path, "table-knn", "ecg5000", "tcn", near)])
    assert not any(one.what.startswith("FDW, gap") for one in found)  # table 4's, counted there
    found = paper_checks([load_one(tmp_path, "table-oracle-partial", "ecg5000", "tcn", told)])
    near = {one.what: one.agrees for one in found if one.kind == "error in its 95 % interval"}
    for mean, method in ((3.71, "Oracle"), (4.94, "Partial")):  # table 1, TCN
        row = rows[method.lower()]
        assert near[f"{method}, MAE"] == (abs(row["mae"] - mean) <= 2.571 * row["mae_deviation"] / DRAWS**0.5)
    far = {"test_windows": 9, "groups": {"15%": errors({"oracle": 0, "partial": 0.8})}}
    found = paper_checks([load_one(tmp_path, "table-oracle-partial", "ecg5000", "tcn", far)])
    assert {one.what: one.agrees for one in found if one.kind.startswith("error")}["Partial, MAE"] is False
    assert set(near) == {"Oracle, MAE", "Oracle, RMSE", "Partial, MAE", "Partial, RMSE"}


def test_only_the_papers_own_data_are_compared(tmp_path: Path) -> None:
    assert paper_checks([load_one(tmp_path, "table-main", "clouds", "tcn")]) == []
    assert paper_checks([load_one(tmp_path, "table-main", "ecg5000", "tcn")]) != []


def test_an_order_counts_only_when_it_is_told(tmp_path: Path) -> None:
    near = gaps_of(uw=2.0, ddw=2.0001, fdw=1.0)
    found = paper_checks([load_one(tmp_path, "table-weighting", "ecg5000", "mstgcn", near)])
    orders = {one.what: one.agrees for one in found if one.kind == "order of methods"}
    assert orders == {"UW and FDW": True, "DDW and FDW": True}  # table 8: 2.21, 2.67 and 1.13 %


def test_facts_of_the_dataset_are_compared(tmp_path: Path) -> None:
    record = load_one(tmp_path, "table-datasets", "ecg5000", "")
    assert agreement(paper_checks([record])) == "facts of the dataset: 4 of 4"


def test_disagreement_is_listed_with_both_numbers(tmp_path: Path) -> None:
    rows = errors({"oracle": 0, "partial": 0.3, "fdw": -0.05})
    write_record(tmp_path / "r", "table-main", "ecg5000", "tcn", told={"test_windows": 9, "groups": {"15%": rows}})
    page = write_report(tmp_path / "r", tmp_path / "page.md", tmp_path / "figures").read_text(encoding="utf-8")
    cells = row_of(page, "[table-main](#table-main)", "ecg5000 TCN", "gap within 2 points", "FDW, gap of MAE")
    assert cells[4] == f"{rows['fdw']['mae_gap']:.2f} %, published 1.07 %"


# Claims


def test_every_claim_of_the_paper_is_asked() -> None:
    rows = load_published()
    stated = {tuple(pair) for pair in rows.loc[rows["claim"] != "", ["experiment", "claim"]].to_numpy()}
    assert stated <= {(claim.experiment, claim.words) for claim in CLAIMS}
    assert {claim.experiment for claim in CLAIMS} <= set(load_experiments())


def test_claims_name_the_papers_cells() -> None:
    named = {claim.words: cells_of_paper(claim) for claim in CLAIMS}
    assert named["A quarter of the bank nearly suffices."] == "SOLAR MTGNN FDW"
    assert named["The error hardly changes with the size of S."] == "TRAFFIC Oracle"
    assert named["One mode of the distribution lies close to zero."] == "METR-LA, SOLAR"
    assert named["FDW does better than DDW."] == ""


def test_verdicts() -> None:
    yes, no, untold = Outcome("a", True, ""), Outcome("b", False, ""), Outcome("c", None, "")
    assert verdict([untold, untold]) == "cannot be told"
    assert verdict([no, untold]) == "does not hold in 1 of 2 cells, cannot be told in 1"
    assert verdict([yes, untold]) == "holds in 1 of 2 cells, cannot be told in 1"
    assert verdict([yes, untold, untold]) == "cannot be told in 2 of 3 cells, holds in 1"
    assert verdict([yes, no, untold]) == "holds in 1 of 3 cells, cannot be told in 1"
    assert (
        verdict([yes, no, untold, untold, untold]) == "cannot be told in 3 of 5 cells, holds in 1, does not hold in 1"
    )
    for more, word in (([], "yes"), ([untold], "yes"), ([no], "in part"), ([untold] * 2, "cannot be told")):
        assert overall_answer([yes, *more]) == word
    assert overall_answer([no, untold]) == "no"  # alike for and against
    assert [verdict(told) for told in ([], [yes], [yes, yes], [yes, no, no], [no, no])] == [
        "not measured", "holds", "holds (all 2 cells)", "holds in 1 of 3 cells", "does not hold",
    ]  # fmt: skip


def ask(tmp_path: Path, words: str, *records: tuple[str, str, str, dict]) -> list[bool]:
    """What records made of these figures say of a claim."""
    for name, dataset, model, told in records:
        write_record(tmp_path, name, dataset, model, told=told)
    (claim,) = [claim for claim in CLAIMS if claim.words == words]
    return [outcome.holds for outcome in claim.ask(read_records(tmp_path)[0])]


def gaps_of(**offs: float) -> dict:
    """Figures with these gaps of MAE (in per cent) in one group."""
    named = {name.replace("_", "-"): off / 100 for name, off in offs.items()}
    return {"test_windows": 9, "groups": {"15%": errors({"oracle": 0.0} | named)}}


def _rounds(*tables, compared=(0.1, 0.2, 0.3)):
    told = {f"way {place}": {"rounds": rounds, "compared": list(compared)} for place, rounds in enumerate(tables)}
    return {"neighbors": [1, 5, 10], "tables": told}


def settings(letter: str, values: dict[float, float]) -> dict:
    named = {f"{letter}={place:g}": off / 100 for place, off in values.items()}
    return {"test_windows": 9, "groups": {"15%": errors({"oracle": 0.0} | named)}}


@pytest.mark.parametrize(
    ("words", "name", "holding", "failing"),
    [
        ("Partial loses against Oracle.", "table-oracle-partial", gaps_of(partial=9), gaps_of(partial=-2)),
        (
            "FDW matches or beats a model trained on a known S.", "table-apriori",
            gaps_of(fdw=2, apriori=4), gaps_of(fdw=6, apriori=4),
        ),
        (
            "FDW recovers much of what Partial loses.", "table-main",
            gaps_of(fdw=4, partial=9), gaps_of(fdw=6, partial=9),
        ),
        ("The gap of FDW is mostly below 5 %.", "table-main", gaps_of(fdw=4, partial=9), gaps_of(fdw=6, partial=9)),
        (
            "A larger exponent b does worse.", "table-ablation",
            settings("b", {0.5: 2, 1: 4, 2: 8}), settings("b", {0.5: 4, 1: 8, 2: 2}),
        ),
        (
            "b = 0.5 works best.", "table-ablation",
            settings("b", {0.33: 3, 0.5: 2, 1: 4, 2: 8}), settings("b", {0.33: 1, 0.5: 2, 1: 8, 2: 4}),
        ),
        (
            "A model trained on a known S need not reach Oracle.", "table-apriori",
            gaps_of(fdw=2, apriori=4), gaps_of(fdw=6, apriori=-4),
        ),
        (
            "The identity in place of the graph does worse than Oracle: what variables tell of each other matters.",
            "table-identity", gaps_of(identity=4, partial=3), gaps_of(identity=-4, partial=3),
        ),
        ("FDW does better than UW.", "table-weighting", gaps_of(fdw=1, ddw=3, uw=5), gaps_of(fdw=5, ddw=1, uw=3)),
        (
            "FDW beats the nearest-neighbor forecast.", "table-knn",
            gaps_of(fdw=2, neighbor_forecast=9), gaps_of(fdw=9, neighbor_forecast=2),
        ),
        (
            "The gap strictly falls as m grows.", "figure-neighbors",
            settings("m", {1: 9, 5: 6, 10: 5, 20: 4, 50: 2}), settings("m", {1: 9, 5: 6, 10: 7, 20: 4, 50: 2}),
        ),
        (
            "The reductions of the gap diminish as m grows.", "figure-neighbors",
            settings("m", {1: 20, 5: 12, 10: 8, 20: 4, 50: 2}), settings("m", {1: 20, 5: 19, 10: 10, 20: 4, 50: 2}),
        ),
        (
            "The gap falls sharply over the small fractions of the bank and slowly after.", "figure-retrieval-size",
            settings("r", {0.05: 20, 0.25: 5, 1: 4}), settings("r", {0.05: 20, 0.25: 18, 1: 4}),
        ),
        (
            "A quarter of the bank nearly suffices.", "figure-retrieval-size",
            settings("r", {0.05: 20, 0.25: 4.3, 1: 4}), settings("r", {0.05: 20, 0.25: 6.5, 1: 4}),
        ),
        ("FDW does better than DDW.", "table-weighting", gaps_of(fdw=1, ddw=3, uw=5), gaps_of(fdw=3, ddw=1, uw=5)),
        ("DDW does better than UW.", "table-weighting", gaps_of(fdw=1, ddw=3, uw=5), gaps_of(fdw=1, ddw=5, uw=3)),
        (
            "FDW does better than kNNE and IIM, or nearly as well.", "table-imputation",
            gaps_of(fdw=2, knne=3, iim=1.999), gaps_of(fdw=5, knne=9, iim=2),
        ),
        (
            "FDW ranks the ideal neighbor higher than DDW.", "table-weighting-mrr",
            ranked(0.45, 0.47), ranked(0.47, 0.45),
        ),
        (
            "At most 3 rounds are needed for most m.", "figure-rounds",
            _rounds([1, 3, 4]), _rounds([1, 4, 5]),
        ),
        (
            "The increase of the rounds diminishes as m grows.", "figure-rounds",
            _rounds([1, 3, 4]), _rounds([1, 2, 6]),
        ),
        (
            "The set that is left to compare is small.", "figure-rounds",
            _rounds([1, 3, 4], compared=[0.01, 0.02, 0.03]), _rounds([1, 3, 4], compared=[0.01, 0.02, 0.3]),
        ),
        (
            "The summed PageRank of the absent variables correlates with the gap in MAE.", "figure-pagerank",
            {"correlation": 0.5, "pagerank": [0.1] * 25, "gap": [0.1] * 25},
            {"correlation": -0.5, "pagerank": [0.1] * 25, "gap": [0.1] * 25},
        ),
        (
            "The query table costs little accuracy.", "table-scalable",
            gaps_of(fdw=2, scalable=2.1), gaps_of(fdw=2, scalable=4),
        ),
    ],
)  # fmt: skip
def test_claim_holds_and_fails_where_it_should(
    tmp_path: Path, words: str, name: str, holding: dict, failing: dict
) -> None:
    model = "" if name == "figure-rounds" else "mtgnn"
    assert ask(tmp_path / "a", words, (name, "ecg5000", model, holding)) == [True]
    assert ask(tmp_path / "b", words, (name, "ecg5000", model, failing)) == [False]


def test_methods_that_the_intervals_do_not_part(tmp_path: Path) -> None:
    near = gaps_of(fdw=2.0, ddw=2.0001, uw=2.0002)
    assert ask(tmp_path / "a", "FDW does better than DDW.", ("table-weighting", "ecg5000", "tcn", near)) == [None]
    few = gaps_of(fdw=1, ddw=3, uw=5)
    few["groups"]["15%"]["fdw"]["rmse_against"]["ddw"][1:] = [None, None]
    assert ask(tmp_path / "b", "FDW does better than DDW.", ("table-weighting", "ecg5000", "tcn", few)) == [None]
    rank = "FDW ranks the ideal neighbor higher than DDW."
    told = ("table-weighting-mrr", "ecg5000", "tcn", ranked(0.45, 0.4501, spread=0.1))
    assert ask(tmp_path / "c", rank, told) == [None]
    falling = settings("m", {1: 9, 5: 6, 10: 6.0001, 20: 4, 50: 2})
    words = "The gap strictly falls as m grows."
    assert ask(tmp_path / "d", words, ("figure-neighbors", "ecg5000", "tcn", falling)) == [None]


def test_claims_against_partial(tmp_path: Path) -> None:
    words = "A model trained on a known S does better than Partial."
    good = ("table-apriori", "ecg5000", "tcn", gaps_of(fdw=2, apriori=4, partial=9))
    bad = ("table-apriori", "ecg5000", "tcn", gaps_of(fdw=2, apriori=12, partial=9))
    assert ask(tmp_path / "a", words, good) == [True]
    assert ask(tmp_path / "b", words, bad) == [False]
    words = "The identity in place of the graph does worse than Partial."
    better = ("table-identity", "ecg5000", "mtgnn", gaps_of(identity=3, partial=9))
    worse = ("table-identity", "ecg5000", "mtgnn", gaps_of(identity=12, partial=9))
    assert ask(tmp_path / "c", words, better) == [False]
    assert ask(tmp_path / "d", words, worse) == [True]


def test_the_model_that_loses_most(tmp_path: Path) -> None:
    words = "MTGNN loses the most of all models."
    first = ("table-oracle-partial", "ecg5000", "mtgnn", gaps_of(partial=9))
    assert ask(tmp_path, words, first) == []
    assert ask(tmp_path, words, ("table-oracle-partial", "ecg5000", "tcn", gaps_of(partial=12))) == [False]
    assert ask(tmp_path, words, ("table-oracle-partial", "ecg5000", "tcn", gaps_of(partial=5))) == [True]
    # a model on other windows does not count
    path = write_record(tmp_path, "table-oracle-partial", "ecg5000", "lstnet", told=gaps_of(partial=40))
    path.write_text(json.dumps(json.loads(path.read_text()) | {"every": 3}))
    assert ask(tmp_path, words) == [True]
    path.unlink()
    # a second training counts with the first
    write_record(tmp_path, "table-oracle-partial", "ecg5000", "mtgnn", seed=1, told=gaps_of(partial=0.2))
    assert ask(tmp_path, words) == [False]


def test_which_models_have_the_better_oracle(tmp_path: Path) -> None:
    def oracle(times: float) -> dict:
        told = gaps_of(partial=9)
        told["groups"]["15%"]["oracle"]["mae"] *= times
        return told

    name = "table-oracle-partial"
    graphs, best = (
        "Models with a graph do better than the others in Oracle.",
        "MTGNN's Oracle is the best on all datasets but ECG5000.",
    )
    for dataset in ("ecg5000", "clouds"):
        for model, times in (("mtgnn", 1.0), ("astgcn", 1.1), ("tcn", 1.2)):
            write_record(tmp_path, name, dataset, model, told=oracle(times))
    assert ask(tmp_path, graphs) == [True, True]
    assert ask(tmp_path, best) == [True]  # of clouds alone
    assert ask(tmp_path, graphs, (name, "clouds", "lstnet", oracle(1.05))) == [True, False]
    assert ask(tmp_path, best, (name, "clouds", "lstnet", oracle(0.9))) == [False]


def test_claims_over_sizes_and_clusters(tmp_path: Path) -> None:
    def by_group(method: str, gaps: dict[str, float]) -> dict:
        groups = {group: errors({"oracle": 0.0, "partial": 0.1, method: off / 100}) for group, off in gaps.items()}
        return {"test_windows": 9, "groups": groups}

    falling, rising = {"5%": 30, "15%": 20, "50%": 10, "100%": 0}, {"5%": 0, "15%": 10, "50%": 20, "100%": 30}
    for words in ("The error falls as S grows.", "The gap to Oracle closes as S grows."):
        told = [
            ("figure-subset-size", "ecg5000", "tcn", by_group("partial", falling)),
            ("figure-subset-size", "ecg5000", "mtgnn", by_group("partial", rising)),
        ]
        assert ask(tmp_path / "sizes", words, *told) == [False, True]  # MTGNN comes first
    words = "The error hardly changes with the size of S."
    assert ask(tmp_path / "sizes", words) == [True, True]
    moving = by_group("partial", falling)
    moving["groups"]["5%"]["oracle"]["mae"] *= 1.5
    assert ask(tmp_path / "moving", words, ("figure-subset-size", "ecg5000", "tcn", moving)) == [False]
    few, many = {"1": 30, "4": 10, "7": 5, "11": 8}, {"1": 5, "4": 10, "7": 20, "11": 30}
    words = "The gap of FDW is larger when S comes from fewer clusters."
    assert ask(tmp_path / "few", words, ("table-correlated", "clouds", "tcn", by_group("fdw", few))) == [True]
    assert ask(tmp_path / "many", words, ("table-correlated", "clouds", "tcn", by_group("fdw", many))) == [False]
    words = "The error of Partial rises with the number of clusters."
    told = ("table-correlated", "clouds", "mtgnn", by_group("partial", many))
    assert ask(tmp_path / "partial", words, told) == [True]
    told = ("table-correlated", "clouds", "mtgnn", by_group("partial", few))
    assert ask(tmp_path / "falling", words, told) == [False]


def test_claims_over_steps_mind_the_dataset(tmp_path: Path) -> None:
    def by_step(values: list[float]) -> dict:
        rows = errors({"oracle": 0.0, "partial": 0.1})
        rows["partial"]["mae_by_step"] = (np.array(rows["oracle"]["mae_by_step"]) + values).tolist()
        return {"test_windows": 9, "groups": {"15%": rows}}

    grows = [0.1 * step for step in range(12)]
    zigzag = [value + (0.15 if place % 2 else 0) for place, value in enumerate(grows)]
    strict, zig = [
        f"The gap between Oracle and Partial grows with {how}." for how in ("every step", "the step in a zig-zag")
    ]
    told = [("figure-horizon", "clouds", "tcn", by_step(grows)), ("figure-horizon", "ecg5000", "tcn", by_step(zigzag))]
    assert ask(tmp_path, strict, *told) == [True]
    assert ask(tmp_path, zig) == [True]
    told = [("figure-horizon", "clouds", "tcn", by_step(zigzag)), ("figure-horizon", "ecg5000", "tcn", by_step(grows))]
    assert ask(tmp_path, strict, *told) == [False]
    assert ask(tmp_path, zig) == [False]


def test_claims_over_ranks(tmp_path: Path) -> None:
    def ranks(mean: float, first: float, second: float) -> dict:
        left = (1 - first - second) / 18
        histogram = [first, second, *[left] * 18]
        return {"edges": np.linspace(0, 1, 21).tolist(), "groups": {"15%": {"mrr": mean, "histogram": histogram}}}

    mode, better = (
        "One mode of the distribution lies close to zero.",
        "The distribution is much better than on METR-LA and SOLAR.",
    )
    name = "figure-reciprocal-rank"
    assert ask(tmp_path, better, (name, "ecg5000", "", ranks(0.5, 0.1, 0.2))) == []
    assert ask(tmp_path, better, (name, "clouds", "", ranks(0.2, 0.4, 0.1))) == [True]
    assert ask(tmp_path, mode) == [True]
    assert ask(tmp_path, better, (name, "metr-la-29", "", ranks(0.6, 0.1, 0.2))) == [False, True]  # each of the kin
    assert ask(tmp_path, mode) == [False, True]
    words = "The reciprocal rank rises with the number of clusters."
    for means, expected in (((0.5, 0.6, 0.58, 0.7), True), ((0.7, 0.6, 0.58, 0.5), False)):
        told = {"groups": {str(count): {"mrr": mean} for count, mean in zip((1, 4, 7, 11), means, strict=True)}}
        assert ask(tmp_path, words, ("table-correlated-mrr", "clouds", "", told)) == [expected]


def test_a_record_without_the_method_cannot_tell(tmp_path: Path) -> None:
    assert ask(tmp_path, "FDW does better than DDW.", ("table-weighting", "ecg5000", "tcn", gaps_of(fdw=1))) == []


def test_small_questions() -> None:
    assert strictly_monotonic([1.0, 2.0], 1)
    assert not strictly_monotonic([1.0, 1.0], 1)
    assert mostly_monotonic([5.0, 3.0, 4.0, 2.0, 1.0], -1)
    assert not mostly_monotonic([1.0, 3.0, 2.0], -1)
    assert diminishing([1.0, 2.0, 2.0], [0, 1, 2], 1)
    assert not diminishing([1.0, 2.0, 1.5], [0, 1, 2], 1)  # it falls


def test_what_cannot_be_told_is_neither_for_nor_against(tmp_path: Path) -> None:
    def answers(folder: str, words: str, name: str, told: dict) -> list[bool]:
        return ask(tmp_path / folder, words, (name, "ecg5000", "mtgnn", told))

    level = settings("r", {0.05: 4.0002, 0.25: 4.0001, 1: 4})
    assert answers("a", "A quarter of the bank nearly suffices.", "figure-retrieval-size", level) == [None]
    words = "The gap falls sharply over the small fractions of the bank and slowly after."
    assert answers("b", words, "figure-retrieval-size", level) == [None]
    wavering = settings("m", {1: 9, 5: 6, 10: 6.0001})
    assert answers("c", "The gap strictly falls as m grows.", "figure-neighbors", wavering) == [None]
    weak = {"correlation": 0.3, "pagerank": [0.1] * 25, "gap": [0.1] * 25}
    words = "The summed PageRank of the absent variables correlates with the gap in MAE."
    assert answers("d", words, "figure-pagerank", weak) == [None]
    unlike = settings("m", {1: 9, 5: 8, 10: 2})
    assert answers("f", "The reductions of the gap diminish as m grows.", "figure-neighbors", wavering) == [None]
    assert answers("g", "The reductions of the gap diminish as m grows.", "figure-neighbors", unlike) == [False]
    near = settings("b", {0.33: 1.9999, 0.5: 2, 1: 4, 2: 8})
    assert answers("e", "b = 0.5 works best.", "table-ablation", near) == [None]


def test_ecg5000_and_the_other_datasets_have_verdicts_of_their_own(tmp_path: Path) -> None:
    write_record(tmp_path / "r", "table-oracle-partial", "ecg5000", "tcn", told=gaps_of(partial=9))
    write_record(tmp_path / "r", "table-oracle-partial", "clouds", "tcn", told=gaps_of(partial=-9))
    page = write_report(tmp_path / "r", tmp_path / "page.md", tmp_path / "figures").read_text(encoding="utf-8")
    cells = row_of(page, "[table-oracle-partial](#table-oracle-partial)", "Partial loses against Oracle.")
    assert cells[3:5] == ["**holds**", "**does not hold**"]
    assert cells[5].startswith("clouds TCN (Partial -")


# Where something simpler wins


def test_simpler_wins_are_told_first(tmp_path: Path) -> None:
    told = gaps_of(partial=9, fdw=3, subcast=2, linear=-4, last_value=50)
    write_record(tmp_path / "r", "table-main", "ecg5000", "tcn", told=told)
    page = write_report(tmp_path / "r", tmp_path / "page.md", tmp_path / "figures").read_text(encoding="utf-8")
    text = section(page, "## Where something simpler wins")
    assert "better than the default of `subcast` in 2 of 4 comparisons** of MAE or RMSE, clearly (the" in text
    assert "part the two) in 2; clearly worse in 2." in text
    assert "Simple baselines: **better than the default of `subcast` in 2 of 4" in section(page, "## In short")
    cells = row_of(text, "[table-main](#table-main)", "ecg5000 TCN", "15%", "linear, per variable")
    rows = told["groups"]["15%"]
    assert cells[4].startswith(f"**{rows['linear']['mae']:.2f} against {rows['subcast']['mae']:.2f} (-")
    assert "last value |" not in text
    assert "known S): **better than the default of `subcast` in 0 of 2 comparisons** of MAE or RMSE" in text
    assert "Doing nothing (Partial): **better than the default of `subcast` in 0 of 2 comparisons**" in text


def test_none_simpler_is_said(page: str) -> None:
    text = section(page, "## Where something simpler wins")
    assert text.count("**better than the default of `subcast` in 0 of") == 3
    assert "| MAE: its error against ours |" not in text


def test_in_short_spans_the_cells(tmp_path: Path) -> None:
    for model, gap in (("tcn", 9), ("mtgnn", 30)):
        write_record(tmp_path / "r", "table-main", "ecg5000", model, told=gaps_of(partial=gap, fdw=3, subcast=2))
    page = write_report(tmp_path / "r", tmp_path / "page.md", tmp_path / "figures").read_text(encoding="utf-8")
    low, high = (gaps_of(partial=gap, fdw=3, subcast=2)["groups"]["15%"]["partial"]["mae_gap"] for gap in (9, 30))
    assert f"gap of MAE {low:+.1f} to {high:+.1f} % on ECG5000 (2 cells)." in section(page, "## In short")


def test_paired_differences_part_what_intervals_to_oracle_do_not(tmp_path: Path) -> None:
    """Gaps to Oracle spread widely, while the rival is better in each draw."""
    rows = {
        name: {"mae": error, "rmse": error, "mae_gap_interval": [0.0, 30.0], "rmse_gap_interval": [0.0, 30.0]}
        for name, error in {"subcast": 3.0, "linear": 2.9}.items()
    }
    rows["linear"]["mae_against"] = {"subcast": [-3.3, -4.0, -2.0]}
    write_record(tmp_path, "table-main", "ecg5000", "tcn", told={"groups": {"15%": rows}})
    mae, rmse = contests(read_records(tmp_path)[0])
    assert (mae.metric, mae.lost, mae.clear) == ("mae", True, True)
    assert (rmse.metric, rmse.lost, rmse.clear) == ("rmse", True, False)


def test_clusters_are_told(page: str) -> None:
    for name in ("table-correlated", "table-correlated-mrr"):
        text = section(page, f"### {name}")
        assert "DBSCAN finds 11 clusters (radius 0.250, at least 3; sizes 2, 2," in text
        assert "on average 2.0 where 1 was asked for (5 draws)." in text


def test_neighbor_forecast_is_compared_when_windows_and_draws_agree(tmp_path: Path) -> None:
    write_record(tmp_path, "table-main", "ecg5000", "tcn", told=gaps_of(partial=9, fdw=3, subcast=2))
    path = write_record(tmp_path, "table-knn", "ecg5000", "tcn", told=gaps_of(neighbor_forecast=-5, fdw=3))
    lost = {contest.rival for contest in contests(read_records(tmp_path)[0]) if contest.lost}
    assert lost == {"neighbor-forecast"}
    path.write_text(json.dumps(json.loads(path.read_text()) | {"every": 1}))
    assert not any(contest.lost for contest in contests(read_records(tmp_path)[0]))


# Figures


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


# What a person wrote


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
