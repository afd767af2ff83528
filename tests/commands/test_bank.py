"""`subcast bank write`: the training part, whole files in pieces, appending, and its errors."""

import json

import numpy as np
import pandas as pd
import pytest

import cluster_tools
import subcast as sc
from commands.examples import CHECKPOINT, refuse, run, waves
from subcast.commands import bank as command
from subcast.errors import ClusterError, DataError, DataNotFoundError, InputError
from subcast.series import Series


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "waves.csv"
    waves().to_frame().to_csv(path)
    return path


@pytest.mark.parametrize("stream", [(), ("--stream",)])
def test_the_training_part_serves_fit(tmp_path, table, stream):
    sizes = ("--lookback", "12", "--horizon", "4")
    result = run("bank", "write", table, tmp_path / "bank", *sizes, "--steps", "40", *stream)
    assert "windows of 12 steps, 5 variables" in result.stdout
    options = ("--model", CHECKPOINT, "--effort", "0.1", "--no-progress")
    run("fit", table, *options, "-o", tmp_path / "plain")
    run("fit", table, *options, "-o", tmp_path / "plant", "--bank", tmp_path / "bank")
    one, many = sc.load(tmp_path / "plain"), sc.load(tmp_path / "plant")
    assert isinstance(many.fitted_.bank, sc.ShardedBank)
    assert many.fitted_.bank.shards > 1
    recent = waves().to_frame().iloc[-12:, [0, 3]]
    assert np.allclose(one.predict(recent).mean, many.predict(recent).mean, rtol=1e-6, atol=1e-6)
    assert "5 variables" in run("inspect", tmp_path / "plant").stdout


def test_json_says_what_was_written(tmp_path, table):
    record = json.loads(
        run("bank", "write", table, tmp_path / "b", "--part", "all", "--json").stdout, parse_constant=refuse
    )
    assert (record["steps"], record["windows"], record["shards"]) == (240, 240 - 23, 1)
    assert record["variables"] == list(waves().variables)


def as_file(folder, kind, rows=240):
    frame = waves().to_frame().iloc[:rows].reset_index()
    path = folder / f"readings.{kind}"
    if kind == "parquet":
        frame.to_parquet(path, index=False)
    else:
        frame.to_csv(path, index=False)
    return path


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_a_file_in_pieces_is_the_same_bank(tmp_path, kind, monkeypatch):
    monkeypatch.setattr(command, "_ROWS_AT_ONCE", 50)
    path = as_file(tmp_path, kind)
    for part, steps in (("train", 155), ("all", 240)):
        sizes = ("--lookback", "6", "--horizon", "4", "--part", part, "--steps", "60")
        run("bank", "write", path, tmp_path / "pieces", "--stream", *sizes)
        run("bank", "write", path, tmp_path / "whole", *sizes)
        pieces, whole = sc.ShardedBank(tmp_path / "pieces"), sc.ShardedBank(tmp_path / "whole")
        assert pieces.fingerprint() == whole.fingerprint()
        assert pieces.n_steps == steps
        assert np.allclose(pieces.steps(0, steps), waves().values[:steps], rtol=1e-6)


@pytest.mark.parametrize("stream", [(), ("--stream",)])
def test_later_steps_are_appended(tmp_path, stream):
    run("bank", "write", as_file(tmp_path, "csv", 150), tmp_path / "bank", "--part", "all")
    later = waves().to_frame().iloc[150:].reset_index()
    later.to_csv(tmp_path / "later.csv", index=False)
    run("bank", "write", tmp_path / "later.csv", tmp_path / "bank", "--append", *stream)
    bank = sc.ShardedBank(tmp_path / "bank")
    assert len(bank) == 240 - 23
    assert np.allclose(bank.steps(0, 240), waves().values, rtol=1e-6)


def test_other_variables_are_not_appended(tmp_path, table):
    run("bank", "write", table, tmp_path / "bank", "--part", "all")
    waves().to_frame().iloc[:, :4].to_csv(tmp_path / "fewer.csv")
    with pytest.raises(InputError, match="must have the variables of the bank"):
        run("bank", "write", tmp_path / "fewer.csv", tmp_path / "bank", "--append")


def test_the_targets_of_a_protocol_are_written(tmp_path):
    values = np.where(np.random.default_rng(0).random((400, 3)) < 0.1, 0.0, 5.0).astype(np.float32)
    train = Series(values).split(6, 3, protocol="paper").train
    command.write_windows(train, tmp_path / "bank", 100)
    bank = sc.ShardedBank(tmp_path / "bank")
    assert np.array_equal(bank.targets(0, len(train.series)), train.target_values, equal_nan=True)
    assert np.array_equal(bank.steps(0, len(train.series)), train.series.values, equal_nan=True)
    assert np.array_equal(bank.starts, np.asarray(train.starts))


def irregular(folder):
    frame = waves().to_frame().drop(index=waves().to_frame().index[100]).reset_index()
    frame.to_csv(folder / "gap.csv", index=False)
    return folder / "gap.csv"


def texts(folder):
    pd.DataFrame({"time": pd.date_range("2024", periods=30), "a": ["x"] * 30}).to_csv(folder / "texts.csv", index=False)
    return folder / "texts.csv"


def empty(folder):
    pd.DataFrame({"time": [], "a": []}).to_csv(folder / "empty.csv", index=False)
    return folder / "empty.csv"


@pytest.mark.parametrize(
    ("make", "options", "message"),
    [
        (irregular, (), r"do not go on at one rate in row 101"),
        (texts, (), "holds string, not numbers"),
        (empty, (), "is empty"),
        (lambda folder: folder / "none.csv", (), "there is no file"),
        (lambda folder: as_file(folder, "csv"), ("--time", "when"), "--time is 'when'"),
        (lambda folder: as_file(folder, "csv"), ("--decimal", ","), "--decimal cannot be used with --stream"),
        (lambda folder: as_file(folder, "csv"), ("--preset", "paper"), "--preset paper cannot be used with --stream"),
        (lambda folder: as_file(folder, "csv", 60), (), "the validation part would have"),
        (lambda folder: waves().save(folder / "a.npz") or folder / "a.npz", (), "reads .parquet and .csv"),
    ],
)
def test_a_file_that_is_not_clean_is_refused_in_a_stream(tmp_path, make, options, message):
    with pytest.raises(InputError, match=message):
        run(
            "bank",
            "write",
            make(tmp_path),
            tmp_path / "bank",
            "--stream",
            "--lookback",
            "6",
            "--horizon",
            "4",
            *options,
        )
    with pytest.raises(DataNotFoundError):
        sc.ShardedBank(tmp_path / "bank")


def test_a_torn_parquet_file_is_one_sentence(tmp_path):
    path = as_file(tmp_path, "parquet")
    path.write_bytes(path.read_bytes()[:500])
    with pytest.raises(DataError, match="cannot be read in pieces"):
        run("bank", "write", path, tmp_path / "bank", "--stream")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--part", "some"), "--part must be one of"),
        (("--preset", "mine"), "preset"),
        (("--steps", "0"), "steps must be"),
    ],
)
def test_bad_options(tmp_path, table, options, message):
    with pytest.raises(InputError, match=message):
        run("bank", "write", table, tmp_path / "bank", "--lookback", "6", "--horizon", "3", *options)


@pytest.mark.cluster
def test_fit_and_reproduce_on_a_cluster(tmp_path, table):
    options = ("--model", CHECKPOINT, "--effort", "0.1", "--no-progress")
    run("fit", table, *options, "-o", tmp_path / "plain")
    with cluster_tools.ProcessCluster() as cluster:
        run("fit", table, *options, "-o", tmp_path / "plant", "--cluster", cluster.address)
        names = ("reproduce", "table-datasets", "--dataset", "clouds-small", "--draws", "2")
        place = ("--results", tmp_path / "results", "--cluster", cluster.address)
        result = json.loads(run(*names, *place, "--json").stdout)
    assert [str(tmp_path / "results/table-datasets/clouds-small.json")] == result["records"]
    one, many = sc.load(tmp_path / "plain"), sc.load(tmp_path / "plant")
    assert many.fitted_.bank.folder == str(tmp_path / "plant-bank")
    recent = waves().to_frame().iloc[-12:, [0, 3]]
    assert np.allclose(one.predict(recent).mean, many.predict(recent).mean, rtol=1e-6, atol=1e-6)


def test_fit_says_what_is_wrong_before_it_trains(tmp_path, table):
    with pytest.raises(DataNotFoundError, match="`subcast bank write`"):
        run("fit", table, "--model", "tcn", "-o", tmp_path / "plant", "--bank", tmp_path / "nothing")
    pytest.importorskip("distributed")
    with pytest.raises(InputError, match="no address of a scheduler"):
        run("fit", table, "--model", "tcn", "-o", tmp_path / "plant", "--cluster", "nowhere://x")
    assert not (tmp_path / "plant-training").exists()
    assert issubclass(ClusterError, sc.SubcastError)
