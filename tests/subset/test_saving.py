"""Tests of saving and loading a wrapper: equal to the bit, refused if damaged, shared between processes."""

import json
import os
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import subcast as sc
from sealed import change_array, change_blob, change_facts, page_of
from subcast.errors import DataError, DataNotFoundError, InputError
from subcast.storage import folders, pages
from subcast.storage.state import State
from subcast.subset.experts import Boosted
from subcast.subset.saving import KIND
from subset.examples import HORIZON, LOOKBACK, Counting, assert_one_sentence, hidden, learn, mixing, waves

CHECKPOINT = Path(__file__).parents[1] / "data" / "checkpoints" / "tcn"


@pytest.fixture(scope="module")
def parts():
    return waves(steps=420).split(LOOKBACK, HORIZON, shares=(0.6, 0.2, 0.2))


@pytest.fixture(scope="module")
def model(parts):
    return learn(parts.train)


@pytest.fixture(scope="module")
def robust(parts, model):
    return sc.SubsetForecaster(model, progress=False, levels=(0.9, 0.5), seed=4, metric="rmse").fit(
        parts.train, parts.val
    )


@pytest.fixture(scope="module")
def saved(robust, tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved") / "plant"
    robust.save(folder)
    return folder


@pytest.fixture(scope="module")
def own_parts():
    """Data as the stored checkpoint wants them: five variables and the time of day."""
    series = waves(n=5, steps=300, features=("time_of_day",))
    named = sc.Series(
        series.values,
        ("north", "east", "south", "west", "center"),
        series.times,
        freq="h",
        time_features=("time_of_day",),
    )
    return named.split(12, 4, shares=(0.6, 0.2, 0.2))


@pytest.fixture(scope="module")
def own(own_parts):
    """A wrapper of one of the package's own models."""
    pytest.importorskip("torch")
    return sc.SubsetForecaster(CHECKPOINT, progress=False, neighbors=5).fit(own_parts.train, own_parts.val)


@pytest.fixture(scope="module")
def own_saved(own, tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved") / "own"
    own.save(folder)
    return folder


def assert_same(one, other, windows, sets=([1], [0, 2, 3])):
    for present in sets:
        a, b = (robust.predict_many(windows, present, absent=True) for robust in (one, other))
        assert a.variables == b.variables
        assert a.mean.tobytes() == b.mean.tobytes()
        assert (a.bounds is None) == (b.bounds is None)
        if a.bounds is not None:
            assert a.bounds.tobytes() == b.bounds.tobytes()
        np.testing.assert_array_equal(a.neighbor_index, b.neighbor_index)
        np.testing.assert_array_equal(a.neighbor_times, b.neighbor_times)
        assert a.weights.tobytes() == b.weights.tobytes()
        assert (a.expected_gap, a.quality, a.freq, a.unit) == (b.expected_gap, b.quality, b.freq, b.unit)


def contents(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# There and back


def test_any_model_round_trip(robust, saved, parts, model):
    loaded = sc.load(saved, model=model)
    assert_same(robust, loaded, parts.test)
    assert loaded.settings_ == robust.settings_
    assert loaded.report_ == robust.report_
    assert (loaded.levels, loaded.metric, loaded.seed) == (robust.levels, "rmse", 4)
    assert loaded.variables == robust.variables
    assert repr(loaded).splitlines()[1:] == repr(robust).splitlines()[1:]


def test_frames_and_streams_of_a_loaded_wrapper(robust, saved, parts, model):
    loaded = sc.SubsetForecaster.load(saved, model=model)
    series = parts.test.series
    for step in range(LOOKBACK + 2):
        a, b = (r.update(hidden(series.values[step], [0, 4]), series.times[step]) for r in (robust, loaded))
    np.testing.assert_array_equal(a.mean, b.mean)
    np.testing.assert_array_equal(a.times, b.times)
    robust.reset()
    frame = series.to_frame().iloc[:LOOKBACK, [1, 5]]
    np.testing.assert_array_equal(robust.predict(frame).bounds, loaded.predict(frame).bounds)
    np.testing.assert_array_equal(robust.predict(frame).paths(), loaded.predict(frame).paths())


def test_subcast_model_round_trip(own, own_saved, own_parts):
    loaded = sc.load(own_saved)
    assert_same(own, loaded, own_parts.test)


def test_virtual_sensors_of_a_subcast_model_are_in_the_right_columns(own, own_parts):
    """The model forecasts only what is wanted, in the order in which it is wanted."""
    trained = sc.TrainedForecaster.load(CHECKPOINT)
    same = sc.SubsetForecaster(lambda x: trained(x), settings=own.settings_, progress=False)
    same.fit(own_parts.train)
    a, b = (r.predict_many(own_parts.test, ["west", "east"], absent=True) for r in (own, same))
    assert a.variables == b.variables == ("east", "west", "north", "south", "center")
    np.testing.assert_allclose(a.mean, b.mean, atol=1e-3)


def test_a_moved_folder(own_saved, own, own_parts, tmp_path):
    shutil.copytree(own_saved, tmp_path / "elsewhere")
    assert_same(own, sc.load(str(tmp_path / "elsewhere")), own_parts.test)


def test_an_onnx_model_is_saved_with_the_wrapper(parts, tmp_path):
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    source = write_onnx(onnx, tmp_path / "model.onnx")
    robust = sc.SubsetForecaster(source, progress=False, settings=sc.Settings()).fit(parts.train)
    folder = tmp_path / "plant"
    robust.save(folder)
    source.unlink()
    loaded = sc.load(folder)
    assert_same(robust, loaded, parts.test)
    name = next(path for path in folder.iterdir() if path.suffix == ".onnx")
    whole = name.read_bytes()
    for broken in (whole[: len(whole) // 2], b""):
        name.write_bytes(broken)
        with pytest.raises(DataError) as error:
            sc.load(folder)
        assert_one_sentence(error, name.name)
    name.unlink()
    with pytest.raises(DataError) as error:
        sc.load(folder)
    assert_one_sentence(error, name.name)


def test_an_onnx_wrapper_saved_twice_where_it_came_from(parts, tmp_path):
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    robust = sc.SubsetForecaster(write_onnx(onnx, tmp_path / "model.onnx"), progress=False, settings=sc.Settings())
    robust.fit(parts.train).save(tmp_path / "plant")
    loaded = sc.load(tmp_path / "plant")
    loaded.save(tmp_path / "plant")
    loaded.save(tmp_path / "plant")
    assert_same(robust, sc.load(tmp_path / "plant"), parts.test)


def test_a_stored_onnx_model_cannot_read_other_files(parts, tmp_path, monkeypatch):
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    source = write_onnx(onnx, tmp_path / "model.onnx")
    robust = sc.SubsetForecaster(source, progress=False, settings=sc.Settings()).fit(parts.train)
    folder = tmp_path / "plant"
    robust.save(folder)
    model = onnx.load(source)
    onnx.save(model, tmp_path / "outside.onnx", save_as_external_data=True, location="secret.bin", size_threshold=0)
    change_blob(folder, KIND, "fitted.model.model.onnx", lambda _: (tmp_path / "outside.onnx").read_bytes())
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError) as error:
        sc.load(folder)
    assert_one_sentence(error, "has its weights in other files")


def write_onnx(onnx, path):
    """A model that weighs the steps of each variable."""
    helper = onnx.helper
    weights = np.random.default_rng(0).random((LOOKBACK, HORIZON)).astype(np.float32) / LOOKBACK
    graph = helper.make_graph(
        [
            helper.make_node("Gather", ["x", "zero"], ["readings"], axis=3),
            helper.make_node("Transpose", ["readings"], ["nodes"], perm=[0, 2, 1]),
            helper.make_node("MatMul", ["nodes", "weights"], ["steps"]),
            helper.make_node("Transpose", ["steps"], ["y"], perm=[0, 2, 1]),
        ],
        "forecaster",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["b", LOOKBACK, 6, 1])],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ["b", HORIZON, 6])],
        initializer=[
            onnx.numpy_helper.from_array(weights, "weights"),
            onnx.numpy_helper.from_array(np.array(0), "zero"),
        ],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)
    return path


def test_the_published_method_saves_its_neighbor_forecasts(parts, tmp_path):
    counting = Counting()
    robust = sc.SubsetForecaster.paper(counting, progress=False).fit(parts.train)
    robust.save(tmp_path / "fresh")
    robust.predict_many(parts.test, [1, 3])
    robust.save(tmp_path / "used")
    for name in ("fresh", "used"):  # saving computes what is not known yet
        again = Counting()
        loaded = sc.load(tmp_path / name, model=again)
        before = again.windows
        assert_same(robust, loaded, parts.test, sets=([1, 3],))
        spent = again.windows - before - 5 * len(parts.test)
        assert spent == 0
        assert_same(robust, loaded, parts.test, sets=([0, 5],))


def test_without_intervals_and_without_times(tmp_path):
    train = waves(steps=200, hours=False).windows(LOOKBACK, HORIZON)
    robust = sc.SubsetForecaster(mixing, progress=False).fit(train)
    robust.save(tmp_path / "plain")
    loaded = sc.load(tmp_path / "plain", model=mixing)
    a, b = (r.predict_many(np.array(train.readings[:5]), [2], absent=True) for r in (robust, loaded))
    np.testing.assert_array_equal(a.mean, b.mean)
    assert b.bounds is None
    assert b.times is None
    assert b.neighbor_times is None


def test_saving_a_loaded_wrapper(saved, robust, parts, model, tmp_path):
    sc.load(saved, model=model).save(tmp_path / "again")
    assert_same(robust, sc.load(tmp_path / "again", model=model), parts.test)


# Memory


def maps_of(array):
    """The memory map an array is a view of, or None."""
    while array is not None and not isinstance(array, np.memmap):
        array = array.base
    return array


def test_the_large_arrays_are_memory_mapped(saved, model):
    fitted = sc.load(saved, model=model).fitted_
    for array in (fitted.bank.data, fitted.moments.whole):
        mapped = maps_of(array)
        assert mapped is not None
        assert Path(mapped.filename).parent == saved.resolve()
        assert not array.flags.writeable


def test_forecasting_does_not_change_the_folder(saved, model, parts):
    before = contents(saved)
    loaded = sc.load(saved, model=model)
    loaded.predict_many(parts.test, [0, 3], absent=True)
    loaded.update(parts.test.series.values[0], parts.test.series.times[0])
    assert contents(saved) == before


def test_a_second_process_makes_the_same_forecast(own_saved, own, own_parts, tmp_path):
    window = np.array(own_parts.test.batch([7]).inputs)
    np.save(tmp_path / "window.npy", window)
    code = (
        "import sys, numpy as np, subcast as sc\n"
        "robust = sc.load(sys.argv[1])\n"
        "found = robust.predict_many(np.load(sys.argv[2]), ['east', 'west'], absent=True)\n"
        "np.save(sys.argv[3], found.mean)\n"
        "mapped = open('/proc/self/maps').read() if sys.platform == 'linux' else sys.argv[1]\n"
        "assert sys.argv[1] in mapped\n"
    )
    source = Path(sc.__file__).parent.parent
    environment = {**os.environ, "PYTHONPATH": str(source), "OMP_NUM_THREADS": "1"}
    answer = tmp_path / "answer.npy"
    subprocess.run(
        [sys.executable, "-c", code, str(own_saved), str(tmp_path / "window.npy"), str(answer)],
        check=True,
        env=environment,
        timeout=300,
    )
    wanted = own.predict_many(window, ["east", "west"], absent=True).mean
    np.testing.assert_allclose(np.load(answer), wanted, atol=1e-5)


# The model


def test_a_callable_must_be_given_to_load(saved):
    with pytest.raises(InputError) as error:
        sc.load(saved)
    assert_one_sentence(error, "model=", "callable")


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (mixing, ("not the one", "fit a new wrapper")),
        (lambda x: mixing(x)[:, :2], ("(4, 2, 6)",)),
        (lambda x: mixing(x) * np.nan, ("NaN",)),
        (sc.adapters.from_callable(mixing, lookback=12, horizon=3), ("lookback 12",)),
        (7, ("model", "int")),
    ],
    ids=["another", "shape", "NaN", "sizes", "a number"],
)
def test_another_model_is_refused(saved, wrong, words):
    with pytest.raises(InputError) as error:
        sc.load(saved, model=wrong)
    assert_one_sentence(error, *words)


def test_a_model_that_differs_by_rounding_is_accepted(saved, model, robust, parts):
    loaded = sc.load(saved, model=lambda x: model(x) + 1e-5)
    np.testing.assert_allclose(
        loaded.predict_many(parts.test, [0]).mean, robust.predict_many(parts.test, [0]).mean, atol=1e-3
    )


# What cannot be read


def files_of(folder):
    return sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file())


def test_a_half_copied_folder_is_refused(own_saved, tmp_path):
    names = files_of(own_saved)
    assert len(names) > 10
    for name in names:
        for how in ("missing", "cut", "empty"):
            copy = tmp_path / "copy"
            shutil.copytree(own_saved, copy)
            file = copy / name
            whole = file.read_bytes()
            if how == "missing":
                file.unlink()
            else:
                file.write_bytes(whole[: len(whole) * 2 // 3] if how == "cut" else b"")
            with pytest.raises(DataError) as error:
                sc.load(copy)
            assert_one_sentence(error)
            assert file.name in str(error.value) or file.parent.name in str(error.value), (name, how, error.value)
            shutil.rmtree(copy)


def test_a_changed_byte_is_refused(saved, model, tmp_path):
    for name in files_of(saved):
        copy = tmp_path / "copy"
        shutil.copytree(saved, copy)
        content = bytearray((copy / name).read_bytes())
        content[-1] ^= 0x55
        (copy / name).write_bytes(content)
        with pytest.raises(DataError) as error:
            sc.load(copy, model=model)
        assert_one_sentence(error, name.name)
        shutil.rmtree(copy)


def test_every_flipped_bit_is_refused(saved, model, tmp_path):
    rng = random.Random(1)
    copy = Path(shutil.copytree(saved, tmp_path / "copy"))
    for name in files_of(saved):
        whole = (copy / name).read_bytes()
        for place in rng.sample(range(8 * len(whole)), 12):
            content = bytearray(whole)
            content[place // 8] ^= 1 << place % 8
            (copy / name).write_bytes(bytes(content))
            with pytest.raises(DataError, match=re.escape(name.name)) as error:
                sc.load(copy, model=model)
            assert_one_sentence(error)
        (copy / name).write_bytes(whole)
    sc.load(copy, model=model)


def test_verification_can_be_left_out(saved, model, tmp_path, robust, parts):
    copy = Path(shutil.copytree(saved, tmp_path / "copy"))
    assert_same(robust, sc.load(copy, model=model, verify=False), parts.test[:3], sets=([2],))
    change_array(copy, KIND, "fitted.bank.rows", lambda rows: rows.__setitem__((0, 0), np.inf))
    sc.load(copy, model=model, verify=False)
    with pytest.raises(DataError, match="its rows holds inf, and must be finite"):
        sc.load(copy, model=model)


def set_to(place, value):
    return lambda array: array.__setitem__(place, value)


HOSTILE_ARRAYS = [
    ("fitted.bank.starts", set_to(-1, 10**12), "does not fit into its series"),
    ("fitted.bank.starts", set_to(0, -5), "does not fit into its series"),
    ("fitted.bank.starts", lambda starts: starts[::-1], "sorted"),
    ("fitted.bank.starts", lambda starts: starts[:0], "non-empty"),
    ("fitted.bank.starts", lambda starts: starts.astype(np.float64), "must be int64"),
    ("fitted.bank.starts", lambda starts: starts[:-5], "another bank"),
    ("fitted.bank.offsets", set_to(-1, 10**9), "must lie from"),
    ("fitted.bank.offsets", lambda offsets: np.array([0, 3, 3, offsets[-1]]), "must increase"),
    ("fitted.bank.holes", lambda holes: ~holes, "its holes say the wrong thing"),
    ("fitted.bank.rows", set_to((0, 0), np.inf), "must be finite"),
    ("fitted.bank.rows", lambda rows: rows[:, :-1], "its offsets"),
    ("fitted.bank.rows", lambda rows: rows[:-1], "its rows must be float32"),
    ("fitted.bank.rows", lambda rows: rows.astype(np.float64), "its rows must be float32"),
    ("fitted.bank_slots", set_to(3, 24), "must lie from 0 to 23"),
    ("fitted.bank_slots", set_to(3, -1), "must lie from 0 to 23"),
    ("fitted.bank_slots", lambda slots: slots[:-1], "its bank_slots must be int64"),
    ("fitted.normalizer.center", set_to((0, 0), np.nan), "must be finite"),
    ("fitted.normalizer.center", lambda center: center[:, :-1], "its center must be float32"),
    ("fitted.normalizer.center", lambda center: np.tile(center, (70, 1)), "must have 24 rows"),
    ("fitted.normalizer.center", lambda center: center[:1], "must have 24 rows"),
    ("fitted.normalizer.spread", set_to((0, 0), 0), "must lie from"),
    ("fitted.normalizer.spread", set_to((0, 0), -1), "must lie from"),
    ("fitted.moments.whole", set_to((0, 0, 0), np.inf), "must be finite"),
    ("fitted.moments.whole", lambda whole: whole[:-1], "its whole must be float32"),
    ("fitted.moments.whole", lambda whole: whole[:, :2], "its whole must be float32"),
    ("fitted.moments.own", lambda own: np.zeros((3, 6), np.float32), "its own must be float32"),
    ("calibration.counts", lambda counts: counts[::-1], "must increase"),
    ("calibration.counts", set_to(-1, 7), "must lie from 1 to 6"),
    ("calibration.strangeness", set_to(0, np.nan), "must be finite"),
    ("calibration.present", lambda table: table[:-1], "its present must be float32"),
    ("calibration.absent", lambda table: table[..., :2], "its absent must be float32"),
    ("calibration.gaps", set_to(0, np.inf), "must be finite"),
    ("metadata.times", set_to(5, 0), "its times must increase"),
    ("metadata.times", set_to(0, np.iinfo(np.int64).min), "must lie from"),
    ("metadata.times", lambda times: times[:-1], "steps, and there are"),
    ("probe.inputs", lambda inputs: inputs[:0], "windows to compare the model on"),
    ("probe.inputs", lambda inputs: inputs[:, :2], "its inputs must be float32"),
    ("probe.forecasts", lambda forecasts: forecasts[:, :, :2], "its forecasts must be float32"),
    ("probe.forecasts", set_to((0, 0, 0), np.nan), "must be finite"),
]


@pytest.mark.parametrize(("name", "change", "words"), HOSTILE_ARRAYS)
def test_arrays_that_do_not_fit_are_refused_with_new_checksums(saved, model, tmp_path, name, change, words):
    copy = Path(shutil.copytree(saved, tmp_path / "copy"))
    change_array(copy, KIND, name, change)
    with pytest.raises(DataError, match=re.escape(words)) as error:
        sc.load(copy, model=model)
    assert_one_sentence(error, "copy")


HOSTILE_FACTS = [
    ("metric", "mse"),
    ("levels", [1.5]),
    ("levels", "0.9"),
    ("effort", -1),
    ("effort", float("nan")),
    ("seconds", "soon"),
    ("seed", -1),
    ("seed", 1.5),
    ("given", []),
    ("given", {"neighbors": 0}),
    ("given", {"magic": 1}),
    ("all_given", 1),
    ("settings", {"neighbors": "many"}),
    ("settings.exponent", float("inf")),
    ("settings.weighting", ["uniform"]),
    ("settings.weighting", "magic"),
    ("settings.shares", [0.9, 0.1]),
    ("settings.shares", 3),
    ("settings.blend", {"oracle": [[0.1] * 3] * 3}),
    ("settings.blend", {"specialist": [[0.1]] * 3}),
    ("settings.later", 3),
    ("report", []),
    ("metadata", 3),
    ("metadata.variables", ["a"]),
    ("metadata.variables", []),
    ("metadata.variables", lambda names: [names[0]] * len(names)),
    ("metadata.time_features", ["magic"]),
    ("metadata.time_features", ["time_of_day"]),
    ("metadata.freq", "often"),
    ("metadata.freq", 3),
    ("metadata.lookback", 10**9),
    ("metadata.horizon", 10**9),
    ("metadata.unit", 3),
    ("fitted.lookback", 10**9),
    ("fitted.horizon", 10**9),
    ("fitted.n_features", 2),
    ("fitted.time_of_day_weight", -1),
    ("fitted.time_of_day_weight", 0),
    ("fitted.features_in_distance", "no"),
    ("fitted.experts", []),
    ("fitted.experts", "model"),
    ("fitted.experts", ["specialist", "model"]),
    ("fitted.experts", ["model", "magic"]),
    ("fitted.expert_specialist", 3),
    ("fitted.bank_fingerprint", "another"),
    ("fitted.bank_fingerprint", 3),
    ("fitted.bank.kind", "magic"),
    ("fitted.bank.kind", ["windows"]),
    ("fitted.bank.variables", 10**9),
    ("fitted.bank.lookback", 10**9),
    ("fitted.bank.lookback", 0),
    ("fitted.bank.shared", []),
    ("fitted.bank.shared", [True]),
    ("fitted.bank.shared", [False] * 10**5),
    ("fitted.bank.names", ["a"]),
    ("fitted.bank.names", 3),
    ("fitted.bank.checksum", -1),
    ("fitted.moments", []),
    ("probe", None),
    ("fitted", None),
    ("fitted.bank", None),
    ("fitted.normalizer", None),
    ("settings", None),
]


@pytest.mark.parametrize(("path", "value"), HOSTILE_FACTS)
def test_facts_that_do_not_fit_are_refused_with_new_checksums(saved, model, tmp_path, path, value):
    copy = Path(shutil.copytree(saved, tmp_path / "copy"))
    change_facts(copy, KIND, path, value)
    with pytest.raises(DataError) as error:
        sc.load(copy, model=model)
    assert_one_sentence(error, "copy")


def test_every_fact_is_needed(saved, model, tmp_path):
    """Without any one of them a wrapper is refused."""
    copy = Path(shutil.copytree(saved, tmp_path / "copy"))
    page = page_of(saved, KIND)
    free = {"fitted.subcast", "fitted.known_levels", "calibration", "limits"}  # not read, or may be missing
    parts = {"": page["facts"], **{f"{name}.": page["facts"][name] for name in ("metadata", "fitted")}}
    parts["fitted.bank."] = page["facts"]["fitted"]["bank"]
    names = {f"{start}{name}" for start, facts in parts.items() for name in facts} - free
    assert len(names) > 30
    for name in sorted(names):
        change_facts(copy, KIND, name, None)
        try:
            sc.load(copy, model=model)
        except DataError:
            shutil.copy(saved / "wrapper.json", copy)
        else:
            pytest.fail(f"a wrapper without {name} was loaded")


def test_a_part_that_came_later_may_be_missing(saved, model, tmp_path, parts):
    copy = Path(shutil.copytree(saved, tmp_path / "copy"))
    change_facts(copy, KIND, "calibration", None)
    assert sc.load(copy, model=model).predict_many(parts.test[:2], [1]).bounds is None


def test_parts_of_a_later_version_are_ignored(saved, model, tmp_path, robust, parts):
    copy = Path(shutil.copytree(saved, tmp_path / "copy"))
    change_facts(copy, KIND, "metadata", lambda facts: {**facts, "later": {"zone": "Mars"}})
    change_facts(copy, KIND, "probe", lambda facts: {**facts, "later": 3})
    assert_same(robust, sc.load(copy, model=model), parts.test[:3], sets=([2],))


def test_weights_of_another_network_are_refused_with_new_checksums(own_saved, tmp_path):
    copy = Path(shutil.copytree(own_saved, tmp_path / "copy"))
    change_facts(copy, KIND, "fitted.model.scaler", {"mean": [0.0], "scale": [1.0]})
    with pytest.raises(DataError) as error:
        sc.load(copy)
    assert_one_sentence(error, "the model is not the one this wrapper was fitted with")


def test_neighbor_forecasts_that_do_not_fit(parts, tmp_path):
    sc.SubsetForecaster.paper(mixing, progress=False).fit(parts.train).save(tmp_path / "paper")
    for number, (name, change) in enumerate(
        [
            ("forecasts", lambda forecasts: forecasts[:-1]),
            ("forecasts", lambda forecasts: forecasts[..., :2]),
            ("forecasts", set_to((0, 0, 0), np.nan)),
            ("known", lambda known: known[:-1]),
            ("known", lambda known: known.astype(np.int64)),
        ]
    ):
        copy = Path(shutil.copytree(tmp_path / "paper", tmp_path / str(number)))
        change_array(copy, KIND, f"fitted.neighbor_forecasts.{name}", change)
        with pytest.raises(DataError) as error:
            sc.load(copy, model=mixing)
        assert_one_sentence(error, f"its {name}")


def test_a_newer_format_is_refused(robust, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(pages, "FORMAT", pages.FORMAT + 1)
        robust.save(tmp_path / "newer")
    with pytest.raises(DataError) as error:
        sc.load(tmp_path / "newer", model=mixing)
    assert_one_sentence(error, "format", str(pages.FORMAT + 1), "newer subcast")


def test_a_folder_without_a_saved_object_is_refused(tmp_path):
    with pytest.raises(DataNotFoundError) as error:
        sc.load(tmp_path / "nowhere")
    assert_one_sentence(error, "nowhere")
    with pytest.raises(DataNotFoundError) as error:
        sc.load(tmp_path)
    assert_one_sentence(error, "wrapper.json")


def test_loading_a_trained_model_as_a_wrapper_is_refused():
    with pytest.raises(DataError) as error:
        sc.load(CHECKPOINT)
    assert_one_sentence(error, "trained model", "wrapper")


def test_loading_a_bank_as_a_wrapper_is_refused(robust, tmp_path):
    robust.fitted_.bank.save(tmp_path / "bank")
    with pytest.raises(DataError) as error:
        sc.load(tmp_path / "bank")
    assert_one_sentence(error, "bank")


def test_a_page_changed_by_hand_is_refused(saved, model, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(saved, copy)
    page = json.loads((copy / "wrapper.json").read_text())
    page["page"] = page["page"].replace('"seed": 4', '"seed": 5')
    (copy / "wrapper.json").write_text(json.dumps(page))
    with pytest.raises(DataError) as error:
        sc.load(copy, model=model)
    assert_one_sentence(error, "wrapper.json")


def test_nothing_saved_needs_unpickling(own_saved):
    for name in files_of(own_saved):
        if name.suffix == ".npy":
            np.load(own_saved / name, allow_pickle=False)
        else:
            assert name.suffix in (".json", ".safetensors")


# Writing


def test_a_folder_with_other_files_is_refused(robust, tmp_path):
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "diary.txt").write_text("rain")
    with pytest.raises(InputError) as error:
        robust.save(folder)
    assert_one_sentence(error, "notes")
    assert contents(folder) == {"diary.txt": b"rain"}


def test_a_file_in_place_of_the_folder_is_refused(robust, tmp_path):
    (tmp_path / "plant").write_text("not a folder")
    with pytest.raises(InputError) as error:
        robust.save(tmp_path / "plant")
    assert_one_sentence(error, "plant")


def test_an_empty_folder_and_a_deep_one(robust, tmp_path, parts, model):
    (tmp_path / "empty").mkdir()
    for folder in (tmp_path / "empty", tmp_path / "a" / "b" / "c"):
        robust.save(folder)
        assert_same(robust, sc.load(folder, model=model), parts.test[:3], sets=([2],))


def test_overwriting_removes_the_old_files(own, own_parts, robust, model, parts, tmp_path):
    folder = tmp_path / "plant"
    own.save(folder)
    robust.save(folder)
    names = {path.name for path in folder.iterdir()}
    robust.save(tmp_path / "fresh")
    assert len(names) == len(list((tmp_path / "fresh").iterdir()))
    assert not any(name.startswith("model-") for name in names)
    assert_same(robust, sc.load(folder, model=model), parts.test)
    own.save(folder)
    assert_same(own, sc.load(folder), own_parts.test)


class Interrupted(Exception):
    pass


def failing(when, real):
    """`save_state` that fails before, or half way through its work."""

    def save_state(folder, kind, state, **options):
        if when == "half way":
            half = dict(list(state.arrays.items())[: len(state.arrays) // 2])
            torn = State(state.facts, {**half, "torn": np.array([object()])}, state.blobs)
            try:
                real(folder, kind, torn, **options)
            except ValueError:
                raise Interrupted from None
        raise Interrupted

    return save_state


@pytest.mark.parametrize("when", ["at once", "half way"])
def test_an_interrupted_save_keeps_the_old_wrapper(own, own_parts, robust, tmp_path, monkeypatch, when):
    folder = tmp_path / "plant"
    own.save(folder)
    before = contents(folder)
    other = sc.SubsetForecaster(CHECKPOINT, settings=sc.Settings(neighbors=3), progress=False).fit(own_parts.train)
    with monkeypatch.context() as patch:
        patch.setattr(folders, "save_state", failing(when, folders.save_state))
        with pytest.raises(Interrupted):
            other.save(folder)
        with pytest.raises(Interrupted):
            robust.save(folder)
    assert contents(folder) == before
    assert_same(own, sc.load(folder), own_parts.test)
    other.save(folder)  # and the next save works
    assert sc.load(folder).settings_ == other.settings_


@pytest.mark.parametrize("when", ["at once", "half way"])
def test_an_interrupted_first_save_leaves_nothing(own, tmp_path, monkeypatch, when):
    with monkeypatch.context() as patch:
        patch.setattr(folders, "save_state", failing(when, folders.save_state))
        with pytest.raises(Interrupted):
            own.save(tmp_path / "plant")
    assert not (tmp_path / "plant").exists()


def test_an_open_wrapper_keeps_its_arrays_when_the_folder_is_saved_over(own, own_parts, robust, tmp_path):
    folder = tmp_path / "plant"
    own.save(folder)
    opened = sc.load(folder)
    robust.save(folder)
    assert_same(own, opened, own_parts.test)


READER = """
import sys, numpy as np, subcast as sc
sys.path.insert(0, sys.argv[3])
from subset.examples import mixing
seen = set()
for _ in range(int(sys.argv[2])):
    robust = sc.load(sys.argv[1], model=mixing)
    assert robust.seed == robust.settings_.neighbors, (robust.seed, robust.settings_.neighbors)
    seen.add(robust.seed)
print(len(seen))
"""


@pytest.mark.slow
def test_processes_that_load_while_another_saves(parts, tmp_path):
    """Every load gives the wrapper before or the one after: 400 loads in each of two processes beside endless saves."""
    wrappers = [
        sc.SubsetForecaster(mixing, settings=sc.Settings(neighbors=k), seed=k, progress=False).fit(parts.train)
        for k in (3, 4, 5)
    ]
    folder = tmp_path / "plant"
    wrappers[0].save(folder)
    command = [sys.executable, "-c", READER, str(folder), "400", str(Path(__file__).parents[1])]
    environment = {**os.environ, "PYTHONPATH": str(Path(sc.__file__).parent.parent), "OMP_NUM_THREADS": "1"}
    readers = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) for _ in range(2)]
    saves = 0
    while any(process.poll() is None for process in readers):
        wrappers[saves % 3].save(folder)
        saves += 1
    assert [process.returncode for process in readers] == [0, 0]
    assert min(int(process.communicate()[0]) for process in readers) == 3
    assert len(list(folder.iterdir())) == len(folders.open_state(folder, KIND).arrays) + 1


# Boosted trees


@pytest.fixture(scope="module")
def boosted_saved(boosted_wrapper, tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved") / "boosted"
    boosted_wrapper.save(folder)
    return folder


def test_boosted_trees_round_trip(boosted_wrapper, boosted_saved, boosted_parts):
    again = sc.load(boosted_saved, model=boosted_wrapper.fitted_.model)
    assert_same(boosted_wrapper, again, boosted_parts.test[:5], sets=([1], [0, 2]))
    alone, expected = (each.without_model().predict_many(boosted_parts.test[:5]) for each in (again, boosted_wrapper))
    assert alone.mean.tobytes() == expected.mean.tobytes()


@pytest.mark.parametrize("trees", ["left", "level"])
@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("left", lambda left: np.where(left > 0, 10**6, left).astype(np.int32)),
        ("left", lambda left: np.zeros_like(left)),  # leads back to the root
        ("right", lambda right: -right),
        ("left", lambda left: left[:-1]),
        ("feature", lambda feature: np.where(feature >= 0, 10**6, feature).astype(np.int32)),
        ("value", set_to(0, np.nan)),
        ("threshold", set_to(0, np.nan)),
        ("roots", set_to(0, 10**6)),
        ("value", lambda value: value.astype(np.float32)),
    ],
)
def test_damaged_trees_are_refused_with_new_checksums(boosted_saved, boosted_wrapper, tmp_path, trees, name, change):
    copy = Path(shutil.copytree(boosted_saved, tmp_path / "copy"))
    change_array(copy, KIND, f"fitted.expert_boosted.{trees}.{name}", change)
    with pytest.raises(DataError) as error:
        sc.load(copy, model=boosted_wrapper.fitted_.model)
    assert_one_sentence(error, "copy")


@pytest.mark.parametrize("count", [2, 10**6])
def test_trees_of_another_number_of_features_are_refused(boosted_saved, boosted_wrapper, tmp_path, count):
    copy = Path(shutil.copytree(boosted_saved, tmp_path / "copy"))
    change_facts(copy, KIND, "fitted.expert_boosted.level.n_features", count)
    with pytest.raises(DataError) as error:
        sc.load(copy, model=boosted_wrapper.fitted_.model)
    assert_one_sentence(error, "copy")


def test_a_state_with_half_of_the_trees_is_refused(boosted_wrapper):
    state = boosted_wrapper.fitted_.experts["boosted"].state()
    arrays = {name: array for name, array in state.arrays.items() if not name.startswith("level")}
    facts = {name: fact for name, fact in state.facts.items() if name != "level"}
    with pytest.raises(DataError, match="level"):
        Boosted.from_state(State(facts, arrays, source="plant"))
