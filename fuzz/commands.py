"""The command line: files of all kinds and odd options; an exit code of 0, 1 or 2, one sentence, never a traceback."""

from __future__ import annotations

import contextlib
import io
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import onnx
from agreement import WrongReadingError
from damage import damaged, garbage
from onnx import TensorProto, helper
from reading import read
from text_tables import make_text_table
from wrappers import HORIZON, LOOKBACK, NAMES, make_series

import subcast as sc
from subcast.cli import main

ODD_OPTIONS = (
    *(["--freq", "often"], ["--freq", "0h"], ["--time", "nothing"], ["--id", "a", "--value", "b"], ["--key", "df"]),
    *(["--every"], ["--json"], ["--level", "2"], ["--level", "0.5"], ["--absent"], ["--nothing"], ["--freq", "-1h"]),
)
JSON = ["--json"]


@dataclass(frozen=True)
class Context:
    """The folder of the case, the folder of a saved wrapper, and the wrapper."""

    case: Path
    plant: Path
    robust: sc.SubsetForecaster


def prepare(work: Path) -> Context:
    """Save a wrapper of an ONNX model, which the command line can load."""
    series = make_series("hourly")
    train, val, _ = series.split(LOOKBACK, HORIZON, shares=(0.6, 0.3, 0.1))
    model = work / "model.onnx"
    _write_model(model)
    forecaster = sc.adapters.from_onnx(model, lookback=LOOKBACK, horizon=HORIZON)
    robust = sc.SubsetForecaster(forecaster, progress=False, effort=0.1).fit(train, val)
    robust.save(work / "plant")
    (work / "case").mkdir(exist_ok=True)
    return Context(work / "case", work / "plant", robust)


def _write_model(path: Path) -> None:
    """Write a model that repeats the last reading: [b, t, n, 1] in, [b, h, n] out."""
    inputs = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["b", LOOKBACK, len(NAMES), 1])
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["b", HORIZON, len(NAMES)])
    constants = {"start": [-1], "end": [2**31], "time": [1], "feature": [3]}
    tensors = [helper.make_tensor(name, TensorProto.INT64, [1], entries) for name, entries in constants.items()]
    nodes = [
        helper.make_node("Slice", ["x", "start", "end", "time"], ["last"]),
        helper.make_node("Squeeze", ["last", "feature"], ["flat"]),
        helper.make_node("Concat", ["flat"] * HORIZON, ["y"], axis=1),
    ]
    graph = helper.make_graph(nodes, "last", [inputs], [output], tensors)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)


def run_case(context: Context, seed: int) -> tuple[str, str]:
    """Run one command on one file."""
    for old in context.case.iterdir():
        old.unlink()
    random = Random(seed)
    verb = random.choice((_inspect, _inspect, _export, _forecast, _forecast))
    return verb(context, random), verb.__name__.strip("_")


def call(*arguments: object) -> tuple[int, str, str]:
    """Run the command line in this process; return the exit code and what it printed."""
    out, err = io.StringIO(), io.StringIO()
    before = sys.argv
    sys.argv = ["subcast", *(str(argument) for argument in arguments)]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main()
        code: Any = 0
    except SystemExit as end:
        code = end.code or 0
    finally:
        sys.argv = before
    if code not in (0, 1, 2) or "Traceback" in out.getvalue() + err.getvalue():
        raise WrongReadingError(f"exit code {code}: {err.getvalue()[-500:]}")
    if code and len(err.getvalue().strip()) < 15:
        raise WrongReadingError(f"exit code {code} without a sentence: {err.getvalue()!r}")
    return code, out.getvalue(), err.getvalue()


def _any_file(folder: Path, random: Random) -> tuple[Path, dict[str, Any]]:
    """Write a file of readings, whole, damaged or none, and return it with the options that it needs."""
    path, kind = folder / "readings.csv", random.random()
    table = make_text_table(random)
    raw = table.encoded() if kind < 0.7 else damaged(random, table.encoded()) if kind < 0.9 else garbage(random)
    path.write_bytes(raw)
    return path, table.options


def _option_list(options: dict[str, Any]) -> list[str]:
    return [part for name in ("id", "time", "value") if name in options for part in (f"--{name}", options[name])]


def _inspect(context: Context, random: Random) -> str:
    """Inspect a file; what is printed as JSON must be what the library reads."""
    path, options = _any_file(context.case, random)
    if random.random() < 0.2:
        code, _, _ = call("datasets", "inspect", path, *random.choice(ODD_OPTIONS))
        return "refused" if code else "accepted"
    code, out, _ = call("datasets", "inspect", path, *_option_list(options), *JSON)
    series = read(path, {name: value for name, value in options.items() if name in ("id", "time", "value")})
    if (series is None) != (code != 0):
        raise WrongReadingError(f"the command ended with {code}, and the library read {series}")
    if series is None:
        return "refused"
    found = json.loads(out)
    if (found["steps"], len(found["variables"])) != series.values.shape:
        raise WrongReadingError(f"the command says {found['steps']} steps, the library {series.values.shape}")
    return "checked"


def _export(context: Context, random: Random) -> str:
    """Export a file and read the copy: it must hold the same readings."""
    path, _ = _any_file(context.case, random)
    copy = context.case / f"copy.{random.choice(('csv', 'parquet', 'npz', 'xlsx', 'csv.gz'))}"
    code, _, _ = call("datasets", "export", path, copy)
    if code:
        return "refused"
    series, again = read(path, {}), read(copy, {})
    if series is None or again is None:
        raise WrongReadingError(f"the copy {copy.name} of a table that was read is refused")
    if not np.array_equal(series.values, again.values, equal_nan=True) or (series.times is None) != (
        again.times is None
    ):
        raise WrongReadingError(f"the copy {copy.name} holds other readings")
    return "checked"


def _forecast(context: Context, random: Random) -> str:
    """Forecast from a file; the numbers must be those of `predict`."""
    series = make_series("hourly")
    first = random.randrange(len(series.values) - 12)
    names = random.sample(NAMES, random.randint(1, len(NAMES)))
    recent = series[first : first + random.choice((3, LOOKBACK, 12))].select(names)
    path = context.case / "recent.csv"
    recent.to_frame().to_csv(path)
    if random.random() < 0.3:
        path.write_bytes(damaged(random, path.read_bytes()))
        code, _, _ = call(
            "forecast", context.plant, path, *(random.choice(ODD_OPTIONS) if random.random() < 0.3 else [])
        )
        return "refused" if code else "accepted"
    code, out, err = call("forecast", context.plant, path, *JSON)
    if code:
        if len(recent.values) >= LOOKBACK:
            raise WrongReadingError(f"a plain file was refused: {err}")
        return "refused"
    found, wanted = json.loads(out), context.robust.predict(recent)
    if tuple(found["variables"]) != wanted.variables or not np.allclose(found["mean"], wanted.mean, rtol=1e-4):
        raise WrongReadingError(f"the command forecasts {found['mean'][0]}, predict {wanted.mean[0]}")
    return "checked"
