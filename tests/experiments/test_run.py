"""Every experiment runs, resumes, and leaves a record that can be read."""

import json
from dataclasses import replace

import pytest

from experiments.examples import small_cells
from subcast.comparison import Comparison, has_tallies
from subcast.experiments.declaration import get_experiment, load_experiments
from subcast.experiments.measures import MEASURES
from subcast.experiments.run import FORMAT, Places, _read_unfinished, run_cell, run_cells
from subcast.experiments.study import STEP, Study
from twins import comparison_twins

NOT_FACTS = ("record", "version", "date", "machine", "seconds", "command", "figures")


@pytest.mark.parametrize("name", sorted(set(load_experiments()) - {"table-apriori"}))
def test_every_experiment_runs_on_the_small_dataset(name, places):
    _, cells = small_cells(name)
    said = []
    paths, skipped = run_cells(cells, places, say=said.append, progress=False)
    assert len(paths) == len(cells) == 1, said
    assert not skipped
    record = json.loads(paths[0].read_text())
    assert record["experiment"] == name
    assert record["figures"]
    assert not paths[0].with_suffix(".begun").exists()
    assert "already recorded" in _said_again(cells, places)


def _said_again(cells, places):
    said = []
    run_cells(cells, places, say=said.append, progress=False)
    return said[-1]


def test_an_interrupted_cell_is_resumed(places, tmp_path, monkeypatch):
    _, cells = small_cells("table-oracle-partial")
    here = Places(tmp_path, places.checkpoints)
    study = Study.of(cells[0], places.checkpoints, progress=False)
    run_cell(cells[0], here, study, say=lambda text: None)
    whole = json.loads(here.record(cells[0]).read_text())["figures"]
    here.record(cells[0]).unlink()

    kind = MEASURES["errors"]
    before, asked = kind.run, []

    def stops(self, unit):
        asked.append(unit)
        if unit == 1 and len(asked) == 2:
            raise KeyboardInterrupt
        return before(self, unit)

    monkeypatch.setattr(kind, "run", stops)
    with pytest.raises(KeyboardInterrupt):
        run_cell(cells[0], here, study, say=lambda text: None)
    assert here.unfinished(cells[0]).exists()
    run_cell(cells[0], here, study, say=lambda text: None)
    assert asked == [0, 1, 1]  # the first unit was not done again
    assert json.loads(here.record(cells[0]).read_text())["figures"] == whole


def test_a_cell_without_its_model_is_skipped(tmp_path):
    experiment = get_experiment("table-main")
    cells = experiment.cells("quick", datasets=("ecg5000",), models=("tcn",))
    said = []
    written, skipped = run_cells(cells, Places(tmp_path, (tmp_path,)), say=said.append, progress=False)
    assert written == []
    assert list(skipped) == ["table-main ecg5000-tcn"]
    assert "skipped" in said[-1]


class TestRecordsOfAnotherThing:
    """A record counts only when it is of what is asked."""

    def run(self, cells, places, **options):
        said = []
        run_cells(cells, places, say=said.append, progress=False, **options)
        return said[-1]

    def test_other_methods_are_measured_again(self, places, tmp_path):
        declared, cells = small_cells("table-oracle-partial")
        here = Places(tmp_path, places.checkpoints)
        assert "already recorded" not in self.run(cells, here)
        assert "already recorded" in self.run(cells, here)
        more = replace(declared, options={"methods": [{"name": "oracle"}, {"name": "last-value"}]})
        others = more.cells("quick", datasets=("clouds-small",), models=("tcn",), draws=2, every=97)
        assert "already recorded" not in self.run(others, here)
        assert set(json.loads(here.record(others[0]).read_text())["figures"]["groups"]["15%"]) == {
            "oracle",
            "last-value",
        }

    def test_a_half_run_cell_with_other_methods_is_not_continued(self, places, tmp_path):
        _, cells = small_cells("table-oracle-partial")
        here = Places(tmp_path, places.checkpoints)
        self.run(cells, here)
        record = json.loads(here.record(cells[0]).read_text())
        facts = {name: record[name] for name in record if name not in NOT_FACTS}
        unfinished = {
            "format": FORMAT,
            "cell": {**facts, "options": {}},
            "results": [{"nonsense": True}],
            "seconds": 1.0,
        }
        here.unfinished(cells[0]).write_text(json.dumps(unfinished))
        run_cells(cells, here, again=True, say=lambda text: None, progress=False)
        assert json.loads(here.record(cells[0]).read_text())["figures"] == record["figures"]

    def test_unfinished_results_of_another_format_or_model_are_not_resumed(self, places, tmp_path):
        _, cells = small_cells("table-oracle-partial")
        here = Places(tmp_path, places.checkpoints)
        self.run(cells, here)
        record = json.loads(here.record(cells[0]).read_text())
        facts = {name: record[name] for name in record if name not in NOT_FACTS}
        unfinished, results = here.unfinished(cells[0]), [{"group": "15%"}] * 5
        stored = {"format": FORMAT, "cell": facts, "results": results, "seconds": 1.0}
        unfinished.write_text(json.dumps(stored))
        assert _read_unfinished(unfinished, facts) == (results, 1.0)
        assert _read_unfinished(unfinished, {**facts, "weights": "another"}) == ([], 0.0)
        unfinished.write_text(json.dumps({**stored, "format": FORMAT - 1}))
        assert _read_unfinished(unfinished, facts) == ([], 0.0)
        unfinished.write_text(json.dumps(stored)[:-5])
        assert _read_unfinished(unfinished, facts) == ([], 0.0)

    def test_a_record_without_tallies_is_measured_again(self, places, tmp_path):
        _, cells = small_cells("table-oracle-partial")
        here = Places(tmp_path, places.checkpoints)
        self.run(cells, here)
        path = here.record(cells[0])
        record = json.loads(path.read_text())
        del record["figures"]["tallies"]
        path.write_text(json.dumps(record))
        assert "already recorded" not in self.run(cells, here)
        assert has_tallies(json.loads(path.read_text()))

    def test_every_third_window_is_not_every_fourth(self, places, tmp_path):
        experiment, _ = small_cells("table-oracle-partial")
        here = Places(tmp_path, places.checkpoints)

        def cells(every):
            return experiment.cells("quick", datasets=("clouds-small",), models=("tcn",), draws=2, every=every)

        assert "already recorded" not in self.run(cells(30), here)
        assert "already recorded" in self.run(cells(60), here)  # every second of the recorded windows
        assert "already recorded" not in self.run(cells(40), here)
        record = json.loads(here.record(cells(40)[0]).read_text())
        windows = record["figures"]["windows"]
        assert (windows["split"], windows["every"], windows["count"]) == ("test", 40, record["figures"]["test_windows"])
        assert windows["last"] == windows["first"] + 40 * (windows["count"] - 1)
        assert "already recorded" not in self.run(cells(20), here)

    def test_a_variant_that_is_not_available_does_not_outdate_a_record(self, places, tmp_path, monkeypatch):
        _, cells = small_cells("table-main")
        here = Places(tmp_path, places.checkpoints)
        self.run(cells, here)
        real = Study.fingerprint
        monkeypatch.setattr(Study, "fingerprint", lambda self, variant="": None if variant else real(self))
        assert "already recorded" in self.run(cells, here)
        monkeypatch.setattr(Study, "weights", None)
        assert "already recorded" in self.run(cells, here)

    def test_another_training_is_measured_again(self, places, tmp_path, monkeypatch):
        _, cells = small_cells("table-oracle-partial")
        here = Places(tmp_path, places.checkpoints)
        self.run(cells, here)
        monkeypatch.setattr(Study, "weights", "another")
        assert "already recorded" not in self.run(cells, here)

    def test_another_training_of_a_variant_is_measured_again(self, places, tmp_path, monkeypatch):
        _, cells = small_cells("table-main")
        here = Places(tmp_path, places.checkpoints)
        self.run(cells, here)
        assert "already recorded" in self.run(cells, here)
        real = Study.fingerprint
        monkeypatch.setattr(Study, "fingerprint", lambda self, variant="": variant or real(self))
        assert "already recorded" not in self.run(cells, here)


def test_the_interval_of_a_record_on_disk_is_the_printed_one(places, tmp_path):
    """Recomputed by the engine and by plain loops from the JSON file, it equals what the record and the report show."""
    experiment = replace(get_experiment("table-oracle-partial"), datasets=("clouds-small",))
    cells = experiment.cells("quick", models=("tcn",), draws=7, every=31)
    (path,), _ = run_cells(cells, Places(tmp_path, places.checkpoints), say=lambda text: None, progress=False)
    record = json.loads(path.read_text())
    assert len(record["figures"]["tallies"]["15%"]["draws"]) == 7
    printed = record["figures"]["groups"]["15%"]["partial"]
    again = Comparison.from_record(record)
    for metric in ("mae", "rmse"):
        gap = again.gap("partial", metric, STEP)
        assert [gap.gap, gap.lower, gap.upper] == [printed[f"{metric}_gap"], *printed[f"{metric}_gap_interval"]]
        other_way = again.gap("oracle", metric, STEP, base="partial")  # not stored at all
        assert other_way.lower < other_way.gap < other_way.upper
        lower, upper = interval_by_loops(record["figures"]["tallies"]["15%"], metric)
        assert (lower, upper) == pytest.approx((gap.lower, gap.upper), rel=1e-9)


def interval_by_loops(tallies, metric):
    """The interval of Partial's gap to Oracle from the plain values of a record."""
    methods = {
        name: [
            list(zip(absolute, squared, count, strict=True))
            for absolute, squared, count in zip(
                sums["absolute_by_stretch"], sums["squared_by_stretch"], tallies["count_by_stretch"], strict=True
            )
        ]
        for name, sums in tallies["methods"].items()
    }
    return comparison_twins.interval(methods["partial"], methods["oracle"], metric, 0.95, 1000, 0)
