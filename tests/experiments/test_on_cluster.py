"""Cells as tasks of a cluster: records are those of a run without one, and are there when the scheduler dies."""

import json
import threading
import time

import pytest

import cluster_tools
from experiments.examples import small_cells
from subcast.errors import ClusterError
from subcast.experiments import on_cluster
from subcast.experiments.on_cluster import run_cells_on
from subcast.experiments.run import Places, run_cells

distributed = pytest.importorskip("distributed")
NOT_THE_SAME = ("date", "seconds", "machine")


def figures(path):
    record = json.loads(path.read_text())
    return {name: value for name, value in record.items() if name not in NOT_THE_SAME}


def test_records_are_those_of_one_process(tmp_path):
    _, cells = small_cells("table-datasets")
    here, there = Places(tmp_path / "here", (tmp_path,)), Places(tmp_path / "there", (tmp_path,))
    expected, _ = run_cells(cells, here, say=lambda text: None, progress=False)
    said = []
    with distributed.Client(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0", set_as_default=False
    ) as client:
        written, skipped = run_cells_on(client, cells, there, say=said.append)
        assert [figures(path) for path in written] == [figures(path) for path in expected]
        assert not skipped
        assert said[-1].endswith("recorded")
        stamp = written[0].stat().st_mtime_ns
        run_cells_on(client, cells, there, say=said.append)
        assert written[0].stat().st_mtime_ns == stamp  # not run again


def test_a_cell_that_cannot_run_is_skipped_with_the_reason(tmp_path):
    experiment, _ = small_cells("table-main")
    cells = experiment.cells("quick", datasets=("ecg5000",), models=("tcn",))
    said = []
    with distributed.Client(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0", set_as_default=False
    ) as client:
        written, skipped = run_cells_on(client, cells, Places(tmp_path, (tmp_path,)), say=said.append)
    assert written == []
    assert list(skipped) == ["table-main ecg5000-tcn"]


def test_without_workers_it_says_so(tmp_path):
    _, cells = small_cells("table-datasets")
    with (
        distributed.Client(
            n_workers=0, processes=False, dashboard_address="127.0.0.1:0", set_as_default=False
        ) as client,
        pytest.raises(ClusterError, match=r"no worker for 0.1 s; 0 of 1 cells have their records: run the same"),
    ):
        run_cells_on(client, cells, Places(tmp_path, (tmp_path,)), patience=0.1, say=print)


@pytest.mark.cluster
def test_a_dead_scheduler_costs_only_cells_in_flight(tmp_path):
    _, cells = small_cells("table-datasets")
    cells = [*cells, *[type(cells[0])(**{**vars(cells[0]), "seed": seed}) for seed in (1, 2, 3)]]
    places = Places(tmp_path, (tmp_path,))
    with cluster_tools.ProcessCluster(workers=1) as cluster, cluster.client() as client:
        client.run(cluster_tools.slow_cells, 1.0)
        errors = []

        def run():
            try:
                run_cells_on(client, cells, places, patience=2, say=lambda text: None)
            except ClusterError as error:
                errors.append(str(error))

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        end = time.monotonic() + 60
        while not any(places.record(cell).exists() for cell in cells) and time.monotonic() < end:
            time.sleep(0.05)
        cluster.scheduler.kill()
        thread.join(60)
        assert errors
        assert "run the same command again to go on" in errors[0]
    recorded = {cell.name for cell in cells if places.record(cell).exists()}
    assert recorded
    stamps = {cell.name: places.record(cell).stat().st_mtime_ns for cell in cells if cell.name in recorded}
    with cluster_tools.ProcessCluster(workers=1) as cluster, cluster.client() as client:
        written, _ = run_cells_on(client, cells, places, say=lambda text: None)
    assert len(written) == len(cells)
    assert all(places.record(cell).stat().st_mtime_ns == stamps[cell.name] for cell in cells if cell.name in recorded)


def test_the_reason_of_a_lost_scheduler_names_the_finished_cells(monkeypatch, tmp_path):
    def lost(client, futures, patience):
        raise ClusterError("the connection to the scheduler was lost")
        yield

    monkeypatch.setattr(on_cluster, "_finished", lost)
    _, cells = small_cells("table-datasets")

    class Client:
        def submit(self, *arguments, **options):
            return object()

    with pytest.raises(ClusterError, match="was lost; 0 of 1 cells have their records"):
        run_cells_on(Client(), cells, Places(tmp_path, (tmp_path,)), say=print)
